"""The download of a file that belongs to another page, by a real engine."""

from __future__ import annotations

import json
import os

from forked import fork
from loopback import loopback
from nested_downloads import LIMIT, download_parts

from llmsspider.crawler.requests import NestedDownloadError


def test_whatever_a_nested_download_raises_is_one_error_with_its_kind(tmp_path):
    accepted = []

    def answer(arrived):
        accepted.append(arrived.headers.get("accept"))
        return (
            200,
            {"Content-Type": "text/plain"},
            b"x" * 5 * LIMIT if arrived.target == "/large" else b"part",
        )

    with loopback(answer) as server:
        part, large, refused = server.url("/part"), server.url("/large"), "http://127.0.0.1:1/"
        urls = [part, large, refused, "no-scheme", "http:///no-host"]
        result = tmp_path / "result.json"
        log = tmp_path / "log.txt"
        process = fork(
            download_parts,
            urls,
            str(result),
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            env=dict(os.environ),
        )
        process.wait()
    assert result.exists(), process.log
    outcomes = json.loads(result.read_text())
    assert outcomes[part] == [
        200,
        "part",
        {"llms": {"nested": True}, "cookiejar": 7, "depth": None},
    ]
    assert accepted[0] == "text/x"
    assert outcomes[large][0] == "blocked"
    assert outcomes[large][2] == "DownloadCancelledError"
    assert outcomes[refused][0] == "network"
    assert outcomes["no-scheme"][0] == outcomes["http:///no-host"][0] == "invalid_url"


def test_the_message_is_one_line_and_never_empty():
    assert str(NestedDownloadError(OSError("refused\nat that port"))) == "refused"
    assert str(NestedDownloadError(TimeoutError())) == "TimeoutError"
