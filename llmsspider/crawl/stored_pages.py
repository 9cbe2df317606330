"""The stored pages that unchanged answers stand for, read with one SELECT for all whose requests are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.store import PageRecord

AT_ONCE = 16
"""Maximum number of pages that are expected, and of those that are in memory."""


class StoredPages:
    """Reads pages of the store ahead: a SELECT for each page costs more than what is done with the page.

    Args:
        run: the run.
    """

    def __init__(self, run: Run):
        self._run = run
        self._expected: dict[bytes, None] = {}
        self._read: dict[bytes, PageRecord | None] = {}

    def expect(self, key: bytes) -> None:
        """Note that a stored page is being requested, so that its answer may say that it is unchanged."""
        self._expected[key] = None
        _keep_latest(self._expected)

    def forget(self, key: bytes) -> None:
        """Note that a stored page is not wanted: its answer is another."""
        self._expected.pop(key, None)
        self._read.pop(key, None)

    def load(self, key: bytes) -> PageRecord | None:
        """Return a stored page as this run left it, None where it is not stored; and read those expected with it."""
        if key not in self._read:
            keys = list({key: None, **self._expected})
            self._expected.clear()
            self._read.update(zip(keys, self._run.store.load_pages(keys), strict=True))
        record = self._read.pop(key)
        _keep_latest(self._read)
        if record is None or not self._run.recorded.is_first(record):
            return self._run.store.load_page(key)
        return record


def _keep_latest(pages: dict[bytes, None] | dict[bytes, PageRecord | None]) -> None:
    while len(pages) > AT_ONCE:
        del pages[next(iter(pages))]
