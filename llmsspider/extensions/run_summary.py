"""Close the run, and log the summary at its end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.extensions.feedexport import FeedExporter

from llmsspider.crawl import jobs
from llmsspider.crawl.progress import delivered, replay_command
from llmsspider.crawl.spiderrun import required_run
from llmsspider.errors import command
from llmsspider.extensions.scrapy_cloud import ScrapyCloud
from llmsspider.output import summary
from llmsspider.output.status import run_report

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from llmsspider.crawl.run import Run

logger = logging.getLogger(__name__)


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
