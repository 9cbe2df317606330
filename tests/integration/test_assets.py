"""Pictures and attachments beside the Markdown (`assets=`): in the tree, in rows, in later crawls."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from crawling import command
from site_server import Reply
from sites import html

PNG = b"\x89PNG\r\n\x1a\n" + b"a" * 100
OTHER = b"\x89PNG\r\n\x1a\n" + b"b" * 120
PDF = b"%PDF-1.7\n" + b"c" * 80
SITE = {
    "/": html(
        "Home",
        "<p>Welcome to the pictures. <a href='guide/a.html'>a</a> <a href='guide/b.html'>b</a></p>"
        "<img src='img/logo.png' alt='Logo'>",
    ),
    "/guide/a.html": html(
        "A",
        "<p>What the first picture shows, and the second.</p><img src='../img/logo.png' alt='Logo'>"
        "<img src='/img/copy.png' alt='Copy'><p>It is <a href='../files/paper.pdf'>printed</a>.</p>",
    ),
    "/guide/b.html": html(
        "B",
        "<p>Another page, with a chart of its own.</p><img src='chart?size=2' alt='Chart'>"
        "<img src='http://elsewhere.test/x.png' alt='of another site'>"
        "<img src='/img/gone.png' alt='Gone'>",
    ),
    "/img/logo.png": Reply(PNG, content_type="image/png"),
    "/img/copy.png": Reply(PNG, content_type="image/png"),
    "/guide/chart": Reply(OTHER, content_type="image/png"),
    "/files/paper.pdf": Reply(PDF, content_type="application/pdf"),
}


def path_of(body: bytes, suffix: str = ".png") -> str:
    return f"assets/{hashlib.sha256(body).hexdigest()[:20]}{suffix}"


@pytest.fixture
def crawl(run_crawl, tmp_path):
    """Return a function that crawls with files beside the tree, and returns the outcome."""

    def crawled(site, assets="images", **arguments):
        site.clear()
        return run_crawl(
            f"{site.url}/",
            settings={"LLMS_MIRROR_DIR": "tree"},
            arguments={"assets": assets, "confirm_deletions": "true", **arguments},
        )

    return crawled


def assets(tmp_path: Path) -> dict[str, bytes]:
    """The files beside the pages of the tree."""
    folder = tmp_path / "tree"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in (folder / "assets").glob("*")
    }


def assert_links_lead_to_files(folder: Path, number: int) -> None:
    links = [
        (path, link)
        for path in folder.rglob("*.md")
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)", path.read_text())
        if "://" not in link
    ]
    assert len(links) == number
    assert [link for path, link in links if not (path.parent / unquote(link)).is_file()] == []


def test_pictures_are_kept_once_beside_the_tree(serve, crawl, tmp_path):
    site = serve(SITE)
    outcome = crawl(site)
    assert assets(tmp_path) == {path_of(PNG): PNG, path_of(OTHER): OTHER}
    assert_links_lead_to_files(tmp_path / "tree", 4)
    page = (tmp_path / "tree/guide/b.md").read_text()
    assert f"![Chart](../{path_of(OTHER)})" in page
    assert "![of another site](http://elsewhere.test/x.png)" in page
    assert f"![Gone]({site.url}/img/gone.png)" in page
    assert f"[printed]({site.url}/files/paper.pdf)" in (tmp_path / "tree/guide/a.md").read_text()
    assert [site.paths().count(f"/img/{name}.png") for name in ("logo", "copy", "gone")] == [1] * 3
    assert "3 files are kept beside the pages, 0 more are not requested" in outcome.lines
    assert outcome.stats["llms/assets/kept"] == 3
    assert outcome.stats["llms/assets/failed"] == 1


def test_rows_name_the_files_and_keep_their_content(serve, crawl, tmp_path):
    site = serve(SITE)
    rows = {row["url"].removeprefix(site.url): row for row in crawl(site).documents}
    assert rows["/guide/a.html"]["assets"] == [
        {"url": f"{site.url}/img/logo.png", "path": path_of(PNG)},
        {"url": f"{site.url}/img/copy.png", "path": path_of(PNG)},
    ]
    for row in rows.values():
        assert hashlib.sha256(row["content"].encode()).hexdigest() == row["content_hash"]
    assert f"{site.url}/img/logo.png" in rows["/"]["content"]


def test_linked_files_are_kept_where_they_are_wanted(serve, crawl, tmp_path):
    site = serve(SITE)
    crawl(site, "files", block="/img/copy*")
    assert assets(tmp_path).keys() == {path_of(PNG), path_of(OTHER), path_of(PDF, ".pdf")}
    assert f"[printed](../{path_of(PDF, '.pdf')})" in (tmp_path / "tree/guide/a.md").read_text()
    assert "/img/copy.png" not in site.paths()


def test_a_later_crawl_asks_with_validators_and_follows_what_changed(serve, crawl, tmp_path):
    site = serve(SITE)
    site.etags = True
    crawl(site)
    first = assets(tmp_path)
    crawl(site)
    assert assets(tmp_path) == first
    assert {seen.status for seen in site.requests if seen.path.startswith("/img/l")} == {304}
    new = OTHER + b"new"
    site.pages["/guide/chart"] = Reply(new, content_type="image/png")
    outcome = crawl(site)
    assert assets(tmp_path) == {path_of(PNG): PNG, path_of(new): new}
    assert f"![Chart](../{path_of(new)})" in (tmp_path / "tree/guide/b.md").read_text()
    assert {row["change"] for row in outcome.documents} == {"unchanged"}


def test_a_file_goes_with_the_last_page_that_names_it(serve, crawl, tmp_path):
    site = serve(SITE)
    crawl(site)
    site.pages["/"] = html("Home", "<p>Welcome to the pictures. <a href='guide/a.html'>a</a></p>")
    del site.pages["/guide/b.html"]
    crawl(site)
    assert assets(tmp_path).keys() == {path_of(PNG)}
    site.pages["/img/logo.png"] = Reply("gone", 410)
    site.pages["/img/copy.png"] = Reply("a moment", 503)
    crawl(site)
    assert assets(tmp_path).keys() == {path_of(PNG)}  # what failed for now stays
    assert f"![Logo]({site.url}/img/logo.png)" in (tmp_path / "tree/guide/a.md").read_text()


def test_a_page_in_place_of_a_picture_and_a_large_file_are_not_kept(serve, crawl, tmp_path):
    large = b"\x89PNG" + b"d" * (10 * 1024 * 1024)
    site = serve(
        SITE
        | {
            "/img/logo.png": html("Login", "<p>Please log in.</p>"),
            "/img/copy.png": Reply(large, content_type="image/png"),
        }
    )
    outcome = crawl(site)
    assert assets(tmp_path).keys() == {path_of(OTHER)}
    assert outcome.stats["llms/assets/failed"] == 3
    assert len(outcome.documents) == 3


def test_a_redirected_picture_is_kept_under_the_address_that_pages_name(serve, crawl, tmp_path):
    site = serve(SITE)
    site.pages["/img/logo.png"] = Reply(status=302, headers={"Location": "/img/copy.png"})
    site.etags = True
    crawl(site)
    crawl(site)
    assert path_of(PNG) in assets(tmp_path)
    asked = [seen for seen in site.requests if seen.path == "/img/logo.png"]
    assert [seen.headers.get("if-none-match") for seen in asked] == [None]


def test_a_crawl_that_is_cut_forgets_no_file(serve, crawl, tmp_path):
    site = serve(SITE)
    crawl(site)
    crawl(site, max_pages="1")
    assert len(assets(tmp_path)) == 2


def test_an_export_writes_the_files_of_the_store(serve, crawl, tmp_path):
    site = serve(SITE)
    crawl(site)
    name = site.url.removeprefix("http://")
    store = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    command("export", name, "--format", "tree", "-o", "other", *store, cwd=tmp_path)
    assert (tmp_path / "other" / path_of(PNG)).read_bytes() == PNG
    rows = command("export", name, *store, cwd=tmp_path).stdout
    assert f'"path":"{path_of(OTHER)}"' in rows


def test_without_the_argument_no_picture_is_requested(serve, run_crawl):
    site = serve(SITE)
    outcome = run_crawl(f"{site.url}/")
    assert not [path for path in site.paths() if "png" in path or "chart" in path]
    assert all("assets" not in row for row in outcome.documents)
