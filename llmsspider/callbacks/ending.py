"""What only the end of a crawl can tell: which stored pages are gone."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request

from llmsspider import stats
from llmsspider.callbacks.failures import kind_of_failure
from llmsspider.callbacks.pages import PageCallbacks
from llmsspider.callbacks.requests import request_of
from llmsspider.crawl.deletions import judgement_of, reason_not_to_delete
from llmsspider.crawl.pages import PageResponse
from llmsspider.crawl.records import utc_now
from llmsspider.errors import ConversionError, ErrorKind
from llmsspider.items import raw_hash
from llmsspider.requests import info, is_permanent
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from llmsspider.store import PageState


logger = logging.getLogger(__name__)


class EndCallbacks(PageCallbacks):
    """Callbacks of pages that waited, of stored pages that nothing led to, and of the tombstones."""

    def has_no_markdown(self, failure: Failure) -> None:
        """Leave a page that waits as it is: `parse_held` yields it."""

    def parse_held(self, response: Response) -> Iterator[Any]:
        """Yield the documents of the pages that waited for their Markdown in vain; their links were followed."""
        waiting = self.run.pending_pages.waiting
        while waiting:
            held = waiting.pop(next(iter(waiting)))
            start = bool(info(held.request).get("start"))
            yield from self.documents(held.record, start=start, confirmed=held.confirmed)

    async def parse_verification(self, response: Response) -> None:
        """Note that a stored page answers, though nothing leads to it."""
        request = request_of(response)
        key = bytes.fromhex(info(request)["verify"])
        answered = PageResponse.from_response(response, now="")
        kind = kind_of_response(response.status, answered.headers, response.body)
        state = self.run.known.states[key]
        if kind is not None:
            self._not_verified(key, kind)
        elif request.meta.get("redirect_urls") and identity(request.url) != identity(state.own_url):
            self.run.known.moved(key, page_key(self.run.page_of(request.url)), for_good=is_permanent(request))
        elif self.run.unseen:
            self.run.known.record_outcome(key, "kept", "not-seen")
        else:
            self.run.known.record_outcome(key, "unlinked")
            await self._look_at(answered, state)

    async def _look_at(self, answered: PageResponse, state: PageState) -> None:
        """Doubt a page that answers with another text than stored: it may be a wall, and not the page."""
        run = self.run
        if answered.status == 304 or run.known.same_body(
            state.key, answered.fetched_url, raw_hash(answered.body)
        ):
            return
        try:
            suspect = await self.look_at(answered, state)
        except ConversionError:
            run.known.record_outcome(state.key, "kept", "parse")
            return
        if suspect is not None:
            run.suspects.verified.append(suspect)

    def verification_failed(self, failure: Failure) -> None:
        """Note that a stored page is gone, or keep it when that is not certain."""
        request: Request = failure.request  # type: ignore[attr-defined]
        key = bytes.fromhex(info(request)["verify"])
        kind = kind_of_failure(failure.value)  # type: ignore[arg-type]
        self._not_verified(key, kind)

    def _not_verified(self, key: bytes, kind: ErrorKind) -> None:
        if kind == "not_found":
            self.run.known.record_outcome(key, "gone", "not-found")
        else:
            self.run.known.record_outcome(key, "kept", kind)

    def parse_kept(self, response: Response) -> Iterator[Any]:
        """Yield the stored pages that a run which may not judge them has no document of: they are the current set."""
        for state in self.run.store.unreached():
            if self.run.bounds.covers(state):
                yield from self.stored_page(state.key)

    def parse_moved(self, response: Response) -> Iterator[Any]:
        """Yield the new pages that have the text of a stored one, those that moved with their former address."""
        run = self.run
        if reason_not_to_delete(run) is None and run.arguments.mode != "refresh":
            run.moved_pages.pair(run.known, self._stored_text)
        for record in run.moved_pages.take():
            yield from self.documents(record)

    def _stored_text(self, key: bytes) -> str:
        record = self.run.store.load_page(key)
        return (record.content if record is not None else None) or ""

    def parse_end(self, response: Response) -> Iterator[Any]:
        """Yield the tombstones, and the stored pages that could not be judged."""
        run = self.run
        judgement = judgement_of(run)
        run.missing = dict(judgement.missing)
        if judgement.blocked_by:
            run.incomplete("deletions held back")
            logger.warning("%(reason)s", {"reason": judgement.blocked_by}, extra={"spider": self})
        for target in {run.known.targets[key] for key in judgement.delete if key in run.known.targets}:
            run.store.save_moved_from(target, run.known.moved_from[target])
        for key in judgement.keep:
            yield from self.stored_page(key)
        for key, reason in judgement.delete.items():
            record = run.store.load_page(key)
            if record is not None:
                run.count(stats.deleted(reason))
                record.fetched_at = utc_now()
                yield record.item(source=run.source, run=run.id, change="deleted")
