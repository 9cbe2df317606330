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


FACTS = """() => Object.fromEntries([...document.querySelectorAll('.facts > div')].map(
    fact => [fact.querySelector('dt').innerText, fact.querySelector('dd').innerText]))"""


class Watched:
    """A page with everything it asked for and complained about."""

    def __init__(self, page: Page):
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def facts(self) -> dict[str, str]:
        """What the page says of the run, by name; read in one step, as the page draws itself again."""
        return await self.page.evaluate(FACTS)


async def follow(live: Live, chromium: Browser, scheme: str) -> Watched:
    """Open the page and look at it while the crawl stands still."""
    seen = Watched(await chromium.new_page(color_scheme=scheme))
    await seen.page.goto(f"http://127.0.0.1:{live.port}/")
    told = await asyncio.get_running_loop().run_in_executor(None, live.standing)
    standing = told["run"]
    of = f"{standing['done']}/{standing['total']} pages ({standing['percent']}%)"
    await seen.page.wait_for_selector(f"text={of}")
    assert (await seen.facts())["Documents"].startswith(f"{standing['documents']} (")
    assert await seen.page.get_attribute("progress", "value") == str(standing["done"])
    assert "/dead.html" in await seen.page.inner_text("#failed-not_found")
    await seen.page.click("text=requested")  # what was opened stays so
    await seen.page.wait_for_selector("details:has-text('requested')[open]")
    return seen


async def watch(live: Live) -> list[tuple[Watched, dict[str, str]]]:
    """Look at the page in each colour scheme until it is the report; returns it, and what it says."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=find_program(), chromium_sandbox=False
        )
        followed = [await follow(live, chromium, scheme) for scheme in ("light", "dark")]
        await followed[1].page.click("#pause")
        live.go.set()
        seen = followed[0]
        await seen.page.wait_for_selector("#documents")
        ended = await seen.facts()
        await asyncio.get_running_loop().run_in_executor(None, live.process.wait)
        assert await followed[1].page.locator("progress").count() == 1
        await chromium.close()
        return [(one, ended) for one in followed]


def test_the_page_shows_what_the_crawl_counts_and_asks_nobody_else(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path, LLMS_REPORT="out") as live:
        watched = asyncio.run(watch(live))
    stored = json.loads((tmp_path / "out" / "run.json").read_text())["run"]
    own = f"http://127.0.0.1:{live.port}/"
    for seen, last in watched:
        assert last["Done"] == f"{stored['done']}/{stored['total']} pages (100%)"
        assert last["Documents"] == f"{stored['documents']} (html {stored['documents']})"
        assert last["Failed"].startswith(f"{stored['errors']['count']} (")
        assert seen.complaints == []
        assert all(url.startswith((own, "data:")) for url in seen.requests)


async def look_from_disk(file: Path) -> Watched:
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=find_program(), chromium_sandbox=False
        )
        seen = Watched(await chromium.new_page())
        await seen.page.goto(file.as_uri())
        assert await seen.page.locator("#documents ~ details tbody tr").count() == 11
        assert await seen.page.evaluate("document.querySelectorAll('img, script').length") == 0
        width = await seen.page.evaluate(
            "getComputedStyle(document.querySelector('main')).maxWidth"
        )
        assert width == "1056px"  # its style is inside
        await chromium.close()
        return seen


def test_the_report_opens_from_disk(serve, tmp_path: Path) -> None:
    with crawling(serve, tmp_path, LLMS_REPORT="out") as live:
        live.finish()
    file = tmp_path / "out" / "report.html"
    seen = asyncio.run(look_from_disk(file))
    assert seen.complaints == []
    assert seen.requests == [file.as_uri()]
