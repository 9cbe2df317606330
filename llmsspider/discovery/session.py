"""The requests of one discovery: counted, never repeated, given up on a host that does not answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from llmsspider import domains
from llmsspider.discovery.model import Answer, Fetch

SILENT_LIMIT = 3
"""So many requests in a row without an answer, and a host is asked no more."""

CONCURRENCY = 8
"""How many linked files are fetched at once."""


class Session:
    """Wraps a `Fetch` for the length of one discovery."""

    def __init__(self, fetch: Fetch):
        self.requests = 0
        self._fetch = fetch
        self._answers: dict[str, Answer] = {}
        self._silent: Counter[str] = Counter()
        self._slots = asyncio.Semaphore(CONCURRENCY)

    async def get(self, url: str, max_bytes: int | None = None) -> Answer:
        """Fetch a URL once; asked again, it or its redirect target gives the same answer."""
        if url in self._answers:
            return self._answers[url]
        if self.is_silent(url):
            return Answer(url, url, 0, error="network", message="the host does not answer")
        async with self._slots:
            self.requests += 1
            answer = await self._fetch(url, max_bytes=max_bytes)
        self._note_silence(url, answer)
        self._answers[url] = answer
        if answer.ok:
            self._answers.setdefault(answer.final_url, answer)
        return answer

    async def get_all(self, urls: Sequence[str], max_bytes: int | None = None) -> list[Answer]:
        """Fetch several URLs at once; the answers come in the order of the URLs."""
        return list(await asyncio.gather(*(self.get(url, max_bytes) for url in urls)))

    def is_silent(self, url: str) -> bool:
        """Tell whether the host of a URL has left the last requests without an answer."""
        return self._silent[domains.host(url) or ""] >= SILENT_LIMIT

    def forget(self, url: str) -> None:
        """Drop a remembered answer, so that a large body does not stay in memory."""
        answer = self._answers.pop(url, None)
        if answer is not None:
            self._answers.pop(answer.final_url, None)

    def _note_silence(self, url: str, answer: Answer) -> None:
        host = domains.host(url) or ""
        if answer.status == 0 and answer.error == "network":
            self._silent[host] += 1
        else:
            self._silent[host] = 0
