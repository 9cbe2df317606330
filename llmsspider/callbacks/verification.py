"""Stored pages that nothing led to in this run: what they answer says whether they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmsspider.errors import ConversionError, ErrorKind
from llmsspider.items import raw_hash
from llmsspider.requests import info, is_permanent
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from scrapy import Request

    from llmsspider.callbacks.suspects import SuspectAnswers
    from llmsspider.crawl.pages import PageResponse
    from llmsspider.crawl.run import Run
    from llmsspider.store import PageState


class Verification:
    """Records the outcome of each stored page that was requested at the end of the crawl.

    Args:
        run: the run.
        suspects: takes in answers that may be walls as evidence.
    """

    def __init__(self, run: Run, suspects: SuspectAnswers):
        self._run = run
        self._suspects = suspects

    async def answered(self, request: Request, answer: PageResponse) -> None:
        """Record what became of a page that answered: an error, another address, or a page that nothing links to."""
        run = self._run
        key = bytes.fromhex(info(request)["verify"])
        kind = kind_of_response(answer.status, answer.headers, answer.body)
        state = run.known.states[key]
        if kind is not None:
            self.failed(request, kind)
        elif request.meta.get("redirect_urls") and identity(request.url) != identity(state.own_url):
            run.known.moved(key, page_key(run.page_of(request.url)), for_good=is_permanent(request))
        elif run.coverage.unseen:
            run.known.record_outcome(key, "kept", "not-seen")
        else:
            run.known.record_outcome(key, "unlinked")
            await self._compare(answer, state)

    async def _compare(self, answer: PageResponse, state: PageState) -> None:
        """Keep a page in doubt that answers with another text than stored: it may be a wall, and not the page."""
        run = self._run
        if answer.status == 304 or run.known.same_body(state.key, answer.fetched_url, raw_hash(answer.body)):
            return
        try:
            suspect = await self._suspects.see(answer, state)
        except ConversionError:
            run.known.record_outcome(state.key, "kept", "parse")
            return
        if suspect is not None:
            run.suspects.verified.append(suspect)

    def failed(self, request: Request, kind: ErrorKind) -> None:
        """Record what became of a page that failed: gone where it is not found, kept otherwise."""
        key = bytes.fromhex(info(request)["verify"])
        if kind == "not_found":
            self._run.known.record_outcome(key, "gone", "not-found")
        else:
            self._run.known.record_outcome(key, "kept", kind)
