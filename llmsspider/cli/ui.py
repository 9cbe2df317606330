"""`llmsspider ui`: the web page of `llmsspider.ui`, served on this machine."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any

from llmsspider.answers.embedding import embedder_of
from llmsspider.answers.library import Library
from llmsspider.cli.answering import answer_of
from llmsspider.cli.crawl_processes import CrawlProcesses
from llmsspider.cli.http_address import answered_hosts, host_and_port, listening_at
from llmsspider.cli.mcp import settings_for, stores_of
from llmsspider.cli.options import WRONG, OneLineParser, pairs
from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError, LlmsspiderError
from llmsspider.web.loading import missing_extra
from llmsspider.web.urls import require_http_url

TOKEN_VARIABLE = "LLMSSPIDER_UI_TOKEN"  # noqa: S105  # the name of a variable
"""Environment variable with the password that a browser has to send."""

DEFAULT_ADDRESS = "127.0.0.1:8809"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = OneLineParser(
        prog="llmsspider ui",
        description="Show sources, search, pages and changes as a local web page.",
    )
    made.add_argument(
        "folders",
        nargs="*",
        metavar="FOLDER",
        help="folders that `llmsspider URL -o FOLDER` wrote (default: the stores of the project)",
    )
    made.add_argument(
        "--http",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"where to serve (default {DEFAULT_ADDRESS}); beyond this machine only with"
        f" ${TOKEN_VARIABLE}, the password",
    )
    made.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="a further Host header to answer",
    )
    made.add_argument(
        "--allow-crawl", action="store_true", help="let the page add, recrawl and delete sources"
    )
    made.add_argument(
        "-s", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a setting"
    )
    return made


class PageCrawls(CrawlProcesses):
    """The crawls that the page started, plans of crawls, and pages that are tried."""

    def __init__(self, library: Library, settings: Mapping[str, object]):
        super().__init__(library, settings)
        self._options = [
            part for name, value in settings.items() if value for part in ("-s", f"{name}={value}")
        ]

    async def plan(self, url: str) -> dict[str, Any]:
        """Return what a crawl of a site would do; raises `SearchError`."""
        return await answer_of("plan", require_http_url(url), "--json", *self._options)

    async def page(self, url: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return a page as a document; raises `SearchError`."""
        given = [part for pair in arguments.items() for part in ("-a", "=".join(pair))]
        return await answer_of("page", require_http_url(url), "--json", *given, *self._options)


def main(argv: Sequence[str]) -> int:
    """Serve until Ctrl-C; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        if lack := missing_extra("mcp"):
            raise ArgumentsError([lack])
        given = pairs(options.settings, "-s")
        token = os.environ.get(TOKEN_VARIABLE) or None
        host, port = listening_at(
            options.http, DEFAULT_ADDRESS, f"Set ${TOKEN_VARIABLE}, its password", token
        )
        settings = settings_for(options.folders, given)
        config = Config.from_settings(settings)
        embedder_of(config.embedder)
        places = stores_of(config, options.folders)
    except LlmsspiderError as error:
        for problem in error.problems:
            sys.stderr.write(f"llmsspider ui: {problem}\n")
        return WRONG
    import uvicorn  # noqa: PLC0415  # an extra

    from llmsspider.ui.app import Pages  # noqa: PLC0415  # it takes Starlette along
    from llmsspider.ui.guard import Guard  # noqa: PLC0415

    opened = partial(Library, places, embedder_of(config.embedder))
    where = {name: settings.get(name) or "" for name in ("LLMS_DATA_DIR", "LLMS_STORE_URL")}
    hosts = frozenset([*answered_hosts(host, port), *options.allow_host])
    with (
        closing(opened()) as own,
        closing(PageCrawls(own, {**where, **given})) as crawls,
        closing(
            Pages(
                opened,
                config.chunker.size,
                form_key=secrets.token_urlsafe(24),
                crawls=crawls if options.allow_crawl else None,
            )
        ) as pages,
        suppress(KeyboardInterrupt),
    ):
        sys.stderr.write(f"llmsspider ui: http://{host_and_port(host, port)}/, Ctrl-C ends it\n")
        app = Guard(pages.application(), hosts, token)
        uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=2)
    return 0
