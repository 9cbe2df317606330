"""Compares a few pages with what a full-text file holds of them, see `laggingfiles`. No Scrapy here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmsspider import llmsfull
from llmsspider.errors import ConversionError
from llmsspider.joiner import Joiner
from llmsspider.laggingfiles import Sample, are_alike, chosen, fingerprint, is_newer, words
from llmsspider.llmsfull import FullPage
from llmsspider.pages import Answered, read_page, utc_now
from llmsspider.urls import identity, page_key

if TYPE_CHECKING:
    from llmsspider.discovery import Discovery, Fetch, FullText
    from llmsspider.run import Run

ACCEPT = "text/markdown, text/html;q=0.9, */*;q=0.1"


class FullTextSamples:
    """Finds the full-text files that lag; those whose pages are stored are looked at.

    Args:
        run: the run.
        fetch: downloads a page.
    """

    def __init__(self, run: Run, fetch: Fetch):
        self.run = run
        self.fetch = fetch

    async def look(self, discovery: Discovery) -> None:
        """Compare a few pages of each file; one that lags is said once, and counted."""
        run = self.run
        if run.crew is not None:
            return
        dates = {identity(run.page_of(seed.url)): seed.lastmod for seed in discovery.seeds if seed.lastmod}
        for full_text in discovery.full_texts:
            pages = self._stored_pages(full_text)
            if not full_text.is_usable or run.lags(full_text.url) or not pages:
                continue
            samples = await self._samples(full_text, pages, dates)
            if run.lagging.judge(full_text.url, samples):
                run.count("full-text/lagging")
                run.note(
                    f"{full_text.url} lags behind its pages: they are crawled, and it stands in for those only "
                    "that are not there; -a full=true believes it again"
                )

    def _stored_pages(self, full_text: FullText) -> dict[str, str]:
        """Return the address of each page of the file that is stored from it, and what the file calls it."""
        run, found = self.run, {}
        for named in full_text.report.urls if full_text.report else ():
            url = run.page_of(named)
            state = run.known.state(page_key(url))
            if (
                state is not None
                and state.origin == "llms-full"
                and run.bounds.verdict(url, listed=True).allowed
            ):
                found[url] = named
        return found

    async def _samples(
        self, full_text: FullText, pages: dict[str, str], dates: dict[str, str]
    ) -> list[Sample]:
        lastmod = {url: dates[identity(url)] for url in pages if identity(url) in dates}
        wanted = {pages[url]: url for url in chosen(list(pages), lastmod, self.run.number)}
        found = []
        for held in self._pieces(full_text, set(wanted)):
            url = wanted[held.url or ""]
            self.run.count("full-text/samples")
            answer = await self.fetch(url, accept=ACCEPT)
            if not answer.ok or identity(answer.final_url) != identity(url):
                continue
            headers = dict(answer.headers)
            with answer.open() as opened:
                body = opened.read()
            answered = Answered(url, answer.final_url, answer.status, headers, body, utc_now())
            try:
                live = (await read_page(answered, self.run.workers, listed=True)).page.markdown
            except ConversionError:
                continue
            (draft,) = await self.run.workers.read_texts([held.text])
            if isinstance(draft, ConversionError):
                continue
            of_file = words(draft.page(Joiner(url).join, keep_hidden=self.run.workers.keep_hidden).markdown)
            of_page = words(live)
            if are_alike(of_page, of_file):
                newer = is_newer(headers, lastmod.get(url), full_text.answer.headers)
                found.append(Sample(url, fingerprint(of_page), fingerprint(of_file), newer))
        return found

    def _pieces(self, full_text: FullText, named: set[str]) -> list[FullPage]:
        """Return the first page of the file under each of the addresses."""
        found: dict[str, FullPage] = {}
        if full_text.report is None:
            return []
        with full_text.answer.open() as body:
            for piece in llmsfull.cut(body, full_text.report):
                if isinstance(piece, FullPage) and piece.url in named:
                    found.setdefault(piece.url or "", piece)
                    if len(found) == len(named):
                        break
        return list(found.values())
