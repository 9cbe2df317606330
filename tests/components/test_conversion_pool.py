"""What happens to a conversion worker costs the page it works on, and no other; a kill costs no page at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from multiprocessing import connection, forkserver
from pathlib import Path

import pytest
from worker_calls import leave_once, noted, spin, wait_once

from llmsspider.content import conversion
from llmsspider.content.conversion import (
    FEW_IN_PLACE,
    MAX_HTML_IN_PLACE,
    MAX_READ_IN_PLACE,
    ConversionPool,
    serve,
)
from llmsspider.content.conversion.processes import ProcessPool
from llmsspider.errors import ConversionError
from llmsspider.items import Digest

URL = "https://e.com/a"
FAULTS = {
    "killed, as the kernel does when memory is short": (
        signal.raise_signal,
        (signal.SIGKILL,),
        "code -9)",
    ),
    "crashed": (os.abort, (), "died (exit code -6)"),
    "left": (os._exit, (3,), "died (exit code 3)"),
    "out of memory": (bytearray, (1 << 60,), "ran out of memory"),
    "hangs": (time.sleep, (3600,), "longer than 1 s"),
    "raises": (os.stat, ("/nowhere/at all",), "FileNotFoundError"),
    "returns what nobody can send": (threading.Lock, (), "conversion failed: TypeError"),
    "is given what nobody can send": (id, (threading.Lock(),), "conversion failed: TypeError"),
}


@pytest.fixture
def pool():
    pool = ConversionPool(2, 60.0, "native")
    yield pool
    pool.close()


def html(number: int) -> bytes:
    return f"<main><p>Page {number}.</p></main>".encode()


async def pages(pool: ConversionPool, numbers: range) -> list[object]:
    """What becomes of so many pages that are converted at the same time."""
    calls = (pool.convert(html(number), URL, None) for number in numbers)
    made = await asyncio.gather(*calls, return_exceptions=True)
    return [getattr(page, "markdown", page) for page in made]


def expected(numbers: range) -> list[str]:
    return [f"Page {number}.\n" for number in numbers]


async def until(condition) -> None:
    """Wait for what another process does; the limit of the test ends it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("function", "arguments", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_page_costs_that_page(pool, function, arguments, said):
    async def convert() -> list[object]:
        pool.timeout_secs = 1.0 if function is time.sleep else 60.0
        fault = asyncio.ensure_future(pool._run(function, arguments))
        await asyncio.sleep(0)  # it is on its way, with its time limit
        pool.timeout_secs = 60.0
        return [await pages(pool, range(10)), *await asyncio.gather(fault, return_exceptions=True)]

    made, error = asyncio.run(convert())
    assert made == expected(range(10))
    assert isinstance(error, ConversionError)
    assert said in str(error)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("times", [1, 2], ids=["once", "and again"])
def test_a_busy_worker_is_killed(size, times, tmp_path):
    marker = tmp_path / "marker"

    async def convert() -> tuple[list[object], object]:
        call = asyncio.ensure_future(pool._run(wait_once, (str(marker),)))
        others = asyncio.ensure_future(pages(pool, range(20)))
        for _ in range(times):
            await until(marker.exists)
            killed = int(marker.read_text())
            if times == 2:
                marker.unlink()  # the second attempt waits too
            os.kill(killed, signal.SIGKILL)
        return await others, *await asyncio.gather(call, return_exceptions=True)

    pool = ConversionPool(size, 60.0, "native")
    with contextlib.closing(pool):
        pool.open()
        others, call = asyncio.run(convert())
    assert others == expected(range(20))
    if times == 1:
        assert isinstance(call, int) and call != int(marker.read_text())
    else:
        assert str(call) == "the conversion worker died (exit code -9)"


@pytest.mark.parametrize("size", [1, 2, 4])
def test_idle_workers_are_killed(size):
    async def convert() -> None:
        for start in range(0, 60, 20):
            numbers = range(start, start + 20)
            assert await pages(pool, numbers) == expected(numbers)
            for pid in pool.processes.pids:
                os.kill(pid, signal.SIGKILL)  # the next pages come before anybody knows

    pool = ConversionPool(size, 60.0, "native")
    with contextlib.closing(pool):
        asyncio.run(convert())


def test_a_worker_dies_at_its_start(tmp_path):
    pool = ProcessPool(2, (), partial(serve, partial(leave_once, str(tmp_path / "marker"))))

    async def call() -> list[int]:
        pool.start()
        return await asyncio.gather(*(pool.run(abs, (-number,), 60.0) for number in range(20)))

    with contextlib.closing(pool):
        assert asyncio.run(call()) == list(range(20))
    assert (tmp_path / "marker").exists()


def test_workers_that_never_start_are_an_error_of_the_page():
    pool = ProcessPool(1, (), partial(serve, partial(os._exit, 5)))
    with (
        contextlib.closing(pool),
        pytest.raises(ConversionError, match="no conversion worker starts"),
    ):
        asyncio.run(pool.run(abs, (1,), 60.0))


def test_a_worker_dies_after_it_answered(tmp_path):
    """The page is not blamed, and not converted again."""
    pool, marker = ProcessPool(1, (), partial(serve, list)), tmp_path / "marker"

    async def call() -> list[str]:
        await pool.run(abs, (1,), 60.0)
        task = asyncio.ensure_future(pool.run(noted, (str(marker), "the answer"), 60.0))
        await until(marker.exists)
        (worker,) = pool._busy
        (tmp_path / "marker.go").touch()
        connection.wait([worker._socket])  # it has answered, and nobody has read it
        os.kill(worker.process.pid, signal.SIGKILL)
        connection.wait([worker.process.sentinel])
        return [await task, await pool.run(noted, (str(marker), "another"), 60.0)]

    with contextlib.closing(pool):
        assert asyncio.run(call()) == ["the answer", "another"]
    first, second = marker.read_text().split()
    assert first != second


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_kill_at_any_moment_costs_no_page(size):
    chance = random.Random(size)

    async def convert(moment_secs: float) -> None:
        numbers = range(30)
        pool.open()
        made = asyncio.ensure_future(pages(pool, numbers))
        await asyncio.sleep(moment_secs)
        for pid in pool.processes.pids[:1]:
            os.kill(pid, signal.SIGKILL)
        assert await made == expected(numbers)

    for _ in range(5):
        pool = ConversionPool(size, 60.0, "native")
        with contextlib.closing(pool):
            asyncio.run(convert(chance.uniform(0, 0.3)))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("PPid:")[2].split()[0])


def test_the_fork_server_is_killed(pool):
    if sys.platform != "linux":
        pytest.skip("workers have no server here")

    async def convert() -> None:
        pool.open()
        assert await pages(pool, range(5)) == expected(range(5))
        (worker,) = pool.processes._idle[:1]
        for pid in (parent_of(worker.process.pid), *pool.processes.pids):
            os.kill(pid, signal.SIGKILL)
        connection.wait([worker.process.sentinel])
        assert await pages(pool, range(20)) == expected(range(20))

    asyncio.run(convert())


def test_a_fork_server_that_refuses_for_a_moment_costs_no_page(pool):
    """As one does that was killed, until its parent sees that it has ended."""
    if sys.platform != "linux":
        pytest.skip("workers have no server here")
    server = forkserver._forkserver

    async def convert() -> None:
        pool.open()
        assert await pages(pool, range(5)) == expected(range(5))
        for pid in pool.processes.pids:
            os.kill(pid, signal.SIGKILL)
        address = server._forkserver_address
        server._forkserver_address = f"{address}-refuses"
        try:
            asyncio.get_running_loop().call_later(
                0.3, setattr, server, "_forkserver_address", address
            )
            assert await pages(pool, range(20)) == expected(range(20))
        finally:
            server._forkserver_address = address

    asyncio.run(convert())


BLOCKED = """
import asyncio, signal
from functools import partial
from llmsspider.content import conversion
from llmsspider.content.conversion.processes import ProcessPool

SERVE = partial(conversion.serve, conversion.prepare)

async def main():
    pool = ProcessPool(1, ("probe", "llmsspider.content.conversion.warm"), SERVE)
    mask = await pool.run(signal.pthread_sigmask, (signal.SIG_BLOCK, ()), 60.0)
    print("worker", signal.SIGINT in mask, flush=True)
    pool.close()

asyncio.run(main())
"""


def test_ctrl_c_is_for_the_crawl_while_a_fork_server_starts(tmp_path):
    """It would show a traceback of what it imports. In a process of its own, as the next but one."""
    probe = "import signal; print('server', signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)"
    (tmp_path / "probe.py").write_text(probe)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["server True", "worker False"]


def test_the_answer_of_a_call_that_was_given_up_is_nobody_elses(pool, tmp_path):
    marker = tmp_path / "marker"

    async def convert() -> list[object]:
        call = asyncio.ensure_future(pool._run(wait_once, (str(marker),)))
        await until(marker.exists)
        call.cancel()
        made = await pages(pool, range(10))
        assert int(marker.read_text()) not in pool.processes.pids
        return made

    assert asyncio.run(convert()) == expected(range(10))


def test_closing_ends_idle_and_busy_workers(pool, tmp_path):
    marker = tmp_path / "marker"

    async def close() -> list[object]:
        pool.open()
        await pages(pool, range(10))
        call = asyncio.ensure_future(pool._run(wait_once, (str(marker),)))
        await until(marker.exists)
        ended = [
            worker.process.sentinel for worker in (*pool.processes._idle, *pool.processes._busy)
        ]
        pool.close()
        assert set(connection.wait(ended)) and all(connection.wait([end]) for end in ended)
        late = pool.convert(html(1), URL, None)
        return await asyncio.gather(call, late, return_exceptions=True)

    for error in asyncio.run(close()):
        assert isinstance(error, ConversionError)


def test_workers_hold_no_connection_of_the_crawl(pool):
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        pool.open()
        asyncio.run(pages(pool, range(10)))
        ours = {
            str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()
        }
        ours = {name for name in ours if name.startswith("socket:")}
        assert len(ours) >= 2 + len(pool.processes.pids)
        for pid in pool.processes.pids:
            theirs = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
            assert not ours & set(theirs)


ORPHAN = """
import asyncio, os, sys
from functools import partial
from llmsspider.content.conversion.processes import ProcessPool
from llmsspider.content.conversion import serve
from worker_calls import wait_once

async def main(marker):
    pool = ProcessPool(1, (), partial(serve, list))
    call = asyncio.ensure_future(pool.run(wait_once, (marker,), 1.0))
    while not os.path.exists(marker):
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), 9)

asyncio.run(main(sys.argv[1]))
"""


def test_a_worker_that_hangs_does_not_outlive_a_killed_crawl(tmp_path):
    marker = tmp_path / "marker"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", ORPHAN, str(marker)], env=environment, check=False)
    pid = int(marker.read_text())
    while _runs(pid):
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    """Say whether a process runs; one that ended and was not waited for by its new parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# --- what a worker has, and what it sends ---


READY = """
import asyncio, json
from llmsspider.content.conversion import ConversionPool
from worker_calls import missing

async def main():
    pool = ConversionPool(1, 60.0, "native")
    ours = ["llmsspider.content.extraction", "llmsspider.content.markdown"]
    modules = [*ours, "lxml.etree", "asyncio", "scrapy", "sqlalchemy"]
    print(json.dumps(await pool._run(missing, (modules,))))
    pool.close()

asyncio.run(main())
"""


def test_a_worker_is_forked_ready():
    """It has what conversion needs before its first call, and not what only the crawling process needs.

    In a process of its own: all pools of a process share one fork server.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", READY], env=environment, check=True, capture_output=True, text=True
    )
    assert json.loads(done.stdout) == ["asyncio", "scrapy", "sqlalchemy"]


def test_a_page_comes_with_what_is_derived_from_its_text(pool):
    pool._left_in_place = 0
    body = b"<main><p>How.</p><pre><code class='language-sh'>ls</code></pre></main>"
    page = asyncio.run(pool.convert(body, URL, None))
    assert page.digest == Digest.of("How.\n\n```sh\nls\n```\n", ["shell"])
    assert page.digest.content is page.markdown
    assert asyncio.run(pool.convert(b"<main></main>", URL, None)).digest is None


# --- in place ---


@pytest.mark.parametrize(
    ("characters", "starts"), [(MAX_READ_IN_PLACE, False), (MAX_READ_IN_PLACE + 1, True)]
)
def test_short_markdown_starts_no_worker(pool, characters, starts):
    text = "# A\n\n[b](/b) " + "c" * (characters - 13)
    draft = asyncio.run(pool.read_markdown(text))
    assert (draft.found.title, draft.hrefs) == ("A", {"/b"})
    assert pool.processes.has_started is starts


@pytest.mark.parametrize(
    ("length", "starts"), [(MAX_HTML_IN_PLACE, False), (MAX_HTML_IN_PLACE + 1, True)]
)
@pytest.mark.parametrize("way", ["convert", "read_metadata", "read_texts"])
def test_without_workers_short_pages_start_none(length, starts, way):
    pool = ConversionPool(0, 60.0, "native")
    with contextlib.closing(pool):
        if way == "read_texts":
            made = asyncio.run(pool.read_texts(["c" * (length - 3), "# A"]))
            assert made[1].found.title == "A"
        else:
            body = b"<title>A</title><main><p>Text.</p></main>".ljust(length)
            made = asyncio.run(getattr(pool, way)(body, URL, None))
            assert made.meta.title == "A"
        assert pool.processes.has_started is starts


@pytest.mark.parametrize(
    ("length", "starts"), [(MAX_HTML_IN_PLACE, False), (MAX_HTML_IN_PLACE + 1, True)]
)
def test_the_first_page_starts_no_worker_where_it_is_short(pool, length, starts):
    made = asyncio.run(pool.convert(html(1).ljust(length), URL, None))
    assert [made.markdown] == expected(range(1, 2))
    assert pool.processes.has_started is starts


def test_more_than_a_few_pages_start_a_worker(pool):
    few = range(FEW_IN_PLACE)
    assert asyncio.run(pages(pool, few)) == expected(few)
    assert not pool.processes.has_started
    assert asyncio.run(pages(pool, range(1))) == expected(range(1))
    assert len(pool.processes.pids) == 1


def test_the_first_page_goes_to_a_worker_where_there_are_some(pool):
    pool.open()
    asyncio.run(pool.convert(html(1), URL, None))
    assert pool.processes.pids


def test_what_takes_long_in_place_is_left_to_a_worker(monkeypatch):
    monkeypatch.setattr(conversion, "IN_PLACE_SECS", 0.05)
    pool = ConversionPool(0, 60.0, "native")
    with contextlib.closing(pool):
        assert asyncio.run(pool._run(spin, (0.0,), in_place=True)) == os.getpid()
        assert asyncio.run(pool._run(spin, (0.5,), in_place=True)) != os.getpid()
        pool.timeout_secs = 0.5
        with pytest.raises(ConversionError, match=r"longer than 0.5 s"):
            asyncio.run(pool._run(spin, (3600.0,), in_place=True))
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL


def test_errors_in_place_are_those_of_a_worker():
    pool = ConversionPool(0, 60.0, "native")
    for function, arguments, said in (FAULTS["raises"], FAULTS["out of memory"]):
        with pytest.raises(ConversionError, match=said):
            asyncio.run(pool._run(function, arguments, in_place=True))
    assert not pool.processes.has_started
