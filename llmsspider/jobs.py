"""Whether the crawl is a job of Scrapyd or Scrapy Cloud, by the environment, and whether anybody watches it."""

from __future__ import annotations

import os

CLOUD_VARIABLE = "SHUB_JOBKEY"
"""Set for every job of Scrapy Cloud, before the settings are read: project, spider and job number."""

JOB_VARIABLES = ("SCRAPY_JOB", CLOUD_VARIABLE, "SCRAPY_PROJECT_ID")
"""Set by Scrapyd and Scrapy Cloud, where nobody can open a page of the machine."""


def is_job() -> bool:
    """Say whether Scrapyd or Scrapy Cloud runs this process."""
    return any(os.environ.get(name) for name in JOB_VARIABLES)


def on_scrapy_cloud() -> bool:
    """Say whether Scrapy Cloud runs this process."""
    return bool(os.environ.get(CLOUD_VARIABLE))


def is_terminal(stream: object) -> bool:
    """Say whether a stream is a terminal; what Scrapy Cloud puts in the place of stderr has no `isatty`."""
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and bool(isatty())
