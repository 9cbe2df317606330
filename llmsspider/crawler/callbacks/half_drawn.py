"""Pages that hold text, and empty elements that scripts fill: one page of a site is rendered to see
whether they do.

An empty element (`PageMeta.mounts`) is worth a look where its name says that a program or a piece
of code is drawn in it, or where several addresses of the host show the same text.
"""

import asyncio
import re
from collections.abc import Collection

from llmsspider.items import Page, content_hash
from llmsspider.web.urls import host, page_key

LIKELY = re.compile(
    r"(?:main|article|#(?:[\w-]+-)?(?:root|app|docs)|#(?:__next|__nuxt|___gatsby|__docusaurus|svelte|application))\.?\Z"
    r"|(?:^|[.#_-])(?:code|samples?|snippets?|examples?)(?:\Z|[._-])"
)
"""Names of empty elements that are rendered to see, whatever other pages hold."""

MAX_TEXTS = 50_000
"""Maximum number of pages whose texts are compared with those of others."""


class HalfDrawnPages:
    """What is known of the empty elements of each host: whether scripts fill them."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()  # held while a page is rendered to see
        self._first: dict[tuple[str, str], bytes] = {}  # the first page of a host with a text
        self._is_filled: dict[tuple[str, str], bool] = {}

    def boxes(self, url: str, page: Page, of_nothing: Collection[str]) -> list[str]:
        """Return the empty elements of a page that are worth a look. `of_nothing` are the hashes of
        what the site shows for files that it does not have.
        """
        key = page_key(url)
        first = key
        text = content_hash(page.markdown)
        if len(self._first) < MAX_TEXTS:
            first = self._first.setdefault((host(url), text), key)
        if first != key or text in of_nothing:
            return page.meta.mounts
        return [mount for mount in page.meta.mounts if LIKELY.search(mount)]

    def is_filled(self, url: str, boxes: list[str]) -> bool | None:
        """Say whether scripts fill one of these elements; None where a page is to be rendered."""
        known = [self._is_filled.get((host(url), box)) for box in boxes]
        if True in known:
            return True
        return None if None in known else False

    def learn(self, url: str, boxes: list[str], left: list[str]) -> None:
        """Learn from a page that was rendered, in which the elements `left` are empty still."""
        for box in boxes:
            self._is_filled.setdefault((host(url), box), box not in left)
