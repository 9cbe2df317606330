"""The files of discovery, compared with those that an earlier run read seeds from. No Scrapy here.

An outage of such a file says nothing about the pages it lists, so nothing is deleted then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmsspider.discovery import Discovery
    from llmsspider.store import SourceRecord


class FilesBefore:
    """The files an earlier run read seeds from, and what became of them.

    Args:
        source: the source as stored, None on its first crawl.
    """

    def __init__(self, source: SourceRecord | None):
        files = source.discovery.get("files", []) if source else []
        self._before: list[str] = files if isinstance(files, list) else []
        self._unread: list[str] = []
        self._missed: list[str] = []
        self._gone: set[str] = set()

    def answered(self, url: str, *, unread: bool, gone: bool = False) -> None:
        """Note a file that could not be read now, or is gone."""
        if unread and url in self._before:
            self._unread.append(url)
        if gone:
            self._gone.add(url)

    def compare(self, discovery: Discovery) -> None:
        """Find the files that broke off, and those that gave no seeds though nobody says that they are gone."""
        self._unread += [url for url in discovery.broken if url in self._before]
        known = {*discovery.read_files(), *self._gone, *self._unread}
        self._missed = [url for url in self._before if url not in known]

    @property
    def lost(self) -> list[str]:
        """The files whose seeds may be missing in this run."""
        return [*self._unread, *self._missed]

    def to_keep(self, discovery: Discovery) -> list[str]:
        """Return the files that the next run compares its own with."""
        return list(dict.fromkeys([*discovery.read_files(), *self._unread]))
