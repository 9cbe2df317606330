"""The requests of the spider `docs`: pages, seeds, stored pages, links.

Each names a callback of the spider.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from scrapy import Request

from llmsspider.crawler.bounds import without_session_id
from llmsspider.crawler.parts import (
    Addresses,
    Bounds,
    Coverage,
    DocsArguments,
    KnownPages,
    Learners,
    PageLimit,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
    Waiting,
)
from llmsspider.crawler.requests import ALLOWED_STATUSES, CARRIED, META, depth_of, info
from llmsspider.crawler.settle import WaitingPage
from llmsspider.site.discovered import Seed
from llmsspider.site.discovery import MAX_FULL_BYTES
from llmsspider.store import PageState
from llmsspider.web.page_forms import is_markdown_url, page_candidates
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import (
    INVALID_URL,
    InvalidUrl,
    alike_key,
    identity,
    parse,
    without_fragment,
)

VALIDATED_BY = frozenset({b"If-None-Match", b"If-Modified-Since"})
"""The headers of a conditional request, as Scrapy writes them."""

_KEPT_META = ("depth", "handle_httpstatus_list", *CARRIED)
"""The metadata that a repeated request keeps."""


FILE_NAME = "it is named like a file, and others like it are no pages"


class PageRequests(UsesRun):
    """Makes the requests of a crawl.

    A URL that is filtered is counted with its reason, and gets none.
    """

    addresses: Addresses
    arguments: DocsArguments
    bounds: Bounds
    coverage: Coverage
    failed: Callable[..., Any]
    """Scrapy reads the source of an errback that is a generator, once for each object that it is."""
    full_text_failed: Callable[..., Any]
    known: KnownPages
    learned: Learners
    limit: PageLimit
    memory: SourceMemory
    parse: Callable[..., Any]
    parse_full_text_again: Callable[..., Any]
    queued: Callable[[], int]
    report: Reporter
    site: SiteKnowledge
    waiting: Waiting

    def page(self, url: str, *, by: str, depth: int, listed: bool = False, **extra: Any) -> Request:
        """Return the request for a page; its priority makes the crawl breadth-first, the rest is
        `meta["llms"]`.
        """
        own = {"by": by, "listed": listed, **extra}
        meta = {"depth": depth, "handle_httpstatus_list": ALLOWED_STATUSES, META: own}
        return Request(url, callback=self.parse, errback=self.failed, meta=meta, priority=-depth)

    def start_page(self, url: str) -> Request:
        """Return the request for the start page, which is fetched whatever the scope."""
        page = self.addresses.page_of(url)
        listed = self.bounds.is_listed(page)
        extra = {**_named_form(page, url), **_spelled(page, url)}
        return self.page(page, by="start", depth=0, listed=listed, start=True, **extra)

    def seed(self, seed: Seed) -> Request | None:
        """Return the request for a seed, at depth 0; None for one that is filtered or was requested
        before.
        """
        url = self.addresses.page_of(seed.url)
        listed = self.bounds.is_listed(url)
        url = self.addresses.after_redirects(url)
        if self.addresses.requested(url) or not self.admits(url, listed=listed):
            return None
        extra = {**_named_form(url, seed.url), **_spelled(url, seed.url)}
        request = self.page(url, by=seed.discovered_by, depth=0, listed=listed, **extra)
        return None if self._waits_for_copies(request) else request

    def _waits_for_copies(self, request: Request) -> bool:
        """Keep a request whose page may be of another language or version, until the rest of the
        site is known.
        """
        return self.bounds.is_undecided(request.url) and self.waiting.keep(
            WaitingPage("copy", request)
        )

    def refresh(self) -> Iterator[Request]:
        """Yield a request for each stored page, and one for each full-text file that holds stored
        pages.
        """
        files: dict[str, None] = {}
        for state in self.known.states.values():
            if state.origin == "llms-full":
                files[state.fetched_url] = None
            elif not state.is_part:
                yield self.stored(state)
        for file in files:
            meta = {META: {"source": True}, "download_maxsize": MAX_FULL_BYTES}
            yield Request(
                file,
                self.parse_full_text_again,
                errback=self.full_text_failed,
                meta=meta,
                dont_filter=True,
            )

    def failed_before(self) -> Iterator[Request]:
        """Yield a request for each page that failed in the last run, as far as the store has their
        URLs.
        """
        for url in self._valid(self.memory.failed_before()):
            state = self.known.at(url)
            yield self.stored(state) if state else self.page(url, by="link", depth=0, listed=True)

    def stored(self, state: PageState) -> Request:
        """Return the request for a stored page."""
        form = {"md": state.own_url} if state.own_url != state.url else {}
        return self.page(state.url, by="link", depth=state.depth, listed=True, **form)

    def retry(self, request: Request, url: str) -> Request:
        """Return the request that retries a failed page at the end of the crawl, by the URL first
        requested.
        """
        own = {**info(request), "late": True}
        depth = request.meta.get("depth")
        again = once_more(url, self.parse, self.failed, own, depth)
        again.meta["max_retry_times"] = 0
        again.priority = request.priority
        return again

    def whole(self, request: Request) -> Request:
        """Return the request for a page again, without validators: its body is needed."""
        unconditional = {
            name: value for name, value in request.headers.items() if name not in VALIDATED_BY
        }
        whole = kept_meta(request, whole=True)
        return request.replace(headers=unconditional, meta=whole, dont_filter=True)

    # --- one page in place of another ---

    def markdown_of(self, url: str, request: Request, links: list[str]) -> Iterator[Request]:
        """Yield the request for the Markdown that an HTML page names, once, and those for the links
        of its HTML.
        """
        again = kept_meta(request, md=url, alternate=True)
        yield request.replace(meta=again, dont_filter=True, priority=request.priority + 1)
        yield from self.links(links, depth_of(request) + 1, on=request.url)

    def instead(
        self, target: str, request: Request, *, uncounted: str | None = None
    ) -> Iterator[Request]:
        """Yield the request for the page that this one stands for; `uncounted` is why this one is
        filtered then.
        """
        url = self.addresses.page_of(without_fragment(target))
        if self.addresses.requested(url) or not self.admits(url):
            return
        extra = {"uncounted": uncounted} if uncounted else {}
        extra |= _named_form(url, request.url)
        is_start = info(request).get("start", False)
        yield self.in_place_of(request, url, start=is_start, canonical=request.url, **extra)

    def in_place_of(self, request: Request, url: str, **extra: Any) -> Request:
        """Return the request for a page that takes the place of a requested one."""
        page = info(request)
        depth = depth_of(request)
        by = page.get("by", "link")
        listed = page.get("listed", False)
        there = self.page(url, by=by, depth=depth, listed=listed, **extra)
        # what it is says what others like it are
        return there.replace(priority=request.priority + 1)

    def other_address(self, request: Request) -> Request | None:
        """Return the request for another address of a page that is not found, by what named or
        spelled it; or None.
        """
        page = info(request)
        spelled = page.get("spelled")
        named_by = page.get("canonical")
        if spelled and not is_markdown_url(spelled):
            self.addresses.respelled.add(identity(spelled))
            meta = {
                **request.meta,
                META: {name: value for name, value in page.items() if name != "spelled"},
            }
            return request.replace(url=spelled, meta=meta, dont_filter=True)
        if named_by and identity(named_by) != identity(request.url):
            self.bounds.trees.no_page(request.url)
            self.addresses.named_answers(request.url, is_found=False)
            return request.replace(url=named_by, meta={**request.meta}, dont_filter=True)
        markdown = page.get("md") or page.get("dead")
        if markdown:
            return self._page_of_dead(markdown, request)
        url = request.url.replace("%5C", "/")  # a path of Windows
        is_new = url != request.url and not self.addresses.requested(url)
        return self.in_place_of(request, url) if is_new and self.admits(url) else None

    def _page_of_dead(self, markdown: str, request: Request) -> Request | None:
        """Return the request for the next page that a dead Markdown file may be of; or None."""
        is_listed = info(request).get("listed", False)
        for url in page_candidates(markdown).values():
            if self.addresses.requested(url) or self.bounds.refusal(url, listed=is_listed):
                continue
            entry = self.site.entries.get(identity(self.addresses.page_of(markdown)))
            if entry is not None:
                self.site.entries[identity(url)] = entry
            # its own address as canonical: the one that it names may be the one that is not found
            return self.in_place_of(request, url, dead=markdown, canonical=url)
        return None

    # --- links ---

    def links(
        self, urls: list[str], depth: int, *, on: str, unchanged: bool = False
    ) -> Iterator[Request]:
        """Yield requests for those links of the page `on`, which may be `unchanged`, that are new
        and in scope.
        """
        bounds = self.bounds
        limit = self.limit
        if not self.arguments.follows_links:
            return
        if self.arguments.max_depth is not None and depth > self.arguments.max_depth:
            self._too_deep(urls)
            return
        room = limit.room(self.queued()) if limit.max_requests else None
        for link, url in self._new_links(urls, unchanged=unchanged):
            if limit.reached:
                self.coverage.incomplete(limit.why)
                return
            is_new = self.known.at(url) is None
            # a stored page is no trap, it was a document
            if is_new and (trap := bounds.trap(url)) is not None:
                self.report.filtered(url, *trap)
                continue
            if room is not None and (room := room - 1) < 0:
                limit.cut = True
                rule = f"max_requests={limit.max_requests}: enough are queued"
                self.report.filtered(url, "max-requests", rule)
                continue
            request = self._of_link(link, url, depth, on=on, is_new=is_new)
            if not (is_new and self._is_no_page(request)) and not self._waits_for_copies(request):
                yield request

    def _of_link(self, link: str, url: str, depth: int, *, on: str, is_new: bool) -> Request:
        """Return the request for the page of a link on another page."""
        extra: dict[str, Any] = {**_named_form(url, link), **_spelled(url, link)}
        if is_new and self.bounds.is_alike(url):
            extra["alike"] = "linked" if self.bounds.is_alike(on) else "listed"
        return self.page(url, by="link", depth=depth, **extra)

    def _is_no_page(self, request: Request) -> bool:
        """Keep or filter a link that is named like a file; say whether it is not requested now."""
        names = self.learned.file_names
        is_page = names.is_page(request.url)
        if is_page or (is_page is None and names.takes_sample(request.url)):
            return False
        is_kept = is_page is None and self.waiting.keep(WaitingPage("file", request))
        if not is_kept:
            self.report.filtered(request.url, "file-type", FILE_NAME)
        return True

    def _new_links(self, urls: Iterable[str], *, unchanged: bool) -> Iterator[tuple[str, str]]:
        """Yield the links that are new to this run and in scope, each with the page that it stands
        for.
        """
        bounds = self.bounds
        again = {} if unchanged else self.learned.dead_links.skipped
        unseen = (link for link in urls if link not in bounds.links or link in again)
        for link in self._valid(unseen):
            if not bounds.links.add(link) and link not in again:
                continue
            url = self.addresses.after_redirects(self.addresses.page_of(without_session_id(link)))
            why = bounds.refusal(url)
            is_of_site = why is None or why.reason != "offsite"
            if is_of_site and self._is_passed_over(link, url, unchanged=unchanged):
                continue
            if why is None and (page := self.learned.copies.page_of(url)) is not None:
                why = Filtered("canonical", f"{page} names it as a copy of itself")
            if why is None:
                yield link, url
            else:
                self.report.filtered(url, *why)

    def _is_passed_over(self, link: str, url: str, *, unchanged: bool) -> bool:
        """Say whether the page of a link came or comes another way, or was dead."""
        if self.site.is_seed(url) or self.addresses.requested(url):
            return True  # a seed enters at depth 0 with what the list says of it
        is_new = unchanged and self.known.at(url) is None
        return is_new and self.learned.dead_links.skip(link, url)

    def _valid(self, urls: Iterable[str]) -> Iterator[str]:
        """Yield the URLs that pass the gate; the others are counted, each once."""
        for link in urls:
            url = parse(link)
            if isinstance(url, str):
                yield url
            elif isinstance(url, InvalidUrl) and self.bounds.links.add(url.display):
                self.report.filtered(url.display, INVALID_URL, url.why)

    def _too_deep(self, urls: Iterable[str]) -> None:
        for url in map(self.addresses.page_of, self._valid(urls)):
            is_taken = not self.addresses.requested(url) and self.bounds.allowed(url)
            if is_taken and self.bounds.links.add(f"depth {identity(url)}"):
                self.report.filtered(url, "max-depth", f"max_depth={self.arguments.max_depth}")

    def admits(self, url: str, *, listed: bool | None = None) -> bool:
        """Say whether a page, which is `listed` or else may be, is in scope; one that is not is
        counted.
        """
        is_listed = self.bounds.is_listed(url) if listed is None else listed
        why = self.bounds.refusal(url, listed=is_listed)
        if why is not None:
            self.report.filtered(url, *why)
        return why is None


def _named_form(url: str, named: str) -> dict[str, Any]:
    """Return the value of `meta["llms"]` for the Markdown URL that names a page."""
    return {"md": named} if url != named and is_markdown_url(named) else {}


def _spelled(url: str, named: str) -> dict[str, Any]:
    """Return the value of `meta["llms"]` for another spelling of a page's address, that of a link."""
    return {"spelled": named} if url != named and alike_key(url) == alike_key(named) else {}


def kept_meta(request: Request, **own: Any) -> dict[str, Any]:
    """Return the metadata of a request that is repeated; that of the first download is dropped."""
    kept = {key: request.meta[key] for key in _KEPT_META if key in request.meta}
    return {**kept, META: {**info(request), **own}}


def once_more(url: str, callback: Any, errback: Any, own: object, depth: int | None) -> Request:
    """Return a request that passes the dupefilter."""
    meta = {"handle_httpstatus_list": ALLOWED_STATUSES, META: own}
    if depth is not None:
        meta["depth"] = depth
    return Request(url, callback=callback, errback=errback, meta=meta, dont_filter=True)
