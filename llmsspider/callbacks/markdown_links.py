"""What the relative links of Markdown pages are relative to; a few pages wait until others have shown it."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING

from llmsspider import stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler

    from llmsspider.crawl.link_bases import PageLinks
    from llmsspider.crawl.run import Run
    from llmsspider.markdown import Draft

MAX_WAITING = 16
"""Maximum number of pages that wait; when there are more, none waits any longer."""

MAX_WAIT_SECS = 10.0
"""Maximum time that a page waits."""


class MarkdownLinks:
    """Makes the links of Markdown absolute, by `run.memory.link_bases`.

    A page whose own links do not show what they are relative to waits for pages that do, so that it does not matter
    which comes first. The wait ends when that is decided, or when nothing but waiting pages is left.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self._link_waits: list[tuple[str, asyncio.Event]] = []
        """The pages that wait, by the group they belong to."""

    async def joiner(
        self, draft: Draft, page_url: str, fetched_url: str, origin: str
    ) -> Callable[[str], str]:
        """Return the function that makes the hrefs of a Markdown page absolute."""
        site = self.run.site.docsify_of(page_url) or self.run.site.repository_of(page_url)
        if site is not None:
            return partial(site.join, page_url=page_url)
        bases = self.run.memory.link_bases
        links = bases.look(page_url, fetched_url, origin, draft.hrefs)
        if links.group in bases.decided:
            self._release(links.group)
        elif bases.is_open(links) and self.run.worker_group.is_alone:
            await self._decision(links)
        if links.differs:
            self.run.count(stats.markdown_links(bases.base_of(links)))
        return bases.join(links)

    def sample(self, pages: Iterable[tuple[str, Draft]], origin: str) -> None:
        """Decide by the first pages of a file, given by address, before the first of them is converted."""
        for url, draft in pages:
            self.run.memory.link_bases.look(url, url, origin, draft.hrefs)
        self.run.memory.link_bases.conclude()

    async def _decision(self, links: PageLinks) -> None:
        waits, decided = self._link_waits, asyncio.Event()
        waits.append((links.group, decided))
        if len(waits) > MAX_WAITING or self._only_waiting():
            self.end_waits()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(decided.wait(), MAX_WAIT_SECS)

    def end_waits_if_alone(self) -> None:
        """End the wait where nothing but waiting pages is under way: nothing else could decide."""
        if self._link_waits and self._only_waiting():
            self.end_waits()

    def end_waits(self) -> None:
        """Decide by the pages seen so far, and end the wait."""
        for group in {group for group, _event in self._link_waits}:
            self.run.memory.link_bases.conclude(group)
            self._release(group)

    def _release(self, group: str) -> None:
        waits = self._link_waits
        for name, event in waits:
            if name == group:
                event.set()
        waits[:] = [wait for wait in waits if wait[0] != group]

    def _only_waiting(self) -> bool:
        engine = self.crawler.engine
        if engine is None or engine.scheduler is None or engine.scraper.slot is None:
            return True
        slot = engine.scraper.slot
        busy = len(slot.active) + len(slot.queue) + len(engine.downloader.active)
        return busy <= len(self._link_waits) and not engine.scheduler.has_pending_requests()
