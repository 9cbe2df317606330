"""What a source keeps between crawls, and how arguments override it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmsspider.arguments import DocsArguments
from llmsspider.config import Config
from llmsspider.errors import ArgumentsError
from llmsspider.sources import default_name, resolve_arguments, updated_record
from llmsspider.store import SourceRecord

URL = "https://docs.example.com/guide/intro"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Where the store of these tests is."""
    from scrapy.settings import Settings

    values = Settings({"LLMS_DATA_DIR": str(tmp_path)})
    values.setmodule("llmsspider.settings")
    values.set("LLMS_DATA_DIR", str(tmp_path), priority="cmdline")
    return Config.from_settings(values)


def keep(config: Config, **fields) -> None:
    record = SourceRecord(**{"name": "mine", "url": URL, **fields})
    with config.stores.open(record.name) as store:
        store.upsert_source(record)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.com/", "example.com"),
        ("https://example.com", "example.com"),
        (URL, "docs.example.com/guide"),
        ("https://docs.example.com/guide/", "docs.example.com/guide"),
        ("http://127.0.0.1:8000/docs/a.html", "127.0.0.1:8000/docs"),
    ],
)
def test_a_source_is_named_by_host_and_section(url, name):
    assert default_name(url) == name


def test_a_new_source(config):
    arguments, record = resolve_arguments({"url": URL, "max_pages": "5", "_job": "x"}, config)
    assert (arguments.source, arguments.max_pages, record) == ("docs.example.com/guide", 5, None)


def test_a_source_by_its_name_has_what_was_stored(config):
    keep(config, scope="host", llms_txt="https://docs.example.com/llms.txt", arguments={"block": ["/old/**"]})
    arguments, record = resolve_arguments({"source": "mine"}, config)
    assert record is not None
    assert arguments.url == URL
    assert arguments.scope == "host"
    assert arguments.llms_txt == "https://docs.example.com/llms.txt"
    assert list(arguments.block) == ["/old/**"]


def test_the_same_url_is_the_same_source(config):
    keep(config)
    arguments, record = resolve_arguments({"url": f"{URL}#part"}, config)
    assert record is not None
    assert arguments.source == "mine"


def test_what_is_given_overrides_what_is_stored(config):
    keep(config, scope="host", arguments={"max_pages": 7})
    arguments, _ = resolve_arguments({"source": "mine", "scope": "section"}, config)
    assert (arguments.scope, arguments.max_pages) == ("section", 7)


def test_arguments_of_another_version_are_ignored(config):
    keep(config, arguments={"colour": "red"})
    assert resolve_arguments({"source": "mine"}, config)[0].url == URL


@pytest.mark.parametrize(
    ("others", "said"), [((), "none is stored yet"), (("mine",), "known are mine")], ids=["none", "another"]
)
def test_an_unknown_source_without_a_url_names_the_known_ones(config, others, said):
    for name in others:
        keep(config, name=name)
    with pytest.raises(ArgumentsError, match=said):
        resolve_arguments({"source": "nobody"}, config)


def arguments(**given) -> DocsArguments:
    return DocsArguments(**{"url": URL, "source": "mine", **given})


def update(given: DocsArguments, record: SourceRecord | None) -> SourceRecord:
    return updated_record(given, record, forms={"h": {}}, extractor_version="7")


def test_the_first_crawl_keeps_what_the_source_is_and_no_limits():
    record = update(arguments(scope="host", block="/old/**", max_pages=5, max_depth=2, full=True), None)
    assert (record.name, record.url, record.scope) == ("mine", URL, "host")
    assert list(record.arguments) == ["block"]
    assert (record.forms, record.extractor_version) == ({"h": {}}, "7")


def test_a_later_crawl_overrides_for_itself_only():
    first = update(arguments(scope="host"), None)
    later = update(arguments(scope="section", block="/new/**", max_pages=5), first)
    assert (later.scope, later.arguments) == ("host", {})


def test_limits_are_kept_when_asked_and_what_belongs_to_a_run_never():
    given = arguments(
        scope="section", max_pages=5, save=True, full=True, emit="changes", mode="refresh", retry="failed"
    )
    record = update(given, update(arguments(scope="host"), None))
    assert (record.scope, record.arguments) == ("section", {"max_pages": 5})


def test_the_url_of_a_source_never_changes():
    record = update(arguments(), None)
    assert update(arguments(url="https://elsewhere.example.com/", save=True), record).url == URL
