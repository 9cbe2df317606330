"""What users name in settings is added to the project's own components, and None takes one out."""

from __future__ import annotations

import pytest
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.conf import build_component_list

from llmsspider.cli.checking import crawl_problems
from llmsspider.config import sources
from llmsspider.config.components import STAND_INS, lost_parts
from llmsspider.crawler.scheduler import BreadthFirstScheduler
from llmsspider.spiders.docs import DocsSpider

OURS = [
    "llmsspider.pipelines.filter.FilterPipeline",
    "llmsspider.pipelines.hash.HashPipeline",
    "llmsspider.pipelines.assets.AssetsPipeline",
    "llmsspider.pipelines.export.ExportPipeline",
]
MINE = "own_pipelines.Redact"
STAGES = dict(zip(sources.STAGES, [*OURS[:2], OURS[-1]], strict=True))


def project() -> Settings:
    settings = Settings()
    settings.setmodule("llmsspider.settings", priority="project")
    return settings


def enabled(settings: BaseSettings, name: str = "ITEM_PIPELINES") -> list[str]:
    return build_component_list(settings.get_component_priority_dict_with_base(name))


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
@pytest.mark.parametrize("profile", ["default", "rag"])
def test_a_pipeline_is_added_to_ours_wherever_it_is_named(priority, profile):
    settings = project()
    settings.set("ITEM_PIPELINES", {MINE: 300}, priority=priority)
    sources.put_in_force(sources.load_profile(profile), settings)
    assert enabled(settings) == [OURS[0], MINE, *OURS[1:]]


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_a_profile_adds_to_the_pipelines_of_the_user(tmp_path, priority):
    settings = project()
    settings.set("ITEM_PIPELINES", {MINE: 300, "own_pipelines.Field": 310}, priority=priority)
    sources.put_in_force({"ITEM_PIPELINES": {"own_pipelines.Short": 200, MINE: 400}}, settings)
    mine = ["own_pipelines.Short", "own_pipelines.Field", MINE]
    if priority == "cmdline":  # it stands above the profile
        mine = ["own_pipelines.Short", MINE, "own_pipelines.Field"]
    assert enabled(settings) == [OURS[0], *mine, *OURS[1:]]


OTHERS = {
    "SPIDER_MIDDLEWARES": "llmsspider.spidermiddlewares.llms_txt_start.LlmsTxtStart",
    "DOWNLOADER_MIDDLEWARES": "llmsspider.downloadermiddlewares.address_guard.AddressGuardMiddleware",
    "EXTENSIONS": "llmsspider.extensions.run_summary.RunSummary",
}


@pytest.mark.parametrize(("name", "ours"), OTHERS.items())
def test_middlewares_and_extensions_are_added_to_ours(name, ours):
    settings = project()
    before = enabled(settings, name)
    settings.set(name, {MINE: 15, before[-1]: None}, priority="cmdline")
    assert set(enabled(settings, name)) == {*before[:-1], MINE}
    assert ours in before


def test_feeds_and_formats_of_users_stand_beside_ours():
    settings = project()
    settings.set("FEEDS", {"mine.jsonl": {"format": "jsonl"}}, priority="project")
    settings.set("FEED_EXPORTERS", {"mine": "own.Exporter"}, priority="project")
    sources.put_in_force(sources.load_profile("rag"), settings)
    assert set(settings["FEEDS"]) == {"mine.jsonl", "chunks.jsonl"}
    assert {"mine", "chunks", "jsonl"} <= set(settings.getwithbase("FEED_EXPORTERS"))
    given = project()
    given.set("FEEDS", {"given.jsonl": {"format": "jsonl"}}, priority="cmdline")  # as -O does
    sources.put_in_force(sources.load_profile("rag"), given)
    assert set(given["FEEDS"]) == {"given.jsonl"}


def test_the_default_profile_leaves_what_the_project_sets():
    settings = project()
    settings.set("LLMS_LINK_DEPTH", 3, priority="project")
    sources.put_in_force(sources.load_profile("default"), settings)
    assert settings.getint("LLMS_LINK_DEPTH") == 3


WRONG = {
    "the store taken out": (
        "ITEM_PIPELINES",
        {OURS[1]: None},
        f"setting ITEM_PIPELINES: {OURS[1]} is taken out: nothing would be stored, and the next crawl would take ",
    ),
    "the start taken out": (
        "SPIDER_MIDDLEWARES",
        {OTHERS["SPIDER_MIDDLEWARES"]: None},
        "nothing would be requested",
    ),
    "no such module": (
        "EXTENSIONS",
        {"nowhere.Extension": 5},
        "setting EXTENSIONS: 'nowhere.Extension' cannot be loaded (ModuleNotFoundError: No module named 'nowhere')",
    ),
}


@pytest.mark.parametrize(("name", "value", "said"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_one_line(name, value, said):
    settings = project()
    settings.set(name, value, priority="cmdline")
    (problem,) = crawl_problems(settings, DocsSpider, {"url": "https://e.com/"})
    assert said in problem


def test_what_can_be_spared_is_taken_out_without_a_word():
    settings = project()
    settings.set("ITEM_PIPELINES", {OURS[0]: None}, priority="cmdline")
    settings.set(
        "EXTENSIONS", {"llmsspider.extensions.live_page.LivePage": None}, priority="cmdline"
    )
    assert crawl_problems(settings, DocsSpider, {"url": "https://e.com/"}) == []
    assert enabled(settings) == OURS[1:]


class Derived(BreadthFirstScheduler):
    """A scheduler of a project."""


def test_what_is_lost_with_a_scheduler_that_is_not_ours_is_said():
    settings = project()
    assert lost_parts(settings) == []
    settings.set("SCHEDULER", Derived)
    assert lost_parts(settings) == [], "derived from ours"
    for name in STAND_INS:
        settings.set(name, Settings()[name])
    said = [
        "setting SCHEDULER: scrapy.core.scheduler.Scheduler is not derived from llmsspider.crawler.scheduler.",
        "setting DUPEFILTER_CLASS: scrapy.dupefilters.RFPDupeFilter is not derived from llmsspider.crawler.scheduler.",
        "setting DOWNLOADER: scrapy.core.downloader.Downloader is not derived from llmsspider.downloadermiddlewares.",
    ]
    assert [
        line[: len(start)] for line, start in zip(lost_parts(settings), said, strict=True)
    ] == said
