"""A real Redis for the tests: Debian's, in a temporary directory, on a free port of 127.0.0.1, nothing kept.

`redis_url` gives the URL of an empty one. Without a Redis on the machine its tests are skipped; with
LLMSSPIDER_REQUIRE_SERVICES=1 (as in CI) they fail.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator

import pytest
from postgresql_server import missing_service

PASSWORD = "s3cret"


@contextlib.contextmanager
def running_redis(program: str) -> Iterator[str]:
    """A Redis with a password; gives its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="llmsspider-redis-") as folder:
        options = [
            "--bind",
            "127.0.0.1",
            "--port",
            str(port),
            "--dir",
            folder,
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        process = subprocess.Popen(
            [program, *options, "--requirepass", PASSWORD],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_up(port, process)
            yield f"redis://:{PASSWORD}@127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_until_up(port: int, process: subprocess.Popen[bytes], timeout_secs: float = 30) -> None:
    deadline = time.monotonic() + timeout_secs
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert process.poll() is None, "redis-server did not start"
        assert time.monotonic() < deadline, "redis-server does not answer"
        time.sleep(0.05)


@pytest.fixture
def redis_url() -> Iterator[str]:
    """URL of a Redis of the test's own."""
    program = shutil.which("redis-server")
    if program is None:
        missing_service("no Redis server is installed (apt-get install redis-server)")
        raise AssertionError
    with running_redis(program) as url:
        yield url
