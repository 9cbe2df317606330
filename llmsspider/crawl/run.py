"""The run: what one crawl knows, shared by its components (`spiderrun.run_of(crawler)`). No Scrapy.

It holds one object for each concern, which components ask. It is made with the spider, opened when the crawl starts
and closed when the spider has closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from llmsspider.content.conversion.workers import ConversionPool
from llmsspider.crawl import traps
from llmsspider.crawl.bot_walls import Suspects
from llmsspider.crawl.bounds import Bounds, PageLimit
from llmsspider.crawl.deletions import Moves
from llmsspider.crawl.jobs import Spool
from llmsspider.crawl.known_pages import KnownPages, KnownResources
from llmsspider.crawl.pages import PrefetchedResponses
from llmsspider.crawl.progress import Coverage, Outputs, Progress, Snapshot, succeeded
from llmsspider.crawl.readings import Readings
from llmsspider.crawl.records import RecordedPages, Records
from llmsspider.crawl.settle import drop_reason
from llmsspider.crawl.site import SiteKnowledge
from llmsspider.crawl.source_memory import SourceMemory, StoredLookAlikes
from llmsspider.crawl.waiting import Waiting
from llmsspider.errors import ErrorKind, StoreError
from llmsspider.items import content_hash
from llmsspider.site.llmstxt import directory_url
from llmsspider.store import RunKind, Store
from llmsspider.web import stats
from llmsspider.web.stats import FILTERED_AFTER_FETCH, LIMITS, FilterReason, Stat
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from llmsspider.config.arguments import DocsArguments
    from llmsspider.config.settings import Config
    from llmsspider.crawl.plan import Plan
    from llmsspider.items import Page
    from llmsspider.site.discovered import Discovery
    from llmsspider.store import PageRecord, RunRecord, SourceRecord

logger = logging.getLogger(__name__)

CONVERT_TIMEOUT_SECS = 60
"""Time that one page may take in a worker; measured: the slowest real pages take seconds."""


class Run:
    """One crawl of one source.

    Args:
        arguments: of the run, those of the stored source included.
        source: as stored, None on its first crawl.
        config: the project's settings.
        count: adds a number to a stat by its name.
        queued: returns how many pages are waiting or under way.
        resumes: id of the run that a JOBDIR continues, None for a new one.
    """

    outcome = ""
    """Scrapy's finish reason, once the spider has closed."""

    discovers = True
    """Whether the crawl begins with discovery and goes on in phases (`LlmsTxtStart`)."""

    remembers = True
    """Whether pages are stored."""

    fault: str | None = None
    """The error that ended the run, in one line."""

    def __init__(
        self,
        arguments: DocsArguments,
        source: SourceRecord | None,
        config: Config,
        count: Callable[[Stat, int], None],
        queued: Callable[[], int],
        *,
        resumes: str | None = None,
    ):
        self.arguments = arguments
        self.config = config
        self.source: str = arguments.source or ""
        self.progress = Progress()
        self.requested_pages: set[bytes] = set()
        """The keys (`urls.page_key`) of the pages that were requested in this crawl."""
        self.limit = PageLimit(arguments.max_pages, self.progress, arguments.max_requests)
        self.workers = ConversionPool(
            config.convert_workers,
            CONVERT_TIMEOUT_SECS,
            config.converter,
            config.handlers.paths,
            formats=config.formats,
            openapi=config.openapi_documents,
            generators=config.generators,
        )
        self.spool = Spool()
        self.site = SiteKnowledge()
        self.known = KnownPages()
        self.resources, self.readings = KnownResources(), Readings(self)
        self.recorded = RecordedPages(self.known)
        self.records = Records(self.source, config.converter_fingerprint)
        self.suspects = Suspects()
        self.bounds = Bounds(
            arguments,
            self.site,
            config.handlers.extensions | config.formats.extensions("linked"),
            traps.LookAlikes(traps.MAX_LOOK_ALIKES, StoredLookAlikes(self)),
            requested=self.requested,
            is_read=self._is_read,
            handled_if_listed=config.formats.extensions("listed"),
        )
        self.discovery: Discovery | None = None
        self.plan: Plan | None = None
        """What the crawl would do, for `scrapy plan`."""
        self.robots_txt: Callable[[str], Awaitable[str | None]] | None = None
        """Returns the robots.txt of a URL's host, None where it failed; set by what obeys it."""
        self.ended = asyncio.Event()
        """Set once `outcome` is known."""
        self.queued = queued
        self.resumes = resumes
        self._count = count
        self._store: Store | None = None
        self._record: RunRecord | None = None
        self.prefetched = PrefetchedResponses()
        self.waiting, self.moves = Waiting(), Moves()
        self.coverage, self.outputs = Coverage(), Outputs(config)
        self.memory = SourceMemory(self, source)

    # --- life ---

    def open(self) -> None:
        """Open store and workers and begin the run in the store; raises `StoreError`."""
        config = self.config
        if config.plan_only:
            return
        store = self._store = config.stores.open(self.source)
        self.memory.recall()
        store.upsert_source(self.memory.to_keep())
        self.outputs.undelivered_since = store.undelivered_since()
        kind: RunKind = "refresh" if self.arguments.mode == "refresh" else "crawl"
        given = self.arguments.model_dump(mode="json", exclude_unset=True)
        self._record = store.begin_run(kind, given, resumes=self.resumes, retention=config.history)
        self.memory.full_check.number = self._record.number
        self.known = KnownPages(
            store.page_states(),
            store.aliases(),
            self.records.extractor_version,
            trusted=not self.arguments.full,
            full_check=self.memory.full_check,
            moved_from=store.moved_from(),
        )
        self.recorded = RecordedPages(
            self.known, store if self.remembers else None, own_code=bool(config.own_code)
        )
        if config.own_code:
            store.drop_originals(self.records.extractor_version)
        self.resources = KnownResources(
            None if config.own_code else store,  # pipelines may take out what the site's own text has
            trusted=not self.arguments.full,
            full_check=self.memory.full_check,
        )

    def expect_pages(self) -> None:
        """Start the workers for pages to come, where most will be converted: none is stored, or all are read anew."""
        if (not self.known.states or self.arguments.full) and not self.config.plan_only:
            self.workers.open()

    def end(self, outcome: str) -> None:
        """Record how the crawl ended (Scrapy's finish reason) and release the workers; nothing more is read.

        All pages are committed first: the feeds, which wait for `outcome`, hold nothing that is not stored.
        """
        try:
            self._keep_waiting(is_stopped=not succeeded(outcome))
            self.flush()
        except StoreError as error:  # what was waiting to be written is not
            self.coverage.incomplete(str(error))
            self.fault, outcome = str(error), "store_failed"
        self.outcome = outcome
        self.ended.set()
        self.workers.close()
        self.spool.close()
        self.waiting.close()
        if outcome != "finished":
            self.coverage.incomplete(outcome)

    def _keep_waiting(self, *, is_stopped: bool) -> None:
        """Keep in the store what the pages that still wait have there; failed ones are errors.

        Of a crawl that was stopped, new pages that waited are stored too: a replay has them. Those that pipelines of
        the user were to see first are left to the next crawl, as are possible bot walls.
        """
        for page in self.waiting.take("failed", "wall", "links"):
            if page.failure is not None:
                self.fail(*page.failure)
                self.recorded.confirm(page_key(page.failure.url))
            else:
                key = page.suspect.key if page.suspect is not None else page_key(page.request.url)
                self.recorded.confirm(key)
        if not is_stopped or self.config.own_code:
            return
        for page in self.waiting.take("markdown", "tag", "stub", "moved"):
            if page.record is not None and not (page.reason == "tag" and self.site.is_tag(page.record.url)):
                self._store_waiting(page.record, confirmed=page.confirmed)

    def _store_waiting(self, record: PageRecord, *, confirmed: bool) -> None:
        content, is_known = record.content or "", self.known.state(record.key) is not None
        in_scope = self.bounds.allowed(record.url) and self.arguments.follow != "listed"
        dropped = drop_reason(content, record.title, min_characters=self.config.min_characters)
        record.content_hash = content_hash(content)
        is_document = in_scope and not dropped and record.content_hash not in self.site.soft404_hashes
        if self.recorded.is_first(record) and (is_known or (is_document and self.arguments.mode == "crawl")):
            self.site.forms_of(record.url).missed.pop(identity(record.url), None)
            self.recorded.write(record, confirmed=confirmed or not is_document)
            self.count("stored-at-stop")
            self.progress.stored_at_stop += 1

    def close(self, *, delivered: bool | None) -> None:
        """Finish the run in the store and close it; idempotent.

        `delivered` says whether the outputs were stored where they belong, None where none is configured.
        """
        store, self._store = self._store, None
        if store is None:
            return
        self.outputs.delivered = delivered
        self.progress.enter("finished")
        counts = {**self.counts(), "delivered": self.outputs.delivered}
        try:
            store.upsert_source(self.memory.to_keep())
            if self.config.own_code:
                store.drop_originals(self.records.extractor_version)
            store.finish_run(
                self.outcome, complete=self.coverage.complete, why=self.coverage.why_incomplete, counts=counts
            )
        except StoreError as error:  # the pages are stored, how the run ended is not
            self.fault, self.outcome = str(error), "store_failed"
            self.coverage.incomplete(str(error))
        with contextlib.suppress(StoreError):  # the writer has said it
            store.close()

    def heartbeat(self) -> None:
        """Write a heartbeat and the counts of the run to the store."""
        if self._store is not None:
            self._store.heartbeat(self.counts())

    def flush(self) -> None:
        """Commit all that was written so far, so that another connection to the store sees it."""
        if self._store is not None:
            self._store.flush()

    def counts(self) -> dict[str, Any]:
        """Return the numbers the store keeps of a run."""
        return {
            **asdict(self.snapshot()),
            "phases": list(self.progress.phases),
            "outage": self.coverage.outage,
            "scope": self.bounds.scope.describe() if self.bounds.scope else None,
        }

    @property
    def watched(self) -> bool:
        """True for a crawl that reports its progress; a plan or a single page does not."""
        return self.discovers and not self.config.plan_only

    @property
    def succeeded(self) -> bool:
        """True when the crawl ended by itself or by a limit the user set, with something to show."""
        return succeeded(self.outcome)

    @property
    def record(self) -> RunRecord | None:
        """The run as it began in the store; None before, and where nothing is stored."""
        return self._record

    @property
    def id(self) -> str:
        """The id of the run; empty before it was opened."""
        return self._record.id if self._record else ""

    @property
    def seq_before(self) -> int:
        """The last change that was stored before this run."""
        return self._record.seq_before if self._record else 0

    @property
    def is_open(self) -> bool:
        """True between `open` and `close`, for a run with a store."""
        return self._store is not None

    @property
    def store(self) -> Store:
        """The open store."""
        if self._store is None:
            raise RuntimeError("the run is not open")
        return self._store

    @property
    def obtained(self) -> int:
        """The documents that came from the site in this run, and not from the store in place of a page that failed."""
        return max(self.progress.documents - self.progress.kept, 0) + self.waiting.number("moved")

    @property
    def has_documents(self) -> bool:
        """True when documents came of this run, or of the job that it continues."""
        return bool(self.progress.documents or (self.resumes is not None and self.known.states))

    # --- what the crawl goes through ---

    def discovered(self, discovery: Discovery, start_page: Page) -> None:
        """Record the outcome of discovery and fix the bounds; `start_page` has the start page's links."""
        self.discovery = discovery
        self.memory.previous_discovery.compare(discovery)
        self.progress.discovered(discovery)
        self.site.discovered(discovery, usable(start_page.follow))
        of_llms_txt = discovery.discovered_file_type == "llms.txt" and discovery.discovered_file
        self.memory.link_bases.root = directory_url(of_llms_txt or discovery.start_url)
        self.bounds.discovered(discovery, start_page)

    def without_discovery(self) -> None:
        """Fix the bounds of a run that revalidates stored pages only."""
        self.progress.crawl_type = "refresh"
        self.bounds.stored(state.url for state in self.known.states.values())

    def page_of(self, url: str) -> str:
        """Return the page a URL stands for: the page of a Markdown URL, the first spelling of joined ones.

        A stored page keeps its address: `/a/` and `/a/index.html` do not change places from run to run.
        """
        page = self.site.page_of(url)
        if not self.known.may_hold(page) or identity(page) in self.site.respelled:
            return page
        state = self.known.state(page_key(page))
        return state.url if state is not None else page

    def requested(self, url: str) -> bool:
        """Say whether the page was requested in this run already."""
        return page_key(url) in self.requested_pages

    def _is_read(self, url: str) -> bool:
        """Say whether there is a document of a page, of this run or stored.

        Where pages cannot wait for one (JOBDIR), that the page was seen has to do.
        """
        key = page_key(url)
        if key in self.recorded.keys or self.known.state(key) is not None:
            return True
        return "copy" in self.waiting.closed and (self.site.is_evident(url) or self.requested(url))

    def remember(self, key: bytes) -> None:
        """Count a page as requested that comes another way, such as one that a full-text file holds."""
        self.requested_pages.add(key)

    @property
    def follows_links(self) -> bool:
        """True when links of pages lead to further pages in this run."""
        arguments = self.arguments
        return arguments.mode == "crawl" and arguments.follow == "links" and not arguments.retry

    # --- counting ---

    def count(self, stat: Stat, number: int = 1) -> None:
        """Add to a stat."""
        self._count(stat, number)

    def note(self, line: str) -> None:
        """Log a line at INFO."""
        logger.info("%(line)s", {"line": line})

    def record_filtered(self, url: str, reason: FilterReason, rule: str = "") -> None:
        """Count a URL that is filtered, with its reason, in stats, progress and store."""
        if reason in LIMITS:
            self.coverage.unseen.add(reason)
        elif reason in FILTERED_AFTER_FETCH and self.known.state(page_key(url)) is None:
            self.bounds.look_alikes.wasted(url)
        self.progress.record_filtered(reason, url, rule)
        self.count(stats.filtered(reason))
        if self._store is not None:
            self._store.record_filtered(url, reason, rule or None)

    def drop(self, record: PageRecord, why: str) -> None:
        """Count a page that a pipeline of the user dropped; what is stored of it is deleted at the end."""
        if self.known.reasons.get(record.key) != "pipeline":
            self.record_filtered(record.url, "pipeline", why)
            self.known.record_outcome(record.key, "dropped", "pipeline")

    def fail(self, url: str, kind: ErrorKind, message: str, status: int | None = None) -> None:
        """Count a page that failed, in stats, progress and store."""
        if kind == "not_found" and self.known.state(page_key(url)) is None:
            self.bounds.look_alikes.wasted(url)
        self.progress.error(kind, url, message, status)
        self.count(stats.errors(kind))
        if self._store is not None:
            self._store.record_error(url, kind, message, status)

    def snapshot(self) -> Snapshot:
        """Return the state of the run at this moment."""
        return self.progress.snapshot(queued=self.progress.unread if self.outcome else self.queued())
