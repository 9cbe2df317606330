"""Sites that are empty without JavaScript, crawled with a real Chromium."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from datetime import timedelta

import pytest
from chromium import browser, draw, js_site, processes, shell  # noqa: F401  # the fixture is autouse
from crawling import begin_crawl
from forked import HANGS_SECS
from signatures import Verifier, guard
from site_server import Reply
from sites import PLAIN, html

from llmsspider.web.credentials import Signer, new_key

pytestmark = pytest.mark.browser

SETTLES = {"llmsspider.browser.page_load.IDLE_TIMEOUT_SECS": 2.0}
"""So long is waited for a page that does not come to rest; usually 15 seconds."""

READS = {"llmsspider.browser.page_load.MAX_READS": 50}
PATIENCE = {
    "DOWNLOAD_TIMEOUT": HANGS_SECS,
    "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": HANGS_SECS * 1000,
}
"""A page whose scripts are stopped has all the time that a busy machine may need."""

NOTICE = "This is a notice of clearly more than forty characters."
WORKS = """
for (;;) {
  await null;
  app.append(document.createElement('p'));
  fetch('/data.json?' + Math.random());
  for (const ends = performance.now() + 20; performance.now() < ends; );
}
"""
"""A script that changes the page all the time, and leaves it no time to answer anything."""

PAGES = {"/", "/guide/install", "/reference/flock", "/reference/nest", "/reference/roost"}
FLOCK = (
    "# flock\n\nStarts workers and watches over them.\n\n| Option | Meaning |\n| --- | --- |\n"
    "| `--size` | how many workers |\n| `--quiet` | no log |\n\nSee [roost]({base}/reference/roost).\n"
)


def test_a_site_built_with_a_framework_is_drawn_and_its_links_followed(serve, run_crawl):
    """A recrawl asks the browser again; without one it keeps what is stored."""
    site = serve(js_site())
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == PAGES
    assets = [path for path in site.paths() if path.endswith((".js", ".css"))]
    loads = max(assets.count(path) for path in assets)
    assert loads < len(PAGES), "a page loads what others share, unless they do so at the same time"
    assert {document["origin"] for document in outcome.documents} == {"rendered"}
    assert documents["/reference/flock"]["content"] == FLOCK.replace("{base}", site.url)
    assert "```sh\ntern fetch --all\ntern nest build\n```" in documents["/guide/install"]["content"]
    assert documents["/reference/roost"]["depth"] == 2
    # /old-install, which its script leads away from
    assert outcome.stats["llms/filtered/redirect"] == 1
    assert outcome.stats["llms/rendering/pages"] == len(PAGES) + 1
    assert outcome.stats["playwright/browser_count"] == 1
    assert {seen.headers["user-agent"] for seen in site.requests} == {
        site.requests[0].headers["user-agent"]
    }
    assert "/plumage.png" not in site.paths()

    site.pages["/api/nest.json"] = Reply(
        '{"title": "nest", "text": "Builds.", "options": []}', content_type="application/json"
    )
    again = run_crawl(f"{site.url}/", arguments={"allow": "/reference/{flock,nest}"})
    assert {path: document["change"] for path, document in again.by_path(site.url).items()} == {
        "/reference/flock": "unchanged",
        "/reference/nest": "changed",
    }
    assert again.stats["llms/rendering/pages"] == 1, "what the others are drawn from is as it was"

    without = run_crawl(f"{site.url}/", arguments={"render": "never"})
    assert {document["change"] for document in without.documents} == {"unchanged"}
    assert set(without.by_path(site.url)) == PAGES


def test_the_requests_of_the_browser_are_signed_too(serve, run_crawl, tmp_path):
    key, private = new_key()
    (tmp_path / "key.json").write_text(json.dumps(private))
    agent = "https://bot.example.org/"
    site = serve(js_site())
    problems = guard(
        site, Verifier(Signer(key, agent).directory(agent, timedelta(days=1))[0], agent)
    )
    outcome = run_crawl(
        f"{site.url}/",
        settings={"LLMS_SIGN_KEY": str(tmp_path / "key.json"), "LLMS_SIGN_AGENT": agent},
    )
    assert not problems
    assert set(outcome.by_path(site.url)) == PAGES
    assert {document["origin"] for document in outcome.documents} == {"rendered"}
    assert any(path.startswith(("/assets/", "/api/")) for path in site.paths())
    assert "/plumage.png" not in site.paths()


DRAWN_FROM_DATA = """
const of = location.pathname.slice(1) || 'index';
const data = of === 'bundled' ? {title: 'Bundled', text: 'Held by the program.'}
  : await (await fetch(`/data/${of}.json`)).json();
app.innerHTML = `<h1>${data.title}</h1><p>${data.text}</p>` + (data.links ?? [])
  .map(link => `<a href='/${link}'>${link}</a>`).join(' ');
"""


def one_shell_for_all(*others: str) -> dict[str, Reply | str]:
    """Return the data of twelve pages, and of a start page that links to them and to others."""
    names = [f"page-{number}" for number in range(12)]
    data = {name: {"title": name, "text": f"The text of {name}."} for name in names}
    index = {"title": "Index", "text": "All pages.", "links": [*names, *others]}
    files = {"index": index} | data
    return {f"/data/{name}.json": json.dumps(file) for name, file in files.items()}


def test_a_shell_that_is_the_same_for_all_is_downloaded_for_samples(serve, run_crawl):
    site = serve(one_shell_for_all())
    site.missing = shell(DRAWN_FROM_DATA, "<meta charset=utf-8>")
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    names = [f"/page-{number}" for number in range(12)]
    assert set(documents) == {"/", *names}
    assert all(f"The text of {name[1:]}." in documents[name]["content"] for name in names)
    asked = set(names).intersection(site.paths())
    assert 0 < len(asked) < len(names) / 2


def test_a_page_that_shows_nothing_of_its_own_with_the_shell_of_others_is_downloaded(
    serve, run_crawl
):
    pages = one_shell_for_all("bundled", "served", "moved")
    served = html("Served", "<p>Made by the server, and drawn by no script.</p>")
    moved = Reply("", status=302, headers={"Location": "/served"})
    site = serve(pages | {"/served": served, "/moved": moved})
    site.missing = shell(DRAWN_FROM_DATA, "<meta charset=utf-8>")
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert len(documents) == 15
    assert documents["/served"]["origin"] == "html"
    assert "Held by the program." in documents["/bundled"]["content"]
    assert {"/bundled", "/served", "/moved"} <= set(site.paths())


def test_only_empty_shells_are_drawn(serve, run_crawl):
    site = serve({**PLAIN, "/guide/deep.html": shell(draw("Deep"))})
    outcome = run_crawl(f"{site.url}/")
    origins = {path: document["origin"] for path, document in outcome.by_path(site.url).items()}
    assert origins == {**dict.fromkeys(PLAIN, "html"), "/guide/deep.html": "rendered"}
    assert (outcome.stats["llms/rendering/pages"], outcome.stats["playwright/page_count"]) == (1, 1)


def test_no_browser_is_started_where_no_page_needs_one(serve, run_crawl):
    outcome = run_crawl(f"{serve(PLAIN).url}/")
    assert len(outcome.documents) == len(PLAIN)
    assert not [stat for stat in outcome.stats if stat.startswith(("playwright", "llms/rendering"))]


def test_render_always_draws_every_html_page_and_never_none(serve, run_crawl):
    added = html("Home", "<p>Served.</p>").replace(
        "</main>", "<p id='x'></p></main><script>x.innerText='Drawn.'</script>"
    )
    site = serve({"/": added, "/page.html": shell(draw("Page"))})
    always = run_crawl(f"{site.url}/", arguments={"render": "always"})
    assert "Drawn." in always.documents[0]["content"]
    assert always.stats["llms/rendering/pages"] == len(always.documents)
    never = run_crawl(f"{site.url}/", arguments={"render": "never", "full": "true"})
    assert "Drawn." not in never.documents[0]["content"]
    assert "playwright/page_count" not in never.stats


def test_a_script_that_leads_elsewhere_is_a_redirect_which_scope_and_robots_judge(serve, run_crawl):
    links = "".join(f"<a href='/docs/{name}'>x</a>" for name in ("inside", "outside", "forbidden"))
    site = serve(
        {
            "/robots.txt": "User-agent: *\nDisallow: /docs/secret\n",
            "/docs/": html("Docs", f"<p>Docs.</p>{links}"),
            "/docs/inside": shell("location.replace('/docs/target')"),
            "/docs/outside": shell("location.replace('/elsewhere')"),
            "/docs/forbidden": shell(
                "history.replaceState(null, '', '/docs/secret');" + draw("Secret")
            ),
            "/docs/target": shell(draw("Target")),
            "/elsewhere": html("Elsewhere", "<p>Not documentation.</p>"),
            "/docs/secret": html("Secret", "<p>Secret.</p>"),
        }
    )
    outcome = run_crawl(f"{site.url}/docs/")
    assert set(outcome.by_path(site.url)) == {"/docs/", "/docs/target"}
    assert outcome.stats["llms/filtered/redirect"] == 3
    assert outcome.stats["llms/blocked/robots"] == 1


def test_pages_that_never_end_cost_their_time_and_no_more(serve, run_crawl):
    over = threading.Event()

    def never(_seen):
        over.wait(HANGS_SECS)
        return Reply("", content_type="text/javascript")

    names = ("loops", "served", "told", "talks", "hangs", "grows", "works", "fine")
    site = serve(
        {
            "/": html(
                "Home", "<p>Home.</p>" + "".join(f"<a href='/{name}'>x</a>" for name in names)
            ),
            "/loops": shell("while (true) {}"),
            "/served": shell("while (true) {}").replace("<div", f"<p>{NOTICE}</p><div"),
            "/told": shell(draw("Told") + "setInterval(() => { while (true) {} })"),
            "/works": shell(draw("Works") + WORKS),
            "/hangs": shell(
                draw("Hangs", f"<p>{NOTICE * 4}</p>"), "<script src='/never.js' async></script>"
            ),
            "/grows": shell(
                draw("Grows") + "setInterval(() => { app.append(document.createElement('p')) }, 50)"
            ),
            "/talks": shell(
                draw("Talks")
                + "alert('hello'); window.open('/popup'); onbeforeunload = () => 'stay'"
            ),
            "/fine": shell(draw("Fine")),
            "/popup": "<h1>Popup</h1>",
            "/never.js": never,
            "/data.json": Reply("{}", content_type="application/json"),
        }
    )
    try:
        outcome = run_crawl(
            f"{site.url}/",
            settings={"RETRY_TIMES": 0} | PATIENCE,
            constants=SETTLES | READS,
        )
    finally:
        over.set()
    assert set(outcome.by_path(site.url)) == {
        "/",
        *(f"/{name}" for name in names if name != "loops"),
    }
    assert NOTICE in outcome.by_path(site.url)["/served"]["content"]
    failed, drawn_in_vain = (
        outcome.stats["llms/errors/network"],
        outcome.stats["llms/rendering/failed"],
    )
    assert (failed, drawn_in_vain, outcome.stats["llms/rendering/incomplete"]) == (1, 1, 1)


def test_pages_that_load_themselves_without_end_stay_in_the_end(serve, run_crawl):
    names = ("reloads", "circles", "refreshes")
    refresh = "<meta http-equiv='refresh' content='0'>"
    site = serve(
        {
            "/": html(
                "Home", "<p>Home.</p>" + "".join(f"<a href='/{name}'>x</a>" for name in names)
            ),
            "/reloads": shell(draw("Reloads") + "setInterval(() => location.reload(), 20)"),
            "/circles": shell(
                draw("Circles") + "setTimeout(() => { location.href = location.href }, 0)"
            ),
            "/refreshes": shell(draw("Refreshes")).replace("<head>", f"<head>{refresh}"),
        }
    )
    constants = {"llmsspider.browser.page_load.IDLE_TIMEOUT_SECS": 60.0}
    settings = {"RETRY_TIMES": 0, "DOWNLOAD_TIMEOUT": HANGS_SECS}
    documents = run_crawl(f"{site.url}/", settings=settings, constants=constants).by_path(site.url)
    assert set(documents) == {"/", *(f"/{name}" for name in names)}
    assert {documents[f"/{name}"]["origin"] for name in names} == {"rendered"}


def test_a_page_that_is_not_done_within_the_download_timeout_is_closed(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/loops'>x</a>"),
            "/loops": shell("while (true) {}"),
        }
    )
    outcome = run_crawl(f"{site.url}/", settings={"DOWNLOAD_TIMEOUT": 5, "RETRY_TIMES": 0})
    assert set(outcome.by_path(site.url)) == {"/"}
    assert (outcome.stats["llms/errors/network"], outcome.stats["llms/rendering/failed"]) == (1, 1)
    assert "llms/rendering/incomplete" not in outcome.stats


def test_without_a_browser_there_is_one_warning_and_the_crawl_goes_on(serve, run_crawl):
    script = "console.log('drawing'.repeat(20))"
    some = shell(script).replace(
        "<div id='app'></div>",
        f"<p>{NOTICE}</p><div id='app'></div>",
    )
    links = "".join(f"<a href='/{name}'>x</a>" for name in ("one", "two", "some"))
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links}"),
            "/one": shell(script),
            "/two": shell(script),
            "/some": some,
        }
    )
    outcome = run_crawl(
        f"{site.url}/",
        settings={"PLAYWRIGHT_LAUNCH_OPTIONS": '{"executable_path": "/nowhere/chromium"}'},
    )
    assert outcome.exit_code == 0
    assert set(outcome.by_path(site.url)) == {"/", "/some"}
    assert outcome.stats["llms/filtered/needs-browser"] == 2
    warnings = [
        line
        for line in outcome.log.splitlines()
        if "[llmsspider.crawler.callbacks.rendering] WARNING: " in line
    ]
    assert len(warnings) == 1
    assert "apt-get install chromium" in warnings[0]
    assert not re.search(r"Traceback|ERROR", outcome.log)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda how: how.name)
def test_no_process_outlives_the_crawl(serve, tmp_path, how):
    asked, ended = threading.Event(), threading.Event()

    def never(_seen):
        asked.set()
        ended.wait(60)
        return Reply("")

    site = serve(
        {
            "/": shell("await new Promise(() => {})", "<script src='/never.js'></script>"),
            "/never.js": never,
        }
    )
    crawl = begin_crawl(
        f"{site.url}/", tmp_path, settings={"LLMS_CONVERT_WORKERS": 2}, constants=SETTLES
    )
    try:
        crawl.wait_until(asked.is_set)
        assert sum("--type=renderer" in line for line in processes(tmp_path).values()) >= 1
        crawl.send_signal(how)
        crawl.wait()
        deadline = time.monotonic() + HANGS_SECS
        while left := processes(tmp_path):
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
    finally:
        ended.set()
        crawl.kill()
