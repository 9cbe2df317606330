"""The run of a crawler's spider; spiders that are not of this project have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from llmsspider.crawl.run import Run

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def run_of(crawler: Crawler) -> Run:
    """Return the run of the spider; raises `NotConfigured`, which disables a component, where it has none."""
    run = getattr(crawler.spider, "run", None)
    if not isinstance(run, Run):
        raise NotConfigured
    return run
