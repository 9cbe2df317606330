"""A real Redis for the tests: Debian's, in a temporary directory, on a free port of 127.0.0.1, nothing kept.

`redis_url` gives the URL of an empty database of the one server of the run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked import HANGS_SECS
from redis import Redis
from services import Shared, need

PASSWORD = "s3cret"


def start_redis(program: str, folder: Path) -> dict[str, Any]:
    """Start a Redis with a password; gives its `url` without a database, and its process id `pid`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            *(program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)),
            *("--save", "", "--appendonly", "no", "--databases", "64", "--requirepass", PASSWORD),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_until_up(port, process)
    process.returncode = 0  # not ours to wait for: whoever ends it knows its id
    return {"url": f"redis://:{PASSWORD}@127.0.0.1:{port}", "pid": process.pid}


@contextlib.contextmanager
def running_redis(program: str) -> Iterator[str]:
    """A Redis with a password until the block ends; gives its URL."""
    with tempfile.TemporaryDirectory(prefix="llmsspider-redis-") as folder:
        server = start_redis(program, Path(folder))
        try:
            yield f"{server['url']}/0"
        finally:
            os.kill(server["pid"], signal.SIGTERM)
            os.waitpid(server["pid"], 0)


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + HANGS_SECS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, "redis-server did not start"
        assert time.monotonic() < deadline, "redis-server does not answer"
        time.sleep(0.05)


@pytest.fixture
def redis_url(shared: Shared, worker_id: str) -> str:
    """URL of an empty database of the Redis of the run: each process of the run has its own."""
    need("Redis")
    program = shutil.which("redis-server")
    assert program is not None
    server = shared.get("redis", lambda folder: start_redis(program, folder))
    number = 0 if worker_id == "master" else int(worker_id.removeprefix("gw"))
    url = f"{server['url']}/{number}"
    with Redis.from_url(url) as database:
        database.flushdb()
    return url


def stop_shared(shared: Shared) -> None:
    """End the Redis of the run."""
    if known := shared.started("redis"):
        os.kill(known["pid"], signal.SIGTERM)
