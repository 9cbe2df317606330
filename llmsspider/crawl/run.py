"""The run: what one crawl knows, shared by its components (`crawler.spider.run`). No Scrapy here.

Components get what they need from it and do not import each other. It is made with the spider, opened when the
crawl starts (store, workers) and closed when the spider has closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from llmsspider import stats
from llmsspider.arguments import NO_URL
from llmsspider.conversion.workers import ConversionPool
from llmsspider.crawl.bot_walls import Doubts, Suspects
from llmsspider.crawl.bounds import Bounds
from llmsspider.crawl.deferred import DeadLinks, DeferredRetries, LinkSources, PendingPages
from llmsspider.crawl.deletions import MovedPages
from llmsspider.crawl.full_text_lag import LaggingFiles
from llmsspider.crawl.jobs import Spool
from llmsspider.crawl.known_pages import FullCheck, KnownPages, KnownResources
from llmsspider.crawl.link_bases import LinkBases
from llmsspider.crawl.page_checks import MissingEnds
from llmsspider.crawl.progress import Progress, Snapshot
from llmsspider.crawl.records import Records
from llmsspider.crawl.site import PreviousDiscovery, SiteKnowledge
from llmsspider.crawl.source_memory import StoredLookAlikes, runs_by_page, source_to_keep
from llmsspider.crawl.stopped import give_up_failed_pages, keep_suspects, store_pending_pages
from llmsspider.crawl.traps import LookAlikes
from llmsspider.crawl.workers import Workers
from llmsspider.discovery.starthistory import StartHistory
from llmsspider.errors import ErrorKind, StoreError
from llmsspider.items import content_hash, raw_hash
from llmsspider.llmstxt import directory_url
from llmsspider.owncode import own_mark
from llmsspider.reasons import FILTERED_AFTER_FETCH, LIMITS, FilterReason
from llmsspider.sources import kept_line
from llmsspider.stats import Stat
from llmsspider.store import RunKind, Store
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from pathlib import Path

    from llmsspider.arguments import DocsArguments
    from llmsspider.config import Config
    from llmsspider.crawl.bot_walls import Suspect, Wall
    from llmsspider.crawl.plan import Plan
    from llmsspider.crawl.workers import PageKeys
    from llmsspider.discovery import Discovery, LlmsFile
    from llmsspider.items import Change, LlmsEntry, Page
    from llmsspider.output.mirror import MirrorReport
    from llmsspider.store import PageRecord, PageState, RunRecord, SourceRecord

logger = logging.getLogger(__name__)


def succeeded(outcome: str) -> bool:
    """Say whether a crawl that ended so ended by itself or by a limit the user set."""
    return outcome == "finished" or outcome.startswith("closespider_")


class Run:
    """One crawl of one source.

    Args:
        arguments: the arguments of the run, those of the stored source included.
        source: the source as stored, None on its first crawl.
        config: the project's settings.
        count: adds a number to a stat by its name, e.g. `crawler.stats.inc_value`.
        queued: returns how many pages are waiting or under way.
        resumes: id of the run that a JOBDIR continues, None for a new one.
        workers: the workers of this crawl, where it has several (`LLMS_REDIS_URL`).
    """

    outcome = ""
    """Scrapy's finish reason, once the spider has closed."""

    delivered: bool | None = None
    """Whether the outputs were stored where they belong, once the run is closed; None where there are none."""

    discovers = True
    """Whether the crawl begins with discovery and goes on in phases (`LlmsTxtStart`)."""

    remembers = True
    """Whether what is found is stored."""

    cut: str | None = None
    """Why the run was not to see everything, or ended too soon: a limit, a stop, a fault."""

    fault: str | None = None
    """The error that ended the run, in one line."""

    outage: str | None = None
    """How the site kept the run from seeing everything."""

    def __init__(
        self,
        arguments: DocsArguments,
        source: SourceRecord | None,
        config: Config,
        count: Callable[[Stat, int], None],
        queued: Callable[[], int],
        *,
        resumes: str | None = None,
        workers: Workers | None = None,
    ):
        self.arguments = arguments
        self.config = config
        self.source: str = arguments.source or ""
        self.worker_group = workers or Workers()
        self.progress = Progress()
        self.limit = self.worker_group.page_limit(arguments.max_pages, self.progress, arguments.max_requests)
        self.workers = ConversionPool(
            config.convert_workers,
            config.convert_timeout_secs,
            config.converter,
            config.handlers.paths,
            formats=config.formats,
            keep_hidden=config.keep_hidden,
            max_growth=config.max_growth,
            generators=config.generators,
        )
        self.spool = Spool()
        self.links = LinkSources()
        self.site = SiteKnowledge()
        self.known = KnownPages()
        self.missing: dict[bytes, int] = runs_by_page(source, "missing")
        """Stored pages that were held though they are gone: in how many judging runs in a row, by key."""
        self.resources = KnownResources()
        look_alikes = LookAlikes(config.max_look_alikes, StoredLookAlikes(self))
        self.bounds = Bounds(
            arguments,
            self.site,
            self.requested,
            config.handlers.extensions | config.formats.extensions("linked"),
            look_alikes,
            handled_if_listed=config.formats.extensions("listed"),
        )
        self.unseen: set[str] = set()
        """The limits that left out pages, by reason: what only those lead to was not seen in this run."""
        self.previous_discovery = PreviousDiscovery(source)
        self.discovery: Discovery | None = None
        self.plan: Plan | None = None
        """What the crawl would do, when it was asked for that only (`scrapy plan`)."""
        self.chunks_before: dict[str, frozenset[str]] = {}
        """Ids of the chunks that changed and deleted documents had, by document id, where a feed asks for chunks."""
        self.mirror: MirrorReport | None = None
        """What was done to the Markdown tree, once all pages are through."""
        self.ended = asyncio.Event()
        """Set once `outcome` is known."""
        self.undelivered: list[str] = []
        """What an output said that it did not deliver, in words."""
        self.undelivered_since: int | None = None
        """The change to replay from, where an earlier run stored changes that it did not deliver."""
        self.report: tuple[Path, str] | None = None
        """Where the HTML report was written, and its text."""
        self.queued = queued
        self._source_record = source
        self.resumes = resumes
        """The run that this one continues (JOBDIR), or None."""
        self._count = count
        self._store: Store | None = None
        self._record: RunRecord | None = None
        self._recorded: set[bytes] = set()
        self._prefetched: dict[str, Any] = {}
        self.retries, self.pending_pages, self.dead_links = DeferredRetries(), PendingPages(), DeadLinks()
        self.moved_pages = MovedPages()

    # --- life ---

    def open(self) -> None:
        """Open store and workers and begin the run in the store; raises `StoreError`."""
        config = self.config
        if config.plan_only:
            return
        store = self._store = config.stores.open(self.source)
        if self._source_record is not None:
            self.site.remember(self._source_record.forms)
            self.links = LinkSources(self._source_record.link_sources)
            if self.worker_group.is_alone:
                dead = self._source_record.discovery.get("dead_links")
                self.dead_links = DeadLinks(dead, trusted=not self.arguments.full)
            self.link_bases.remember(self._source_record.discovery.get("link_bases"))
            self.full_check.remember(self._source_record.discovery.get("unbelieved"))
            made_with = self._source_record.extractor_version
            if made_with and made_with != self.records.extractor_version:
                self.note(
                    "stored pages were made by another version, converter or pipelines: they are made again, and "
                    "those that differ for it are changed, whatever the site did"
                )
                if config.own_code:
                    self._source_record.discovery.pop("says", None)
            if (kept := kept_line(self.arguments, self._source_record)) is not None:
                self.note(kept)
        store.upsert_source(self._keep_source())
        self.undelivered_since = store.undelivered_since()
        kind: RunKind = "refresh" if self.arguments.mode == "refresh" else "crawl"
        given = self.arguments.model_dump(mode="json", exclude_unset=True)
        self._record = store.begin_run(kind, given, resumes=self.resumes, retention=config.history)
        self.full_check.number = self._record.number
        self.known = KnownPages(
            store.page_states(),
            store.aliases(),
            self.records.extractor_version,
            trusted=not self.arguments.full,
            full_check=self.full_check,
            moved_from=store.moved_from(),
        )
        if config.own_code:
            store.drop_originals(self.records.extractor_version)
        self.resources = KnownResources(
            None if config.own_code else store,  # pipelines may take out what the site's own text has
            trusted=not self.arguments.full,
            full_check=self.full_check,
        )
        if not self.known.states or self.arguments.full:
            self.workers.open()

    def begin_without_store(self, url: str) -> None:
        """Begin a run of requests that the spider names itself: nothing is known before it, and nothing is stored.

        `url` is the first of them; it gives the scope of a spider that was made without arguments.
        """
        self.remembers = False
        self.note("the spider's own start takes the place of discovery: what comes of it is not stored")
        self.incomplete("a start of its own")
        self.workers.open()
        self.bounds.stored((), url if self.arguments.url == NO_URL else None)

    def end(self, outcome: str) -> None:
        """Note how the crawl ended and release the workers; nothing more is read.

        All that was found is committed first: the feeds, which wait for `outcome`, hold nothing that is not stored.

        Args:
            outcome: Scrapy's finish reason.
        """
        try:
            give_up_failed_pages(self)
            keep_suspects(self)
            if not succeeded(outcome):
                store_pending_pages(self)
            self.flush()
        except StoreError as error:  # what was waiting to be written is not
            self.incomplete(str(error))
            outcome = "store_failed"
        self.outcome = outcome
        self.ended.set()
        self.workers.close()
        self.spool.close()
        self.suspects.close()
        if outcome != "finished":
            self.incomplete(outcome)
        self.worker_group.end(outcome)

    def close(self, *, delivered: bool | None) -> None:
        """Finish the run in the store and close it; idempotent.

        Args:
            delivered: whether the outputs were stored where they belong; None where none is configured.
        """
        store, self._store = self._store, None
        if store is None:
            return
        self.delivered = delivered
        self.progress.enter("finished")
        if self._record is not None:
            self._finish(store)
        with contextlib.suppress(StoreError):  # the writer has said it
            store.close()

    def _finish(self, store: Store) -> None:
        counts = {**self.counts(), "delivered": self.delivered}
        try:
            store.upsert_source(self._keep_source())
            if self.config.own_code:
                store.drop_originals(self.records.extractor_version)
            store.finish_run(self.outcome, complete=self.complete, why=self.why_incomplete, counts=counts)
        except StoreError as error:  # the pages are stored, how the run ended is not
            self.outcome = "store_failed"
            self.incomplete(str(error))

    def heartbeat(self) -> None:
        """Tell the store that the run is alive."""
        if self._store is not None and self._record is not None:
            self._store.heartbeat(self.counts())

    def flush(self) -> None:
        """Have all that was written so far committed, so that another connection to the store sees it."""
        if self._store is not None:
            self._store.flush()

    def counts(self) -> dict[str, Any]:
        """Return the numbers the store keeps of a run."""
        return {
            **self.snapshot().as_dict(),
            "phases": list(self.progress.phases),
            "outage": self.outage,
            "scope": self.bounds.scope.describe() if self.bounds.scope else None,
            **self.worker_group.counts(),
        }

    @property
    def mirrors(self) -> bool:
        """True when this run brings the Markdown tree in step: of several workers the leader does."""
        return self.config.mirror_dir is not None and self.worker_group.leads

    @property
    def keeps_skill(self) -> bool:
        """True when this run brings the skill in step: of several workers the leader does."""
        return self.config.skill_dir is not None and self.worker_group.leads

    @property
    def watched(self) -> bool:
        """True for a crawl that takes its time; a plan is not watched."""
        return not self.config.plan_only

    @property
    def succeeded(self) -> bool:
        """True when the crawl ended by itself or by a limit the user set, with something to show."""
        return succeeded(self.outcome)

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

    def incomplete(self, why: str) -> None:
        """Record that the run did not see the whole site; the first reason stays."""
        self.cut = self.cut or why

    def failed_in_part(self, why: str) -> None:
        """Record that the site answered in part only: what was stored stays, and the command's exit code says it."""
        self.outage = why

    @property
    def complete(self) -> bool:
        """True when the run saw the whole site."""
        return self.why_incomplete is None

    @property
    def why_incomplete(self) -> str | None:
        """Why the run did not see the whole site, or None."""
        return self.cut or self.outage

    @property
    def obtained(self) -> int:
        """The documents that came from the site in this run, and not from the store in place of a page that failed."""
        return max(self.limit.documents - self.progress.kept, 0) + len(self.moved_pages.waiting)

    @property
    def keeps_findings(self) -> bool:
        """True when stored pages are asked for by themselves: how they were found and listed stays as it was stored."""
        without_start = self.discovery is not None and bool(self.discovery.start.error)
        return self.arguments.mode == "refresh" or without_start

    def judge_limit(self) -> None:
        """Record, when all pages are through, that links were left out for `max_requests`."""
        if self.limit.cut:
            self.incomplete("max_requests")

    def count_dead_links(self) -> None:
        """Count, when all pages are through, the links that were dead before and not asked for."""
        for link in self.dead_links.left():
            if not self.requested(self.page_of(link)):
                self.record_filtered(
                    link, "dead-link", "404 in an earlier crawl, and no page that links to it changed"
                )

    def _keep_source(self) -> SourceRecord:
        self._source_record = source_to_keep(self, self._source_record)
        return self._source_record

    def says(self, file: LlmsFile) -> dict[str, str | None] | None:
        """Return title, summary and notes of an llms.txt: as pipelines of the user left them, where there are any.

        None for a file whose pages have not passed them.
        """
        if not self.config.own_code:
            return {"title": file.title, "summary": file.summary, "notes": file.notes}
        entry = self.said.get(file.url)
        if entry is None:
            return None
        return {"title": entry.file_title, "summary": entry.file_summary, "notes": entry.file_notes}

    # --- what the crawl goes through ---

    def discovered(self, discovery: Discovery, start_page: Page) -> None:
        """Take over the outcome of discovery and fix the bounds; `start_page` has the start page's links."""
        self.discovery = discovery
        self.previous_discovery.compare(discovery)
        self.progress.discovered_file = discovery.discovered_file
        self.progress.discovered_file_type = discovery.discovered_file_type
        self.progress.linked_files = len(discovery.linked_files)
        self.progress.crawl_type = "links" if discovery.discovered_file_type == "none" else "seeds and links"
        self.site.discovered(discovery, usable(start_page.follow))
        of_llms_txt = discovery.discovered_file_type == "llms.txt" and discovery.discovered_file
        self.link_bases.root = directory_url(of_llms_txt or discovery.start_url)
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
        if not self.known.states or identity(page) in self.site.respelled:
            return page
        state = self.known.state(page_key(page))
        return state.url if state is not None else page

    def disbelieve(self, url: str) -> None:
        """Send no validators to the host of this URL any more: its 304 would have been false; said once."""
        if self.full_check.found_false(url):
            self.count("unbelieved-hosts")
            self.note(
                f"{url} has changed under validators that say it has not: a 304 of this host is not believed any "
                "more, its pages are fetched whole from now on"
            )

    def requested(self, url: str) -> bool:
        """Say whether the page was requested in this run already."""
        return page_key(url) in self.requested_pages

    @property
    def requested_pages(self) -> PageKeys:
        """The keys of the pages that were requested in this run."""
        return self.worker_group.requested

    def remember(self, key: bytes) -> None:
        """Count a page as requested that comes another way, such as one that a full-text file holds."""
        self.requested_pages.add(key)

    @cached_property
    def records(self) -> Records:
        """Makes the records of the run's pages."""
        return Records(self.source, self.config.converter_fingerprint)

    @cached_property
    def said(self) -> dict[str, LlmsEntry]:
        """An entry of each llms.txt as pipelines of the user left it, by the file's URL."""
        return {}

    @cached_property
    def suspects(self) -> Suspects:
        """The answers of this run that may stand in place of their pages."""
        return Suspects(confirm_runs=max(self.config.confirm_runs, 2))

    def is_confirmed(self, file: str, body: bytes) -> bool:
        """Say whether a file that ends too soon was the same in the runs before, so that this is all of it."""
        return self.doubts.again(page_key(file), f"cut {raw_hash(body)}") >= self.suspects.confirm_runs

    def believes(self, suspect: Suspect, wall: Wall) -> bool:
        """Say whether an answer that looks like a wall is the page by now: it is so in many runs, or confirmed."""
        if self.arguments.confirm_deletions:
            return True
        runs = self.doubts.again(suspect.key, f"wall {suspect.text}")
        return 0 < wall.believed_runs <= runs

    @cached_property
    def start_history(self) -> StartHistory:
        """Where the start page led in earlier runs; once discovery is done with this one."""
        return StartHistory.from_json(
            self._source_record.discovery.get("start") if self._source_record else None
        )

    @cached_property
    def doubts(self) -> Doubts:
        """What pages answered in earlier runs that was not believed, and in this one."""
        return Doubts(self._source_record.discovery.get("doubts") if self._source_record else None)

    @cached_property
    def full_check(self) -> FullCheck:
        """To which URLs validators are sent in this run."""
        return FullCheck(self.config.full_check_runs)

    @cached_property
    def link_bases(self) -> LinkBases:
        """What the relative links of the site's Markdown are relative to."""
        return LinkBases(self._known_pages, self.site.page_of, self.note)

    @cached_property
    def missing_ends(self) -> MissingEnds:
        """The stored pages that break off."""
        before = runs_by_page(self._source_record, "no_end_tag")
        return MissingEnds(before, self.config.confirm_runs)

    @cached_property
    def lagging(self) -> LaggingFiles:
        """The full-text files that lag behind their pages; `full=true` believes them again."""
        found = self._source_record.discovery.get("full_text") if self._source_record else None
        return LaggingFiles() if self.arguments.full else LaggingFiles.from_json(found)

    def lags(self, file: str) -> bool:
        """Say whether a full-text file lags; of several workers only one would know its pages, so none does."""
        return self.worker_group.is_alone and file in self.lagging.files

    @property
    def number(self) -> int:
        """The number of the run, from 1; 0 before it was opened."""
        return self._record.number if self._record else 0

    def _known_pages(self) -> Iterator[str]:
        """Yield the pages known before the crawl: listed, linked by the start page, stored."""
        yield from self.site.known_pages()
        yield from (state.url for state in self.known.states.values())

    @property
    def follows_links(self) -> bool:
        """True when links of pages lead to further pages in this run."""
        arguments = self.arguments
        return arguments.mode == "crawl" and arguments.follow == "links" and not arguments.retry

    def failed_before(self) -> list[str]:
        """Return the URLs that failed in the run before this one, as far as the store kept them."""
        earlier = self._run_before()
        errors = self.store.errors(earlier) if earlier else []
        return list(dict.fromkeys(error.url for error in errors if error.kind != "invalid_url"))

    def let_pages_wait(self) -> None:
        """Have new pages wait until it is known whether they moved: all of them, if the run before was complete."""
        if self.known.states:
            earlier = self._run_before()
            self.moved_pages.enabled = True
            self.moved_pages.every = earlier is not None and earlier.complete

    def _run_before(self) -> RunRecord | None:
        earlier = [record for record in self.store.runs() if record.id != self.id]
        return earlier[-1] if earlier else None

    # --- pages ---

    def prefetch(self, url: str, response: Any) -> None:
        """Keep the start page's response, which discovery downloaded, for the request that asks for it."""
        self._prefetched[identity(url)] = response

    def take_prefetched(self, request: Any) -> Any:
        """Return the kept response for a request, or None; the first to ask takes it."""
        response = self._prefetched.pop(identity(request.url), None) if self._prefetched else None
        return None if response is None else response.replace(request=request)

    def is_stored(self, record: PageRecord) -> bool:
        """Say whether a page that was read anew has the text that is stored of it."""
        state = self.known.state(record.key)
        return state is not None and state.markdown_hash == bytes.fromhex(content_hash(record.content or ""))

    def delivered_before(self, record: PageRecord) -> PageRecord | None:
        """Return what is stored of a page whose source is as it was, where pipelines may make another document of it.

        None where the document is to be taken as it is: another source, other pipelines, or `full=true`.
        """
        state = self.known.states.get(record.key)
        is_same = (
            bool(self.config.own_code)
            and self.known.trusted
            and state is not None
            and state.markdown_hash == bytes.fromhex(record.source_hash or "")
            and state.extractor_version == record.extractor_version
        )
        return self.store.load_page(record.key) if is_same else None

    def drop_page(self, record: PageRecord, why: str) -> None:
        """Leave out a page that a pipeline of the user dropped; what is stored of it is deleted at the end."""
        if self.known.reasons.get(record.key) != "pipeline":
            self.record_filtered(record.url, "pipeline", why)
            self.known.record_outcome(record.key, "dropped", "pipeline")

    def may_have_moved(self, record: PageRecord) -> bool:
        """Take in a new page that may be a stored one which is not reached yet; it waits for the end."""
        return self.moved_pages.keep(record, self.known, self._recorded, room=self.limit.left)

    def is_first(self, record: PageRecord) -> bool:
        """Say whether the page has neither a document nor a tombstone in this run yet."""
        return record.key not in self._recorded

    def delete(self, record: PageRecord) -> int:
        """Make a page a tombstone in the store; returns the number of the change."""
        self._take_note(record)
        return self.store.delete_page(record.key, self.known.reasons.get(record.key, "deleted"))

    def _take_note(self, record: PageRecord) -> None:
        """Note that the page has its one document of this run; raises `RuntimeError` for a second one."""
        if not self.is_first(record):
            raise RuntimeError(f"{record.url} has a document in this run")
        self._recorded.add(record.key)

    def record(self, record: PageRecord, *, confirmed: bool) -> tuple[Change, int | None]:
        """Write a page to the store and say what became of it: its change, and the number of the change.

        `confirmed` says that the page is as it was stored (304, equal body, or it could not be had).
        """
        self._take_note(record)
        if not self.remembers:
            return "new", None
        key = record.key
        if confirmed:
            self.store.touch_page(key, record.touch())
            return "unchanged", None
        state = self.known.states.get(key)
        is_same = state is not None and state.content_hash == bytes.fromhex(record.content_hash or "")
        if state is not None and is_same and not self._is_altered(record, state):
            self.store.save_page(record, "unchanged")
            return "unchanged", None
        change: Change = "new" if state is None else "changed"
        return change, self.store.save_page(record, change)

    def _is_altered(self, record: PageRecord, state: PageState) -> bool:
        """Say whether pipelines made another document of a page whose content is the same."""
        if not self.config.own_code and not own_mark(state.extractor_version):
            return False
        stored = self.store.load_page(record.key)
        if stored is None or stored.extra != record.extra:
            return stored is not None
        with_others = state.extractor_version != record.extractor_version
        return with_others and (stored.title, stored.description) != (record.title, record.description)

    # --- counting ---

    def count(self, stat: Stat, number: int = 1) -> None:
        """Add to a stat."""
        self._count(stat, number)

    def note(self, line: str) -> None:
        """Say something about the run in the log."""
        logger.info("%(line)s", {"line": line})

    def count_hidden(self, page: Page) -> None:
        """Count the text of a page that was left out because no reader sees it."""
        if page.hidden:
            self.count("hidden-text", page.hidden)

    def count_page(self, url: str, page: Page) -> None:
        """Count what is to be said of a page that was read: hidden text, another engine than the chosen one."""
        self.count_hidden(page)
        self._count_fallback(url, page)

    def _count_fallback(self, url: str, page: Page) -> None:
        """Count and log a page that another engine converted than the chosen one."""
        if not page.fallback:
            return
        logger.log(
            logging.DEBUG if self.progress.fallbacks else logging.WARNING,
            "%(url)s was converted by %(engine)s: %(chosen)s failed on it (%(why)s); the report names all such pages",
            {"url": url, "engine": page.converter, "chosen": self.config.converter, "why": page.fallback},
        )
        self.count("converter/fallback")
        self.progress.fallback(url, page.fallback)

    def record_filtered(self, url: str, reason: FilterReason, rule: str = "") -> None:
        """Count a URL that is left out, with its reason; nothing vanishes silently."""
        if reason in LIMITS:
            self.unseen.add(reason)
        elif reason in FILTERED_AFTER_FETCH:
            self._brought_nothing(url)
        self.progress.record_filtered(reason, url, rule)
        self.count(stats.filtered(reason))
        if self._store is not None:
            self._store.record_filtered(url, reason, rule or None)

    def fail(self, url: str, kind: ErrorKind, message: str, status: int | None = None) -> None:
        """Count a page that could not be had."""
        if kind == "not_found":
            self._brought_nothing(url)
        self.progress.error(kind, url, message, status)
        self.count(stats.errors(kind))
        if self._store is not None:
            self._store.record_error(url, kind, message, status)

    def _brought_nothing(self, url: str) -> None:
        if self.known.state(page_key(url)) is None:
            self.bounds.look_alikes.wasted(url)

    def snapshot(self) -> Snapshot:
        """Return the state of the run at this moment."""
        return self.progress.snapshot(queued=self.queued())
