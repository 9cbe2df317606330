"""The documents that go to the pipelines: of pages that were read, and of stored pages in place of failed ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llmsspider.crawl.deferred import PendingPage
from llmsspider.crawl.page_checks import drop_reason
from llmsspider.crawl.requests import info
from llmsspider.items import HTML_ORIGINS, MARKDOWN_ORIGINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from llmsspider.crawl.callbacks.link_sources import LinkSourcePages
    from llmsspider.crawl.callbacks.requests import PageRequests
    from llmsspider.crawl.pages import PageResponse, PageResult
    from llmsspider.crawl.run import Run
    from llmsspider.items import Change, Page
    from llmsspider.store import PageRecord, PageState

READ_AS_MARKDOWN = MARKDOWN_ORIGINS | {"llms-full"}


class Documents:
    """Yields the documents of records, and the requests for what their pages link to.

    Args:
        run: the run.
        requests: makes the requests for links.
        link_sources: makes the requests for the HTML of Markdown pages.
    """

    def __init__(self, run: Run, requests: PageRequests, link_sources: LinkSourcePages):
        self._run = run
        self._requests = requests
        self._link_sources = link_sources
        self._parts: dict[str, list[PageState]] | None = None

    def with_links(
        self,
        record: PageRecord,
        request: Request,
        *,
        confirmed: bool = False,
        read: tuple[PageResponse, PageResult] | None = None,
    ) -> Iterator[Any]:
        """Yield a page's document, the requests for its links, and that for its HTML where the policy wants it.

        Args:
            record: the page.
            request: its request.
            confirmed: the page is as it was stored.
            read: the answer and what was read from it, where the page was read in this run.
        """
        run = self._run
        pending = run.pending_pages.waiting.pop(record.id, None)
        start = bool(info(request).get("start"))
        same = confirmed or run.recorded.is_stored(record)
        links = list(self._requests.links(record.follow, record.depth + 1, on=record.url, unchanged=same))
        lists_only = read is not None and self._may_be_tag(read[1], request)
        page = PendingPage(record, confirmed, request, bool(links), lists_only=lists_only)
        if self._waits_for_markdown(page) or self._is_unsure(page, read):
            self._learn_text(record)
        else:
            yield from self.of(record, start=start, confirmed=confirmed)
        yield from links
        if pending is not None and pending.shows_pages:
            run.memory.link_sources.take(record.url)
        elif pending is None and record.origin in READ_AS_MARKDOWN:
            yield from self._link_sources.request(record, start=start, unchanged=same)

    def parts(self, record: PageRecord, parts: list[tuple[str, Page]]) -> Iterator[Any]:
        """Yield the documents that were made of a page's body besides its own; those that it no longer has are gone.

        Args:
            record: the page.
            parts: what follows its address in theirs, and the parts as they were read.
        """
        run, present = self._run, set()
        for after, page in parts:
            part = run.records.of_part(record, after, page)
            present.add(part.key)
            run.remember(part.key)
            yield from self.of(part)
        for state in self._parts_of(record.url):
            if state.key not in present:
                run.known.record_outcome(state.key, "gone", "not-found")

    def stored_parts(self, url: str) -> Iterator[Any]:
        """Yield the stored documents that were made of a page's body besides its own: it is as it was stored."""
        for state in self._parts_of(url):
            if (record := self._load(state.key)) is not None and self._run.recorded.is_first(record):
                yield from self.of(record, confirmed=True)

    def _parts_of(self, url: str) -> list[PageState]:
        if self._parts is None:
            self._parts = {}
            for state in self._run.known.states.values():
                if state.is_part:
                    self._parts.setdefault(state.whole_url, []).append(state)
        return self._parts.get(url, [])

    def _may_be_tag(self, page: PageResult, request: Request) -> bool:
        """Say whether a page is a listing as soon as another page names it as its tag."""
        return page.page.meta.lists_only and not self.keeps_listing(request)

    def keeps_listing(self, request: Request) -> bool:
        """Say whether a page is a document even if it only lists others: the user, or an llms.txt, wants it."""
        run = self._run
        is_start = bool(info(request).get("start"))
        return run.arguments.listings == "keep" or is_start or run.site.is_described(request.url)

    def _waits_for_markdown(self, pending: PendingPage) -> bool:
        """Hold an HTML page until the forms of its host's Markdown URLs are known; return whether it is held."""
        run, record, page = self._run, pending.record, info(pending.request)
        if record.origin not in HTML_ORIGINS or "by" not in page or page.get("held"):
            return False
        is_open = run.site.forms_of(record.url).is_open(record.url)
        return is_open and run.pending_pages.keep(pending, room=run.limit.left)

    def _is_unsure(self, pending: PendingPage, read: tuple[PageResponse, PageResult] | None) -> bool:
        """Hold a page that later pages may show to be a tag's listing or a stub; return whether it is held."""
        run = self._run
        may_be_stub = read is not None and read[1].is_undecided
        if not (pending.lists_only or may_be_stub):
            return False
        unsure = replace(pending, for_markdown=False, read=read if may_be_stub else None)
        return run.pending_pages.keep(unsure, room=run.limit.left)

    def of(self, record: PageRecord, *, start: bool = False, confirmed: bool = False) -> Iterator[Any]:
        """Yield the document of a record; none where the run filters it, or where it waits because it may have moved.

        Args:
            record: the page.
            start: it is the start page, which is fetched even out of scope.
            confirmed: the page is as it was stored.
        """
        run = self._run
        if run.arguments.mode == "refresh" and record.key not in run.known.states:
            run.record_filtered(record.url, "not-stored", "mode=refresh takes no new pages")
            return
        if run.memory.keeps_findings and not confirmed:
            self._keep_findings(record)
        unlisted = run.arguments.follow == "listed" and not run.site.is_listed(record.url)
        if start and (unlisted or not run.bounds.allowed(record.url)):
            run.record_filtered(record.url, "out-of-scope", "the start page itself is outside the scope")
            return
        if not start and not confirmed and self._waits_for_end(record):
            return
        record.moved_from = list(run.known.moved_from.get(record.key, ()))
        change: Change = "unchanged" if confirmed else "new"
        yield record.item(source=run.source, run=run.id, change=change, confirmed=confirmed)

    def _waits_for_end(self, record: PageRecord) -> bool:
        """Say whether a new page waits until it is known which stored pages are gone; its text is learned at once."""
        run, content = self._run, record.content or ""
        is_text = drop_reason(content, record.title, min_characters=run.config.min_characters) is None
        waits = is_text and run.recorded.may_have_moved(record)
        if waits:
            self._learn_text(record)
        return waits

    def _learn_text(self, record: PageRecord) -> None:
        """Compare the text of a page that waits with its look-alikes', whose links are followed meanwhile."""
        if self._run.known.state(record.key) is None:
            self._run.bounds.look_alikes.learn(record.url, record.content or "")

    def _keep_findings(self, record: PageRecord) -> None:
        """Copy from the store how a page was found and listed: this run had no discovery."""
        earlier = self._run.store.load_page(record.key)
        if earlier is not None:
            record.llms, record.depth = earlier.llms, earlier.depth
            record.discovered_by = earlier.discovered_by

    def stored(self, key: bytes) -> Iterator[Any]:
        """Yield the document of a page as it is stored; none where it is not."""
        record = self._load(key)
        if record is not None:
            yield from self.of(record, confirmed=True)

    def in_place_of_failed(self, key: bytes, depth: int | None = None) -> Iterator[Any]:
        """Yield the stored document of a page that failed, and the requests for its stored links.

        So a page that fails once does not make the pages behind it look unlinked.
        """
        record = self._load(key)
        if record is not None:
            self._run.progress.kept += 1
            record.depth = record.depth if depth is None else depth
            yield from self.of(record, confirmed=True)
            yield from self.stored_parts(record.url)
            yield from self._requests.links(record.follow, record.depth + 1, on=record.url, unchanged=True)

    def _load(self, key: bytes) -> PageRecord | None:
        state = self._run.known.state(key)
        return self._run.store.load_page(state.key) if state is not None else None
