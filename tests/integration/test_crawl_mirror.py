"""The Markdown tree of a crawled site, and how later crawls keep it in step."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from sites import MARKDOWN, PLAIN, html


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Modification time and text of every file of a tree but its manifest."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".llmsspider.json"
    }


def head(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1])


@pytest.fixture
def mirror(run_crawl, tmp_path):
    """Return a function that crawls into the tree `tree`, and what its files are then."""

    def crawl(url, *, settings=None, **options):
        outcome = run_crawl(
            url, settings={"LLMS_MIRROR_DIR": "tree", **(settings or {})}, **options
        )
        return outcome, files(tmp_path / "tree")

    return crawl


def test_the_tree_has_a_file_for_each_page_and_a_table_of_contents(serve, mirror, tmp_path):
    site = serve(PLAIN)
    outcome, tree = mirror(f"{site.url}/")
    assert list(tree) == ["guide/deep.md", "guide/intro.md", "guide/more.md", "home.md", "index.md"]
    by_url = {document["url"]: document for document in outcome.documents}
    assert head(tmp_path / "tree/guide/intro.md") == {
        "url": f"{site.url}/guide/intro.html",
        "title": "Intro",
        "source": site.url.removeprefix("http://"),
        "hash": by_url[f"{site.url}/guide/intro.html"]["content_hash"],
        "fetched_at": by_url[f"{site.url}/guide/intro.html"]["fetched_at"],
    }
    more = tree["guide/more.md"][1].decode()
    assert "[deeper](deep.md)" in more
    assert "## guide\n\n- [Deep](guide/deep.md)\n" in tree["index.md"][1].decode()
    assert "tree tree: 4 files written, 0 untouched, 0 removed" in outcome.lines


def test_listed_pages_come_in_the_order_of_llms_txt_with_their_section(serve, mirror, tmp_path):
    site = serve(MARKDOWN)
    _, tree = mirror(f"{site.url}/")
    assert (
        "## Guide\n\n- [The intro](guide/intro.md): how to begin\n" in tree["index.md"][1].decode()
    )
    assert head(tmp_path / "tree/guide/intro.md")["section"] == "Guide"


def test_every_relative_link_of_the_tree_leads_to_a_file(serve, mirror, tmp_path):
    site = serve(MARKDOWN)
    _, tree = mirror(f"{site.url}/")
    links = [
        (name, link)
        for name, (_, text) in tree.items()
        for link in re.findall(r"\]\(([^)#]+)", text.decode())
        if "://" not in link
    ]
    assert len(links) >= 4
    assert [
        link
        for name, link in links
        if not (tmp_path / "tree" / name).parent.joinpath(unquote(link)).is_file()
    ] == []


def test_an_unchanged_site_leaves_every_file_alone(serve, mirror):
    site = serve(PLAIN)
    _, first = mirror(f"{site.url}/")
    outcome, second = mirror(f"{site.url}/")
    assert second == first
    assert "tree tree: 0 files written, 4 untouched, 0 removed" in outcome.lines


def test_a_later_crawl_touches_exactly_what_changed(serve, mirror, tmp_path):
    site = serve(
        {
            **PLAIN,
            "/old/gone.html": html("Gone", "<p>Soon gone.</p>"),
            "/": html("Home", "<p>Welcome. <a href='old/gone.html'>old</a></p>"),
        }
    )
    _, first = mirror(f"{site.url}/")
    (tmp_path / "tree/mine.txt").write_text("a file of the user")
    site.pages["/guide/deep.html"] = html("Deep", "<p>Deeper still.</p>")
    del site.pages["/old/gone.html"]
    outcome, second = mirror(
        f"{site.url}/", arguments={"emit": "changes", "confirm_deletions": "true"}
    )
    assert set(first) - set(second) == {"old/gone.md"}
    assert not (tmp_path / "tree/old").exists()
    rewritten = {name for name in second if name in first and second[name] != first[name]}
    assert rewritten == {
        "guide/deep.md",
        "home.md",
        "index.md",
    }  # the home page links to what is gone
    assert outcome.stats["llms/mirror/removed"] == 1
    assert (tmp_path / "tree/mine.txt").exists()


def test_a_crawl_that_fails_or_is_capped_removes_nothing(serve, mirror):
    site = serve(PLAIN)
    _, first = mirror(f"{site.url}/")
    _, capped = mirror(f"{site.url}/", arguments={"max_pages": 1})
    pages = dict(site.pages)
    site.pages.clear()
    failed, after = mirror(f"{site.url}/")
    assert capped == first
    assert after == first, failed.log
    site.pages.update(pages)


def test_a_folder_of_other_files_is_refused_before_anything_is_fetched(serve, mirror, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/index.md").write_text("mine")
    site = serve(PLAIN)
    outcome, tree = mirror(f"{site.url}/")
    assert outcome.exit_code == 2
    assert "LLMS_MIRROR_DIR: tree holds files that are not from llmsspider" in outcome.log
    assert site.requests == []
    assert tree["index.md"][1] == b"mine"


def test_sources_share_a_setting_by_its_placeholder(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    for source in ("one", "two"):
        run_crawl(
            f"{site.url}/",
            arguments={"source": source},
            settings={"LLMS_MIRROR_DIR": "trees/%(source)s"},
        )
    assert len(list((tmp_path / "trees").glob("*/home.md"))) == 2


def test_the_tree_of_another_source_is_refused(serve, mirror):
    site = serve(PLAIN)
    mirror(f"{site.url}/", arguments={"source": "one"})
    outcome, _ = mirror(f"{site.url}/", arguments={"source": "two"})
    assert outcome.exit_code == 2
    assert "holds the source 'one'" in outcome.log
