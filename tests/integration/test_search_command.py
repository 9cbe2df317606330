"""`scrapy search` after crawls that keep the index in step, while another crawl writes, and over many sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crawling import Outcome, command
from site_server import Page, Site
from stores import SITE, Place, record

from llmsspider import search
from llmsspider.answers.library import Library
from llmsspider.items import THIRD_PARTY
from llmsspider.store import Stores

MANY = 12
"""Sources, more than SQLite attaches to one connection."""


def asked(folder: Path, *words: str) -> Outcome:
    return command("search", *words, "-s", f"LLMS_DATA_DIR={folder / 'store'}", cwd=folder)


def test_a_crawl_keeps_the_index_in_step_and_the_command_finds(
    serve: Callable[[dict[str, Page]], Site], run_crawl: Callable[..., Outcome], tmp_path: Path
):
    site = serve(
        {
            "/": "<html><main><h1>Docs</h1><p>Start with <a href='/timeouts'>timeouts</a>.</p></main></html>",
            "/timeouts": "<html><main><h1>Timeouts</h1><p>A request waits five seconds.</p></main></html>",
        }
    )
    given: dict[str, Any] = {"arguments": {"source": "docs"}}
    first = run_crawl(site.url, **given)
    assert not any("search index" in line for line in first.lines)  # nobody has searched it yet
    nothing = asked(tmp_path, "docs", "zebras")
    assert (nothing.exit_code, nothing.stdout) == (1, "")
    assert "nothing found in docs (2 pages)" in nothing.log
    site.pages["/timeouts"] = (
        "<html><main><h1>Timeouts</h1><p>A request waits ten seconds.</p></main></html>"
    )
    second = run_crawl(site.url, **given)
    assert "search index: 2 passages" in second.lines
    found = asked(tmp_path, "docs", "request waits", "--json", "--limit", "1")
    (row,) = [json.loads(line) for line in found.stdout.splitlines()]
    assert list(row)[:5] == ["url", "title", "heading_path", "text", "score"]
    assert (found.exit_code, row["url"]) == (0, f"{site.url}/timeouts")
    assert "ten seconds" in row["text"]
    assert [one.url for one in search("docs", "request waits", store=tmp_path / "store")][:1] == [
        row["url"]
    ]
    shown = asked(tmp_path, "docs", "request", "waits").stdout
    assert shown.startswith(f"{THIRD_PARTY}\n\n1. Timeouts\n   {site.url}/timeouts\n")


def test_what_a_site_says_never_steers_the_terminal(tmp_path: Path):
    place = Place(None, tmp_path / "store")
    store = place.open("docs")
    store.begin_run("crawl", {})
    store.save_page(record("a", "# A\n\nzebras \x1b[2J \x9b1m\n", title="A\x1b]0;owned\x07"), "new")
    store.close()
    shown = asked(tmp_path, "docs", "zebras").stdout
    assert "zebras" in shown
    assert not {"\x1b", "\x9b", "\x07"} & {*shown}


def test_what_is_wrong_is_one_line_and_exit_code_2(tmp_path: Path):
    place = Place(None, tmp_path / "store")
    place.open("docs").close()
    for words, said in (
        (("dosc", "x"), "source 'dosc' is not known; did you mean docs?"),
        (("docs",), "name a source and what to look for"),
        (("docs", "x", "--limit", "0"), "--limit '0': a number from 1 to 50 is accepted"),
        (
            ("docs", "x", "-s", "LLMS_EMBEDDER=json.JSONDecoder"),
            "setting LLMS_EMBEDDER='json.JSONDecoder'",
        ),
    ):
        outcome = asked(tmp_path, *words)
        assert outcome.exit_code == 2
        assert outcome.log.count("\n") == 1
        assert said in outcome.log


def test_a_search_beside_a_crawl_that_writes_gives_nothing_stale(tmp_path: Path):
    place = Place(None, tmp_path)
    writing = place.open("docs")
    writing.begin_run("crawl", {})
    with Library(Stores(None, tmp_path)) as library:
        for number in range(30):
            text = f"# Page\n\nword{number} is the newest\n"
            writing.save_page(record("page", text, title="Page"), "changed" if number else "new")
            writing.flush()
            results = library.search(f"word{number}", "docs").results
            assert [one.text for one in results] == [text.strip()]
            assert not number or library.search(f"word{number - 1}", "docs").results == []
    writing.close()


def test_many_sources_are_searched_at_once(tmp_path: Path):
    place = Place(None, tmp_path)
    for number in range(MANY):
        store = place.open(f"source{number}")
        store.begin_run("crawl", {})
        store.save_page(record("page", f"# Page\n\nzebras, herd{number}\n", title="Page"), "new")
        store.close()
    with Library(Stores(None, tmp_path)) as library:
        assert [one.source for one in library.search("herd11").results] == ["source11"]
        assert len(library.search("zebras", limit=50).results) == MANY


def test_a_page_of_many_megabytes_is_cut_and_found(tmp_path: Path):
    place = Place(None, tmp_path)
    store = place.open("docs")
    store.begin_run("crawl", {})
    body = "# Log\n\n" + "".join(
        f"## Entry {number}\n\nline of entry{number}\n\n" for number in range(120_000)
    )
    store.save_page(record("log", body + "x" * 3_000_000, title="Log"), "new")
    store.close()
    with Library(Stores(None, tmp_path)) as library:
        found = library.search("entry7", "docs").results
        assert found[0].url == SITE + "log"
        assert len(found[0].text) < 5_000
