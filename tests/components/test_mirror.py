"""The Markdown tree against a store: what it never touches, and how it heals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stores import record

from llmsspider.errors import MirrorError
from llmsspider.items import Link
from llmsspider.output.mirror import PART, folder_for, replace_file, sync
from llmsspider.store import SourceRecord, open_store


@pytest.fixture
def store(tmp_path):
    """A store with two pages that link to each other."""
    with open_store(None, tmp_path / "store", "e.com/docs") as opened:
        opened.upsert_source(SourceRecord("e.com/docs", "https://e.com/docs/"))
        opened.begin_run("crawl", {})
        for name, other in (("a", "b"), ("b", "a")):
            url = f"https://e.com/docs/{other}"
            text = f"# {name}\n\n[other]({url}#x), `[code]({url})`, ![image]({url}.png)\n\n```\n[fenced]({url})\n```\n"
            opened.save_page(record(name, text, links=[Link("other", url)]), "new")
        yield opened


def test_only_links_outside_code_that_lead_into_the_tree_are_rewritten(store, tmp_path):
    sync(store, tmp_path / "tree")
    text = (tmp_path / "tree/docs/a.md").read_text(encoding="utf-8").split("---\n\n")[1]
    assert text == (
        "# a\n\n[other](b.md#x), `[code](https://e.com/docs/b)`, ![image](https://e.com/docs/b.png)\n\n"
        "```\n[fenced](https://e.com/docs/b)\n```\n"
    )


def test_a_file_that_was_deleted_comes_back(store, tmp_path):
    sync(store, tmp_path / "tree")
    (tmp_path / "tree/docs/a.md").unlink()
    assert sync(store, tmp_path / "tree").written == ["docs/a.md"]


def test_a_file_of_the_user_is_never_replaced(store, tmp_path):
    sync(store, tmp_path / "tree")
    mine = tmp_path / "tree/docs/c.md"
    mine.write_text("mine")
    store.save_page(record("c"), "new")
    (written,) = sync(store, tmp_path / "tree").written
    assert written.startswith("docs/c~")
    assert mine.read_text() == "mine"


def test_the_last_page_of_a_folder_takes_the_folder_with_it_unless_others_are_in_it(
    store, tmp_path
):
    store.save_page(record("deep/er/page"), "new")
    store.save_page(record("kept/page"), "new")
    sync(store, tmp_path / "tree")
    (tmp_path / "tree/docs/kept/mine.txt").write_text("mine")
    for path in ("deep/er/page", "kept/page"):
        store.delete_page(record(path).key, "not-found")
    assert sorted(sync(store, tmp_path / "tree").removed) == [
        "docs/deep/er/page.md",
        "docs/kept/page.md",
    ]
    assert sorted(path.name for path in (tmp_path / "tree/docs").iterdir()) == [
        "a.md",
        "b.md",
        "kept",
    ]


def test_a_manifest_that_names_files_outside_the_folder_is_refused(store, tmp_path):
    sync(store, tmp_path / "tree")
    victim = tmp_path / "victim.md"
    victim.write_text("mine")
    manifest = tmp_path / "tree/.llmsspider.json"
    body = json.loads(manifest.read_text())
    body["pages"]["https://e.com/gone"] = ["../victim.md", "", "", 0]
    manifest.write_text(json.dumps(body))
    with pytest.raises(MirrorError, match="choose another folder"):
        sync(store, tmp_path / "tree")
    assert victim.exists()


def test_a_store_without_pages_leaves_the_folder_alone(tmp_path):
    with open_store(None, tmp_path / "store", "e.com") as empty:
        empty.upsert_source(SourceRecord("e.com", "https://e.com/"))
        sync(empty, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_the_placeholder_is_a_safe_name_of_the_source():
    folder = folder_for("trees/%(source)s", "../../etc")
    assert folder.parent == Path("trees") and ".." not in folder.name


@pytest.mark.parametrize("target", ["outside", "tree/other"])
def test_nothing_is_written_or_removed_through_a_folder_that_became_a_link(store, tmp_path, target):
    sync(store, tmp_path / "tree")
    (tmp_path / "tree/docs").rename(tmp_path / "moved")
    elsewhere = tmp_path / target
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("mine")
    (tmp_path / "tree/docs").symlink_to(elsewhere)
    with pytest.raises(MirrorError, match="symbolic link"):
        sync(store, tmp_path / "tree")
    assert [path.name for path in elsewhere.iterdir()] == ["a.md"]


def test_a_link_in_the_place_of_the_part_file_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("precious")
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / PART).symlink_to(outside)
    replace_file(folder, "page.md", b"text")
    assert ((folder / "page.md").read_bytes(), outside.read_text()) == (b"text", "precious")
    assert not (folder / "page.md").is_symlink()
