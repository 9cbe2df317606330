"""Whole crawls with the page store in a real PostgreSQL: what they leave is what SQLite would hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from crawling import Outcome, command, crawl
from sites import PLAIN
from stores import Place

from llmsspider.store import Stores

pytestmark = pytest.mark.postgresql


def kept(documents: list[dict]) -> list[tuple[str, str, str]]:
    """URL, content and title of each document, by URL."""
    return sorted((row["url"], row["content"], row["title"] or "") for row in documents)


@pytest.fixture
def crawl_into(postgresql_url: str, tmp_path: Path):
    """Return a function that crawls a URL into the database, in a folder of its own."""

    def run(url: str, folder: str, **arguments: str) -> Outcome:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        outcome = crawl(
            url, place, arguments=arguments, settings={"LLMS_STORE_URL": postgresql_url}
        )
        assert outcome.exit_code == 0, outcome.log
        return outcome

    return run


def test_a_second_crawl_is_unchanged_and_an_export_holds_the_same(
    serve, crawl_into, postgresql_url, tmp_path
):
    site = serve(PLAIN)
    site.etags = True
    first, second = (crawl_into(f"{site.url}/", "one") for _ in range(2))
    assert {row["change"] for row in first.documents} == {"new"}
    assert {row["change"] for row in second.documents} == {"unchanged"}
    assert kept(second.documents) == kept(first.documents)
    (source,) = Stores(postgresql_url, tmp_path).list()
    assert (source.status, source.pages) == ("INDEXED", len(first.documents))
    output = tmp_path / "export.jsonl"
    setting = f"LLMS_STORE_URL={postgresql_url}"
    done = command("export", source.name, "-o", str(output), "-s", setting, cwd=tmp_path)
    assert done.exit_code == 0
    assert len(output.read_text().splitlines()) == len(first.documents)
    assert not list(tmp_path.rglob("*.sqlite"))


def test_two_crawls_of_one_source_at_once_both_finish(serve, crawl_into, postgresql_url, tmp_path):
    site = serve(PLAIN)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda folder: crawl_into(f"{site.url}/", folder), ["one", "two"])
    assert kept(one.documents) == kept(two.documents)
    (source,) = Stores(postgresql_url, tmp_path).list()
    assert (source.status, source.pages) == ("INDEXED", len(one.documents))
    store = Place(postgresql_url, tmp_path).open(source.name, create=False)
    assert [(run.outcome, run.complete) for run in store.runs()] == [("finished", True)] * 2
    assert {page.record.url for page in store.iter_pages()} == {row["url"] for row in one.documents}
    store.close()


def test_two_crawls_of_two_sources_at_once_keep_apart(serve, crawl_into, postgresql_url, tmp_path):
    sites = [serve(PLAIN), serve(PLAIN)]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda n: crawl_into(f"{sites[n].url}/", f"f{n}"), range(2)))
    sources = Stores(postgresql_url, tmp_path).list()
    assert len(sources) == 2
    assert [source.pages for source in sources] == [len(outcome.documents) for outcome in outcomes]
