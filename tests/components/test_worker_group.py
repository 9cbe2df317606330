"""The workers of one crawl, as they meet in a real Redis: who leads, who takes what, when all is done."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import pytest
from redis import Redis
from redis_server import PASSWORD, redis_url  # noqa: F401  (fixture)

from llmsspider.config.setting_types import redis_problem
from llmsspider.crawl.distributed.worker_group import WorkerGroup, address_of
from llmsspider.errors import WorkerGroupError
from llmsspider.store.runs import this_host

pytestmark = pytest.mark.redis


@pytest.fixture
def enter(redis_url: str):  # noqa: F811
    """Return a function that has a new worker join the crawl of a source."""
    crews: list[WorkerGroup] = []

    def joined(source: str = "a") -> WorkerGroup:
        group = WorkerGroup(redis_url, source)
        asyncio.run(asyncio.wait_for(group.join(), 30))
        crews.append(group)
        return group

    yield joined
    for group in crews:
        group.leave()


Enter = Callable[..., WorkerGroup]


def die(redis_url: str, group: WorkerGroup) -> None:  # noqa: F811
    """What a SIGKILL leaves: a worker that gives no sign of life, and a process that is not there."""
    group._stopped.set()
    group.joined = False
    server = Redis.from_url(redis_url)
    gone = f"{2**22 + 1}-{group.me.partition('-')[2]}"
    for part in ("workers", "beats"):
        value = server.hget(group.keys[part], group.me)
        server.hdel(group.keys[part], group.me)
        server.hset(group.keys[part], gone, value)
    if server.hget(group.keys["crawl"], "leader") == group.me.encode():
        server.hset(group.keys["crawl"], "leader", gone)
    assert server.hget(group.keys["beats"], gone).decode().endswith(this_host())
    server.close()


def test_the_first_leads_and_hands_on_what_it_found(enter: Enter):
    first, second, other = enter(), enter(), enter("b")
    assert (first.leads, second.leads, other.leads) == (True, False, True)
    assert asyncio.run(first.found()) is None
    first.publish(b"found")
    assert asyncio.run(second.found()) == b"found"
    first.look()
    assert (first.size, first.most, other.size) == (2, 2, 1)


def test_each_request_is_taken_once_in_the_order_of_depth(enter: Enter):
    first, second = enter(), enter()
    for depth, data in ((2, b"c"), (0, b"a"), (1, b"b")):
        first.push(depth, data)
    assert first.queued() == 3
    taken = [group.take(busy=True, exact=False) for group in (first, second, first, second)]
    assert taken == [b"a", b"b", b"c", None]
    assert (first.remember(b"k"), second.remember(b"k"), first.remember(b"k")) == (True, False, False)
    assert (second.seen(b"k"), second.seen(b"n")) == (True, False)
    assert (first.first_spelling("s", "u1"), second.first_spelling("s", "u2")) == ("u1", "u1")


def test_deeper_pages_wait_where_depth_has_to_be_exact(enter: Enter):
    first, second = enter(), enter()
    first.push(0, b"a")
    assert first.take(busy=False, exact=True) == b"a"
    first.push(1, b"b")
    assert second.take(busy=False, exact=True) is None, "the first one still works on depth 0"
    assert first.take(busy=False, exact=True) == b"b", "now nobody does"


def test_it_is_over_when_nothing_is_queued_and_nobody_works(enter: Enter):
    leader, worker = enter(), enter()
    leader.push(0, b"a")
    assert worker.take(busy=False, exact=False) == b"a"
    assert leader.take(busy=False, exact=False) is None
    assert not leader.drained(), "seeds may still come"
    leader.seeded()
    assert not leader.drained(), "the other one works"
    worker.push(1, b"b")
    assert worker.take(busy=True, exact=False) == b"b"
    assert worker.take(busy=False, exact=False) is None
    assert worker.drained()
    worker.send_outcomes([(b"key", "gone", "not-found")], "max_pages", {"trap"})
    worker.leave()
    asyncio.run(asyncio.wait_for(leader.alone(), 30))
    assert leader.collect_outcomes() == ([(b"key", "gone", "not-found")], ["max_pages"])
    assert leader.collect_limits() == {"trap"}
    assert leader.lost == ()
    leader.leave()
    assert enter().leads, "nothing is left of it: the next one begins anew"


def test_who_comes_while_a_crawl_ends_waits_for_it(enter: Enter, redis_url: str):  # noqa: F811
    leader = enter()
    leader.seeded()
    leader.take(busy=False, exact=False)
    assert leader.drained()

    async def late() -> bool:
        group = WorkerGroup(redis_url, "a")
        looks, look_again = asyncio.Event(), group._enter

        def looked() -> str:
            role = look_again()
            looks.set()
            return role

        group._enter = looked
        joining = asyncio.create_task(group.join())
        for _ in range(2):
            looks.clear()
            await looks.wait()
        waited = not joining.done()
        leader.leave()
        await asyncio.wait_for(joining, 30)
        waited = waited and group.leads
        group.leave()
        return waited

    assert asyncio.run(late())


def test_a_dead_worker_is_noticed_and_makes_the_crawl_incomplete(enter: Enter, redis_url: str):  # noqa: F811
    leader, worker = enter(), enter()
    leader.publish(b"found")
    leader.seeded()
    leader.push(0, b"a")
    worker.take(busy=False, exact=False)
    die(redis_url, worker)
    leader.take(busy=False, exact=False)
    asyncio.run(asyncio.wait_for(leader.alone(), 30))
    assert leader.drained()
    assert len(leader.lost) == 1
    assert "died" in leader.lost[0]


def test_another_one_leads_when_the_leader_died_before_it_found_anything(enter: Enter, redis_url: str):  # noqa: F811
    leader, worker = enter(), enter()
    die(redis_url, leader)
    assert asyncio.run(asyncio.wait_for(worker.found(), 30)) is None
    worker.look()
    assert worker.leads
    assert worker.lost == (), "nothing was lost with it"


def test_a_crawl_whose_workers_are_all_dead_is_not_continued(enter: Enter, redis_url: str):  # noqa: F811
    leader = enter()
    leader.push(0, b"a")
    leader.remember(b"k")
    die(redis_url, leader)
    again = enter()
    assert again.leads
    assert again.queued() == 0
    assert not again.seen(b"k")
    assert again.lost == ()


def test_faults_are_one_line_without_the_password(redis_url: str):  # noqa: F811
    assert redis_problem(redis_url) is None
    assert "redis://host:6379/0 is accepted" in (redis_problem("http://:pw@x") or "")
    assert address_of("redis://user:pw@host:1/2") == "host:1/2"
    for url in (redis_url.replace(PASSWORD, "wrong"), "redis://:wrong@127.0.0.1:9/0"):
        with pytest.raises(WorkerGroupError) as raised:
            asyncio.run(WorkerGroup(url, "a").join())
        assert str(raised.value).startswith("LLMS_REDIS_URL: Redis at 127.0.0.1:")
        assert "wrong" not in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("module", ["redis", "scrapy_redis"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, module: str):
    monkeypatch.setitem(sys.modules, module, None)
    assert redis_problem("redis://h:1/0") == (
        "setting LLMS_REDIS_URL: the extra \"redis\" is missing: pip install 'llmsspider[redis]'"
    )
