"""The live page and the report in a real Chromium, in both colour schemes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from chromium import browser  # noqa: F401  # the fixture is autouse
from live_crawl import Live, crawling
from playwright.async_api import Browser, Page, async_playwright

from llmsspider.browser.session import find_program

pytestmark = pytest.mark.browser

NUMBERS = {
    "n-done": "done",
    "n-queued": "queued",
    "n-documents": "documents",
    "n-unchanged": "unchanged",
    "n-failed": "failed",
    "n-left_out": "left_out",
}


class Watched:
    """A page with everything it asked for and complained about."""

    def __init__(self, page: Page):
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def numbers(self) -> dict[str, int]:
        texts = {
            name: await self.page.inner_text(f"#{element}") for element, name in NUMBERS.items()
        }
        return {name: int(text.replace(",", "")) for name, text in texts.items()}


async def follow(live: Live, chromium: Browser, scheme: str) -> Watched:
    """Open the page and look at it while the crawl stands still."""
    seen = Watched(await chromium.new_page(color_scheme=scheme))
    await seen.page.goto(f"http://127.0.0.1:{live.port}/")
    standing = await asyncio.get_running_loop().run_in_executor(None, live.standing)
    await seen.page.wait_for_function(
        "total => document.getElementById('of').textContent.endsWith(`of ${total} pages`)",
        arg=standing["total"],
    )
    assert await seen.numbers() == {name: standing[name] for name in NUMBERS.values()}
    assert await seen.page.inner_text("#percent") == f"{standing['percent']}%"
    assert await seen.page.get_attribute("#bar", "aria-valuenow") == str(standing["percent"])
    await seen.page.wait_for_selector("#error-list li")
    assert "/dead.html" in await seen.page.inner_text("#error-list")
    return seen


async def end(seen: Watched) -> tuple[dict[str, int], Watched]:
    """Look at the page after the end of the crawl, and at the report it links."""
    last = await seen.numbers()
    assert await seen.page.inner_text("#phase") == "complete"
    async with seen.page.expect_popup() as opened:
        await seen.page.click("#report")
    report = Watched(await opened.value)
    await report.page.wait_for_selector("#rows tr")
    assert await report.page.inner_text("#shown") == "11 of 11"
    await report.page.fill("#search", "p5.html")
    assert await report.page.locator("#rows tr").count() == 1
    return last, report


async def watch(live: Live) -> list[tuple[Watched, dict[str, int], Watched]]:
    """Look at the page in each colour scheme; returns it, its last numbers and the report."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=find_program(), chromium_sandbox=False
        )
        followed = [await follow(live, chromium, scheme) for scheme in ("light", "dark")]
        live.go.set()
        for seen in followed:
            await seen.page.wait_for_selector("#report")
        await asyncio.get_running_loop().run_in_executor(None, live.process.wait)
        ended = [(seen, *await end(seen)) for seen in followed]
        await chromium.close()
        return ended


def test_the_page_shows_what_the_crawl_counts_and_asks_nobody_else(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path, LLMS_REPORT="out") as live:
        watched = asyncio.run(watch(live))
    stored = json.loads((tmp_path / "out" / "run.json").read_text())["run"]
    own = f"http://127.0.0.1:{live.port}/"
    for seen, last, report in watched:
        assert last == {
            "done": stored["done"],
            "queued": 0,
            "documents": stored["documents"],
            "unchanged": stored["unchanged"],
            "failed": stored["errors"]["count"],
            "left_out": stored["filtered"]["count"],
        }
        assert (seen.complaints, report.complaints) == ([], [])
        asked = [*seen.requests, *report.requests]
        assert all(url.startswith((own, f"blob:{own}", "data:")) for url in asked)


async def look_from_disk(file: Path) -> Watched:
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=find_program(), chromium_sandbox=False
        )
        seen = Watched(await chromium.new_page())
        await seen.page.goto(file.as_uri())
        await seen.page.wait_for_selector("#rows tr")
        await seen.page.click("#columns button >> nth=0")
        assert await seen.page.get_attribute("#columns th >> nth=0", "aria-sort") == "ascending"
        assert await seen.page.evaluate("document.querySelectorAll('img').length") == 0
        await chromium.close()
        return seen


def test_the_report_opens_from_disk(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path, LLMS_REPORT="out") as live:
        live.finish()
    file = tmp_path / "out" / "report.html"
    seen = asyncio.run(look_from_disk(file))
    assert seen.complaints == []
    assert seen.requests == [file.as_uri()]
