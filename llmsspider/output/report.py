"""What the report of a run holds, collected from the run and the store; `llmsspider.ui` draws it.

The fields of the dataclasses are the keys of `run.json`, in its order
(docs/reference/run.schema.json).
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from llmsspider.crawler.parts import (
    Addresses,
    Config,
    DocsArguments,
    RecordedPages,
    SiteKnowledge,
    SiteRights,
    SourceMemory,
    UsesRun,
)
from llmsspider.crawler.progress import Example, Progress, RecentPage
from llmsspider.crawler.run import Run
from llmsspider.output.status import (
    Conversion,
    RunStatus,
    conversion,
    current_status,
    stored_status,
)
from llmsspider.site.discovered import Discovery, Probe
from llmsspider.store import OUTLINE, PageRecord, Store
from llmsspider.web.rights import SiteDeclaration
from llmsspider.web.urls import identity

MAX_PER_OUTCOME = 200  # maximum number of URLs in each list; counts are exact
NOT_REACHED = "not reached"  # the `change` of a stored page that the run did not reach


@dataclass(slots=True, frozen=True)
class PhaseTime:
    """How long a phase of the crawl took."""

    phase: str
    secs: float


@dataclass(slots=True, frozen=True)
class Timings:
    """Phases, and points of the timeline: seconds since the start, pages done, pages that failed."""

    phases: list[PhaseTime]
    timeline: list[tuple[float, int, int]]


@dataclass(slots=True, frozen=True)
class File:
    """An llms.txt or llms-full.txt that discovery read."""

    url: str
    kind: str
    title: str | None
    summary: str | None
    entries: int


@dataclass(slots=True, frozen=True)
class DiscoveryReport:
    """What discovery requested and found."""

    requests: int
    file: str | None
    type: str
    files: list[File]
    sitemaps: list[str]
    tried: list[Probe]
    external: list[str]
    seeds: int


@dataclass(slots=True, frozen=True)
class Combination:
    """Number of pages that are in an llms.txt, in a sitemap, and crawled, or not."""

    llms_txt: bool
    sitemap: bool
    crawled: bool
    pages: int


@dataclass(slots=True)
class GroupReport:
    """URLs of one outcome: the number of all, and some of them."""

    meaning: str
    pages: int
    urls: list[Example]

    def add(self, url: str, detail: str = "") -> None:
        """Count a URL, and keep it while there is room."""
        self.pages += 1
        if len(self.urls) < MAX_PER_OUTCOME:
            self.urls.append(Example(url, detail))


@dataclass(slots=True, frozen=True)
class CoverageReport:
    """Listed pages against crawled ones; `groups` by name (docs/reference/report.md)."""

    combined: list[Combination]
    groups: dict[str, GroupReport]


@dataclass(slots=True, frozen=True)
class RunData:
    """One run: its source, its status as `llmsspider status` gives it, the pages done last,
    the latest first, timings, discovery and coverage.
    """

    source: str
    url: str | None
    arguments: dict[str, Any]
    scope: str | None
    run: RunStatus
    recent: list[RecentPage]
    timings: Timings
    conversion: Conversion
    discovery: DiscoveryReport | None
    coverage: CoverageReport
    rights: list[SiteDeclaration]
    oldest_check: str | None


class ReportData(UsesRun):
    """Collects what run.json holds of a run, which may be going, or closed."""

    addresses: Addresses
    arguments: DocsArguments
    config: Config
    memory: SourceMemory
    progress: Progress
    recorded: RecordedPages
    rights: SiteRights
    site: SiteKnowledge

    def __init__(self, run: Run):
        super().__init__(run)
        self._run = run

    def gather(self) -> tuple[RunData, list[list[Any]]]:
        """Return the report of a run that is closed, and a row for each page; raises `StoreError`.

        The columns are title, URL, section, origin, change, depth, and what it was found by (the
        reason when deleted). Stored pages that have no document in the run are `NOT_REACHED`; where
        other processes yielded a part of the documents, those that did not change are taken for
        reached.
        """
        run = self._run
        with self.config.stores.open(run.source, create=False) as store:
            status = stored_status(store, next(one for one in store.runs() if one.id == run.id))
            pages = StoredPages(
                store, run.id, None if self._run.job.resumes else self.recorded.keys
            )
            if status.changes.get("deleted"):
                pages.add_deleted(store, run.seq_before)
        living = (row[1] for row in pages.rows if row[4] not in {"deleted", NOT_REACHED})
        coverage = compare(
            self._listed(self.site.discovery) if self.site.discovery is not None else (),
            {identity(url): url for url in living},
            {identity(one.url): (one.kind, one.reason) for one in status.errors.urls},
            {identity(one.url): (one.reason, one.rule or "") for one in status.filtered.urls},
        )
        return self._data(status, coverage, pages.oldest_check), pages.rows

    def now(self) -> RunData:
        """Return what is known of a run while it goes: no coverage, examples of what failed and
        what was filtered.
        """
        return self._data(current_status(self._run), CoverageReport([], {}), None)

    def _data(
        self, status: RunStatus, coverage: CoverageReport, oldest_check: str | None
    ) -> RunData:
        discovery = self.site.discovery
        entered = self.progress.phases
        spans = pairwise([*entered, *entered[-1:]])
        phases = [
            PhaseTime(phase, round(b - a, 3)) for (phase, a), (_, b) in spans if phase != "finished"
        ]
        return RunData(
            source=self._run.source,
            url=self.arguments.url,
            arguments=self.arguments.model_dump(mode="json", exclude_unset=True),
            scope=status.scope,
            run=status,
            recent=list(reversed(self.progress.recent)),
            timings=Timings(
                phases, [(one.secs, one.done, one.errors) for one in self.progress.timeline]
            ),
            conversion=conversion(self._run),
            discovery=None if discovery is None else self._discovery(discovery),
            coverage=coverage,
            rights=self.rights.table(),
            oldest_check=oldest_check,
        )

    def _discovery(self, discovery: Discovery) -> DiscoveryReport:
        files = [
            File(file.url, file.kind, head.get("title"), head.get("summary"), len(file.entries))
            for file, head in (
                (one, self.memory.description_of(one) or {}) for one in discovery.files
            )
        ]
        return DiscoveryReport(
            requests=discovery.requests,
            file=discovery.discovered_file,
            type=discovery.discovered_file_type,
            files=files,
            sitemaps=list(discovery.sitemaps),
            tried=discovery.tried,
            external=list(discovery.external),
            seeds=len(discovery.seeds),
        )

    def _listed(self, discovery: Discovery) -> Iterator[tuple[str, bool, bool]]:
        if discovery.start_listed:
            url = self.addresses.page_of(discovery.start.final_url)
            yield url, discovery.start_entry is not None, discovery.start_in_sitemap
        for seed in discovery.seeds:
            yield self.addresses.page_of(seed.url), seed.llms is not None, seed.in_sitemap


# What llms.txt and sitemaps list, against what was crawled.

GROUPS = {
    "dead": "listed, but the site answers that there is no such page",
    "soft-404": "listed and answered with status 200, but the page says that it does not exist",
    "failed": "listed, but failed",
    "left-out": "listed, but filtered",
    "not-reached": "listed, but not reached in this run",
    "only-llms": "crawled; in llms.txt and in no sitemap",
    "only-sitemap": "crawled; in a sitemap and not in llms.txt",
    "only-links": "crawled; found by links alone",
}


def compare(
    listed: Iterable[tuple[str, bool, bool]],
    crawled: Mapping[str, str],
    errors: Mapping[str, tuple[str, str]],
    filtered: Mapping[str, tuple[str, str]],
) -> CoverageReport:
    """Compare listed pages, each named once or more, with the URLs of documents by their identity.

    `listed` has URLs, whether each is in an llms.txt, and in a sitemap; `errors` has (kind,
    message) of each page that failed, by identity, `filtered` (reason, rule) of each filtered URL.
    """
    known: dict[
        str, tuple[str, bool, bool]
    ] = {}  # a page that is listed as `.md` and as HTML is one page
    for url, in_llms, in_sitemap in listed:
        first = known.get(identity(url), (url, False, False))
        known[identity(url)] = first[0], first[1] | in_llms, first[2] | in_sitemap
    groups = {name: GroupReport(meaning, 0, []) for name, meaning in GROUPS.items()}
    combined: Counter[tuple[bool, bool, bool]] = Counter()
    for key, (url, in_llms, in_sitemap) in known.items():
        combined[in_llms, in_sitemap, key in crawled] += 1
        if key not in crawled:
            name, detail = _not_crawled(errors.get(key), filtered.get(key))
            groups[name].add(url, detail)
        elif in_llms != in_sitemap:
            groups["only-llms" if in_llms else "only-sitemap"].add(url)
    for url in (url for key, url in crawled.items() if key not in known):
        combined[False, False, True] += 1
        groups["only-links"].add(url)
    pages = sorted(combined.items(), reverse=True)
    return CoverageReport([Combination(*where, pages=count) for where, count in pages], groups)


def _not_crawled(error: tuple[str, str] | None, refusal: tuple[str, str] | None) -> tuple[str, str]:
    """Return the group of a listed page without a document, and what is said of it."""
    if error is not None:
        return "dead" if error[0] == "not_found" else "failed", ": ".join(error)
    if refusal is not None:
        name = "soft-404" if refusal[0] == "soft-404" else "left-out"
        return name, ": ".join(filter(None, refusal))
    return "not-reached", ""


class StoredPages:
    """The pages of the store as rows (see `ReportData.gather`), those this run deleted at the end."""

    def __init__(self, store: Store, run: str, seen: Container[bytes] | None):
        self._run = run
        self.rows: list[list[Any]] = []
        self.oldest_check: str | None = None
        for page in store.iter_pages("depth", OUTLINE):
            reached = seen is None or page.record.key in seen
            self.oldest_check = min(
                self.oldest_check or page.record.fetched_at, page.record.fetched_at
            )
            change = page.change if page.run == run else "unchanged" if reached else NOT_REACHED
            self.rows.append(
                [*_row(page.record), change, page.record.depth, page.record.discovered_by]
            )

    def add_deleted(self, store: Store, seq_before: int) -> None:
        """Add the pages that the run deleted."""
        for page in store.changes_since(seq_before):
            if page.change == "deleted" and page.run == self._run:
                self.rows.append([*_row(page.record), "deleted", page.record.depth, page.reason])


def _row(record: PageRecord) -> list[Any]:
    section = (record.llms and record.llms.section) or ""
    return [record.title or "", record.url, section, record.origin]
