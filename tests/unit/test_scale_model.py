"""The model of many crawls on several nodes, `benchmarks/scale_model.py`: nothing is lost, no host gets too much."""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import pairwise

import pytest
from crawling import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

from scale_model import Batch, Costs, Fleet, Source, assign, make_sources, simulate

COSTS = Costs(
    start_cpu_secs=2.0,
    page_cpu_secs=0.01,
    same_cpu_secs=0.001,
    extra_requests=13,
    job_mib=90,
    page_kib=3,
)


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return make_sources(300, 7, largest=5000, shared=0.5, shared_hosts=10)


@pytest.fixture(
    params=[Fleet(1, 1, 4), Fleet(3, 2, 8, rate=2.0), Fleet(4, 1, 32, order="file")], ids=str
)
def night(request, sources):
    batches: list[Batch] = []
    night = simulate(sources, request.param, COSTS, changed=0.25, on_batch=batches.append)
    return request.param, night, batches


def test_each_request_of_each_source_is_sent_once(sources, night):
    _, done, batches = night
    sent: dict[str, list[int]] = defaultdict(list)
    for batch in batches:
        sent[batch.source.name] += range(batch.first, batch.first + batch.count)
    assert {name: sorted(numbers) for name, numbers in sent.items()} == {
        source.name: list(range(source.pages + 13)) for source in sources
    }
    assert (done.requests, len(done.ends)) == (sum(map(len, sent.values())), len(sources))


def test_no_host_gets_more_than_its_pace_and_each_is_on_one_node(night):
    fleet, _, batches = night
    by_host: dict[str, list[Batch]] = defaultdict(list)
    for batch in batches:
        by_host[batch.source.host].append(batch)
    for served in by_host.values():
        served.sort(key=lambda batch: batch.start)
        assert len({batch.node for batch in served}) == 1
        assert all(batch.count <= fleet.rate * (batch.end - batch.start) + 1e-6 for batch in served)
        assert all(before.end <= after.start + 1e-6 for before, after in pairwise(served))


def test_cpu_and_writes_are_those_of_the_pages(sources, night):
    fleet, done, _ = night
    pages = sum(source.pages for source in sources)
    assert done.cpu_secs == pytest.approx(len(sources) * 2.0 + pages * (0.25 * 0.01 + 0.75 * 0.001))
    assert done.written == pytest.approx(0.25 * pages)
    assert 0 < done.utilisation <= 1
    assert done.makespan >= max(done.busiest_host_secs, done.cpu_secs / (fleet.nodes * fleet.cores))


def test_sizes_have_a_heavy_tail_and_the_seed_decides_them(sources):
    many = make_sources(20_000, 3, largest=10**9)
    above = [sum(source.pages >= size for source in many) / len(many) for size in (20, 200, 2000)]
    assert above[0] == 1
    assert above[1] == pytest.approx(10**-0.9, rel=0.1)
    assert above[2] == pytest.approx(10**-1.8, rel=0.2)
    assert sources == make_sources(300, 7, largest=5000, shared=0.5, shared_hosts=10)


def test_nodes_share_the_pages_evenly(sources):
    shares = [sum(source.pages for source in share) for share in assign(sources, 3)]
    largest = max(
        sum(source.pages for source in sources if source.host == host)
        for host in {source.host for source in sources}
    )
    assert max(shares) - min(shares) <= largest
    assert sum(shares) == sum(source.pages for source in sources)


def test_no_sources_are_an_error():
    with pytest.raises(ValueError, match="no sources"):
        simulate([], Fleet(1, 1, 1), COSTS)
