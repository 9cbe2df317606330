"""A feed of chunks, kept in step by later crawls."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from crawling import command
from sites import html

SECTIONS = "".join(
    f"<h2>Part {n}</h2><p>The text of part {n}, long enough to be read, and to be a chunk of its own here.</p>"
    for n in range(20)
)
SITE = {
    "/": html(
        "Home",
        "<p>Welcome to the documentation.</p><a href='/long.html'>x</a><a href='/short.html'>y</a>",
    ),
    "/long.html": html("Long", SECTIONS),
    "/short.html": html("Short", "<p>A short page, which stays as it is.</p>"),
}


@pytest.fixture
def chunk_feed(run_crawl, tmp_path):
    """Return a function that crawls into a feed of chunks and returns its rows."""

    def crawl(url, *options, **given):
        path = tmp_path / "chunks.jsonl"
        outcome = run_crawl(url, options=("-O", f"{path}:chunks", *options), **given)
        assert outcome.exit_code == 0, outcome.log
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    return crawl


def apply(index: dict[str, dict], rows: list[dict]) -> None:
    """Do what docs/how-to/chunks.md tells a consumer to do."""
    for row in rows:
        if row["change"] != "deleted":
            index[row["id"]] = row
        elif row["id"] is not None:
            index.pop(row["id"], None)
        else:
            for key in [key for key, kept in index.items() if kept["page"] == row["page"]]:
                del index[key]


def texts(rows) -> list[tuple[str, str]]:
    return sorted((row["url"], row["text"]) for row in rows)


def test_each_chunk_is_a_row_with_its_headings_and_page(serve, chunk_feed):
    site = serve(SITE)
    rows = chunk_feed(f"{site.url}/")
    long = [row for row in rows if row["url"].endswith("/long.html")]
    assert len(long) == 20
    assert long[3]["heading_path"] == ["Long", "Part 3"]
    assert (
        long[3]["text"]
        == "## Part 3\n\nThe text of part 3, long enough to be read, and to be a chunk of its own here."
    )
    assert {row["change"] for row in rows} == {"new"}
    assert len({row["id"] for row in rows}) == len(rows)


def test_one_edited_section_is_one_chunk_gone_and_one_new(serve, chunk_feed, tmp_path):
    site = serve(SITE)
    index: dict[str, dict] = {}
    apply(index, chunk_feed(f"{site.url}/"))
    site.pages["/long.html"] = site.pages["/long.html"].replace(
        "text of part 7,", "new text of part 7,"
    )
    rows = chunk_feed(f"{site.url}/", arguments={"emit": "changes"})
    assert [(row["change"], row["text"]) for row in rows] == [
        ("deleted", None),
        (
            "new",
            "## Part 7\n\nThe new text of part 7, long enough to be read, and to be a chunk of its own here.",
        ),
    ]
    source, data = site.url.removeprefix("http://"), ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    status = command("status", source, *data, cwd=tmp_path).stdout
    assert "  chunks     2 (deleted 1, new 1)\n" in status
    apply(index, rows)
    fresh = chunk_feed(f"{site.url}/")
    assert Counter(row["change"] for row in fresh) == {"unchanged": len(fresh)}
    assert texts(index.values()) == texts(fresh)


def test_a_page_that_is_gone_takes_its_chunks_with_it(serve, chunk_feed):
    site = serve(SITE)
    index: dict[str, dict] = {}
    apply(index, chunk_feed(f"{site.url}/"))
    del site.pages["/long.html"]
    site.pages["/"] = html(
        "Home", "<p>Welcome to the documentation.</p><a href='/short.html'>y</a>"
    )
    apply(
        index,
        chunk_feed(f"{site.url}/", arguments={"emit": "changes", "confirm_deletions": "true"}),
    )
    assert {row["url"] for row in index.values()} == {f"{site.url}/", f"{site.url}/short.html"}


def test_changes_are_replayed_as_chunks_from_the_store(serve, chunk_feed, tmp_path):
    site = serve(SITE)
    index: dict[str, dict] = {}
    first = chunk_feed(f"{site.url}/")
    apply(index, first)
    site.pages["/long.html"] = site.pages["/long.html"].replace(
        "text of part 7,", "new text of part 7,"
    )
    fresh = chunk_feed(f"{site.url}/")
    last = max(row["seq"] for row in first)
    source = site.url.removeprefix("http://")
    data = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    outcome = command(
        "export", source, "--format", "chunks", "--since", str(last), *data, cwd=tmp_path
    )
    apply(index, [json.loads(line) for line in outcome.stdout.splitlines()])
    assert texts(index.values()) == texts(row for row in fresh if row["change"] != "deleted")


WRONG = {
    "size": ("LLMS_CHUNK_SIZE", "0", "a number of 1 or more"),
    "unit": ("LLMS_CHUNK_SIZE", "800 furlongs", "characters, tokens, or the path"),
    "function": ("LLMS_CHUNK_SIZE", "800 os.path.nothing", "ImportError"),
}


@pytest.mark.parametrize(("setting", "value", "said"), WRONG.values(), ids=WRONG)
def test_wrong_settings_are_one_line(run_crawl, setting, value, said):
    outcome = run_crawl("http://127.0.0.1:9/", settings={setting: value})
    assert outcome.exit_code == 2
    assert said in outcome.log and f"setting {setting}=" in outcome.log
