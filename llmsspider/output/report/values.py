"""What `run.json` holds, as values: the fields are its keys, in its order (docs/reference/run.schema.json)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmsspider.lint.findings import Level
from llmsspider.output.status import RunStatus


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
class Fallback:
    """A page that markdownify converted, and why the chosen converter failed."""

    url: str
    why: str


@dataclass(slots=True, frozen=True)
class Conversion:
    """The converter, and the pages it failed on: all of them counted, and some by URL."""

    converter: str
    fallbacks: int
    urls: list[Fallback]


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
class LintFinding:
    """A finding of the lint (docs/reference/lint.md); line and column count from 1, 0 is no place."""

    level: Level
    rule: str
    file: str
    problem: str
    line: int
    column: int
    count: int
    urls: tuple[str, ...]
    remedy: str


@dataclass(slots=True, frozen=True)
class RunData:
    """One run: its source, its status as `scrapy status` gives it, timings, discovery, coverage and lint."""

    source: str
    url: str | None
    arguments: dict[str, Any]
    scope: str | None
    run: RunStatus
    timings: Timings
    conversion: Conversion
    discovery: DiscoveryReport | None
    coverage: CoverageReport
    lint: list[LintFinding]
