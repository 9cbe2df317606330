"""What is logged of a run, and its heartbeats; it is closed and summed up; index, changes and
report follow.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.utils.asyncio import create_looping_call

from llmsspider.answers import WORDS
from llmsspider.crawl.progress import replay_command
from llmsspider.crawl.requests import RunExtension
from llmsspider.crawl.scheduler import mark_job
from llmsspider.crawl.spiderrun import is_terminal
from llmsspider.errors import LlmsspiderError, StoreError, command
from llmsspider.extensions.console import Display
from llmsspider.extensions.scrapy_cloud import ScrapyCloud
from llmsspider.output import PrintableFilter
from llmsspider.output.exports import staged
from llmsspider.output.mirror import path_for
from llmsspider.output.status import log_lines, progress_line, run_report

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from llmsspider.changes.source import SourceChanges
    from llmsspider.crawl.run import Run

HEARTBEAT_SECS = (
    5.0  # seconds between two heartbeats; a run without one for a minute counts as lost
)
outputs_log = logging.getLogger(
    f"{__name__}.outputs"
)  # of what `llmsspider` shows besides its own summary


REFRESH_SECS = 0.5
"""Time between two states of the display."""


class TerminalProgress(RunExtension):
    """Show snapshots of the run; they take the place of Scrapy's LogStats.

    A line is logged at INFO every `LOGSTATS_INTERVAL` seconds and when a phase begins with
    documents there. With a
    terminal a display of rich stands below the log in its place, and log lines are written above it
    as they are.
    """

    log = logging.getLogger(f"{__name__}.progress")

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        feeds = {str(uri).partition(":")[0] for uri in crawler.settings.getdict("FEEDS")}
        is_shared = {"-", "stdout"} & feeds and is_terminal(
            sys.stdout
        )  # documents are written there
        is_plain = os.environ.get("TERM", "dumb") == "dumb" or not is_terminal(sys.stderr)
        self._display = None if is_plain or is_shared else Display(run)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._logged_phase = ""
        self._logged_secs = 0.0
        self._task = create_looping_call(self.tick)

    def is_wanted(self) -> bool:
        """Return False for a plan or a single page."""
        return self.run.watched

    def spider_opened(self) -> None:
        """Start the display, or the lines in its place."""
        if self._display is not None:
            self._display.start()
        self._task.start(REFRESH_SECS if self._display is not None else 1.0)

    def engine_stopped(self) -> None:
        """Show the final state and restore the terminal; the run is closed by now."""
        if self._task.running:
            self._task.stop()
        self.run.progress.sample()
        if self._display is not None:
            self._display.stop()

    def tick(self) -> None:
        """Add a point to the timeline; refresh the display or log a line when one is due."""
        progress = self.run.progress
        progress.sample()
        if self._display is not None:
            self._display.refresh()
            return
        due = self._interval and progress.elapsed_secs - self._logged_secs >= self._interval
        is_new = self._logged_phase not in {"", "starting"} and self._logged_phase != progress.phase
        if due or (is_new and progress.documents):  # a first line of zeros is of no use
            self._logged_secs = progress.elapsed_secs
            self.log_line(logging.INFO, progress_line(run_report(self.run)))
        self._logged_phase = progress.phase


class Heartbeat(RunExtension):
    """Write the counts of the run to the store every five seconds."""

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        self._task = create_looping_call(self._beat)

    def spider_opened(self) -> None:
        """Start."""
        self._task.start(HEARTBEAT_SECS, now=False)

    def engine_stopped(self) -> None:
        """Stop; the feeds, which may take long to upload, are stored by then."""
        if self._task.running:
            self._task.stop()

    def _beat(self) -> None:
        try:
            self.run.heartbeat()
        except StoreError:  # the writer logged it; the next page to be stored ends the crawl
            self._task.stop()


class RunSummary(RunExtension):
    """End the run, on which its feeds depend; close it when they are stored; log the summary at
    `engine_stopped`.
    """

    log = logging.getLogger(__name__)
    reason = ""

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Note how the crawl ended; close the run when there is no feed to wait for."""
        self.reason = reason
        self.run.end(reason)
        if self.crawler.get_extension(FeedExporter) is None:
            self.feed_exporter_closed()

    def feed_exporter_closed(self) -> None:
        """Close the run, with what became of its outputs."""
        run = self.run
        tree = self.run.config.mirror_dir
        no_tree = [tree] if tree is not None and run.outputs.mirror is None else []
        is_off = (
            self.crawler.settings.getdict("FEEDS")
            and self.crawler.get_extension(FeedExporter) is None
        )
        run.close(
            delivered=delivered(
                self.crawler.stats.get_stats() if self.crawler.stats else {},
                feeds=_has_output(self.crawler) or tree is not None,
                active=not is_off,
                undelivered=[*run.outputs.undelivered, *no_tree],
            )
        )
        if run.outcome == "store_failed" and self.reason != run.outcome and self.crawler.stats:
            self.reason = run.outcome
            self.crawler.stats.set_value("finish_reason", run.outcome)
        mark_job(self.crawler.settings.get("JOBDIR"), run.id, self.reason)

    def engine_stopped(self) -> None:
        """Log the summary; a plan prints its own."""
        self.feed_exporter_closed()  # where feeds should have done it
        if self.run.config.plan_only:
            return
        report = run_report(self.run)
        for line in log_lines(report):
            self.log_line(logging.INFO, line)
        if report.delivered is False and report.documents:
            lost = "not delivered: an output of this run could not be stored, or was put aside. "
            lost += "Nothing is lost: " * (report.outcome != "store_failed")
            replay = replay_command(report.source, report.seq_before)
            self.log_line(logging.ERROR, f"{lost}`{replay}` gives what this run changed")
        for line in report.notes:
            self.log_line(logging.WARNING, line)
        if report.advice is not None:
            self.log_line(logging.ERROR, f"{report.outcome}: {report.advice}")
        if not self.run.section.is_last:
            return
        if report.documents and not self.run.config.mirror_dir and not _has_output(self.crawler):
            stored = "no output is configured: the documents are in the store only"
            ways = (
                "write them with -O documents.jsonl, FEEDS, or"
                f" `{command('export', self.run.source)}`"
            )
            self.log_line(logging.WARNING, f"{stored}; {ways}")


def delivered(
    stats: Mapping[str, Any], *, feeds: bool, active: bool, undelivered: Sequence[str] = ()
) -> bool | None:
    """Say whether every output was delivered; None where none is configured.

    Scrapy's feed exporter switches itself off (it is not `active`) where a feed is misconfigured.
    """
    failed = any(
        name.startswith("feedexport/failed_count/") and number for name, number in stats.items()
    )
    if undelivered:
        return False
    return active and not failed if feeds else None


def _has_output(crawler: Crawler) -> bool:
    """Return whether documents leave the crawl: into feeds, or as the items of a job of Scrapy
    Cloud.
    """
    return bool(crawler.settings.getdict("FEEDS")) or crawler.get_extension(ScrapyCloud) is not None


class ShortLogFormatter(LogFormatter):
    """Scrapy's log lines, with `Document <url>` where stock Scrapy prints the whole item."""

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult:
        """Return the line of an exported document, at DEBUG."""
        return _line("Document %(url)s", url=_url(item))

    def dropped(
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult:
        """Return the line of a dropped document, at DEBUG: the reasons are counted and summed up."""
        return _line("Left out %(reason)s", reason=exception)

    def item_error(
        self, item: Any, exception: BaseException, response: Any, spider: Any
    ) -> LogFormatterResult:
        """Return the line of a failed pipeline, at ERROR."""
        return _line("Error processing %(url)s", logging.ERROR, url=_url(item))


def _line(message: str, level: int = logging.DEBUG, **args: Any) -> LogFormatterResult:
    return {"level": level, "msg": message, "args": args}


def _url(item: Any) -> str:
    return getattr(item, "url", None) or type(item).__name__


class PrintableLog:
    """Filter every handler of the root logger for the length of the crawl."""

    def __init__(self) -> None:
        self._filter = PrintableFilter()
        self._handlers = list(logging.getLogger().handlers)
        for handler in self._handlers:
            handler.addFilter(self._filter)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PrintableLog:
        """Begin."""
        extension = cls()
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def engine_stopped(self) -> None:
        """Remove the filters."""
        for handler in self._handlers:
            handler.removeFilter(self._filter)


SHARE = 0.2
LEAST_SECS = 2.0
"""Indexing may take this share of the crawl's time, or as long; what is left is done before the
next search.
"""


class SearchIndex(RunExtension):
    """Index what the crawl changed, where the source has an index: it was searched before."""

    log = outputs_log

    def is_wanted(self) -> bool:
        """Return False for a plan, and for what is delivered later."""
        return self.run.section.is_last and not self.run.config.plan_only

    async def engine_stopped(self) -> None:
        """Index, in a thread: the store is closed for the crawl by now."""
        if (
            not self.run.id
            or not self.run.config.stores.index_file(self.run.source, WORDS).exists()
        ):
            return  # the run did not begin, or nobody has searched the source
        try:
            self.log_line(logging.INFO, await asyncio.to_thread(self._sync))
        except LlmsspiderError as error:
            self.log_line(logging.WARNING, f"the search index is behind: {error}")

    def _sync(self) -> str:
        # crawls without an index do without
        from llmsspider.answers.library import Library  # noqa: PLC0415

        with Library(self.run.config.stores) as library:
            opened = library.open(self.run.source)
            done = opened.sync(max(LEAST_SECS, SHARE * self.run.progress.elapsed_secs))
            left = "" if done else "; the rest follows before the next search"
            return f"search index: {opened.index.count()[1]} passages{left}"


CHANNELS = ("feed", "webhook")
UNPUBLISHED = "untold"
"""Key of the source's record that holds, for feed and webhook, the last change that was published
there.
"""


class ChangeNews(RunExtension):
    """Write the feed and call the webhook at `engine_stopped`, when the run is in the store.

    What could not be delivered to one of them is published again by the next run.
    """

    log = outputs_log

    def is_wanted(self) -> bool:
        """Return whether a feed or a webhook is configured."""
        return self.run.watched and bool(
            self.run.config.changes_feed or self.run.config.webhook_url
        )

    async def engine_stopped(self) -> None:
        """Publish what changed; an error is logged and never fails the crawl."""
        if not self.run.id:
            return  # it did not begin
        try:
            changes = await asyncio.to_thread(self._changes)
            published = {
                "feed": await asyncio.to_thread(self._write_feed, changes["feed"]),
                "webhook": await self._call(changes["webhook"]),
            }
            await asyncio.to_thread(self._note, changes, published)
        except StoreError as error:
            self._fail("changes could not be read", error)

    def _changes(self) -> dict[str, SourceChanges]:
        """Return what to publish in each of the two: what this run changed, and what it did not
        take before.
        """
        # crawls without news do without
        from llmsspider.changes.source import changes_since  # noqa: PLC0415

        run = self.run
        with run.config.stores.open(run.source, create=False) as store:
            record = store.source_record()
            unpublished: Any = record.discovery.get(UNPUBLISHED, {}) if record is not None else {}
            since = {
                one: min(run.seq_before, unpublished.get(one, run.seq_before)) for one in CHANNELS
            }
            found = {
                start: changes_since(store, run.source, start) for start in set(since.values())
            }
            return {channel: found[start] for channel, start in since.items()}

    def _write_feed(self, changes: SourceChanges) -> bool:
        """Update the feed; returns whether it is up to date."""
        from llmsspider.changes.render import NotAFeedError, updated_feed  # noqa: PLC0415

        run = self.run
        setting = self.run.config.changes_feed
        if not setting:
            return True
        path = path_for(setting, run.source)
        try:
            existing = path.read_bytes() if path.exists() else None
            if existing is not None and not changes.pages:
                return True
            body = updated_feed(existing, changes, run.arguments.url or "", datetime.now(UTC))
            path.parent.mkdir(parents=True, exist_ok=True)
            with staged(path) as out:
                out.write(body)
        except (OSError, NotAFeedError) as error:
            run.outputs.delivered = False  # for the exit code
            self._fail(f"the feed {path} was not written", error)
            return False
        return True

    async def _call(self, changes: SourceChanges) -> bool:
        """Call the webhook, where anything changed; returns whether it took it."""
        config = self.run.config
        if not config.webhook_url or not changes.pages:
            return True
        from llmsspider.changes import webhook  # noqa: PLC0415

        body = webhook.payload(changes, self.run.arguments.url or "", self.run.id)
        message = f"{self.run.id}-{changes.since}"
        headers = webhook.signed_headers(body, message, int(time.time()), config.webhook_secret)
        try:
            await webhook.send(config.webhook_url, body, headers, config.allowed_addresses)
        except webhook.WebhookError as error:
            self._fail("the webhook did not take what changed; the next run sends it again", error)
            return False
        return True

    def _note(self, changes: dict[str, SourceChanges], published: dict[str, bool]) -> None:
        unpublished = {
            channel: changes[channel].since for channel in CHANNELS if not published[channel]
        }
        with self.run.config.stores.open(self.run.source, create=False) as store:
            record = store.source_record()
            if record is not None and record.discovery.get(UNPUBLISHED, {}) != unpublished:
                record.discovery[UNPUBLISHED] = unpublished
                store.upsert_source(record)

    def _fail(self, what: str, error: Exception) -> None:
        self.log_line(logging.ERROR, f"{what}: {getattr(error, 'strerror', None) or error}")


class ReportWriter(RunExtension):
    """Write the report at `engine_stopped`, when the run is in the store, to the path of
    `LLMS_REPORT`.
    """

    log = outputs_log

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        self._setting = str(crawler.settings.get("LLMS_REPORT") or "")

    def is_wanted(self) -> bool:
        """Return whether a place was given."""
        return self.run.watched and bool(self._setting)

    def engine_stopped(self) -> None:
        """Write it; Jinja2 is imported here, since a crawl without a report does without."""
        from llmsspider.output.report import write_report  # noqa: PLC0415

        if not self.run.id:
            self.log_line(logging.WARNING, "no report: the run did not begin")
            return
        try:
            path, html = write_report(self.run, self._setting)
        except (OSError, StoreError) as error:
            self.log_line(logging.ERROR, f"the report could not be written: {error}")
            return
        self.run.outputs.report = path, html
        self.log_line(logging.INFO, f"report: {path}")
