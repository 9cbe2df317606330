"""The crawl as Scrapy runs it: its spider, the run that components get, and the job it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self

from scrapy import Spider
from scrapy.exceptions import NotConfigured

from llmsspider.web.stats import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from llmsspider.crawl.run import Run
    from llmsspider.web.stats import Stat


class ProjectSpider(Spider):
    """A spider of this project, in whatever Scrapy project it crawls."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put those of `llmsspider.settings` in force that would act on spiders of any kind, were they the project's.

        They stand below what the project sets. A project that neither names `Addon` nor begins with our settings gets
        none.
        """
        super().update_settings(settings)
        from llmsspider import settings as ours  # noqa: PLC0415  # commands look here before a crawl is wanted

        if all(name in settings for name in ours.__all__):
            for name in filter(str.isupper, dir(ours)):
                value = getattr(ours, name)
                if name.endswith("_BASE"):  # a platform such as Scrapy Cloud adds its own here
                    value = {**settings.getdict(name), **value}
                settings.set(name, value, priority="addon")


class Addon:
    """A Scrapy add-on that puts our spiders into any project: `ADDONS = {"llmsspider.Addon": 500}`.

    Spiders of another kind crawl as they would without it; ours bring what they need along (`ProjectSpider`).
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Name our spiders beside those of the project, and add the `LLMS_` settings that it does not set."""
        from llmsspider import settings as ours  # noqa: PLC0415  # a spider may be loaded before any setting is wanted

        named = settings.getlist("SPIDER_MODULES")
        added = [module for module in ours.SPIDER_MODULES if module not in named]
        settings.set("SPIDER_MODULES", [*named, *added], settings.getpriority("SPIDER_MODULES") or 0)
        for name in ours.__all__:
            if name.startswith("LLMS_"):
                settings.set(name, getattr(ours, name), "addon")


def run_of(crawler: Crawler) -> Run | None:
    """Return the run of the crawler's spider, None where it has none, as spiders of other projects."""
    from llmsspider.crawl.run import Run  # noqa: PLC0415  # commands look here before a crawl is wanted

    run = getattr(crawler.spider, "run", None)
    return run if isinstance(run, Run) else None


def counter(crawler: Crawler) -> Callable[[Stat, int], None]:
    """Return what adds to a stat of the crawl. Spiders are made before the crawler has its stats collector."""

    def count(stat: Stat, number: int) -> None:
        if crawler.stats is not None:
            crawler.stats.inc_value(PREFIX + stat, number)

    return count


def required_run(crawler: Crawler) -> Run:
    """Return the run of the crawler's spider; raises `NotConfigured`, which disables a component, where it has none."""
    run = run_of(crawler)
    if run is None:
        raise NotConfigured  # a spider of another project: Scrapy would warn of a reason
    return run


class RunComponent:
    """A component of a spider that has a run: a middleware, a pipeline, an extension."""

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the run of the spider; raises `NotConfigured` where it has none."""
        return cls(crawler, required_run(crawler))


CLOUD_VARIABLE = "SHUB_JOBKEY"
"""Set for every job of Scrapy Cloud, before the settings are read: project, spider and job number."""


def on_scrapy_cloud() -> bool:
    """Say whether Scrapy Cloud runs this process."""
    return bool(os.environ.get(CLOUD_VARIABLE))


def is_terminal(stream: object) -> bool:
    """Say whether a stream is a terminal; what Scrapy Cloud puts in the place of stderr has no `isatty`."""
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and bool(isatty())


def is_watched() -> bool:
    """Say whether somebody watches at a terminal: in a job of Scrapyd or Scrapy Cloud nobody does."""
    jobs = ("SCRAPY_JOB", CLOUD_VARIABLE, "SCRAPY_PROJECT_ID")
    return is_terminal(sys.stderr) and not any(map(os.environ.get, jobs))
