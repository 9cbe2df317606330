"""What rendered pages were drawn from: later crawls request that, and no browser where it is as it
was.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from llmsspider.crawler.learn.base import End, Learner

MAX_DRAWN = 20_000
"""Maximum number of pages that are remembered."""


class Drawn(NamedTuple):
    """What a page was drawn from: the hash of its HTML, of its files by URL; the hash of the text
    that came of it, and whether its routes are pages.
    """

    html: str
    files: Mapping[str, str]
    text: str
    has_routes: bool


class DrawnPages(Learner):
    """What the rendered pages of a source were drawn from, by URL."""

    name = "drawn"

    def __init__(self) -> None:
        self._pages: dict[str, Drawn] = {}
        self._seen: set[str] = set()

    def remember(self, kept: Any) -> None:
        """Take over the pages of earlier runs."""
        if isinstance(kept, dict):
            with suppress(TypeError):
                self._pages = {url: Drawn(*values) for url, values in kept.items()}

    def keep(self, end: End) -> dict[str, list[Any]]:
        """Return the pages; those that a complete run did not see are forgotten."""
        pages = self._pages.items()
        return {url: list(page) for url, page in pages if url in self._seen or not end.saw_all}

    def learn(self, url: str, drawn: Drawn | None) -> None:
        """Learn what a page was drawn from; None where that is not known whole."""
        self._seen.add(url)
        self._pages.pop(url, None)
        if drawn is not None and len(self._pages) < MAX_DRAWN:
            self._pages[url] = drawn

    def of(self, url: str) -> Drawn | None:
        """Return what a page was drawn from when it was rendered last."""
        self._seen.add(url)
        return self._pages.get(url)
