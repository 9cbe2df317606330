"""The queue that workers share: scrapy-redis's, with pages as plain data and a way to take them that none misses."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from scrapy import Request
from scrapy_redis.queue import PriorityQueue

from llmsspider.items import DiscoveredBy
from llmsspider.requests import ALLOWED_STATUSES, META, info
from llmsspider.urlgate import fault

if TYPE_CHECKING:
    from scrapy import Spider

    from llmsspider.together.crew import Crew

logger = logging.getLogger(__name__)

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

    def __init__(self, crew: Crew, spider: Spider):
        super().__init__(None, spider, crew.keys["queue"])
        self._crew = crew

    def __len__(self) -> int:
        return self._crew.queued()

    def push(self, request: Request) -> None:
        """Queue a request; raises `TypeError` for one that is no plain page."""
        data = QueuedPage.of(request).model_dump_json(exclude_defaults=True).encode()
        self._crew.push(-request.priority, data)

    def pop(self, *, busy: bool, exact: bool) -> Request | None:
        """Take a request, see `Crew.take`; what is no page is dropped with a warning."""
        while (data := self._crew.take(busy=busy, exact=exact)) is not None:
            try:
                return QueuedPage.model_validate_json(data).request(self.spider)
            except ValidationError as error:
                problem = error.errors()[0]
                logger.warning(
                    "dropped an entry of the queue in Redis that is no page: %(what)s: %(why)s",
                    {"what": ".".join(map(str, problem["loc"])) or "entry", "why": problem["msg"]},
                )
        return None
