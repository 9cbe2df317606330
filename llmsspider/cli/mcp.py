"""`llmsspider mcp`: the MCP server of `answers.mcp`; its clients may start crawls
(`--allow-crawl`).
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from scrapy.utils.project import get_project_settings

from llmsspider.answers.embedding import embedder_of
from llmsspider.answers.library import Library
from llmsspider.cli.crawl_processes import CrawlProcesses
from llmsspider.cli.http_address import answered_hosts, host_and_port, listening_at
from llmsspider.cli.mcp_clients import CLIENTS, configuration
from llmsspider.cli.options import FAILED, WRONG, OneLineParser, pairs
from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError, LlmsspiderError, crawl_command
from llmsspider.store import Stores, resolve_data_dir
from llmsspider.store.database import STORE_FOLDER
from llmsspider.web.loading import missing_extra

# `llmsspider mcp`: an MCP server over the crawled documentation.

TOKEN_VARIABLE = "LLMSSPIDER_MCP_TOKEN"  # noqa: S105  # the name of a variable
"""Environment variable with the bearer token that HTTP clients have to send."""

DEFAULT_ADDRESS = "127.0.0.1:8808"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    about = "Let agents search and read the crawled documentation (Model Context Protocol)."
    made = OneLineParser(prog="llmsspider mcp", description=about)
    folder = "folders that `llmsspider URL -o FOLDER` wrote (default: the stores of the project)"
    http = (
        f"serve streamable HTTP (default {DEFAULT_ADDRESS}) in place of stdio; ${TOKEN_VARIABLE}:"
        " bearer token"
    )
    host = "a further Host header to answer over HTTP"
    open_ = (
        f"serve HTTP beyond this machine without ${TOKEN_VARIABLE}: whoever reaches the port may"
        " use it"
    )
    client = f"print lines for {', '.join(CLIENTS)}"
    made.add_argument("folders", nargs="*", metavar="FOLDER", help=folder)
    made.add_argument("--http", nargs="?", const=DEFAULT_ADDRESS, metavar="HOST:PORT", help=http)
    made.add_argument("--allow-host", action="append", default=[], metavar="HOST[:PORT]", help=host)
    made.add_argument("--no-token", action="store_true", help=open_)
    made.add_argument(
        "--allow-crawl", action="store_true", help="let clients add and recrawl sources"
    )
    made.add_argument("--print-config", choices=CLIENTS, metavar="CLIENT", help=client)
    made.add_argument(
        "-s", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a setting"
    )
    return made


def main(argv: Sequence[str]) -> int:
    """Serve until the client goes or Ctrl-C; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        given = pairs(options.settings, "-s")
        given_token = os.environ.get(TOKEN_VARIABLE) or options.no_token
        remedy = f"Set ${TOKEN_VARIABLE}, or give --no-token"
        address = (
            listening_at(options.http, DEFAULT_ADDRESS, remedy, given_token)
            if options.http
            else None
        )
        settings = settings_for(options.folders, given)
        if lack := missing_extra("mcp"):
            raise ArgumentsError([lack])
        config = Config.from_settings(settings)
        embedder_of(config.embedder)  # is one
        places = stores_of(config, options.folders)
        listed = [place.list_sources() for place in places]
        sources, problems = (list(chain(*parts)) for parts in zip(*listed, strict=True))
    except LlmsspiderError as error:
        _warn(*error.problems)
        return WRONG
    if problems and not sources:
        _warn(*problems)
        return FAILED
    if options.print_config:
        return _print_config(options, argv, is_empty=not sources)
    where = {name: settings.get(name) or "" for name in ("LLMS_DATA_DIR", "LLMS_STORE_URL")}
    serve(options, address, partial(open_library, places, config.embedder), {**where, **given})
    return 0


def _print_config(options: argparse.Namespace, argv: Sequence[str], *, is_empty: bool) -> int:
    if is_empty and not options.allow_crawl:
        _warn(f"nothing has been crawled yet; {crawl_command('URL')} comes first")
        return FAILED
    sys.stdout.write(configuration(options.print_config, _placed(options, argv)) + "\n")
    return 0


def serve(
    options: argparse.Namespace,
    address: tuple[str, int] | None,
    opened: Callable[[], Library],
    settings: Mapping[str, str],
) -> None:
    """Serve over HTTP at an address, or on stdio; `settings` are those of crawls."""
    from llmsspider.answers import mcp  # noqa: PLC0415  # the SDK is an extra, and takes a second

    libraries = mcp.Libraries(opened)
    own = opened()
    with (
        closing(own),
        closing(CrawlProcesses(own, settings)) as crawls,
        closing(libraries),
    ):
        server = mcp.make_server(libraries, crawls.tools if options.allow_crawl else ())
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as for Ctrl-C
        with suppress(KeyboardInterrupt, BrokenPipeError):
            if address is None:
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, partial(_end, crawls, libraries))
                server.run("stdio")
                _end(crawls, libraries)
            else:
                hosts = [*answered_hosts(*address), *options.allow_host]
                url = f"http://{host_and_port(*address)}{mcp.PATH}"
                _warn(f"{url}, Ctrl-C ends it; it answers to {', '.join(hosts)}")
                mcp.serve_http(server, *address, hosts=hosts, token=os.environ.get(TOKEN_VARIABLE))


def _end(crawls: CrawlProcesses, libraries: Any, *_: object) -> None:
    """End the process: a server on stdio would first wait for the next line, which may not come."""
    crawls.close()
    libraries.close()
    gc.collect()  # gives back the semaphores of the processes
    os._exit(0)


def open_library(places: Sequence[Stores], embedder: str | None) -> Library:
    """Return a library of all places."""
    return Library(places, embedder_of(embedder), warn=_warn)


def _warn(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"llmsspider mcp: {line}\n")


def stores_of(config: Config, folders: Sequence[str]) -> list[Stores]:
    """Return the stores that are served: those of the settings, which are of the first folder, and
    of each further one.
    """
    others = (replace(config.stores, data_dir=store_of(folder)) for folder in folders[1:])
    return [config.stores, *others]


def store_of(folder: str) -> Path:
    """Return the page store of a folder; raises `ArgumentsError` where it has none."""
    store = Path(folder).absolute() / STORE_FOLDER
    if not store.is_dir():
        remedy = "name a folder that `llmsspider URL -o FOLDER` wrote"
        raise ArgumentsError([f"{folder} holds no page store; {remedy}"])
    return store


def settings_for(folders: Sequence[str], given: dict[str, str]) -> Any:
    """Return the settings of the project for the store of the first folder."""
    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "llmsspider.settings")
    settings = get_project_settings()
    if folders:
        settings.set("LLMS_DATA_DIR", str(store_of(folders[0])), priority="cmdline")
        settings.set("LLMS_STORE_URL", "", priority="cmdline")  # whatever the environment says
    settings.setdict(given, priority="cmdline")
    return settings


def _placed(options: argparse.Namespace, argv: Sequence[str]) -> list[str]:
    """The arguments for a client to start the server with, in a folder of its own: the place of the
    stores absolute.
    """
    kept = list(argv)
    place = next(n for n, part in enumerate(kept) if part.startswith("--print-config"))
    del kept[place : place + (1 if "=" in kept[place] else 2)]
    if options.folders:
        return [str(Path(part).absolute()) if part in options.folders else part for part in kept]
    if any(pair.startswith(("LLMS_DATA_DIR=", "LLMS_STORE_URL=")) for pair in options.settings):
        return kept
    return [*kept, "-s", f"LLMS_DATA_DIR={resolve_data_dir()}"]
