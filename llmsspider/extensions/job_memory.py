"""The memory of all processes of a job of Scrapy Cloud."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scrapy.extensions.memusage import MemoryUsage

PROCESSES = Path("/proc")


class JobMemory(MemoryUsage):
    """`memusage/max`, the warning and the limit, above which Scrapy Cloud kills a job, count the
    crawl's processes.
    """

    def get_virtual_size(self) -> int:
        """Return the peak of this process and what its children have now, in bytes."""
        size = super().get_virtual_size()
        for child in descendants(os.getpid()):
            with suppress(OSError):  # it has ended
                rollup = (PROCESSES / str(child) / "smaps_rollup").read_text(encoding="ascii")
                found = re.search(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE)
                size += int(found[1]) * 1024 if found else 0
        return size


def descendants(pid: int) -> Iterator[int]:
    """Yield the ids of the processes below one, where the system lists them (Linux)."""
    for listing in (PROCESSES / str(pid) / "task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            for child in map(int, listing.read_text(encoding="ascii").split()):
                yield child
                yield from descendants(child)
