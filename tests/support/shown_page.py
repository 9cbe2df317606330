"""A server of the web page, asked as a browser asks."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from crawling import ROOT


class Shown:
    """A server of the page, asked as a browser asks."""

    def __init__(self, port: int):
        self.host = f"127.0.0.1:{port}"

    def ask(self, path: str, data: dict | None = None, **headers: str) -> tuple[int, str, dict]:
        """The status, text and headers of an answer; `data` makes it a form."""
        body = urllib.parse.urlencode(data).encode() if data is not None else None
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = urllib.request.Request(f"http://{self.host}{path}", body, given)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=60) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), dict(error.headers)

    def send(self, path: str, **data: str) -> tuple[int, str, dict]:
        """Send a form of the page."""
        key = re.search(r'name="key" value="([^"]+)"', self.ask("/source?name=docs")[1])
        assert key
        return self.ask(path, {"key": key[1], **data}, Origin=f"http://{self.host}")


@contextlib.contextmanager
def shown(folder: Path, *options: str, **variables: str) -> Iterator[Shown]:
    """Serve the page of the stores in `folder` on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["ui", "--http", f"127.0.0.1:{port}", "-s", f"LLMS_DATA_DIR={folder / 'store'}"]
    words += ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "llmsspider", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            assert f"http://127.0.0.1:{port}/" in process.stderr.readline()
            page = Shown(port)
            while True:
                with contextlib.suppress(urllib.error.URLError, ConnectionError):
                    page.ask("/")
                    break
                assert process.poll() is None
            yield page
        finally:
            process.terminate()
