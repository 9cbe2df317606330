"""What a page that was read is: a document, or none: filtered, a list of others, or another form of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmsspider.crawl.callbacks.rendering import MIN_ROUTES
from llmsspider.crawl.fetch import EngineFetch
from llmsspider.crawl.full_text import keep_text_of_file
from llmsspider.crawl.page_checks import drop_reason
from llmsspider.crawl.pages import markdown_alternate, named_llms_txt, refused_by_page, same_page_elsewhere
from llmsspider.crawl.readings import NoDocument
from llmsspider.crawl.requests import info, is_plain
from llmsspider.crawl.site_comparison import compare_with_site
from llmsspider.items import HTML_ORIGINS
from llmsspider.site.discovery import Options, read_described
from llmsspider.web import markdown_forms
from llmsspider.web.url_gate import usable
from llmsspider.web.urls import identity, page_key, without_fragment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from llmsspider.crawl.callbacks.documents import Documents
    from llmsspider.crawl.callbacks.requests import PageRequests
    from llmsspider.crawl.pages import PageResponse, PageResult
    from llmsspider.crawl.run import Run
    from llmsspider.items import PageMeta
    from llmsspider.store import PageRecord

NAMED_AS_TAG = "other pages name it as their tag (rel=tag)"


class Pages:
    """Decides by a page's own metadata whether it is a document, and makes the records of documents.

    Args:
        crawler: downloads the llms.txt that a page names.
        run: the run.
        requests: makes the requests for other pages.
        documents: yields the stored page in place of one that needs a browser.
    """

    def __init__(self, crawler: Crawler, run: Run, requests: PageRequests, documents: Documents):
        self._crawler = crawler
        self._run = run
        self._requests = requests
        self._documents = documents

    def learn_links(self, page: PageResult, answer: PageResponse) -> None:
        """Learn what the links of HTML say of the site; the routes of a rendered page are links too."""
        run, meta = self._run, page.page.meta
        if page.origin == "rendered" and len(meta.routes) >= MIN_ROUTES and meta.api_files is None:
            run.site.learn_routes(answer.page_url)
            page.page.follow = [*page.page.follow, *meta.routes]
        if page.origin in HTML_ORIGINS:
            run.memory.link_bases.learn(page.page.follow, answer.page_url)

    # --- pages that are no documents ---

    def no_document(
        self, page: PageResult, answer: PageResponse, request: Request, *, keeps_listing: bool
    ) -> NoDocument | None:
        """Return why a page is no document itself, by what it says; None for one that is."""
        meta = page.page.meta
        refused = page.filtered or refused_by_page(meta, answer, self._run.config)
        if refused is not None:
            return NoDocument(*refused)
        elsewhere = self._elsewhere(meta, answer, request)
        if elsewhere is not None:
            return elsewhere
        listing = self._listing(meta, request, keeps_listing)
        return NoDocument("listing", listing) if listing is not None else None

    def without_document(self, why: NoDocument, page: PageResult, request: Request) -> Iterator[Any]:
        """Yield the results of a page that is no document, for the reason that `no_document` gave."""
        if why.target is not None:
            yield from self._moved(why.target, why, request)
        elif why.reason in {"listing", "empty"}:
            yield from self._links_only(why, page, request)
        else:
            yield from self._refused(why, request)

    def in_markdown(
        self, page: PageResult, answer: PageResponse, request: Request
    ) -> Iterator[Request] | None:
        """Return the requests for the Markdown that an HTML page names in its place; None where it names none."""
        is_asked = page.was_stub or info(request).get("alternate")
        alternate = None if is_asked else markdown_alternate(page, answer)
        if alternate is None:
            return None
        return self._requests.markdown_of(alternate, request, page.page.follow)

    def remember(self, why: NoDocument, page: PageResult, answer: PageResponse, request: Request) -> None:
        """Keep what was read of a page that is no document, for a 304 in a later run."""
        if is_plain(request):
            self._run.readings.keep(why, page, answer, listed=bool(info(request).get("listed")))

    def textless(self, record: PageRecord) -> NoDocument | None:
        """Return why a page is filtered for its lack of text, whatever the site's other pages are; None else."""
        reason = drop_reason(record.content or "", None, min_characters=self._run.config.min_characters)
        return NoDocument(*reason) if reason is not None else None

    def _refused(self, refused: NoDocument, request: Request) -> Iterator[Any]:
        """Count a page that is filtered once it was read; a browser may make it a document in the next run."""
        run, key = self._run, page_key(request.url)
        run.record_filtered(request.url, refused.reason, refused.rule)
        if refused.reason == "needs-browser":
            run.known.record_outcome(key, "failed", refused.reason)
            yield from self._documents.in_place_of_failed(key, request.meta.get("depth"))
        else:
            run.known.record_outcome(key, "dropped", refused.reason)

    def _elsewhere(self, meta: PageMeta, answer: PageResponse, request: Request) -> NoDocument | None:
        """Return why another page replaces this one (meta refresh, Markdown, canonical link), one hop; else None."""
        here = identity(request.url)
        with_slash = markdown_forms.with_slash(request.url, answer.fetched_url)
        if with_slash is not None and self._is_only_linked(request):
            return NoDocument("canonical", f"its Markdown is that of {with_slash}", with_slash)
        if meta.refresh and identity(meta.refresh) != here:
            return NoDocument("redirect", f"meta refresh to {meta.refresh}", meta.refresh)
        canonical = meta.canonical
        if not canonical or identity(canonical) == here or info(request).get("canonical"):
            return None
        if self._run.site.leads_back(request.url, canonical):
            return None
        if not same_page_elsewhere(request.url, canonical) or not self._run.bounds.allowed(canonical):
            return None
        return NoDocument("canonical", f"names {canonical} as its address", canonical)

    def _is_only_linked(self, request: Request) -> bool:
        """Say whether nothing but links gives a page this address: neither the store, nor a list, nor the user."""
        run, page = self._run, info(request)
        is_stored = run.known.state(page_key(request.url)) is not None
        return not (is_stored or page.get("start") or page.get("listed") or run.site.is_listed(request.url))

    def _moved(self, target: str, why: NoDocument, request: Request) -> Iterator[Any]:
        """Yield the request for the page that this one says it is."""
        run = self._run
        run.known.moved(page_key(request.url), page_key(target))
        run.bounds.redirected(request.url, target)
        is_spelling = why.reason == "canonical"
        if is_spelling:
            run.site.learn_canonical(request.url, target)
        requested = list(self._requests.instead(target, request, uncounted=why.rule if is_spelling else None))
        if not (is_spelling and requested):
            run.record_filtered(request.url, why.reason, why.rule)
        yield from requested

    def count_named(self, request: Request) -> None:
        """Count the page that named the requested one as its address as filtered, now that this one is answered.

        An address that is not found, or redirects back, leaves its page a document.
        """
        page = info(request)
        named_by, rule = page.get("canonical"), page.get("uncounted")
        if rule and named_by and identity(named_by) != identity(request.url):
            self._run.record_filtered(named_by, "canonical", rule)

    def _listing(self, meta: PageMeta, request: Request, is_kept: bool) -> str | None:
        """Return the message why a page that only lists others is filtered; None for one that is kept."""
        run = self._run
        run.site.learn_tags(usable(meta.tags))
        if is_kept:
            return None
        is_tag = meta.lists_only and run.site.is_tag(request.url)
        return meta.listing or (NAMED_AS_TAG if is_tag else None)

    def _links_only(self, why: NoDocument, page: PageResult, request: Request) -> Iterator[Any]:
        """Yield the requests for the links of a page that only lists others, or has no text."""
        self._drop(request.url, why)
        depth = int(request.meta.get("depth", 0)) + 1
        yield from self._requests.links(page.page.follow, depth, on=request.url)

    def filter_listing(self, url: str, why: str) -> None:
        """Count a page that only lists others as filtered."""
        self._drop(url, NoDocument("listing", why))

    def _drop(self, url: str, why: NoDocument) -> None:
        self._run.record_filtered(url, why.reason, why.rule)
        self._run.known.record_outcome(page_key(url), "dropped", why.reason)

    # --- pages that are documents ---

    def record(self, page: PageResult, answer: PageResponse, request: Request) -> PageRecord:
        """Return the record of a page: its own text, with this run's depth, `discovered_by` and entry."""
        record = self._run.records.of_response(
            answer,
            page,
            depth=int(request.meta.get("depth", 0)),
            by=info(request).get("by", "link"),
            entry=self._run.site.entries.get(identity(request.url)),
        )
        record.url = self._spelling(record.url, page.page.meta.canonical)
        return record

    def _spelling(self, url: str, canonical: str | None) -> str:
        """Return how a page's address is spelled.

        As it is stored, or else as an llms.txt or sitemap, the page's canonical link, or the shortest link spells it.
        """
        run, page = self._run, identity(url)
        if run.known.state(page_key(url)) is not None or run.site.is_listed(url):
            return url
        if canonical and identity(canonical) == page:
            return without_fragment(canonical)
        return page if len(page) < len(url) and run.bounds.is_linked(page) else url

    def compare(self, record: PageRecord, answer: PageResponse, request: Request) -> None:
        """Compare a page with the site's other pages and with what is stored of it, and complete its record."""
        run = self._run
        is_false = run.known.is_false(record, answer.headers)
        compare_with_site(run, record, is_start=bool(info(request).get("start")))
        if is_false and run.known.is_false(record, answer.headers):  # as it came, and as it would be stored
            run.memory.disbelieve(record.fetched_url)
        keep_text_of_file(run, record)

    # --- an llms.txt that a page names ---

    async def described_by(self, meta: PageMeta, answer: PageResponse) -> list[Request]:
        """Return requests for the seeds of an llms.txt that only this page names (`rel=describedby`)."""
        run = self._run
        url = named_llms_txt(meta, answer)
        if url is None or run.discovery is None or not run.follows_links:
            return []
        known = len(run.discovery.cut)
        seeds = await read_described(
            EngineFetch(self._crawler, run),
            url,
            run.discovery,
            Options(max_linked_files=run.config.max_linked_files),
        )
        for cut in run.discovery.cut[known:]:
            run.record_filtered(cut.url, cut.reason, cut.rule)
        for seed in seeds:
            run.site.enter(seed)
        return [request for seed in seeds if (request := self._requests.seed(seed)) is not None]
