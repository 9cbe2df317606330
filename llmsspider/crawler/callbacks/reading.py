"""How the page that an answer holds is read: Markdown, HTML, rendered, an OpenAPI file; answers
that may be no page.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import sample
from typing import NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler

from llmsspider.content import judge
from llmsspider.content.markdown import Draft
from llmsspider.crawler.callbacks.rendering import Renderer
from llmsspider.crawler.full_text import chosen, says_the_same
from llmsspider.crawler.link_bases import UnsettledError
from llmsspider.crawler.pages import (
    PageResponse,
    PageResult,
    Read,
    is_documentation,
    read_page,
)
from llmsspider.crawler.parts import (
    Addresses,
    Config,
    ConversionPool,
    Coverage,
    KnownPages,
    PageLimit,
    Progress,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
    Waiting,
)
from llmsspider.crawler.requests import (
    HTML_ACCEPT,
    NestedDownloadError,
    download_form,
    download_sample,
    info,
)
from llmsspider.crawler.second_requests import FORM_OF, NIGHTLY, SAMPLES, SHARE, Form, FormSamples
from llmsspider.errors import ConversionError, ErrorKind, RenderingError
from llmsspider.items import MARKDOWN_ORIGINS, MAX_LINKS, Page, PageMeta
from llmsspider.store import PageRecord, PageState
from llmsspider.web import stats
from llmsspider.web.page_forms import converter, is_markdown_url, page_candidates
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import host, identity, page_key

logger = logging.getLogger(__name__)

CANDIDATES = 20  # stored pages that are looked at for one that has two forms


class Beside(NamedTuple):
    """The HTML of a page that came as Markdown, None where there is none, and what the Markdown
    lacks. The page is dead where its HTML is not found, and nothing names its Markdown.
    """

    html: Read | None
    found: judge.Compared
    is_dead: bool = False

    def better_than(
        self, answered: PageResponse, result: PageResult, *, is_worse: bool | None
    ) -> Read:
        """Return the HTML or the Markdown, whose form `is_worse` where that is known."""
        if self.is_dead:
            return answered, replace(result, filtered=NO_PAGE)
        if is_worse is None:
            is_worse = bool(self.found.lost)
        is_better = self.html is not None and (self.found.is_stub or is_worse)
        return self.html if self.html is not None and is_better else (answered, result)


def _page_of(stored: PageRecord) -> Page:
    page = Page(stored.text, stored.links, [], PageMeta(title=stored.title))
    page.heading_ids = stored.heading_ids
    return page


NO_PAGE = Filtered("soft-404", "its Markdown comes for any address; the page is not found")


class PageReader(UsesRun):
    """Reads the page that an answer holds, in the form that says most: each other form is a nested
    download.

    That is the body as it came; its HTML, where its Markdown says less (`content/judge.py`); what a
    browser rendered, where scripts make the page; or what an OpenAPI file that it names describes.
    Without `learns_bases` links of Markdown are relative to the URL fetched.
    """

    addresses: Addresses
    config: Config
    coverage: Coverage
    known: KnownPages
    limit: PageLimit
    memory: SourceMemory
    progress: Progress
    report: Reporter
    sampled: dict[bytes, dict[str, str]]
    site: SiteKnowledge
    waiting: Waiting
    workers: ConversionPool

    def __init__(self, crawler: Crawler, run: object, *, learns_bases: bool = False):
        super().__init__(run)
        self.crawler = crawler
        self.renderer = Renderer(crawler, run)
        self._join = self.joined if learns_bases else None
        self._beside: dict[str, Beside] = {}  # of pages that wait
        self._compared: dict[int, str] = {}
        """The page whose HTML was first compared with its Markdown, by the hash of its text."""
        self._first: dict[int, str] = {}
        """The page that came first with a text as Markdown, by the hash of the text."""
        self._no_html: set[str] = set()
        """Pages whose HTML is not found."""

    def count(self, url: str, page: Page) -> None:
        """Say where not all links of a page are followed, count its hidden text; count and log
        another converter than the chosen one.
        """
        if len(page.follow) >= MAX_LINKS:
            self.coverage.incomplete(f"of {url}, {MAX_LINKS:,} links were followed")
        if page.hidden:
            self.report.count("hidden-text", page.hidden)
        if not page.fallback:
            return
        logger.log(
            logging.DEBUG if self.progress.fallbacks else logging.WARNING,
            "%(url)s was converted by %(engine)s: %(chosen)s failed on it (%(why)s); the report names"
            " all such pages",
            {
                "url": url,
                "engine": page.converter,
                "chosen": self.config.converter,
                "why": page.fallback,
            },
        )
        self.report.count("converter/fallback")
        self.progress.fallback(url, page.fallback)

    def joined(
        self, draft: Draft, page_url: str, fetched_url: str, origin: str, *, can_wait: bool = True
    ) -> Callable[[str], str]:
        """Return the function that makes the hrefs of a Markdown page absolute, by
        `SourceMemory.link_bases`.

        A page that does not show what they are relative to waits for pages of its group that do
        (`UnsettledError`).
        """
        site = self.site.file_sites.of(page_url)
        if site is not None:
            return partial(site.join, page_url=page_url)
        bases = self.memory.link_bases
        links = bases.look(page_url, fetched_url, origin, draft.hrefs)
        if bases.is_open(links) and can_wait and self.waiting.can_keep("links", self.limit.left):
            raise UnsettledError
        if links.differs:
            self.report.count(stats.markdown_links(bases.base_of(links)))
        return bases.join(links)

    async def read(
        self, request: Request, answer: PageResponse, *, listed: bool, with_listings: bool = True
    ) -> Read:
        """Return the page, and the answer that it was read from in the end.

        Other text formats are documents too where a page is `listed`; `with_listings` reads pages
        that only list others. Raises `ConversionError`, `RenderingError`, and `UnsettledError`
        where its links are relative to something unknown.
        """
        # links are relative to the page
        is_shown = self.site.file_sites.repository_of(answer.page_url) is not None
        shown = replace(answer, fetched_url=answer.page_url) if is_shown else answer
        workers = self.workers
        join = self._join
        page = await read_page(
            shown, workers, listed=listed, join=join, with_listings=with_listings
        )
        answer, fuller = await self.fuller(request, answer, page)
        if fuller is None:
            return answer, None
        if fuller.origin in MARKDOWN_ORIGINS:
            fuller = replace(fuller, is_as_stored=await self.is_as_stored(request, answer, fuller))
        return await self.renderer.rendered(request, answer, fuller)

    async def is_as_stored(
        self, request: Request, answered: PageResponse, result: PageResult
    ) -> bool | None:
        """Say whether Markdown of a page that is stored as HTML has the same title and words, or
        else its HTML still has them; None for any other page, and where it has no HTML.

        Raises `RenderingError` where its HTML failed.
        """
        state = self.known.at(request.url)
        if state is None or state.origin != "html" or not self.known.is_usable(state):
            return None
        stored = self.known.load(state.key)
        if stored is None:
            return None
        is_same = partial(says_the_same, stored.text, titles=True, links=True)
        if is_same(result.page.markdown):
            return True
        html = await self._read_html(request.replace(url=state.fetched_url), answered)
        if html is None:
            return None
        return html[1] is None or is_same(html[1].page.markdown)

    async def fuller(self, request: Request, answered: PageResponse, result: PageResult) -> Read:
        """Return the better of a page's Markdown and its HTML, as samples of its host and section
        show.

        While they do not, the page waits; where it cannot, it is a sample. What may be a stub is
        judged by itself. Raises `ConversionError`, and `RenderingError` where the HTML is what is
        stored, and failed this time.
        """
        url = request.url
        form = self._form_of(url, answered, result)
        if form is None:
            return answered, result
        samples = self.site.samples_of(url, form)
        can_wait = self.waiting.can_keep("stub", self.limit.left)
        beside = self._beside.pop(url, None)
        if beside is None:
            beside = await self._looked_at(request, answered, result, form, any_page=not can_wait)
        if samples.is_html is None and can_wait and not (beside and beside.found.is_stub):
            if beside is not None:
                self._beside[url] = beside
            return answered, replace(result, is_undecided=True)
        if beside is not None:
            return beside.better_than(answered, result, is_worse=samples.is_html)
        html = await self._read_html(request, answered) if samples.is_html else None
        return html or (answered, result)

    async def _looked_at(
        self,
        request: Request,
        answered: PageResponse,
        result: PageResult,
        form: Form,
        *,
        any_page: bool,
    ) -> Beside | None:
        """Return the HTML of a page that is a sample of its form, may be a stub, or has the text of
        another page; None for others.
        """
        url = request.url
        text = result.page.markdown
        samples = self.site.samples_of(url, form)
        is_sample = samples.takes(text, any_page=any_page, has_room=self._room > 0)
        if not (is_sample or self.may_be_stub(text, url) or self._is_repeated(text, url)):
            return None
        beside = await self.beside(request, answered, result, is_sample=is_sample)
        if is_sample:
            self._tell(url, form, samples.report(beside.found, url), answered.headers)
        return beside

    def _form_of(self, url: str, answered: PageResponse, result: PageResult) -> Form | None:
        """Return how a page came as Markdown, None where it has no other form."""
        is_file = self.site.file_sites.of(url) is not None
        is_only = is_file or result.filtered is not None or answered.accept == HTML_ACCEPT
        return None if is_only else FORM_OF.get(result.origin)

    @property
    def _room(self) -> int:
        """How many more pages may be requested as HTML in vain."""
        first = SAMPLES + len(self.addresses.requested_pages) // SHARE
        return (NIGHTLY if self.known.states else first) - self.site.judged.in_vain

    def may_be_stub(self, markdown: str, url: str) -> bool:
        """Say whether Markdown may be a stub, so that its HTML is worth a request; the last one is
        kept for gaps.
        """
        state = self.known.at(url)
        room = self._room
        if state is not None and state.origin == "html":
            return judge.may_be_stub(markdown)  # it was one
        return room > 0 and judge.may_be_stub(markdown, judge.SHORT if room > 1 else 0)

    def _is_repeated(self, markdown: str, url: str) -> bool:
        """Say whether another page came with the same Markdown, so that its HTML is worth a
        request.
        """
        return self._first.setdefault(hash(markdown), url) != url and self._room > 0

    def _is_named(self, request: Request) -> bool:
        """Say whether something names the Markdown of a page, which may have no HTML then."""
        page = info(request)
        site = self.site
        named = (page.get("listed"), page.get("md"), site.spellings.markdown_of(request.url))
        return any(named) or is_markdown_url(request.url) or site.is_listed(request.url)

    async def beside(
        self,
        request: Request,
        answered: PageResponse,
        result: PageResult,
        *,
        is_sample: bool = False,
    ) -> Beside:
        """Return the HTML of a page that came as Markdown, and what it says that the Markdown
        lacks.

        Raises as `fuller` does.
        """
        self.report.count("markdown/samples" if is_sample else "markdown/stub")
        html = await self._read_html(request, answered)
        is_dead = html is None and request.url in self._no_html
        if is_dead and result.origin in FORM_OF and not self._is_named(request):
            return Beside(None, judge.Compared(frozenset({"text"}), is_stub=True), is_dead=True)
        page = html[1].page if html is not None and html[1] is not None else None
        if html is not None and page is None:  # it is as it was stored
            stored = self.known.load(page_key(answered.page_url))
            page = _page_of(stored) if stored is not None else None
        found = self._compare(request.url, result.page, page)
        if found.is_stub:
            self.report.count("markdown/stub/html")
        return Beside(html, found)

    def _compare(self, url: str, markdown: Page, html: Page | None) -> judge.Compared:
        found = judge.Compared(frozenset())
        if html is not None:
            markdown.heading_ids = html.heading_ids
            with suppress(ConversionError):
                found = judge.compare(markdown, html)
            same = self._compared.setdefault(hash(html.markdown), url)
            if same != url and markdown.markdown != html.markdown:
                found = judge.Compared(frozenset())  # a notice that stands in place of each page
        logger.debug(
            "%(url)s: its Markdown lacks %(lost)s", {"url": url, "lost": sorted(found.lost)}
        )
        self.site.judged.in_vain += not found.lost
        return found

    async def compared(self, url: str, markdown: Page) -> judge.Compared | None:
        """Compare the Markdown of a page with its HTML as that is now; None where there is none."""
        html = await self.anew(url, url, HTML_ACCEPT)
        if (
            html is None
            or html[1].origin != "html"
            or identity(html[0].fetched_url) != identity(url)
        ):
            return None
        return self._compare(url, markdown, html[1].page)

    async def judge_again(self) -> bool:
        """Compare both forms of one stored page, another one in each crawl, of those that were
        sampled if there are any; return whether that decides otherwise.
        """
        number = self.known.number
        states = {state.url: state for state in self.known.states.values() if not state.is_part}
        sampled = [self.known.states[key].url for key in self.sampled]
        first = [*self.site.judged.again(number), *sample(sampled, len(sampled))]
        for url in chosen(list(states), first, number, CANDIDATES):
            found = self._markdown_form(states[url])
            if found is not None:
                return await self._judge_form(states[url], *found)
        return False

    async def _judge_form(self, state: PageState, form: Form, address: str) -> bool:
        """Compare both forms of a stored page, whose Markdown has this address; return whether that
        decides otherwise.
        """
        url = state.url
        own = await self._markdown_now(state, address)
        compared = await self.compared(url, own[1]) if own is not None else None
        if own is None or compared is None:
            return False
        self.report.count("markdown/samples")
        decided = self.site.samples_of(url, form).report_all({url: compared})
        self._tell(url, form, decided, own[0])
        return decided is not None

    async def _markdown_now(
        self, state: PageState, url: str
    ) -> tuple[Mapping[str, str], Page] | None:
        """Return the headers and the Markdown of a stored page as it is now at its `url`; a sample
        has shown that it is the stored one.
        """
        stored = self.known.load(state.key) if state.key in self.sampled else None
        if stored is not None and stored.origin in MARKDOWN_ORIGINS:
            return self.sampled[state.key], _page_of(stored)
        own = await self.anew(url, state.url)
        return (own[0].headers, own[1].page) if own and own[1].origin in FORM_OF else None

    def _markdown_form(self, state: PageState) -> tuple[Form, str] | None:
        """Return how a stored page comes as Markdown, believed or not, and where; None where it
        does not.
        """
        site = self.site
        url = state.url
        is_html = state.origin == "html"
        if state.origin == "negotiated" or (is_html and site.samples_of(url, "Accept").is_html):
            return "Accept", url
        address = state.fetched_url if state.origin == "markdown" else None
        if is_html and site.samples_of(url, "files").is_html:
            address = site.spellings.markdown_of(url) or next(
                (twin for _, twin in site.forms_of(url).to_try(url)), None
            )
        return ("files", address) if address is not None and is_markdown_url(address) else None

    async def anew(
        self, url: str, page_url: str, accept: str | None = None, drawn: Request | None = None
    ) -> tuple[PageResponse, PageResult] | None:
        """Return a form of a page as it is now, read; None for whatever kept it from that.

        Without `accept` it is requested without validators, else with those of the sample before.
        `drawn` is the request of a page that the browser renders.
        """
        try:
            how = "source" if accept else "whole"
            answer = await download_sample(self.crawler, url, page_url, accept, how)
            if answer.error_kind is None:
                read = await read_page(answer, self.workers, listed=False, join=self._join)
                if drawn is None:
                    return answer, read
                return await self.renderer.in_browser(drawn, answer, read)
        except Exception as error:
            logger.debug("No sample of %(url)s: %(error)r", {"url": url, "error": error})
        return None

    def _tell(
        self, url: str, form: Form, samples: FormSamples | None, headers: Mapping[str, str]
    ) -> None:
        if samples is None:
            return
        by = converter(headers)
        place = host(url)
        if samples.above is not None:
            place += self.site.section_of(url)
        made = f", converted on the way ({by})," if by and form == "Accept" else ""
        comes = "by Accept" if form == "Accept" else "beside pages"
        then = ": its HTML is converted" if samples.is_html else ""
        self.report.note(f"Markdown {comes} at {place}{made} {samples.evidence}{then}")

    async def _read_html(self, request: Request, answered: PageResponse) -> Read | None:
        """Return a page's HTML as it was read, without a result where it is as it is stored; None
        where there is none.

        Raises as `fuller` does.
        """
        asked = request.url  # of a Markdown file the pages that it may belong to
        for url in page_candidates(asked).values() if is_markdown_url(asked) else (asked,):
            html = await self._html(url, request, answered)
            if html is None:
                continue
            if html.status == 304:
                return html, None
            with suppress(ConversionError):
                read = await read_page(html, self.workers, listed=False)
                if is_documentation(read, html, self.config) and not read.page.meta.is_shell:
                    # the Markdown file that it names is not requested again
                    return html, replace(read, was_stub=is_markdown_url(answered.fetched_url))
            break
        return None  # the page has its Markdown

    async def _html(
        self, url: str, request: Request, answered: PageResponse
    ) -> PageResponse | None:
        """Return the answer with a page's HTML, or the 304 for the stored HTML; None where there is
        no HTML.

        Raises `RenderingError` where the page is stored as HTML: a stub must not take its place in
        an outage.
        """
        known = self.known
        wrong: ErrorKind | None
        try:
            html = await download_form(
                self.crawler, url, request, answered, headers={"Accept": HTML_ACCEPT}
            )
        except NestedDownloadError as error:
            logger.debug("No HTML at %(url)s: %(error)r", {"url": url, "error": error.__cause__})
            wrong = error.kind
            why = str(error)
        else:
            if html.status == 304:
                return html if known.validated(html.fetched_url) is not None else None
            wrong = html.error_kind
            why = f"HTTP status {html.status}"
            if wrong is None:
                is_html = html.status == 200 and html.kind == "html"
                return html if is_html and host(html.fetched_url) == host(url) else None
        if wrong == "not_found":
            self._no_html.add(url)
        state = known.at(answered.page_url)
        if state is not None and state.origin == "html" and wrong != "not_found":
            raise RenderingError(f"its Markdown is a stub, and its HTML failed ({why})", kind=wrong)
        return None  # the page has its Markdown
