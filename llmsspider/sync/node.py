"""A Scrapyd node as a place that crawls, over its JSON API."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from llmsspider.config.sources import SourceEntry


class PlaceFailed(Exception):  # noqa: N818  # not an error of the user's
    """The place does not answer any more; its sources go to other places.

    The message gives the reason.
    """


POLL_SECS = 1.0  # time between two looks at the jobs of a node
ANSWER_SECS = 30  # how long a node may take to answer
TRIES = 3
"""Failed requests in a row after which a node counts as failed; a job is over when it is missing as
often.
"""


class Node:
    """A Scrapyd with a place for so many jobs, waiting ones included; user and password in its
    address are not shown.

    `auth` is for an address without them, `job` the prefix of the jobs of this sync, different each
    night.
    """

    def __init__(
        self,
        url: str,
        slots: int,
        project: str,
        settings: Mapping[str, str],
        *,
        auth: tuple[str, str] | None,
        job: str,
    ):
        parts = urlsplit(url)
        self.name = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        self.slots = slots
        self._project = project
        self._settings = settings
        own = (parts.username, parts.password or "") if parts.username else auth
        self._auth = aiohttp.BasicAuth(*own) if own else None
        self._job = job
        self._begun: Counter[str] = Counter()

    async def has(self, entry: SourceEntry) -> bool:
        """Return whether a job of an earlier sync for the source waits or runs here."""
        jobs = await self._jobs()
        prefix = f"{entry.slug}."
        return any(job.startswith(prefix) for job in (*jobs["pending"], *jobs["running"]))

    async def crawl(self, entry: SourceEntry) -> str:
        """Schedule the job and look until it is over."""
        job = f"{entry.slug}.{self._job}" + f"-{self._begun[entry.slug]}" * (
            self._begun[entry.slug] > 0
        )
        self._begun[entry.slug] += 1
        fields = {"project": self._project, "spider": "docs", "jobid": job, **entry.arguments}
        pairs = [*fields.items(), *(("setting", "=".join(pair)) for pair in self._settings.items())]
        await self._ask("POST", "schedule", data=pairs)
        missing = 0
        while missing < TRIES:
            await asyncio.sleep(POLL_SECS)
            jobs = await self._jobs()
            if job in jobs["finished"]:
                break
            missing = 0 if job in (*jobs["pending"], *jobs["running"]) else missing + 1
        return f"see {self.name}/logs/{self._project}/docs/{job}.log"

    async def _jobs(self) -> dict[str, list[str]]:
        answer = await self._ask("GET", "listjobs", params={"project": self._project})
        return {
            state: [job["id"] for job in answer[state]]
            for state in ("pending", "running", "finished")
        }

    async def _ask(self, method: str, service: str, **parameters: Any) -> dict[str, Any]:
        """Send a request to the API, with retries; scheduling is not retried, since it may have
        worked.
        """
        limit = aiohttp.ClientTimeout(total=ANSWER_SECS)
        for left in range(0 if method == "POST" else TRIES - 1, -1, -1):
            try:
                async with (
                    aiohttp.ClientSession(auth=self._auth, timeout=limit) as session,
                    session.request(
                        method, f"{self.name}/{service}.json", **parameters
                    ) as response,
                ):
                    response.raise_for_status()
                    answer: dict[str, Any] = await response.json(content_type=None)
                    break
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                if not left:
                    raise PlaceFailed(
                        f"{self.name}: {str(error) or type(error).__name__}"
                    ) from error
                await asyncio.sleep(POLL_SECS)
        if answer.get("status") != "ok":
            raise PlaceFailed(f"{self.name}: {answer.get('message', answer)}")
        return answer
