"""What a source keeps between crawls, and how arguments override it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.config.sources import (
    default_name,
    prepare,
    preset_arguments,
    resolve_arguments,
)
from llmsspider.crawler.source_memory import OF_ONE_RUN, kept_line, updated_record
from llmsspider.errors import ArgumentsError
from llmsspider.store import SourceRecord

URL = "https://docs.example.com/guide/intro"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Where the store of these tests is."""
    return Config.from_settings(settings_of(tmp_path))


def settings_of(folder: Path) -> Settings:
    values = Settings()
    values.setmodule("llmsspider.settings")
    values.set("LLMS_DATA_DIR", str(folder), priority="cmdline")
    return values


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
    keep(
        config,
        scope="host",
        llms_txt="https://docs.example.com/llms.txt",
        arguments={"block": ["/old/**"]},
    )
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
    ("others", "said"),
    [((), "none is stored yet"), (("mine",), "known are mine")],
    ids=["none", "another"],
)
def test_an_unknown_source_without_a_url_names_the_known_ones(config, others, said):
    for name in others:
        keep(config, name=name)
    with pytest.raises(ArgumentsError, match=said):
        resolve_arguments({"source": "nobody"}, config)


def arguments(**given) -> DocsArguments:
    return DocsArguments(**{"url": URL, "source": "mine", **given})


def update(given: DocsArguments, record: SourceRecord | None) -> SourceRecord:
    return updated_record(given, record, preset=preset_arguments(given), extractor_version="7")


KEPT = {
    "allow": "/guide/**",
    "block": "/old/**",
    "language": "en",
    "versions": "all",
    "max_pages": "5",
    "max_requests": "50",
    "max_depth": "2",
    "follow": "listed",
    "optional": "skip",
    "listings": "keep",
    "assets": "images",
    "keep": "article",
    "drop": "nav.toc",
    "render": "never",
    "profile": "mirror",
}
FOR_ONE_RUN = {
    "full": "true",
    "emit": "changes",
    "mode": "refresh",
    "retry": "failed",
    "confirm_deletions": "true",
}


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, str]:
    """Every argument that is kept."""
    pages = tmp_path / "pages.txt"
    pages.write_text(f"{URL}\n", encoding="utf-8")
    return {**KEPT, "urls_file": str(pages)}


def test_every_argument_is_kept_or_belongs_to_one_run(kept):
    assert set(FOR_ONE_RUN) | {"save"} == OF_ONE_RUN
    assert set(DocsArguments.model_fields) - set(kept) - OF_ONE_RUN == {
        "url",
        "source",
        "llms_txt",
        "scope",
    }


def test_the_first_crawl_keeps_all_that_does_not_belong_to_one_run(config, kept):
    given = {"url": URL, "scope": "host", **kept, **FOR_ONE_RUN}
    keep(config, **vars_of(update(resolve_arguments(given, config)[0], None)))
    again, record = resolve_arguments({"url": URL}, config)
    wanted = resolve_arguments({"url": URL, "scope": "host", **kept}, config)[0]
    assert again.model_dump(exclude={"source"}) == wanted.model_dump(exclude={"source"})
    assert record is not None
    assert set(record.arguments) == set(kept)
    line = kept_line(again, record) or ""
    assert all(f"{name}={value}" in line for name, value in kept.items())


def vars_of(record: SourceRecord) -> dict:
    return {"name": record.name, "scope": record.scope, "arguments": record.arguments}


def test_the_profile_of_the_source_takes_effect(config, tmp_path):
    profile = tmp_path / "own.toml"
    profile.write_text((Path(__file__).parents[2] / "pipelines_config" / "rag.toml").read_text())
    keep(config, arguments={"profile": str(profile)})
    values = settings_of(tmp_path)
    made, arguments, _ = prepare({"source": "mine"}, values)
    assert (arguments.profile, arguments.emit) == (str(profile), "changes")
    assert "chunks" in str(values.getdict("FEEDS"))
    assert made.stores.get("mine") is not None
    _, other, _ = prepare({"source": "mine", "profile": "default"}, settings_of(tmp_path))
    assert (other.profile, other.emit) == ("default", "all")


def test_what_a_profile_presets_is_not_kept_and_its_path_is_absolute(config, tmp_path, monkeypatch):
    (tmp_path / "own.toml").write_text(
        (Path(__file__).parents[2] / "pipelines_config" / "archive.toml").read_text()
    )
    monkeypatch.chdir(tmp_path)
    given, _ = resolve_arguments({"url": URL, "profile": "own.toml", "max_depth": ""}, config)
    assert given.max_pages == 0
    assert update(given, None).arguments == {"profile": str(tmp_path / "own.toml")}


def test_a_later_crawl_overrides_for_itself_only():
    first = update(arguments(scope="host"), None)
    later = update(arguments(scope="section", block="/new/**", max_pages=5), first)
    assert (later.scope, later.arguments) == ("host", {})


def test_arguments_are_kept_when_asked_and_what_belongs_to_a_run_never():
    given = arguments(
        scope="section",
        max_pages=5,
        save=True,
        full=True,
        emit="changes",
        mode="refresh",
        retry="failed",
    )
    record = update(given, update(arguments(scope="host"), None))
    assert (record.scope, record.arguments) == ("section", {"max_pages": 5})


def test_the_url_of_a_source_never_changes():
    record = update(arguments(), None)
    assert update(arguments(url="https://elsewhere.example.com/", save=True), record).url == URL


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("LLMS_LINK_DEPT", "did you mean LLMS_LINK_DEPTH?"),
        ("llms_full_text", "did you mean LLMS_FULL_TEXT?"),
        ("LLMS_COLOUR_OF_THE_SKY", "docs/reference/settings.md lists all"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_name(tmp_path, name, said):
    values = settings_of(tmp_path)
    values.set(name, "1", priority="cmdline")
    with pytest.raises(ArgumentsError) as refused:
        Config.from_settings(values)
    (problem,) = refused.value.problems
    assert problem.startswith(f"setting {name} is unknown")
    assert said in problem
