"""The run: what one crawl knows, shared by its components (`requests.run_of(crawler)`).

No Scrapy.
"""

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.content.conversion import ConversionPool
from llmsspider.crawler.addresses import Addresses
from llmsspider.crawler.assets import Assets
from llmsspider.crawler.bot_walls import Suspects
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.deletions import DeletionPlan, Moves, outage
from llmsspider.crawler.job import Job
from llmsspider.crawler.known_pages import KnownPages, RecordedPages
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.learn.base import End
from llmsspider.crawler.nights import Nights
from llmsspider.crawler.pages import Spool, drop_reason, utc_now
from llmsspider.crawler.plan import WITHOUT_DOCUMENTS, Advice, Plan
from llmsspider.crawler.progress import Coverage, Outputs, PageLimit, Progress, succeeded
from llmsspider.crawler.readings import Readings
from llmsspider.crawler.records import Records
from llmsspider.crawler.report import Reporter
from llmsspider.crawler.revisit import Ledger
from llmsspider.crawler.settle import Waiting, reasons_with
from llmsspider.crawler.shapes import shape_of
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.crawler.source_memory import SourceMemory
from llmsspider.errors import StoreError
from llmsspider.items import Page, content_hash
from llmsspider.site import witnesses
from llmsspider.site.discovered import Discovery
from llmsspider.store import CONTENT, PageRecord, RunRecord, SourceRecord, Store
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.rights import SiteRights, of_llms_txt
from llmsspider.web.stats import Stat
from llmsspider.web.urls import identity, page_key, usable

CONVERT_TIMEOUT_SECS = 60
"""Time that one page may take in a worker; measured: the slowest real pages take seconds."""

MAX_LOGIN_SHARE = 0.3
"""The share of new pages that may redirect to a login in a run that counts as complete."""

FEW_LOGINS = 3
"""Number of pages below which that share says nothing."""

MAX_FAILED_SHARE = 0.1
"""The share of pages that may fail in a run that counts as complete; one page always may."""


class Run:
    """What one crawl of one source knows; each concern has an object.

    `arguments` include those of the stored source, which is None on its first crawl. `count` adds a
    number to a stat, `queued` returns how many pages are waiting or under way. `job` is what its
    JOBDIR was left with.
    """

    outcome = ""  # scrapy's finish reason, once the spider has closed

    # whether the crawl begins with discovery and goes on in phases (`LlmsTxtStart`)
    discovers = True

    remembers = True  # whether pages are stored

    plan: Plan | None = None  # what the crawl would do, for `scrapy plan`

    start_links: Sequence[str] = ()  # what the start page links to

    def __init__(
        self,
        arguments: DocsArguments,
        stored_source: SourceRecord | None,
        config: Config,
        count: Callable[[Stat, int], None],
        queued: Callable[[], int],
        *,
        job: Job = Job(),  # noqa: B008  # it is frozen
    ):
        self.arguments = arguments
        self.stored_source = stored_source
        self.config = config
        self.source: str = arguments.source or ""
        self.job = job
        self.queued = queued
        self.record: RunRecord | None = None
        """The run as it began in the store; None before, and where nothing is stored."""
        self.ended = asyncio.Event()  # set once `outcome` is known
        self.deletions: DeletionPlan | None = None  # what was decided at the end, if anything was
        self.progress = Progress()
        self.coverage = Coverage()
        self.outputs = Outputs()
        self.limit = PageLimit(arguments.max_pages, self.progress, arguments.max_requests)
        self.rights = SiteRights()
        self.spool = Spool()
        self.site = SiteKnowledge()
        chosen = [*arguments.keep, "drop", *arguments.drop]
        selected = f" {content_hash(' '.join(chosen))[:12]}" if len(chosen) > 1 else ""
        self.records = Records(self.source, config.converter_fingerprint + selected)
        self.known = KnownPages(
            extractor_version=self.records.extractor_version,
            trusted=not arguments.full,
        )
        self.bounds = Bounds(
            arguments,
            self.site,
            requested=lambda url: self.addresses.requested(url),  # noqa: PLW0108  # made below
            is_read=self._is_read,
            texts=self._texts_of_shape,
            stored=lambda: (state.url for state in self.known.states.values()),
        )
        self.learned = Learners(
            trusted=not arguments.full,
            requested=lambda link: self.addresses.requested(self.addresses.page_of(link)),
            report_false_304=self._report_false_304,
            read_files=config.formats.extensions("linked") | config.handlers.extensions,
            read_listed=config.formats.extensions("listed"),
        )
        self.known.unbelieved = self.learned.false_304s.hosts
        self.addresses = Addresses(self)
        self.moves = Moves(self.known)
        self.report = Reporter(self, count)
        self.recorded = RecordedPages(self.known, own_code=bool(config.own_code))
        decisive = (
            f"listings={arguments.listings} render={arguments.render} "
            f"ai_optout={config.obey_ai_optout} noindex={config.obey_noindex}"
        )
        self.readings = Readings(self.known, decisive, self.learned.false_304s.note)
        self.assets = Assets(self.known, self.bounds, linked=arguments.assets == "files")
        self.suspects, self.waiting = Suspects(), Waiting(self.spool)
        self.ledger = Ledger(settings=decisive)
        self.sampled: dict[bytes, dict[str, str]] = {}
        """The validators of pages that were sampled and had not changed, by key."""
        self.prefetched: dict[str, Any] = {}
        """Scrapy responses that discovery downloaded, for the first request for each page, by its
        identity.
        """
        self.workers = ConversionPool(
            config.convert_workers,
            CONVERT_TIMEOUT_SECS,
            config.converter,
            config.handlers.paths,
            formats=config.formats,
            generators=config.generators,
            keep=arguments.keep,
            drop=arguments.drop,
        )
        self.memory = SourceMemory(self, stored_source)
        self.nights = Nights(self)
        self.advice = Advice(self)

    def _report_false_304(self, url: str) -> None:
        self.report.count("unbelieved-hosts")
        self.report.note(
            f"{url} has changed under validators that say it has not: a 304 of this host is not"
            " believed any more, its pages are fetched whole from now on"
        )

    @property
    def id(self) -> str:
        """The id of the run; empty before it was opened."""
        return self.record.id if self.record else ""

    @property
    def seq_before(self) -> int:
        """The last change that was stored before this run."""
        return self.record.seq_before if self.record else 0

    def _is_read(self, url: str) -> bool:
        """Say whether there is a document of a page, of this run or stored.

        Where pages cannot wait for one (JOBDIR), that the page was seen has to do.
        """
        key = page_key(url)
        if key in self.recorded.keys or self.known.state(key) is not None:
            return True
        return "copy" in self.waiting.closed and (
            self.site.is_evident(url) or self.addresses.requested(url)
        )

    @cached_property
    def _stored_shapes(self) -> dict[str, list[bytes]]:
        shapes: dict[str, list[bytes]] = defaultdict(list)
        for key, state in self.known.states.items():
            if (shape := shape_of(state.url)) is not None:
                shapes[shape].append(key)
        return shapes

    def _texts_of_shape(self, shape: str) -> Iterator[str]:
        """Yield the texts of the stored pages of a shape, where there are so many that the limit
        matters.
        """
        keys = self._stored_shapes.get(shape, []) if self.known.store is not None else []
        if len(keys) >= self.bounds.look_alikes.limit:
            yield from (
                record.text for record in self.known.stored.load_pages(keys, CONTENT) if record
            )

    # --- life ---

    def open(self) -> None:
        """Open store and workers and begin the run in the store; raises `StoreError`."""
        config = self.config
        arguments = self.arguments
        if config.plan_only:
            if self.stored_source is not None:
                self._read_stored()
            return
        store = self.known.store = config.stores.open(self.source)
        self.memory.recall(store.memory())
        store.upsert_source(self.memory.updated_record())
        self.outputs.undelivered_since = store.undelivered_since()
        given = arguments.model_dump(mode="json", exclude_unset=True)
        self.record = store.begin_run(
            arguments.mode, given, resumes=self.job.resumes, retention=config.history
        )
        self.records.run_id = self.record.id
        # pipelines may take out what the site's own text has
        self._recall(store, self.record.number, keeps_readings=not config.own_code)
        if self.remembers:
            self.recorded.writes = True
            self.assets.open()
        if config.own_code:
            store.drop_originals(self.records.extractor_version)

    def _recall(self, store: Store, number: int, *, keeps_readings: bool) -> None:
        """Take over what is stored, in the run of this number."""
        run_before = self.memory.run_before()
        is_after_complete = run_before is not None and run_before.complete
        self.moves.every = is_after_complete
        self.nights.is_after_complete = is_after_complete
        self.known.open(store, number, keeps_readings=keeps_readings)
        self.known.arrivals |= self.memory.doubts.arrivals
        self.suspects.pages = len(self.known.states)
        self.ledger.number = number

    def _read_stored(self) -> None:
        """Read what a plan needs of a stored source; nothing is written."""
        with contextlib.closing(self.config.stores.open(self.source, create=False)) as store:
            self.known.store = store
            self.memory.recall(store.memory())
            before = self.memory.run_before()
            self._recall(store, before.number + 1 if before else 1, keeps_readings=False)
        self.known.store = None

    @property
    def _end(self) -> End:
        """What the run has seen when its memory is stored."""
        has_discovered = self.site.discovery is not None
        saw = has_discovered and self.coverage.complete and self.outcome == "finished"
        return End(
            followed_links=bool(self.outcome) and has_discovered and self.arguments.follows_links,
            is_complete=saw,
            saw_all=saw and self.job.resumes is None,
            has_decided=self.deletions is not None,
        )

    def expect_pages(self) -> None:
        """Start the workers before the first page where most are to be converted: none is stored,
        or `full=true`.
        """
        is_first = not self.known.states or self.arguments.full
        if is_first and not self.config.plan_only:
            self.workers.open()

    def end(self, outcome: str) -> None:
        """Record how the crawl ended (Scrapy's finish reason), commit all pages, and release the
        workers.
        """
        try:
            self._keep_waiting(is_stopped=not succeeded(outcome))
            self.known.flush()
        except StoreError as error:  # what was waiting to be written is not
            self.coverage.failed(error)
            outcome = "store_failed"
        self.outcome = outcome
        self.ended.set()
        if number := self.workers.number_matched:
            self.report.count("selected", number)
        self.workers.close()
        self.spool.close()
        if outcome != "finished":
            self.coverage.incomplete(outcome)

    def _keep_waiting(self, *, is_stopped: bool) -> None:
        """Keep in the store what pages that still wait have there; of a stopped crawl new ones too,
        for a replay.
        """
        for page in self.waiting.take(*reasons_with(failed=True)):
            if page.failure is not None:
                self.report.failed(*page.failure)
            url = page.failure.url if page.failure is not None else page.request.url
            self.recorded.confirm(page.suspect.key if page.suspect is not None else page_key(url))
        if not is_stopped or self.config.own_code:
            return
        for page in self.waiting.take(*reasons_with(until="read"), *reasons_with(until="gone")):
            if page.record is not None and not (
                page.reason == "tag" and self.learned.tags.is_tag(page.record.url)
            ):
                self._store_waiting(page.record, confirmed=page.confirmed)

    def _store_waiting(self, record: PageRecord, *, confirmed: bool) -> None:
        content = record.text
        is_known = self.known.state(record.key) is not None
        in_scope = self.bounds.allowed(record.url) and self.arguments.follow != "listed"
        dropped = drop_reason(content, record.title)
        record.content_hash = content_hash(content)
        is_document = (
            in_scope and not dropped and record.content_hash not in self.site.soft404_hashes
        )
        if self.recorded.is_first(record) and (
            is_known or (is_document and self.arguments.mode == "crawl")
        ):
            self.site.forms_of(record.url).missed.pop(identity(record.url), None)
            self.recorded.write(record, confirmed=confirmed or not is_document)
            self.report.count("stored-at-stop")
            self.progress.stored_at_stop += 1

    def close(self, *, delivered: bool | None) -> None:
        """Finish the run in the store, close it; idempotent. `delivered`: the outputs are stored;
        None without any.
        """
        store = self.known.store
        self.known.store = None
        if store is None:
            return
        self.outputs.delivered = delivered
        self.progress.enter("finished")
        self.nights.conclude(store, self.outcome)
        counts = {
            **self.counts(),
            "delivered": self.outputs.delivered,
            "undelivered": self.outputs.undelivered,
        }
        is_vain = self.outcome in WITHOUT_DOCUMENTS
        try:
            store.remember(self.memory.to_keep(self._end))
            store.upsert_source(self.memory.updated_record())
            if self.config.own_code:
                store.drop_originals(self.records.extractor_version)
            store.finish_run(
                self.outcome,
                complete=self.coverage.complete,
                why=self.advice.of(self.outcome) if is_vain else self.coverage.why_incomplete,
                counts=counts,
            )
        except StoreError as error:  # the pages are stored, how the run ended is not
            self.coverage.failed(error)
            self.outcome = "store_failed"
        with contextlib.suppress(StoreError):  # the writer has said it
            store.close()

    def note_outage(self) -> None:
        """Make the run incomplete when too many pages failed: those requested, and those that could
        not be verified.
        """
        kept = [
            kind for key, kind in self.known.reasons.items() if self.known.outcomes[key] == "kept"
        ]
        failed = self.progress.errors + Counter(kept)
        why = outage(failed, self.obtained, MAX_FAILED_SHARE) if failed else None
        logins = self.progress.filtered["login"]
        asked = logins + self.obtained
        if why is None and logins >= FEW_LOGINS and logins > MAX_LOGIN_SHARE * asked:
            why = f"{logins} of {asked} pages redirect to a login"
        if why is not None:
            self.coverage.outage = why

    def reason_not_to_delete(self) -> str | None:
        """Return why this run may not decide that pages are gone, or None."""
        if not self.coverage.complete:
            return self.coverage.why_incomplete
        if self.arguments.retry:
            return "only failed pages were requested"
        if not (self.progress.documents or self.waiting.number("moved")):
            return "nothing was obtained"
        if self.site.discovery is not None and self.site.discovery.start.error in OUTAGES:
            return "the start page failed"
        unread = self.memory.unread_files
        return f"{unread[0]} could not be read this time" if unread else None

    def lost_pages(self) -> list[tuple[str, int]]:
        """Return the pages that count as another of which nothing came; see `Addresses`."""
        moved = {page.record.key for page in self.waiting.pages("moved") if page.record is not None}
        before = self.known.states.keys() if self.job.resumes is not None else set()
        return self.addresses.lost_pages(self.recorded.keys | moved | before)

    def heartbeat(self) -> bool:
        """Write a heartbeat and the counts of the run to the store; returns whether it is asked to
        stop there.
        """
        return self.known.store is not None and self.known.store.heartbeat(self.counts())

    def counts(self) -> dict[str, Any]:
        """Return the numbers the store keeps of a run."""
        progress = self.progress
        ledger = self.ledger
        done = progress.documents, progress.changes["changed"], progress.requests
        witness = ledger.described(*done) if ledger.witnesses else None
        return {
            **progress.counts(queued=progress.unread if self.outcome else self.queued()),
            "phases": list(progress.phases),
            "outage": self.coverage.outage,
            "scope": self.bounds.scope.describe() if self.bounds.scope else None,
            "witness": witness,
        }

    @property
    def succeeded(self) -> bool:
        """True when the crawl ended by itself or by a limit the user set, with something to show."""
        return succeeded(self.outcome)

    @property
    def obtained(self) -> int:
        """The documents that came from the site in this run, and not from the store in place of a
        page that failed.
        """
        number = max(self.progress.documents - self.progress.kept, 0)
        return number + self.waiting.number("moved")

    @property
    def has_documents(self) -> bool:
        """True when documents came of this run, or of the job that it continues."""
        return bool(self.progress.documents or (self.job.resumes is not None and self.known.states))

    # --- what the crawl goes through ---

    def discovered(self, discovery: Discovery, start_page: Page) -> None:
        """Record the outcome of discovery and fix the bounds; `start_page` has the start page's
        links.
        """
        self.memory.unread(*discovery.broken)
        self.memory.unreadable(discovery.unreadable)
        self.progress.discovered(discovery)
        self.site.discovered(discovery, usable(start_page.follow), start_page.meta.canonical)
        self.start_links = list(start_page.follow)
        for file in discovery.files:
            self.rights.add(urlsplit(file.url).netloc, of_llms_txt(file.text, file.url))
        self.learned.link_sources.names_all = bool(discovery.sitemaps or discovery.witnesses)
        self.bounds.discovered(discovery, start_page)
        start = discovery.start
        dates = {one.url: one.lastmod for one in discovery.seeds if one.lastmod}
        days = {self.addresses.page_of(url): dates[url] for url in dates}
        lastmod = witnesses.by_lastmod(days, utc_now()[:10])
        stored = [
            state.last_modified
            for state in self.known.states.values()
            if state.origin != "llms-full"
        ]
        deploy = witnesses.by_deploy(start.final_url, start.headers.get("last-modified"), stored)
        build = witnesses.by_build(start.head(witnesses.MAX_PAGE_BYTES), start.final_url)
        wholes = [one.whole() for one in discovery.witnesses if one.pages]
        found = [*discovery.witnesses, *filter(None, (lastmod, build, deploy)), *wholes]
        self.ledger.witnesses = found

    def without_discovery(self) -> None:
        """Fix the bounds of a run that revalidates stored pages only."""
        self.progress.crawl_type = "refresh"
        self.bounds.stored(state.url for state in self.known.states.values())
