"""Answers that may stand in place of their page: they wait for the end of the crawl, see `walls.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmsspider.callbacks.failures import FailureCallbacks
from llmsspider.filters import drop_reason
from llmsspider.hashing import content_hash
from llmsspider.pages import page_record, read_page
from llmsspider.requests import info
from llmsspider.urls import identity
from llmsspider.walls import MAX_NEW_TEXT, Suspect, fingerprint, is_rewritten, is_shrunk, own_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Response

    from llmsspider.pages import Answered
    from llmsspider.store import PageRecord, PageState


class SuspectCallbacks(FailureCallbacks):
    """Holds back suspicious answers, and decides about them when all evidence is in."""

    page_results: Callable[..., Iterator[Any]]
    settle: Callable[..., bool]

    def doubt(self, record: PageRecord, answered: Answered, request: Request) -> Iterator[Any] | None:
        """Return what a page leads to whose answer may be a wall, None for one that is taken as it is.

        Its stored links are followed at once, so that an outage of one page does not hide those behind it. The page
        itself waits; where nothing can wait, what is known by now counts.
        """
        run = self.run
        suspect = self._suspect(record, answered.body)
        if suspect is None:
            return None
        suspect.start = bool(info(request).get("start"))
        start = run.discovery.start if run.discovery is not None else None
        led = suspect.start and start is not None and start.url != start.final_url
        suspect.redirected = (led or "redirect_urls" in request.meta) and not run.bounds.is_linked(record.url)
        suspect.false_304 = run.known.is_false(record, answered.headers)
        run.suspects.see(suspect)
        if run.suspects.enabled:
            run.suspects.keep(suspect, record)
            return self._known_links(record)
        return self._judge(suspect, record)

    def _suspect(self, record: PageRecord, body: bytes) -> Suspect | None:
        """Return the suspect of an answer that is another text than stored, or new and short; else None."""
        run, text = self.run, record.content or ""
        state = run.known.state(record.key)
        if state is None:
            if not run.known.states or len(text) > MAX_NEW_TEXT or run.bounds.is_alike(record.url):
                return None
            return Suspect(record.key, fingerprint(text), None, own_evidence("", text, record.title, body))
        if state.content_hash is None or state.content_hash == bytes.fromhex(content_hash(text)):
            return None
        stored = run.store.load_page(state.key)
        if stored is None or not is_rewritten(stored.content or "", text):
            return None
        if self._is_missing(record):
            return None
        before, minimum = stored.content or "", run.config.min_characters
        kind = own_evidence(before, text, record.title, body)
        is_empty = drop_reason(text, None, min_characters=minimum)  # that has to be seen twice anyway
        shrunk = is_empty is None and is_shrunk(before, text)
        return Suspect(state.key, fingerprint(text), state.content_hash, kind, shrunk)

    def _is_missing(self, record: PageRecord) -> bool:
        """Say whether an answer is what the site shows for pages that it does not have."""
        reason = drop_reason(record.content or "", record.title, min_characters=0)
        is_shown = content_hash(record.content or "") in self.run.site.soft404_hashes
        return bool((reason and reason.reason == "soft-404") or is_shown)

    def _known_links(self, record: PageRecord) -> Iterator[Request]:
        """Yield requests for the links that a page has as it is stored, or else as it is."""
        state = self.run.known.state(record.key)
        known = record if state is None else self.run.store.load_page(state.key)
        if known is not None:
            yield from self.link_requests(known.follow, record.depth + 1, on=record.url)

    def parse_suspects(self, response: Response) -> Iterator[Any]:
        """Yield what the answers that waited lead to: an error and the stored page, or the page as it is now."""
        for suspect, record in self.run.suspects.take():
            yield from self._judge(suspect, record)

    def _judge(self, suspect: Suspect, record: PageRecord) -> Iterator[Any]:
        run = self.run
        wall = run.suspects.evidence(suspect)
        if wall is not None and not run.believes(suspect, wall):
            run.count("walls")
            run.fail(record.url, wall.kind, wall.message, record.status)
            run.known.fated(suspect.key, "failed", wall.kind)
            yield from self.failed_page(suspect.key, record.depth)
            return
        if suspect.false_304:
            run.disbelieve(record.fetched_url)
        by, depth = record.discovered_by, record.depth
        request = self.page_request(record.url, by=by, depth=depth, start=suspect.start, held=True)
        self.settle(record, request)
        yield from self.page_results(record, request)

    async def look_at(self, answered: Answered, state: PageState) -> Suspect | None:
        """Take in as evidence what a stored page answers that is no document of this run; raises `ConversionError`."""
        run = self.run
        page = await read_page(answered, run.workers, listed=True)
        record = page_record(
            run.source,
            answered,
            page,
            converter=run.config.made_with,
            entry=None,
            depth=state.depth,
            by="link",
        )
        record.identity = identity(state.url)
        suspect = self._suspect(record, answered.body)
        if suspect is not None and suspect.before is not None:
            run.suspects.see(suspect)
            return suspect
        return None
