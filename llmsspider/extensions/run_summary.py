"""A run is ended, closed when its feeds are stored, and summed up in the log."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter

from llmsspider.config.settings import Config
from llmsspider.crawler.progress import Outputs, replay_command
from llmsspider.crawler.requests import RunExtension
from llmsspider.errors import command
from llmsspider.extensions.scrapy_cloud import ScrapyCloud
from llmsspider.output.status import log_lines, run_report


class RunSummary(RunExtension):
    """End the run, on which its feeds depend; close it when they are stored; log the summary at
    `engine_stopped`.
    """

    config: Config
    outputs: Outputs

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
        tree = self.config.mirror_dir
        no_tree = [tree] if tree is not None and self.outputs.mirror is None else []
        is_off = (
            self.crawler.settings.getdict("FEEDS")
            and self.crawler.get_extension(FeedExporter) is None
        )
        run.close(
            delivered=delivered(
                self.crawler.stats.get_stats() if self.crawler.stats else {},
                feeds=_has_output(self.crawler) or tree is not None,
                active=not is_off,
                undelivered=[*self.outputs.undelivered, *no_tree],
            )
        )
        if run.outcome == "store_failed" and self.reason != run.outcome and self.crawler.stats:
            self.reason = run.outcome
            self.crawler.stats.set_value("finish_reason", run.outcome)
        run.job.mark(run.id, self.reason)

    def engine_stopped(self) -> None:
        """Log the summary; a plan prints its own."""
        self.feed_exporter_closed()  # where feeds should have done it
        if self.config.plan_only:
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
        if report.documents and not self.config.mirror_dir and not _has_output(self.crawler):
            stored = "no output is configured: the documents are in the store only"
            ways = (
                "write them with -O documents.jsonl, FEEDS, or"
                f" `{command('export', self.records.source)}`"
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
