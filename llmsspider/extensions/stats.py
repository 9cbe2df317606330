"""Scrapy's stats collector, without a check that costs more than counting."""

from __future__ import annotations

from scrapy.statscollectors import MemoryStatsCollector


class PlainStatsCollector(MemoryStatsCollector):
    """Scrapy's default collector (`STATS_CLASS`).

    Scrapy 2.19 checks each call for the deprecated `spider` argument: three Python calls for each of the about 18 stats
    that a page updates.
    """

    __getattribute__ = object.__getattribute__
