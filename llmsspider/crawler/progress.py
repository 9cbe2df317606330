"""What a run has found and done so far, in counters and immutable snapshots; what it saw and
delivered of it all.
"""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from llmsspider.errors import ErrorKind, command
from llmsspider.items import Change, Origin
from llmsspider.site.discovered import Discovery
from llmsspider.web.stats import FILTERED_AFTER_FETCH, Filtered, FilterReason

Phase = Literal["starting", "discovery", "crawling", "verifying", "finishing", "finished"]

# maximum number of examples of each filter reason and error kind; counts are always exact
MAX_EXAMPLES = 50
MAX_RECENT = 8  # number of pages that are named as the last ones
# maximum number of points of the timeline; when there are more, every second one is removed
MAX_POINTS = 240


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
    kept: int = 0  # pages that failed and whose stored document is exported in their place
    doubtful: Counter[str] = field(default_factory=Counter)
    """Stored pages that may be gone, by what says so: later complete runs decide."""
    origins: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    filtered: Counter[str] = field(default_factory=Counter)
    chunks: Counter[str] = field(default_factory=Counter)  # rows of chunk feeds, by change
    error_examples: dict[str, list[Example]] = field(default_factory=lambda: defaultdict(list))
    filtered_examples: dict[str, list[Example]] = field(default_factory=lambda: defaultdict(list))
    fallbacks: int = 0  # pages that another engine converted than the chosen one
    fallback_examples: list[Example] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    # pages that waited when the crawl was stopped: stored, and not exported
    stored_at_stop: int = 0
    requests: int = 0  # requests of any kind
    received: int = 0  # bytes of the bodies of their answers, as they were sent
    unread: int = 0  # pages that were known and not done when the crawl was stopped
    # the pages done last
    recent: deque[RecentPage] = field(default_factory=lambda: deque(maxlen=MAX_RECENT))
    phases: list[tuple[Phase, float]] = field(default_factory=list)
    """The phases entered, each with the seconds since the start."""
    timeline: list[Point] = field(default_factory=list)

    def discovered(self, discovery: Discovery) -> None:
        """Take over what discovery found."""
        self.discovered_file = discovery.discovered_file
        self.discovered_file_type = discovery.discovered_file_type
        self.linked_files = len(discovery.linked_files)
        self.crawl_type = "links" if discovery.discovered_file_type == "none" else "seeds and links"

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
        """Remember a page as one of the last: its origin or error kind, HTTP status, characters of
        Markdown.
        """
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

    def counts(self, *, queued: int) -> dict[str, Any]:
        """Return the numbers of this moment, as the store keeps them; `queued` are the pages known
        and not done.
        """
        done = self.done
        elapsed_secs = self.elapsed_secs
        total = done + queued
        return {
            "phase": self.phase,
            "discovered_file": self.discovered_file,
            "discovered_file_type": self.discovered_file_type,
            "linked_files": self.linked_files,
            "crawl_type": self.crawl_type,
            "documents": self.documents,
            "done": done,
            "queued": queued,
            "requests": self.requests,
            "bytes": self.received,
            "origins": dict(self.origins),
            "changes": dict(self.changes),
            "doubtful": dict(self.doubtful),
            "errors": dict(self.errors),
            "filtered": dict(self.filtered),
            "chunks": dict(self.chunks),
            "elapsed_secs": round(elapsed_secs, 1),
            "total": total,
            "percent": done * 100 // total if total else 0,
            "unchanged": self.changes["unchanged"],
            "failed": self.errors.total(),
            "left_out": self.filtered.total(),
            "pages_per_min": round(done * 60 / elapsed_secs, 1) if elapsed_secs > 0 else 0.0,
        }


# How many pages a crawl takes.

REQUESTS_PER_PAGE = 10
MIN_REQUESTS = 100
"""Without `max_requests`, a crawl sends 10 requests for each page of `max_pages`, and 100 more, at
most.

A page takes one to four: its Markdown form, its HTML, a redirect, retries. The rest is for pages
that give no document.
"""

MIN_QUEUE = 1000
"""Number of pages that may be queued however few requests are left: not every queued page is
requested.
"""


class PageLimit:
    """How many documents a crawl may export, and how many requests it may send (None: by those); 0
    is no limit.
    """

    def __init__(self, max_pages: int, progress: Progress, max_requests: int | None = None):
        by_pages = REQUESTS_PER_PAGE * max_pages + MIN_REQUESTS if max_pages else 0
        self.max_requests = by_pages if max_requests is None else max_requests
        self.requests = 0  # requests sent for pages; discovery and robots.txt do not count
        # True once links were filtered because enough pages for `max_requests` are queued
        self.cut = False
        self._max_pages = max_pages
        self._progress = progress

    @property
    def reached(self) -> bool:
        """True when `max_pages` documents have been exported, or `max_requests` requests sent."""
        return self.left == 0 or (0 < self.max_requests <= self.requests)

    @property
    def left(self) -> int | None:
        """How many more documents may be exported, None without a limit."""
        return max(self._max_pages - self._progress.documents, 0) if self._max_pages else None

    def room(self, queued: int) -> int | None:
        """Return how many more pages may be queued where `queued` wait already, None without a
        limit.
        """
        if not self.max_requests:
            return None
        return max(max(self.max_requests - self.requests, MIN_QUEUE) - queued, 0)

    @property
    def refusal(self) -> Filtered:
        """Why a page is filtered once the limit is `reached`, or its queue is full."""
        if self.left == 0:
            return Filtered("max-pages", f"max_pages={self._max_pages} is reached")
        return Filtered("max-requests", f"max_requests={self.max_requests} is reached")

    @property
    def why(self) -> str:
        """The name of the limit that ended the run: `max_pages` or `max_requests`."""
        return self.refusal.reason.replace("-", "_")


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


def doubted(by_reason: Mapping[str, int]) -> str:
    """Return the line on stored pages that may be gone, which later complete crawls decide on;
    empty without any.

    >>> doubted({"not-found": 11})
    'gone? 11 pages (not-found 11), the next complete crawl decides'
    """
    number = sum(by_reason.values())
    reasons = ", ".join(f"{one} {times}" for one, times in by_reason.items())
    crawls = "crawls decide" if "unlinked" in by_reason else "crawl decides"
    line = f"gone? {number} page{'s' * (number > 1)} ({reasons}), the next complete {crawls}"
    return line if number else ""


def _keep(examples: list[Example], url: str, detail: str) -> None:
    if len(examples) < MAX_EXAMPLES:
        examples.append(Example(url, detail))


# Whether a run saw the whole site, and what it delivered. Pages are stored while the crawl goes,
# feeds are delivered when it has ended: an upload that fails, a full disk or a kill in between
# leaves changes in the store that no reader of the feeds has seen. The counts of the run keep that
# (`delivered`), and the next run and `scrapy sources --json` say it
# (docs/explanation/incremental.md).


def succeeded(outcome: str) -> bool:
    """Say whether a crawl with this finish reason ended by itself or by a limit the user set.

    >>> succeeded("finished"), succeeded("closespider_timeout"), succeeded("start_failed")
    (True, True, False)
    """
    return outcome == "finished" or outcome.startswith("closespider_")


@dataclass(slots=True)
class Coverage:
    """Whether a run saw the whole site; after an incomplete run no page is deleted."""

    cut: str | None = None  # why the run did not see the whole site: a limit, a stop, a fault
    fault: str | None = None  # the error that ended the run, in one line
    outage: str | None = None
    """How the site kept the run from seeing everything: stored pages stay, and the exit code of the
    command says it.
    """
    # a page that others are known by could not be read: stored pages stay
    unread: str | None = None
    unseen: set[str] = field(default_factory=set)
    """The limits that filtered pages, by reason: pages that only those lead to were not seen."""

    def incomplete(self, why: str) -> None:
        """Record that the run did not see the whole site; the first reason stays."""
        self.cut = self.cut or why

    def failed(self, error: Exception) -> None:
        """Record the error that ended the run."""
        self.fault = str(error)
        self.incomplete(self.fault)

    @property
    def complete(self) -> bool:
        """True when the run saw the whole site."""
        return self.why_incomplete is None

    @property
    def why_incomplete(self) -> str | None:
        """Why the run did not see the whole site, or None."""
        return self.cut or self.unread or self.outage


@dataclass(slots=True)
class Outputs:
    """What became of the outputs of one run."""

    delivered: bool | None = None
    """Whether the outputs were stored where they belong, once the run is closed; None where there
    are none.
    """
    # what an output could not deliver, in words
    undelivered: list[str] = field(default_factory=list)
    undelivered_since: int | None = None
    """The change to replay from, where an earlier run stored changes that it did not deliver."""
    # what was done to the Markdown tree, in one line, once all pages are through
    mirror: str | None = None
    report: str | None = None  # the text of the HTML report, once it is written
    chunks_before: dict[str, frozenset[str]] = field(default_factory=dict)
    """Ids of the chunks that changed and deleted documents had, by document id, where a feed asks
    for chunks.
    """


def replay_command(source: str, since: int) -> str:
    """Return the command that gives everything changed after `since`.

    >>> replay_command("docs.example.com/guide", 17)
    'scrapy export docs.example.com/guide --since 17'
    """
    return command("export", source, "--since", str(since))
