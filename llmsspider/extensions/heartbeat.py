"""What is measured of a run: heartbeats with its counts, the memory of all its processes, Scrapy's stats."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.extensions.memusage import MemoryUsage
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.asyncio import create_looping_call

from llmsspider.errors import StoreError
from llmsspider.extensions import RunExtension

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run


INTERVAL_SECS = 5.0
"""Seconds between two heartbeats; a run without one for a minute counts as lost."""


class Heartbeat(RunExtension):
    """Write the counts of the run to the store every five seconds."""

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        self._task = create_looping_call(self._beat)

    def spider_opened(self) -> None:
        """Start."""
        self._task.start(INTERVAL_SECS, now=False)

    def engine_stopped(self) -> None:
        """Stop; the feeds, which may take long to upload, are stored by then."""
        if self._task.running:
            self._task.stop()

    def _beat(self) -> None:
        try:
            self.run.heartbeat()
        except StoreError:  # the writer logged it; the next page to be stored ends the crawl
            self._task.stop()


# Scrapy's memory limit for a job whose limit counts every process: the conversion worker and the browser too.

PROCESSES = Path("/proc")


class JobMemory(MemoryUsage):
    """`memusage/max`, the warning and the limit count the processes that the crawl started.

    Scrapy Cloud kills a job above its limit, and sets `MEMUSAGE_LIMIT_MB` to it so that Scrapy stops first.
    """

    def get_virtual_size(self) -> int:
        """Return the peak of this process and what its children have now, in bytes."""
        return super().get_virtual_size() + sum(_resident(child) for child in descendants(os.getpid()))


def descendants(pid: int) -> Iterator[int]:
    """Yield the ids of the processes below one, where the system lists them (Linux)."""
    for listing in (PROCESSES / str(pid) / "task").glob("*/children"):
        try:
            children = [int(child) for child in listing.read_text(encoding="ascii").split()]
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield child
            yield from descendants(child)


def _resident(pid: int) -> int:
    """Return the proportional set size of a process in bytes; 0 when it has ended."""
    try:
        rollup = (PROCESSES / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


class PlainStatsCollector(MemoryStatsCollector):
    """Scrapy's default collector (`STATS_CLASS`), without a check that costs more than counting.

    Scrapy 2.19 checks each call for the deprecated `spider` argument: three Python calls for each of the about 18 stats
    that a page updates.
    """

    __getattribute__ = object.__getattribute__
