"""The loaders for LangChain, LlamaIndex and Haystack, with those projects: of two nights only what changed is new."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from crawling import recipes
from forked import HANGS_SECS, ROOT
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore
from services import LLAMA_INDEX, need
from site_server import Reply
from sites import PLAIN, html

from llmsspider.errors import ArgumentsError
from llmsspider.integrations.langchain import LLMSSpiderLoader
from llmsspider.store import Stores

LOCAL = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": 0}
LISTED = {
    **PLAIN,
    "/llms.txt": "# Docs\n\n## Guide\n\n- [Intro](/guide/intro.html): how to begin\n",
}
EDITED = html("Intro", "<p>How to begin, told anew.</p>")


@pytest.mark.usefixtures("quick_crawls")
def test_an_index_of_langchain_follows_the_site(serve, tmp_path):
    """Added, skipped, deleted: an edit, a page that fails, one that is gone; of the crawl, in a loop, of the folder."""
    site, store = serve(dict(LISTED)), tmp_path / "pages"
    records = InMemoryRecordManager("docs")
    records.create_schema()
    vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    settings = {**LOCAL, "ITEM_PIPELINES": {"own_pipelines.Field": 300}}
    given = {"store": store, "settings": settings, "confirm_deletions": True}
    loader = LLMSSpiderLoader(f"{site.url}/", **given)

    def night(source=loader, run=index) -> tuple[int, int, int]:
        done = run(
            source, records, vectors, cleanup="full", source_id_key="source", key_encoder="sha256"
        )
        done = asyncio.run(done) if run is aindex else done
        return done["num_added"], done["num_skipped"], done["num_deleted"]

    assert night() == (4, 0, 0)
    assert night(run=aindex) == (0, 4, 0)
    intro = {page.metadata["source"]: page for page in loader.load()}[
        f"{site.url}/guide/intro.html"
    ]
    assert intro.page_content.startswith("# Intro\n\nHow to begin.")
    about = {
        "title": "Intro",
        "description": "how to begin",
        "language": "en",
        "section": "Guide",
        "words": 10,
    }
    assert intro.metadata == {"source": f"{site.url}/guide/intro.html", **about}

    site.pages["/guide/intro.html"] = EDITED
    site.pages["/guide/deep.html"] = Reply("down", status=500)
    assert night() == (1, 3, 1)
    assert [page.id for page in loader.load() if page.metadata["title"] == "Intro"] == [intro.id]
    del site.pages["/guide/deep.html"]
    site.pages["/guide/more.html"] = html("More", "<p>Nothing deeper.</p>")
    night()
    stored = LLMSSpiderLoader(store)
    assert night() == night(stored) == night(stored, aindex) == (0, 3, 0)
    texts = {entry["text"] for entry in vectors.store.values()}
    assert texts == {page.page_content for page in stored.load()}
    assert len(texts) == 3 and any("told anew" in text for text in texts)


def test_mistakes_are_said_before_anything_is_loaded(tmp_path):
    with pytest.raises(ArgumentsError, match="did you mean max_pages"):
        LLMSSpiderLoader("https://docs.example.com/", max_page=3)
    with pytest.raises(TypeError, match="pages is no URL, and only a crawl takes max_pages"):
        LLMSSpiderLoader("pages", max_pages=3)


LLAMA = "print(json.dumps([[page.id_, page.text, page.metadata, new] for page, new in zip(pages, refreshed)]))"
HAYSTACK = """
again = Pipeline.loads(pipeline.dumps(), allowed_modules=["llmsspider.integrations.haystack"])
again.run({"fetcher": {"source": "https://docs.example.com/"}})
pages = again.get_component("writer").document_store.filter_documents()
assert pages == stored.filter_documents()
print(json.dumps([[page.id, page.content, page.meta] for page in pages]))
"""


def loaded(project: str, folder: Path, source: str, ending: str) -> dict[str, list]:
    """What the example of docs/how-to/recipes.md makes of a source, by URL."""
    need("LlamaIndex")
    code = "import json\n" + recipes(project)[0] + ending
    done = subprocess.run(
        [LLAMA_INDEX, "-c", code.replace("https://docs.example.com/", source)], cwd=folder, capture_output=True,
        text=True, timeout=HANGS_SECS, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HAYSTACK_TELEMETRY_ENABLED": "False", "HOME": str(folder),
             "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {row[2]["url"]: row for row in json.loads(done.stdout.splitlines()[-1])}


def test_an_index_of_llamaindex_follows_the_site(serve, tmp_path):
    site = serve(dict(LISTED))
    intro = f"{site.url}/guide/intro.html"
    first = loaded("LlamaIndex", tmp_path, f"{site.url}/", LLAMA)
    assert len(first) == 4 and all(new for *_, new in first.values())
    assert first[intro][1].startswith("# Intro\n\nHow to begin.")
    assert first[intro][2]["title"] == "Intro" and first[intro][2]["section"] == "Guide"
    site.pages["/guide/intro.html"] = EDITED
    second = loaded("LlamaIndex", tmp_path, f"{site.url}/", LLAMA)
    assert {url for url, (*_, new) in second.items() if new} == {intro}
    assert {url: row[0] for url, row in second.items()} == {
        url: row[0] for url, row in first.items()
    }
    with Stores(None, tmp_path / "pages").open(site.url.removeprefix("http://")) as store:
        store.begin_run("crawl", {})
        page = store.page_by_url(intro)
        assert page is not None
        store.delete_page(page.key, "not-found")
        store.finish_run("finished", complete=True, why=None, counts={})
    ending = "assert index.ref_doc_info.keys() == {page.id_ for page in pages}\n" + LLAMA
    third = loaded("LlamaIndex", tmp_path, site.url.removeprefix("http://"), ending)
    assert third == {url: [*row[:3], False] for url, row in second.items() if url != intro}


def test_a_pipeline_of_haystack_writes_the_site(serve, tmp_path):
    site = serve(dict(LISTED))
    found = loaded("Haystack", tmp_path, f"{site.url}/", HAYSTACK)
    assert {url.removeprefix(site.url) for url in found} == set(PLAIN)
    name, text, meta = found[f"{site.url}/guide/intro.html"]
    assert len(name) == 32 and text.startswith("# Intro") and meta["section"] == "Guide"
