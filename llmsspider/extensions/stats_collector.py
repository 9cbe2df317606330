"""The collector of stats."""

from scrapy.statscollectors import MemoryStatsCollector


class PlainStatsCollector(MemoryStatsCollector):
    """Scrapy's default collector (`STATS_CLASS`), without its check for the deprecated argument
    `spider`.

    In Scrapy 2.19 that is three Python calls for each of the about 18 stats that a page updates.
    """

    __getattribute__ = object.__getattribute__
