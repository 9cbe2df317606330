"""The conversion pool: converts pages in worker processes, so that a crash or a hang fails one page only.

The interface is `(body, url, encoding) -> Page`. The crawling process parses no HTML pages, and only short Markdown.
With zero workers it converts pages itself, as long as they are short and fast to convert; others go to a worker
process, which can be killed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from llmsspider.content.conversion import serving
from llmsspider.content.conversion.processes import ProcessPool
from llmsspider.content.formats import Formats
from llmsspider.errors import ConversionError
from llmsspider.items import Page

if TYPE_CHECKING:
    from llmsspider.content.markdown import Draft

S = TypeVar("S")
T = TypeVar("T")

MAX_WORKERS = 4
"""Upper bound of the automatic number of workers; a crawl is rarely faster with more."""

MAX_HTML_IN_PLACE = 256 * 1024
"""Length in bytes up to which HTML is read here: with zero workers, and the first pages while none has been needed."""

FEW_IN_PLACE = 8
"""Number of pages that are converted here before a process is started for more; to start some takes 0.4 s of CPU."""

MAX_READ_IN_PLACE = 32 * 1024
"""Characters up to which Markdown is read here: 1 to 3 ms. The worst that was found, all YAML, takes 0.7 s."""

DOCC_HANDLER = "llmsspider.content.formats.documents.DoccHandler"
OPENAPI_HANDLER = "llmsspider.content.openapi.OpenApiHandler"
OPENAPI_HANDLERS = {
    "file": OPENAPI_HANDLER,
    "tag": "llmsspider.content.openapi.OpenApiByTag",
    "operation": "llmsspider.content.openapi.OpenApiByOperation",
}
"""Paths of the handlers of OpenAPI files, by what is one document."""

IN_PLACE_SECS = 2.0
"""CPU time that a page may take here; one that takes longer is left to a worker, with the time limit of pages."""


def automatic_workers() -> int:
    """Return the default number of worker processes: 0 on a single core, else one per core, at most `MAX_WORKERS`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, MAX_WORKERS) if cores > 1 else 0


class ConversionPool:
    """Converts pages in `workers` processes; with 0 workers, short pages are converted in the crawling process.

    One is still started for pages that cannot be converted in place, and `handlers` (paths of the user's classes that
    convert other responses, by media type) always run in one, so that the time limit for a page, `timeout_secs`,
    applies. `converter` names the HTML to Markdown engine, `generators` are paths of the user's rules for generators,
    `formats` (`LLMS_FORMATS`) says which others are converted, `openapi` how an OpenAPI file is split into documents.
    """

    def __init__(
        self,
        workers: int,
        timeout_secs: float,
        converter: str,
        handlers: Mapping[str, str] | None = None,
        *,
        formats: Formats | None = None,
        generators: tuple[str, ...] = (),
    ):
        self.workers = workers
        self.formats = formats or Formats()
        self._openapi = OPENAPI_HANDLERS[self.formats.openapi]
        self.timeout_secs = timeout_secs
        self.converter = converter
        self.handlers = handlers or {}
        self.generators = generators
        self._left_in_place = FEW_IN_PLACE
        self.processes = ProcessPool(
            max(workers, 1), ("llmsspider.content.conversion.warm",), serving.prepare
        )

    def open(self) -> None:
        """Start the workers in the background, ahead of the first page; otherwise each starts when it is needed."""
        if self.workers:
            self.processes.start()

    def close(self) -> None:
        """Stop the workers; idempotent."""
        self.processes.close()

    async def convert(
        self, body: bytes, url: str, encoding: str | None, *, with_listings: bool = True
    ) -> Page:
        """Return the converted page; without `with_listings`, one that only lists others has no Markdown and links."""
        self._left_in_place -= 1
        here = not self.workers or (self._left_in_place >= 0 and not self.processes.has_started)
        arguments = body, url, encoding, self.converter, self.generators, with_listings
        return await self._run(serving.convert, arguments, in_place=here and len(body) <= MAX_HTML_IN_PLACE)

    async def read_metadata(self, body: bytes, url: str, encoding: str | None) -> Page:
        """Return links and metadata of an HTML page; where that is all a crawl needs, it never starts a process."""
        unused = not self.workers or not self.processes.has_started
        return await self._run(
            serving.read_metadata, (body, url, encoding), in_place=unused and len(body) <= MAX_HTML_IN_PLACE
        )

    async def read_markdown(self, text: str) -> Draft:
        """Return the `Draft` of a Markdown body, mostly read in place: sending it to a worker costs more."""
        in_place = len(text) <= MAX_READ_IN_PLACE
        (read,) = await self._run(serving.read_texts, ((text,),), in_place=in_place)
        return read

    async def read_texts(self, texts: Sequence[str]) -> list[Draft | ConversionError]:
        """Return the `Draft` of each Markdown body, as `read_each` does: sending each costs more than reading it."""
        return await self.read_each(serving.read_texts, texts, size=len)

    async def read_each(
        self, read: Callable[[Sequence[S]], list[T]], given: Sequence[S], *, size: Callable[[S], int]
    ) -> list[T | ConversionError]:
        """Return what `read` makes of each value, or its error, in one call; `size` returns the characters of one."""
        in_place = not self.workers and sum(map(size, given)) <= MAX_HTML_IN_PLACE
        try:
            return list(await self._run(read, (given,), in_place=in_place))
        except ConversionError as error:
            if len(given) == 1:
                return [error]
        return [result for one in given for result in await self.read_each(read, [one], size=size)]

    def reader_of(self, mime_type: str, url: str, body: bytes, *, listed: bool) -> str | None:
        """Return the path of the class that converts such a response: the user's, else the built-in one, else None."""
        reader = self.handlers.get(mime_type) or self.formats.reader(mime_type, url, body, listed=listed)
        return self._openapi if reader == OPENAPI_HANDLER else reader

    async def read_with(
        self, reader: str, body: bytes, url: str, mime_type: str, encoding: str | None
    ) -> Page:
        """Return a body as converted by the class at the path `reader`; raises `ConversionError`."""
        return await self._run(serving.handle, (reader, body, url, mime_type, encoding))

    async def read_api(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        """Return the page of an OpenAPI file, converted by the user's handler for its media type, or of DocC's data."""
        is_docc = b'"schemaVersion"' in body and "/data/documentation" in url
        path = DOCC_HANDLER if is_docc else self.handlers.get(mime_type, OPENAPI_HANDLER)
        return await self.read_with(path, body, url, mime_type, encoding)

    async def _run(
        self, function: Callable[..., T], arguments: tuple[object, ...], *, in_place: bool = False
    ) -> T:
        is_main = threading.current_thread() is threading.main_thread()
        if in_place and is_main and hasattr(signal, "setitimer"):  # else nothing could interrupt it
            with suppress(_TooLongError):
                return _interrupted(function, arguments, IN_PLACE_SECS)
        timeout_secs = self.timeout_secs
        try:
            return await self.processes.run(function, arguments, timeout_secs)
        except TimeoutError:
            raise ConversionError(f"conversion took longer than {timeout_secs:g} s") from None
        except Exception as error:  # also arguments that cannot be pickled
            raise serving.failure(error) from None


class _TooLongError(BaseException):
    """A call exceeded its time. Not an `Exception`: conversion catches those to fall back to another engine."""


def _interrupted(function: Callable[..., T], arguments: Sequence[object], secs: float) -> T:
    """Call a function; raises `ConversionError`, or `_TooLongError` after `secs` seconds of CPU time."""
    is_running = True

    def interrupt(*_: object) -> None:
        if is_running:
            raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, interrupt)
    # repeated: an exception raised in a callback of C code is lost
    signal.setitimer(signal.ITIMER_VIRTUAL, secs, secs)
    try:
        try:
            return function(*arguments)
        except Exception as error:
            raise serving.failure(error) from None
        finally:
            is_running = False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
