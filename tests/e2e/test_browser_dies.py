"""A browser that dies in the middle of a crawl."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from chromium import browser, draw, processes, shell  # noqa: F401  # the fixture is autouse
from site_server import Reply
from sites import html

pytestmark = pytest.mark.browser


def test_a_browser_that_dies_is_started_again_and_no_page_is_lost(serve, run_crawl, tmp_path):
    died = threading.Event()

    def kill_the_browser(_seen):
        """Kill every process of the browser while a page waits for this script."""
        for pid, line in processes(tmp_path).items():
            if "chrom" in line.partition(" ")[0] and not died.is_set():
                os.kill(pid, signal.SIGKILL)
        died.set()
        return Reply("", content_type="text/javascript")

    names = ("one", "two", "three", "four")
    links = "".join(f"<a href='/{name}'>x</a> " for name in names)
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links}"),
            **{f"/{name}": shell(draw(name.title())) for name in names},
            "/two": shell(draw("Two"), "<script src='/kill.js'></script>"),
            "/kill.js": kill_the_browser,
        }
    )
    settings = {"PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    outcome = run_crawl(f"{site.url}/", settings=settings)
    assert died.is_set()
    assert outcome.exit_code == 0
    assert set(outcome.by_path(site.url)) == {"/", *(f"/{name}" for name in names)}
    assert outcome.stats["playwright/browser_count"] >= 2, (
        "on a busy machine a browser may die by itself too"
    )
