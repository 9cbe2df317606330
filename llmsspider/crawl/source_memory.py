"""What a run takes from earlier ones of its source, and what it leaves for the next: the source's record. No Scrapy."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from llmsspider.crawl.traps import shape_of
from llmsspider.sources import updated_record
from llmsspider.store import CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmsspider.crawl.run import Run
    from llmsspider.discovery import Discovery
    from llmsspider.store import SourceRecord


def source_to_keep(run: Run, before: SourceRecord | None) -> SourceRecord:
    """Return the record of a run's source as it is stored: `before` with what the run learned so far."""
    source = updated_record(
        run.arguments,
        before,
        forms=run.site.learned(),
        extractor_version=run.records.extractor_version,
    )
    kept = source.discovery
    kept["doubts"] = run.doubts.to_keep(complete=run.complete)
    kept["unbelieved"] = sorted(run.full_check.unbelieved)
    for name, found in (("missing", run.missing), ("no_end_tag", run.missing_ends.counts)):
        kept[name] = {key.hex(): runs for key, runs in found.items()}
    kept["full_text"] = run.lagging.to_json()
    if run.link_bases.learned():
        kept["link_bases"] = dict(run.link_bases.learned())
    if run.discovery is not None:
        _keep_discovery(run, source, run.discovery)
    return source


def _keep_discovery(run: Run, source: SourceRecord, discovery: Discovery) -> None:
    """Keep what a run with discovery found; some of it only where the run saw the whole site."""
    kept, finished = source.discovery, run.outcome == "finished"
    kept["files"] = run.previous_discovery.to_keep(discovery)
    says = run.says(discovery.main_file) if discovery.main_file is not None else None
    if discovery.main_file is not None and says is not None:
        kept["says"] = {"file": discovery.main_file.url, **says}
    if run.worker_group.leads:
        kept["start"] = run.start_history.to_json()
    if run.outcome and run.worker_group.is_alone and run.follows_links:
        kept["dead_links"] = run.dead_links.to_keep(whole=run.complete and finished and run.resumes is None)
    if run.complete and finished:
        kept["link_sources"] = run.links.asked


def runs_by_page(source: SourceRecord | None, name: str) -> dict[bytes, int]:
    """Return what the record counts under a name: runs in a row, by page key."""
    found = source.discovery.get(name) if source else None
    return {bytes.fromhex(key): int(runs) for key, runs in found.items()} if isinstance(found, dict) else {}


class StoredLookAlikes:
    """The texts of the stored pages of a shape (`traps.shape_of`), where there are so many that the limit matters."""

    def __init__(self, run: Run):
        self._run = run
        self._by_shape: dict[str, list[bytes]] | None = None

    def __call__(self, shape: str) -> Iterator[str]:
        """Yield the texts."""
        run, keys = self._run, self._keys(shape)
        if run.is_open and len(keys) >= run.config.max_look_alikes:
            for record in run.store.load_pages(keys, CONTENT):
                if record is not None:
                    yield record.content or ""

    def _keys(self, shape: str) -> list[bytes]:
        if self._by_shape is None:
            self._by_shape = defaultdict(list)
            for key, state in self._run.known.states.items():
                if (found := shape_of(state.url)) is not None:
                    self._by_shape[found].append(key)
        return self._by_shape.get(shape, [])
