"""`llmsspider mcp`: an MCP server over the crawled documentation, and configuration lines of clients."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llmsspider.answers.embedding import embedder_of
from llmsspider.answers.library import Library
from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError, LlmsspiderError
from llmsspider.launch.storecommand import WRONG, OneLineParser, pairs
from llmsspider.output.mirror import STORE_FOLDER
from llmsspider.store import resolve_data_dir
from llmsspider.web.loading import missing_extra

# Configuration lines of MCP clients for this server (docs/how-to/mcp.md has the same ones).

CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")
"""The clients whose configuration is known."""

NAME = "docs"
"""What the server is called in them."""


def configuration(client: str, arguments: Sequence[str]) -> str:
    """Return the configuration of a client, with the name of the file for it.

    Args:
        client: one of `CLIENTS`.
        arguments: of `llmsspider mcp`.
    """
    command = [_program(), "mcp", *arguments]
    if client == "claude-code":
        return f"claude mcp add {NAME} -- {shlex.join(command)}"
    entry = {"command": command[0], "args": command[1:]}
    if client == "codex":
        listed = ", ".join(json.dumps(part) for part in command[1:])
        return f"# ~/.codex/config.toml\n[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0])}\nargs = [{listed}]"
    if client == "vscode":
        return "// .vscode/mcp.json\n" + json.dumps({"servers": {NAME: {"type": "stdio", **entry}}}, indent=2)
    file = ".cursor/mcp.json" if client == "cursor" else "claude_desktop_config.json"
    return f"// {file}\n" + json.dumps({"mcpServers": {NAME: entry}}, indent=2)


def _program() -> str:
    """The command as an absolute path: clients start it with a path of their own."""
    program = Path(sys.argv[0])
    return (
        str(program.absolute())
        if program.name.startswith("llmsspider") and program.exists()
        else "llmsspider"
    )


# `llmsspider mcp`: an MCP server over the crawled documentation.

TOKEN_VARIABLE = "LLMSSPIDER_MCP_TOKEN"  # noqa: S105  # the name of a variable
"""Environment variable with the bearer token that HTTP clients have to send."""

DEFAULT_ADDRESS = "127.0.0.1:8808"


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = OneLineParser(
        prog="llmsspider mcp",
        description="Let agents search and read the crawled documentation (Model Context Protocol).",
    )
    made.add_argument(
        "folder",
        nargs="?",
        help="a folder that `llmsspider URL -o FOLDER` wrote (default: the stores of the project)",
    )
    made.add_argument(
        "--http", nargs="?", const=DEFAULT_ADDRESS, metavar="HOST:PORT",
        help=f"serve streamable HTTP (default {DEFAULT_ADDRESS}) in place of stdio; ${TOKEN_VARIABLE}: bearer token",
    )  # fmt: skip
    made.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="a further Host header to answer over HTTP",
    )
    made.add_argument("--allow-crawl", action="store_true", help="let clients add and recrawl sources")
    made.add_argument(
        "--print-config", choices=CLIENTS, metavar="CLIENT", help=f"print lines for {', '.join(CLIENTS)}"
    )
    made.add_argument(
        "-s", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a setting"
    )
    return made


def main(argv: Sequence[str]) -> int:
    """Serve until the client goes or Ctrl-C; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        given = pairs(options.settings, "-s")
        if options.print_config:
            sys.stdout.write(configuration(options.print_config, _placed(options, _kept(argv))) + "\n")
            return 0
        address = _address(options.http) if options.http else None
        settings = _settings(options.folder, given)
        if lack := missing_extra("mcp"):
            raise ArgumentsError([lack])
        config = Config.from_settings(settings)
        library = Library(config.stores, embedder_of(config.embedder))
        library.names()
    except LlmsspiderError as error:
        for problem in getattr(error, "problems", [str(error)]):
            sys.stderr.write(f"llmsspider mcp: {problem}\n")
        return WRONG
    return _serve(
        library,
        _of_crawls(settings, given) if options.allow_crawl else None,
        address,
        options.allow_host,
    )


def _serve(
    library: Library,
    of_crawls: dict[str, object] | None,
    address: tuple[str, int] | None,
    hosts: Sequence[str],
) -> int:
    from llmsspider.answers.mcp.server import Crawls, make_server, serve_http, serve_stdio  # noqa: PLC0415  # the SDK is an extra

    crawls = Crawls(of_crawls) if of_crawls is not None else None
    server = make_server(library, crawls)
    try:
        if address is None:
            serve_stdio(server)
        else:
            sys.stderr.write(f"llmsspider mcp: http://{address[0]}:{address[1]}/mcp, Ctrl-C ends it\n")
            serve_http(server, *address, hosts=hosts, token=os.environ.get(TOKEN_VARIABLE))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        if crawls is not None:
            crawls.close()
    return 0


def _address(given: str) -> tuple[str, int]:
    host, mark, port = given.rpartition(":")
    host = host.strip("[]") if mark else given
    if not mark:
        port = DEFAULT_ADDRESS.rpartition(":")[2]
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ArgumentsError([f"--http {given!r}: HOST:PORT is accepted, e.g. {DEFAULT_ADDRESS}"])
    return host, int(port)


def _settings(folder: str | None, given: dict[str, str]) -> Any:
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "llmsspider.settings")
    settings = get_project_settings()
    if folder is not None:
        store = Path(folder).absolute() / STORE_FOLDER
        if not store.is_dir():
            raise ArgumentsError(
                [f"{folder} holds no page store; name a folder that `llmsspider URL -o FOLDER` wrote"]
            )
        settings.set("LLMS_DATA_DIR", str(store), priority="cmdline")
        settings.set("LLMS_STORE_URL", "", priority="cmdline")  # whatever the environment says
    settings.setdict(given, priority="cmdline")
    return settings


def _of_crawls(settings: Any, given: dict[str, str]) -> dict[str, object]:
    """The settings of crawls: those that were given, and where the stores are."""
    own = {name: settings.get(name) or "" for name in ("LLMS_DATA_DIR", "LLMS_STORE_URL")}
    return {**own, **given}


def _placed(options: argparse.Namespace, kept: list[str]) -> list[str]:
    """The arguments with the place of the stores made absolute: clients start the server in a folder of their own."""
    if options.folder is not None:
        return [str(Path(part).absolute()) if part == options.folder else part for part in kept]
    if any(pair.startswith(("LLMS_DATA_DIR=", "LLMS_STORE_URL=")) for pair in options.settings):
        return kept
    return [*kept, "-s", f"LLMS_DATA_DIR={resolve_data_dir()}"]


def _kept(argv: Sequence[str]) -> list[str]:
    """The arguments without `--print-config CLIENT`, for the client to start the server with."""
    kept = list(argv)
    place = next(n for n, part in enumerate(kept) if part.startswith("--print-config"))
    del kept[place : place + (1 if "=" in kept[place] else 2)]
    return kept
