"""A real crawl that shows its live page and stands still half-way."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawling import begin_crawl
from forked import HANGS_SECS, Forked
from sites import html

NAMES = [f"/p{number}.html" for number in range(10)]


@dataclass
class Live:
    """A crawl that stands still half-way: three pages are held back until `go` is set."""

    process: Forked
    port: int
    go: threading.Event

    def ask(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS_SECS)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return (
                answer.status,
                {key.lower(): value for key, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()

    def status(self) -> dict:
        return json.loads(self.ask("/status.json")[2])

    def standing(self) -> dict:
        """Wait until nothing moves but the held pages; return the state."""

        def found() -> dict:
            status = self.status()
            run = status["run"]
            return status if run["queued"] == 3 and run["done"] >= 8 else {}

        return self.process.wait_until(found)

    def finish(self) -> str:
        self.go.set()
        assert self.process.wait() == 0
        return self.process.log


@contextmanager
def crawling(serve, folder: Path, **settings: Any) -> Iterator[Live]:
    go = threading.Event()

    def held(name: str) -> Callable[[object], str]:
        def page(_seen: object) -> str:
            go.wait(HANGS_SECS)
            return html("Held", f"<p>Late text of {name}.</p>")

        return page

    pages = {name: html(name, f"<p>The text of {name}.</p>") for name in NAMES}
    pages |= {name: held(name) for name in NAMES[:3]}
    pages["/"] = html("Home", "".join(f"<a href='{name}'>x</a>" for name in NAMES))
    pages["/llms.txt"] = (
        "# <img src=x onerror=alert(1)>\n\n- [Five](/p5.html)\n- [Dead](/dead.html)\n"
    )
    process = begin_crawl(
        f"{serve(pages).url}/", folder, settings={"LLMS_STATUS_PORT": 0, **settings}
    )
    try:
        found = process.wait_until(
            lambda: re.search(r"live page: http://127\.0\.0\.1:(\d+)/", process.log)
        )
        yield Live(process, int(found[1]), go)
    finally:
        go.set()
        process.kill()
