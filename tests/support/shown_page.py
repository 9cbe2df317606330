"""A server of the web page, asked as a browser asks."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from forked import ROOT, fork, run_with

QUICK = {"llmsspider.ui.app.REFRESH_SECS": 1, "llmsspider.ui.app.IDLE_SECS": 3}
"""A page is drawn again so often; usually every two seconds while something goes on, else fifteen."""


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
            with error:
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
    with tempfile.TemporaryDirectory() as output:
        process = fork(
            run_with,
            QUICK,
            "llmsspider",
            *words,
            cwd=folder,
            stdout=Path(output, "stdout"),
            stderr=Path(output, "stderr"),
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        )
        try:
            process.wait_for_log(f"http://127.0.0.1:{port}/")
            page = Shown(port)
            process.wait_until(lambda: _answers(page))
            yield page
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _answers(page: Shown) -> bool:
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        page.ask("/")
        return True
    return False
