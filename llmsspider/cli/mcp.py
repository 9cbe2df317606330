"""`llmsspider mcp`: the MCP server of `answers.mcp`, the crawls that its clients start,
configuration lines of clients.

A crawl (`--allow-crawl`) is `scrapy crawl docs` in a process of its own, one for a source at a
time.
"""

from __future__ import annotations

import argparse
import gc
import ipaddress
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from scrapy.utils.project import get_project_settings

from llmsspider.answers.embedding import embedder_of
from llmsspider.answers.library import Library
from llmsspider.answers.ranking import choose_source
from llmsspider.api.crawl_process import CRAWL, options_for_pipe
from llmsspider.cli.options import FAILED, WRONG, OneLineParser, pairs
from llmsspider.config.settings import Config
from llmsspider.config.sources import default_name
from llmsspider.errors import ArgumentsError, LlmsspiderError, SearchError, crawl_command
from llmsspider.store import Stores, resolve_data_dir
from llmsspider.store.database import STORE_FOLDER
from llmsspider.web.child_processes import OWN_GROUP, interrupt
from llmsspider.web.loading import missing_extra
from llmsspider.web.urls import require_http_url

# Configuration lines of MCP clients for this server (docs/how-to/mcp.md has the same ones).

CLIENTS = (
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
)  # whose configuration is known
NAME = "docs"  # of the server, in them


def configuration(client: str, arguments: Sequence[str]) -> str:
    """Return the configuration of a client of `CLIENTS`, with the name of the file for it."""
    program = Path(sys.argv[0])  # as an absolute path: clients start it with a path of their own
    is_ours = program.name.startswith("llmsspider") and os.access(program, os.X_OK)
    start = [str(program.absolute())] if is_ours else [sys.executable, "-m", "llmsspider"]
    command = [*start, "mcp", *arguments]
    if client == "claude-code":
        return f"claude mcp add {NAME} -- {shlex.join(command)}"
    entry = {"command": command[0], "args": command[1:]}
    if client == "codex":
        listed = ", ".join(json.dumps(part) for part in command[1:])
        return (
            f"# ~/.codex/config.toml\n[mcp_servers.{NAME}]\ncommand ="
            f" {json.dumps(command[0])}\nargs = [{listed}]"
        )
    if client == "vscode":
        return "// .vscode/mcp.json\n" + json.dumps(
            {"servers": {NAME: {"type": "stdio", **entry}}}, indent=2
        )
    file = ".cursor/mcp.json" if client == "cursor" else "claude_desktop_config.json"
    return f"// {file}\n" + json.dumps({"mcpServers": {NAME: entry}}, indent=2)


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
        sources, problems = (
            [one for part in parts for one in part] for parts in zip(*listed, strict=True)
        )
    except LlmsspiderError as error:
        _warn(*error.problems)
        return WRONG
    if problems and not sources:
        _warn(*problems)
        return FAILED
    if options.print_config:
        if not sources and not options.allow_crawl:
            _warn(f"nothing has been crawled yet; {crawl_command('URL')} comes first")
            return FAILED
        sys.stdout.write(configuration(options.print_config, _placed(options, argv)) + "\n")
        return 0
    from llmsspider.answers import mcp  # noqa: PLC0415  # the SDK is an extra, and takes a second

    opened = partial(open_library, places, config.embedder)
    where = {name: settings.get(name) or "" for name in ("LLMS_DATA_DIR", "LLMS_STORE_URL")}
    libraries = mcp.Libraries(opened)
    own = opened()
    with (
        closing(own),
        closing(CrawlProcesses(own, {**where, **given})) as crawls,
        closing(libraries),
    ):
        server = mcp.make_server(libraries, crawls.tools if options.allow_crawl else ())
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as for Ctrl-C
        with suppress(KeyboardInterrupt, BrokenPipeError):
            if address is None:
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, partial(_end, crawls, libraries))
                server.run("stdio")
            else:
                hosts = [*answered_hosts(*address), *options.allow_host]
                url = f"http://{host_and_port(*address)}{mcp.PATH}"
                _warn(f"{url}, Ctrl-C ends it; it answers to {', '.join(hosts)}")
                mcp.serve_http(server, *address, hosts=hosts, token=os.environ.get(TOKEN_VARIABLE))
    return 0


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


def listening_at(given: str, default: str, remedy: str, is_safe: object) -> tuple[str, int]:
    """Return the host and port of `--http`, the port of `default` where none is named; raises
    `ArgumentsError`, also where others than this machine reach them and that is not safe.

    >>> listening_at("[::1]:9000", "127.0.0.1:8808", "", False)
    ('::1', 9000)
    >>> listening_at("10.0.0.5", "127.0.0.1:8808", "", True)
    ('10.0.0.5', 8808)
    """
    host, mark, port = given.rpartition(":")
    host, port = (host.strip("[]"), port) if mark else (given, default.rpartition(":")[2])
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ArgumentsError([f"--http {given!r}: HOST:PORT is accepted, e.g. {default}"])
    if not (is_safe or is_loopback(host)):
        why = f"--http {given}: whoever reaches this port could use it. {remedy}"
        others = "--allow-host HOST:PORT names the Host header that other machines send"
        raise ArgumentsError([f"{why}; {others}"])
    return host, int(port)


def host_and_port(host: str, port: int) -> str:
    """The authority of a URL, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address to listen on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def answered_hosts(host: str, port: int) -> list[str]:
    """The values of the Host header that are answered in any case; a wildcard address is none of
    them.

    >>> answered_hosts("0.0.0.0", 8808), answered_hosts("10.0.0.5", 8808)
    (['localhost:8808', '127.0.0.1:8808', '[::1]:8808'], ['10.0.0.5:8808'])
    """
    own = [f"{name}:{port}" for name in ("localhost", "127.0.0.1", "[::1]")]
    if host in {"0.0.0.0", "::"}:  # noqa: S104
        return own
    return list(dict.fromkeys([host_and_port(host, port), *(own if is_loopback(host) else [])]))


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


# The crawls that clients start.

Answer = tuple[dict[str, Any], str]  # of a tool, as in `answers.mcp`

MAX_CRAWLS = 4  # at the same time
GOING = "a crawl of {!r} is running; crawl_status returns its progress"


class CrawlProcesses:
    """The crawls that the clients of one server started, and the tools for that; `close` stops
    those that run.
    """

    def __init__(self, library: Library, settings: Mapping[str, object]):
        self._library = library
        self._settings = settings
        self._started: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        self.tools = (
            self.add_source,
            self.recrawl_source,
            self.remove_source,
            self.crawl_status,
            self.cancel,
        )

    # The docstrings of tools are for clients.

    def add_source(self, url: str, name: str | None = None, max_pages: int | None = None) -> Answer:
        """Crawl a documentation site in the background.

        Url: any page of it. name: of the source (name@version for a version).
        """
        url = require_http_url(url)  # a folder of this machine is for its user to name
        source = name or default_name(url)
        if source in self._library.names():
            raise SearchError(f"source {source!r} is there already; use recrawl_source")
        limit = {} if max_pages is None else {"max_pages": str(max_pages)}
        return self._start({"url": url, "source": source, **limit})

    def recrawl_source(self, source: str) -> Answer:
        """Fetch what changed on a source's site, in the background."""
        name = self._library.open(source).name
        with self._library.store(name) as store:
            if any(run.is_going for run in store.runs()):
                raise SearchError(GOING.format(source))
        return self._start({"source": name})

    def remove_source(self, source: str) -> Answer:
        """Delete a source and everything stored of it."""
        if self._is_running(source):
            raise SearchError(f"a crawl of {source!r} is running; cancel it first")
        self._library.delete(source)
        return {"source": source, "removed": True}, f"{source} is removed."

    def crawl_status(self, source: str) -> Answer:
        """Return the progress of the crawl of a source, or how it ended."""
        running = self._is_running(source)
        status: dict[str, Any] = {"source": source, "going": running}
        if source not in (names := self._library.names()) and source in self._started:
            status |= {"status": "PENDING" if running else "ERROR"}
        else:
            name = choose_source(source, names)  # or says what there is
            record = next(one for one in self._library.records() if one.name == name)
            with self._library.store(name) as store:
                status |= {"status": record.status, "pages": record.pages}
                for last in store.runs()[-1:]:
                    done = last.counts.get("documents")
                    complete = last.complete if last.finished_at else None
                    status |= {"run": last.id, "documents": done if isinstance(done, int) else None}
                    status |= {"errors": last.errors, "filtered": last.filtered}
                    status |= {"complete": complete, "outcome": last.outcome, "why": last.why}
        if not running and (error := self._error(source)):
            kind, colon, _ = error.partition(":")
            status["error"] = {
                "kind": kind if colon and kind.isidentifier() else "failed",
                "message": error,
            }
        return status, "\n".join(
            f"{name}: {value}" for name, value in status.items() if value is not None
        )

    def cancel(self, source: str) -> Answer:
        """Stop the crawl of a source, whoever started it."""
        running = self._stop(source) or self._request_stop(source)
        outcome = "is stopping; what was fetched is kept" if running else "has ended"
        return {"source": source, "stopping": running}, f"The crawl of {source} {outcome}."

    def _stop(self, source: str) -> bool:
        running = self._is_running(source)
        if running:
            interrupt(self._started[source][0])
        return running

    def _request_stop(self, source: str) -> bool:
        """Ask what crawls a source in another process to stop."""
        names = self._library.names()
        if source in self._started and source not in names:
            return False
        with self._library.store(choose_source(source, names)) as store:
            return store.request_stop()

    def close(self) -> None:
        """Stop the crawls that are running and wait for them."""
        for source, (process, log) in self._started.items():
            if self._stop(source):
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            log.close()

    def _start(self, arguments: Mapping[str, str]) -> Answer:
        source = arguments["source"]
        if self._is_running(source):
            raise SearchError(GOING.format(source))
        if sum(self._is_running(one) for one in self._started) >= MAX_CRAWLS:
            raise SearchError(f"{MAX_CRAWLS} crawls are running; wait for one of them")
        package = str(Path(__file__).resolve().parent.parent.parent)
        paths = filter(None, [package, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        process = subprocess.Popen(  # noqa: S603  # our own interpreter, no shell
            CRAWL,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            **OWN_GROUP,
        )
        settings = {"LLMS_STATUS_PORT": "off", **self._settings}
        with (
            suppress(BrokenPipeError),
            process.stdin or nullcontext() as pipe,
        ):  # its log says why it ended
            if pipe is not None:
                pipe.write(options_for_pipe(arguments, settings))
        if source in self._started:
            self._started[source][1].close()
        self._started[source] = process, log
        text = f"Crawling {source}; crawl_status returns its progress."
        return {"source": source, "started": True}, text

    def _is_running(self, source: str) -> bool:
        return source in self._started and self._started[source][0].poll() is None

    def _error(self, source: str) -> str | None:
        """What a crawl that this server started says of its failure: its last line of that kind,
        without its time.
        """
        if source not in self._started or not self._started[source][0].returncode:
            return None
        log = self._started[source][1]
        log.seek(max(0, log.seek(0, os.SEEK_END) - 16_000))
        lines = log.read().decode("utf-8", "replace").splitlines()
        said = [
            line.partition(" ERROR: ")[2] or line for line in lines if " ERROR: " in line
        ] or lines[-1:]
        return said[-1][:500] if said else None
