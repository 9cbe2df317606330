"""A model of many crawls on several nodes: who waits for a host, who for a core. No crawl is run, nothing is measured.

Each source is one crawl, started in a free slot of its node. A crawl takes its pages in batches: the host serves them
at its pace, one batch after the other whatever crawl they belong to, then a core of the node converts and stores them.
A crawl fetches its next batch while the last one is converted, and waits while two are not converted.

The sources of one host go to one node, since crawls share the pace of a host by machine. `docs/lab/scale.md` has the
results; `python benchmarks/scale.py simulate` runs it.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

BATCH = 50
"""Maximum number of requests that are scheduled as one."""

BIN_SECS = 300.0
"""Length of the intervals in which the highest rate of writes is looked for."""


@dataclass(frozen=True, slots=True)
class Source:
    """One documentation site: its name, the host it lies on, its number of pages."""

    name: str
    host: str
    pages: int


@dataclass(frozen=True, slots=True)
class Costs:
    """What one crawl costs.

    Args:
        start_cpu_secs: CPU of a crawl without pages.
        page_cpu_secs: CPU of a page that is new or changed.
        same_cpu_secs: CPU of a page that answers 304.
        extra_requests: requests of a crawl that are no pages.
        job_mib: memory of a crawl without pages.
        page_kib: memory for each page of the source.
    """

    start_cpu_secs: float
    page_cpu_secs: float
    same_cpu_secs: float
    extra_requests: int
    job_mib: float
    page_kib: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines, and the pace of hosts.

    Args:
        nodes: number of machines.
        cores: of each.
        jobs: maximum number of crawls at a time on each (`scrapy sync --jobs`).
        rate: requests a second of one host (`LLMS_MAX_RATE`).
        latency_secs: time that a host takes to answer.
        concurrency: requests of one crawl that are under way at a time.
        order: `file`: sources as given; `largest`: those with most pages first.
    """

    nodes: int
    cores: int
    jobs: int
    rate: float = 5.0
    latency_secs: float = 0.4
    concurrency: int = 8
    order: Literal["file", "largest"] = "largest"


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests `first` to `first + count - 1` of a source, sent by a node from `start` to `end` (seconds)."""

    node: int
    source: Source
    first: int
    count: int
    start: float
    end: float


@dataclass(slots=True)
class Night:
    """What one night came to; times in seconds, memory in MiB.

    `busiest_host` is the one that needs most time at its pace, and `busiest_host_secs` that time: no number of nodes
    makes the night shorter. `write_rate` is the highest number of pages stored a second, over `BIN_SECS`.
    """

    makespan: float = 0.0
    cpu_secs: float = 0.0
    core_secs: float = 0.0
    requests: int = 0
    pages: int = 0
    written: float = 0.0
    write_rate: float = 0.0
    node_mib: float = 0.0
    busiest_host: str = ""
    busiest_host_secs: float = 0.0
    ends: list[float] = field(default_factory=list)
    """When each crawl ended, in order."""

    @property
    def utilisation(self) -> float:
        """CPU used, as a share of what all cores have until the last crawl ends."""
        return self.cpu_secs / self.core_secs if self.core_secs else 0.0


def make_sources(
    number: int,
    seed: int,
    *,
    exponent: float = 1.9,
    smallest: int = 20,
    largest: int = 100_000,
    shared: float = 0.3,
    shared_hosts: int = 300,
) -> list[Source]:
    """Return sources whose sizes follow a power law.

    Args:
        number: of sources.
        seed: of the random numbers; the same seed gives the same sources.
        exponent: of the density; 1.9 is that of pages per site in Huberman and Adamic (1999).
        smallest: pages of the smallest source.
        largest: pages of the largest one; larger draws are cut to it.
        shared: share of the sources that lie on a host with others.
        shared_hosts: number of such hosts; their shares follow Zipf's law.
    """
    chance = random.Random(seed)
    weights = list(accumulate(1 / rank for rank in range(1, shared_hosts + 1)))
    found = []
    for index in range(number):
        pages = smallest * (1 - chance.random()) ** (-1 / (exponent - 1))
        on_shared = chance.random() < shared
        (rank,) = chance.choices(range(shared_hosts), cum_weights=weights) if on_shared else (None,)
        host = f"source{index}.example" if rank is None else f"host{rank}.example"
        found.append(Source(f"source{index}", host, int(min(pages, largest))))
    return found


def assign(sources: Iterable[Source], nodes: int) -> list[list[Source]]:
    """Return the sources of each node: all those of a host together, the largest hosts first to the emptiest node."""
    by_host: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        by_host[source.host].append(source)
    shares: list[list[Source]] = [[] for _ in range(nodes)]
    loads = [(0, node) for node in range(nodes)]
    for group in sorted(by_host.values(), key=lambda one: -_pages(one)):
        load, node = heapq.heappop(loads)
        shares[node] += group
        heapq.heappush(loads, (load + _pages(group), node))
    return shares


def simulate(
    sources: Sequence[Source],
    fleet: Fleet,
    costs: Costs,
    *,
    changed: float = 1.0,
    on_batch: Callable[[Batch], None] | None = None,
) -> Night:
    """Return what one night comes to.

    Args:
        sources: to crawl, each once.
        fleet: the machines.
        costs: of a crawl and its pages.
        changed: share of the pages that are new or changed; 1.0 is a first crawl.
        on_batch: called with each batch when it is scheduled.

    Raises:
        ValueError: there are no sources.
    """
    if not sources:
        raise ValueError("no sources")
    night = Night(pages=_pages(sources))
    host_secs: dict[str, float] = defaultdict(float)
    for source in sources:
        host_secs[source.host] += (source.pages + costs.extra_requests) / fleet.rate
    night.busiest_host, night.busiest_host_secs = max(host_secs.items(), key=lambda item: item[1])
    written: dict[int, float] = defaultdict(float)
    for number, share in enumerate(assign(sources, fleet.nodes)):
        node = _Node(number, fleet, costs, changed, on_batch)
        node.run(share)
        night.ends += node.ends
        night.cpu_secs += node.cpu_secs
        night.requests += node.requests
        night.node_mib = max(night.node_mib, node.peak_mib)
        for second, pages in node.written.items():
            written[second] += pages
    night.ends.sort()
    night.makespan = night.ends[-1]
    night.core_secs = night.makespan * fleet.nodes * fleet.cores
    night.written = sum(written.values())
    night.write_rate = max(written.values(), default=0.0) / BIN_SECS
    return night


def _pages(sources: Iterable[Source]) -> int:
    return sum(source.pages for source in sources)


@dataclass(slots=True)
class _Crawl:
    """A crawl under way: requests in all and sent, and when its last batch is converted."""

    source: Source
    requests: int
    sent: int = 0
    converted_at: float = 0.0


class _Node:
    """One machine and the crawls that it runs."""

    def __init__(
        self,
        number: int,
        fleet: Fleet,
        costs: Costs,
        changed: float,
        on_batch: Callable[[Batch], None] | None,
    ):
        self.now = 0.0
        self.cpu_secs = 0.0
        self.requests = 0
        self.peak_mib = 0.0
        self.ends: list[float] = []
        self.written: dict[int, float] = defaultdict(float)
        self._number, self._fleet, self._costs = number, fleet, costs
        self._changed, self._on_batch = changed, on_batch
        self._page_secs = changed * costs.page_cpu_secs + (1 - changed) * costs.same_cpu_secs
        self._cores = [0.0] * fleet.cores
        self._host_free: dict[str, float] = defaultdict(float)
        self._events: list[tuple[float, int, Callable[[_Crawl], None], _Crawl]] = []
        self._count = 0
        self._mib = 0.0

    def run(self, sources: list[Source]) -> None:
        """Crawl all sources."""
        if self._fleet.order == "largest":
            sources = sorted(sources, key=lambda source: -source.pages)
        self._waiting = iter(sources)
        for _ in range(self._fleet.jobs):
            self._start_next()
        while self._events:
            self.now, _, action, crawl = heapq.heappop(self._events)
            action(crawl)

    def _start_next(self) -> None:
        source = next(self._waiting, None)
        if source is not None:
            self._mib += self._memory(source)
            self.peak_mib = max(self.peak_mib, self._mib)
            crawl = _Crawl(source, source.pages + self._costs.extra_requests)
            self._at(self._compute(self._costs.start_cpu_secs), self._fetch, crawl)

    def _fetch(self, crawl: _Crawl) -> None:
        """Send the next batch as soon as the host's pace allows."""
        fleet, host = self._fleet, crawl.source.host
        count = min(BATCH, crawl.requests - crawl.sent)
        start = max(self.now, self._host_free[host])
        end = start + count / fleet.rate
        self._host_free[host] = end
        if self._on_batch is not None:
            self._on_batch(Batch(self._number, crawl.source, crawl.sent, count, start, end))
        crawl.sent += count
        self.requests += count
        self._at(
            max(end, start + count * fleet.latency_secs / fleet.concurrency), self._convert, crawl
        )

    def _convert(self, crawl: _Crawl) -> None:
        """Convert the batch that came, and fetch the next one once the batch before is done."""
        before, last = crawl.converted_at, crawl.sent == crawl.requests
        fetched = crawl.sent - (crawl.sent - 1) // BATCH * BATCH
        pages = max(0, fetched - self._costs.extra_requests) if crawl.sent <= BATCH else fetched
        crawl.converted_at = self._compute(pages * self._page_secs)
        self.written[int(crawl.converted_at / BIN_SECS)] += pages * self._changed
        if last:
            self._at(crawl.converted_at, self._end, crawl)
        else:
            self._at(max(self.now, before), self._fetch, crawl)

    def _end(self, crawl: _Crawl) -> None:
        self.ends.append(self.now)
        self._mib -= self._memory(crawl.source)
        self._start_next()

    def _compute(self, secs: float) -> float:
        """Take the core that is free first for so many seconds; return when they are over."""
        self.cpu_secs += secs
        end = max(self.now, heapq.heappop(self._cores)) + secs
        heapq.heappush(self._cores, end)
        return end

    def _memory(self, source: Source) -> float:
        return self._costs.job_mib + source.pages * self._costs.page_kib / 1024

    def _at(self, time: float, action: Callable[[_Crawl], None], crawl: _Crawl) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, self._count, action, crawl))
