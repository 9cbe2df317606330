"""Every mistake of a crawl's arguments and settings, found before anything starts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from llmsspider.cli.scrapy_values import value_problems
from llmsspider.config.arguments import ARGUMENTS, PLAN_ONLY, DocsArguments, check_arguments, given
from llmsspider.config.components import check_components
from llmsspider.config.settings import Config, take_environment
from llmsspider.config.sources import load_profile, prepare, put_in_force
from llmsspider.errors import LlmsspiderError, StoreError
from llmsspider.output.feeds import feed_problems
from llmsspider.output.mirror import folder_for, folder_problem, path_for
from llmsspider.web.loading import own_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider
    from scrapy.settings import BaseSettings


def spider_problem(name: str, known: Iterable[str]) -> str:
    """Return the line for a spider that does not exist."""
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else f"accepted are {', '.join(sorted(known))}"
    return f"there is no spider {name!r}; {hint}"


def crawl_problems(
    settings: BaseSettings, spider: type[Spider], arguments: dict[str, str]
) -> list[str]:
    """Return one line for each mistake; the arguments of a spider that is not derived from ours are
    not checked.

    `settings` become those of the crawl: with the environment's, the spider's and the profile's.

    Raises:
        StoreError: what was typed may be right, the page store cannot be used.
    """
    paths = {f"{kind.__module__}.{kind.__qualname__}" for kind in spider.__mro__}
    model = next((model for kind, model in ARGUMENTS.items() if kind in paths), None)
    problems = take_environment(settings)
    if model is None:
        return problems + value_problems(settings)
    spider.update_settings(settings)
    plan_only = PLAN_ONLY in arguments
    arguments = given(arguments, own_arguments(spider))
    try:
        source = None
        if model is DocsArguments:
            config, checked, _ = prepare(arguments, settings, spider, plan_only=plan_only)
            source = checked.source or ""
        else:
            put_in_force(load_profile(check_arguments(model, arguments).profile), settings)
            config = Config.from_settings(settings)
        if problems := value_problems(settings):
            return problems
        check_components(settings)
        if feeds := feed_problems(settings):
            return feeds
        if source is not None:
            return _folder_problems(config, source)
    except StoreError:
        raise
    except LlmsspiderError as error:
        return error.problems
    return []


def _folder_problems(config: Config, source: str) -> list[str]:
    if config.plan_only:
        return []
    found: list[tuple[str, str]] = []
    tree = config.mirror_dir
    skill = config.skill_dir
    if tree and (problem := folder_problem(folder_for(tree, source), source, "tree")):
        found.append(("MIRROR_DIR", problem))
    if skill and (problem := folder_problem(folder_for(skill, source), source, "skill")):
        found.append(("SKILL_DIR", problem))
    if skill and tree == skill:
        found.append(("SKILL_DIR", f"{skill} is the folder of LLMS_MIRROR_DIR; choose another"))
    feed = path_for(config.changes_feed, source, lambda _: False) if config.changes_feed else None
    if feed is not None and feed.is_dir():
        problem = f"{feed} is a folder; name a file, such as {feed / 'changes.atom'}"
        found.append(("CHANGES_FEED", problem))
    return [f"setting LLMS_{name}: {problem}" for name, problem in found]
