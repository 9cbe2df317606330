"""Prefer the Markdown form of every page: `.md` twins, learned once for each host."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from llmsspider.domains import same_site
from llmsspider.errors import UNREAD_KINDS
from llmsspider.filetypes import classify
from llmsspider.negotiation import FORMS, is_markdown_url, is_twin_of, page_candidates, shape, twin
from llmsspider.outcomes import kind_of_exception, kind_of_response
from llmsspider.pages import text_headers
from llmsspider.refusal import RefusedRequest
from llmsspider.requests import HTML_ACCEPT, info, nested_request
from llmsspider.urls import host, page_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.errors import ErrorKind
    from llmsspider.negotiation import HostForms
    from llmsspider.run import Run
    from llmsspider.store import PageState

logger = logging.getLogger(__name__)


class MarkdownNegotiationMiddleware:
    """Answer a page request with the page's Markdown, where the host has it.

    The Markdown URL is asked by a nested download, which passes every other downloader middleware; its response
    is returned for the page's request, so `response.request.url` is the page and `response.url` the Markdown
    file. Where there is none, the page itself is downloaded (its `Accept` header asks for Markdown too). Once the
    host's form is settled, the nested download comes first (`ahead`): where it gives the page's Markdown, the page's
    own request need not pass the middlewares.

    While a host's form is open, one page of each shape at a time asks and the others wait; a host without
    Markdown costs at most `negotiation.MAX_WASTED` requests. Counts `llms/markdown/hit`, `llms/markdown/miss`.
    The policy is `HostForms.to_try`. A stored page that came as Markdown is not taken as HTML because its Markdown
    cannot be had this time: that is the page's error, and it stays as it was stored.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._outcomes: WeakKeyDictionary[Request, tuple[str, Response | Exception]] = WeakKeyDictionary()
        """What came of Markdown URLs that were asked ahead in vain, by the request of the page."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> MarkdownNegotiationMiddleware:
        """Take the run of the spider."""
        return cls(crawler, crawler.spider.run)  # type: ignore[union-attr]

    async def process_request(self, request: Request) -> Response | None:
        """Return the Markdown of the page, the start page from memory, or None to download the page itself."""
        page = info(request)
        if not page or any(page.get(key) for key in ("nested", "synthetic", "verify")):
            return None
        response = None if page.get("source") else await self._markdown(request)
        return response or self.run.take_prefetched(request)

    async def ahead(
        self, request: Request, url: str, fetch: Callable[[Request], Awaitable[Response | Request]]
    ) -> Response | None:
        """Return the Markdown of a page from a `settled` URL, before the page's request enters the middlewares.

        Anything else that comes of the URL waits here until `process_request` asks for it.

        Args:
            request: the request of the page.
            url: its Markdown URL.
            fetch: downloads a request; one that it returns is to be downloaded in its place (redirect, retry).
        """
        try:
            outcome = await fetch(nested_request(url, request, page=request.url))
            while not isinstance(outcome, Response):
                outcome = await fetch(outcome)
        except Exception as error:  # whatever it was, `process_request` judges it
            self._outcomes[request] = url, error
            return None
        if not self._acceptable(outcome, url, request.url):
            self._outcomes[request] = url, outcome
            return None
        self._learn(self.run.site.forms_of(request.url), request.url, url)
        self.run.count("markdown/hit")
        outcome.request = request
        return outcome

    def settled(self, request: Request) -> str | None:
        """Return the Markdown URL that is asked first for a page, None where that is still open or none is."""
        page, run = info(request), self.run
        if "by" not in page or page.get("start") or "redirect_times" in request.meta or run.limit.reached:
            return None
        if "alike" in page and run.bounds.crowded(request.url, listed=page["alike"] == "listed"):
            return None
        if is_markdown_url(request.url):
            return request.url
        forms = run.site.forms_of(request.url)
        if forms.hits == 0 or forms.exhausted:
            return None
        state = run.known.state(page_key(request.url))
        url = _named(request, state)
        if url is None and state is None and not forms.learning(request.url):
            url = next((made for _form, made in forms.to_try(request.url)), None)
        return url if url is not None and host(url) == host(request.url) else None

    async def _markdown(self, request: Request) -> Response | None:
        forms = self.run.site.forms_of(request.url)
        if is_markdown_url(request.url):
            return await self._only_markdown(request, forms)
        state = self.run.known.state(page_key(request.url))
        named = _named(request, state)
        if named is None and forms.known and state is not None:
            return None  # the host has Markdown, and had none for this page
        if not (forms.learning(request.url) or (named and forms.hits == 0)):
            return await self._try_forms(request, forms, named)
        async with self._locks[host(request.url)]:
            return await self._try_forms(request, forms, named)

    async def _try_forms(self, request: Request, forms: HostForms, named: str | None) -> Response | None:
        if named and (not forms.exhausted or info(request).get("alternate")):
            stored = self.run.known.state(page_key(request.url))
            response = await self._ask(
                request, named, forms, stored=stored is not None and stored.fetched_url == named
            )
            if response is not None:
                self._learn(forms, request.url, named)
                return response
        for form, url in forms.to_try(request.url):
            if url == named:
                continue
            response = await self._ask(request, url, forms)
            if response is not None:
                forms.hit(request.url, form)
                return response
            if forms.exhausted:
                break
        return None

    def _learn(self, forms: HostForms, page_url: str, markdown_url: str) -> None:
        this = shape(page_url)
        for form in FORMS.get(this, ()) if this else ():
            if twin(page_url, form) == markdown_url:
                forms.hit(page_url, form)

    async def _ask(
        self, request: Request, url: str, forms: HostForms, *, stored: bool = False
    ) -> Response | None:
        """Download a Markdown URL; None when the answer is not this page's Markdown.

        Raises:
            RefusedRequest: the page is `stored` as this Markdown, and the site could not say what became of it.
        """
        response = await self._download(request, url, stored=stored)
        if response is not None and self._acceptable(response, url, request.url):
            self.run.count("markdown/hit")
            response.request = request
            return response
        if stored and response is not None:
            kind = kind_of_response(response.status, text_headers(response), response.body)
            is_success = 200 <= response.status < 300
            if kind in UNREAD_KINDS or (is_success and (kind is not None or not response.body.strip())):
                raise self._outage(url, f"HTTP status {response.status}", kind or "http")
        forms.miss()
        self.run.count("markdown/miss")
        return None

    async def _only_markdown(self, request: Request, forms: HostForms) -> Response | None:
        """Handle a page known only by its Markdown URL: that URL, and if it is dead the HTML page it may belong to."""
        response = await self._download(request, request.url)
        if response is not None and self._acceptable(response, request.url, request.url):
            self.run.count("markdown/hit")
            response.request = request
            return response
        for form, url in page_candidates(request.url).items():
            page = await self._download(request, url, accept=HTML_ACCEPT)
            if page is not None and page.status == 200:
                forms.page_form = form
                return page.replace(request=request.replace(url=url))
        if response is not None:
            response.request = request
        return response

    async def _download(
        self, request: Request, url: str, *, accept: str | None = None, stored: bool = False
    ) -> Response | None:
        asked, outcome = self._outcomes.pop(request, ("", None))
        engine = self.crawler.engine
        if engine is None:
            return None
        try:
            if asked != url:
                nested = nested_request(url, request, headers={"Accept": accept} if accept else None)
                outcome = await engine.download_async(nested)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        except IgnoreRequest as error:
            logger.debug("No Markdown at %(url)s: %(error)s", {"url": url, "error": error})
        except Exception as error:  # any download error: the page itself is asked next, and reported
            kind = kind_of_exception(error)
            if stored and kind in UNREAD_KINDS:
                raise self._outage(url, str(error) or type(error).__name__, kind) from error
            logger.debug("No Markdown at %(url)s: %(error)r", {"url": url, "error": error})
        return None

    def _acceptable(self, response: Response, asked: str, page_url: str) -> bool:
        """Say whether an answer is the page's Markdown (docs/markdown-forms.md)."""
        if response.status == 304:
            return self.run.known.validated(asked) is not None
        if response.status != 200 or not same_site(response.url, asked):
            return False
        if response.url != asked and not is_twin_of(response.url, page_url):
            return False
        mime_type = (
            (response.headers.get("Content-Type") or b"").decode("latin-1").partition(";")[0].strip().lower()
        )
        body = response.body
        return bool(body.strip()) and classify(mime_type or None, body, markdown_form=True) == "markdown"

    def _outage(self, url: str, message: str, kind: ErrorKind) -> RefusedRequest:
        self.run.count("blocked/markdown-outage")
        return RefusedRequest(f"{message} at {url}", reason="markdown-outage", kind=kind)


def _named(request: Request, state: PageState | None) -> str | None:
    """Return the URL that a page's Markdown was stored from, or else the one that a file names."""
    if state is not None and is_markdown_url(state.fetched_url):
        return state.fetched_url
    return info(request).get("md")
