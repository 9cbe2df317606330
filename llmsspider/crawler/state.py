"""What one crawl knows, whatever phase it is in: the base of `Run`, for modules that a run is made
of. No Scrapy.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from functools import cached_property
from typing import Any

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.content.conversion import ConversionPool
from llmsspider.crawler.assets import Assets
from llmsspider.crawler.bot_walls import Suspects
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.deletions import DeletionPlan
from llmsspider.crawler.known_pages import KnownPages, RecordedPages
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.pages import Spool
from llmsspider.crawler.progress import Coverage, Outputs, PageLimit, Progress
from llmsspider.crawler.readings import Readings
from llmsspider.crawler.records import Records
from llmsspider.crawler.revisit import Ledger
from llmsspider.crawler.settle import Waiting
from llmsspider.crawler.shapes import LEARNED, shape_of
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.errors import ErrorKind
from llmsspider.items import content_hash
from llmsspider.site.discovered import Discovery
from llmsspider.store import CONTENT, PageRecord, RunRecord, SourceRecord, Store
from llmsspider.web import stats
from llmsspider.web.addresses import FILE
from llmsspider.web.rights import SiteRights
from llmsspider.web.stats import FILTERED_AFTER_FETCH, LIMITS, FilterReason, Stat
from llmsspider.web.urls import identity, page_key

logger = logging.getLogger(__name__)

CONVERT_TIMEOUT_SECS = 60
"""Time that one page may take in a worker; measured: the slowest real pages take seconds."""


class RunState:
    """What one crawl of one source knows; each concern has an object.

    `arguments` include those of the stored source, which is None on its first crawl. `count` adds a
    number to a stat, `queued` returns how many pages are waiting or under way. `resumes` is the id
    of the run that a JOBDIR continues.
    """

    outcome = ""  # scrapy's finish reason, once the spider has closed

    discovers = (
        True  # whether the crawl begins with discovery and goes on in phases (`LlmsTxtStart`)
    )

    remembers = True  # whether pages are stored

    fault: str | None = None  # the error that ended the run, in one line

    def __init__(
        self,
        arguments: DocsArguments,
        stored_source: SourceRecord | None,
        config: Config,
        count: Callable[[Stat, int], None],
        queued: Callable[[], int],
        *,
        resumes: str | None = None,
    ):
        self.arguments = arguments
        self.stored_source = stored_source
        self.config = config
        self.source: str = arguments.source or ""
        self.resumes = resumes
        self.queued = queued
        self._count = count
        self._store: Store | None = None
        self.record: RunRecord | None = None
        """The run as it began in the store; None before, and where nothing is stored."""
        self.ended = asyncio.Event()  # set once `outcome` is known
        self.deletions: DeletionPlan | None = None  # what was decided at the end, if anything was
        self.progress = Progress()
        self.coverage = Coverage()
        self.outputs = Outputs()
        self.limit = PageLimit(arguments.max_pages, self.progress, arguments.max_requests)
        self.requested_pages: set[bytes] = set()
        """The keys (`urls.page_key`) of the pages that were requested in this crawl, or that came
        another way.
        """
        self.counts_as: dict[bytes, tuple[bytes, str, int]] = {}
        """Pages that count as another, by key: the other's key, their address ("" of a redirect)
        and depth.
        """
        self.accounted: set[bytes] = set()
        """The keys of requested pages that failed, or were filtered for a reason of their own."""
        self.rights = SiteRights()
        self.spool = Spool()
        self.site = SiteKnowledge()
        self.bounds = Bounds(
            arguments,
            config,
            self.site,
            requested=self.requested,
            is_read=self._is_read,
            texts=self._texts_of_shape,
            stored=lambda: (state.url for state in self.known.states.values()),
        )
        self.learned = Learners(
            trusted=not arguments.full,
            requested=self._is_link_requested,
            report_false_304=self._report_false_304,
            read_files=config.formats.extensions("linked") | config.handlers.extensions,
            read_listed=config.formats.extensions("listed"),
        )
        chosen = [*arguments.keep, "drop", *arguments.drop]
        selected = f" {content_hash(' '.join(chosen))[:12]}" if len(chosen) > 1 else ""
        self.records = Records(self.source, config.converter_fingerprint + selected)
        self.known = KnownPages(
            extractor_version=self.records.extractor_version,
            trusted=not arguments.full,
            unbelieved=self.learned.false_304s.hosts,
        )
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
        self.discovery: Discovery | None = None
        self.robots_txt: Callable[[str], Awaitable[str | None]] | None = None
        """Returns the robots.txt of a URL's host, None where it failed; set by what obeys it."""

    def _is_link_requested(self, link: str) -> bool:
        return self.requested(self.page_of(link))

    def _report_false_304(self, url: str) -> None:
        self.count("unbelieved-hosts")
        self.note(
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

    @property
    def store(self) -> Store:
        """The open store."""
        if self._store is None:
            raise RuntimeError("the run is not open")
        return self._store

    @property
    def reads_folder(self) -> bool:
        """True where the user named a local folder in place of a site."""
        return (self.arguments.url or "").startswith(FILE)

    @property
    def follows_links(self) -> bool:
        """True when links of pages lead to further pages in this run."""
        given = self.arguments
        return given.mode == "crawl" and given.follow == "links" and not given.retry

    def page_of(self, url: str) -> str:
        """Return the page a URL stands for: the page of a Markdown URL, the first spelling of
        joined ones.

        A stored page keeps its address: `/a/` and `/a/index.html` do not change places from run to
        run.
        """
        page = self.site.page_of(url)
        if not self.known.may_hold(page) or identity(page) in self.site.respelled:
            return page
        state = self.known.state(page_key(page)) or self.known.state(page_key(url))
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
        keys = self._stored_shapes.get(shape, []) if self._store is not None else []
        if len(keys) >= self.bounds.look_alikes.limit:
            yield from (
                record.content or "" for record in self.store.load_pages(keys, CONTENT) if record
            )

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
        elif rule.startswith(LEARNED):
            pass  # it was not asked
        elif reason in FILTERED_AFTER_FETCH and self.known.state(page_key(url)) is None:
            self.bounds.wasted(url, reason)
        if reason not in {"canonical", "redirect"} and self.requested(url):
            self.accounted.add(page_key(url))
        self.progress.record_filtered(reason, url, rule)
        self.count(stats.filtered(reason))
        if self._store is not None:
            self._store.record_filtered(url, reason, rule or None)

    def final_page(self, key: bytes) -> bytes:
        """Return the page (key) that an address counts as in the end, by the redirects of this run."""
        way = set[bytes]()
        while key in self.counts_as and key not in way:
            way.add(key)
            key = self.counts_as[key][0]
        return key

    def lost_pages(self) -> list[tuple[str, int]]:
        """Return the pages, with their depths, that count as another of which nothing came; one of
        each circle.
        """
        ends = self.recorded.keys | self.accounted
        ends |= {page.record.key for page in self.waiting.pages("moved") if page.record is not None}
        ends |= self.known.states.keys() if self.resumes is not None else set()
        lost = []
        for key, (_, url, depth) in sorted(self.counts_as.items(), key=lambda one: one[1][1]):
            way = set[bytes]()
            target = key
            while target in self.counts_as and target not in way:
                way.add(target)
                target = self.counts_as[target][0]
            if url and target in self.requested_pages and ends.isdisjoint((*way, target)):
                lost.append((url, depth))
                ends.add(key)
        return lost

    def drop(self, record: PageRecord, why: str) -> None:
        """Count a page that a pipeline of the user dropped; what is stored of it is deleted at the
        end.
        """
        if self.known.reasons.get(record.key) != "pipeline":
            self.record_filtered(record.url, "pipeline", why)
            self.known.record_outcome(record.key, "dropped", "pipeline")

    def fail(self, url: str, kind: ErrorKind, message: str, status: int | None = None) -> None:
        """Count a page that failed, in stats, progress and store."""
        if kind == "not_found" and self.known.state(page_key(url)) is None:
            self.bounds.wasted(url)
        self.accounted.add(page_key(url))
        self.progress.error(kind, url, message, status)
        self.count(stats.errors(kind))
        if self._store is not None:
            self._store.record_error(url, kind, message, status)
