"""The pages that a run has recorded: each is written to the store once, as a document or as a tombstone. No Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmsspider.items import content_hash
from llmsspider.owncode import own_mark

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.items import Change
    from llmsspider.store import PageRecord, PageState


class RecordedPages:
    """Writes the pages of one run to the store, and compares them with what is stored.

    Args:
        run: the run.
    """

    def __init__(self, run: Run):
        self._run = run
        self._keys: set[bytes] = set()

    def is_first(self, record: PageRecord) -> bool:
        """Say whether the page has neither a document nor a tombstone in this run yet."""
        return record.key not in self._keys

    def is_stored(self, record: PageRecord) -> bool:
        """Say whether a page that was read anew has the text that is stored of it."""
        state = self._run.known.state(record.key)
        return state is not None and state.markdown_hash == bytes.fromhex(content_hash(record.content or ""))

    def may_have_moved(self, record: PageRecord) -> bool:
        """Keep a new page that may be a stored one without a document yet; return whether it waits."""
        run = self._run
        return run.moved_pages.keep(record, run.known, self._keys, room=run.limit.left)

    def delivered_before(self, record: PageRecord) -> PageRecord | None:
        """Return what is stored of a page whose source is as it was, where pipelines may make another document of it.

        None where the document is to be taken as it is: another source, other pipelines, or `full=true`.
        """
        run, state = self._run, self._run.known.states.get(record.key)
        is_same = (
            bool(run.config.own_code)
            and run.known.trusted
            and state is not None
            and state.markdown_hash == bytes.fromhex(record.source_hash or "")
            and state.extractor_version == record.extractor_version
        )
        return run.store.load_page(record.key) if is_same else None

    def drop(self, record: PageRecord, why: str) -> None:
        """Count a page that a pipeline of the user dropped; what is stored of it is deleted at the end."""
        if self._run.known.reasons.get(record.key) != "pipeline":
            self._run.record_filtered(record.url, "pipeline", why)
            self._run.known.record_outcome(record.key, "dropped", "pipeline")

    def write(self, record: PageRecord, *, confirmed: bool) -> tuple[Change, int | None]:
        """Write a page to the store.

        Args:
            record: the page.
            confirmed: it is as it was stored: a 304, an equal body, or in place of a page that failed.

        Returns:
            Its change, and the number of the change; None for a page that did not change.

        Raises:
            RuntimeError: the page has a document in this run.
            StoreError: the store takes no more.
        """
        self._take(record)
        run, key = self._run, record.key
        if not run.remembers:
            return "new", None
        if confirmed:
            run.store.touch_page(key, record.touch())
            return "unchanged", None
        state = run.known.states.get(key)
        is_same = state is not None and state.content_hash == bytes.fromhex(record.content_hash or "")
        if state is not None and is_same and not self._is_altered(record, state):
            run.store.save_page(record, "unchanged")
            return "unchanged", None
        change: Change = "new" if state is None else "changed"
        return change, run.store.save_page(record, change)

    def delete(self, record: PageRecord) -> int:
        """Make a page a tombstone in the store, and return the number of the change; raises as `write` does."""
        self._take(record)
        return self._run.store.delete_page(record.key, self._run.known.reasons.get(record.key, "deleted"))

    def _take(self, record: PageRecord) -> None:
        """Note that the page has its one document of this run; raises `RuntimeError` for a second one."""
        if not self.is_first(record):
            raise RuntimeError(f"{record.url} has a document in this run")
        self._keys.add(record.key)

    def _is_altered(self, record: PageRecord, state: PageState) -> bool:
        """Say whether pipelines made another document of a page whose content is the same."""
        run = self._run
        if not run.config.own_code and not own_mark(state.extractor_version):
            return False
        stored = run.store.load_page(record.key)
        if stored is None or stored.extra != record.extra:
            return stored is not None
        with_others = state.extractor_version != record.extractor_version
        return with_others and (stored.title, stored.description) != (record.title, record.description)
