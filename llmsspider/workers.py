"""The conversion pool: HTML in, links and Markdown out, in processes that may crash or hang without harm.

The boundary is `(body, url, encoding) -> Page`; the crawling process never parses HTML of pages itself, and of
Markdown only what is short. With zero workers the same function is called in place ("inline"). A page that crashes
its worker or exceeds the time limit costs that page only: pebble replaces the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from pebble import ProcessExpired, ProcessPool

from llmsspider.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llmsspider.items import Page

T = TypeVar("T")

MAX_WORKERS = 4
"""Upper bound of the automatic number of workers; a crawl is rarely faster with more."""

MAX_SCANNED_IN_PLACE = 256 * 1024
"""Length in bytes up to which a page is scanned for links here, while no worker has been needed."""

MAX_READ_IN_PLACE = 32 * 1024
"""Characters up to which Markdown is read here: 1 to 3 ms. The worst that was found, all YAML, takes 0.7 s."""


def automatic_workers() -> int:
    """Return the default number of worker processes: none on a single core, else one a core up to `MAX_WORKERS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, MAX_WORKERS) if cores > 1 else 0


def _convert(body: bytes, url: str, encoding: str | None, converter: str, keep_hidden: bool) -> Page:
    from llmsspider.extraction import convert  # noqa: PLC0415  # the crawling process need not load lxml for it

    return convert(body, url, encoding, converter, keep_hidden=keep_hidden)


def _read_markdown(text: str, url: str, keep_hidden: bool) -> Page:
    from llmsspider.markdown import read  # noqa: PLC0415

    return read(text, url, keep_hidden=keep_hidden)


def _read_texts(texts: Sequence[tuple[str, str]], keep_hidden: bool) -> list[Page]:
    return [_read_markdown(text, url, keep_hidden) for text, url in texts]


def _handle(path: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
    from llmsspider.handlers import handle  # noqa: PLC0415

    return handle(path, body, url, mime_type, encoding)


def _rarely_collect() -> None:
    """Let a worker look for cycles rarely: a page leaves hardly any, and each look passes over what was loaded."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _warm_up() -> None:
    _convert(b"<p>x</p>", "http://localhost/", None, "native", False)


def _scan(body: bytes, url: str, encoding: str | None) -> Page:
    from llmsspider.extraction import scan  # noqa: PLC0415

    return scan(body, url, encoding)


class ConversionPool:
    """Converts pages in `workers` processes, or in place when `workers` is 0.

    Args:
        workers: number of processes.
        timeout_secs: time one page may take in a worker; the inline mode cannot enforce it.
        converter: name of the HTML to Markdown engine.
        handlers: paths of the users' classes that read other answers, by media type. They always work in a process
            of their own, so that the time limit holds.
        keep_hidden: keep text that no reader of a page sees.
    """

    def __init__(
        self,
        workers: int,
        timeout_secs: float,
        converter: str,
        handlers: Mapping[str, str] | None = None,
        *,
        keep_hidden: bool = False,
    ):
        self.workers = workers
        self.timeout_secs = timeout_secs
        self.converter = converter
        self.handlers = handlers or {}
        self.keep_hidden = keep_hidden
        self._starting: Future[ProcessPool] | None = None
        self._may_start = False

    def open(self, *, at_once: bool = True) -> None:
        """Start the pool, `at_once` or with the first page; the processes load in the background."""
        self._may_start = True
        if at_once and self.workers:
            self._start()

    def _start(self) -> None:
        """Start the processes in a thread: the fork server answers only once it has loaded what they need."""
        if self._may_start and self._starting is None:
            executor = ThreadPoolExecutor(1, "workers")
            self._starting = executor.submit(self._started)
            executor.shutdown(wait=False)

    def _started(self) -> ProcessPool:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["llmsspider.extraction", "llmsspider.markdown"])
        pool = ProcessPool(max_workers=max(self.workers, 1), context=context, initializer=_rarely_collect)
        with _main_unseen():
            for _ in range(max(self.workers, 1)):  # so that they load while discovery waits for the network
                pool.schedule(_warm_up)
        return pool

    def close(self) -> None:
        """Stop the workers; idempotent."""
        self._may_start = False
        starting, self._starting = self._starting, None
        if starting is not None:
            pool = starting.result()
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()

    async def convert(self, body: bytes, url: str, encoding: str | None) -> Page:
        """Return the converted page.

        Raises:
            ConversionError: when the worker crashed, ran out of time or memory, or the conversion raised.
        """
        return await self._run(_convert, (body, url, encoding, self.converter, self.keep_hidden))

    async def scan(self, body: bytes, url: str, encoding: str | None) -> Page:
        """Return links and metadata of an HTML page, without converting it; raises `ConversionError`.

        A crawl that only confirms what is stored reads its start page here, and never starts a process.
        """
        if self._starting is None and len(body) <= MAX_SCANNED_IN_PLACE:
            return await self._run(_scan, (body, url, encoding), in_place=True)
        return await self._run(_scan, (body, url, encoding))

    async def read_markdown(self, text: str, url: str) -> Page:
        """Return a Markdown body as a page; raises `ConversionError`.

        Most are read in place: the way to a worker and back costs the crawling process more than reading does.
        """
        in_place = len(text) <= MAX_READ_IN_PLACE
        return await self._run(_read_markdown, (text, url, self.keep_hidden), in_place=in_place)

    async def read_texts(self, texts: Sequence[tuple[str, str]]) -> list[Page | ConversionError]:
        """Return pairs of Markdown body and URL as pages, in one go: a small one costs more on its way than there.

        One that cannot be read is its error; the others do not suffer for it.
        """
        try:
            return list(await self._run(_read_texts, (texts, self.keep_hidden)))
        except ConversionError as error:
            if len(texts) == 1:
                return [error]
        return [result for text in texts for result in await self.read_texts([text])]

    async def handle(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        """Return what the handler of the media type makes of a body; raises `ConversionError`."""
        path = self.handlers[mime_type]
        return await self._run(_handle, (path, body, url, mime_type, encoding), apart=True)

    async def _run(
        self,
        function: Callable[..., T],
        arguments: tuple[object, ...],
        *,
        apart: bool = False,
        in_place: bool = False,
    ) -> T:
        in_place = in_place or not (self.workers or apart)
        if not in_place:
            self._start()
        try:
            starting = self._starting
            if in_place or starting is None:
                return function(*arguments)
            pool = starting.result() if starting.done() else await asyncio.wrap_future(starting)
            future: Future[T] = pool.schedule(function, args=arguments, timeout=self.timeout_secs)
            return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ConversionError(f"conversion took longer than {self.timeout_secs:g} s") from None
        except ProcessExpired as error:
            raise ConversionError(f"the conversion worker died (exit code {error.exitcode})") from None
        except MemoryError:
            raise ConversionError("the conversion ran out of memory") from None
        except ConversionError:
            raise
        except Exception as error:  # whatever it was, it is the fault of one page
            raise ConversionError(f"conversion failed: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _main_unseen() -> Iterator[None]:
    """Keep `multiprocessing` from running the script of the command again in each worker.

    A worker needs nothing of `/usr/bin/scrapy`, and importing Scrapy costs it more than all it does need. One that
    replaces a dead worker later runs it all the same.
    """
    main = sys.modules["__main__"]
    file = main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        if file is not None:
            main.__file__ = file
