"""Ask again only for what changed: conditional requests with stored validators, HEAD where it is
honest.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.httpobj import urlparse_cached

from llmsspider.crawler.pages import text_headers
from llmsspider.crawler.parts import Config, KnownPages, Learners, Readings, SourceMemory
from llmsspider.crawler.requests import META, RunComponent, info, is_plain, nested_request
from llmsspider.items import raw_hash
from llmsspider.store import Reading
from llmsspider.web.urls import host, page_key, without_fragment

logger = logging.getLogger(__name__)


# Whether an answer to HEAD says that a page is as it was stored, and whether a host's HEAD can be
# believed. Pure. RFC 9110, section 9.3.2: HEAD should send the header fields that GET would. Not
# every server does.


@dataclass(frozen=True, slots=True)
class HeadAnswer:
    """The status of an answer, 0 where none came, and its validators; an entity tag for the weak
    comparison.
    """

    status: int
    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str]) -> Self:
        """Read an answer; `headers` maps lower-case names to values."""
        etag = headers.get("etag", "").removeprefix("W/")  # RFC 9110, section 8.8.3.2
        return cls(status, etag or None, headers.get("last-modified") or None)

    def is_unchanged(self, sent: Mapping[str, str]) -> bool:
        """Return whether this answer to a HEAD with these conditional headers says that nothing
        changed.
        """
        etag = sent.get("If-None-Match", "").removeprefix("W/")
        date = sent.get("If-Modified-Since")
        if self.status == 304:
            return not (etag and self.etag) or etag == self.etag
        same = etag == self.etag if etag else date is not None and date == self.last_modified
        return self.status == 200 and same


def disagreement(head: HeadAnswer, get: HeadAnswer) -> str | None:
    """Return what is wrong with an answer to HEAD that did not say "unchanged", by what GET says;
    else None.
    """
    if {head.status, get.status} & {429, 503}:
        return None  # "not now", whatever the method
    if head.status == 0:
        return "HEAD is not answered"
    if not {head.status, get.status} <= {200, 304}:
        return (
            None if head.status == get.status else f"HEAD answers {head.status}, GET {get.status}"
        )
    tags = (head.etag, get.etag)
    dates = (head.last_modified, get.last_modified)
    if head.status == get.status == 200 and (
        tags[0] == tags[1] if any(tags) else dates[0] == dates[1]
    ):
        return None
    has_validators = head.etag or head.last_modified
    return "HEAD sends other validators than GET" if has_validators else "HEAD sends no validators"


class RevalidationMiddleware(RunComponent):
    """Add `If-None-Match` and `If-Modified-Since` to requests whose exact URL and representation
    are stored.

    It stands below the Markdown negotiation, so that a Markdown URL has validators of its own. A
    304 for a page reaches the callback; one for what is no page becomes the stored answer. Counts
    `llms/revalidated`. With `LLMS_REVALIDATE_METHOD=HEAD` a nested HEAD goes first; where it says
    that nothing changed, its answer is a 304. Otherwise the GET says whether HEAD can be believed
    (`disagreement`); a host where it cannot gets GET from then on.
    """

    config: Config
    known: KnownPages
    learned: Learners
    memory: SourceMemory
    readings: Readings

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._get_only: set[str] = set()  # hosts whose HEAD says other than their GET
        self._heads: WeakKeyDictionary[Request, HeadAnswer] = WeakKeyDictionary()
        """The answers to HEAD that did not say that nothing changed, by the GET that follows."""

    async def process_request(self, request: Request) -> Response | None:
        """Add the headers; return a 304 where HEAD says that nothing changed."""
        known = self._validators(request)
        if not known:
            return None
        for name, value in known.items():
            request.headers[name] = value
        self.report.count("revalidated")
        is_others = not request.meta.get(META)  # robots.txt: the HEAD would wait for it
        is_get = self.config.revalidate_method != "HEAD" or request.meta.get("playwright")
        if is_get or is_others or host(request.url) in self._get_only:
            return None
        return await self._by_head(request, known)

    def _validators(self, request: Request) -> dict[str, str]:
        if request.method != "GET":
            return {}
        page = info(request)
        url, accept = _representation(request)
        if is_resource(request):
            return self.known.conditional_headers(url, accept, read_by="")
        if not page or page.get("whole"):
            return {}
        read_by = (
            self.readings.read_by(listed=bool(page.get("listed"))) if is_plain(request) else None
        )
        return self.known.conditional_headers(url, accept, read_by=read_by)

    async def _by_head(self, request: Request, sent: dict[str, str]) -> Response | None:
        timeout = request.meta.get("download_timeout")
        own = {"dont_retry": True, "dont_redirect": True} | (
            {"download_timeout": timeout} if timeout else {}
        )
        head_request = nested_request(
            request.url,
            request,
            discovery=bool(info(request).get("discovery")),
            meta=own,
            method="HEAD",
            headers=request.headers,
        )
        try:
            response = await self.crawler.engine.download_async(head_request)
        except IgnoreRequest:  # refused on our side; the GET says why
            return None
        except Exception:  # any download error: the GET shows whether it is that of HEAD
            self._heads[request] = HeadAnswer(0)
            return None
        head = HeadAnswer.of(response.status, text_headers(response))
        if not head.is_unchanged(sent):
            self._heads[request] = head
            return None
        found = response.headers
        headers = {name: found[name] for name in ("ETag", "Last-Modified") if name in found}
        return Response(request.url, status=304, headers=headers, request=request)

    def _compare(self, request: Request, response: Response) -> None:
        head = self._heads.pop(request, None)
        if head is None or (name := host(request.url)) in self._get_only:
            return
        why = disagreement(head, HeadAnswer.of(response.status, text_headers(response)))
        if why is not None:
            self._get_only.add(name)
            self.report.count("head/refused")
            logger.info(
                "%(host)s gets GET, whatever LLMS_REVALIDATE_METHOD says: %(why)s at %(url)s",
                {"host": name, "why": why, "url": request.url},
                extra={"spider": self.crawler.spider},
            )

    def _keep(self, request: Request, response: Response) -> None:
        """Keep an answer that is whole, and what its URL answers itself."""
        if response.url != request.url or "partial" in response.flags:
            return
        url, accept = _representation(request)
        answer = Reading(url, accept, headers=text_headers(response), body=response.body)
        if self.known.is_false_answer(answer):
            self.learned.false_304s.note(url)
        cut = self.known.breaks_off(answer) and f"cut {raw_hash(response.body)}"
        if cut and not self.memory.is_accepted(page_key(url), cut):
            self.memory.unread(url)
        else:
            self.known.keep_reading(answer)

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep an answer that is no page, or return the stored one in place of a 304."""
        self._compare(request, response)
        if not is_resource(request) or request.method != "GET":
            return response
        if response.status == 200:
            self._keep(request, response)
        stored = self.known.reading(*_representation(request)) if response.status == 304 else None
        if stored is None:
            return response
        validators = {"etag": stored.etag, "last-modified": stored.last_modified}
        headers = {**stored.headers, **{name: value for name, value in validators.items() if value}}
        described = text_headers(response)
        described.pop("content-type", None)  # of the answer without a body (RFC 9111, section 3.2)
        fresh = {name: value for name, value in described.items() if name in headers}
        return response.replace(status=200, headers=headers | fresh, body=stored.body)


def is_resource(request: Request) -> bool:
    """Return whether the response is no page: requested by discovery, for its links, or by Scrapy
    for robots.txt.
    """
    page = info(request)
    if page:
        return bool(page.get("discovery") or page.get("source"))
    return urlparse_cached(request).path == "/robots.txt"


def _representation(request: Request) -> tuple[str, str | None]:
    accept = request.headers.get("Accept")
    url = request.url
    return without_fragment(url) if "#" in url else url, (
        accept.decode("latin-1") if accept else None
    )
