"""Prefer the Markdown form of every page: `.md` twins, learned once for each host."""

import asyncio
import logging
from collections import defaultdict
from typing import Any
from weakref import WeakSet

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from llmsspider.crawler.bot_walls import ACCEPTED_RUNS
from llmsspider.crawler.pages import says_missing, text_headers
from llmsspider.crawler.parts import (
    KnownPages,
    Learners,
    Ledger,
    Readings,
    SiteKnowledge,
    SourceMemory,
)
from llmsspider.crawler.requests import (
    HTML_ACCEPT,
    NestedDownloadError,
    RefusedRequest,
    RunComponent,
    download_nested,
    has_any,
    info,
    is_plain,
    nested_request,
)
from llmsspider.errors import ErrorKind
from llmsspider.store import PageState
from llmsspider.web import stats
from llmsspider.web.addresses import same_site
from llmsspider.web.host_forms import HostForms
from llmsspider.web.outcomes import MISSING, OUTAGES, kind_of_response
from llmsspider.web.page_forms import (
    bare_type,
    classify,
    is_markdown_url,
    is_twin_of,
    page_candidates,
    shape,
)
from llmsspider.web.urls import host, identity, loose_key, page_key, split_route

logger = logging.getLogger(__name__)

MAX_KEPT = 24
"""Number of HTML pages of a first crawl that are kept, so that each is downloaded once."""


class MarkdownNegotiationMiddleware(RunComponent):
    """Answer a page request with the page's Markdown, where the host has it.

    The Markdown URL is requested by a nested download; its response is returned for the page's
    request, so that `response.request.url` is the page. While the form is unknown, one page at a
    time tries and the others wait (`HostForms.to_try`). Where links that nothing else names are
    mostly dead, such a page is downloaded first. A stored page that came as Markdown stays as it
    was while its Markdown fails, `ACCEPTED_RUNS` runs at most. Counts `llms/markdown/hit`,
    `llms/markdown/miss`.
    """

    known: KnownPages
    learned: Learners
    ledger: Ledger
    memory: SourceMemory
    prefetched: dict[str, Any]
    readings: Readings
    sampled: dict[bytes, dict[str, str]]
    site: SiteKnowledge

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._by_html: WeakSet[Request] = WeakSet()  # pages whose Markdown files are not believed
        self._page_first: WeakSet[Request] = WeakSet()
        """Pages that are downloaded before their Markdown is requested."""
        self._in_vain: WeakSet[Request] = WeakSet()
        """Pages without Markdown at the known form; whether they exist is not known yet."""
        self._html: dict[str, Response] = {}
        """HTML that a first crawl looked at beside its pages, by identity: it is looked at for
        links, too.
        """

    async def process_request(self, request: Request) -> Response | None:
        """Return the Markdown of the page, the start page from memory, or None to download the page
        itself.

        Raises `IgnoreRequest` where the page was downloaded before and only its Markdown is
        requested.
        """
        url = request.url
        if not info(request) or has_any(request, "nested", "synthetic", "verify"):
            return self._kept_html(request)
        state = self.known.at(url)
        known = self._left_out(request, state) or self._kept_shell(request, state)
        if known is not None:
            return known
        if split_route(url)[1]:
            site = self.site.file_sites.docsify_of(url)
            return await self._route(request, site.file_of(url)) if site is not None else None
        repository = self.site.file_sites.repository_of(url)
        if repository is not None:
            # it speaks of pages
            meta = {"dont_obey_robotstxt": True} if repository.by_api else None
            return await self._route(request, repository.file_of(url), meta)
        if self._goes_first(request, state):
            return None
        return await self._of_page(request)

    async def _of_page(self, request: Request) -> Response | None:
        """Return the Markdown of a page, else the HTML that discovery downloaded, else None."""
        page = info(request)
        if page.get("source"):
            return self._kept_html(request)
        response = await self._markdown(request)
        if response is not None:
            return response
        if page.get("held"):
            if request in self._in_vain:
                self.site.forms_of(request.url).none(request.url)
            raise IgnoreRequest("it came as HTML, and has no Markdown")
        kept = self.prefetched.pop(identity(request.url), None)
        return kept.replace(request=request) if kept is not None else self._expected(request)

    def _kept_html(self, request: Request) -> Response | None:
        is_html = request.headers.get("Accept") == HTML_ACCEPT.encode()
        kept = self._html.get(identity(request.url)) if is_html and self._html else None
        return kept.replace(request=request) if kept is not None else None

    def _kept_shell(self, request: Request, state: PageState | None) -> Response | None:
        """Return the HTML that the page has as others do: the server answers all that it does not
        have with it, or the page is a route.
        """
        url = request.url
        site = self.site
        if not is_plain(request):
            return None
        body = site.shell_of(url)
        was_rendered = state is not None and state.origin == "rendered" and not site.answers_404
        if body is None and (was_rendered or split_route(url)[1]):
            body = self.learned.shells.shell_of(url)
        return _html(request, body) if body is not None else None

    def _expected(self, request: Request) -> Response | None:
        """Return the HTML that a new page is expected to have: what all pages of its host have."""
        url = request.url
        page = info(request)
        if page.get("whole") or shape(url) is None or self.known.at(url) is not None:
            return None
        body = self.learned.shells.expected(url) if is_plain(request) else None
        if body is None:
            return None
        page["expected"] = True
        return _html(request, body)

    def _left_out(self, request: Request, state: PageState | None) -> Response | None:
        """Return a 304 for a page that no witness names (`crawler/revisit.py`), and for one that
        was sampled.

        It is a 404 for one that is listed, and was not found.
        """
        url = request.url
        key = state.key if state is not None else page_key(url)
        validators = self.sampled.get(key)
        is_left_out = self.ledger.leaves_out(key, url, is_stored=state is not None)
        if info(request).get("whole") or not (is_left_out or validators is not None):
            return None
        is_dead = state is None and self.ledger.is_dead(key)
        if state is not None and not info(request).get("source"):
            url = _stored_url(request, state)
        elif not is_dead and not self._is_read(request):
            return None
        if is_left_out:
            self.ledger.left_out.add(key)
        return Response(url, 404 if is_dead else 304, headers=validators, request=request)

    def _is_read(self, request: Request) -> bool:
        """Say whether the store has what was read of a page that is no document, or is requested
        for its links.
        """
        page = info(request)
        accept = request.headers.get("Accept")
        read_by = (
            "" if page.get("source") else self.readings.read_by(listed=bool(page.get("listed")))
        )
        accepted = accept.decode("latin-1") if accept else None
        is_alone = bool(page.get("source")) or is_plain(request)
        return is_alone and self.known.has_reading(request.url, accepted, read_by)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the Markdown of a page that was downloaded first; learn whether linked pages are
        there.
        """
        is_html = b"html" in (response.headers.get("Content-Type") or b"").lower()
        if is_html:
            self._keep_look(request, response)
        is_by_html = request in self._by_html
        is_first = request in self._page_first
        self._page_first.discard(request)
        if is_by_html:
            wants_markdown = response.status in MISSING
        else:
            wants_markdown = is_first and is_html and response.status in {200, 304}
        markdown = await self._markdown(request) if wants_markdown else None
        if is_first or (request in self._in_vain and not is_by_html):
            self._learn_link(request, response.status, came_as_markdown=markdown is not None)
        return markdown or response

    def _keep_look(self, request: Request, response: Response) -> None:
        """Keep the HTML that a first crawl looked at beside its pages, `MAX_KEPT` pages at most."""
        is_look = info(request).get("nested") and response.status == 200
        if is_look and not self.known.states and len(self._html) < MAX_KEPT:
            self._html.setdefault(identity(request.url), response)

    def _learn_link(self, request: Request, status: int, *, came_as_markdown: bool) -> None:
        """Learn whether a linked page is there, and that it has no Markdown where guesses failed."""
        forms = self.site.forms_of(request.url)
        if status in MISSING:
            forms.dead += 1
        elif status in {200, 304}:
            forms.alive += not came_as_markdown
            if request in self._in_vain:
                self._in_vain.discard(request)
                forms.none(request.url)

    def _goes_first(self, request: Request, state: PageState | None) -> bool:
        """Say whether to download the page before its Markdown: that is not believed, or links
        alone name the page, and those are mostly dead. Asks for HTML where that is better.
        """
        url = request.url
        is_html = not is_markdown_url(url) and self.site.samples_of(url, "files").is_html
        is_refused = self.learned.accept_refusals.refuses(url)
        if is_html or is_refused or self.site.samples_of(url, "Accept").is_html:
            request.headers["Accept"] = HTML_ACCEPT
        if is_html:
            self._by_html.add(request)
        elif state is None and self._may_be_dead(request):
            self._page_first.add(request)
        else:
            return False
        return True

    def _may_be_dead(self, request: Request) -> bool:
        url = request.url
        forms = self.site.forms_of(url)
        return (
            info(request).get("by") == "link"
            and not has_any(request, "listed", "md", "dead", "alternate", "held", "source")
            and not is_markdown_url(url)
            and forms.known(url) is not None
            and forms.expects_dead(lists=bool(self.site.listed))
            and self.site.spellings.markdown_of(url) is None
            and bool(forms.to_try(url))
        )

    async def _markdown(self, request: Request) -> Response | None:
        forms = self.site.forms_of(request.url)
        if is_markdown_url(request.url):
            return await self._only_markdown(request, forms)
        state = self.known.at(request.url)
        named = self._named_markdown(request, state)
        # in an earlier run, or as the directory whose listed file is dead
        was_asked = state is not None and identity(request.url) in forms.missed
        was_asked |= info(request).get("dead", "").startswith(f"{request.url}/")
        if was_asked and not named:
            return None
        kept = state.fetched_url if state is not None and state.fetched_url in named else None
        if not (forms.awaits_named if named else forms.learning(request.url)):
            return await self._try_forms(request, forms, named, kept)
        async with self._locks[host(request.url)]:
            return await self._try_forms(request, forms, named, kept)

    def _named_markdown(self, request: Request, state: PageState | None) -> list[str]:
        """Return the Markdown URLs of a page by the store, by a link and by lists, each once."""
        page = info(request)
        if page.get("held"):
            return []
        stored = state.fetched_url if state is not None else ""
        urls = (
            stored if is_markdown_url(stored) else None,
            page.get("md"),
            self.site.spellings.markdown_of(request.url),
        )
        return list(dict.fromkeys(filter(None, urls)))

    async def _try_forms(
        self, request: Request, forms: HostForms, named: list[str], stored: str | None
    ) -> Response | None:
        found, is_in_vain = await forms.find(
            request.url, named, lambda url: self._ask(request, url, stored=url == stored)
        )
        if is_in_vain:
            self._in_vain.add(request)
        return found

    async def _ask(self, request: Request, url: str, *, stored: bool = False) -> Response | None:
        """Download a Markdown URL; None when the answer is not this page's Markdown.

        Raises `RefusedRequest` where the page is `stored` as this Markdown and the site did not say
        what became of it.
        """
        response = await self._download(request, url, stored=stored)
        if response is not None and self._acceptable(response, url, request.url):
            self.report.count("markdown/hit")
            response.request = request
            return response
        if stored and response is not None:
            kind = kind_of_response(response.status, text_headers(response), response.body)
            if kind is None and response.status < 300 and not response.body.strip():
                kind = "http"
            self._raise_outage(url, kind, f"HTTP status {response.status}")
        self.report.count("markdown/miss")
        return None

    async def _route(
        self, request: Request, url: str, meta: dict[str, Any] | None = None
    ) -> Response:
        """Return the answer for the file of a route or of a repository, which is all there is of
        that page.
        """
        response = await self.crawler.engine.download_async(nested_request(url, request, meta=meta))
        self.report.count(
            "markdown/hit" if self._acceptable(response, url, url) else "markdown/miss"
        )
        response.request = request
        return response

    async def _only_markdown(self, request: Request, forms: HostForms) -> Response | None:
        """Handle a page known only by its Markdown URL: that URL, and if it is dead the HTML page
        it may belong to.
        """
        response = await self._download(request, request.url)
        if response is not None:
            response.request = request
            if self._acceptable(response, request.url, request.url):
                forms.hit(request.url, request.url, named=True)
                self.report.count("markdown/hit")
                return response
        for form, url in page_candidates(request.url).items():
            if url in forms.no_pages:
                continue
            page = await self._download(request, url, accept=HTML_ACCEPT)
            if page is None or page.status != 200 or loose_key(page.url) != loose_key(url):
                continue
            if "html" in text_headers(page).get("content-type", ""):
                forms.page_form = form
                return page.replace(request=request.replace(url=url))
        return response

    async def _download(
        self, request: Request, url: str, *, accept: str | None = None, stored: bool = False
    ) -> Response | None:
        headers = {"Accept": accept} if accept else None
        try:
            return await download_nested(self.crawler, url, request, headers=headers)
        except NestedDownloadError as error:  # the page itself is requested next, and reported
            if stored:
                self._raise_outage(url, error.kind, str(error))
            logger.debug(
                "No Markdown at %(url)s: %(error)r", {"url": url, "error": error.__cause__}
            )
        return None

    def _acceptable(self, response: Response, requested: str, page_url: str) -> bool:
        """Return whether an answer is the page's Markdown (docs/explanation/markdown-forms.md)."""
        if response.status == 304:
            return self.known.validated(requested) is not None
        is_asked = response.url == requested or is_twin_of(response.url, page_url)
        if response.status != 200 or not is_asked or not same_site(response.url, requested):
            return False
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        mime_type = bare_type(content_type) or None
        body = response.body
        if classify(mime_type, body, markdown_form=True) != "markdown":
            return False
        return bool(body.strip()) and not says_missing(body.decode("utf-8", "replace"))

    def _raise_outage(self, url: str, kind: ErrorKind | None, message: str) -> None:
        """Raise `RefusedRequest` where the answer for stored Markdown is an outage, until that
        lasts too long.
        """
        if (
            kind in OUTAGES
            and self.memory.doubts.again(page_key(url), f"markdown {kind}") < ACCEPTED_RUNS
        ):
            self.report.count(stats.blocked("markdown-outage"))
            raise RefusedRequest(f"{message} at {url}", reason="markdown-outage", kind=kind)


def _stored_url(request: Request, state: PageState) -> str:
    """Return the URL that a page is stored of, and have the request ask for that form of it."""
    if state.accept is not None:
        request.headers["Accept"] = state.accept
    return state.validators_url


def _html(request: Request, body: bytes) -> HtmlResponse:
    return HtmlResponse(request.url, 200, {"Content-Type": "text/html"}, body, request=request)
