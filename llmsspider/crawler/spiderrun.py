"""The spiders of this project in any Scrapy project, and the job that a crawl is; commands look
here before a crawl.
"""

import os
import sys

from scrapy import Spider
from scrapy.settings import BaseSettings


class ProjectSpider(Spider):
    """A spider of this project, in whatever Scrapy project it crawls."""

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Put those of `llmsspider.settings` in force that would act on spiders of any kind, were
        they the project's.

        They stand below what the project sets. A project that neither names `Addon` nor begins with
        our settings gets none.
        """
        super().update_settings(settings)
        # commands look here before a crawl is wanted
        from llmsspider import settings as ours  # noqa: PLC0415

        if all(name in settings for name in ours.__all__):
            for name in filter(str.isupper, dir(ours)):
                value = getattr(ours, name)
                if name.endswith("_BASE"):  # a platform such as Scrapy Cloud adds its own here
                    value = {**settings.getdict(name), **value}
                settings.set(name, value, priority="addon")


class Addon:
    """A Scrapy add-on that puts our spiders into any project: `ADDONS = {"llmsspider.Addon": 500}`.

    Spiders of another kind crawl as they would without it; ours bring what they need along
    (`ProjectSpider`).
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Name our spiders beside those of the project, and add the `LLMS_` settings that it does
        not set.
        """
        # a spider may be loaded before any setting is wanted
        from llmsspider import settings as ours  # noqa: PLC0415

        named = settings.getlist("SPIDER_MODULES")
        added = [module for module in ours.SPIDER_MODULES if module not in named]
        settings.set(
            "SPIDER_MODULES", [*named, *added], settings.getpriority("SPIDER_MODULES") or 0
        )
        for name in ours.__all__:
            if name.startswith("LLMS_"):
                settings.set(name, getattr(ours, name), "addon")


CLOUD_VARIABLE = "SHUB_JOBKEY"
"""Set for every job of Scrapy Cloud, before the settings are read: project, spider and job number.
"""


def on_scrapy_cloud() -> bool:
    """Say whether Scrapy Cloud runs this process."""
    return bool(os.environ.get(CLOUD_VARIABLE))


def is_terminal(stream: object) -> bool:
    """Say whether a stream is a terminal; what Scrapy Cloud puts in the place of stderr has no
    `isatty`.
    """
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and bool(isatty())


def is_watched() -> bool:
    """Say whether somebody watches at a terminal: in a job of Scrapyd or Scrapy Cloud nobody does."""
    jobs = ("SCRAPY_JOB", CLOUD_VARIABLE, "SCRAPY_PROJECT_ID")
    return is_terminal(sys.stderr) and not any(map(os.environ.get, jobs))
