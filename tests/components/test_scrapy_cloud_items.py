"""What the extensions for Scrapy Cloud do with items and memory; whole jobs are in tests/e2e/test_scrapy_cloud.py."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from llmsspider.crawler.progress import Outputs
from llmsspider.crawler.run import Run
from llmsspider.extensions.job_memory import descendants
from llmsspider.extensions.scrapy_cloud import MAX_ITEM_BYTES, ScrapyCloud
from llmsspider.items import Document


def document(**fields) -> Document:
    values = dict.fromkeys(
        ("id", "url", "fetched_url", "source", "run", "origin", "discovered_by"), "x"
    )
    rest = {
        "seq": 1,
        "title": None,
        "description": None,
        "language": None,
        "content_hash": None,
        "depth": 0,
    }
    return Document(**{**values, **rest, "content": "text\n", "change": "new", **fields})


@pytest.fixture
def cloud():
    """The extension, the items the platform got, the stats counted, and a spider with its run."""
    written, stats = [], {}
    crawler = SimpleNamespace(
        settings=Settings(),
        stats=SimpleNamespace(inc_value=lambda name, number: stats.update({name: number})),
    )
    platform = SimpleNamespace(item_scraped=lambda item, _spider: written.append(item))
    run = Run.__new__(Run)
    run.outputs = Outputs()
    spider = SimpleNamespace(run=run)
    crawler.spider = spider
    extension = ScrapyCloud(crawler)
    extension.platform = platform
    return extension, written, stats, spider


def test_elsewhere_it_is_not_configured(monkeypatch):
    monkeypatch.delenv("SHUB_JOBKEY", raising=False)
    with pytest.raises(NotConfigured):
        ScrapyCloud.from_crawler(SimpleNamespace())


def test_a_document_is_one_item_or_several(cloud):
    extension, written, stats, spider = cloud
    extension.item_scraped(document(), spider)
    assert [(item["_type"], item["content"], "part" in item) for item in written] == [
        ("Document", "text\n", False)
    ]
    assert stats == {}
    extension.item_scraped(document(content="a line of text\n" * 100_000), spider)
    assert [item["part"] for item in written[1:]] == [1, 2]
    assert stats == {"llms/cloud/split": 1}


def test_one_that_cannot_be_cut_is_refused_and_not_delivered(cloud, caplog):
    extension, written, stats, spider = cloud
    with caplog.at_level(logging.ERROR):
        extension.item_scraped(
            document(url="https://a.example/", title="t" * MAX_ITEM_BYTES), spider
        )
    assert written == []
    assert stats == {"llms/cloud/refused": 1}
    assert (
        "no item for https://a.example/: its fields other than content and links have"
        in caplog.text
    )
    assert len(spider.run.outputs.undelivered) == 1


def test_items_of_other_spiders_go_as_they_are(cloud):
    extension, written, _stats, spider = cloud
    extension.item_scraped({"a": 1}, spider)
    assert written == [{"a": 1}]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_memory_of_children_of_children_counts():
    script = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); "
        "print(p.pid, flush=True); sys.stdin.read(); p.kill()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert {child.pid, grandchild} <= set(descendants(os.getpid()))
        child.stdin.close()
