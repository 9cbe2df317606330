"""A store that an earlier version wrote: the next crawl finds everything as it was.

`tests/fixtures/store_v6.sql` and `store_v6_postgresql.sql` hold what was stored of `SITE` in two crawls before there
was one table of readings; at the first there was one more page, and two had other texts.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from crawling import begin_crawl, crawl
from site_server import Reply
from sites import html

from llmsspider.items import EXTRACTOR_VERSION, compress
from llmsspider.store import Stores, open_store
from llmsspider.store.database import open_sqlite, source_file
from llmsspider.store.schema import STEPS, migrate

FIXTURES = Path(__file__).parents[1] / "fixtures"
BASE = "http://docs.example"
"""The site is reached through a proxy, so that its address can be in a fixture."""

ENTRIES = "".join(
    f"<li><a href='/guide/{name}.html'>{name}</a></li>" for name in ("intro", "more", "deep")
)
SITE = {
    "/robots.txt": f"User-agent: *\nDisallow: /private/\nSitemap: {BASE}/map.xml\n",
    "/llms.txt": "# Site\n\n> What it is.\n\n## Guide\n\n- [The intro](guide/intro.html.md): how to begin\n",
    "/map.xml": "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    f"<url><loc>{BASE}/guide/intro.html</loc></url><url><loc>{BASE}/guide/mapped.html</loc></url></urlset>",
    "/": html("Home", "<p>Welcome to the documentation of this thing.</p>"),
    "/index.html.md": "# Home\n\nWelcome.\n",
    "/guide/intro.html": html("Intro", "<p>How to begin.</p>"),
    "/guide/intro.html.md": "# Intro\n\nHow to begin, [see more](more.html), [all](../genindex.html).\n",
    "/guide/more.html": html("More", "<p>More.</p>"),
    "/guide/more.html.md": "# More\n\nMore to read: [deep](deep.html), [hidden](hidden.html).\n",
    "/guide/mapped.html": html("Mapped", "<p>Only the sitemap names it.</p>"),
    "/guide/deep.html": html("Deep", "<p>The deepest page of all.</p>"),
    "/guide/hidden.html": html(
        "Hidden", "<p>Not to be read.</p>", "<meta name='robots' content='noindex'>"
    ),
    "/genindex.html": html("Index", f"<ul>{ENTRIES}</ul>"),
    "/old.html": Reply("", 301, headers={"Location": "/guide/intro.html"}),
}


@pytest.fixture
def site(serve):
    """The site, which sends validators, behind its proxy."""
    site = serve(SITE)
    site.etags = True
    return site


def dump(name: str) -> str:
    """Return what was stored, as if by the extractor of today: that of then would have every page made again."""
    return (FIXTURES / name).read_text().replace("'13:native", f"'{EXTRACTOR_VERSION}:native")


def recrawl(site, folder: Path, **settings: str):
    """Crawl the site as a night does."""
    done = crawl(
        f"{BASE}/",
        folder,
        settings={"LLMS_DATA_DIR": folder / "store", **settings},
        env={"http_proxy": site.url, "no_proxy": ""},
    )
    assert done.exit_code == 0, done.log
    return done


def check_night(site, folder: Path, **settings: str) -> None:
    """Nothing has changed, and everything was asked with validators."""
    known = {
        found.name: found.pages
        for found in Stores(settings.get("LLMS_STORE_URL"), folder / "store").list()
    }
    night = recrawl(site, folder, **settings)
    assert Counter(row["change"] for row in night.documents) == {"unchanged": known["docs.example"]}
    assert {seen.status for seen in site.requests} <= {301, 304, 404}, [
        (seen.path, seen.status) for seen in site.requests
    ]
    assert {"/robots.txt", "/llms.txt", "/map.xml", "/guide/hidden.html"} <= set(site.paths())
    assert "llms/converted" not in night.stats
    with Stores(settings.get("LLMS_STORE_URL"), folder / "store").open("docs.example") as store:
        assert [page.change for page in store.changes_since(0)].count("deleted") == 1
        assert store.history_size()[0] == 3


def test_a_store_of_version_6_finds_everything_unchanged(site, tmp_path: Path):
    (tmp_path / "store").mkdir()
    with sqlite3.connect(source_file(tmp_path / "store", "docs.example")) as connection:
        connection.executescript(dump("store_v6.sql"))
    connection.close()
    check_night(site, tmp_path)
    check_night(site, tmp_path)


@pytest.mark.postgresql
def test_a_store_of_version_6_in_postgresql_finds_everything_unchanged(
    site, tmp_path: Path, postgresql_url: str
):
    with psycopg.connect(postgresql_url) as connection:
        connection.execute(dump("store_v6_postgresql.sql"))
    check_night(site, tmp_path, LLMS_STORE_URL=postgresql_url)


DEAD = f"{BASE}/guide/nowhere.html"
CHECKED = {"00": [2, {"index": "x"}, [], False]}
LEARNED: dict[str, Any] = {
    "dead_links": {DEAD: 1},
    "tags": [f"{BASE}/tags/one"],
    "judged": [["files", "docs.example", "", {"good": 2, "worse": 0, "decided": False}]],
}
"""What a store of version 9 had learned in two columns, by the names of today."""


@pytest.fixture
def of_version_9(tmp_path: Path) -> Path:
    """A folder with a store of version 9, which has learned this and that and has a ledger."""
    path = source_file(tmp_path / "store", "docs.example")
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.executescript(dump("store_v6.sql"))
    migrate(open_sqlite(path), STEPS[:8]).close()
    connection = sqlite3.connect(path)
    forms, discovery = map(
        json.loads, connection.execute("SELECT forms, discovery FROM source").fetchone()
    )
    forms["*"] = {name: LEARNED[name] for name in ("tags", "judged")}
    discovery |= {
        "dead_links": LEARNED["dead_links"],
        "witnesses": {"settings": "s"},
        "says": {"title": "Site"},
        "rights": {"docs.example": []},
    }
    connection.execute(
        "UPDATE source SET forms=?, discovery=?", [*map(json.dumps, (forms, discovery))]
    )
    row = connection.execute(
        "INSERT INTO page (source_id, key, identity, url, document_id, origin, discovered_by, depth,"
        " extractor_version, fetched_at, seq, change, run, reached, gone)"
        " VALUES (1, x'01', '', '', '', '', '', 0, 'ledger', '', 0, '', 2, 2, 1)"
    ).lastrowid
    frame = compress(json.dumps(CHECKED).encode())
    connection.execute("INSERT INTO content (page_id, data) VALUES (?, ?)", (row, frame))
    connection.commit()
    connection.close()
    return tmp_path


def remembered(folder: Path) -> dict[str, Any]:
    with open_store(None, folder / "store", "docs.example", create=False) as store:
        return store.memory()


def test_what_a_store_of_version_9_has_learned_is_remembered_by_name(of_version_9: Path):
    found = remembered(of_version_9)
    assert {name: found[name] for name in LEARNED} == LEARNED
    assert found["witnesses"] == {"settings": "s", "checked": CHECKED}
    assert set(found["forms"]) == {"docs.example"}
    with open_store(None, of_version_9 / "store", "docs.example") as store:
        record = store.source_record()
    assert record is not None
    assert record.header["title"] == "Site"
    assert record.rights == {"docs.example": []}


def test_a_crawl_that_is_killed_on_an_older_store_loses_nothing_that_was_learned(
    site, of_version_9: Path
):
    dead = "<a href='nowhere.html'>dead</a>"
    site.pages["/guide/deep.html"] += dead
    processes: list[Any] = []
    whole = site.pages["/guide/mapped.html"]

    def kill(_seen):
        os.kill(processes[0].pid, signal.SIGKILL)
        return whole

    site.pages["/guide/mapped.html"] = kill
    env = {"http_proxy": site.url, "no_proxy": ""}
    processes.append(begin_crawl(f"{BASE}/", of_version_9, env=env))
    assert processes[0].wait() == -signal.SIGKILL
    found = remembered(of_version_9)
    assert {name: found[name] for name in LEARNED} == LEARNED
    assert found["witnesses"]["checked"] == CHECKED
    site.pages["/guide/mapped.html"] = whole
    site.clear()
    recrawl(site, of_version_9)
    later = remembered(of_version_9)
    assert later["tags"] == LEARNED["tags"]
    assert later["witnesses"]["settings"] != "s", "what a whole crawl learned is kept at its end"
