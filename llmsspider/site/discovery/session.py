"""The requests of one discovery, counted and never repeated, and the pages it found, each once, in order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from llmsspider.items import LlmsEntry
from llmsspider.site.discovery.model import Fetch, FetchResult, FilteredLink, LlmsFile, Seed
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.web import hosts
from llmsspider.web.markdown_forms import is_markdown_url, page_candidates
from llmsspider.web.urls import identity

# The requests of one discovery: counted, never repeated, given up on a host that does not answer.

SILENT_LIMIT = 3
"""Maximum number of requests in a row without an answer; then the host gets no more."""

CONCURRENCY = 8
"""How many linked files are fetched at once."""


class Session:
    """Wraps a `Fetch` for the length of one discovery."""

    def __init__(self, fetch: Fetch):
        self.requests = 0
        self._fetch = fetch
        self._answers: dict[str, FetchResult] = {}
        self._silent: Counter[str] = Counter()
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def get(self, url: str, max_bytes: int | None = None) -> FetchResult:
        """Fetch a URL once; a second call for it or its redirect target returns the same answer."""
        if url in self._answers:
            return self._answers[url]
        if self.is_unresponsive(url):
            return FetchResult(url, url, 0, error="network", message="the host does not answer")
        async with self._slots:
            self.requests += 1
            answer = await self._fetch(url, max_bytes=max_bytes)
        self._note_silence(url, answer)
        self._answers[url] = answer
        if answer.ok:
            self._answers.setdefault(answer.final_url, answer)
        return answer

    async def get_all(self, urls: Sequence[str], max_bytes: int | None = None) -> list[FetchResult]:
        """Fetch several URLs at once; the answers come in the order of the URLs."""
        return list(await asyncio.gather(*(self.get(url, max_bytes) for url in urls)))

    def is_unresponsive(self, url: str) -> bool:
        """Return whether the host of a URL has left the last requests without an answer."""
        return self._silent[hosts.hostname(url) or ""] >= SILENT_LIMIT

    def forget(self, url: str) -> None:
        """Forget an answer, so that a large body does not stay in memory."""
        answer = self._answers.pop(url, None)
        if answer is not None:
            self._answers.pop(answer.final_url, None)

    def _note_silence(self, url: str, answer: FetchResult) -> None:
        host = hosts.hostname(url) or ""
        if answer.status == 0 and answer.error == "network":
            self._silent[host] += 1
        else:
            self._silent[host] = 0


# --- the pages discovery found, each once, in the order the files list them ---

MAX_SITEMAP_SEEDS = 250_000
"""So many pages are taken from sitemaps; what is more is counted as cut."""

MAX_LLMS_SEEDS = 250_000
"""So many pages are taken from llms.txt files; what is more is counted as cut."""

_NO_ALTERNATES: Mapping[str, str] = {}


class SeedList:
    """Collects seeds; the first source to name a URL wins, later ones add what it did not say."""

    def __init__(self, start_urls: Iterable[str], optional: Literal["include", "skip"]):
        self.start_entry: LlmsEntry | None = None
        self.start_listed = False
        self.start_in_sitemap = False
        self.cut: list[FilteredLink] = []
        self._start_urls = set(start_urls)
        self._seeds: dict[str, Seed] = {}
        self._skip_optional = optional == "skip"
        self._order = 0
        self._from_sitemaps = 0
        self._from_llms = 0

    def __len__(self) -> int:
        return len(self._seeds)

    def all(self) -> list[Seed]:
        """Return the seeds in order."""
        return list(self._seeds.values())

    def new_in_sitemaps(self) -> int:
        """Return how many pages only sitemaps name, neither as HTML nor as Markdown do the llms files."""
        named = {
            identity(page)
            for seed in self._seeds.values()
            if seed.llms is not None and is_markdown_url(seed.url)
            for page in page_candidates(seed.url).values()
        }
        return sum(seed.llms is None and identity(seed.url) not in named for seed in self._seeds.values())

    def add_entries(self, file: LlmsFile) -> list[Seed]:
        """Add what an index lists; return the seeds that are new."""
        added = []
        for entry in file.entries:
            order, self._order = self._order, self._order + 1
            if is_llms_url(entry.url):
                continue
            if entry.optional and self._skip_optional:
                self.cut.append(FilteredLink(entry.url, "optional"))
                continue
            said = LlmsEntry(
                file.url,
                entry.section,
                entry.title,
                entry.description,
                order,
                entry.optional,
                file.title,
                file.summary,
                file.notes,
            )
            if entry.url in self._start_urls:
                self.start_listed = True
                self.start_entry = self.start_entry or said
            elif entry.url not in self._seeds and self._from_llms >= MAX_LLMS_SEEDS:
                self.cut.append(FilteredLink(entry.url, "too-many-llms-pages"))
            elif entry.url not in self._seeds:
                self._from_llms += 1
                self._seeds[entry.url] = Seed(entry.url, "llms.txt", said)
                added.append(self._seeds[entry.url])
        return added

    def add_page(self, url: str, lastmod: str | None, alternates: Mapping[str, str]) -> bool:
        """Add what a sitemap lists; return False once there is no room for more."""
        self.start_in_sitemap = self.start_in_sitemap or url in self._start_urls
        self.start_listed = self.start_listed or self.start_in_sitemap
        known = self._seeds.get(url)
        if known is not None:
            known.lastmod = known.lastmod or lastmod
            known.alternates = known.alternates or alternates
            known.in_sitemap = True
        elif url not in self._start_urls and not is_llms_url(url):
            if self._from_sitemaps >= MAX_SITEMAP_SEEDS:
                return False
            self._from_sitemaps += 1
            self._seeds[url] = Seed(url, "sitemap", None, lastmod, alternates or _NO_ALTERNATES, True)
        return True
