"""`scrapy diff`: what a store of several runs says of its pages, in every format, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import Done
from sqlalchemy import update
from stores import NAME, SITE, Place, record

from llmsspider.diff.source import changes_since
from llmsspider.items import THIRD_PARTY, LlmsEntry
from llmsspider.store import Store
from llmsspider.store.schema import change

GUIDE = "# Guide\n\nIt waits 10 seconds.\n\n```python\nrun(wait=10)\n```\n\nLast updated on 2026-11-{day}\n"
LLMS = {"guide": LlmsEntry(SITE + "llms.txt", "Guides", "Guide", None, 0)}
Scrapy = Callable[..., Done]


def crawl(store: Store, pages: dict[str, str | None], **fields: object) -> str:
    """One run that saves pages, and deletes those whose text is None; returns its id."""
    known = store.page_states()
    run = store.begin_run("crawl", {})
    for path, text in pages.items():
        page = record(path, text, title=path.title(), llms=LLMS.get(path), **fields)
        if text is None:
            store.delete_page(page.key, "not-found")
        else:
            store.save_page(page, "changed" if page.key in known else "new")
    store.finish_run("finished", complete=True, why=None, counts={})
    return run.id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a source of three runs."""
    with Place(None, tmp_path / ".scrapy" / "llmsspider").open() as store:
        crawl(
            store,
            {"guide": GUIDE.format(day=19), "api/old": "# Api\n\nMoves.\n", "gone": "# Gone\n"},
        )
        crawl(store, {"guide": GUIDE.format(day=20), "other": "# Other\n"})
        edited = (
            GUIDE.format(day=21)
            .replace("wait=10", "wait=10, tls=True")
            .replace("10 seconds", "20 seconds")
        )
        crawl(
            store,
            {
                "guide": edited,
                "api/new": "# Api\n\nMoves.\n",
                "api/old": None,
                "gone": None,
                "first": "# First <b>\n",
            },
        )
    return tmp_path


def test_the_last_run_is_told_in_words(folder: Path, scrapy: Scrapy):
    done = scrapy(folder, "diff", NAME)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{NAME}: 1 new, 1 changed, 1 moved, 1 deleted\n{THIRD_PARTY}\n"
        "\n"
        "Guides\n"
        f"  ~ Guide  {SITE}guide\n"
        "      2 changed\n"
        "\n"
        "/docs/\n"
        f"  > Api/New  {SITE}api/new\n"
        f"      was {SITE}api/old\n"
        f"  + First  {SITE}first\n"
        f"  - Gone  {SITE}gone\n"
        "      not found\n"
        "\n"
        "folded: 'Last updated on …' (1)\n"
        "\n"
        f"=== Guide  {SITE}guide\n"
        "\n"
        "  Guide\n"
        "  ~ It waits [-10-]{+20+} seconds.\n"
        "\n"
        "  Guide\n"
        "    @@ -1 +1 @@\n"
        "    -run(wait=10)\n"
        "    +run(wait=10, tls=True)\n"
    )


def test_a_page_with_new_dates_only_is_counted_and_not_told(folder: Path, scrapy: Scrapy):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        text = next(
            page.record.content for page in store.iter_pages() if page.record.url.endswith("guide")
        )
        crawl(store, {"guide": (text or "").replace("2026-11-21", "2026-11-22")})
    done = scrapy(folder, "diff", NAME)
    assert done.stdout == (
        f"{NAME}: no changes; 1 page with new dates and counters only\n\nfolded: 'Last updated on …' (1)\n"
    )
    shown = scrapy(folder, "diff", NAME, "--noise").stdout
    assert "[-2026-11-21-]{+2026-11-22+}" in shown


def test_a_label_that_changes_on_many_pages_at_once_needs_no_history(folder: Path):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        since = store.last_seq()
        before = {f"p{number}": "# P\n\nText.\n\nBuild 1 of the docs\n" for number in range(3)}
        crawl(store, before)
        after = {path: text.replace("Build 1", "Build 2") for path, text in before.items()}
        begun = store.last_seq()
        crawl(store, {**after, "p0": after["p0"].replace("Text.", "Texts.")})
        found = changes_since(store, NAME, begun)
        assert [page.url for page in found.pages] == [f"{SITE}p0"]
        assert (found.noise, dict(found.folded)) == (2, {"Build … of the docs": 3})
        assert {page.kind for page in changes_since(store, NAME, since).pages} == {"new"}


def test_what_came_and_went_or_changed_and_changed_back_is_no_change(folder: Path):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        since = store.last_seq()
        crawl(store, {"brief": "# Brief\n", "other": "# Changed\n"})
        crawl(store, {"brief": None, "other": "# Other\n"})
        assert changes_since(store, NAME, since).pages == []


def test_a_page_that_was_redirected_moved_though_its_text_changed_too(folder: Path):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        since = store.last_seq()
        moved = "# Other\n\nWith a word more.\n"
        crawl(store, {"other": None, "elsewhere": moved}, moved_from=[SITE + "other"])
        (page,) = changes_since(store, NAME, since).pages
        assert (page.kind, page.moved_from) == ("moved", SITE + "other")
        assert [hunk.after for hunk in page.hunks] == ["With a word more."]


def test_of_a_page_that_moved_its_own_address_is_no_change(folder: Path):
    text = (
        "# A\n\nMany words say what [it]({0}) does, how it does it, and where to [look]({0}#more) for more of it.\n\n"
        "What lies [below]({0}/x) it, [beside]({0}-y) it and before it stays where it was.\n\n"
        + "So many more words stand below that a link more or less is no matter at all to anybody who reads. "
        * 4
    )
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        crawl(store, {"a": text.format(SITE + "a")})
        since = store.last_seq()
        edited = text.replace("Many words", "Many good words").replace("({0}/", f"({SITE}a/")
        crawl(store, {"a": None, "b": edited.replace("({0}-y", f"({SITE}a-y").format(SITE + "b")})
        (page,) = changes_since(store, NAME, since).pages
        assert (page.kind, page.moved_from) == ("moved", SITE + "a")
        ((_, *changed),) = [
            [hunk, *(p for op, p in hunk.words if op != "equal")] for hunk in page.hunks
        ]
        assert "".join(changed).strip() == "good"


def test_a_page_that_links_to_its_own_parts_moved_with_them(folder: Path):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        crawl(store, {"a": f"# A\n\n[part]({SITE}a#part)\n"})
        since = store.last_seq()
        crawl(store, {"a": None, "b": f"# A\n\n[part]({SITE}b#part)\n"})
        assert [page.kind for page in changes_since(store, NAME, since).pages] == ["moved"]


def test_a_page_moved_though_its_build_is_another(folder: Path):
    long = "# A\n\nMany words say what it does and how it does it, and where to look for more of it.\n\nBuild {}\n"
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        crawl(store, {"a": long.format(1), "z": long.format(1).replace("Many", "Few")})
        since = store.last_seq()
        crawl(store, {"a": None, "b": long.format(2)})
        (page,) = changes_since(store, NAME, since).pages
        assert (page.kind, page.moved_from) == ("moved", SITE + "a")


def test_a_text_that_is_not_kept_any_more_is_said(folder: Path, scrapy: Scrapy):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        for number in range(7):
            crawl(store, {"other": f"# Other {number}\n"})
    done = scrapy(folder, "diff", NAME, "--since", "5")
    assert "its earlier text is not kept (LLMS_HISTORY)" in done.stdout


def test_text_that_another_converter_made_is_said(folder: Path):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        since = store.last_seq()
        crawl(store, {"other": "# Other\n\nText.\n"}, extractor_version="2")
        assert [page.remade for page in changes_since(store, NAME, since).pages] == [True]


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        (
            "markdown",
            [f"- **moved** [Api/New]({SITE}api/new): was {SITE}api/old", "~~10~~**20**", "```diff"],
        ),
        ("html", ["<del>10</del><ins>20</ins>", "First", "<ins>+run(wait=10, tls=True)</ins>"]),
    ],
)
def test_documents_are_written(folder: Path, scrapy: Scrapy, format_: str, expected: list[str]):
    done = scrapy(folder, "diff", NAME, "--format", format_, "-o", "out")
    assert (done.returncode, done.stdout) == (0, "")
    text = (folder / "out").read_text()
    assert [part for part in expected if part not in text] == []
    assert text.index(THIRD_PARTY) < text.index("Api/New")
    short = scrapy(folder, "diff", NAME, "--format", format_, "--summary").stdout
    assert "Api/New" in short
    assert "20 seconds" not in short


def test_html_of_a_site_is_text_in_it(folder: Path, scrapy: Scrapy):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        crawl(store, {"other": "# Other\n\n<script>alert(1)</script>\n\nA `<img src=x>` b.\n"})
    html = scrapy(folder, "diff", NAME, "--format", "html").stdout
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html


def test_json_has_everything(folder: Path, scrapy: Scrapy):
    found = json.loads(scrapy(folder, "diff", NAME, "--format", "json").stdout)
    assert found["counts"] == {"new": 1, "changed": 1, "moved": 1, "deleted": 1}
    guide = found["pages"][0]
    assert (guide["change"], guide["section"]) == ("changed", "Guides")
    assert guide["hunks"][0]["words"][1] == ["delete", "10"]
    assert found["noise"] == {"pages": 0, "lines": {"Last updated on …": 1}}
    short = json.loads(scrapy(folder, "diff", NAME, "--format", "json", "--summary").stdout)
    assert short["pages"][0]["hunks"] == 2


def test_since_is_a_run_a_date_an_age_or_a_number(folder: Path, scrapy: Scrapy):
    with Place(None, folder / ".scrapy" / "llmsspider").open() as store:
        first, second, third = store.runs()
        moment = datetime.now(UTC) - timedelta(days=2)
        with store._database.writing() as connection:
            early = update(change).where(change.c.run == 1).values(at=moment.timestamp())
            connection.execute(early)
    heads = {
        value: scrapy(folder, "diff", NAME, "--since", value)
        .stdout.splitlines()[0]
        .partition(": ")[2]
        for value in (
            first.id,
            second.id,
            third.id,
            "1d",
            (moment + timedelta(1)).isoformat(),
            "0",
            "2020-01-01",
        )
    }
    since_first = "2 new, 1 changed, 1 moved, 1 deleted"
    assert heads == {
        first.id: since_first,
        second.id: "1 new, 1 changed, 1 moved, 1 deleted",
        third.id: "no changes",
        "1d": since_first,
        (moment + timedelta(1)).isoformat(): since_first,
        "0": "4 new",
        "2020-01-01": "4 new",
    }


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--since", "20200101T000000-abcdef"], 2, "this run is not known; the last runs are "),
        (["--since", "2"], 2, "stands for"),
        (["--since", "999"], 2, "the last change of 'e.com/docs' has the number 10"),
        (
            ["--since", "yesterday"],
            2,
            "a run, a date (2026-11-21), an age (7d) and the number of a change are accepted",
        ),
        (["--since", "2999-01-01"], 2, "this moment has not come yet"),
        (["--format", "pdf"], 2, "accepted are text, markdown, json, html"),
        (["-o", "no/such/folder/file"], 1, "No such file or directory"),
    ],
    ids=[
        "a run that is gone",
        "many runs",
        "a change to come",
        "no date",
        "the future",
        "format",
        "output",
    ],
)
def test_bad_input_is_one_line(
    folder: Path, scrapy: Scrapy, words: list[str], code: int, said: str
):
    if words == ["--since", "2"]:
        year = f"{datetime.now(UTC):%Y}"
        words = ["--since", f"{year}{datetime.now(UTC):%m%d}T"]
    done = scrapy(folder, "diff", NAME, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_of_the_address_of_a_page_the_sources_that_have_it_are_said(folder: Path, scrapy: Scrapy):
    urls = (f"{SITE}guide", "https://other.example/a?b=c&d", "http://[bad")
    said = [scrapy(folder, "diff", url) for url in urls]
    assert {done.returncode for done in said} == {2}
    crawl = f"scrapy crawl docs -a 'url={urls[1]}'"
    assert [done.stderr.partition(": ")[2] for done in said] == [
        f"'{SITE}guide' is an address, and no source; source '{NAME}' has this page: `scrapy diff {NAME}`\n",
        f"{urls[1]!r} is an address, and no source; none has this page: `{crawl}` crawls it\n",
        "source 'http://[bad' is not known; `scrapy sources` lists those that are\n",
    ]


def test_a_source_with_one_run_has_nothing_to_compare_with(tmp_path: Path, scrapy: Scrapy):
    with Place(None, tmp_path / ".scrapy" / "llmsspider").open() as store:
        crawl(store, {"a": "# A\n"})
    done = scrapy(tmp_path, "diff", NAME)
    assert (done.returncode, done.stdout) == (1, "")
    assert "has one run: there is nothing to compare with before the next" in done.stderr
    assert scrapy(tmp_path, "diff", NAME, "--since", "0").stdout.startswith(f"{NAME}: 1 new\n")
    assert scrapy(tmp_path, "diff", "nobody").returncode == 2
