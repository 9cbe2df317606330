"""A new field of documents, made as docs/how-to/extending.md says: it is that of the text that is published."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import ROOT, crawl_words
from forked import HANGS_SECS
from sites import html

PIPELINE = """
class Shorten:
    def process_item(self, item):
        item.content = "Five words and no more.\\n"
        return item
"""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The package with one more field, which follows from `content`."""
    shutil.copytree(ROOT / "llmsspider", tmp_path / "llmsspider")
    shutil.copytree(ROOT / "pipelines_config", tmp_path / "pipelines_config")
    shutil.copy(ROOT / "scrapy.cfg", tmp_path)
    items = tmp_path / "llmsspider" / "items.py"
    before = "    code_languages: list[str] = field(default_factory=list)\n"
    text = items.read_text()
    assert text.count(before) == 1
    items.write_text(text.replace(before, f"{before}    words: int = 0\n"))
    records = tmp_path / "llmsspider" / "store" / "records.py"
    before = "    @property\n    def hash_of_content("
    text = records.read_text()
    assert text.count(before) == 1
    new = (
        "    @property\n    def words(self):\n        return len((self.content or '').split())\n\n"
    )
    records.write_text(text.replace(before, new + before))
    (tmp_path / "own.py").write_text(PIPELINE)
    return tmp_path


def test_a_field_that_follows_from_content_follows_from_what_is_published(serve, changed) -> None:
    site = serve({"/": html("Home", f"<p>{'Many words of the page. ' * 20}</p>")})
    rows = []
    for night in range(2):
        words = crawl_words(
            f"{site.url}/", changed, settings={"ITEM_PIPELINES": '{"own.Shorten": 300}'}
        )
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", *words, "-O", f"{night}.jsonl"],
            cwd=changed,
            env={**os.environ, "PYTHONPATH": str(changed)},
            capture_output=True,
            text=True,
            timeout=HANGS_SECS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        rows += map(json.loads, (changed / f"{night}.jsonl").read_text().splitlines())
    assert [(row["change"], row["words"]) for row in rows] == [("new", 5), ("unchanged", 5)]
