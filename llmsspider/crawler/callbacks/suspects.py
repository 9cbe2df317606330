"""Answers that may stand in place of their pages; what the evidence makes of one is in
`crawler/bot_walls.py`.
"""

from dataclasses import replace

from scrapy import Request

from llmsspider.crawler.bot_walls import MAX_NEW_TEXT, Suspect, suspect_of_changed, suspect_of_new
from llmsspider.crawler.pages import PageResponse, read_page
from llmsspider.crawler.parts import (
    Bounds,
    Config,
    ConversionPool,
    KnownPages,
    Records,
    SiteKnowledge,
    Suspects,
    UsesRun,
)
from llmsspider.crawler.requests import info
from llmsspider.store import PageRecord, PageState
from llmsspider.web.urls import identity


class SuspectAnswers(UsesRun):
    """Finds answers that say something else than their pages did, and records them as evidence."""

    bounds: Bounds
    config: Config
    known: KnownPages
    records: Records
    site: SiteKnowledge
    suspects: Suspects
    workers: ConversionPool

    def seen(self, record: PageRecord, answer: PageResponse, request: Request) -> Suspect | None:
        """Return the suspect of a page's answer, and record it as evidence; None for an answer
        without suspicion.
        """
        suspect = self.of(record, answer.body)
        if suspect is None:
            return None
        suspect.start = bool(info(request).get("start"))
        start = self.site.discovery.start if self.site.discovery is not None else None
        led = suspect.start and start is not None and start.url != start.final_url
        suspect.redirected = (
            led or "redirect_urls" in request.meta
        ) and record.url not in self.bounds.links
        suspect.false_304 = self.known.is_false(record, answer.headers)
        self.suspects.see(suspect)
        return suspect

    async def seen_beside(self, answer: PageResponse, state: PageState) -> Suspect | None:
        """Record as evidence the response for a stored page that has no document in this run, and
        return the suspect.
        """
        page = await read_page(answer, self.workers, listed=True)
        record = self.records.of_response(answer, page, depth=state.depth, by="link")
        record = replace(record, identity=identity(state.url))
        suspect = self.of(record, answer.body)
        if suspect is None or suspect.before is None:
            return None
        self.suspects.see(suspect)
        return suspect

    def of(self, record: PageRecord, body: bytes) -> Suspect | None:
        """Return the suspect of a response whose text differs from the stored one, or is new and
        short; else None.
        """
        state = self.known.state(record.key)
        if state is not None and _is_as_stored(record, state):
            return None
        is_altered = state is not None and state.source_hash is not None and self.config.own_code
        if state is None or is_altered:
            is_long = len(record.text) > MAX_NEW_TEXT or self.bounds.is_alike(record.url)
            return None if is_long or not self.known.states else suspect_of_new(record, body)
        stored = self.known.load(state.key) if state.markdown_hash is not None else None
        if stored is None:
            return None
        return suspect_of_changed(record, body, state, stored, self.site.soft404_hashes)


def _is_as_stored(record: PageRecord, state: PageState) -> bool:
    """Say whether a page has its stored Markdown, or the body that another version made Markdown
    of.
    """
    if state.markdown_hash == bytes.fromhex(record.hash_of_content):
        return True
    return state.raw_hash is not None and state.raw_hash == bytes.fromhex(record.raw_hash or "")
