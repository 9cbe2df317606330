"""`llmsspider ui`: the web page of `llmsspider.ui`, served on this machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any

from llmsspider.answers.embedding import embedder_of
from llmsspider.answers.library import Library
from llmsspider.cli.mcp import (
    CrawlProcesses,
    address_of,
    answered_hosts,
    host_and_port,
    is_loopback,
    settings_for,
    stores_of,
)
from llmsspider.cli.options import WRONG, OneLineParser, pairs
from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError, LlmsspiderError, SearchError
from llmsspider.web.loading import missing_extra
from llmsspider.web.urls import require_http_url

TOKEN_VARIABLE = "LLMSSPIDER_UI_TOKEN"  # noqa: S105  # the name of a variable
"""Environment variable with the password that a browser has to send."""

DEFAULT_ADDRESS = "127.0.0.1:8809"
COMMAND_SECS = 120.0
"""Time that a plan, or a page, may take."""


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
        return await self._asked("plan", require_http_url(url), "--json")

    async def page(self, url: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return a page as a document; raises `SearchError`."""
        given = [part for pair in arguments.items() for part in ("-a", "=".join(pair))]
        return await self._asked("page", require_http_url(url), "--json", *given)

    async def _asked(self, *words: str) -> dict[str, Any]:
        """Return what a command prints as JSON."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "llmsspider", *words, *self._options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            output, errors = await asyncio.wait_for(process.communicate(), COMMAND_SECS)
        except TimeoutError:
            process.kill()
            raise SearchError(f"the {words[0]} took more than {COMMAND_SECS:g} s") from None
        if not output.strip():
            said = errors.decode("utf-8", "replace").strip().splitlines()
            raise SearchError(said[-1] if said else f"the {words[0]} came to nothing")
        try:
            found: dict[str, Any] = json.loads(output)
        except ValueError:
            raise SearchError(f"the {words[0]} came to nothing") from None
        return found


def main(argv: Sequence[str]) -> int:
    """Serve until Ctrl-C; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        if lack := missing_extra("mcp"):
            raise ArgumentsError([lack])
        given = pairs(options.settings, "-s")
        host, port = _address(options.http)
        settings = settings_for(options.folders, given)
        config = Config.from_settings(settings)
        embedder_of(config.embedder)
        places = stores_of(config, options.folders)
    except LlmsspiderError as error:
        for problem in error.problems:
            sys.stderr.write(f"llmsspider ui: {problem}\n")
        return WRONG
    opened = partial(Library, places, embedder_of(config.embedder))
    where = {name: settings.get(name) or "" for name in ("LLMS_DATA_DIR", "LLMS_STORE_URL")}
    hosts = [*answered_hosts(host, port), *options.allow_host]
    with closing(opened()) as own, closing(PageCrawls(own, {**where, **given})) as crawls:
        _serve(
            opened,
            crawls if options.allow_crawl else None,
            config.chunker.size,
            (host, port),
            hosts,
        )
    return 0


def _serve(
    opened: partial[Library],
    crawls: PageCrawls | None,
    chunk_size: int,
    place: tuple[str, int],
    hosts: Sequence[str],
) -> None:
    import uvicorn  # noqa: PLC0415  # an extra

    from llmsspider.ui.app import Pages  # noqa: PLC0415  # it takes Starlette along
    from llmsspider.ui.guard import Guard  # noqa: PLC0415

    key = secrets.token_urlsafe(24)
    token = os.environ.get(TOKEN_VARIABLE) or None
    with closing(Pages(opened, chunk_size, key, crawls)) as pages:
        app = Guard(pages.application(), frozenset(hosts), token)
        sys.stderr.write(f"llmsspider ui: http://{host_and_port(*place)}/, Ctrl-C ends it\n")
        with suppress(KeyboardInterrupt):
            uvicorn.run(
                app, host=place[0], port=place[1], log_level="warning", timeout_graceful_shutdown=2
            )


def _address(given: str) -> tuple[str, int]:
    host, port = address_of(given, DEFAULT_ADDRESS)
    if not is_loopback(host) and not os.environ.get(TOKEN_VARIABLE):
        problem = f"--http {given}: whoever reaches this port could use the page."
        remedy = f"Set ${TOKEN_VARIABLE}, its password"
        others = "--allow-host HOST:PORT names the Host header that other machines send"
        raise ArgumentsError([f"{problem} {remedy}; {others}"])
    return host, port
