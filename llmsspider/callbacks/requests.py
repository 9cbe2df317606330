"""The requests of the spider `docs`: pages, seeds, stored pages, links, and what relative links of Markdown mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import Request

from llmsspider.crawl.run import Run
from llmsspider.crawl.traps import without_session_id
from llmsspider.discovery.files import MAX_FULL_BYTES
from llmsspider.requests import ALLOWED_STATUSES, META, info
from llmsspider.web.markdown_forms import is_markdown_url
from llmsspider.web.url_gate import INVALID_URL, InvalidUrl, parse
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy.http import Response

    from llmsspider.discovery import Seed
    from llmsspider.store import PageState
    from llmsspider.web.scope import Verdict


# The requests of the spider `docs`: pages, seeds, stored pages, links.

MAX_UNDECIDED = 50_000
"""Requests that wait until it is known whether their pages are copies; what is more is judged page by page."""


class DocsRequests(scrapy.Spider):
    """Builds every request; what is out of scope is counted here and gets none."""

    run: Run
    failed: Callable[..., Any]
    parse_full_text_again: Callable[..., Any]
    full_text_failed: Callable[..., Any]
    parse_verification: Callable[..., Any]
    verification_failed: Callable[..., Any]
    has_no_markdown: Callable[..., Any]

    def page_request(self, url: str, *, by: str, depth: int, listed: bool = False, **extra: Any) -> Request:
        """Return the request for a page; its queue order is breadth-first."""
        meta = {
            "depth": depth,
            "handle_httpstatus_list": ALLOWED_STATUSES,
            META: {"by": by, "listed": listed, **extra},
        }
        return Request(url, callback=self.parse, errback=self.failed, meta=meta, priority=-depth)

    def start_request(self, url: str) -> Request:
        """Return the request for the start page, which is always fetched."""
        page = self.run.page_of(url)
        extra = {"md": url} if page != url and is_markdown_url(url) else {}
        listed = self.run.bounds.is_listed(page)
        return self.page_request(page, by="start", depth=0, listed=listed, start=True, **extra)

    def seed_request(self, seed: Seed) -> Request | None:
        """Return the request for a seed, or None, counted, when it is out of scope; seeds have depth 0."""
        run = self.run
        url = run.page_of(seed.url)
        listed = run.bounds.is_listed(url)
        if run.requested(url) or not self.admits(url, listed=listed):
            return None
        extra = {"md": seed.url} if url != seed.url and is_markdown_url(seed.url) else {}
        if url != seed.url and identity(url) == identity(seed.url):
            extra["spelled"] = seed.url
        request = self.page_request(url, by=seed.discovered_by, depth=0, listed=listed, **extra)
        return None if self._waits_for_copies(request) else request

    def _waits_for_copies(self, request: Request) -> bool:
        """Keep a request whose page may be of another language or version, until the rest of the site is known."""
        run = self.run
        if (
            len(run.pending_pages.undecided) >= MAX_UNDECIDED
            or not run.pending_pages.enabled
            or not run.bounds.is_undecided(request.url)
        ):
            return False
        run.pending_pages.undecided.append(request)
        return True

    def decided_requests(self) -> list[Request]:
        """Return the requests that waited, but for the pages of trees that are copies; those are counted."""
        run = self.run
        waiting, run.pending_pages.undecided = run.pending_pages.undecided, []
        run.bounds.accept_undecided(request.url for request in waiting)
        return [
            request
            for request in waiting
            if self.admits(request.url, listed=run.bounds.is_listed(request.url))
        ]

    def refresh_requests(self) -> Iterator[Request]:
        """Yield a request for each stored page, and one for each file that holds several."""
        files: dict[str, int] = {}
        for state in self.run.known.states.values():
            if state.origin == "llms-full":
                files[state.fetched_url] = files.get(state.fetched_url, 0) + 1
            else:
                yield self.stored_request(state)
        for file in files:
            yield Request(
                file,
                callback=self.parse_full_text_again,
                errback=self.full_text_failed,
                meta={META: {"source": True}, "download_maxsize": MAX_FULL_BYTES},
                dont_filter=True,
            )

    def retry_requests(self) -> Iterator[Request]:
        """Yield a request for each page that failed in the last run, as far as the store kept their URLs."""
        run = self.run
        for url in self._valid(run.failed_before()):
            state = run.known.state(page_key(url))
            yield (
                self.stored_request(state)
                if state
                else self.page_request(url, by="link", depth=0, listed=True)
            )

    def stored_request(self, state: PageState) -> Request:
        """Return the request that asks for a stored page again."""
        asked = state.own_url
        extra: dict[str, Any] = {"md": asked} if asked != state.url else {}
        return self.page_request(state.url, by="link", depth=state.depth, listed=True, **extra)

    def again(self, request: Request, url: str) -> Request:
        """Return the request that asks for a lost page once more, at the end of the crawl."""
        page = {**info(request), "late": True}
        depth = {"depth": request.meta["depth"]} if "depth" in request.meta else {}
        return Request(
            url,
            callback=self.parse,
            errback=self.failed,
            meta={**depth, "handle_httpstatus_list": ALLOWED_STATUSES, META: page, "max_retry_times": 0},
            priority=request.priority,
            dont_filter=True,
        )

    def held_requests(self) -> Iterator[Request]:
        """Yield a request for each page that waits for its Markdown, where there is a URL to ask for it."""
        for held in list(self.run.pending_pages.waiting.values()):
            url = held.record.url
            if self.run.site.forms_of(url).to_retry(url):
                page = {name: value for name, value in info(held.request).items() if name != "md"}
                yield Request(
                    url,
                    callback=self.parse,
                    errback=self.has_no_markdown,
                    meta={
                        "depth": held.record.depth,
                        "handle_httpstatus_list": ALLOWED_STATUSES,
                        META: {**page, "held": True},
                    },
                    dont_filter=True,
                )

    def verification_request(self, state: PageState) -> Request:
        """Return the one request for a stored page that nothing led to this time."""
        meta = {
            "depth": state.depth,
            "handle_httpstatus_list": ALLOWED_STATUSES,
            META: {"verify": state.key.hex()},
        }
        return Request(
            state.own_url,
            callback=self.parse_verification,
            errback=self.verification_failed,
            meta=meta,
            dont_filter=True,
        )

    def link_requests(
        self, urls: list[str], depth: int, *, on: str, unchanged: bool = False
    ) -> Iterator[Request]:
        """Yield requests for the links of the page `on` that are new to this run and in scope.

        Args:
            urls: the links.
            depth: of the pages they lead to.
            on: URL of the page that shows them.
            unchanged: the page is as it was stored, so that a link that was dead still is.
        """
        run = self.run
        if not run.follows_links:
            return
        if run.arguments.max_depth is not None and depth > run.arguments.max_depth:
            self._too_deep(self._valid(urls))
            return
        listed, room = not run.bounds.is_alike(on), run.limit.room(run.queued())
        for link, url in self._new_links(urls, unchanged=unchanged):
            if run.limit.reached:
                run.incomplete(run.limit.why)
                return
            extra: dict[str, Any] = {"md": link} if url != link and is_markdown_url(link) else {}
            if url != link and identity(url) == identity(link):
                extra["spelled"] = link
            if run.known.state(page_key(url)) is None:  # a stored page is no trap: it was a document
                trap = run.bounds.trap(url)
                if trap is not None:
                    run.record_filtered(url, trap.reason, trap.rule)
                    continue
                if run.bounds.is_alike(url):
                    extra["alike"] = "listed" if listed else "linked"
            if room is not None:
                room -= 1
                if room < 0:
                    run.limit.cut = True
                    rule = f"max_requests={run.limit.max_requests}: enough are queued"
                    run.record_filtered(url, "max-requests", rule)
                    continue
            request = self.page_request(url, by="link", depth=depth, **extra)
            if not self._waits_for_copies(request):
                yield request

    def _new_links(self, urls: Iterable[str], *, unchanged: bool) -> Iterator[tuple[str, str]]:
        """Yield the links that are new to this run and in scope, each with the page that it stands for."""
        run = self.run
        for link in self._valid(urls):
            if not run.bounds.first_sight(link) and (unchanged or not run.dead_links.was_left(link)):
                continue
            url = run.page_of(without_session_id(link))
            verdict = run.bounds.verdict(url)
            if verdict.reason != "offsite" and (run.site.is_seed(url) or run.requested(url)):
                continue  # a listed page is a seed: it enters at depth 0 with what the list says of it
            if unchanged and run.known.state(page_key(url)) is None and run.dead_links.leave(link, url):
                continue
            if self._is_taken(url, verdict):
                yield link, url

    def _valid(self, urls: Iterable[str]) -> Iterator[str]:
        """Yield the URLs that pass the gate; the others are counted, each once."""
        for link in urls:
            url = parse(link)
            if isinstance(url, str):
                yield url
            elif isinstance(url, InvalidUrl) and self.run.bounds.first_sight(url.display):
                self.run.record_filtered(url.display, INVALID_URL, url.why)

    def _too_deep(self, urls: Iterable[str]) -> None:
        run = self.run
        for link in urls:
            url = run.page_of(link)
            if (
                not run.requested(url)
                and run.bounds.allowed(url)
                and run.bounds.first_sight(f"depth {identity(url)}")
            ):
                run.record_filtered(url, "max-depth", f"max_depth={run.arguments.max_depth}")

    def admits(self, url: str, *, listed: bool) -> bool:
        """Say whether a page is in scope; one that is not is counted."""
        return self._is_taken(url, self.run.bounds.verdict(url, listed=listed))

    def _is_taken(self, url: str, verdict: Verdict) -> bool:
        if not verdict.allowed:
            self.run.record_filtered(url, verdict.reason, verdict.rule)
        return verdict.allowed


def request_of(response: Response) -> Request:
    """Return the request a response answers."""
    return response.request if response.request is not None else Request(response.url)
