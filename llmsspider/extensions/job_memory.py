"""Scrapy's memory limit for a job whose limit counts every process: the conversion worker and the browser too."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from scrapy.extensions.memusage import MemoryUsage

PROCESSES = Path("/proc")


class JobMemory(MemoryUsage):
    """`memusage/max`, the warning and the limit count the processes that the crawl started.

    Scrapy Cloud kills a job above its limit, and sets `MEMUSAGE_LIMIT_MB` to it so that Scrapy stops first.
    """

    def get_virtual_size(self) -> int:
        """Return the peak of this process and what its children have now, in bytes."""
        return super().get_virtual_size() + sum(_resident(child) for child in descendants(os.getpid()))


def descendants(pid: int) -> Iterator[int]:
    """Yield the ids of the processes below one, where the system tells (Linux)."""
    for listing in (PROCESSES / str(pid) / "task").glob("*/children"):
        try:
            children = [int(child) for child in listing.read_text(encoding="ascii").split()]
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield child
            yield from descendants(child)


def _resident(pid: int) -> int:
    """Return the bytes a process has, pages it shares counted in shares; 0 when it has ended."""
    try:
        rollup = (PROCESSES / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
