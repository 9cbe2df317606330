"""What one run writes: queued for the thread that commits, its changes numbered, its details bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from llmsspider.store import batch
from llmsspider.store.database import Database
from llmsspider.store.encoding import dump
from llmsspider.store.history import Retention
from llmsspider.store.records import FilteredUrl, PageError, RunRecord
from llmsspider.store.rows import Row
from llmsspider.store.sequence import Sequence
from llmsspider.store.writer import Writer

DETAIL_LIMIT = 1000
"""URLs kept by name for each reason and each error kind of a run; the counts are always exact."""


class RunWriter:
    """The writes of a run that has begun.

    Args:
        database: where they go.
        source_id: the source of the run.
        run: the run as it was at its beginning.
        reach_from: pages reached by a run of this number, or a later one, count as reached.
        retention: how many earlier contents of changed pages are kept.
    """

    def __init__(
        self,
        database: Database,
        source_id: int,
        run: RunRecord,
        reach_from: int,
        retention: Retention,
    ):
        self.run = run
        self.reach_from = reach_from
        self.retention = retention
        self._writer = Writer(database, source_id, run.number, keeps_history=retention.keeps)
        self._sequence = Sequence(database, source_id)
        self._queued: set[bytes] = set()
        self._filtered: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    def put(self, operation: batch.Operation) -> None:
        """Queue a write."""
        self._writer.put(operation)

    def put_page(self, operation: batch.Save | batch.TouchPage | batch.Bury) -> None:
        """Queue a write that `holds` knows of until it is flushed."""
        self._queued.add(operation.key)
        self._writer.put(operation)

    def holds(self, key: bytes) -> bool:
        """Say whether a page may have been written and not yet committed."""
        return key in self._queued

    def next_seq(self) -> int:
        """Take the number of a change."""
        return self._sequence.take()

    def error(self, page_error: PageError) -> None:
        """Count a page error, and keep it by name while there are few of its kind."""
        self._errors[page_error.kind] += 1
        if self._errors[page_error.kind] <= DETAIL_LIMIT:
            self._writer.put(page_error)

    def left_out(self, url: FilteredUrl) -> None:
        """Count a URL that was left out, and keep it by name while there are few of its reason."""
        self._filtered[url.reason] += 1
        if self._filtered[url.reason] <= DETAIL_LIMIT:
            self._writer.put(url)

    def tallies(self, counts: Mapping[str, Any]) -> Row:
        """Columns of `run` for the numbers so far."""
        return {
            "counts": dump(dict(counts)),
            "filtered": dump(dict(self._filtered)),
            "errors": dump(dict(self._errors)),
        }

    def flush(self) -> None:
        """Return when everything written so far is committed."""
        self._writer.flush()
        self._queued.clear()

    def give_back(self) -> None:
        """Give back the numbers that no change took."""
        self._sequence.give_back()

    def close(self) -> None:
        """Commit what is queued and end the thread."""
        self._writer.close()
