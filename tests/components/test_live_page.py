"""The live page's server during a real crawl: what it serves, what it refuses, when it is off."""

from __future__ import annotations

import itertools
import json
import re
import signal
from pathlib import Path

import pytest
from crawling import begin_crawl
from live_crawl import crawling
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from pydantic import TypeAdapter
from sites import html
from terminal import in_terminal

from llmsspider.output.report import RunData


def test_status_tells_how_far_the_crawl_is(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path) as live:
        told = live.standing()
        found = told["run"]
        assert found["phase"] == "crawling"
        assert found["documents"] == 8  # home and seven pages
        assert found["done"] == found["documents"] + found["errors"]["count"]
        assert found["total"] == found["done"] + 3
        assert found["percent"] == found["done"] * 100 // found["total"]
        assert found["discovered_file_type"] == "llms.txt"
        assert [file["entries"] for file in told["discovery"]["files"]] == [2]
        assert {one["kind"] for one in found["errors"]["urls"]} == {"not_found"}
        assert found["state"] == "going"
        assert len(told["recent"]) == 8
        assert TypeAdapter(RunData).validate_json(json.dumps(told), strict=True).run.queued == 3
        _, headers, text = live.ask("/metrics")
        assert (
            headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        )
        samples = {one.name: one for family in openmetrics(text.decode()) for one in family.samples}
        assert samples["llmsspider_pages_done"].value == found["done"]
        assert samples["llmsspider_requests"].value >= found["done"]
        assert samples["llmsspider_complete"].value == 0
        assert "llmsspider_finished_timestamp_seconds" not in samples
        log = live.finish()
    assert "ERROR" not in log


def test_the_page_loads_itself_again_and_becomes_the_report(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path, LLMS_REPORT="out") as live:
        live.standing()
        status, _, page = live.ask("/")
        assert (status, b'data-refresh="1"' in page) == (200, True)
        assert b"<progress " in page
        assert b"/dead.html" in page
        assert live.ask("/report.html")[0] == 404
        live.go.set()
        while b"data-refresh" in page:
            page = live.ask("/")[2]
        status, _, report = live.ask("/report.html")
        live.finish()
    assert (status, report) == (200, (tmp_path / "out" / "report.html").read_bytes())
    assert page == report


def test_without_a_report_the_last_page_says_how_it_ended(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path) as live:
        live.standing()
        page = live.ask("/")[2]
        live.go.set()
        while b"data-refresh" in page:
            page = live.ask("/")[2]
        live.finish()
    assert b">complete</span>" in page
    assert b"11 (html 11)" in page


def test_strangers_are_refused(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path) as live:
        own = f"127.0.0.1:{live.port}"
        strangers = (
            {"Host": "evil.example"},
            {"Host": f"evil.example:{live.port}"},
            {"Host": "127.0.0.1:1"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Host": own, "Sec-Fetch-Site": "cross-site"},
            {"Host": own, "Sec-Fetch-Site": "same-site"},
        )
        for path, headers in itertools.product(
            ("/", "/status.json", "/metrics", "/assets/ui.css", "/report.html"), strangers
        ):
            assert live.ask(path, **headers)[0] == 403, (path, headers)


def test_it_is_read_only_and_says_what_a_page_may_do(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path) as live:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert live.ask("/status.json", method)[0] == 405
        assert live.ask("/../../etc/passwd")[0] == 404
        assert live.ask("/", Host=f"localhost:{live.port}")[0] == 200
        status, headers, body = live.ask("/", Origin=f"http://127.0.0.1:{live.port}")
        assert status == 200
        assert "access-control-allow-origin" not in headers
        assert "connect-src 'self'" in headers["content-security-policy"]
        assert "script-src 'self';" in headers["content-security-policy"]
        assert b"<script>" not in body
        assert headers["x-frame-options"] == "DENY"
        assert re.findall(rb"(?:src|<link[^>]* href)=\"([^\"]*)", body) == [
            b"data:,",
            b"/assets/ui.css",
            b"/assets/ui.js",
        ]
        for name in ("ui.css", "ui.js"):
            assert live.ask(f"/assets/{name}")[0] == 200
        for name in ("ui.html.j2", "base.html.j2", "%2e%2e%2f__init__.py"):
            assert live.ask(f"/assets/{name}")[0] == 404


def test_without_a_terminal_it_is_off(serve, tmp_path: Path) -> None:
    process = begin_crawl(serve({"/": html("Home", "<p>Text.</p>")}).url, tmp_path)
    process.wait()
    log = process.log
    assert "live page" not in log
    assert "LivePage" not in log.partition("Enabled extensions")[2].partition("]")[0]


@pytest.mark.parametrize(
    ("settings", "environment", "on"),
    [
        ({}, {}, True),
        ({"LLMS_STATUS_PORT": "off"}, {}, False),
        ({}, {"SCRAPY_JOB": "1"}, False),
        ({}, {"SHUB_JOBKEY": "1/2/3"}, False),
    ],
    ids=["in a terminal", "switched off", "under Scrapyd", "on Scrapy Cloud"],
)
def test_in_a_terminal_it_is_on_unless_it_is_a_job(
    serve, tmp_path: Path, settings, environment, on
) -> None:
    url = serve({"/": html("Home", "<p>Text.</p>")}).url
    env = {"TERM": "dumb", **environment}
    code, shown = in_terminal(
        lambda terminal: begin_crawl(url, tmp_path, settings=settings, stderr=terminal, env=env)
    )
    assert code == 0
    assert ("live page: http://127.0.0.1:76" in shown) is on


def test_taken_ports_are_said_and_the_crawl_goes_on(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path) as live:
        other = tmp_path / "other"
        other.mkdir()
        site = serve({"/": html("Home", "<p>Text.</p>")})
        process = begin_crawl(site.url, other, settings={"LLMS_STATUS_PORT": live.port})
        assert process.wait() == 0
    assert f"no live page: the ports {live.port} to {live.port} are taken" in process.log


def test_ctrl_c_is_the_last_state_too(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path) as live:
        live.standing()
        page = live.ask("/")[2]
        live.process.send_signal(signal.SIGINT)
        live.go.set()
        while b"data-refresh" in page:
            page = live.ask("/")[2]
        live.process.wait()
    assert b"stopped, not complete</span>" in page


def test_a_wrong_port_is_said(tmp_path: Path) -> None:
    process = begin_crawl("http://127.0.0.1:9", tmp_path, settings={"LLMS_STATUS_PORT": "many"})
    assert process.wait() == 2
    assert (
        "setting LLMS_STATUS_PORT='many': accepted are auto, off, a port, and a range"
        in process.log
    )
