"""Page stores for the tests: the same tests run on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llmsspider.items import Link, LlmsEntry
from llmsspider.store import PageRecord, SourceRecord, Store, open_store

NAME = "e.com/docs"
SITE = "https://e.com/docs/"


@dataclass
class Place:
    """Where a test keeps its sources; every store opened here is closed when the test ends."""

    url: str | None
    data_dir: Path
    opened: list[Store] = field(default_factory=list)

    def open(self, name: str = NAME, *, create: bool = True) -> Store:
        """Open a source, which exists when `create` is left on."""
        store = open_store(self.url, self.data_dir, name, create=create)
        self.opened.append(store)
        if create and store.source_record() is None:
            store.upsert_source(SourceRecord(name, SITE))
        return store


def record(path: str = "a", content: str | None = "# A\n", **fields: Any) -> PageRecord:
    """A page of the site; its hashes follow from its content unless given."""
    url = SITE + path
    digest = (
        None
        if content is None
        else hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    )
    given: dict[str, Any] = {
        "id": hashlib.sha256(url.encode()).hexdigest()[:32],
        "identity": url,
        "url": url,
        "fetched_url": url,
        "content": content,
        "content_hash": digest,
        "raw_hash": digest,
        "source_hash": digest,
        "extractor_version": "1",
        "fetched_at": "2026-11-21T22:00:00Z",
    }
    return PageRecord(**given | fields)


def full_record() -> PageRecord:
    """A page with every field set."""
    return record(
        "guide",
        "# Guide\n\n`ünï` 日本\n",
        fetched_url=SITE + "guide.md",
        title="Guide",
        description="How to",
        language="en",
        origin="markdown",
        discovered_by="llms.txt",
        depth=3,
        llms=LlmsEntry(SITE + "llms.txt", "Docs", "Guide", None, 7, optional=True),
        links=[Link("Home", SITE), Link("", SITE + "b#part")],
        follow=[SITE, SITE + "b"],
        status=200,
        mime_type="text/markdown",
        etag='W/"1"',
        last_modified="Sat, 21 Nov 2026 22:00:00 GMT",
        validators_url=SITE + "guide.md",
        accept="text/markdown",
        markdown_tokens=12,
        moved_from=[SITE + "old", SITE + "older"],
        has_end_tag=False,
        source_hash=hashlib.sha256(b"# Guide for you@site.com").hexdigest(),
        extra={"words": 3, "tags": ["a", "b"], "\N{SNOWMAN}": None},
    )


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An empty place for sources, on each database in turn."""
    url = request.getfixturevalue("postgresql_url") if request.param == "postgresql" else None
    found = Place(url, tmp_path / "data")
    yield found
    for store in found.opened:
        store.close()
