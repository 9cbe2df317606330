"""The end of a run: it is closed and summed up in the log, the search index is brought in step, the report written."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter

from llmsspider.answers import has_index
from llmsspider.crawl import jobs
from llmsspider.crawl.progress import delivered, replay_command
from llmsspider.crawl.spiderrun import required_run
from llmsspider.errors import LlmsspiderError, StoreError, command
from llmsspider.extensions.scrapy_cloud import ScrapyCloud
from llmsspider.items import Document
from llmsspider.output import summary
from llmsspider.output.status import run_report
from llmsspider.pipelines.export import NotAskedFor

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)
outputs_logger = logging.getLogger(f"{__name__}.outputs")
"""Of what `llmsspider` shows besides its own summary."""


class RunSummary:
    """Finish the run when pipelines and feeds are done; log the summary at `engine_stopped`.

    The run ends before the feeds are stored, at `spider_closed`: they depend on how it ended. It is closed after them:
    it records whether they were delivered.
    """

    def __init__(self, crawler: Crawler, run: Run):
        self.crawler = crawler
        self.run = run
        self.reason = ""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RunSummary:
        """Take the run of the spider; a spider without one is not summed up."""
        run = required_run(crawler)
        extension = cls(crawler, run)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.close, signal=signals.feed_exporter_closed)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Note how the crawl ended; close the run when there is no feed to wait for."""
        self.reason = reason
        self.run.end(reason)
        if self.crawler.get_extension(FeedExporter) is None:
            self.close()

    def close(self) -> None:
        """Close the run, with what became of its outputs."""
        run, config = self.run, self.run.config
        undelivered = [*run.outputs.undelivered]
        if config.mirror_dir is not None and run.outputs.writes_mirror and run.outputs.mirror is None:
            undelivered.append(config.mirror_dir)
        no_feeds = not self.crawler.settings.getdict("FEEDS")
        run.close(
            delivered=delivered(
                self.crawler.stats.get_stats() if self.crawler.stats else {},
                feeds=_has_output(self.crawler) or config.mirror_dir is not None,
                active=no_feeds or self.crawler.get_extension(FeedExporter) is not None,
                undelivered=undelivered,
            )
        )
        if run.outcome == "store_failed" and self.reason != run.outcome and self.crawler.stats:
            self.reason = run.outcome
            self.crawler.stats.set_value("finish_reason", run.outcome)
        jobs.mark(self.crawler.settings.get("JOBDIR"), run.id, self.reason)

    def engine_stopped(self) -> None:
        """Log the summary; a plan prints its own."""
        self.close()  # where feeds should have done it
        if self.run.config.plan_only:
            return
        report = run_report(self.run)
        for line in summary.log_lines(report):
            logger.info("%(line)s", {"line": line}, extra={"spider": self.crawler.spider})
        if report.delivered is False and report.documents:
            logger.error(
                "not delivered: an output of this run could not be stored, or was put aside. %(lost)s"
                "`%(command)s` gives what this run changed",
                {
                    "lost": "" if report.outcome == "store_failed" else "Nothing is lost: ",
                    "command": replay_command(report.source, report.seq_before),
                },
                extra={"spider": self.crawler.spider},
            )
        for line in report.notes:
            logger.warning("%(line)s", {"line": line}, extra={"spider": self.crawler.spider})
        if report.advice is not None:
            logger.error("%(reason)s: %(advice)s", {"reason": report.outcome, "advice": report.advice})
        if report.documents and not self.run.config.mirror_dir and not _has_output(self.crawler):
            logger.warning(
                "no output is configured: the documents are in the store only; write them with -O documents.jsonl, "
                "FEEDS, or `%(command)s`",
                {"command": command("export", self.run.source)},
            )


def _has_output(crawler: Crawler) -> bool:
    """Return whether documents leave the crawl: into feeds, or as the items of a job of Scrapy Cloud."""
    return bool(crawler.settings.getdict("FEEDS")) or crawler.get_extension(ScrapyCloud) is not None


SHARE = 0.2
"""The share of the crawl's time that indexing may take; what is left is done before the next search."""

LEAST_SECS = 2.0
"""Indexing may take this long however short the crawl was."""


class SearchIndex:
    """Index what the crawl changed, where the source has an index: it was searched before."""

    def __init__(self, crawler: Crawler, run: Run):
        self._crawler = crawler
        self._run = run

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SearchIndex:
        """Take the run of the spider."""
        run = required_run(crawler)
        if run.config.plan_only:
            raise NotConfigured  # asked for: Scrapy would warn of a reason
        extension = cls(crawler, run)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    async def engine_stopped(self) -> None:
        """Index, in a thread: the store is closed for the crawl by now."""
        if not self._run.id:
            return  # the run did not begin
        try:
            found = await asyncio.to_thread(self._sync)
        except LlmsspiderError as error:
            outputs_logger.warning(
                "the search index is behind: %(error)s",
                {"error": error},
                extra={"spider": self._crawler.spider},
            )
            return
        if found is not None:
            passages, done = found
            left = "" if done else "; the rest follows before the next search"
            extra = {"spider": self._crawler.spider}
            outputs_logger.info(
                "search index: %(passages)d passages%(left)s",
                {"passages": passages, "left": left},
                extra=extra,
            )

    def _sync(self) -> tuple[int, bool] | None:
        """Return how many passages the index has, and whether it is in step; None where there is to be no index."""
        stores = self._run.config.stores
        if not has_index(stores, self._run.source):
            return None
        from llmsspider.answers.library import Library  # noqa: PLC0415  # crawls without an index do without

        with Library(stores) as library:
            opened = library.open(self._run.source)
            done = opened.sync(max(LEAST_SECS, SHARE * self._run.progress.elapsed_secs))
            return opened.index.count()[1], done


class ReportWriter:
    """Write the report at `engine_stopped`, when the run is in the store; `LLMS_REPORT` says where."""

    def __init__(self, crawler: Crawler, run: Run, setting: str):
        self._crawler = crawler
        self._run = run
        self._setting = setting
        self._seen: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ReportWriter:
        """Take the run of the spider."""
        run = required_run(crawler)
        setting = crawler.settings.get("LLMS_REPORT")
        if not run.watched or not setting:
            raise NotConfigured  # the default: Scrapy would warn of a reason
        extension = cls(crawler, run, str(setting))
        crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def item_scraped(self, item: Any) -> None:
        """Note the pages that have a document in this run; a first crawl has no stored pages to compare."""
        if self._run.known.states and isinstance(item, Document):
            self._seen.add(item.id)

    def item_dropped(self, item: Any, exception: Exception) -> None:
        """Note those that did not change and are not exported for it."""
        if isinstance(exception, NotAskedFor):
            self.item_scraped(item)

    def engine_stopped(self) -> None:
        """Write it; Jinja2 is imported here, since a crawl without a report does without."""
        from llmsspider.output.report import gather, write_report  # noqa: PLC0415

        extra = {"spider": self._crawler.spider}
        if not self._run.id:
            outputs_logger.warning("no report: the run did not begin", extra=extra)
            return
        try:
            path, html = write_report(gather(self._run, self._all_seen()), self._setting)
        except (OSError, StoreError) as error:
            outputs_logger.error("the report could not be written: %(error)s", {"error": error}, extra=extra)
            return
        self._run.outputs.report = path, html
        outputs_logger.info("report: %(path)s", {"path": path}, extra=extra)

    def _all_seen(self) -> set[str] | None:
        """Return the ids of the documents of this run; None where other processes yielded a part of them."""
        return None if self._run.resumes else self._seen
