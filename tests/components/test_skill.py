"""A source as a skill: what agents read first, references by section, kept in step and never beyond its bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from command_line import Done
from stores import NAME, SITE, Place, record

from llmsspider.content.markdown.chunks import tokens
from llmsspider.errors import MirrorError
from llmsspider.items import THIRD_PARTY, LlmsEntry
from llmsspider.output.mirror import MAX_REFERENCE_TOKENS, sync, sync_skill
from llmsspider.output.mirror_files import MAX_DESCRIPTION
from llmsspider.store import SourceRecord, Store

SAYS = {"title": "Example: docs", "summary": "How to\nuse it.", "notes": None}


def entry(section: str, title: str, order: int, said: str | None = None) -> LlmsEntry:
    return LlmsEntry(SITE + "llms.txt", section, title, said, order)


def crawl(
    store: Store, pages: dict[str, str | None], entries: dict[str, LlmsEntry] | None = None
) -> None:
    known = store.page_states()
    store.begin_run("crawl", {})
    for path, text in pages.items():
        page = record(path, text, title=path.title(), llms=(entries or {}).get(path))
        if text is None:
            store.delete_page(page.key, "not-found")
        else:
            store.save_page(page, "changed" if page.key in known else "new")
    store.finish_run("finished", complete=True, why=None, counts={})


@pytest.fixture
def store(tmp_path: Path):
    opened = Place(None, tmp_path / ".scrapy" / "llmsspider").open()
    opened.upsert_source(SourceRecord(NAME, SITE, says=SAYS))
    listed = {
        "install": entry("First steps", "Install it", 0, "on every system"),
        "run": entry("First steps", "Run it", 1),
        "api/all": entry("API", "All functions", 2),
    }
    texts = {
        "install": "# Install\n\nDo it.\n",
        "run": "# Run\n\nNow.\n",
        "api/all": "# All\n\n`f()`\n",
        "other": "# Other\n",
    }
    crawl(opened, texts, listed)
    yield opened
    opened.close()


def front(folder: Path) -> dict[str, str]:
    return yaml.safe_load((folder / "SKILL.md").read_text().split("---\n")[1])


def test_an_agent_reads_what_it_is_and_where_to_look(store: Store, tmp_path: Path):
    folder = tmp_path / "skill"
    report = sync_skill(store, folder)
    assert sorted(report.written) == [
        "SKILL.md",
        "references/api.md",
        "references/docs.md",
        "references/first-steps.md",
    ]
    assert front(folder) == {
        "name": "e-com-docs",
        "description": 'Documentation of Example: docs, which says: "How to use it." '
        "Use it for questions and code about Example: docs: First steps, API.",
    }
    skill = (folder / "SKILL.md").read_text()
    assert f"\n{THIRD_PARTY}\n\n# Example: docs\n\nHow to use it.\n" in skill
    assert (
        "### First steps\n\n- [Install it](references/first-steps.md): on every system\n" in skill
    )
    steps = (folder / "references/first-steps.md").read_text()
    contents = f"{THIRD_PARTY}\n\n# First steps\n\n- Install it\n- Run it\n\n"
    assert steps.startswith(f"{contents}# Install\n\nSource: {SITE}install\n")


def test_a_recrawl_touches_only_what_differs(store: Store, tmp_path: Path):
    folder = tmp_path / "skill"
    sync_skill(store, folder)
    (folder / "references" / "mine.md").write_text("mine")
    assert sync_skill(store, folder).untouched == 4
    crawl(
        store,
        {"run": "# Run\n\nLater.\n", "other": None},
        {"run": entry("First steps", "Run it", 1)},
    )
    report = sync_skill(store, folder)
    assert sorted(report.written) == ["SKILL.md", "references/first-steps.md"]
    assert (report.removed, report.untouched) == (["references/docs.md"], 1)
    assert (folder / "references" / "mine.md").read_text() == "mine"


def test_large_sections_are_parted_and_large_outlines_name_sections_only(
    store: Store, tmp_path: Path
):
    words = "Some words of a page. " * 400
    pages = {f"big/p{number:03}": f"# P {number}\n\n{words}\n" for number in range(400)}
    crawl(store, pages, {path: entry("Big", path, order) for order, path in enumerate(pages)})
    folder = tmp_path / "skill"
    sync_skill(store, folder)
    references = sorted((folder / "references").glob("big*.md"))
    assert len(references) > 1
    assert all(tokens(file.read_text()) < MAX_REFERENCE_TOKENS * 1.1 for file in references)
    outline = (folder / "SKILL.md").read_text()
    assert "- Big: [references/big.md](references/big.md) (" in outline
    assert len(outline.splitlines()) < 100


def test_what_is_beyond_the_budget_is_named_with_its_address(store: Store, tmp_path: Path):
    folder = tmp_path / "skill"
    sync_skill(store, folder, budget=30)
    skill = (folder / "SKILL.md").read_text()
    assert "pages are not in the references:" in skill
    assert f"- [All functions]({SITE}api/all)" in skill
    assert not (folder / "references/api.md").exists()


def test_a_description_stays_within_the_format(store: Store, tmp_path: Path):
    long = {**SAYS, "summary": "Very long. " * 500}
    store.upsert_source(SourceRecord(NAME, SITE, says=long))
    sync_skill(store, tmp_path / "skill")
    assert len(front(tmp_path / "skill")["description"]) <= MAX_DESCRIPTION


def test_folders_of_others_are_left_alone(store: Store, tmp_path: Path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "file.txt").write_text("mine")
    with pytest.raises(MirrorError, match="holds files that are not from llmsspider"):
        sync_skill(store, folder)
    sync(store, tmp_path / "tree")
    with pytest.raises(MirrorError, match="holds a tree of Markdown"):
        sync_skill(store, tmp_path / "tree")
    sync_skill(store, tmp_path / "skill")
    with pytest.raises(MirrorError, match="holds a skill"):
        sync(store, tmp_path / "skill")


def test_the_export_writes_it(store: Store, tmp_path: Path, scrapy: Callable[..., Done]):
    done = scrapy(tmp_path, "export", NAME, "--format", "skill", "-o", "skill")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "skill: 4 files written, 0 untouched, 0 removed\n"
    wrong = scrapy(tmp_path, "export", NAME, "--format", "skill")
    assert (wrong.returncode, "--format skill needs a folder: -o DIR" in wrong.stderr) == (2, True)
