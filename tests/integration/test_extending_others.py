"""Settings that users bring with other packages."""

from __future__ import annotations

import json
import os

from crawling import ROOT
from sites import PLAIN

SUPPORT = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])}
PLAYWRIGHT = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"


def test_the_download_handlers_of_scrapy_playwright(serve, run_crawl):
    site = serve(PLAIN)
    settings = {"DOWNLOAD_HANDLERS": json.dumps({"http": PLAYWRIGHT, "https": PLAYWRIGHT})}
    outcome = run_crawl(f"{site.url}/", settings=settings)
    assert (outcome.exit_code, len(outcome.documents)) == (0, 4), outcome.log
    assert "[scrapy-playwright]" in outcome.log  # its handler, not ours


def test_an_addon_that_changes_settings_in_place(serve, run_crawl):
    site = serve(PLAIN)
    settings = {"ADDONS": '{"own_pipelines.Addon": 500}'}
    outcome = run_crawl(f"{site.url}/", settings=settings, env=SUPPORT)
    assert (outcome.exit_code, len(outcome.documents)) == (0, 4), outcome.log
    assert outcome.stats["addon/requests"] == len(site.requests)
    assert {seen.headers.get("x-addon") for seen in site.requests} == {"1"}


def test_a_scheduler_that_is_not_derived_from_ours(serve, run_crawl):
    site = serve(PLAIN)
    outcome = run_crawl(
        f"{site.url}/", settings={"SCHEDULER": "own_pipelines.LastFirst"}, env=SUPPORT
    )
    assert (outcome.exit_code, len(outcome.documents)) == (0, 4), outcome.log
    (said,) = [
        line for line in outcome.log.splitlines() if "is not derived from llmsspider." in line
    ]
    assert "WARNING: setting SCHEDULER: own_pipelines.LastFirst is not derived from " in said
