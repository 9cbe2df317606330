"""The scheduler of a worker: its own requests here, pages in the queue that all workers share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from scrapy import Request
from scrapy_redis.queue import PriorityQueue

from llmsspider.crawl.distributed.worker_group import WorkerGroup
from llmsspider.crawl.requests import ALLOWED_STATUSES, META, info
from llmsspider.crawl.scheduling.scheduler import BreadthFirstScheduler, PageDupeFilter
from llmsspider.errors import WorkerGroupError
from llmsspider.items import DiscoveredBy
from llmsspider.web.url_gate import fault
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from scrapy import Spider
    from twisted.internet.defer import Deferred

    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)


# --- duplicate filter shared by workers ---


class SharedDupeFilter(PageDupeFilter):
    """`PageDupeFilter` with its set of pages in Redis."""

    worker_group: WorkerGroup

    def share(self, run: Run) -> None:
        """Take the worker group of the run: its pages are in Redis."""
        assert isinstance(run.worker_group, WorkerGroup)  # noqa: S101  # `LLMS_REDIS_URL` sets this dupefilter
        self.worker_group = run.worker_group

    def request_seen(self, request: Request) -> bool:
        """Return whether any worker has requested the page, and remember it."""
        redirects = request.meta.get("redirect_urls")
        if redirects and identity(redirects[-1]) == identity(request.url):
            return False
        return not self.worker_group.remember(page_key(request.url))


# The queue that workers share: scrapy-redis's, with pages as plain data and a way to take them that none misses.

DROPPED_META = frozenset({"download_timeout", "download_slot", "download_latency", "redirect_reasons"})
"""Meta that middlewares set anew."""


def _usable(url: str) -> str:
    why = fault(url)
    if why is not None:
        raise ValueError(why)
    return url


Url = Annotated[str, AfterValidator(_usable)]


class PageMarks(BaseModel):
    """What `meta["llms"]` of a shared page may say; marks that lift a rule (`nested`, `synthetic`) are none of it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    by: DiscoveredBy = "link"
    listed: bool | None = None
    alternate: bool | None = None
    alike: Literal["listed", "linked"] | None = None
    canonical: bool | None = None
    dead: Url | None = None
    md: Url | None = None


class QueuedPage(BaseModel):
    """A page as it stands in Redis. Its request is always a GET by the spider's own callbacks, without headers.

    Whoever can write to Redis can name pages to crawl; nothing of it becomes a class, a function, a header, a proxy
    or the path of a file.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    url: Url
    priority: int
    depth: int = Field(ge=0)
    page: PageMarks
    redirect_urls: list[Url] = []
    redirect_times: int = Field(default=0, ge=0)
    redirect_ttl: int | None = None

    @classmethod
    def of(cls, request: Request) -> QueuedPage:
        """Return what is shared of a request; raises `TypeError` for one that is more than this."""
        meta = {name: value for name, value in request.meta.items() if name not in DROPPED_META}
        statuses = meta.pop("handle_httpstatus_list", ALLOWED_STATUSES)
        if request.method != "GET" or request.body or request.cookies or statuses != ALLOWED_STATUSES:
            raise TypeError(f"{request} is no plain page")
        meta.pop(META, None)
        try:
            page = PageMarks.model_validate(dict(info(request)))
            return cls(url=request.url, priority=request.priority, page=page, **meta)
        except ValidationError as error:
            raise TypeError(str(error)) from None

    def request(self, spider: Any) -> Request:
        """Return the request for the page."""
        meta: dict[str, Any] = {
            "depth": self.depth,
            "handle_httpstatus_list": ALLOWED_STATUSES,
            META: self.page.model_dump(exclude_none=True),
        }
        if self.redirect_urls:
            meta |= {"redirect_urls": self.redirect_urls, "redirect_times": self.redirect_times}
            meta |= {} if self.redirect_ttl is None else {"redirect_ttl": self.redirect_ttl}
        return Request(
            self.url, callback=spider.parse, errback=spider.failed, meta=meta, priority=self.priority
        )


class SharedQueue(PriorityQueue):  # type: ignore[misc]  # it is not typed
    """Requests of all workers, those of lower depth first."""

    def __init__(self, group: WorkerGroup, spider: Spider):
        super().__init__(None, spider, group.keys["queue"])
        self._group = group

    def __len__(self) -> int:
        return self._group.queued()

    def push(self, request: Request) -> None:
        """Queue a request; raises `TypeError` for one that is no plain page."""
        data = QueuedPage.of(request).model_dump_json(exclude_defaults=True).encode()
        self._group.push(-request.priority, data)

    def pop(self, *, busy: bool, exact: bool) -> Request | None:
        """Take a request, see `WorkerGroup.take`; what is no page is discarded with a warning."""
        while (data := self._group.take(busy=busy, exact=exact)) is not None:
            try:
                return QueuedPage.model_validate_json(data).request(self.spider)
            except ValidationError as error:
                problem = error.errors()[0]
                logger.warning(
                    "discarded an entry of the queue in Redis that is no page: %(what)s: %(why)s",
                    {"what": ".".join(map(str, problem["loc"])) or "entry", "why": problem["msg"]},
                )
        return None


STAYS = ("start", "synthetic")
"""Marks of requests that only the worker that made them can answer."""


class SharedScheduler(BreadthFirstScheduler):
    """Puts pages where any worker can take them.

    What belongs to a page that this worker has already (retries, link sources; all with `dont_filter`) stays here and
    goes first. Redis is never waited for: an empty queue gives None at once, and `process_start` looks again.
    """

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Take the worker group of the run."""
        self._group: WorkerGroup = spider.run.worker_group  # type: ignore[attr-defined]
        self._shared = SharedQueue(self._group, spider)
        return super().open(spider)

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request, unless any worker has requested its page."""
        if request.dont_filter or any(info(request).get(mark) for mark in STAYS):
            return super().enqueue_request(request)
        try:
            if self.df.request_seen(request):
                self.df.log(request, self.spider)
                return False
            self._shared.push(request)
        except TypeError:
            return super().enqueue_request(request.replace(dont_filter=True))
        except WorkerGroupError:
            return False
        return True

    def next_request(self) -> Request | None:
        """Return a request of this worker's own, else take one of the shared queue; None while there is none."""
        request = super().next_request()
        if (
            request is not None
            or not self._group.joined
            or self._group.fault is not None
            or self._has_enough()
        ):
            return request
        try:
            return self._shared.pop(busy=self._is_busy(), exact=self._bounded())
        except WorkerGroupError:
            return None

    def __len__(self) -> int:
        if self._group.fault is not None:
            return super().__len__()
        return super().__len__() + len(self._shared)

    def _has_enough(self) -> bool:
        """Whether enough responses wait to be parsed: what is taken is not fetched if this worker dies."""
        engine = self.crawler.engine if self.crawler else None
        slot = engine.scraper.slot if engine is not None else None
        return slot is not None and len(slot.queue) + len(slot.active) >= engine.downloader.total_concurrency  # type: ignore[union-attr]

    def _is_busy(self) -> bool:
        engine = self.crawler.engine if self.crawler else None
        slot = engine.scraper.slot if engine is not None else None
        waiting = super().__len__() > 0
        return (
            waiting
            or (engine is not None and bool(engine.downloader.active))
            or not (slot and slot.is_idle())
        )
