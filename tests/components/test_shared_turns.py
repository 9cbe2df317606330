"""One budget a host over machines: turns in a real PostgreSQL."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import psycopg
import pytest
from engine_crawl import EngineOutcome, engine_crawl
from loopback import Arrived, loopback
from postgresql_server import Server
from stores import NAME, Place

from llmsspider.downloadermiddlewares import turns
from llmsspider.downloadermiddlewares.turns import SharedTurns, Turns

pytestmark = pytest.mark.postgresql

NODES, PROCESSES, PAGES, DELAY = 2, 2, 6, 0.25


def page(arrived: Arrived):
    robots = f"User-agent: *\nCrawl-delay: {DELAY}\n".encode()
    return 200, {}, robots if arrived.target == "/robots.txt" else b"page"


def plain(_arrived: Arrived):
    return 200, {}, b"page"


def crawls(tmp_path, server, url: str) -> list[EngineOutcome]:
    """Crawls at the same time on machines that share no folder."""

    def crawl(number: int) -> EngineOutcome:
        folder = tmp_path / str(number)
        folder.mkdir()
        machine = tmp_path / f"tmp{number % NODES}"
        machine.mkdir(exist_ok=True)
        return engine_crawl(
            folder,
            [server.url(f"/{number}-{page}") for page in range(PAGES)],
            settings={"LLMS_ALLOW_PRIVATE_ADDRESSES": True, "LLMS_STORE_URL": url},
            environment={"TMPDIR": str(machine)},
        )

    with ThreadPoolExecutor(NODES * PROCESSES) as pool:
        return list(pool.map(crawl, range(NODES * PROCESSES)))


def test_crawls_of_two_machines_share_a_crawl_delay(tmp_path, postgresql_url):
    with loopback(page) as server:
        crawls(tmp_path, server, postgresql_url)
    assert len(server.pages) == NODES * PROCESSES * PAGES
    arrived = [request.at for request in server.requests if request.target != "/robots.txt"]
    at_least = (len(arrived) - 1) * DELAY
    assert arrived[-1] - arrived[0] >= 0.75 * at_least, (
        "the first may be late; each for itself needs half of it"
    )


def test_a_database_that_goes_is_said_once_and_used_when_it_is_back(
    tmp_path, own_postgresql: Server, caplog, monkeypatch
):
    monkeypatch.setattr(turns, "AWAY_SECS", 0.2)

    async def scenario() -> None:
        one, two = (
            SharedTurns(Turns(tmp_path / name / "turns.sqlite"), url) for name in ("one", "two")
        )
        assert await one.reserve("e.com", 60, monotonic()) <= monotonic()
        assert await two.reserve("e.com", 60, monotonic()) >= monotonic() + 50, (
            "the turn of another machine counts"
        )
        await one.reserve("e.com", 0, monotonic() + 600)
        await one.reserve("e.com", 0, monotonic() + 6)
        own_postgresql.stop()
        began = monotonic()
        assert await one.reserve("e.com", 60, monotonic()) >= began + 500, "the pause holds"
        assert await one.reserve("e.com", 60, monotonic()) >= began + 620, (
            "the turns of the machine, at half the pace: another machine may go on"
        )
        assert await one.reserve("other.com", 60, monotonic()) <= monotonic()
        assert "shared on this machine only" in caplog.text
        own_postgresql.start()
        await asyncio.sleep(0.3)
        assert await one.reserve("e.com", 60, monotonic()) <= monotonic(), (
            "a crash empties the table, which has no log"
        )
        assert await one.reserve("e.com", 60, monotonic()) >= monotonic() + 50
        assert await two.reserve("e.com", 60, monotonic()) >= monotonic() + 100, (
            "a cut connection is made anew"
        )
        assert [one.name for one in caplog.records].count(turns.logger.name) == 1
        await one.close()
        await two.close()

    url = f"{own_postgresql.url}/postgres"
    asyncio.run(scenario())


def test_a_pause_is_for_all_machines_and_a_store_is_made_beside_the_turns(tmp_path, postgresql_url):
    async def scenario() -> None:
        one, two = (SharedTurns(Turns(tmp_path / name), postgresql_url) for name in ("one", "two"))
        await one.reserve("e.com", 0, monotonic() + 600)
        await two.reserve("e.com", 0, monotonic() + 6)
        assert monotonic() + 500 < await two.reserve("e.com", 1, monotonic()) <= monotonic() + 600
        await one.reserve("e.com", 0, monotonic() + 1e6)
        assert await two.reserve("e.com", 1, monotonic()) <= monotonic(), (
            "nobody waits for ever for what went wrong"
        )
        await one.close()
        await two.close()

    asyncio.run(scenario())
    with Place(postgresql_url, tmp_path).open() as store:
        assert store.source_record().name == NAME


@pytest.mark.parametrize("answers", [False, True], ids=["nobody listens", "it never answers"])
def test_a_database_that_is_away_holds_up_no_crawl(tmp_path, answers):
    with socket.socket() as database, loopback(page) as paced, loopback(plain, "127.0.0.2") as free:
        database.bind(("127.0.0.1", 0))
        if answers:
            database.listen()
        outcome = engine_crawl(
            tmp_path,
            [server.url(f"/{number}") for number in range(4) for server in (paced, free)],
            settings={
                "LLMS_ALLOW_PRIVATE_ADDRESSES": True,
                "LLMS_STORE_URL": f"postgresql://u:secret@127.0.0.1:{database.getsockname()[1]}/none",
            },
        )
    assert (len(paced.pages), len(free.pages)) == (4, 4)
    (line,) = (line for line in outcome.log.splitlines() if "LLMS_STORE_URL" in line)
    assert "until it answers the pace of hosts is shared on this machine only" in line
    assert "secret" not in outcome.log
    if answers:
        assert max(one.at for one in free.requests) < paced.requests[-1].at, (
            "hosts without turns go on"
        )


def test_a_slow_database_never_makes_a_machine_faster(tmp_path, postgresql_url, monkeypatch):
    """Its table is locked for a while: the turn that it gave before counts, and when it is back the pace stays slow."""
    monkeypatch.setattr(turns, "ANSWER_SECS", 60)
    monkeypatch.setattr(turns, "AWAY_SECS", 0.1)

    async def scenario() -> None:
        one = SharedTurns(Turns(tmp_path / "turns.sqlite"), postgresql_url)
        first = await one.reserve("e.com", 100, monotonic())
        with psycopg.connect(postgresql_url) as holding:
            holding.execute("LOCK TABLE llmsspider.turn IN ACCESS EXCLUSIVE MODE")
            monkeypatch.setattr(turns, "ANSWER_SECS", 0.5)
            second = await one.reserve("e.com", 100, monotonic())
            assert second >= first + 200
        await asyncio.sleep(0.2)
        monkeypatch.setattr(turns, "ANSWER_SECS", 60)
        monkeypatch.setattr(turns, "AWAY_SECS", 600)  # another machine may be without it so long
        third, fourth = [await one.reserve("e.com", 100, monotonic()) for _ in range(2)]
        assert third >= first + 95
        assert fourth >= third + 195
        monkeypatch.setattr(turns, "AWAY_SECS", 0.1)
        fifth, sixth = [await one.reserve("e.com", 100, monotonic()) for _ in range(2)]
        assert sixth < fifth + 150
        await one.close()

    asyncio.run(scenario())


def test_while_answers_are_late_the_slower_pace_holds(tmp_path, postgresql_url, monkeypatch):
    monkeypatch.setattr(turns, "SLOW_SECS", -1.0)

    async def scenario() -> None:
        one = SharedTurns(Turns(tmp_path / "turns.sqlite"), postgresql_url)
        first, second, third = [await one.reserve("e.com", 100, monotonic()) for _ in range(3)]
        assert second >= first + 95
        assert third >= second + 195
        await one.close()

    asyncio.run(scenario())


def test_while_a_database_is_slow_two_machines_send_no_more_than_one_should(tmp_path, monkeypatch):
    """Each keeps twice the distance on its own clock, so that both together keep that of the host."""
    monkeypatch.setattr(turns, "ANSWER_SECS", 0.1)
    sent: list[float] = []

    async def machine(number: int, url: str) -> None:
        shared = SharedTurns(Turns(tmp_path / f"turns{number}.sqlite"), url)
        try:
            sent.extend([await shared.reserve("e.com", 1.0, monotonic()) for _ in range(5)])
        finally:
            await shared.close()

    async def scenario(url: str) -> None:
        await asyncio.gather(machine(1, url), machine(2, url))

    with socket.socket() as database:
        database.bind(("127.0.0.1", 0))
        database.listen()
        asyncio.run(scenario(f"postgresql://u@127.0.0.1:{database.getsockname()[1]}/none"))
    seconds = max(sent) - min(sent)
    assert len(sent) - 2 <= seconds, (
        "ten turns of a host that gets one a second take eight and more"
    )
