"""Answers that may stand in place of their pages, and those of stored pages that nothing led to.

The evidence for a wall, and what it makes of an answer, is in `crawl/bot_walls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmsspider.crawl.bot_walls import (
    MAX_NEW_TEXT,
    Suspect,
    breaks_off,
    has_lost_links,
    is_rewritten,
    is_shrunk,
    own_evidence,
    wall_fingerprint,
)
from llmsspider.crawl.pages import PageResponse, read_page
from llmsspider.crawl.requests import info, is_permanent
from llmsspider.crawl.settle import drop_reason
from llmsspider.crawl.waiting import WaitingPage
from llmsspider.errors import ConversionError, ErrorKind
from llmsspider.items import content_hash, raw_hash
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from scrapy import Request

    from llmsspider.crawl.bot_walls import Wall
    from llmsspider.crawl.run import Run
    from llmsspider.crawl.settle import Site
    from llmsspider.store import PageRecord, PageState


@dataclass(slots=True)
class SuspectAnswers:
    """Finds the answers that may stand in place of their pages, beside what is stored of them."""

    _run: Run
    _site: Site

    def seen(self, record: PageRecord, answer: PageResponse, request: Request) -> Suspect | None:
        """Return the suspect of a page's answer, and record it as evidence; None for an answer without suspicion.

        Args:
            record: the page as it was answered.
            answer: the answer.
            request: the page's request.
        """
        run = self._run
        suspect = self.suspect(record, answer.body)
        if suspect is None or suspect.cut:
            return suspect
        suspect.start = bool(info(request).get("start"))
        start = run.discovery.start if run.discovery is not None else None
        led = suspect.start and start is not None and start.url != start.final_url
        suspect.redirected = (led or "redirect_urls" in request.meta) and record.url not in run.bounds.links
        suspect.false_304 = run.known.is_false(record, answer.headers)
        run.suspects.see(suspect)
        return suspect

    def broken_off(self, suspect: Suspect | None) -> Wall | None:
        """Return the error of a truncated page; None for any other, and for one truncated in earlier runs too."""
        return self._site.wall(suspect) if suspect is not None and suspect.cut else None

    def suspect(self, record: PageRecord, body: bytes) -> Suspect | None:
        """Return the suspect of a response whose text differs from the stored one, or is new and short; else None."""
        run, text = self._run, record.content or ""
        state = run.known.state(record.key)
        if (
            state is None or state.source_hash is not None
        ):  # new, or stored as pipelines of the user altered it
            if not run.known.states or len(text) > MAX_NEW_TEXT or run.bounds.is_alike(record.url):
                return None
            if state is None or not self._is_same(record, state):
                return Suspect(
                    record.key, wall_fingerprint(text), None, own_evidence("", text, record.title, body)
                )
            return None
        if state.markdown_hash is None or self._is_same(record, state):
            return None
        stored = run.store.load_page(state.key)
        return self._other_text(record, state, stored, body) if stored is not None else None

    @staticmethod
    def _is_same(record: PageRecord, state: PageState) -> bool:
        """Say whether a page is as stored: its Markdown, or the body that another version made Markdown of."""
        in_markdown = state.markdown_hash == bytes.fromhex(content_hash(record.content or ""))
        return in_markdown or (
            state.raw_hash is not None and state.raw_hash == bytes.fromhex(record.raw_hash or "")
        )

    def _other_text(
        self, record: PageRecord, state: PageState, stored: PageRecord, body: bytes
    ) -> Suspect | None:
        """Return the suspect of a response with hardly any of the stored text, or a truncated one; else None."""
        run, text, before = self._run, record.content or "", stored.content or ""
        suspect = Suspect(state.key, wall_fingerprint(text), state.content_hash)
        suspect.cut = not record.has_end_tag and breaks_off(before, text)
        if suspect.cut:
            return suspect
        missing = drop_reason(text, record.title)
        is_missing = missing is not None and missing.reason == "soft-404"
        if is_missing or content_hash(text) in run.site.soft404_hashes or not is_rewritten(before, text):
            return None
        suspect.kind = own_evidence(before, text, record.title, body)
        is_empty = drop_reason(text, None)  # seen twice anyway
        shrunk = is_empty is None and is_shrunk(before, text)
        suspect.bare = shrunk or (is_empty is None and has_lost_links(stored.follow, record.follow))
        suspect.blank = shrunk and not record.follow
        return suspect

    async def see(self, answer: PageResponse, state: PageState) -> Suspect | None:
        """Record as evidence the response for a stored page that has no document in this run.

        Returns:
            The suspect, None for an answer that is not suspicious.

        Raises:
            ConversionError: the answer could not be converted.
        """
        run = self._run
        page = await read_page(answer, run.workers, listed=True)
        record = run.records.of_response(answer, page, depth=state.depth, by="link")
        record.identity = identity(state.url)
        suspect = self.suspect(record, answer.body)
        if suspect is not None and suspect.before is not None:
            run.suspects.see(suspect)
            return suspect
        return None


@dataclass(slots=True)
class Verification:
    """Records the outcome of each stored page that was requested at the end of the crawl."""

    _run: Run
    _suspects: SuspectAnswers

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
            await self._compare(request, answer, state)

    async def _compare(self, request: Request, answer: PageResponse, state: PageState) -> None:
        """Keep as uncertain a page whose response differs from the stored text: it may be a bot wall."""
        run = self._run
        if answer.status == 304 or run.known.same_body(state.key, answer.fetched_url, raw_hash(answer.body)):
            return
        try:
            suspect = await self._suspects.see(answer, state)
        except ConversionError:
            run.known.record_outcome(state.key, "kept", "parse")
            return
        if suspect is not None:
            run.waiting.keep(WaitingPage("verified", request, suspect=suspect))

    def failed(self, request: Request, kind: ErrorKind) -> None:
        """Record what became of a page that failed: gone where it is not found, kept otherwise."""
        key = bytes.fromhex(info(request)["verify"])
        if kind == "not_found":
            self._run.known.record_outcome(key, "gone", "not-found")
        else:
            self._run.known.record_outcome(key, "kept", kind)
