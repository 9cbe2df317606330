"""Everything a report shows, collected from the Run and the store: nothing is fetched."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llmsspider.lint.findings import Finding
from llmsspider.output.report.lint import GROUPS, ListCoverage, Listed, compare, lint
from llmsspider.output.report.values import (
    Combination,
    Conversion,
    CoverageReport,
    DiscoveryReport,
    Fallback,
    File,
    GroupReport,
    GroupUrl,
    LintFinding,
    PhaseTime,
    Request,
    RunData,
    Timings,
)
from llmsspider.output.status import run_status
from llmsspider.store import LINKS
from llmsspider.web.urls import identity

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.output.status import RunStatus
    from llmsspider.site.discovery import Discovery, LlmsFile
    from llmsspider.store import PageError, PageRecord, RunRecord, Store


# --- the picture of a site: pages as a tree of paths in a circle, with the links between them ---

MAX_NODES = 3000
MAX_LINKS = 9000
"""Nodes and links the picture shows; what is beyond is counted."""

RING = 100.0
"""Distance between two levels of the tree."""


@dataclass(slots=True)
class _Node:
    name: str
    parent: int
    level: int
    page: int | None = None
    children: dict[str, int] = field(default_factory=dict)
    leaves: int = 0


def site_tree(urls: Sequence[str], links: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """Lay out pages; returns JSON-ready columns.

    `nodes` holds [name, parent, index of the page or -1, x, y] with the root first; `links` pairs of nodes;
    `pages_left` and `links_left` say what is not in the picture.

    Args:
        urls: the address of each page.
        links: pairs of indexes into `urls`.
    """
    nodes = [_Node("", -1, 0)]
    of_page: dict[int, int] = {}
    hosts = {urlsplit(url).netloc for url in urls[:MAX_NODES]}
    for index, url in enumerate(urls):
        if len(nodes) >= MAX_NODES:
            break
        of_page[index] = _insert(nodes, _path(url, with_host=len(hosts) > 1), index)
    places = _places(nodes)
    shown, left = _links(links, of_page)
    return {
        "nodes": [
            [node.name, node.parent, -1 if node.page is None else node.page, *place]
            for node, place in zip(nodes, places, strict=True)
        ],
        "links": shown,
        "pages_left": len(urls) - len(of_page),
        "links_left": left,
    }


def _links(links: Iterable[tuple[int, int]], of_page: dict[int, int]) -> tuple[list[list[int]], int]:
    shown: list[list[int]] = []
    left = 0
    for source, target in links:
        if source in of_page and target in of_page and len(shown) < MAX_LINKS:
            shown.append([of_page[source], of_page[target]])
        else:
            left += 1
    return shown, left


def _path(url: str, *, with_host: bool) -> list[str]:
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    if parts.query:
        path.append(f"?{parts.query}")
    return [parts.netloc, *path] if with_host else path


def _insert(nodes: list[_Node], path: list[str], page: int) -> int:
    here = 0
    for name in path[:30]:
        below = nodes[here].children.get(name)
        if below is None:
            below = len(nodes)
            nodes.append(_Node(name[:80], here, nodes[here].level + 1))
            nodes[here].children[name] = below
        here = below
    if nodes[here].page is None:
        nodes[here].page = page
    return here


def _places(nodes: list[_Node]) -> list[tuple[float, float]]:
    """Give each node a share of the circle by its leaves; a parent stands in the middle of its children."""
    for node in reversed(nodes):  # children come after their parents
        node.leaves = node.leaves or 1
        if node.parent >= 0:
            nodes[node.parent].leaves += node.leaves
    deepest = max(node.level for node in nodes) or 1
    ring = max(RING, nodes[0].leaves * 14 / (2 * math.pi * deepest))
    begins = [0.0] * len(nodes)
    places: list[tuple[float, float]] = []
    used = [0.0] * len(nodes)
    for index, node in enumerate(nodes):
        if node.parent >= 0:
            begins[index] = begins[node.parent] + used[node.parent]
            used[node.parent] += node.leaves / nodes[0].leaves
        angle = 2 * math.pi * (begins[index] + node.leaves / nodes[0].leaves / 2)
        radius = ring * node.level
        places.append((round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1)))
    return places


# --- the report ---

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
    findings: list[Finding]
    documents: list[list[Any]]
    tree: dict[str, Any]


def gather(run: Run, seen: Container[str] | None = None) -> Report:
    """Return the report of a run that is closed; raises `StoreError`.

    Args:
        run: the run.
        seen: ids of the documents it yielded; stored pages that are not among them are `NOT_REACHED`. None where
            that is not known: those that did not change are then taken for reached.
    """
    with closing(run.config.stores.open(run.source, create=False)) as store:
        record = next(record for record in store.runs() if record.id == run.id)
        status = run_status(record, store.errors(record), store.filtered(record))
        pages = _Pages(store, record, seen)
        if run.progress.changes["deleted"]:
            pages.add_deleted(store, record)
    crawled = {identity(row[1]): row[1] for row in pages.rows if row[4] not in {"deleted", NOT_REACHED}}
    coverage = compare(
        _listed(run),
        crawled,
        {identity(error.url): (error.kind, error.reason) for error in status.errors.urls},
        {identity(url.url): (url.reason, url.rule or "") for url in status.filtered.urls},
    )
    origins = {identity(row[1]): row[3] for row in pages.rows}
    findings = lint(run.discovery.files if run.discovery else (), coverage, origins)
    if run.config.own_code:  # it may take out what a file names that is no page, such as mail addresses
        findings = [dataclasses.replace(one, urls=tuple(filter(_is_page, one.urls))) for one in findings]
    tree = site_tree([row[1] for row in pages.rows if row[4] != "deleted"], pages.links())
    return Report(_data(run, status, coverage, findings), coverage, findings, pages.rows, tree)


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
    pages = _Pages(store, runs[-1] if runs else None, None)
    stored = len(pages.rows)
    pages.add_failed(store.errors(runs[-1]) if runs else [])
    tree = site_tree([row[1] for row in pages.rows], pages.links())
    return SiteGraph(source.name if source else "", pages.rows, len(pages.rows) - stored, tree)


def _is_page(url: str) -> bool:
    return urlsplit(url).scheme in {"", "http", "https"}


def _data(run: Run, status: RunStatus, coverage: ListCoverage, findings: list[Finding]) -> RunData:
    return RunData(
        source=run.source,
        url=run.arguments.url,
        arguments=run.arguments.model_dump(mode="json", exclude_unset=True),
        scope=run.bounds.scope.describe() if run.bounds.scope else None,
        run=status,
        timings=_timings(run),
        conversion=Conversion(
            converter=run.config.converter,
            fallbacks=run.progress.fallbacks,
            urls=[Fallback(one.url, one.detail) for one in run.progress.fallback_examples],
        ),
        discovery=None if run.discovery is None else _discovery(run, run.discovery),
        coverage=CoverageReport(
            combined=[
                Combination(*where, pages=count)
                for where, count in sorted(coverage.combined.items(), reverse=True)
            ],
            groups={
                name: GroupReport(GROUPS[name], group.count, [GroupUrl(*url) for url in group.urls])
                for name, group in coverage.groups.items()
            },
        ),
        lint=[LintFinding(level=one.level, **dataclasses.asdict(one), remedy=one.remedy) for one in findings],
    )


def _timings(run: Run) -> Timings:
    phases = run.progress.phases
    ends = [secs for _, secs in phases[1:]] + [phases[-1][1] if phases else 0.0]
    return Timings(
        phases=[
            PhaseTime(phase, round(end - begin, 3))
            for (phase, begin), end in zip(phases, ends, strict=True)
            if phase != "finished"
        ],
        timeline=[(point.secs, point.done, point.errors) for point in run.progress.timeline],
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

    def __init__(self, store: Store, run: RunRecord | None, seen: Container[str] | None):
        self.rows: list[list[Any]] = []
        self._seen = seen
        self._places: dict[str, int] = {}
        self._targets: list[list[str]] = []
        for page in store.iter_pages("depth", LINKS):
            of_run = run is not None and page.run == run.id
            self._add(page.record, page.change if of_run else self._standing(page.record))

    def add_deleted(self, store: Store, run: RunRecord) -> None:
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
