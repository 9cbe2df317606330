"""Answers made to exhaust the crawl: each costs its page only."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
from collections.abc import Callable

import pytest
from engine_crawl import engine_crawl
from forked import HANGS_SECS
from loopback import Answer, Arrived, loopback

from llmsspider import settings as project

OPEN = {
    "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
    "ROBOTSTXT_OBEY": False,
    "RETRY_TIMES": 0,
    "DOWNLOAD_MAXSIZE": 1_000_000,
    "DOWNLOAD_WARNSIZE": 0,
    "REDIRECT_MAX_TIMES": project.REDIRECT_MAX_TIMES,
}


def answer(arrived: Arrived) -> Answer:
    path = arrived.target.partition("?")[0]
    answers: dict[str, Callable[[], Answer]] = {
        "/large": lambda: (200, {}, b"x" * 3_000_000),
        "/bomb": lambda: (200, {"Content-Encoding": "gzip"}, gzip.compress(b"\0" * 50_000_000)),
        "/bomb-twice": lambda: (
            200,
            {"Content-Encoding": "gzip, gzip"},
            gzip.compress(gzip.compress(b"\0" * 50_000_000)),
        ),
        "/loop": lambda: (302, {"Location": "/loop"}, b""),
        "/chain": lambda: (
            302,
            {"Location": f"/chain?{int(arrived.target.partition('?')[2] or 0) + 1}"},
            b"",
        ),
        "/page": lambda: (200, {}, b"page"),
    }
    return answers[path]()


def test_large_bodies_bombs_and_redirect_loops(tmp_path):
    with loopback(answer) as server:
        urls = {
            name: server.url(f"/{name}")
            for name in ("large", "bomb", "bomb-twice", "loop", "chain", "page")
        }
        outcome = engine_crawl(tmp_path, list(urls.values()), settings=OPEN)
    kinds = {name: outcome.of(url).get("kind") for name, url in urls.items()}
    expected = {
        "large": "blocked",
        "bomb": "blocked",
        "bomb-twice": "blocked",
        "loop": "http",
        "chain": "http",
    }
    assert kinds == {**expected, "page": None}
    assert (
        len([path for path in server.paths if path.startswith("/chain")])
        == project.REDIRECT_MAX_TIMES + 1
    )
    assert len([path for path in server.paths if path == "/loop"]) == project.REDIRECT_MAX_TIMES + 1


@pytest.fixture
def raw_server():
    """A socket server that sends what the path asks for and never ends well."""
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            asked = connection.recv(65536).split(b" ")[1]
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
            if asked == b"/silent":
                over.wait(HANGS_SECS)
            elif asked == b"/half":
                connection.sendall(head + b"Content-Length: 1000\r\n\r\nhalf")
            elif asked == b"/cut":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-")
            elif asked == b"/nonsense":
                connection.sendall(b"\x00\x01\x02 nonsense\r\n\r\n")
            elif asked == b"/endless-headers":
                for _ in range(20_000):
                    connection.sendall(b"X-Header: " + b"a" * 1000 + b"\r\n")
            else:
                connection.sendall(head + b"\r\n")
                while not over.wait(0.1):
                    connection.sendall(b"drip ")

    def guarded(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the crawl hangs up, as it should
            serve(connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=guarded, args=(connection,), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    over.set()
    listener.close()


def test_servers_that_never_finish(tmp_path, raw_server):
    paths = ("/silent", "/half", "/cut", "/nonsense", "/drip", "/endless-headers")
    settings = {**OPEN, "DOWNLOAD_TIMEOUT": 1}
    outcome = engine_crawl(tmp_path, [raw_server + path for path in paths], settings=settings)
    kinds = {path: outcome.of(raw_server + path).get("kind") for path in paths}
    assert kinds == dict.fromkeys(paths, "network")


def test_the_project_bounds_what_scrapy_leaves_open():
    assert project.DOWNLOAD_MAXSIZE <= 64 * 1024 * 1024
    assert project.DOWNLOAD_TIMEOUT <= 60
    assert project.DOWNLOAD_VERIFY_CERTIFICATES is True
    assert project.TELNETCONSOLE_ENABLED is False
    assert project.REMOTE_CONTROL_ENABLED is False
    assert sorted(
        scheme for scheme, handler in project.DOWNLOAD_HANDLERS_BASE.items() if handler is None
    ) == [
        "data",
        "ftp",
        "s3",
    ]
    assert project.DOWNLOAD_HANDLERS_BASE["file"].endswith("FolderDownloadHandler")  # of one folder
