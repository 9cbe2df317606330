"""The workers of one crawl, as they meet in Redis: who leads, what is queued and seen, when all is done."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from llmsspider.crawl.distributed.shared_pages import SharedPageKeys, SharedPageLimit
from llmsspider.crawl.workers import Workers
from llmsspider.errors import WorkerGroupError
from llmsspider.store.database import source_slug
from llmsspider.store.runs import is_alive, this_host

if TYPE_CHECKING:
    from llmsspider.crawl.bounds import PageLimit
    from llmsspider.crawl.progress import Progress

logger = logging.getLogger(__name__)


# What has to happen in Redis in one step, as Lua. Keys and arguments are those of `WorkerGroup`.

JOIN = """
if redis.call('HLEN', KEYS[2]) == 0 then
    redis.call('DEL', unpack(KEYS))
end
local phase = redis.call('HGET', KEYS[1], 'phase')
if phase == 'closing' then return 'closing' end
local leader = redis.call('HGET', KEYS[1], 'leader')
if redis.call('HSET', KEYS[2], ARGV[1], 'busy') == 1 then redis.call('HINCRBY', KEYS[1], 'joined', 1) end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
if not phase then
    redis.call('HSET', KEYS[1], 'phase', 'discovery', 'leader', ARGV[1])
    return 'leader'
end
local found = redis.call('HEXISTS', KEYS[1], 'found') == 1
if phase == 'discovery' and not found and redis.call('HEXISTS', KEYS[2], leader) == 0 then
    redis.call('HSET', KEYS[1], 'leader', ARGV[1])
    redis.call('HDEL', KEYS[4], leader)
    return 'leader'
end
return leader == ARGV[1] and 'leader' or 'worker'
"""
"""Enter the crawl: KEYS crawl, workers, beats, lost, …all; ARGV worker, beat. What a crawl left whose workers are all
gone is deleted. The first worker leads; another one when the leader died before it had found anything."""

TAKE = """
local head = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local idle = ARGV[2] == 'idle'
local wait = head[1] == nil
if not wait and ARGV[3] == 'exact' and tonumber(head[2]) > tonumber(redis.call('HGET', KEYS[1], 'depth') or '0') then
    wait = not idle
    local states = redis.call('HGETALL', KEYS[3])
    for i = 1, #states, 2 do
        if states[i] ~= ARGV[1] and states[i + 1] == 'busy' then wait = true end
    end
    if not wait then redis.call('HSET', KEYS[1], 'depth', head[2]) end
end
if not wait then
    redis.call('ZREM', KEYS[2], head[1])
    redis.call('HSET', KEYS[3], ARGV[1], 'busy')
    return head[1]
end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then
    redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
end
return false
"""
"""Take the next request and count as busy, in one step, so that nobody sees an empty queue and idle workers between
them. KEYS crawl, queue, workers; ARGV worker, idle|busy, exact|any. With `exact` a deeper request waits until every
worker is done with those above it."""

DRAINED = """
local phase = redis.call('HGET', KEYS[1], 'phase')
if phase == 'closing' then return 1 end
if phase ~= 'crawling' or redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
for _, state in ipairs(redis.call('HVALS', KEYS[3])) do
    if state == 'busy' then return 0 end
end
redis.call('HSET', KEYS[1], 'phase', 'closing')
return 1
"""
"""Whether everything was crawled; from then on nobody can join. KEYS crawl, queue, workers."""

LEAVE = """
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[4], ARGV[1], ARGV[2]) end
if redis.call('HLEN', KEYS[2]) == 0 then redis.call('DEL', unpack(KEYS)) end
"""
"""Leave, or be taken off; the last one clears up. KEYS as for `JOIN`; ARGV worker, why it is lost (may be empty)."""


# The workers of one crawl, as they meet in Redis: who leads, what is queued and seen, when all is done. No Scrapy.
# The first worker leads: it alone does discovery, and once everything is crawled it alone verifies and deletes. A
# page belongs to the worker that takes it from the queue. What a worker had taken when it died is not
# fetched: the crawl goes on and counts as incomplete, so that nothing is deleted; the next crawl gets those pages.

BEAT_SECS = 2.0
"""Time between two heartbeats of a worker."""

SILENT_SECS = 30.0
"""A worker without a heartbeat for longer is lost; one whose process died on this machine is noticed at once."""

ANSWER_SECS = 10
"""How long Redis may take to answer."""

POLL_SECS = 0.2
"""Time between two looks of a worker that has nothing to do."""

PARTS = ("crawl", "workers", "beats", "lost", "queue", "seen", "spellings", "fates", "why", "unseen")


class WorkerGroup(Workers):
    """One worker's view of the crawl it takes part in.

    Args:
        url: where Redis is, e.g. `redis://:password@host:6379/0`.
        source: name of the source; workers of one source belong together.
    """

    is_alone = False

    def __init__(self, url: str, source: str):
        super().__init__()
        self._url = url
        self.requested = SharedPageKeys(self)
        self.me = f"{os.getpid()}-{secrets.token_hex(3)}"
        self.keys = {part: f"llmsspider:{source_slug(source)}:{part}" for part in PARTS}
        self.leads = False
        self.joined = False
        self.size = 1
        """Workers that are in the crawl now."""
        self.most = 1
        """Workers that have been in it."""
        self.lost: tuple[str, ...] = ()
        """The reasons of workers that did not end well."""
        self.fault: WorkerGroupError | None = None
        """Why Redis cannot be used any more; the crawl has to end."""
        self._seen: set[bytes] = set()
        self._server: Any = None
        self._stopped = threading.Event()

    # --- coming and going ---

    async def join(self) -> None:
        """Enter the crawl of the source, or begin one; raises `WorkerGroupError`."""
        while True:
            role = self._enter()
            if role != "closing":
                break
            await asyncio.sleep(POLL_SECS)  # a crawl is ending: this one comes after it
        self.joined, self.leads = True, role == "leader"
        threading.Thread(target=self._beat, name="llmsspider-worker-group", daemon=True).start()

    async def found(self) -> bytes | None:
        """Return what the leader found; None when this worker leads by now and has to run discovery."""
        while not self.leads:
            found: bytes | None = self._ask(lambda server: server.hget(self.keys["crawl"], "found"))
            if found is not None:
                return found
            self.leads = self._enter() == "leader"
            await asyncio.sleep(POLL_SECS)
        return None

    def publish(self, found: bytes) -> None:
        """Share the result of discovery with the other workers."""
        self._ask(lambda server: server.hset(self.keys["crawl"], "found", found))

    def seeded(self) -> None:
        """Mark that every seed is queued: from now on an empty queue can be the end."""
        self._ask(lambda server: server.hset(self.keys["crawl"], "phase", "crawling"))

    def drained(self) -> bool:
        """Return whether every worker is idle and nothing is queued; nobody can join any more then."""
        keys = [self.keys[part] for part in ("crawl", "queue", "workers")]
        return bool(self._ask(lambda server: server.eval(DRAINED, len(keys), *keys)))

    async def alone(self) -> None:
        """Return when every other worker has left, or is lost."""
        while self._ask(lambda server: server.hlen(self.keys["workers"])) > 1:
            await asyncio.sleep(POLL_SECS)
            self.look()
        self.look()

    def leave(self, lost: str = "") -> None:
        """Leave; `lost` is the reason why requests that this worker took are not done. A second call does nothing."""
        self._stopped.set()
        joined, self.joined = self.joined, False
        if joined:
            try:
                self._off(self.me, lost)
            except WorkerGroupError as fault:
                logger.warning("%s", fault)

    def end(self, outcome: str) -> None:
        """Leave; a worker that was stopped has not done what it took."""
        self.leave("" if outcome == "finished" else f"worker {self.me} was stopped ({outcome})")

    def counts(self) -> dict[str, Any]:
        """Return how many workers have been in the crawl, and whether this one leads them."""
        return {"workers": self.most, "leads": self.leads}

    def _enter(self) -> Literal["leader", "worker", "closing"]:
        self.look()
        keys = self._all_keys()
        role = self._ask(lambda server: server.eval(JOIN, len(keys), *keys, self.me, self._sign(server)))
        return role.decode()  # type: ignore[no-any-return]

    def _off(self, worker: str, lost: str) -> None:
        keys = self._all_keys()
        self._ask(lambda server: server.eval(LEAVE, len(keys), *keys, worker, lost))

    # --- signs of life ---

    def look(self) -> None:
        """Send a heartbeat, remove dead workers, and count the others."""
        with self._server_of() as server:
            if self.joined:
                server.hset(self.keys["beats"], self.me, self._sign(server))
            now = server.time()[0]
            for worker, beat in server.hgetall(self.keys["beats"]).items():
                secs, _, host = beat.decode().partition(" ")
                name = worker.decode()
                dead = host == this_host() and not is_alive(int(name.partition("-")[0]))
                if dead or now - int(secs) > SILENT_SECS:
                    self._off(name, f"worker {name} on {host.partition(' ')[0]} died")
            self.size = max(1, server.hlen(self.keys["workers"]))
            self.most = max(self.most, int(server.hget(self.keys["crawl"], "joined") or 1))
            self.lost = tuple(why.decode() for why in server.hvals(self.keys["lost"]))

    def _sign(self, server: Any) -> str:
        return f"{server.time()[0]} {this_host()}"

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT_SECS):
            try:
                self.look()
            except WorkerGroupError:
                return

    # --- pages ---

    def push(self, depth: int, data: bytes) -> None:
        """Queue a request; those of lower depth go first."""
        self._ask(lambda server: server.zadd(self.keys["queue"], {data: depth}))

    def take(self, *, busy: bool, exact: bool) -> bytes | None:
        """Take a request off the queue, or None.

        Args:
            busy: whether this worker still works on others; without them and without a new one it is idle.
            exact: let deeper requests wait until everything above them is done.
        """
        keys = [self.keys[part] for part in ("crawl", "queue", "workers")]
        given = (self.me, "busy" if busy else "idle", "exact" if exact else "any")
        return self._ask(lambda server: server.eval(TAKE, len(keys), *keys, *given))  # type: ignore[no-any-return]

    def queued(self) -> int:
        """Return how many requests wait; 0 where Redis is away, for which the crawl ends."""
        try:
            return int(self._ask(lambda server: server.zcard(self.keys["queue"]))) if self.joined else 0
        except WorkerGroupError:
            return 0

    def seen(self, key: bytes) -> bool:
        """Return whether any worker has requested the page."""
        if key in self._seen:
            return True
        known = bool(self._ask(lambda server: server.sismember(self.keys["seen"], key)))
        if known:
            self._seen.add(key)
        return known

    def remember(self, key: bytes) -> bool:
        """Count a page as requested; returns whether this worker is the first."""
        if key in self._seen:
            return False
        self._seen.add(key)
        return bool(self._ask(lambda server: server.sadd(self.keys["seen"], key)))

    def first_spelling(self, spelling: str, url: str) -> str:
        """Return the page that any worker was the first to export under a loose spelling."""
        first = super().first_spelling(spelling, url)
        if first != url:
            return first
        with suppress(WorkerGroupError):  # the crawl ends for it
            if not self._ask(lambda server: server.hsetnx(self.keys["spellings"], spelling, url)):
                first = self._ask(lambda server: server.hget(self.keys["spellings"], spelling)).decode()
        return first

    def page_limit(self, max_pages: int, progress: Progress, max_requests: int | None) -> PageLimit:
        """Return how many documents and requests all workers together may have."""
        return SharedPageLimit(self, max_pages, progress, max_requests)

    def count_document(self) -> int:
        """Count a document; returns how many all workers have."""
        return int(self._ask(lambda server: server.hincrby(self.keys["crawl"], "documents", 1)))

    def count_request(self) -> int:
        """Count a request for a page; returns how many all workers have sent."""
        return int(self._ask(lambda server: server.hincrby(self.keys["crawl"], "requests", 1)))

    def documents(self) -> int:
        """Return how many documents all workers have."""
        return int(self._ask(lambda server: server.hget(self.keys["crawl"], "documents")) or 0)

    # --- what the leader has to know at the end ---

    def send_outcomes(
        self,
        outcomes: Iterable[tuple[bytes, str, str]],
        why_incomplete: str | None,
        unseen: Iterable[str] = (),
    ) -> None:
        """Send the outcomes of stored pages (key, outcome, reason), and why this worker did not see everything.

        `unseen` are the limits that filtered pages, by reason.
        """
        if limits := list(unseen):
            self._ask(lambda server: server.sadd(self.keys["unseen"], *limits))
        rows = {key: f"{outcome} {reason}" for key, outcome, reason in outcomes}
        if rows:
            self._ask(lambda server: server.hset(self.keys["fates"], mapping=rows))
        if why_incomplete:
            self._ask(lambda server: server.hset(self.keys["why"], self.me, why_incomplete))

    def collect_limits(self) -> set[str]:
        """Return the limits that filtered pages of other workers."""
        return {limit.decode() for limit in self._ask(lambda server: server.smembers(self.keys["unseen"]))}

    def collect_outcomes(self) -> tuple[list[tuple[bytes, str, str]], list[str]]:
        """Return the outcomes that other workers sent, and why each of them did not see everything."""
        rows = self._ask(lambda server: server.hgetall(self.keys["fates"]))
        outcomes = [(key, *value.decode().split(" ", 1)) for key, value in rows.items()]
        return outcomes, [why.decode() for why in self._ask(lambda server: server.hvals(self.keys["why"]))]

    # --- Redis ---

    def _all_keys(self) -> list[str]:
        return [self.keys[part] for part in PARTS]

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        with self._server_of() as server:
            return question(server)

    @contextmanager
    def _server_of(self) -> Iterator[Any]:
        """The client; its faults become a `WorkerGroupError` of one line."""
        from redis import Redis  # noqa: PLC0415  # an extra
        from redis.backoff import NoBackoff  # noqa: PLC0415
        from redis.exceptions import RedisError  # noqa: PLC0415
        from redis.retry import Retry  # noqa: PLC0415

        try:
            if self._server is None:
                self._server = Redis.from_url(
                    self._url,
                    socket_timeout=ANSWER_SECS,
                    socket_connect_timeout=ANSWER_SECS,
                    retry=Retry(NoBackoff(), 1),
                )
            yield self._server
        except (RedisError, OSError, ValueError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self.fault = WorkerGroupError(
                f"LLMS_REDIS_URL: Redis at {address_of(self._url)} cannot be used: {lines[0]}"
            )
            raise self.fault from error


def address_of(url: str) -> str:
    """The address without user and password.

    >>> address_of("redis://:secret@10.0.0.7:6379/2")
    '10.0.0.7:6379/2'
    """
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] + parts.path
