"""`for document in llmsspider.crawl(url)`: a crawl in a process of its own, its documents as they
are published.
"""

import asyncio
import io
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any, NamedTuple, Unpack

import orjson
from scrapy.settings import BaseSettings

from llmsspider.api.crawl_process import child, crawl_from_pipe, options_for_pipe, stores_for
from llmsspider.config.arguments import (
    CrawlArguments,
    DocsArguments,
    PageArguments,
    check_arguments,
)
from llmsspider.config.settings import Config
from llmsspider.config.sources import default_name
from llmsspider.content.formats import ContentHandler
from llmsspider.errors import ArgumentsError, CrawlError, LlmsspiderError, ResolveError, StoreError
from llmsspider.extensions.pipe import DOCUMENT, END, FRAME, DocumentPipe, send_end
from llmsspider.items import Document, document_of
from llmsspider.output import exports
from llmsspider.output.graph import Order, write_json
from llmsspider.store import Store
from llmsspider.web.child_processes import OWN_GROUP, interrupt, kill_group
from llmsspider.web.urls import start_url

Settings = Mapping[str, object]
Place = str | os.PathLike[str] | type[Store]

STOP_SECS = 2.2
"""Seconds that a crawl has to end by itself after each of two SIGINT; then it is killed."""


class _Crawl:
    """A crawl to come, and then its outcome.

    Attributes:
        complete: whether it saw the whole site; False until it has ended, and where it was stopped.
        counts: the numbers of the run, as `progress` is called with (docs/reference/progress.md).
        exit_code: that of the command (docs/reference/exit-codes.md); None before the end.
    """

    def __init__(
        self,
        spider: str,
        arguments: Mapping[str, Any],
        store: Place | None,
        settings: Settings | None,
        progress: Callable[[dict[str, Any]], object] | None = None,
    ):
        check_arguments(DocsArguments if spider == "docs" else PageArguments, dict(arguments))
        self._given = spider, arguments, store, settings
        self._progress = progress
        self._name = arguments.get("url") or arguments.get("source")
        self._ended: dict[str, Any] | None = None
        self.complete = False
        self.counts: dict[str, Any] = {}
        self.exit_code: int | None = None

    @contextmanager
    def _prepared(self) -> Iterator[tuple[bytes, dict[str, Any], IO[bytes]]]:
        """What its process is given: the options on its stdin, how it is started, and the file of
        its log.
        """
        spider, arguments, store, settings = self._given
        self.complete = False
        self.counts = {}
        self.exit_code = None
        self._ended = None
        with (
            tempfile.TemporaryDirectory(prefix="llmsspider-") as temporary,
            tempfile.TemporaryFile() as log,
        ):
            options = options_for_pipe(arguments, stores_for(store, settings, temporary), spider)
            # a session of its own: Ctrl-C in a terminal is for the program, which then stops the
            # crawl
            yield options, {"stderr": log, "env": child(), **OWN_GROUP}, log

    def _take(self, kind: bytes, body: bytes) -> Document | None:
        """Return the document of a message; note what others say."""
        value = orjson.loads(body)
        if kind == DOCUMENT:
            return document_of(value)
        self.counts = value["counts"] if kind == END else value
        if kind == END:
            self._ended = value
            self.complete = value["complete"]
        if self._progress is not None:
            self._progress(self.counts)
        return None

    def _check(self, log: IO[bytes]) -> None:
        if self._ended is not None and self._ended["problem"] is None:
            return
        log.seek(max(0, log.seek(0, os.SEEK_END) - 16_000))
        said = log.read().decode("utf-8", "replace").strip().splitlines()
        if self.exit_code == 2:
            problems = [line.partition(": ")[2] or line for line in said]
            raise ArgumentsError(problems or ["the crawl was refused"])
        if self._ended is None:
            raise self._death(said)
        if self._ended["outcome"] == "store_failed":
            raise StoreError(self._ended["problem"])
        if self.exit_code:
            raise CrawlError(self._ended["problem"])

    def _death(self, said: list[str]) -> LlmsspiderError:
        """The error of a crawl that ended without a word, from the last lines of its log."""
        code = self.exit_code or 0
        last = said[-1] if said else f"exit code {code}"
        if code == 1 and last.startswith("scrapy crawl "):
            return StoreError(f"{self._name}: {last.partition(': ')[2]}")
        died = f"signal {-code}" if code < 0 else last
        return CrawlError(f"{self._name}: the crawl failed: {died}")


class Crawl(_Crawl):
    """The documents of a crawl, which begins with the loop over it; see `crawl`."""

    def __iter__(self) -> Generator[Document]:
        with self._prepared() as (options, how, log):
            pipe = subprocess.PIPE
            with subprocess.Popen(CHILD, stdin=pipe, stdout=pipe, **how) as process:  # noqa: S603  # our own
                assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
                try:
                    with suppress(BrokenPipeError), process.stdin:
                        process.stdin.write(options)
                    while len(head := process.stdout.read(FRAME.size)) == FRAME.size:
                        kind, size = FRAME.unpack(head)
                        if len(body := process.stdout.read(size)) < size:
                            break
                        if (document := self._take(kind, body)) is not None:
                            yield document
                    process.wait()
                finally:
                    process.stdout.close()
                    self._stop(process)
                    self.exit_code = process.returncode
            self._check(log)

    @staticmethod
    def _stop(process: subprocess.Popen[bytes]) -> None:
        for _ in range(2):
            if process.poll() is None:
                interrupt(process)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_SECS)
        if process.poll() is None:
            kill_group(process.pid)


class AsyncCrawl(_Crawl):
    """The same in an event loop; see `acrawl`."""

    async def __aiter__(self) -> AsyncGenerator[Document]:
        with self._prepared() as (options, how, log):
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*CHILD, stdin=pipe, stdout=pipe, **how)
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
            try:
                process.stdin.write(options)
                process.stdin.close()
                with suppress(asyncio.IncompleteReadError):
                    while True:
                        kind, size = FRAME.unpack(await process.stdout.readexactly(FRAME.size))
                        document = self._take(kind, await process.stdout.readexactly(size))
                        if document is not None:
                            yield document
                await process.wait()
            finally:
                await self._stop(process)
                self.exit_code = process.returncode
            self._check(log)

    @staticmethod
    async def _stop(process: asyncio.subprocess.Process) -> None:
        try:
            for _ in range(2):
                if process.returncode is None:
                    interrupt(process)
                    with suppress(TimeoutError):
                        # what it wants to send yet
                        await asyncio.wait_for(process.communicate(), STOP_SECS)
        finally:
            if process.returncode is None:
                kill_group(process.pid)
                await process.wait()


def crawl(
    url: str | None = None,
    *,
    store: Place | None = None,
    settings: Settings | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
    **arguments: Unpack[CrawlArguments],
) -> Crawl:
    """Crawl a site: a loop over the result gives its documents as they are published, deleted pages
    too.

    The crawl is a process of its own, which waits while the loop does; leaving the loop stops it.
    How it went is on the object afterwards: `complete`, `counts`, `exit_code`.

    Args:
        url: any page of the documentation; needless with `source` and `store` of an earlier crawl.
        store: directory of the page store, with which the next crawl fetches only what changed, or
        a store class.
            None keeps nothing.
        settings: settings of the project (docs/reference/settings.md) or of Scrapy.
        progress: called about twice a second with the counts of the run
        (docs/reference/progress.md).
        arguments: those of the spider (docs/reference/arguments.md).

    Raises:
        InvalidUrlError: `url` is no http(s) URL.
        ArgumentsError: an argument or, in the loop, a setting is wrong; one line each.
        CrawlError: in the loop; no page was obtained, or the process was killed.
        StoreError: in the loop; the page store cannot be used.
    """
    return Crawl("docs", _texts(url, arguments), store, settings, progress)


def acrawl(
    url: str | None = None,
    *,
    store: Place | None = None,
    settings: Settings | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
    **arguments: Unpack[CrawlArguments],
) -> AsyncCrawl:
    """Crawl a site for an `async for`; arguments, result and errors are those of `crawl`."""
    return AsyncCrawl("docs", _texts(url, arguments), store, settings, progress)


def page(
    url: str,
    *,
    render: str = "auto",
    profile: str = "default",
    settings: Settings | None = None,
) -> Document:
    """Return one page as a document; nothing is stored, and no link followed
    (docs/how-to/page-spider.md).

    Raises:
        InvalidUrlError, ArgumentsError: as `crawl`.
        CrawlError: the page failed, or holds no text; the message says why.
    """
    given = _texts(url, {"render": render, "profile": profile})
    (document,) = Crawl("page", given, None, settings)
    return document


class Resolved(NamedTuple):
    """`content`: all pages as one Markdown text. `graph`: `source`, `url` and `nodes`
    (docs/reference/commands.md).
    """

    content: str
    graph: dict[str, Any]


def resolve(
    url: str,
    *,
    depth: int | None = None,
    order: Order = "breadth",
    max_tokens: int | None = None,
    store: str | os.PathLike[str] | type[Store] | None = None,
    handlers: Mapping[str, str | type[ContentHandler]] | None = None,
    arguments: Mapping[str, str] | None = None,
    settings: Mapping[str, object] | None = None,
    timeout_secs: float | None = None,
) -> Resolved:
    """Crawl a site and return its text and its graph.

    Args:
        url: any page of the documentation.
        depth: how many links away pages may lie; None is unlimited, 0 the listed pages or the page
        itself.
        order: of the pages in `content`.
        max_tokens: `content` stops before the page that would exceed it.
        store: directory of the page store; with it the next call fetches only what changed. Or a
        store class, which
            is given `LLMS_DATA_DIR` and `LLMS_STORE_URL` of `settings`. None keeps nothing.
        handlers: content handlers, classes or their paths, by media type (docs/how-to/handlers.md).
        arguments: more spider arguments (docs/reference/arguments.md).
        settings: settings of the project (docs/reference/settings.md) or of Scrapy.
        timeout_secs: of the whole crawl.

    Raises:
        InvalidUrlError: `url` is no http(s) URL.
        ArgumentsError: an argument or setting is wrong; one line each.
        ResolveError: no page was obtained; the message says why.
    """
    # without a depth: not that which an earlier call kept
    limit = {"max_depth": "" if depth is None else str(depth)}
    given = {**limit, **(arguments or {}), "url": start_url(url)}
    if depth is not None:
        given |= limit
    end = math.inf if timeout_secs is None else time.monotonic() + timeout_secs

    def watch(_counts: dict[str, Any]) -> None:
        if time.monotonic() > end:
            raise TimeoutError

    with tempfile.TemporaryDirectory(prefix="llmsspider-") as temporary:
        chosen = stores_for(store, settings, temporary, handlers)
        loop = Crawl("docs", given, None, chosen, watch)
        failed = None
        try:
            for _ in loop:
                pass
        except TimeoutError:
            raise ResolveError(f"{url}: the crawl took longer than {timeout_secs} s") from None
        except CrawlError as error:
            failed = ResolveError(str(error))
        name = given.get("source") or default_name(given["url"])
        with Config.from_settings(BaseSettings(chosen)).stores.open(name) as pages:
            has_earlier = loop.exit_code == 1 and pages.count_pages() > 0
            if failed and not has_earlier:
                raise failed
            text = io.BytesIO()
            graph = io.BytesIO()
            exports.write_flat(pages, text, order=order, budget=max_tokens)
            write_json(pages, graph)
    return Resolved(text.getvalue().decode(), orjson.loads(graph.getvalue()))


def _texts(url: str | None, arguments: Mapping[str, object]) -> dict[str, str]:
    """Return arguments as the command line has them: lists by lines, True as true; those that are
    None left out.
    """
    if url is None and not arguments.get("source"):
        raise ArgumentsError(["a URL is missing, or the source of an earlier crawl in `store`"])
    given = arguments if url is None else {"url": start_url(url), **arguments}
    return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


CHILD = [
    sys.executable,
    "-c",
    "from llmsspider.api.crawls import crawl_into_pipe; crawl_into_pipe()",
]
"""The command of a crawl whose stdout is the pipe for its documents."""


def crawl_into_pipe() -> None:
    """Run `scrapy crawl` with the options that stand on stdin; what it prints goes to stderr."""
    from llmsspider import settings  # noqa: PLC0415  # in the process of the crawl only

    DocumentPipe.fd = os.dup(1)
    os.dup2(2, 1)
    settings.EXTENSIONS_BASE["llmsspider.extensions.pipe.DocumentPipe"] = 0
    try:
        crawl_from_pipe()
    finally:
        send_end(DocumentPipe.fd)
