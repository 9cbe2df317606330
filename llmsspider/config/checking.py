"""Every mistake of a crawl's arguments and settings, and components it cannot do without, found before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from llmsspider.config.arguments import ARGUMENTS, DocsArguments, check_arguments, given
from llmsspider.config.profiles import load, put_in_force
from llmsspider.config.settings import Config, take_environment
from llmsspider.config.sources import prepare
from llmsspider.errors import ArgumentsError, LlmsspiderError, StoreError
from llmsspider.output.feed_storage import feed_problems
from llmsspider.output.mirror import Kind, folder_for, folder_problem
from llmsspider.web.loading import STORE_PIPELINE, own_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


# The components without which a crawl makes no sense; all others can be taken out with None.

NOT_OURS = (
    "the settings of this project are not in force: begin yours with `from llmsspider.settings import *`, "
    "or use scrapy.utils.project.get_project_settings() where scrapy.cfg names llmsspider.settings"
)

REQUIRED = {
    "SPIDER_MIDDLEWARES": {
        "llmsspider.spidermiddlewares.llms_txt_start.LlmsTxtStart": "nothing would be requested",
    },
    "DOWNLOADER_MIDDLEWARES": {
        "llmsspider.downloadermiddlewares.synthetic.SyntheticMiddleware": "no crawl would end",
    },
    "ITEM_PIPELINES": {
        STORE_PIPELINE: "nothing would be stored, and the next crawl would take every page for new",
        "llmsspider.pipelines.export.ExportPipeline": "no document would be counted, so that every crawl would fail",
    },
    "EXTENSIONS": {
        "llmsspider.extensions.run_summary.RunSummary": "no run would be finished in the store",
    },
}
"""By setting, the classes (or one derived from them) that have to stand, and what would come of it without them."""


STAND_INS = {
    "SCHEDULER": (
        "llmsspider.crawl.scheduling.scheduler.BreadthFirstScheduler",
        "max_depth may filter pages or miscount them, and more pages than max_pages may be requested",
    ),
    "DUPEFILTER_CLASS": (
        "llmsspider.crawl.scheduling.scheduler.PageDupeFilter",
        "the spellings of a page's address are requested one by one",
    ),
    "DOWNLOADER": (
        "llmsspider.crawl.scheduling.downloader.Downloader",
        "requests do not wait for their turns: no Crawl-delay, no Retry-After, no limit for each host",
    ),
}
"""By setting, our class for it, and what is lost where neither it nor one derived from it is named."""


def lost_parts(settings: BaseSettings) -> list[str]:
    """Return one line for each part of a crawl that is not ours in these settings: what is lost by that.

    >>> from scrapy.settings import Settings
    >>> lost_parts(Settings({name: ours for name, (ours, _) in STAND_INS.items()}))
    []
    """
    lines = []
    for name, (ours, lost) in STAND_INS.items():
        path = settings[name]
        kind = load_object(path)
        if load_object(ours) not in getattr(
            kind, "__mro__", ()
        ):  # every scheduler is a subclass of another, to Scrapy
            given = path if isinstance(path, str) else global_object_name(path)
            lines.append(f"setting {name}: {given} is not derived from {ours}: {lost}")
    return lines


def open_settings(crawler: Crawler) -> BaseSettings:
    """Return the settings of a crawler; a copy in `scrapy shell`, which makes the spider when they are frozen."""
    if not crawler.settings.frozen:
        return crawler.settings
    settings = crawler.settings.copy()
    settings.frozen = False
    return settings


def check_components(settings: BaseSettings) -> None:
    """Check the components that settings, profile and command line name.

    Raises:
        ArgumentsError: one line for each that cannot be loaded, else for each required one that was taken out.
    """
    problems = list(_not_loaded(settings)) or list(_missing(settings))
    if problems:
        raise ArgumentsError(problems)


def _not_loaded(settings: BaseSettings) -> Iterator[str]:
    for name in REQUIRED:
        for path in settings.get(name) or ():
            try:
                load_object(path)
            except Exception as error:  # whatever the user's module raises
                yield f"setting {name}: {path!r} cannot be loaded ({type(error).__name__}: {error})"


def _missing(settings: BaseSettings) -> Iterator[str]:
    names = ("SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS")
    if not any(set(REQUIRED[name]) & set(settings.get(f"{name}_BASE") or ()) for name in names):
        yield NOT_OURS
        return
    for name, required in REQUIRED.items():
        enabled = settings.get_component_priority_dict_with_base(name)
        if all(path in enabled for path in required):
            continue
        found = [load_object(path) for path in enabled]
        for path, why in required.items():
            needed = load_object(path)
            if not any(isinstance(one, type) and issubclass(one, needed) for one in found):
                yield (
                    f"setting {name}: {path} is taken out: {why}. "
                    "Leave it, or name a class that is derived from it"
                )


# Every mistake of a crawl's arguments and settings, found before anything starts.


def crawl_problems(settings: BaseSettings, spider: type[Spider], arguments: dict[str, str]) -> list[str]:
    """Return one line for each mistake; the arguments of a spider that is not derived from ours are not checked.

    The environment's settings are put into `settings`.

    Raises:
        StoreError: what was typed may be right, the page store cannot be used.
    """
    model = next((model for kind, model in ARGUMENTS.items() if kind in _paths(spider)), None)
    unknown = take_environment(settings)
    if model is None:
        return unknown
    settings = settings.copy()
    spider.update_settings(settings)
    arguments = given(arguments, own_arguments(spider))
    try:
        source = None
        if model is DocsArguments:
            config, checked, _ = prepare(arguments, settings, spider)
            source = checked.source or ""
        else:
            put_in_force(load(check_arguments(model, arguments).profile), settings)
            config = Config.from_settings(settings)
        check_components(settings)
        if feeds := feed_problems(settings):
            return feeds
        if source is not None:
            return _folder_problems(config, source)
    except StoreError:
        raise
    except LlmsspiderError as error:
        return getattr(error, "problems", [str(error)])
    return []


def _paths(spider: type[Spider]) -> set[str]:
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in spider.__mro__}


def _folder_problems(config: Config, source: str) -> list[str]:
    """One line for each folder that cannot be kept: the tree's, the skill's."""
    if config.plan_only:
        return []
    found = []
    folders: list[tuple[str, Kind, str | None]] = [
        ("LLMS_MIRROR_DIR", "tree", config.mirror_dir),
        ("LLMS_SKILL_DIR", "skill", config.skill_dir),
    ]
    for setting, kind, wanted in folders:
        problem = folder_problem(folder_for(wanted, source), source, kind) if wanted else None
        found += [f"setting {setting}: {problem}"] if problem else []
    if config.mirror_dir and config.mirror_dir == config.skill_dir:
        found.append(
            f"setting LLMS_SKILL_DIR: {config.skill_dir} is the folder of LLMS_MIRROR_DIR; choose another"
        )
    feed = folder_for(config.changes_feed, source) if config.changes_feed else None
    if feed is not None and feed.is_dir():
        found.append(
            f"setting LLMS_CHANGES_FEED: {feed} is a folder; name a file, such as {feed / 'changes.atom'}"
        )
    return found
