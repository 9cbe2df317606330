"""What a run has found and done so far: counters with bounded examples, and immutable snapshots of them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import Literal

from llmsspider.errors import ErrorKind
from llmsspider.items import Change, Origin
from llmsspider.web.stats import FILTERED_AFTER_FETCH, FilterReason

Phase = Literal["starting", "discovery", "crawling", "verifying", "finishing", "finished"]

MAX_EXAMPLES = 50
"""Maximum number of examples of each filter reason and error kind; counts are always exact."""

MAX_RECENT = 8
"""Number of pages that are named as the last ones."""

MAX_POINTS = 240
"""Maximum number of points of the timeline; when there are more, every second one is removed."""


@dataclass(slots=True, frozen=True)
class Example:
    """One URL that failed or was filtered, and why in words."""

    url: str
    detail: str


@dataclass(slots=True, frozen=True)
class Point:
    """How far a run was at one moment: seconds since its start, pages done, pages that failed."""

    secs: float
    done: int
    errors: int


@dataclass(slots=True, frozen=True)
class Snapshot:
    """The state of a run at one moment; the stats are in docs/reference/stats.md.

    `done` counts documents, failed pages, and pages that were filtered once they were fetched. `queued` counts the
    pages that are known and not done, so the total grows while links are found.
    """

    phase: Phase
    discovered_file: str | None
    discovered_file_type: str
    linked_files: int
    crawl_type: str
    documents: int
    done: int
    queued: int
    origins: dict[str, int]
    changes: dict[str, int]
    errors: dict[str, int]
    filtered: dict[str, int]
    chunks: dict[str, int]
    elapsed_secs: float
    total: int
    """Pages known so far."""
    percent: int
    """How much of the total is done, rounded down; 0 while nothing is known."""
    unchanged: int
    """Documents that are as they were stored."""
    failed: int
    left_out: int
    pages_per_min: float


@dataclass(slots=True, frozen=True)
class RecentPage:
    """One page that is done: what came of it, and when, in seconds since the start."""

    url: str
    what: str
    status: int | None
    size: int
    secs: float


@dataclass(slots=True)
class Progress:
    """The counters of a run."""

    phase: Phase = "starting"
    discovered_file: str | None = None
    discovered_file_type: str = "none"
    linked_files: int = 0
    crawl_type: str = "links"
    documents: int = 0
    kept: int = 0
    """Pages that failed and whose stored document is exported in their place."""
    origins: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    filtered: Counter[str] = field(default_factory=Counter)
    chunks: Counter[str] = field(default_factory=Counter)
    """Rows of chunk feeds, by change."""
    error_examples: dict[str, list[Example]] = field(default_factory=lambda: defaultdict(list))
    filtered_examples: dict[str, list[Example]] = field(default_factory=lambda: defaultdict(list))
    fallbacks: int = 0
    """Pages that another engine converted than the chosen one."""
    fallback_examples: list[Example] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    stored_at_stop: int = 0
    """Pages that waited when the crawl was stopped: stored, and not exported."""
    unread: int = 0
    """Pages that were known and not done when the crawl was stopped."""
    recent: deque[RecentPage] = field(default_factory=lambda: deque(maxlen=MAX_RECENT))
    """The pages done last."""
    phases: list[tuple[Phase, float]] = field(default_factory=list)
    """The phases entered, each with the seconds since the start."""
    timeline: list[Point] = field(default_factory=list)

    def enter(self, phase: Phase) -> None:
        """Begin a phase; with `finished` the clock stops."""
        self.phase = phase
        self.phases.append((phase, round(self.elapsed_secs, 3)))
        self.ended = time.monotonic() if phase == "finished" else None
        if self.ended is not None and self.timeline:
            self.timeline.append(self._point())

    @property
    def elapsed_secs(self) -> float:
        """Seconds from the start to now, or to the end."""
        return (self.ended or time.monotonic()) - self.began

    @property
    def done(self) -> int:
        """Pages that are done."""
        seen = sum(self.filtered[reason] for reason in FILTERED_AFTER_FETCH)
        documents = self.documents - self.changes["deleted"] - self.kept
        return max(documents, 0) + sum(self.errors.values()) + seen + self.stored_at_stop

    def error(self, kind: ErrorKind, url: str, detail: str, status: int | None = None) -> None:
        """Count a failed page."""
        self.errors[kind] += 1
        self.add_recent(url, kind, status)
        _keep(self.error_examples[kind], url, detail)

    def record_filtered(self, reason: FilterReason, url: str, detail: str) -> None:
        """Count a URL that was filtered."""
        self.filtered[reason] += 1
        _keep(self.filtered_examples[reason], url, detail)

    def fallback(self, url: str, why: str) -> None:
        """Count a page that another engine converted than the chosen one."""
        self.fallbacks += 1
        _keep(self.fallback_examples, url, why)

    def add_recent(self, url: str, what: str, status: int | None, size: int = 0) -> None:
        """Remember a page as one of the last: its origin or error kind, HTTP status, characters of Markdown."""
        self.recent.append(RecentPage(url, what, status, size, round(self.elapsed_secs, 1)))

    def document(self, origin: Origin, change: Change) -> None:
        """Count an exported document."""
        self.documents += 1
        self.origins[origin] += 1
        self.changes[change] += 1

    def sample(self) -> None:
        """Put a point on the timeline; a long run keeps as many as a short one, further apart."""
        points = self.timeline
        secs = self.elapsed_secs
        if len(points) > 1 and secs - points[-1].secs < (points[1].secs - points[0].secs) * 0.9:
            return
        points.append(self._point())
        if len(points) > MAX_POINTS:
            del points[1::2]

    def _point(self) -> Point:
        return Point(round(self.elapsed_secs, 2), self.done, sum(self.errors.values()))

    def snapshot(self, *, queued: int) -> Snapshot:
        """Return an immutable copy; `queued` is the number of pages that are known and not done."""
        done, elapsed_secs = self.done, self.elapsed_secs
        total = done + queued
        return Snapshot(
            phase=self.phase,
            discovered_file=self.discovered_file,
            discovered_file_type=self.discovered_file_type,
            linked_files=self.linked_files,
            crawl_type=self.crawl_type,
            documents=self.documents,
            done=done,
            queued=queued,
            origins=dict(self.origins),
            changes=dict(self.changes),
            errors=dict(self.errors),
            filtered=dict(self.filtered),
            chunks=dict(self.chunks),
            elapsed_secs=round(elapsed_secs, 1),
            total=total,
            percent=done * 100 // total if total else 0,
            unchanged=self.changes["unchanged"],
            failed=self.errors.total(),
            left_out=self.filtered.total(),
            pages_per_min=round(done * 60 / elapsed_secs, 1) if elapsed_secs > 0 else 0.0,
        )


def duration(secs: float) -> str:
    """Return a length of time for people.

    >>> duration(4.26), duration(80), duration(3725)
    ('4.3 s', '1 min 20 s', '1 h 2 min')
    """
    if secs < 60:
        return f"{secs:.1f} s"
    minutes, seconds = divmod(int(secs), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _keep(examples: list[Example], url: str, detail: str) -> None:
    if len(examples) < MAX_EXAMPLES:
        examples.append(Example(url, detail))
