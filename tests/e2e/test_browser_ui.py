"""The web page in a real Chromium: a user's way through it, with whom it has to share a store."""

from __future__ import annotations

import asyncio
import threading
import urllib.parse
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from chromium import browser  # noqa: F401  # the fixture is autouse
from crawling import begin_crawl, crawl
from forked import HANGS_SECS
from playwright.async_api import Browser, Page, async_playwright
from shown_page import Shown, shown
from site_server import Site
from sites import html
from stores import Place, record

from llmsspider.browser.session import find_program
from llmsspider.ui.rendering import MAX_RENDERED

pytestmark = pytest.mark.browser

BEATS = {"llmsspider.extensions.heartbeat.HEARTBEAT_SECS": 0.5}
"""A crawl tells so often how far it is; usually every five seconds."""
AXE = Path(__file__).parents[1] / "fixtures" / "axe" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
HOSTILE = "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;\u202e"
PAGES = {
    "/": html("Home", "<p>Welcome here.</p><a href='/wait'>wait</a> <a href='/odd'>odd</a>"),
    "/wait": html(
        "Waiting",
        "<p>A request waits for thirty seconds, then it fails.</p><p class='extra'>Buy this now.</p>"
        f"<pre><code>wait --secs 30 --for {'long' * 40}</code></pre>"
        f"<table><tr><th>Option</th><th>{'Wide' * 20}</th></tr><tr><td>a</td><td>b</td></tr></table>",
    ),
    "/odd": html(HOSTILE, f"<p>Odd: {HOSTILE}</p><p><img src='https://e.com/p.png' alt='A plan'>"),
}


def look(page: Shown, steps: Callable[[Browser, str], Awaitable[None]]) -> None:
    """Take steps in a browser; the second argument is where the page is served."""

    async def run() -> None:
        async with async_playwright() as playwright:
            chromium = await playwright.chromium.launch(
                executable_path=find_program(), chromium_sandbox=False
            )
            await steps(chromium, f"http://{page.host}")
            await chromium.close()

    asyncio.run(run())


async def new_page(chromium: Browser, complaints: list[str], **options: object) -> Page:
    """A tab whose complaints, dialogs and requests to elsewhere are kept."""
    page = await chromium.new_page(**options)  # type: ignore[arg-type]
    page.set_default_timeout(1000 * HANGS_SECS)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://127.0.0.1:", "data:"))
            else complaints.append(request.url)
        ),
    )
    return page


@pytest.fixture
def site(serve, tmp_path: Path) -> Site:
    """A site that was crawled twice, with an edit in between."""
    site = serve(dict(PAGES))
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    site.pages["/wait"] = PAGES["/wait"].replace("thirty", "sixty")
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    return site


def test_a_user_adds_reads_searches_changes_and_deletes(site, serve, tmp_path):
    other = serve(
        {"/": html("Other", "<p>Another.</p><a href='/b'>b</a>"), "/b": html("B", "<p>B")}
    )
    complaints: list[str] = []

    async def steps(chromium: Browser, base: str) -> None:
        page = await new_page(chromium, complaints)
        await page.goto(base)
        await page.fill("#url", f"{other.url}/")
        await page.click("text=Look at it first")
        await page.wait_for_selector("text=What a crawl would do")
        assert "Requests expected" in await page.inner_text("main")
        await page.click("text=Crawl it")
        await page.wait_for_selector("text=2 new")  # shown without a reload
        await page.click(f"text={other.url.removeprefix('http://')}")
        await page.click("text=Crawl again")
        await page.wait_for_selector(".bar a >> nth=1")
        await page.fill("#own", "another")
        await page.press("#own", "Enter")
        await page.wait_for_selector("mark:has-text('Another')")
        await page.goto(f"{base}/source?name=docs")
        await page.click("text=Waiting")
        assert "sixty seconds" in await page.inner_text("article")
        await page.click("text=History (1)")
        assert await page.inner_text("main del") == "thirty"
        await page.click("main h2 a")
        assert await page.inner_text("main ins") == "sixty"
        await page.goto(f"{base}/source?name=docs")
        await page.click("text=What belongs to it")
        await page.fill("#block", "/odd")
        await page.fill("#drop", ".extra")
        await page.click("text=Try it")
        await page.wait_for_selector("text=would be left out")
        assert "block=/odd" in await page.inner_text("main")
        assert await page.inner_text("main del") == "Buy this now."
        await page.click("text=Save for the next crawls")
        await page.click("text=Crawl again")
        await page.wait_for_selector("text=block 1")
        await page.click("text=Waiting")
        assert "Buy this" not in await page.inner_text("article")
        await page.goto(f"{base}/source?name={urllib.parse.quote(other.url[7:])}")
        await page.click("summary:has-text('Delete this source')")
        await page.fill("#typed", other.url[7:])
        await page.click("button.danger")
        await page.wait_for_selector("h1:has-text('Sources')")
        assert other.url not in await page.inner_text("main")

    with shown(tmp_path, "--allow-crawl") as page:
        look(page, steps)
    assert complaints == []


def test_each_view_is_accessible_and_fits(site, tmp_path):
    views = ["/", "/source?name=docs", "/search?q=request", "/night?source=docs", "/nowhere"]
    views += ["/add", "/bounds?name=docs"]
    views += [
        f"/page?id={site.url}/wait&tab={tab}"
        for tab in ("read", "raw", "chunks", "links", "history")
    ]

    async def steps(chromium: Browser, base: str) -> None:
        for scheme, width in (("light", 360), ("dark", 1280)):
            context = await chromium.new_context(
                color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True
            )
            await context.add_init_script(path=AXE)
            page = await context.new_page()
            for view in views:
                await page.goto(base + view)
                found = await page.evaluate("rules => axe.run(document, { runOnly: rules })", RULES)
                faults = [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]]
                assert faults == [], (view, scheme, width)
                wide = await page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (view, scheme)

    with shown(tmp_path, "--allow-crawl") as page:
        look(page, steps)


def test_what_a_site_says_runs_and_loads_nothing(site, tmp_path):
    complaints: list[str] = []

    async def steps(chromium: Browser, base: str) -> None:
        page = await new_page(chromium, complaints)
        odd = f"/page?id={site.url}/odd"
        for view in ("/source?name=docs", "/search?q=alert", "/night?source=docs&since=0", odd):
            await page.goto(base + view)
            assert "<script>alert(1)" in await page.inner_text("main")
            assert await page.locator("main script, main img").count() == 0
        assert complaints == []
        await page.click("text=Load them from their site")
        await page.wait_for_selector("main img")

    with shown(tmp_path) as page:
        look(page, steps)
    assert "https://e.com/p.png" in complaints


def test_a_crawl_of_another_process_is_seen_in_two_tabs(serve, tmp_path):
    go = threading.Event()

    def held(_seen: object) -> str:
        go.wait(HANGS_SECS)
        return html("Held", "<p>Late text.</p>")

    pages = {"/": html("Home", "<p>Text.</p><a href='/a'>a</a> <a href='/b'>b</a>")}
    site = serve({**pages, "/a": html("A", "<p>A.</p>"), "/b": held})
    complaints: list[str] = []

    async def steps(chromium: Browser, base: str) -> None:
        first = await new_page(chromium, complaints)
        second = await new_page(chromium, complaints)
        await first.goto(base)
        process = begin_crawl(
            f"{site.url}/", tmp_path, words=("-a", "source=docs"), constants=BEATS
        )
        await first.wait_for_selector(".state.going")  # nobody loaded the page again
        await second.goto(f"{base}/source?name=docs")
        await second.wait_for_selector("text=html 2")
        assert await second.get_attribute("progress", "value") < await second.get_attribute(
            "progress", "max"
        )
        go.set()
        await asyncio.get_running_loop().run_in_executor(None, process.wait)
        await second.wait_for_selector("text=(100%)")
        await first.wait_for_selector("text=3 new")

    try:
        with shown(tmp_path) as page:
            look(page, steps)
    finally:
        go.set()
    assert complaints == []


def test_a_crawl_of_another_process_is_stopped_and_its_source_deleted_in_two_tabs(serve, tmp_path):
    go = threading.Event()

    def held(_seen: object) -> str:
        go.wait(HANGS_SECS)
        return html("Held", "<p>Late text.</p>")

    pages = {f"/{number}": html(f"Page {number}", f"<p>Of {number}.</p>") for number in range(5)}
    links = "".join(f"<a href='/{number}'>x</a> " for number in range(5))
    site = serve({"/": html("Home", f"<p>Text.</p>{links}"), **pages})
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    for path in pages:
        site.pages[path] = held

    async def steps(chromium: Browser, base: str) -> None:
        first = await new_page(chromium, [])
        second = await new_page(chromium, [])
        for tab in (first, second):
            await tab.goto(f"{base}/source?name=docs")
        await second.click("#pause")
        process = begin_crawl(
            f"{site.url}/", tmp_path, words=("-a", "source=docs"), constants=BEATS
        )
        await first.wait_for_selector(".state.going")  # nobody loaded the page again
        await second.click("text=Crawl again")  # which this tab still shows
        assert "is running" in await second.inner_text(".notice")
        await second.goto(f"{base}/source?name=docs")
        await second.click("summary:has-text('Delete this source')")
        await second.fill("#typed", "docs")
        await second.click("button.danger")
        assert "stop that first" in await second.inner_text(".notice")
        await second.goto(f"{base}/source?name=docs")
        await first.click("button:has-text('Stop')")
        await second.wait_for_selector(".state:has-text('stopping')")
        await second.click("#pause")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, process.wait_for_log, "another process asked for it")
        go.set()
        await loop.run_in_executor(None, process.wait)
        await first.wait_for_selector(".state:has-text('stopped, not complete')")
        await first.wait_for_selector("text=Crawl again")
        await second.click("button:has-text('Stop')")  # which this tab still shows
        assert "has ended" in await second.inner_text(".notice")
        await first.goto(f"{base}/source?name=docs")
        await first.click("summary:has-text('Delete this source')")
        await first.fill("#typed", "docs")
        await first.click("button.danger")
        await first.wait_for_selector("text=Nothing has been crawled yet")
        await second.goto(f"{base}/source?name=docs")
        assert "no source is called" in await second.inner_text(".notice")

    try:
        with shown(tmp_path, "--allow-crawl") as page:
            look(page, steps)
    finally:
        go.set()


def test_fifty_sources_and_a_page_of_four_megabytes(tmp_path):
    place = Place(None, tmp_path / "store")
    text = "# Big\n\n" + "".join(
        f"Line {number} of a *long* page.\n\n" for number in range(140_000)
    )
    assert len(text) > 4_000_000
    for number in range(50):
        with place.open(f"source-{number}") as store:
            run = store.begin_run("crawl", {})
            store.save_page(
                record("big", text if number == 0 else f"# Page\n\nOf {number}.\n"), "new"
            )
            counts = {"changes": {"new": 1}}
            store.finish_run("finished", complete=True, why=None, counts=counts)
            assert run.id
    complaints: list[str] = []

    async def steps(chromium: Browser, base: str) -> None:
        page = await new_page(chromium, complaints, java_script_enabled=False)
        await page.goto(base)
        assert await page.locator("tbody tr").count() == 50
        await page.click("text=source-0 >> nth=0")
        await page.click("main ul.pages a")
        await page.wait_for_load_state()
        assert f"The first {MAX_RENDERED:,} characters" in await page.inner_text("main")
        assert await page.locator("article p").count() > 1000
        await page.click("nav.tabs >> text=Markdown")
        await page.wait_for_load_state()  # what is large comes in parts
        assert "Line 139999 of" in await page.inner_text("pre")

    with shown(tmp_path) as page:
        look(page, steps)
    assert complaints == []


def test_search_by_keyboard_alone_and_without_a_script(site, tmp_path):
    complaints: list[str] = []

    async def steps(chromium: Browser, base: str) -> None:
        for with_script in (True, False):
            page = await new_page(chromium, complaints, java_script_enabled=with_script)
            await page.goto(base)
            await page.keyboard.press("Tab")
            assert await page.locator(":focus").inner_text() == "Skip to the content"
            for _ in range(2):
                await page.keyboard.press("Tab")
            await page.keyboard.type("request")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("mark")
            assert "sixty seconds" in await page.inner_text(".results")
        await page.close()
        typed = await new_page(chromium, complaints)
        await typed.goto(f"{base}/search")
        await typed.type("#query", "welcome")
        await typed.wait_for_selector("mark:has-text('Welcome')")  # as one types

    with shown(tmp_path) as page:
        look(page, steps)
    assert complaints == []
