"""New pages that have the text of a stored page which this run has not reached: they may be that page, moved. Pure.

Their documents wait until the end of the crawl, when it is known whether the stored page is gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmsspider.hashing import content_hash

if TYPE_CHECKING:
    from llmsspider.incremental import KnownPages
    from llmsspider.store import PageRecord

MAX_PAGES = 1000
"""So many pages wait; the documents of more say nothing of where they were."""


@dataclass(slots=True)
class MovedPages:
    """The new pages of one run that wait; `enabled` is False where a stop would lose them."""

    enabled: bool = False
    waiting: list[PageRecord] = field(default_factory=list)
    _stored: dict[bytes, list[bytes]] | None = None
    """Keys of the stored pages by the hash of their text."""

    def keep(self, record: PageRecord, known: KnownPages, recorded: Container[bytes]) -> bool:
        """Take a page in that may have moved.

        Args:
            record: the page as it came.
            known: the stored pages.
            recorded: keys of the pages that have a document in this run.
        """
        if not self.enabled or len(self.waiting) >= MAX_PAGES or known.state(record.key) is not None:
            return False
        if all(key in recorded for key in self._alike(record, known)):
            return False
        self.waiting.append(record)
        return True

    def pair(self, known: KnownPages) -> None:
        """Note where the stored pages moved to that are gone, or that nothing leads to any more."""
        for record in self.waiting:
            gone = [key for key in self._alike(record, known) if known.fates.get(key) in {"gone", "unlinked"}]
            same_name = [key for key in gone if _name(known.states[key].url) == _name(record.url)]
            if len(gone) == 1 or len(same_name) == 1:
                known.moved((same_name or gone)[0], record.key)

    def take(self) -> Iterator[PageRecord]:
        """Yield the pages that wait, in the order in which they came; from now on none waits."""
        self.enabled = False
        while self.waiting:
            yield self.waiting.pop(0)

    def _alike(self, record: PageRecord, known: KnownPages) -> list[bytes]:
        if self._stored is None:
            self._stored = defaultdict(list)
            for key, state in known.states.items():
                if state.content_hash is not None:
                    self._stored[state.content_hash].append(key)
        return self._stored.get(bytes.fromhex(content_hash(record.content or "")), [])


def _name(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]
