"""The sitemap level of the cascade: what robots.txt names, else `/sitemap.xml`, and what indexes lead to."""

from __future__ import annotations

import asyncio
from collections import deque
from urllib.parse import urljoin

from protego import Protego

from llmsspider import domains, llmstxt, sitemaps, urlgate
from llmsspider.discovery.model import Answer, Cut, Discovery, Tried
from llmsspider.discovery.seeds import SeedList
from llmsspider.discovery.session import Session
from llmsspider.reasons import FilterReason
from llmsspider.urlgate import InvalidUrl

MAX_SITEMAPS = 500
"""So many sitemaps are read for one site; what is more is counted as cut."""

MAX_INDEX_DEPTH = 3
"""An index may name indexes; deeper ones are not followed."""

MAX_ROBOTS_BYTES = 512 * 1024

_INLINE_BYTES = 1024 * 1024
"""Sitemaps up to this size are read at once; larger ones in a thread."""


class SitemapStep:
    """Reads the sitemaps of one site into its seeds."""

    def __init__(self, session: Session, found: Discovery, seeds: SeedList, page_url: str):
        self._session = session
        self._found = found
        self._seeds = seeds
        self._page_url = page_url
        self._seen: set[str] = set()

    async def run(self, room: int) -> None:
        """Read every sitemap the site names; at most `room` requests go to places nobody named."""
        named = await self._named_in_robots()
        if named:
            await self._read_all(named)
        root = urljoin(self._page_url, "/")
        places = dict.fromkeys((root, llmstxt.directory_url(self._page_url)))
        for place in list(places)[: max(room - 1, 0)]:
            if self._found.sitemaps:
                return
            await self._read_all([urljoin(place, "sitemap.xml")])

    async def _named_in_robots(self) -> list[str]:
        url = urljoin(self._page_url, "/robots.txt")
        if self._session.is_silent(url):
            return []
        answer = await self._session.get(url, MAX_ROBOTS_BYTES)
        if not answer.ok or not domains.same_site(url, answer.final_url):
            return []
        robots = Protego.parse(answer.text[:MAX_ROBOTS_BYTES])
        named = [urlgate.parse(line, answer.final_url) for line in dict.fromkeys(robots.sitemaps)]
        self._found.cut += [Cut.invalid(url) for url in named if isinstance(url, InvalidUrl)]
        return [url for url in named if isinstance(url, str)]

    async def _read_all(self, urls: list[str]) -> None:
        """Read sitemaps and what their indexes name, in order."""
        queue = deque((url, 0) for url in urls)
        while queue:
            url, depth = queue.popleft()
            if url in self._seen or not self._may_read(url, depth):
                continue
            self._seen.add(url)
            if self._session.is_silent(url):
                return
            answer = await self._session.get(url, sitemaps.MAX_BYTES)
            if answer.size > _INLINE_BYTES:
                inner = await asyncio.to_thread(self._take, url, answer)
            else:
                inner = self._take(url, answer)
            self._session.forget(url)
            queue.extendleft((sub, depth + 1) for sub in reversed(inner))

    def _may_read(self, url: str, depth: int) -> bool:
        reason: FilterReason | None = None
        if not domains.same_site(url, self._page_url):
            reason = "sitemap-other-site"
        elif depth > MAX_INDEX_DEPTH:
            reason = "sitemap-too-deep"
        elif len(self._seen) >= MAX_SITEMAPS:
            reason = "too-many-sitemaps"
        if reason is not None:
            self._found.cut.append(Cut(url, reason))
        return reason is None

    def _take(self, url: str, answer: Answer) -> list[str]:
        """Add the pages of one sitemap to the seeds; return the sitemaps it names."""
        if not answer.ok:
            reason = answer.message or answer.error or f"status {answer.status}"
            self._found.tried.append(Tried(url, "failed", reason))
            return []
        if not domains.same_site(url, answer.final_url):
            self._found.tried.append(Tried(url, "rejected", "redirected to another site"))
            return []
        inner: list[str] = []
        try:
            with answer.open() as body:
                for entry in sitemaps.read(body, answer.final_url):
                    if isinstance(entry, InvalidUrl):
                        self._found.cut.append(Cut.invalid(entry))
                    elif isinstance(entry, sitemaps.SubSitemap):
                        inner.append(entry.url)
                    elif domains.same_site(entry.url, self._page_url):
                        self._add(entry)
        except sitemaps.SitemapCutError as error:
            self._found.broken.append(answer.final_url)
            self._found.warnings.append(f"{answer.final_url} {error}")
        except sitemaps.SitemapError as error:
            self._found.tried.append(Tried(url, "rejected", str(error)))
            return inner
        self._found.tried.append(Tried(url, "found"))
        self._found.sitemaps.append(answer.final_url)
        return inner

    def _add(self, entry: sitemaps.SitemapEntry) -> None:
        if not self._seeds.add_page(entry.url, entry.lastmod, entry.alternates):
            self._found.cut.append(Cut(entry.url, "too-many-sitemap-pages"))
