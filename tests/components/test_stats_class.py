"""The stats collector counts as Scrapy's does."""

from __future__ import annotations

from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler


def counted(collector_class: type[MemoryStatsCollector]) -> dict[str, object]:
    collector = collector_class(get_crawler())
    collector.inc_value("a")
    collector.inc_value("a", 2, start=1)
    collector.max_value("b", 4)
    collector.max_value("b", 3)
    collector.set_value("c", "x")
    return collector.get_stats()


def test_stats_are_counted_as_scrapy_does():
    settings = Settings()
    settings.setmodule("llmsspider.settings")
    ours = load_object(settings["STATS_CLASS"])
    assert ours is not MemoryStatsCollector
    assert counted(ours) == counted(MemoryStatsCollector) == {"a": 3, "b": 4, "c": "x"}
