"""Nights on which a site answers in part only: nothing is deleted, and everybody can see that the run is not whole."""

from __future__ import annotations

import json
from collections import Counter

from crawling import command
from site_server import Reply
from sites import html

NAMES = [f"/p{index}.html" for index in range(20)]
FORBIDDEN = Reply("<html><body>Access denied</body></html>", 403)
DOWN = Reply("<html><body>Down</body></html>", 503)
QUICK = {"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0}


def pages() -> dict:
    made = {name: html(f"Page {name[2:-5]}", f"<p>The text of {name}.</p>") for name in NAMES}
    return {
        "/": html("Home", "<p>Welcome.</p>" + "".join(f"<a href='{name}'>x</a>" for name in NAMES)),
        **made,
    }


def changes(outcome, base: str) -> dict[str, str]:
    return {
        document["url"].removeprefix(base): document["change"] for document in outcome.documents
    }


def test_a_wall_before_a_part_of_the_site_makes_the_run_incomplete(serve, run_crawl, tmp_path):
    site = serve(pages())
    first = run_crawl(f"{site.url}/", settings=QUICK)
    assert first.exit_code == 0
    site.pages.update(dict.fromkeys(NAMES[:6], FORBIDDEN))
    del site.pages[NAMES[7]]
    night = run_crawl(f"{site.url}/", settings={**QUICK, "LLMS_REPORT": tmp_path / "report"})
    why = "6 of 20 pages failed (auth 6)"
    assert night.exit_code == 3
    assert any(f": incomplete ({why}), " in line for line in night.lines), night.lines
    assert changes(night, site.url) == dict.fromkeys(["/", *NAMES], "unchanged"), (
        "what is gone waits too"
    )
    told = json.loads((tmp_path / "report" / "run.json").read_text())["run"]
    assert (told["complete"], told["why"], told["outage"]) == (False, why, why)
    store = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    status = json.loads(
        command("status", site.url.removeprefix("http://"), "--json", *store, cwd=tmp_path).stdout
    )
    assert status["run"]["outage"] == why
    most = {"llmsspider.crawler.run.MAX_FAILED_SHARE": 0.5}
    waits, some = [run_crawl(f"{site.url}/", settings=QUICK, constants=most) for _ in range(2)]
    assert set(changes(waits, site.url).values()) == {"unchanged"}, (
        "it is linked: the second night decides"
    )
    assert some.exit_code == 0, "the share says how many may fail"
    assert Counter(changes(some, site.url).values()) == {"unchanged": 20, "deleted": 1}


def test_a_start_page_that_fails_does_not_end_the_night(serve, run_crawl):
    site = serve(pages())
    run_crawl(f"{site.url}/", settings=QUICK)
    site.pages["/"] = DOWN
    site.pages[NAMES[3]] = html("Page 3", "<p>Edited.</p><a href='/new.html'>new</a>")
    site.pages["/new.html"] = html("New", "<p>New.</p>")
    del site.pages[NAMES[4]]
    night = run_crawl(f"{site.url}/", settings=QUICK)
    assert night.exit_code == 3
    expected = dict.fromkeys(["/", *NAMES], "unchanged") | {NAMES[3]: "changed", "/new.html": "new"}
    assert changes(night, site.url) == expected
    site.pages["/"] = Reply("<html><body>Nothing here</body></html>", 404)
    gone = run_crawl(f"{site.url}/", settings=QUICK)
    assert gone.exit_code == 0, "a start page that is gone is no outage"
    assert "deleted" not in changes(gone, site.url).values(), (
        "nobody saw links: the second night decides"
    )
    now = changes(run_crawl(f"{site.url}/", settings=QUICK), site.url)
    assert {path for path, change in now.items() if change == "deleted"} == {"/", NAMES[4]}
    assert len(now) == 22


def test_a_site_that_is_down_is_not_asked_for_every_page(serve, run_crawl):
    site = serve(pages())
    run_crawl(f"{site.url}/", settings=QUICK)
    site.pages.update(dict.fromkeys(["/", *NAMES], DOWN))
    site.clear()
    night = run_crawl(f"{site.url}/", settings=QUICK)
    assert night.exit_code == 1
    assert night.stats["finish_reason"] == "start_failed"
    asked = {path for path in site.paths() if path in NAMES}
    assert 0 < len(asked) <= 8
    site.pages.update(pages())
    assert set(changes(run_crawl(f"{site.url}/", settings=QUICK), site.url).values()) == {
        "unchanged"
    }


def frozen(body: str):
    """A page of a server that stamps everything with the time of the first build."""
    date = "Sat, 21 Nov 2020 22:00:00 GMT"

    def answer(seen):
        if "if-modified-since" in seen.headers:
            return Reply("", 304, headers={"Last-Modified": date})
        return Reply(body, headers={"Last-Modified": date})

    return answer


def test_a_server_that_says_304_to_everything_is_found_out(serve, run_crawl):
    site = serve({path: frozen(body) for path, body in pages().items()})
    quick = {"settings": QUICK, "constants": {"llmsspider.crawler.known_pages.FULL_CHECK_RUNS": 4}}
    run_crawl(f"{site.url}/", **quick)
    edited = {
        name: html(f"Page {name[2:-5]}", f"<p>The text of {name}, edited.</p>") for name in NAMES
    }
    site.pages.update({name: frozen(body) for name, body in edited.items()})
    first = run_crawl(f"{site.url}/", **quick)
    found = Counter(changes(first, site.url).values())["changed"]
    assert 0 < found <= len(NAMES)
    (told,) = [line for line in first.lines if "304" in line and "not believed" in line]
    site.clear()
    second = run_crawl(f"{site.url}/", **quick)
    assert Counter(changes(second, site.url).values())["changed"] == len(NAMES) - found
    assert not any("if-modified-since" in seen.headers for seen in site.requests), told
    assert not any("not believed" in line for line in second.lines), "said once"


def test_a_page_that_breaks_off_stays_as_it_was_stored(serve, run_crawl):
    """Its Content-Length is that of the half."""
    site = serve(pages())
    whole, edited = site.pages[NAMES[1]], html("Page 1", "<p>The text of another day.</p>")
    site.pages[NAMES[0]] = site.pages[NAMES[0]].replace("</html>", "")
    run_crawl(f"{site.url}/", settings=QUICK)

    half = edited[: edited.index("of another")]
    site.pages[NAMES[1]] = half
    site.pages[NAMES[0]] = site.pages[NAMES[0]].replace("text", "story")
    night = run_crawl(f"{site.url}/", settings=QUICK)
    assert night.exit_code == 0
    expected = dict.fromkeys(["/", *NAMES], "unchanged")
    assert changes(night, site.url) == expected | {NAMES[0]: "changed"}, "it never had an end tag"
    assert night.stats["llms/errors/network"] == 1

    site.pages[NAMES[1]] = whole
    assert changes(run_crawl(f"{site.url}/", settings=QUICK), site.url) == expected
    site.pages[NAMES[1]] = half
    assert changes(run_crawl(f"{site.url}/", settings=QUICK), site.url) == expected, (
        "not twice in a row"
    )
    believed = run_crawl(f"{site.url}/", settings=QUICK)
    assert changes(believed, site.url) == expected | {NAMES[1]: "changed"}, (
        "a site may leave the tag out"
    )
    site.pages[NAMES[1]] = edited
    last = run_crawl(f"{site.url}/", settings=QUICK)
    assert changes(last, site.url) == expected | {NAMES[1]: "changed"}
    assert last.by_path(site.url)[NAMES[1]]["content"].endswith("The text of another day.\n")
