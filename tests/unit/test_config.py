from __future__ import annotations

import pytest
from scrapy.settings import Settings

from llmsspider.config.settings import DEFAULTS, Config
from llmsspider.config.sources import load_profile
from llmsspider.errors import ArgumentsError


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch):
    for name in DEFAULTS:
        monkeypatch.delenv(name, raising=False)


def project(**values: object) -> Settings:
    """The settings of the project, and those of a command line."""
    settings = Settings()
    settings.setmodule("llmsspider.settings")
    settings.setdict(values, priority="cmdline")
    return settings


def problems_of(settings: Settings) -> list[str]:
    with pytest.raises(ArgumentsError) as refused:
        Config.from_settings(settings)
    return refused.value.problems


def test_settings_are_read_once_and_checked():
    config = Config.from_settings(
        project(LLMS_LINK_DEPTH="2", LLMS_CONVERT_WORKERS="0", LLMS_FULL_TEXT="off", LLMS_REPORT="")
    )
    assert (config.link_depth, config.convert_workers, config.full_text) == (2, 0, False)
    assert config.report is None


WRONG = {
    "LLMS_LINK_DEPTH": ("deep", "a number of 0 or more is accepted"),
    "LLMS_MAX_RATE": ("nan", "a number of 0 or more is accepted"),
    "LLMS_FORMATS": ("openapi=linked page", "accepted are off, listed, linked"),
    "LLMS_CHUNK_SIZE": ("8 json.nothing", "characters, tokens, or the path of a function"),
    "LLMS_OBEY_AI_OPTOUT": ("maybe", "True or False is accepted"),
    "LLMS_FULL_TEXT": ("x", "accepted are auto, off"),
    "LLMS_REVALIDATE_METHOD": ("POST", "accepted are GET, HEAD"),
    "LLMS_REVISIT": ("often", "accepted are always, proven, and a whole number of crawls"),
    "LLMS_STATUS_PORT": ("many", "accepted are auto, off, a port, and a range"),
    "LLMS_HISTORY": ("some", "a number of versions, or of days"),
    "LLMS_CONVERTER": (
        "json.JSONDecoder",
        "accepted are native, markdownify, and the path of a class",
    ),
    "LLMS_EMBEDDER": ("json.JSONDecoder", "the path of a class with embed(texts) is accepted"),
    "LLMS_PAGE_PROVIDERS": ("nowhere.Wiki", "the path of a provider class is accepted"),
    "LLMS_CONTENT_HANDLERS": ("[1]", "a dict of class paths by media type is accepted"),
    "LLMS_STORE_CLASS": ("nowhere.Store", "the path of a store class is accepted"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_one_line_that_says_what_is_accepted(name):
    value, accepted = WRONG[name]
    (problem,) = problems_of(project(**{name: value}))
    assert name in problem
    assert value.strip("[]") in problem
    assert accepted in problem


def test_every_mistake_is_said_at_once():
    assert len(problems_of(project(**{name: value for name, (value, _) in WRONG.items()}))) == len(
        WRONG
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_from_the_environment_too(name, monkeypatch):
    monkeypatch.setenv(name, WRONG[name][0])
    (problem,) = problems_of(project())
    assert name in problem


def test_the_line_says_where_a_wrong_value_came_from(monkeypatch):
    monkeypatch.setenv("LLMS_LINK_DEPTH", "deep")
    assert problems_of(project()) == [
        "environment variable LLMS_LINK_DEPTH='deep': a number of 0 or more is accepted"
    ]


@pytest.mark.parametrize("name", ["LLMS_STORE_URL", "LLMS_HTTP_AUTH"])
def test_no_secret_is_shown(name):
    lines = problems_of(project(**{name: "http://:hunter2@host"}, LLMS_LINK_DEPTH="deep"))
    assert "hunter2" not in "".join(lines)


# --- the environment ---


def test_the_environment_sets_what_the_command_line_does_not(monkeypatch):
    monkeypatch.setenv("LLMS_STORE_URL", "postgresql://environment/db")
    monkeypatch.setenv("LLMS_LINK_DEPTH", "3")
    settings = project(LLMS_LINK_DEPTH="2")
    config = Config.from_settings(settings)
    assert (config.store_url, config.link_depth) == ("postgresql://environment/db", 2)
    # for who reads the settings
    assert settings.get("LLMS_STORE_URL") == "postgresql://environment/db"


def test_the_environment_comes_before_settings_files_and_profiles(monkeypatch):
    monkeypatch.setenv("LLMS_CONVERTER", "markdownify")
    settings = project()
    settings.set("LLMS_CONVERTER", "native", priority="project")
    settings.setdict(load_profile("default"), priority="spider")
    assert Config.from_settings(settings).converter == "markdownify"


def test_an_empty_variable_sets_nothing(monkeypatch):
    monkeypatch.setenv("LLMS_LINK_DEPTH", "")
    assert Config.from_settings(project()).link_depth == DEFAULTS["LLMS_LINK_DEPTH"]


def test_a_misspelt_variable_is_refused_and_one_of_another_program_is_not(monkeypatch):
    monkeypatch.setenv("LLMS_API_KEY", "x")
    assert Config.from_settings(project())
    monkeypatch.setenv("LLMS_STORE_URI", "postgresql://x/y")
    (problem,) = problems_of(project())
    assert (
        problem == "environment variable LLMS_STORE_URI is no setting; did you mean LLMS_STORE_URL?"
    )


def test_structures_are_json_in_the_environment(monkeypatch):
    monkeypatch.setenv("LLMS_CONTENT_HANDLERS", '{"application/json": "own_classes.Table"}')
    monkeypatch.setenv(
        "LLMS_PAGE_PROVIDERS", "llmsspider.site.providers.GitHub, own_classes.LocalWiki"
    )
    config = Config.from_settings(project())
    assert config.handlers.paths == {"application/json": "own_classes.Table"}
    assert len(config.providers) == 2
