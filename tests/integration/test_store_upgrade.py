"""A store that an earlier version wrote: the next crawl finds everything as it was.

`tests/fixtures/store_v6.sql` and `store_v6_postgresql.sql` hold what was stored of `SITE` in two crawls before there
was one table of readings; at the first there was one more page, and two had other texts.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from crawling import crawl
from site_server import Reply
from sites import html

from llmsspider.items import EXTRACTOR_VERSION
from llmsspider.store import Stores
from llmsspider.store.database import source_file

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
