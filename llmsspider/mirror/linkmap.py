"""Which file of the tree a URL leads to."""

from __future__ import annotations

from collections.abc import Mapping

from llmsspider.urls import loose_key, page_key


class LinkMap:
    """Files by the page keys of their pages, and of the other spellings under which those are linked.

    A spelling nobody stored (`page` for `page/`) leads to a page when it can mean only one of the tree.
    """

    def __init__(self, aliases: Mapping[bytes, bytes]):
        self._aliases = aliases
        self._files: dict[bytes, str] = {}
        self._others: dict[bytes, str] = {}
        self._loose: dict[str, str | None] = {}

    def add(self, url: str, fetched_url: str, file: str) -> None:
        """Note that the page `url`, whose body came from `fetched_url`, is `file`."""
        self._files[page_key(url)] = file
        if fetched_url != url:
            self._others.setdefault(page_key(fetched_url), file)
        loose = loose_key(url)
        self._loose[loose] = None if loose in self._loose else file

    def file(self, url: str) -> str | None:
        """The file of the page `url` leads to, or None when it is not in the tree."""
        if not url.startswith(("http://", "https://")):
            return None
        try:
            key = page_key(url)
            found = self._files.get(key) or self._files.get(self._aliases.get(key, b""))
            return found or self._others.get(key) or self._loose.get(loose_key(url))
        except ValueError:  # no URL after all
            return None
