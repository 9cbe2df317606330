"""The documents of pages on their way to the pipelines, and of stored pages in place of those that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider.callbacks.requests import DocsRequests
from llmsspider.crawl.deferred import PendingPage
from llmsspider.requests import info

if TYPE_CHECKING:
    from llmsspider.items import Change
    from llmsspider.store import PageRecord


class DocumentCallbacks(DocsRequests):
    """Yields documents; what becomes of them, the pipelines decide."""

    link_source: Callable[..., Iterator[Request]]

    def documents(self, record: PageRecord, *, start: bool = False, confirmed: bool = False) -> Iterator[Any]:
        """Yield the document of a page on its way to the pipelines; none for a start page out of scope."""
        run = self.run
        if run.arguments.mode == "refresh" and record.key not in run.known.states:
            run.record_filtered(record.url, "not-stored", "mode=refresh takes no new pages")
            return
        if run.keeps_findings and not confirmed:
            self._as_found_before(record)
        unlisted = run.arguments.follow == "listed" and not run.site.is_listed(record.url)
        if start and (unlisted or not run.bounds.allowed(record.url)):
            run.record_filtered(record.url, "out-of-scope", "the start page itself is outside the scope")
            return
        if not start and not confirmed and run.may_have_moved(record):
            return
        record.moved_from = list(run.known.moved_from.get(record.key, ()))
        change: Change = "unchanged" if confirmed else "new"
        yield record.item(source=run.source, run=run.id, change=change, confirmed=confirmed)

    def _as_found_before(self, record: PageRecord) -> None:
        """Keep what only discovery knows of a page: this run had none."""
        earlier = self.run.store.load_page(record.key)
        if earlier is not None:
            record.llms, record.depth = earlier.llms, earlier.depth
            record.discovered_by = earlier.discovered_by

    def stored_page(self, key: bytes) -> Iterator[Any]:
        """Yield the document of a page as it is stored."""
        state = self.run.known.state(key)
        record = self.run.store.load_page(state.key) if state is not None else None
        if record is not None:
            yield from self.documents(record, confirmed=True)

    def failed_page(self, key: bytes, depth: int | None = None) -> Iterator[Any]:
        """Yield a stored page in place of one that failed, and the requests for its stored links.

        So an outage of one page does not make the pages behind it look unlinked.
        """
        state = self.run.known.state(key)
        record = self.run.store.load_page(state.key) if state is not None else None
        if record is not None:
            self.run.progress.kept += 1
            record.depth = record.depth if depth is None else depth
            yield from self.documents(record, confirmed=True)
            yield from self.link_requests(record.follow, record.depth + 1, on=record.url, unchanged=True)

    def page_results(self, record: PageRecord, request: Request, *, confirmed: bool = False) -> Iterator[Any]:
        """Yield a page's document, the requests for its links, and that for its HTML where the policy wants it."""
        held = self.run.pending_pages.waiting.pop(record.id, None)
        start = bool(info(request).get("start"))
        same = confirmed or self.run.is_stored(record)
        links = list(self.link_requests(record.follow, record.depth + 1, on=record.url, unchanged=same))
        if not self._waits(record, request, confirmed=confirmed, shows_pages=bool(links)):
            yield from self.documents(record, start=start, confirmed=confirmed)
        yield from links
        if held is not None and held.shows_pages:
            self.run.links.take(record.url)
        elif held is None and record.origin in {"markdown", "negotiated", "llms-full"}:
            yield from self.link_source(record, start=start, unchanged=same)

    def _waits(self, record: PageRecord, request: Request, *, confirmed: bool, shows_pages: bool) -> bool:
        """Say whether a page that came as HTML waits for its host's forms to be known; it is kept then."""
        run = self.run
        if (
            record.origin not in {"html", "rendered"}
            or "by" not in info(request)
            or info(request).get("held")
        ):
            return False
        is_open = run.site.forms_of(record.url).is_open(record.url)
        return is_open and run.pending_pages.keep(
            PendingPage(record, confirmed, request, shows_pages), room=run.limit.left
        )
