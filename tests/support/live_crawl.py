"""A real crawl that shows its live page and stands still half-way."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crawling import ROOT
from sites import html

NAMES = [f"/p{number}.html" for number in range(10)]


@dataclass
class Live:
    """A crawl that stands still half-way: three pages are held back until `go` is set."""

    process: subprocess.Popen
    port: int
    go: threading.Event
    log: Path

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def status(self) -> dict:
        return json.loads(self.ask("/status.json")[2])

    def standing(self) -> dict:
        """Wait until nothing moves but the held pages; return the state."""
        deadline = time.monotonic() + 60
        while (found := self.status())["queued"] != 3 or found["done"] < 8:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found

    def finish(self) -> str:
        self.go.set()
        assert self.process.wait(60) == 0
        return self.log.read_text()


def start(url: str, folder: Path, *options: str, stderr=None, **environment: str) -> subprocess.Popen:
    words = ["-a", f"url={url}/", "-O", "documents.jsonl", "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"]
    words += ["-s", "LLMS_CONVERT_WORKERS=0", *(word for option in options for word in ("-s", option))]
    given = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(ROOT),
        "LLMS_DATA_DIR": str(folder / "store"),
        **environment,
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "docs", *words]
    return subprocess.Popen(command, cwd=folder, env=given, stderr=stderr)


@contextmanager
def crawling(serve, folder: Path, *options: str) -> Iterator[Live]:
    go = threading.Event()

    def held(_seen) -> str:
        go.wait(60)
        return html("Held", f"<p>Late text {time.monotonic()}.</p>")

    pages = {name: html(name, f"<p>The text of {name}.</p>") for name in NAMES}
    pages |= dict.fromkeys(NAMES[:3], held)
    pages["/"] = html("Home", "".join(f"<a href='{name}'>x</a>" for name in NAMES))
    pages["/llms.txt"] = "# <img src=x onerror=alert(1)>\n\n- [Five](/p5.html)\n- [Dead](/dead.html)\n"
    site = serve(pages)
    log = folder / "log.txt"
    with log.open("w") as stderr:
        process = start(site.url, folder, "LLMS_STATUS_PORT=0", *options, stderr=stderr)
        try:
            deadline = time.monotonic() + 60
            while not (found := re.search(r"live page: http://127\.0\.0\.1:(\d+)/", log.read_text())):
                assert time.monotonic() < deadline and process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield Live(process, int(found[1]), go, log)
        finally:
            go.set()
            process.kill()
            process.wait()


def read_events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, dict]]:
    """Yield the name and the data of each event, up to the last one."""
    name = ""
    while name != "end":
        name = answer.readline().decode().strip().removeprefix("event: ")
        assert name, "the stream broke off"
        yield name, json.loads(answer.readline().decode().removeprefix("data: "))
        answer.readline()
