"""The documents of a crawl that a program started, sent to that process, which reads as fast as it
likes.

A message is `FRAME` (its kind and its length) and JSON: a document, the counts of the run, or how
the crawl ended.
"""

import asyncio
import os
import struct
import sys
from contextlib import suppress
from typing import Any, ClassVar

import orjson
from scrapy.utils.asyncio import create_looping_call

from llmsspider.crawler.requests import RunExtension
from llmsspider.crawler.run import Run
from llmsspider.items import Document, row_of
from llmsspider.output.status import nothing, run_report

FRAME = struct.Struct(">cI")
DOCUMENT = b"d"
COUNTS = b"c"
END = b"e"

COUNTS_SECS = 0.5
"""Seconds between two messages with the counts of the run."""


def framed(kind: bytes, value: object) -> bytes:
    """Return a message."""
    body = orjson.dumps(value, default=str)
    return FRAME.pack(kind, len(body)) + body


class DocumentPipe(RunExtension, asyncio.BaseProtocol):
    """Send each document, and wait while the reader is behind: Scrapy's scraper is full then, and
    downloads stop.

    Where the reader is gone, the crawl is stopped as by Ctrl-C.
    """

    fd: ClassVar[int]  # the pipe; the process has one crawl, and `run_of_process` is its run
    run_of_process: ClassVar[Run | None] = None

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        type(self).run_of_process = self.run
        self._takes = asyncio.Event()
        self._lost = asyncio.Event()
        self._done = False
        self._counts = create_looping_call(self._send_counts)

    async def spider_opened(self) -> None:
        """Take hold of the pipe."""
        pipe = os.fdopen(os.dup(self.fd), "wb", buffering=0)
        self._pipe, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: self, pipe)
        self._takes.set()
        self._counts.start(COUNTS_SECS, now=False)

    async def item_scraped(self, item: Any) -> None:
        """Send a document, and return when the reader wants more; items of other classes are for
        the feeds.
        """
        if isinstance(item, Document) and not self._lost.is_set():
            self._pipe.write(framed(DOCUMENT, row_of(item)))
            await self._takes.wait()

    async def spider_closed(self) -> None:
        """Wait until everything is sent."""
        self._counts.stop()
        self._done = True
        self._pipe.close()
        await self._lost.wait()

    def _send_counts(self) -> None:
        if self._takes.is_set() and not self._lost.is_set():
            self._pipe.write(framed(COUNTS, self.run.counts()))

    def pause_writing(self) -> None:
        """The reader is behind (asyncio calls it)."""
        self._takes.clear()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._takes.set()

    def connection_lost(self, _error: Exception | None) -> None:
        """All is sent, or the reader is gone."""
        self._lost.set()
        self._takes.set()
        if not self._done:
            self._stopping = asyncio.ensure_future(self.crawler.stop_async())


def send_end(fd: int) -> None:
    """Send how the crawl of this process ended; nothing where it did not begin."""
    run = DocumentPipe.run_of_process
    if run is None or not run.outcome:
        return
    report = run_report(run)
    ended = {"counts": run.counts(), "complete": report.complete, "outcome": run.outcome}
    problem = None if report.documents and run.outcome != "store_failed" else nothing(report)
    if problem and not run.discovers:
        problem = f"{run.arguments.url}: {run.coverage.fault or problem}"
    if sys.platform != "win32":
        os.set_blocking(fd, True)
    with suppress(BrokenPipeError), os.fdopen(fd, "wb") as pipe:
        pipe.write(framed(END, ended | {"problem": problem}))
