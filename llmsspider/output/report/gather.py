"""Everything a report shows, collected from the Run and the store: nothing is fetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmsspider.output.graph import site_tree
from llmsspider.output.report.values import (
    GROUPS,
    Combination,
    CoverageReport,
    DiscoveryReport,
    File,
    GroupReport,
    GroupUrl,
    ListCoverage,
    Listed,
    PhaseTime,
    Request,
    RunData,
    Timings,
    compare,
)
from llmsspider.output.status import run_report, stored_report
from llmsspider.store import LINKS
from llmsspider.web.urls import identity

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.output.status import RunReport
    from llmsspider.site.discovered import Discovery, LlmsFile
    from llmsspider.store import PageError, PageRecord, Store


LINKS_PER_PAGE = 20
"""Links of one page that the picture may show."""

NOT_REACHED = "not reached"
"""The `change` of a stored page that the run did not reach."""


@dataclass(slots=True, frozen=True)
class Report:
    """`data` is what run.json holds, `documents` has a row for each page.

    The columns are title, URL, section, origin, change, depth, and what it was found by (the reason when deleted).
    """

    data: RunData
    coverage: ListCoverage
    documents: list[list[Any]]
    tree: dict[str, Any]


def gather(run: Run, seen: Container[str] | None = None) -> Report:
    """Return the report of a run that is closed; raises `StoreError`.

    Args:
        run: the run.
        seen: ids of the documents it yielded; stored pages that are not among them are `NOT_REACHED`. None where
            that is not known: those that did not change are then taken for reached.
    """
    report = run_report(run)
    with closing(run.config.stores.open(run.source, create=False)) as store:
        report = stored_report(report, store)
        pages = _Pages(store, report.id, seen)
        if report.changes.get("deleted"):
            pages.add_deleted(store, report)
    crawled = {identity(row[1]): row[1] for row in pages.rows if row[4] not in {"deleted", NOT_REACHED}}
    coverage = compare(
        _listed(run),
        crawled,
        {identity(one.url): (one.kind, one.reason) for one in report.errors.urls},
        {identity(one.url): (one.reason, one.rule or "") for one in report.filtered.urls},
    )
    tree = site_tree([row[1] for row in pages.rows if row[4] != "deleted"], pages.links())
    return Report(_data(run, report, coverage), coverage, pages.rows, tree)


@dataclass(slots=True, frozen=True)
class SiteGraph:
    """The pages of a source as rows, as in a `Report`; those that failed in its last run come last."""

    source: str
    rows: list[list[Any]]
    failed: int
    tree: dict[str, Any]


def site_graph(store: Store) -> SiteGraph:
    """Return the graph of what is stored; a page that failed has the kind of its error for its origin."""
    source, runs = store.source_record(), store.runs()
    pages = _Pages(store, runs[-1].id if runs else None, None)
    stored = len(pages.rows)
    pages.add_failed(store.errors(runs[-1]) if runs else [])
    tree = site_tree([row[1] for row in pages.rows], pages.links())
    return SiteGraph(source.name if source else "", pages.rows, len(pages.rows) - stored, tree)


def _data(run: Run, report: RunReport, coverage: ListCoverage) -> RunData:
    ends = [secs for _, secs in report.phases[1:]] + [report.phases[-1][1] if report.phases else 0.0]
    phases = [
        PhaseTime(phase, round(end - begin, 3))
        for (phase, begin), end in zip(report.phases, ends, strict=True)
        if phase != "finished"
    ]
    combined = [
        Combination(*where, pages=count) for where, count in sorted(coverage.combined.items(), reverse=True)
    ]
    groups = {
        name: GroupReport(GROUPS[name], group.count, [GroupUrl(*url) for url in group.urls])
        for name, group in coverage.groups.items()
    }
    return RunData(
        source=report.source,
        url=report.url,
        arguments=run.arguments.model_dump(mode="json", exclude_unset=True),
        scope=report.scope,
        run=report.as_stored(),
        timings=Timings(phases, report.timeline),
        conversion=report.conversion,
        discovery=None if report.discovery is None else _discovery(run, report.discovery),
        coverage=CoverageReport(combined, groups),
    )


def _discovery(run: Run, discovery: Discovery) -> DiscoveryReport:
    return DiscoveryReport(
        requests=discovery.requests,
        file=discovery.discovered_file,
        type=discovery.discovered_file_type,
        files=[_file(run, file) for file in discovery.files],
        sitemaps=list(discovery.sitemaps),
        tried=[Request(**tried._asdict()) for tried in discovery.tried],
        external=list(discovery.external),
        seeds=len(discovery.seeds),
    )


def _file(run: Run, file: LlmsFile) -> File:
    says = run.memory.says(file) or {}
    return File(file.url, file.kind, says.get("title"), says.get("summary"), len(file.entries))


def _listed(run: Run) -> Iterator[Listed]:
    discovery = run.discovery
    if discovery is None:
        return
    if discovery.start_listed:
        in_llms, in_sitemap = discovery.start_entry is not None, discovery.start_in_sitemap
        yield Listed(run.page_of(discovery.start.final_url), in_llms, in_sitemap)
    for seed in discovery.seeds:
        yield Listed(run.page_of(seed.url), seed.llms is not None, seed.in_sitemap)


class _Pages:
    """The pages of the store as rows, those this run deleted at the end, and their links by row."""

    def __init__(self, store: Store, run: str | None, seen: Container[str] | None):
        self.rows: list[list[Any]] = []
        self._seen = seen
        self._places: dict[str, int] = {}
        self._targets: list[list[str]] = []
        for page in store.iter_pages("depth", LINKS):
            self._add(page.record, page.change if page.run == run else self._standing(page.record))

    def add_deleted(self, store: Store, run: RunReport) -> None:
        """Add the pages that the run deleted."""
        for page in store.changes_since(run.seq_before):
            if page.change == "deleted" and page.run == run.id:
                self.rows.append([*_row(page.record), "deleted", page.record.depth, page.reason])

    def add_failed(self, errors: Iterable[PageError]) -> None:
        """Add the pages that failed, once each, and are not stored; links may lead to them."""
        for error in errors:
            place = self._places.setdefault(identity(error.url), len(self.rows))
            if place == len(self.rows):
                self.rows.append(["", error.url, "", error.kind, "failed", None, None])

    def _standing(self, record: PageRecord) -> str:
        return "unchanged" if self._seen is None or record.id in self._seen else NOT_REACHED

    def _add(self, record: PageRecord, change: str) -> None:
        self._places[record.identity] = len(self.rows)
        self.rows.append([*_row(record), change, record.depth, record.discovered_by])
        self._targets.append([link.url for link in record.links[: LINKS_PER_PAGE * 2]])

    def links(self) -> Iterator[tuple[int, int]]:
        """Yield the links between pages as pairs of rows."""
        for source, urls in enumerate(self._targets):
            targets = {self._places.get(identity(url), source) for url in urls} - {source}
            for target in sorted(targets)[:LINKS_PER_PAGE]:
                yield source, target


def _row(record: PageRecord) -> list[Any]:
    section = record.llms.section if record.llms else None
    return [record.title or "", record.url, section or "", record.origin]


def sections_of(rows: list[list[Any]]) -> dict[str, int]:
    """Count documents by section of the llms.txt; those without one by the first part of their path."""
    return dict(Counter(row[2] or "(none)" for row in rows if row[4] != "deleted"))
