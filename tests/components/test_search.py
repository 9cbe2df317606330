"""Search over page stores, on SQLite and PostgreSQL: what is found, in which order, and that it follows the store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from stores import NAME, SITE, Place, record

from llmsspider.answers import WORDS
from llmsspider.answers.library import ROOMS, Library
from llmsspider.answers.tools import Tools
from llmsspider.errors import SearchError, StoreError, UnknownSourceError
from llmsspider.items import Link, LlmsEntry
from llmsspider.store import PageRecord, SourceRecord, Stores


class Shelves:
    """Sources of a test with the library that searches them."""

    def __init__(self, place: Place):
        self.place = place
        self.library = Library(Stores(place.url, place.data_dir))

    def crawl(self, pages: dict[str, str | PageRecord | None], name: str = NAME) -> None:
        """Store pages by path as a run does; None deletes one."""
        store = self.place.open(name)
        store.begin_run("crawl", {})
        for path, given in pages.items():
            if given is None:
                store.delete_page(record(path).key, "not-found")
                continue
            page = (
                given
                if isinstance(given, PageRecord)
                else record(path, given, title=given.splitlines()[0].lstrip("# "))
            )
            known = store.load_page(page.key)
            store.save_page(page, "new" if known is None else "changed")
        store.finish_run("finished", complete=True, why=None, counts={})
        store.close()

    def paths(self, query: str, source: str | None = NAME, **options: Any) -> list[str]:
        """The paths of the pages found, best first."""
        found = self.library.search(query, source, **options).results
        return [one.url.removeprefix(SITE) for one in found]


@pytest.fixture
def shelves(place: Place) -> Iterator[Shelves]:
    made = Shelves(place)
    yield made
    made.library.close()


GUIDE = {
    "timeouts": "# Timeouts\n\nA request waits five seconds.\n\n## Pool timeout\n\nHow long to wait.\n",
    "proxies": "# Proxies\n\nThrough a proxy.\n\n## SOCKS\n\nInstall the extra, then pass `socks5://user:pass@host`.\n",
    "settings": "# Settings\n\n## LLMS_STORE_URL\n\nOf a database.\n\n## LLMS_DATA_DIR\n\n`--dry-run` aside.\n",
    "hooks": "# Hooks\n\nCall `useState` first, then `std::vector` of `scrapy.Request` objects.\n",
    "state": "# State\n\nTo use the state of a request, store it. A request has a state.\n",
    "chinese": "# 安装指南\n\n运行安装程序，然后重新启动计算机。\n",
    "japanese": "# 設定\n\nデータベースの接続を設定します。\n",
}


ANSWERS = {
    "how long does a request wait": "timeouts",
    "pool timeouts": "timeouts",
    "socks proxy": "proxies",
    "LLMS_STORE_URL": "settings",
    "store url setting": "settings",
    "--dry-run": "settings",
    "useState": "hooks",
    "std::vector": "hooks",
    "scrapy.Request": "hooks",
    "安装": "chinese",
    "重新启动": "chinese",
    "データベース": "japanese",
    "proxi": "proxies",
    "tiemouts": "timeouts",
    "": None,
    "zzzzqqqq": None,
}
"""Queries, each with the page that answers it best; None: nothing does."""


def test_the_page_that_answers_comes_first(shelves: Shelves):
    shelves.crawl(GUIDE)
    assert {query: (*shelves.paths(query), None)[0] for query in ANSWERS} == ANSWERS
    assert (
        shelves.library.search("zzzzqqqq", NAME).note
        == f"nothing found in {NAME} (7 pages); try fewer or other words"
    )
    assert shelves.library.search("", NAME).note == "the query has no word to search for; give some"


def test_a_quoted_phrase_has_to_stand_in_the_passage(shelves: Shelves):
    shelves.crawl(
        {"a": "# A\n\nbreadth first search\n", "b": "# B\n\nfirst the breadth, then search\n"}
    )
    assert sorted(shelves.paths("breadth first")) == ["a", "b"]
    assert shelves.paths('"breadth first"') == ["a"]
    assert shelves.paths('"first breadth first"') == []


def test_a_result_says_where_its_passage_stands(shelves: Shelves):
    body = (
        "# Timeouts\n\n"
        + "Five seconds. " * 30
        + "\n\n## Pool timeout\n\n"
        + "Wait for the pool. " * 30
        + "\n"
    )
    entry = LlmsEntry(SITE + "llms.txt", "Guide", "Timeouts", "When requests give up", 0)
    shelves.crawl(
        {
            "t": record("t", body, title="Timeouts", llms=entry),
            "u": record(
                "u",
                "# U\n\nsee the [pool timeout](t#pool-timeout)\n",
                links=[Link("pool", SITE + "t#pool-timeout")],
            ),
        }
    )
    best = shelves.library.search("wait for pool", NAME).results[0]
    assert (best.url, best.title, best.section) == (SITE + "t#pool-timeout", "Timeouts", "Guide")
    assert best.heading_path == ("Timeouts", "Pool timeout")
    assert best.text == body[best.offset : best.offset + best.length].strip()
    assert "## Pool timeout" in best.text
    assert (best.source, best.page_id, best.fetched_at) == (
        NAME,
        record("t").id,
        "2026-11-21T22:00:00Z",
    )
    assert shelves.paths("give up", section="guide") == ["t"]
    assert shelves.paths("give up", section="reference") == []


def test_the_next_search_knows_an_edit_a_deletion_and_a_new_page(shelves: Shelves):
    shelves.crawl({"a": "# Alpha\n\nzebras graze\n", "b": "# Beta\n\nlions hunt\n"})
    assert shelves.paths("zebras") == ["a"]
    shelves.crawl({"a": "# Alpha\n\ngiraffes graze\n", "b": None, "c": "# Gamma\n\nlions sleep\n"})
    assert shelves.paths("zebras") == []
    assert shelves.paths("giraffes") == ["a"]
    assert shelves.paths("lions") == ["c"]


def test_many_edits_leave_an_index_that_finds_the_last_one(shelves: Shelves):
    for night in range(8):
        shelves.crawl(
            {f"p{page}": f"# Page {page}\n\nword{night} topic{page}\n" * 40 for page in range(10)}
        )
        assert len(shelves.paths(f"word{night}", limit=20)) == 10
    assert shelves.paths("word3") == []
    opened = shelves.library.open(NAME)

    assert opened.index.count() == (10, len(opened.index.hits_where("TRUE")))


def test_notes_of_llms_txt_find_a_page_as_they_are_now(shelves: Shelves):
    def entry(notes: str) -> LlmsEntry:
        return LlmsEntry(SITE + "llms.txt", "Guide", "Start", notes, 0)

    page = record(
        "a", "# Start\n\nBegin.\n", title="Start", llms=entry("The quickest path to Rome")
    )
    shelves.crawl({"a": page, "b": "# Other\n\nMore.\n"})
    assert shelves.paths("quickest Rome") == ["a"]
    store = shelves.place.open()
    store.begin_run("crawl", {})
    page = record("a", "# Start\n\nBegin.\n", title="Start", llms=entry("Deploy in minutes"))
    store.touch_page(page)
    store.finish_run("finished", complete=True, why=None, counts={})
    store.close()
    assert shelves.paths("deploy minutes") == ["a"]
    assert shelves.paths("quickest Rome") == []
    assert shelves.paths("begin") == ["a"]


def test_an_index_of_an_earlier_version_is_made_anew(shelves: Shelves):
    shelves.crawl({"a": "# Alpha\n\nzebras\n"})
    file = Stores(shelves.place.url, shelves.place.data_dir).index_file(NAME, WORDS)
    file.parent.mkdir(exist_ok=True, parents=True)
    for version in (2, 1):
        connection = sqlite3.connect(file)
        words = f"search{version}_passage_fts"
        connection.execute(f"CREATE VIRTUAL TABLE {words} USING fts5(body, content='')")
        connection.execute(
            f"CREATE VIRTUAL TABLE search{version}_vocabulary USING fts5vocab({words}, row)"
        )
        connection.execute(f"CREATE TABLE search{version}_source (id integer)")
        connection.close()
        assert shelves.paths("zebras") == ["a"]
        shelves.library.close()
        with closing(sqlite3.connect(file)) as made:
            tables = [name for (name,) in made.execute("SELECT name FROM sqlite_master")]
        assert "page" in tables and not [name for name in tables if name.startswith("search")]
        file.unlink()


def test_the_same_text_on_many_pages_is_one_result(shelves: Shelves):
    notice = "Support is given by the friendly community in the forum, on weekdays.\n"
    shelves.crawl(
        {f"p{page}": f"# Page {page}\n\n## Help\n\n{notice}" for page in range(6)}
        | {"x": "# Forum\n\nRules.\n"}
    )
    found = shelves.library.search("friendly community support", NAME).results
    assert len(found) == 1
    assert len(found[0].also) == 5


def test_several_passages_of_a_page_are_one_result_that_names_them(shelves: Shelves):
    text = "".join(
        f"## Cache {name}\n\nThe cache keeps {name} for a while. {'More. ' * 40}\n\n"
        for name in ("pages", "answers")
    )
    shelves.crawl({"cache": "# Caching\n\n" + text, "other": "# Other\n\nNo cache here.\n"})
    best = shelves.library.search("cache keeps", NAME).results[0]
    assert best.url == SITE + "cache"
    assert len(best.more) == 1


def test_an_older_version_comes_after_the_current_one_unless_it_is_asked_for(shelves: Shelves):
    words = "# Sessions\n\nA session is closed with close.\n"
    shelves.crawl(
        {
            "1.4/session": record(
                "1.4/session", words + "Sessions of old: " + "one session, " * 9, title="Session"
            ),
            "2.0/session": record("2.0/session", words, title="Session"),
        }
    )
    assert shelves.paths("session") == ["2.0/session", "1.4/session"]
    assert shelves.paths("session 1.4")[0] == "1.4/session"


def test_a_changelog_counts_less(shelves: Shelves):
    shelves.crawl(
        {
            "changelog": "# Changelog\n\nRetries are new. Retries retry.\n",
            "retries": "# Connecting\n\nRetries happen when a connection fails.\n",
        }
    )
    assert shelves.paths("retries")[0] == "retries"
    assert shelves.paths("retries changelog")[0] == "changelog"


HOSTILE = [
    "a" * 100_000,
    'timeout" OR "1',
    "timeouts AND NOT NEAR(x, 5)",
    "title:timeouts ^timeouts *",
    "'; DROP TABLE page; --",
    '"unclosed timeouts',
    "& | ! <-> :* timeouts",
    "\x00timeouts\ud800",
    "%s %(source)s :source timeouts",
]


def test_syntax_in_a_query_is_words(shelves: Shelves):
    shelves.crawl(GUIDE)
    for query in HOSTILE:
        assert all(path in GUIDE for path in shelves.paths(query)), query
    assert shelves.paths("timeouts")[0] == "timeouts"
    assert shelves.paths("title:timeouts ^timeouts *")[0] == "timeouts"


def test_a_version_that_is_not_there_is_never_answered_from_another(shelves: Shelves):
    for version in ("1.4", "2.0"):
        shelves.crawl({"a": f"# Version {version}\n\nsession\n"}, f"orm@{version}")
    assert shelves.library.search("session", "orm").results[0].title == "Version 2.0"
    assert shelves.library.search("session", "orm@1.4").results[0].title == "Version 1.4"
    with pytest.raises(UnknownSourceError, match=r"no version '3.0'; there is orm@1.4, orm@2.0"):
        shelves.library.search("session", "orm@3.0")
    with pytest.raises(UnknownSourceError, match="did you mean orm@"):
        shelves.library.search("session", "omr")


def test_all_sources_are_searched_when_none_is_named(shelves: Shelves):
    shelves.crawl({"a": "# Alpha\n\nzebras\n"}, "one")
    shelves.crawl({"b": "# Beta\n\nzebras\n"}, "two")
    assert {one.source for one in shelves.library.search("zebras").results} == {"one", "two"}


def test_sources_are_one_ranking_and_notes_are_kept(tmp_path: Path):
    shelves = Shelves(Place(None, tmp_path))
    shelves.crawl({"a": "# Cables\n\nA fiber carries light.\n"}, "alpha")
    shelves.crawl({f"n{n}": f"# Note {n}\n\nAn error of kind {n}.\n" for n in range(9)}, "beta")
    shelves.crawl({"t": "# Retries\n\nRetry after an error, with backoff.\n"}, "zeta")
    found = shelves.library.search("retry after an error").results
    assert (found[0].source, found[0].title) == ("zeta", "Retries")
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert shelves.library.search("error in beta").results[0].source == "beta"
    misspelt = shelves.library.search("fibre")
    assert [one.source for one in misspelt.results] == ["alpha"]
    assert misspelt.note == "nothing was found; searched for 'fiber' for 'fibre'"
    shelves.library.close()


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("email", "mail"),
        ("co-located", "near"),
        ("colocated", "near"),
        ("auto update", "updates"),
        ("git ignore", "git"),
        ("auto-track", "track"),
        ("isbipartite", "graph"),
        ("floydWarshallPaths", "graph"),
        ("floydwarshallpaths", "graph"),
        ("whole_site", "whole"),
        ("end to end", "tests"),
        ("keytovalue", "pairs"),
        ("max-new-file-size", "size"),
        ('primary: "#0054AD" of a "theme"', "theme"),
        (
            "How do I set a theme?\nservices:\n  git:\n    image: mail/updates:1\n    size: track",
            "theme",
        ),
    ],
)
def test_spellings_quotes_in_code_and_pasted_text(shelves: Shelves, query: str, page: str):
    shelves.crawl(
        {
            "mail": "# E-mail\n\nHow letters are sent.\n",
            "near": "# Co-located data\n\nNear each other.\n",
            "updates": "# Autoupdate\n\nNew releases.\n",
            "git": "# Ignored files\n\nWrite a `.gitignore` there.\n",
            "track": "# Tracking\n\nSet `autoTrack` to false.\n",
            "graph": "# Graphs\n\nCall `isBipartite` or `floyd_warshall_paths`.\n",
            "whole": "# Wholesite\n\nAll at once.\n",
            "part": "# Whole\n\nOne site, and a whole map.\n",
            "tests": "# Endtoend\n\nNo part is left out.\n",
            "pairs": "# Pairs\n\nSorted key-to-value.\n",
            "size": "# Limits\n\nWith `max-new-file-size` files are bounded.\n",
            "changes": "# Changelog\n\n`max-new-file-size` is new; file, size, max.\n",
            "theme": "# Theme\n\nThe primary colour of a theme is set with `theme`.\n",
            "colocation": "# Other\n\nNothing of it.\n",
        }
    )
    assert shelves.paths(query)[0] == page


def test_a_page_is_shown_by_its_best_passages_and_what_stands_around(shelves: Shelves):
    filler = "Something else. " * 60
    parts = [f"## Part {n}\n\n{filler}\n\n" for n in range(12)]
    parts[2] = "## Herds\n\nZebras graze in herds.\n\n" + "Grass. " * 40 + "\n\n"
    parts[9] = "## Stripes\n\nStripes of zebras in herds.\n\n" + "Black. " * 40 + "\n\n"
    shelves.crawl({"z": "# Animals\n\n" + "".join(parts)})
    (found,) = shelves.library.search("zebras herds", NAME).results
    assert "Zebras graze" in found.text
    assert "Stripes of zebras" in found.text
    assert "\n…\n" in found.text
    assert len(found.text) <= ROOMS[0] + 10


def test_what_stands_around_a_passage_is_cut_to_the_room_and_code_stays_fenced(shelves: Shelves):
    code = "```python\n" + "".join(f"line_{n} = {n}\n" for n in range(200)) + "```\n\n"
    after = "".join(f"Sentence {n} of the grass.\n" for n in range(200))
    text = f"## Code\n\n{code}## Herds\n\nZebras graze.{' Much more.' * 20}\n\n## Grass\n\n{after}"
    shelves.crawl({"z": f"# Animals\n\n{text}"})
    (found,) = shelves.library.search("zebras", NAME).results
    assert ROOMS[0] - 100 < len(found.text) <= ROOMS[0] + 10
    assert found.text.startswith("```\nline_")
    assert "Zebras graze." in found.text
    assert found.text.count("```") == 2
    assert found.text.endswith(" of the grass.")


@pytest.fixture
def proofs(shelves: Shelves) -> list[Link]:
    """Links to the headings of the page `a`, which is crawled, but for its last one."""
    names = ["Set up & run", "What's new", "First steps", "API keys", "Last resort"]
    text = "".join(f"## {name}\n\n{name} of zebras. {'More. ' * 40}\n\n" for name in names)
    shelves.crawl({"a": record("a", f"# A\n\n{text}", title="A")})
    ids = ["set-up-run", "whats-new", "first-steps", "api-keys"]
    return [Link("there", f"{SITE}a#{part}") for part in ids]


def test_headings_without_links_get_fragments_by_the_rule_that_links_prove(
    shelves: Shelves, proofs: list[Link]
):
    shelves.crawl({"b": record("b", "# B\n\nlinks\n", title="B", links=proofs)})
    assert shelves.paths("last resort") == ["a#last-resort"]
    shelves.crawl({"b": record("b", "# B\n\nfewer\n", title="B", links=proofs[:2])})
    assert shelves.paths("last resort") == ["a"]
    odd = [Link("Last resort", f"{SITE}a#last resort{{}}")]
    shelves.crawl({"b": record("b", "# B\n\nodd\n", title="B", links=odd)})
    assert shelves.paths("last resort") == ["a#last%20resort%7B%7D"]


def test_many_links_to_long_pages_do_not_hide_those_that_prove_the_rule(
    shelves: Shelves, proofs: list[Link]
):
    parts = "".join(f"## Part {n}\n\nPart {n}. {'More. ' * 40}\n\n" for n in range(40))
    others = [Link(f"there {n}", f"{SITE}long#x{n}") for n in range(20)]
    shelves.crawl(
        {
            "long": record("long", f"# Long\n\n{parts}", title="Long"),
            "b": record("b", "# B\n\nlinks\n", title="B", links=[*others, *proofs]),
        }
    )
    assert shelves.paths("last resort") == ["a#last-resort"]


def test_headings_have_the_ids_of_their_html(shelves: Shelves):
    parts = "".join(
        f"## {name}\n\nAbout {name}. {'More. ' * 40}\n\n### Options\n\n{name} sleep. {'So. ' * 60}\n\n"
        for name in ("Lions", "Tigers", "Bears")
    )
    ids = [("A", "top"), ("Lions", "big cats"), ("Options", "options"), ("Tigers", "t{1}")]
    ids += [("Options", "options_1"), ("Bears", "bears"), ("Options", "options_2")]
    page = record("a", f"# A\n\nFirst words.\n\n{parts}", title="A", heading_ids=ids)
    shelves.crawl({"a": page, "b": "# B\n\n## Odd one\n\nWithout an id.\n"})
    asked = {
        "about lions": "a#big%20cats",
        "lions sleep": "a#options",
        "about tigers": "a#t%7B1%7D",
        "tigers sleep": "a#options_1",
        "bears sleep": "a#options_2",
        "without an id": "b",
    }
    assert {query: shelves.paths(query)[0] for query in asked} == asked


PANDOC = {"Set-up of run.sh": "set-up-of-run.sh", "1. What it is": "what-it-is"}
GITHUB = {"Set-up of run.sh": "set-up-of-runsh", "1. What it is": "1-what-it-is"}
VITEPRESS = {"Set-up of run.sh": "set-up-of-run-sh", "1. What it is": "_1-what-it-is"}


@pytest.mark.parametrize("ids", [PANDOC, GITHUB, VITEPRESS], ids=["pandoc", "github", "vitepress"])
def test_markdown_has_the_fragments_of_a_sample_of_its_host(shelves: Shelves, ids: dict[str, str]):
    plain = {"API keys": "api-keys", "First steps": "first-steps"}
    sample = record("s", "# S\n\nsample\n", heading_ids=[*plain.items(), *ids.items()])
    text = (
        "# A\n\n## Other steps\n\n"
        + "Zebras graze. " * 20
        + "\n\n## Part 2. Of my.cfg\n\n"
        + "Lions hunt. " * 20
    )
    shelves.crawl({"a": text + "\n\n## Other steps\n\n" + "Wolves howl. " * 20, "s": sample})
    assert shelves.paths("zebras graze") == ["a#other-steps"]
    made = {"run.sh": "part-2.-of-my.cfg", "runsh": "part-2-of-mycfg"}
    expected = made.get(ids["Set-up of run.sh"].removeprefix("set-up-of-"), "part-2-of-my-cfg")
    assert shelves.paths("lions hunt") == [f"a#{expected}"]
    assert shelves.paths("wolves howl") == ["a"]
    shelves.crawl({"s": record("s", "# S\n\nless\n", heading_ids=[*plain.items()])})
    assert shelves.paths("lions hunt") == ["a"]


def test_a_section_is_read_by_its_heading_or_its_fragment(shelves: Shelves):
    page = (
        "# Client\n\nTop.\n\n## Error\n\nOne.\n\n### Kinds\n\nTwo.\n\n## Timeout error\n\nThree.\n\n"
        "## Stop\n\nFour.\n\n### Kinds\n\nFive.\n"
    )
    ids = [("Error", "err"), ("Kinds", "kinds"), ("Timeout error", "t 1"), ("Kinds", "kinds_1")]
    shelves.crawl({"a": record("a", page, heading_ids=ids), "b": page})
    tools = Tools(shelves.library)

    def read(path: str, heading: str | None = None) -> str:
        return tools.read_page(f"{SITE}{path}", heading)[0]["content"]

    parts = {
        "Error": "## Error\n\nOne.\n\n### Kinds\n\nTwo.\n\n",
        "timeout ERROR": "## Timeout error\n\nThree.\n\n",
        "Stop": "## Stop\n\nFour.\n\n### Kinds\n\nFive.\n",
    }
    assert {heading: read("a", heading) for heading in parts} == parts
    assert read("a#kinds") == "### Kinds\n\nTwo.\n\n"
    assert read("a#kinds_1") == "### Kinds\n\nFive.\n"
    assert read("a#t%201") == read("b#timeout-error") == parts["timeout ERROR"]
    assert read("a/") == read("a") == read("a#:~:text=Two") == page
    assert read("a", "Timeout%20error ") == parts["timeout ERROR"]
    assert read("a#kinds", "Error") == parts["Error"]
    for missing, heading in (("a#kinds_2", None), ("a", "rror"), ("a", "Kind"), ("b#ror", None)):
        with pytest.raises(
            SearchError, match=r"the page has no heading .*; it has: .*Client; .*Stop"
        ):
            read(missing, heading)
    with pytest.raises(SearchError, match="it has: Timeout error; Client;"):
        read("a", "timeout")


def test_a_route_is_read_by_its_address(shelves: Shelves):
    for path, text in (("", "# Home\n\nStart.\n"), ("#/guide", "# Guide\n\n## Zebras\n\nRun.\n")):
        shelves.crawl({path: text})
    (found,) = shelves.library.search("zebras").results
    assert found.url == f"{SITE}#/guide"
    assert Tools(shelves.library).read_page(found.url)[0]["title"] == "Guide"


def test_an_outline_has_the_sections_that_a_search_may_name(shelves: Shelves):
    listed = LlmsEntry("https://e.com/llms.txt", "Start here", "A", None, 0)
    shelves.crawl(
        {
            "api/one/": "# One\n\nzebras\n",
            "api/two.html": "# Two\n\nzebras run\n",
            "three": "# Three\n\nzebras\n",
            "four": record("four", "# Four\n\nzebras\n", llms=listed),
        }
    )
    data, _ = Tools(shelves.library).outline(NAME)
    sections = [one["section"] for one in data["entries"]]
    assert sections == ["Start here", "/docs/api", "/docs/api", "/docs"]
    assert sorted(shelves.paths("zebras", section="/API")) == ["api/one/", "api/two.html"]
    assert shelves.paths("zebras", section="start") == ["four"]
    _, text = Tools(shelves.library).outline(NAME, "nope")
    assert text.endswith("sections: Start here; /docs/api; /docs")


def test_code_alone(shelves: Shelves):
    shelves.crawl(
        {
            "run": "# Run\n\nZebras run.\n\nCall it so:\n\n```python\nzebras.run()\n```\n\nMuch more.\n",
            "eat": "# Zebras\n\nZebras eat `grass`. Zebras.\n",
        }
    )
    (found,) = shelves.library.search("zebras", NAME, kind="code").results
    assert found.text == "Call it so:\n\n```python\nzebras.run()\n```"


def test_a_source_is_chosen_by_a_range_and_removed(tmp_path: Path):
    shelves = Shelves(Place(None, tmp_path))
    for name in ("x@14.2", "x@15.1", "x@15.9", "x@16.0"):
        shelves.crawl({"a": "# Alpha\n\nzebras\n"}, name)
    wanted = {
        "x": "16.0",
        ">=15 <16": "15.9",
        ">= 15, < 16": "15.9",
        "<15": "14.2",
        "!=16.0": "15.9",
        "15.x": "15.9",
        "^15.0": "15.9",
        "~15.1": "15.1",
        "v15.1": "15.1",
        "latest": "16.0",
        "*": "16.0",
        "15.* || 14.*": "15.9",
        "14.x||^13": "14.2",
        "14.2 - 15.1": "15.1",
        "14 - 15.x": "15.9",
        "<=15.x >=14.2": "14.2",
        "~=15.1": "15.9",
        "15.x.x": "15.9",
    }
    opened = {one: shelves.library.open(one if one == "x" else f"x@{one}").name for one in wanted}
    assert opened == {one: f"x@{version}" for one, version in wanted.items()}
    for bad in (
        "x@>16",
        "x@>=15 <",
        "x@15 16",
        "x@||",
        "x@>>15",
        "x@15.1 || new",
        "x@" + "9" * 999,
    ):
        with pytest.raises(
            UnknownSourceError, match=r"^.* has no version .* written as .*$"
        ) as said:
            shelves.library.open(bad)
        assert len(str(said.value)) < 250
    shelves.library.delete("x@16.0")
    assert shelves.library.names() == ["x@14.2", "x@15.1", "x@15.9"]
    assert not [file.name for file in tmp_path.iterdir() if "16.0" in file.name]
    shelves.library.close()


def test_the_sources_of_several_folders_are_searched_together(tmp_path: Path):
    folders = [tmp_path / name / "docs" / ".llmsspider" for name in ("one", "two", "three")]
    titles = ("Alpha", "Beta", "Gamma")
    for folder, title in zip(folders, titles, strict=True):
        shelves = Shelves(Place(None, folder))
        shelves.crawl({"a": f"# {title}\n\nzebras run\n"})
        shelves.library.close()
    with Library([Stores(None, folder) for folder in (*folders, folders[0])]) as library:
        names = [NAME, f"docs/{NAME}", f"three/docs/{NAME}"]
        assert library.names() == names
        found = {one.source: one.title for one in library.search("zebras").results}
        assert found == dict(zip(names, titles, strict=True))
        assert [one.title for one in library.search("zebras", names[2]).results] == ["Gamma"]


def test_a_long_passage_is_shown_around_what_answers(shelves: Shelves):
    lines = [f"value_{number} = {number}\n" for number in range(400)]
    shelves.crawl(
        {"a": "# Values\n\n```python\n" + "".join([*lines, "zebra = 1\n", *lines]) + "```\n"}
    )
    (found,) = shelves.library.search("zebra", NAME).results
    assert "zebra = 1\n" in found.text and len(found.text) < 4100
    assert found.text.startswith("… ```python\nvalue_") and found.text.endswith("\n``` …")
    (record_,) = [shelves.library.page(found.page_id)[1]]
    assert (record_.content or "")[found.offset :].startswith(found.text.splitlines()[1])


def test_a_source_that_is_deleted_and_crawled_anew_has_nothing_of_before(shelves: Shelves):
    shelves.crawl({"a": "# Alpha\n\nzebras\n"})
    assert shelves.paths("zebras") == ["a"]
    Stores(shelves.place.url, shelves.place.data_dir).delete(NAME)
    with pytest.raises(UnknownSourceError):
        shelves.paths("zebras")
    shelves.crawl({"a": "# Alpha\n\nlions\n"})
    assert shelves.paths("zebras") == []
    assert shelves.paths("lions") == ["a"]


def test_a_page_is_read_by_id_and_by_url(shelves: Shelves):
    shelves.crawl(GUIDE)
    for name in (record("hooks").id, SITE + "hooks", SITE + "hooks#part"):
        source, page = shelves.library.page(name)
        assert (source, page.url) == (NAME, SITE + "hooks")
    with pytest.raises(SearchError, match=r"the nearest are .*timeouts"):
        shelves.library.page(SITE + "timeout")


@pytest.mark.parametrize(
    "address",
    [
        "/docs/guide/hooks",
        "e.com/docs/guide/hooks.html",
        "http://e.com/docs/guide/hooks/",
        "hooks?x=1",
        "/docs/guide/hooks/index.md#part",
        "<https://e.com/docs/guide/hooks>",
        f"llmsspider://page/{record('guide/hooks').id}",
        "e.com/docs/more/index",
        "https://e.com/docs/more",
    ],
)
def test_a_page_is_read_by_an_address_that_lacks_a_part(shelves: Shelves, address: str):
    shelves.crawl(
        {
            "guide/hooks": "# Hooks\n\nWords.\n",
            "guide/other-hooks": "# Other\n\nWords.\n",
            "more/index.html": record(
                "more/index.html", "# More\n\nWords.\n", title="More", identity=f"{SITE}more/"
            ),
        }
    )
    if address.startswith("hooks"):
        with pytest.raises(SearchError, match="no source has the page"):
            shelves.library.page(address)
    else:
        assert shelves.library.page(address)[1].title == ("More" if "more" in address else "Hooks")
    with pytest.raises(SearchError, match="no source has the page"):
        shelves.library.page("https://other.example/docs/guide/hooks")
    with pytest.raises(SearchError, match=r"the nearest are https://e\.com/docs/guide/hooks"):
        shelves.library.page("https://e.com/docs//Guide/Hooks")
    for none in ("http://[", "x" * 9999, "", "#", "🎉"):
        with pytest.raises(SearchError, match=r"^no source has the page .{2,202}; .{1,120}$"):
            shelves.library.page(none)


def test_an_index_file_that_is_damaged_is_made_again(tmp_path: Path):
    place = Place(None, tmp_path)
    shelves = Shelves(place)
    shelves.crawl({"a": "# Alpha\n\nzebras\n"})
    assert shelves.paths("zebras") == ["a"]
    shelves.library.close()
    (index,) = tmp_path.glob("*.search")
    index.write_bytes(b"no database" * 1000)
    assert shelves.paths("zebras") == ["a"]
    shelves.library.close()
    connection = sqlite3.connect(index)
    connection.execute("DROP TABLE link")
    connection.close()
    assert shelves.paths("zebras") == ["a"]
    shelves.library.close()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM state",
        "UPDATE state SET run = CAST(x'ff' AS TEXT)",
        "UPDATE link SET text = CAST(x'ff' AS TEXT)",
    ],
)
def test_rows_of_an_index_that_are_gone_or_no_text_are_made_again(tmp_path: Path, damage: str):
    shelves = Shelves(Place(None, tmp_path))
    ids = [("Alpha", "alpha-1")]
    shelves.crawl({"a": record("a", "# Top\n\n## Alpha\n\nzebras\n", heading_ids=ids)})
    for _ in range(2):
        assert shelves.paths("zebras") == ["a#alpha-1"]
        (index,) = tmp_path.glob("*.search")
        with closing(sqlite3.connect(index)) as connection, connection:
            connection.execute(damage)
    shelves.library.close()
    assert shelves.paths("zebras") == ["a#alpha-1"]
    shelves.library.close()


@pytest.mark.parametrize("part", range(8))
def test_an_index_that_is_damaged_in_any_place_is_made_again(tmp_path: Path, part: int):
    shelves = Shelves(Place(None, tmp_path))
    shelves.crawl(
        {f"p{page}": f"# Page {page}\n\nzebras {'stripes ' * 300}\n" for page in range(60)}
    )
    before = shelves.paths("stripes")
    shelves.library.close()
    (index,) = tmp_path.glob("*.search")
    data = bytearray(index.read_bytes())
    size = len(data) // 8
    data[part * size : (part + 1) * size] = bytes(size)
    index.write_bytes(data)
    assert shelves.paths("stripes") == before
    shelves.library.close()


def test_a_store_that_is_damaged_is_named_and_the_others_answer(tmp_path: Path):
    shelves = Shelves(Place(None, tmp_path))
    text = " ".join(f"{number * 7919 % 100_003}" for number in range(30_000))
    shelves.crawl(
        {f"p{page}": f"# Page {page}\n\nzebras {text[page:]}\n" for page in range(9)}, "bad"
    )
    shelves.crawl({"a": "# Alpha\n\nzebras\n"}, "good")
    (store,) = tmp_path.glob("bad-*.sqlite")
    data = bytearray(store.read_bytes())
    third = len(data) // 3
    data[third : 2 * third] = bytes(third)
    store.write_bytes(data)
    found = shelves.library.search("zebras")
    assert {one.source for one in found.results} == {"good"}
    assert "bad cannot be searched: " in (found.note or "")
    with pytest.raises(StoreError, match="page store"):
        shelves.library.search("zebras", "bad")
    shelves.library.close()


def test_sources_are_read_again_only_where_their_files_changed(tmp_path: Path):
    shelves = Shelves(Place(None, tmp_path))
    stores = Stores(None, tmp_path)
    shelves.crawl({"a": "# Alpha\n"}, "one")
    shelves.crawl({"a": "# Alpha\n"}, "two")
    for file in tmp_path.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    listed = {one.name: (one.pages, one.crawled_at) for one in stores.list()}
    (store,) = tmp_path.glob("one-*.sqlite")
    whole = store.read_bytes()
    store.write_bytes(bytes(len(whole)))
    os.utime(store, (1_700_000_000, 1_700_000_000))
    assert {one.name: (one.pages, one.crawled_at) for one in stores.list()} == listed
    store.write_bytes(whole)
    shelves.crawl({"b": "# Beta\n"}, "one")
    assert [(one.name, one.pages) for one in stores.list()] == [("one", 2), ("two", 1)]


def test_a_folder_that_is_read_only_is_searched_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shelves = Shelves(Place(None, tmp_path))
    shelves.crawl({"a": "# Alpha\n\nzebras\n"})
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "access", lambda path, _: not Path(path).is_relative_to(tmp_path))
    warned: list[str] = []
    for _ in range(2):
        with Library(Stores(None, tmp_path), warn=warned.append) as library:
            assert [one.title for one in library.search("zebras", NAME).results] == ["Alpha"]
    assert (
        warned == [f"{tmp_path} is read-only: the search index is kept in a temporary folder"] * 2
    )
    assert sorted(tmp_path.iterdir()) == before


def test_an_index_is_made_in_bounded_steps(shelves: Shelves):
    shelves.crawl({f"p{page}": f"# Page {page}\n\nzebras\n" for page in range(250)})
    opened = shelves.library.open(NAME)
    steps = 0
    while not opened.sync(0):
        steps += 1
    assert steps > 2
    assert opened.sync(0)
    assert opened.index.count() == (250, 250)


def test_sources_of_one_database_do_not_mix(shelves: Shelves):
    for name in ("one", "two"):
        store = shelves.place.open(name)
        store.upsert_source(SourceRecord(name, SITE))
        shelves.crawl({name: f"# Page\n\nzebras of {name}\n"}, name)
    assert shelves.paths("zebras", "one") == ["one"]
    assert shelves.paths("zebras", "two") == ["two"]
    shelves.crawl({"one": None}, "one")
    assert shelves.paths("zebras", "one") == []
    assert shelves.paths("zebras", "two") == ["two"]


class Topics:
    """Embeds a text by two topics: a stand-in for a model that needs no download."""

    model = "topics"
    calls: ClassVar[list[int]] = []

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Count words of each topic."""
        self.calls.append(len(texts))
        topics = (("car", "automobile", "vehicle"), ("boat", "ship", "vessel"))
        return [
            [0.01 + sum(text.casefold().count(word) for word in topic) for topic in topics]
            for text in texts
        ]


def test_an_embedder_finds_by_meaning_and_embeds_a_passage_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    monkeypatch.setattr(Topics, "calls", [])
    shelves = Shelves(place)
    shelves.library = Library(Stores(place.url, place.data_dir), Topics())
    shelves.crawl({"a": "# A\n\nThe automobile stops.\n", "b": "# B\n\nThe ship sails.\n"})
    assert shelves.paths("vessel")[0] == "b"
    assert shelves.paths("car")[0] == "a"
    assert sum(Topics.calls) == 4  # two passages, two queries
    shelves.crawl({"a": "# A\n\nThe automobile waits.\n"})
    assert shelves.paths("car")[0] == "a"
    assert sum(Topics.calls) == 6  # the passage that changed, one query
    shelves.library.close()


def test_meaning_decides_less_where_the_query_holds_identifiers(tmp_path: Path):
    pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")
    shelves = Shelves(Place(None, tmp_path))
    shelves.library = Library(Stores(None, tmp_path), Topics())
    shelves.crawl(
        {
            "ship": "# Brakes\n\nThe ship has brakes, called brakes_now.\n",
            "road": "# Roads\n\nAn automobile has wheels, doors, a wheel to steer with, and brakes.\n",
        }
    )
    assert shelves.paths("brakes of a vehicle") == ["road", "ship"]
    assert shelves.paths("brakes_now of a vehicle") == ["ship", "road"]
    shelves.library.close()


def test_a_damaged_part_of_an_index_is_made_anew_when_it_is_read(tmp_path: Path):
    shelves = Shelves(Place(None, tmp_path))
    for name in ("one", "two"):
        shelves.crawl({"a": "# Alpha\n\nzebras\n\n## Stripes\n\nThey have some.\n"}, name)
    assert {one.source for one in shelves.library.search("zebras").results} == {"one", "two"}
    for index in tmp_path.glob("*.search"):
        with closing(sqlite3.connect(index)) as connection:
            connection.execute("DROP TABLE link")
    assert {one.source for one in shelves.library.search("zebras").results} == {"one", "two"}
    shelves.library.close()


def test_a_store_that_was_replaced_by_another_file_is_searched_as_it_is_now(tmp_path: Path):
    shelves = Shelves(Place(None, tmp_path))
    shelves.crawl({"a": "# Alpha\n\nzebras\n", "b": "# Beta\n\nlions\n"})
    (file,) = tmp_path.glob("*.sqlite")
    earlier = file.read_bytes()
    assert shelves.paths("zebras") == ["a"]
    shelves.crawl({"a": None, "c": "# Gamma\n\ngiraffes\n"})
    assert (shelves.paths("zebras"), shelves.paths("giraffes")) == ([], ["c"])
    shelves.library.close()
    assert shelves.paths("giraffes") == ["c"]
    copy = tmp_path / "copy"
    copy.write_bytes(earlier)
    copy.replace(file)
    assert (shelves.paths("zebras"), shelves.paths("giraffes")) == (["a"], [])
    shelves.library.close()
