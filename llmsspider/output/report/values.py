"""What `run.json` holds, as values: the fields are its keys, in its order (docs/reference/run.schema.json)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmsspider.output.status import Conversion, RunStatus
from llmsspider.web.urls import identity


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
class Request:
    """A location that discovery requested, and what came of it."""

    url: str
    outcome: str
    reason: str | None


@dataclass(slots=True, frozen=True)
class DiscoveryReport:
    """What discovery requested and found."""

    requests: int
    file: str | None
    type: str
    files: list[File]
    sitemaps: list[str]
    tried: list[Request]
    external: list[str]
    seeds: int


@dataclass(slots=True, frozen=True)
class Combination:
    """Number of pages that are in an llms.txt, in a sitemap, and crawled, or not."""

    llms_txt: bool
    sitemap: bool
    crawled: bool
    pages: int


@dataclass(slots=True, frozen=True)
class GroupUrl:
    """A URL of a group, with a detail such as the error."""

    url: str
    detail: str


@dataclass(slots=True, frozen=True)
class GroupReport:
    """URLs of one outcome: the number of all, and some of them."""

    meaning: str
    pages: int
    urls: list[GroupUrl]


@dataclass(slots=True, frozen=True)
class CoverageReport:
    """Listed pages against crawled ones; `groups` by name (docs/reference/report.md)."""

    combined: list[Combination]
    groups: dict[str, GroupReport]


@dataclass(slots=True, frozen=True)
class RunData:
    """One run: its source, its status as `scrapy status` gives it, timings, discovery and coverage."""

    source: str
    url: str | None
    arguments: dict[str, Any]
    scope: str | None
    run: RunStatus
    timings: Timings
    conversion: Conversion
    discovery: DiscoveryReport | None
    coverage: CoverageReport


# What llms.txt and sitemaps list, against what was crawled.

MAX_PER_OUTCOME = 200
"""Maximum number of URLs in each list; counts are exact."""


@dataclass(slots=True, frozen=True)
class Listed:
    """A page that discovery found listed, and where."""

    url: str
    in_llms: bool
    in_sitemap: bool


@dataclass(slots=True)
class Group:
    """URLs of one finding or outcome; `urls` holds the first of them, each with a detail."""

    count: int = 0
    urls: list[tuple[str, str]] = field(default_factory=list)

    def add(self, url: str, detail: str = "") -> None:
        """Count a URL, and keep it while there is room."""
        self.count += 1
        if len(self.urls) < MAX_PER_OUTCOME:
            self.urls.append((url, detail))


@dataclass(slots=True)
class ListCoverage:
    """Pages by where they were found. `combined` counts (in llms.txt, in a sitemap, crawled)."""

    combined: dict[tuple[bool, bool, bool], int] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)

    def group(self, name: str) -> Group:
        """The URLs of one group: see `GROUPS`."""
        return self.groups[name]


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
    listed: Iterable[Listed],
    crawled: Mapping[str, str],
    errors: Mapping[str, tuple[str, str]],
    filtered: Mapping[str, tuple[str, str]],
) -> ListCoverage:
    """Compare listed pages with crawled ones.

    Args:
        listed: every listed page, once for each list or spelling that names it.
        crawled: URL of each document by its identity.
        errors: (kind, message) of each page that failed, by identity.
        filtered: (reason, rule) of each filtered URL, by identity.
    """
    found = ListCoverage(groups={name: Group() for name in GROUPS})
    known = _joined(listed)
    for key, page in known.items():
        _count(found, page.in_llms, page.in_sitemap, key in crawled)
        if key not in crawled:
            name, detail = _outcome(key, errors, filtered)
            found.groups[name].add(page.url, detail)
        elif page.in_llms != page.in_sitemap:
            found.groups["only-llms" if page.in_llms else "only-sitemap"].add(page.url)
    for key, url in crawled.items():
        if key not in known:
            _count(found, False, False, True)
            found.groups["only-links"].add(url)
    return found


def _joined(listed: Iterable[Listed]) -> dict[str, Listed]:
    """Return each listed page once, by identity: one that is listed as `.md` and as HTML is one page."""
    pages: dict[str, Listed] = {}
    for page in listed:
        first = pages.setdefault(identity(page.url), page)
        in_llms, in_sitemap = first.in_llms or page.in_llms, first.in_sitemap or page.in_sitemap
        pages[identity(page.url)] = Listed(first.url, in_llms, in_sitemap)
    return pages


def _outcome(
    key: str, errors: Mapping[str, tuple[str, str]], filtered: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    if key in errors:
        kind, message = errors[key]
        return ("dead" if kind == "not_found" else "failed"), f"{kind}: {message}"
    if key in filtered:
        reason, rule = filtered[key]
        return ("soft-404" if reason == "soft-404" else "left-out"), f"{reason}: {rule}" if rule else reason
    return "not-reached", ""


def _count(found: ListCoverage, in_llms: bool, in_sitemap: bool, crawled: bool) -> None:
    combination = (in_llms, in_sitemap, crawled)
    found.combined[combination] = found.combined.get(combination, 0) + 1
