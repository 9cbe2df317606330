"""Scrapy's stats collector, without a check that costs more than counting."""

from __future__ import annotations

from scrapy.statscollectors import MemoryStatsCollector


class PlainStatsCollector(MemoryStatsCollector):
    """Scrapy's default collector (`STATS_CLASS`).

    Scrapy 2.19 looks at each call for the `spider` argument that it has deprecated: three Python calls for each of the
    some 18 numbers that a page adds to.
    """

    __getattribute__ = object.__getattribute__
