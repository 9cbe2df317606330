"""Every mistake of a crawl's arguments and settings, found before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmsspider.arguments import ARGUMENTS, DocsArguments, check_arguments
from llmsspider.config import Config, take_environment
from llmsspider.errors import LlmsspiderError, StoreError
from llmsspider.feedstorage import feed_problems
from llmsspider.mirror import folder_for, folder_problem
from llmsspider.profiles import load, put_in_force
from llmsspider.required import check_components
from llmsspider.sources import prepare

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def crawl_problems(settings: BaseSettings, spider: str, arguments: dict[str, str]) -> list[str]:
    """Return one line for each mistake; the arguments of spiders that are not ours are not checked.

    The environment's settings are put into `settings`.

    Raises:
        StoreError: what was typed may be right, the page store cannot be used.
    """
    model = ARGUMENTS.get(spider)
    unknown = take_environment(settings)
    if model is None:
        return unknown
    settings = settings.copy()
    try:
        source = None
        if model is DocsArguments:
            config, checked, _ = prepare(arguments, settings)
            source = checked.source or ""
        else:
            put_in_force(load(check_arguments(model, arguments).profile), settings)
            config = Config.from_settings(settings)
        if config.redis_url and settings.get("JOBDIR"):
            return ["setting LLMS_REDIS_URL: workers that share a queue cannot be continued from a JOBDIR"]
        check_components(settings)
        if feeds := feed_problems(settings):
            return feeds
        if source is not None:
            return _mirror_problems(config, source)
    except StoreError:
        raise
    except LlmsspiderError as error:
        return getattr(error, "problems", [str(error)])
    return []


def _mirror_problems(config: Config, source: str) -> list[str]:
    if not config.mirror_dir or config.plan_only:
        return []
    problem = folder_problem(folder_for(config.mirror_dir, source), source)
    return [f"setting LLMS_MIRROR_DIR: {problem}"] if problem else []
