"""How the page that an answer holds is read: Markdown, HTML, rendered, an OpenAPI file; answers that may be no page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from scrapy import Request
from scrapy.crawler import Crawler

from llmsspider.content import judge
from llmsspider.content.markdown import Draft
from llmsspider.crawl import bot_walls
from llmsspider.crawl.bot_walls import Suspect
from llmsspider.crawl.callbacks.rendering import Renderer
from llmsspider.crawl.full_text import words_of
from llmsspider.crawl.link_bases import UnsettledError
from llmsspider.crawl.pages import LinkJoiner, PageResponse, PageResult, Read, is_documentation, read_page
from llmsspider.crawl.requests import HTML_ACCEPT, NestedDownloadError, download_form, info
from llmsspider.crawl.run import Run
from llmsspider.crawl.second_requests import Stub, is_fuller
from llmsspider.crawl.settle import drop_reason
from llmsspider.errors import ConversionError, ErrorKind, RenderingError
from llmsspider.items import MARKDOWN_ORIGINS, Page, content_hash
from llmsspider.store import PageRecord, PageState
from llmsspider.web import stats
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.page_forms import converter, is_markdown_url, page_candidates
from llmsspider.web.urls import host, identity, page_key

logger = logging.getLogger(__name__)


def count_page(run: Run, url: str, page: Page) -> None:
    """Count the hidden text of a page that was read; count and log another converter than the chosen one."""
    if page.hidden:
        run.count("hidden-text", page.hidden)
    if not page.fallback:
        return
    logger.log(
        logging.DEBUG if run.progress.fallbacks else logging.WARNING,
        "%(url)s was converted by %(engine)s: %(chosen)s failed on it (%(why)s); the report names all such pages",
        {"url": url, "engine": page.converter, "chosen": run.config.converter, "why": page.fallback},
    )
    run.count("converter/fallback")
    run.progress.fallback(url, page.fallback)


def joiner(
    run: Run, draft: Draft, page_url: str, fetched_url: str, origin: str, *, can_wait: bool = True
) -> Callable[[str], str]:
    """Return the function that makes the hrefs of a Markdown page absolute, by `run.memory.link_bases`.

    A page whose own links do not show what they are relative to waits for pages of its group that do
    (`UnsettledError`), so that it does not matter which comes first.
    """
    site = run.site.docsify_of(page_url) or run.site.repository_of(page_url)
    if site is not None:
        return partial(site.join, page_url=page_url)
    bases = run.memory.link_bases
    links = bases.look(page_url, fetched_url, origin, draft.hrefs)
    if bases.is_open(links):
        if can_wait and run.waiting.can_keep("links", run.limit.left):
            raise UnsettledError(links.group)
        bases.conclude(links.group)
    if links.differs:
        run.count(stats.markdown_links(bases.base_of(links)))
    return bases.join(links)


class PageReader:
    """Reads the page that an answer holds, in the form that says most: each other form is a nested download.

    That is the body as it came; its HTML, where its Markdown is a stub; what a browser rendered, where scripts make the
    page; or what an OpenAPI file that it names describes. Counts `llms/markdown/stub` and `llms/markdown/stub/html`.
    """

    def __init__(self, crawler: Crawler, run: Run, join: LinkJoiner | None = None):
        self.crawler = crawler
        self.renderer = Renderer(crawler, run)
        self._run = run
        self._join = join
        self._sampled: dict[str, Read] = {}  # the HTML of samples, until it is used

    async def read(
        self, request: Request, answer: PageResponse, *, listed: bool, with_listings: bool = True
    ) -> Read:
        """Return the page, and the answer that it was read from in the end.

        Other text formats are documents too where a page is `listed`; `with_listings` reads pages that only list
        others. Raises `ConversionError`, `RenderingError`, and `UnsettledError` where what its links are relative to
        is not known yet.
        """
        is_shown = self._run.site.repository_of(answer.page_url) is not None  # links are relative to the page
        shown = replace(answer, fetched_url=answer.page_url) if is_shown else answer
        workers, join = self._run.workers, self._join
        page = await read_page(shown, workers, listed=listed, join=join, with_listings=with_listings)
        answer, fuller = await self.fuller(request, answer, page)
        if fuller is None:
            return answer, None
        fuller = replace(fuller, is_as_stored=await self._is_as_stored(request, answer, fuller))
        return await self.renderer.rendered(request, answer, fuller)

    async def _is_as_stored(self, request: Request, answered: PageResponse, result: PageResult) -> bool:
        """Say whether Markdown of a page that is stored as HTML has the same words, or else its HTML still has them."""
        known, state = self._run.known, self._run.known.state(page_key(request.url))
        is_new_form = state is not None and state.origin == "html" and result.origin in MARKDOWN_ORIGINS
        stored = self._run.store.load_page(state.key) if state is not None and is_new_form else None
        if state is None or stored is None or not known.is_usable(state):
            return False
        before = words_of(stored.content or "")
        if words_of(result.page.markdown) == before:
            return True
        html = await self._read_html(state.fetched_url, request, answered)
        return html is not None and (html[1] is None or words_of(html[1].page.markdown) == before)

    async def fuller(self, request: Request, answered: PageResponse, result: PageResult) -> Read:
        """Return the fuller of a page's Markdown and its HTML; raises `RenderingError` where stored HTML failed."""
        run = self._run
        if result.filtered is not None or result.origin not in MARKDOWN_ORIGINS:
            return answered, result
        if result.origin == "negotiated":
            return await self._better(request, answered, result)
        kind, is_open = run.site.stubs_of(request.url).judge(result.page.markdown)
        if is_open and run.known.state(page_key(request.url)) is None:
            result = replace(result, is_undecided=True)
        may_wait = result.is_undecided and run.waiting.can_keep("stub", run.limit.left)
        if kind is None or may_wait:
            return answered, result
        return await self.fuller_than_stub(request, answered, result, kind)

    async def _better(self, request: Request, answered: PageResponse, result: PageResult) -> Read:
        """Return the better of a page's Markdown by `Accept` and its HTML, as samples of its host show.

        While they do not, the page waits; where it cannot, it is a sample. Raises `RenderingError` as `fuller` does.
        """
        run, url = self._run, request.url
        samples, html = run.site.samples_of(url), self._sampled.pop(url, None)
        if answered.accept == HTML_ACCEPT:  # it has no other form
            return answered, result
        can_wait, is_worse = run.waiting.can_keep("stub", run.limit.left), False
        if html is None and samples.takes(result.page.markdown, any_page=not can_wait):
            run.count("markdown/samples")
            html = await self._read_html(url, request, answered)
            read = html[1] if html is not None else None
            lost = _lost(result, read) if read is not None else frozenset()
            is_worse = bool(lost)
            if samples.report(lost):
                self._tell(url, samples, answered)
        if samples.is_html is None and can_wait:
            if html is not None:
                self._sampled[url] = html
            return answered, replace(result, is_undecided=True)
        is_worse = is_worse if samples.is_html is None else samples.is_html
        if is_worse and html is None:
            html = await self._read_html(url, request, answered)
        return html if is_worse and html is not None else (answered, result)

    def _tell(self, url: str, samples: judge.FormSamples, answered: PageResponse) -> None:
        by = converter(answered.headers)
        made = f", converted on the way ({by})," if by else ""
        if samples.is_html:
            line = f"{samples.evidence}: its HTML is converted"
        else:
            line = f"says what its HTML says ({samples.good} of {samples.good + samples.worse} samples)"
        self._run.note(f"Markdown by Accept at {host(url)}{made} {line}")

    async def _read_html(self, url: str, request: Request, answered: PageResponse) -> Read | None:
        """Return a page's HTML as it was read; None where there is none that is the page. Raises as `fuller` does."""
        html = await self._html(url, request, answered)
        if html is None or html.status == 304:
            return None if html is None else (html, None)
        try:
            read = await read_page(html, self._run.workers, listed=False)
        except ConversionError:
            return None  # the page has its Markdown
        is_page = is_documentation(read, html, self._run.config) and not read.page.meta.is_shell
        return (html, read) if is_page else None

    async def fuller_than_stub(
        self, request: Request, answered: PageResponse, result: PageResult, kind: Stub
    ) -> Read:
        """Return the fuller of a page's Markdown, which may be a stub, and its HTML, as `fuller` does."""
        run, stubs = self._run, self._run.site.stubs_of(request.url)
        is_file = run.site.repository_of(request.url) is not None  # it has no other form
        if is_file or not stubs.pays(kind):
            return answered, result
        run.count("markdown/stub")
        html, asked = None, request.url  # of a Markdown file the pages that it may belong to
        for url in page_candidates(asked).values() if is_markdown_url(asked) else (asked,):
            html = await self._html(url, request, answered)
            if html is not None:
                break
        if html is not None and html.status == 304:
            stubs.report(kind, fuller=True)
            return html, None
        read = await read_page(html, run.workers, listed=False) if html is not None else None
        if html is not None and read is not None and not read.page.meta.is_shell:
            is_page = is_documentation(read, html, run.config)
            if is_page and is_fuller(read.page.markdown, result.page.markdown):
                stubs.report(kind, fuller=True)
                run.count("markdown/stub/html")
                return html, replace(read, was_stub=True)
        stubs.report(kind, fuller=False)
        return answered, result

    async def _html(self, url: str, request: Request, answered: PageResponse) -> PageResponse | None:
        """Return the answer with a page's HTML, or the 304 for the stored HTML; None where there is no HTML.

        Raises `RenderingError` where the page is stored as HTML: a stub must not take its place in an outage.
        """
        known = self._run.known
        wrong: ErrorKind | None
        try:
            html = await download_form(self.crawler, url, request, answered, headers={"Accept": HTML_ACCEPT})
        except NestedDownloadError as error:
            logger.debug("No HTML at %(url)s: %(error)r", {"url": url, "error": error.__cause__})
            wrong, why = error.kind, str(error)
        else:
            if html.status == 304:
                return html if known.validated(html.fetched_url) is not None else None
            wrong = kind_of_response(html.status, html.headers, html.body)
            why = f"HTTP status {html.status}"
            if wrong is None:
                is_html = html.status == 200 and html.kind == "html"
                return html if is_html and host(html.fetched_url) == host(url) else None
        state = known.state(page_key(answered.page_url))
        if state is not None and state.origin == "html" and wrong != "not_found":
            raise RenderingError(f"its Markdown is a stub, and its HTML failed ({why})", kind=wrong)
        return None  # the page has its Markdown


def _lost(markdown: PageResult, html: PageResult) -> frozenset[judge.Loss]:
    try:
        return judge.is_worse(markdown.page, html.page)
    except ConversionError:
        return frozenset()


# --- answers that may stand in place of their pages; what the evidence makes of one is in `crawl/bot_walls.py` ---


def seen_suspect(run: Run, record: PageRecord, answer: PageResponse, request: Request) -> Suspect | None:
    """Return the suspect of a page's answer, and record it as evidence; None for an answer without suspicion."""
    suspect = suspect_of(run, record, answer.body)
    if suspect is None or suspect.cut:
        return suspect
    suspect.start = bool(info(request).get("start"))
    start = run.discovery.start if run.discovery is not None else None
    led = suspect.start and start is not None and start.url != start.final_url
    suspect.redirected = (led or "redirect_urls" in request.meta) and record.url not in run.bounds.links
    suspect.false_304 = run.known.is_false(record, answer.headers)
    run.suspects.see(suspect)
    return suspect


async def seen_beside(run: Run, answer: PageResponse, state: PageState) -> Suspect | None:
    """Record as evidence the response for a stored page that has no document in this run, and return the suspect.

    Raises `ConversionError`.
    """
    page = await read_page(answer, run.workers, listed=True)
    record = run.records.of_response(answer, page, depth=state.depth, by="link")
    record = replace(record, identity=identity(state.url))
    suspect = suspect_of(run, record, answer.body)
    if suspect is None or suspect.before is None:
        return None
    run.suspects.see(suspect)
    return suspect


def suspect_of(run: Run, record: PageRecord, body: bytes) -> Suspect | None:
    """Return the suspect of a response whose text differs from the stored one, or is new and short; else None."""
    text, state = record.content or "", run.known.state(record.key)
    is_same = state is not None and (
        state.markdown_hash == bytes.fromhex(content_hash(text))
        or (state.raw_hash is not None and state.raw_hash == bytes.fromhex(record.raw_hash or ""))
    )  # as stored: its Markdown, or the body that another version made Markdown of
    if state is None or state.source_hash is not None:  # new, or stored as pipelines of the user altered it
        is_long = len(text) > bot_walls.MAX_NEW_TEXT or run.bounds.is_alike(record.url)
        if is_same or is_long or not run.known.states:
            return None
        evidence = bot_walls.own_evidence("", text, record.title, body)
        return Suspect(record.key, bot_walls.wall_fingerprint(text), None, evidence)
    stored = None if state.markdown_hash is None or is_same else run.store.load_page(state.key)
    if stored is None:
        return None
    before = stored.content or ""
    suspect = Suspect(state.key, bot_walls.wall_fingerprint(text), state.content_hash)
    suspect.cut = not record.has_end_tag and bot_walls.breaks_off(before, text)
    if suspect.cut:
        return suspect
    dropped = drop_reason(text, record.title)
    reason = dropped.reason if dropped is not None else None
    is_missing = reason == "soft-404" or content_hash(text) in run.site.soft404_hashes
    if is_missing or not bot_walls.is_rewritten(before, text):
        return None
    suspect.kind = bot_walls.own_evidence(before, text, record.title, body)
    if reason is None:  # one without text is seen twice anyway
        shrunk = bot_walls.is_shrunk(before, text)
        is_less = record.origin in MARKDOWN_ORIGINS and state.origin == "html"  # it has no navigation
        suspect.bare = shrunk or (not is_less and bot_walls.has_lost_links(stored.follow, record.follow))
        suspect.blank = shrunk and not record.follow
    return suspect
