"""Feeds that keep yesterday's file or S3 object: staged, and swapped in when the crawl ended by itself."""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import IO, Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FileFeedStorage, S3FeedStorage
from scrapy.settings import BaseSettings
from scrapy.utils.defer import ensure_awaitable

from llmsspider.crawl.spiderrun import run_of
from llmsspider.errors import StoreError
from llmsspider.web.loading import Extra, missing_extra

logger = logging.getLogger(__name__)


LINE_FORMATS = {"jsonlines", "jsonl", "jl", "chunks"}
"""Formats of which two files make one: the feed of a continued crawl goes on where the first part ended."""

BUFFER_BYTES = 256 * 1024
"""Of a feed: with less than a row each row is a system call, and a switch between threads."""


class FeedFile(io.BufferedWriter):
    """A file whose first failed write is logged; nothing is written after it, and `check` raises what it was.

    Scrapy goes on after what an exporter raises for one item: a feed would lack the rows for which the disk was full.
    """

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write, or discard what comes after a failure."""
        if self.failure is not None:
            return len(data)
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            values = {"name": self.name, "why": error.strerror}
            logger.error("%(name)s: %(why)s; nothing more is written to it", values)
            return len(data)

    def check(self) -> None:
        """Raise `OSError` when something that was written is not in the file."""
        if self.failure is not None:
            self.raw.close()
            raise self.failure
        self.flush()


class StagedFileFeedStorage(FileFeedStorage):
    """Scrapy's local file storage; a feed that overwrites (`-O`, `overwrite`) is staged as `<name>.part`.

    It replaces the target in one step when the crawl ended by itself or by one of its limits. A crawl that failed or
    was interrupted leaves an existing target alone and its own part as `<name>.partial`; one that can be continued
    (JOBDIR) always does, and the run that continues it adds to that part. Appending feeds (`-o`) are written as
    Scrapy does. A target that cannot be written is an error when the crawl starts. A batch that is full while the crawl
    goes replaces nothing before the crawl has ended; a new one is there once its documents are stored.
    """

    run: Any = None
    resumable = False

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None):
        super().__init__(uri, feed_options=feed_options)
        self.is_lines = (feed_options or {}).get("format") in LINE_FORMATS
        self.target = Path(self.path)
        self.staged = self.target.with_name(self.target.name + ".part")
        self.partial = self.target.with_name(self.target.name + ".partial")

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> StagedFileFeedStorage:
        """Take the run of the spider, which knows how the crawl ended.

        Raises `NotConfigured` for a target that cannot be written: Scrapy logs it and goes on without feeds.
        """
        storage = cls(uri, feed_options=feed_options)
        storage.run, storage.resumable = run_of(crawler), bool(crawler.settings.get("JOBDIR"))
        if problem := unwritable(storage.target):
            raise NotConfigured(problem)
        return storage

    def open(self, spider: Spider) -> IO[bytes]:
        """Open the staged file; append mode opens the target itself."""
        with self._noted():
            if self.write_mode != "wb":
                return super().open(spider)
            self.target.parent.mkdir(parents=True, exist_ok=True)
            resumes = getattr(self.run, "resumes", None) is not None
            if continues := resumes and self.is_lines and self.partial.is_file():
                self.partial.replace(self.staged)
            return FeedFile(io.FileIO(self.staged, "a" if continues else "w"), BUFFER_BYTES)

    def store(self, file: IO[bytes]) -> Awaitable[None] | None:  # type: ignore[override]
        """Swap the staged file in, or leave it as `.partial`."""
        if self.write_mode != "wb":
            super().store(file)
            return None
        with self._noted():
            if isinstance(file, FeedFile):
                file.check()
            os.fsync(file.fileno())
            file.close()
            if is_running(self.run):
                if self.resumable or self.target.exists():
                    return at_the_end(self.run, self._swap_in)
                self.run.flush()  # the documents of a batch are stored before it is there for others
        self._swap_in()
        return None

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Have the run know of an output that could not be written."""
        try:
            yield
        except (OSError, StoreError) as error:
            if self.run is not None:
                why = getattr(error, "strerror", None) or error
                self.run.outputs.undelivered.append(f"{self.target}: {why}")
            raise

    def _swap_in(self) -> None:
        if self.run is None or self.run.succeeded or not (self.resumable or self.target.exists()):
            self.staged.replace(self.target)
            return
        self.staged.replace(self.partial)
        self.run.outputs.undelivered.append(f"{self.target}: put aside as {self.partial}")
        logger.warning(
            "%(target)s is left as it was, since the crawl did not end by itself; what it got is in %(partial)s",
            {"target": self.target, "partial": self.partial},
        )


def is_running(run: Any) -> bool:
    """Return whether a run, where there is one, has not ended yet."""
    return run is not None and not run.ended.is_set()


async def at_the_end(run: Any, work: Callable[[], Awaitable[None] | None]) -> None:
    """Do the work when the run has ended."""
    await run.ended.wait()
    await ensure_awaitable(work())


def feed_problems(settings: BaseSettings) -> list[str]:
    """Return one line for each feed that cannot be written."""
    problems = []
    exporters = settings.getwithbase("FEED_EXPORTERS")
    formats = sorted(name for name, kind in exporters.items() if kind is not None)
    for place, options in settings.getdict("FEEDS").items():
        extras: list[Extra] = ["s3"] if str(place).startswith("s3:") else []
        extras += ["parquet"] if options.get("format") == "parquet" else []
        if options.get("format") not in formats:
            named = f"the format {options['format']!r} does not exist" if "format" in options else ""
            wrong = named or "no format is named"
            problems.append(f"feed {place}: {wrong}; accepted are {', '.join(formats)}")
        problems += [f"feed {place}: {lack}" for lack in map(missing_extra, extras) if lack]
        target = Path(str(place).removeprefix("file://"))
        is_added_to = not options.get("overwrite") and target.is_file() and target.stat().st_size
        if "parquet" in extras and is_added_to:
            problems.append(f"feed {place}: nothing can be added to a Parquet file; replace it with -O")
    return problems


def unwritable(target: Path) -> str | None:
    """Return why a file cannot be written, None when it can; nothing is created."""
    if target.is_dir():
        return f"{target} is a folder"
    parent = target.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir():
        return f"{target} cannot be written: {parent} is no folder"
    if not os.access(parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        return f"{target} cannot be written: permission denied"
    return None


class StagedS3FeedStorage(S3FeedStorage):
    """Scrapy's S3 storage, which puts a feed in one request at the end, whole or not at all.

    After a crawl that failed or was interrupted nothing is uploaded; that is logged, and counts as not delivered.
    """

    run: Any = None

    @classmethod
    def from_crawler(
        cls, crawler: Crawler, uri: str, *, feed_options: dict[str, Any] | None = None
    ) -> StagedS3FeedStorage:
        """Take the run of the spider, which knows how the crawl ended."""
        storage = super().from_crawler(crawler, uri, feed_options=feed_options)
        storage.run = run_of(crawler)
        return storage

    def store(self, file: IO[bytes]) -> Awaitable[None] | None:  # type: ignore[override]
        """Upload, or leave the object as it is; a batch that is full while the crawl goes waits for its end."""
        if is_running(self.run):
            return at_the_end(self.run, lambda: self.store(file))
        if self.run is None or self.run.succeeded:
            return super().store(file)
        file.close()
        target = f"s3://{self.bucketname}/{self.keyname}"
        self.run.outputs.undelivered.append(f"{target}: not uploaded")
        left = "%(target)s is left as it was, since the crawl did not end by itself"
        logger.warning(left, {"target": target})
        return None
