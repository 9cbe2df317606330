"""The conversion pool: converts pages in worker processes, so that a crash or a hang fails one page
only.

The interface is `(body, url, encoding) -> Page`. The crawling process parses no HTML pages, and
only short Markdown. With zero workers it converts pages itself, as long as they are short and fast
to convert; others go to a worker process, which can be killed.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from llmsspider.content.formats import Formats
from llmsspider.errors import ConversionError
from llmsspider.items import Digest, Link, Page, PageMeta
from llmsspider.web.loading import find

if TYPE_CHECKING:
    from llmsspider.content.conversion.processes import ProcessPool
    from llmsspider.content.markdown import Draft

S = TypeVar("S")
T = TypeVar("T")

MAX_WORKERS = 4
"""Upper bound of the automatic number of workers; a crawl is rarely faster with more."""

MAX_HTML_IN_PLACE = 256 * 1024
"""Length in bytes up to which HTML is read here: with zero workers, and the first pages while none
has been needed.
"""

FEW_IN_PLACE = 8
"""Number of pages that are converted here before a process is started for more; to start some takes
0.4 s of CPU.
"""

MAX_READ_IN_PLACE = 32 * 1024
"""Characters up to which Markdown is read here: 1 to 3 ms.

The worst that was found, all YAML, takes 0.7 s.
"""

DOCC_HANDLER = "llmsspider.content.formats.documents.DoccHandler"
OPENAPI_HANDLER = "llmsspider.content.openapi.OpenApiHandler"
OPENAPI_HANDLERS = {
    "file": OPENAPI_HANDLER,
    "tag": "llmsspider.content.openapi.OpenApiByTag",
    "operation": "llmsspider.content.openapi.OpenApiByOperation",
}
"""Paths of the handlers of OpenAPI files, by what is one document."""

IN_PLACE_SECS = 2.0
"""CPU time that a page may take here; one that takes longer is left to a worker, with the time
limit of pages.
"""


def automatic_workers() -> int:
    """Return the default number of worker processes: 0 on a single core, else one per core, at most
    `MAX_WORKERS`.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    )
    return min(cores, MAX_WORKERS) if cores > 1 else 0


class ConversionPool:
    """Converts pages in `workers` processes; with 0 workers, short pages are converted in the
    crawling process.

    One is still started for pages that cannot be converted in place, and `handlers` (paths of the
    user's classes that convert other responses, by media type) always run in one, so that the time
    limit for a page, `timeout_secs`, applies. `converter` names the HTML to Markdown engine,
    `generators` are paths of the user's rules for generators, `formats` (`LLMS_FORMATS`) says which
    others are converted, `openapi` how an OpenAPI file is split into documents. `keep` and `drop`
    are selectors of what is kept and dropped of HTML pages.
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
        keep: tuple[str, ...] = (),
        drop: tuple[str, ...] = (),
    ):
        self.workers = workers
        self.formats = formats or Formats()
        self._openapi = OPENAPI_HANDLERS[self.formats.openapi]
        self.timeout_secs = timeout_secs
        self.converter = converter
        self.handlers = handlers or {}
        self.generators = generators
        self._keep = keep
        self._drop = drop
        self._matched: Counter[str] = Counter()
        self._has_converted = False
        self._left_in_place = FEW_IN_PLACE

    @cached_property
    def processes(self) -> ProcessPool:
        """The worker processes, which many a crawl does not need."""
        from llmsspider.content.conversion.processes import ProcessPool  # noqa: PLC0415

        return ProcessPool(
            max(self.workers, 1), ("llmsspider.content.conversion.warm",), partial(serve, prepare)
        )

    @property
    def has_started(self) -> bool:
        """True when there are processes, or will be soon."""
        return "processes" in self.__dict__ and self.processes.has_started

    def open(self) -> None:
        """Start the workers in the background, ahead of the first page; otherwise each starts when
        it is needed.
        """
        if self.workers:
            self.processes.start()

    def close(self) -> None:
        """Stop the workers; idempotent."""
        if "processes" in self.__dict__:
            self.processes.close()

    async def convert(
        self, body: bytes, url: str, encoding: str | None, *, with_listings: bool = True
    ) -> Page:
        """Return the converted page; without `with_listings`, one that only lists others has no
        Markdown and links.
        """
        self._left_in_place -= 1
        here = not self.workers or (self._left_in_place >= 0 and not self.has_started)
        arguments = (
            body,
            url,
            encoding,
            self.converter,
            self.generators,
            with_listings,
            self._keep,
            self._drop,
        )
        in_place = here and len(body) <= MAX_HTML_IN_PLACE
        page = await self._run(convert, arguments, in_place=in_place)
        self._matched.update(page.matched)
        self._has_converted = True
        return page

    @property
    def unmatched(self) -> list[str]:
        """The selectors that matched nothing on any page so far; none before the first page."""
        given = [*self._keep, *self._drop] if self._has_converted else []
        return [css for css in given if not self._matched[css]]

    @property
    def number_matched(self) -> int:
        """How many elements the selectors matched so far."""
        return self._matched.total()

    async def read_metadata(self, body: bytes, url: str, encoding: str | None) -> Page:
        """Return links and metadata of an HTML page; where that is all a crawl needs, it never
        starts a process.
        """
        unused = not self.workers or not self.has_started
        return await self._run(
            read_metadata, (body, url, encoding), in_place=unused and len(body) <= MAX_HTML_IN_PLACE
        )

    async def read_markdown(self, text: str) -> Draft:
        """Return the `Draft` of a Markdown body, mostly read in place: sending it to a worker costs
        more.
        """
        in_place = len(text) <= MAX_READ_IN_PLACE
        (read,) = await self._run(read_texts, ((text,),), in_place=in_place)
        return read

    async def read_texts(self, texts: Sequence[str]) -> list[Draft | ConversionError]:
        """Return the `Draft` of each Markdown body, as `read_each` does: sending each costs more
        than reading it.
        """
        return await self.read_each(read_texts, texts, size=len)

    async def read_each(
        self,
        read: Callable[[Sequence[S]], list[T]],
        given: Sequence[S],
        *,
        size: Callable[[S], int],
    ) -> list[T | ConversionError]:
        """Return what `read` makes of each value, or its error, in one call; `size` returns the
        characters of one.
        """
        in_place = not self.workers and sum(map(size, given)) <= MAX_HTML_IN_PLACE
        try:
            return list(await self._run(read, (given,), in_place=in_place))
        except ConversionError as error:
            if len(given) == 1:
                return [error]
        return [result for one in given for result in await self.read_each(read, [one], size=size)]

    def reader_of(self, mime_type: str, url: str, body: bytes, *, listed: bool) -> str | None:
        """Return the path of the class that converts such a response: the user's, else the built-in
        one, else None.
        """
        reader = self.handlers.get(mime_type) or self.formats.reader(
            mime_type, url, body, listed=listed
        )
        return self._openapi if reader == OPENAPI_HANDLER else reader

    async def read_with(
        self, reader: str, body: bytes, url: str, mime_type: str, encoding: str | None
    ) -> Page:
        """Return a body as converted by the class at the path `reader`; raises `ConversionError`."""
        return await self._run(handle, (reader, body, url, mime_type, encoding))

    async def read_api(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        """Return the page of an OpenAPI file, converted by the user's handler for its media type,
        or of DocC's data.
        """
        is_docc = b'"schemaVersion"' in body and "/data/documentation" in url
        path = DOCC_HANDLER if is_docc else self.handlers.get(mime_type, OPENAPI_HANDLER)
        return await self.read_with(path, body, url, mime_type, encoding)

    async def _run(
        self, function: Callable[..., T], arguments: tuple[object, ...], *, in_place: bool = False
    ) -> T:
        is_main = threading.current_thread() is threading.main_thread()
        if in_place and is_main and sys.platform != "win32":  # else nothing could interrupt it
            with suppress(_TooLongError):
                return _interrupted(function, arguments, IN_PLACE_SECS)
        timeout_secs = self.timeout_secs
        try:
            return await self.processes.run(function, arguments, timeout_secs)
        except TimeoutError:
            raise ConversionError(f"conversion took longer than {timeout_secs:g} s") from None
        except Exception as error:  # also arguments that cannot be pickled
            raise ConversionError.of(error) from None


class _TooLongError(BaseException):
    """A call exceeded its time. Not an `Exception`: conversion catches those to fall back to
    another engine.
    """


def _interrupted(function: Callable[..., T], arguments: Sequence[object], secs: float) -> T:
    """Call a function; raises `ConversionError`, or `_TooLongError` after `secs` seconds of CPU
    time.
    """
    if sys.platform == "win32":  # it has no such timer: workers keep the time
        return function(*arguments)
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
            raise ConversionError.of(error) from None
        finally:
            is_running = False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# What is called, in a worker process or here. What it needs is imported then: a crawl may read few
# pages.


def convert(  # noqa: PLR0917 - the argument order of the call sent to a worker
    body: bytes,
    url: str,
    encoding: str | None,
    converter: str,
    generators: tuple[str, ...],
    with_listings: bool,
    keep: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
) -> Page:
    """Return an HTML page as converted by the engine `converter`, and its `digest`; see
    `extraction.convert`.
    """
    from llmsspider.content import extraction  # noqa: PLC0415
    from llmsspider.content.extraction.parts import Parts  # noqa: PLC0415
    from llmsspider.content.markdown.commonmark import code_languages  # noqa: PLC0415

    page = extraction.convert(
        body,
        url,
        encoding,
        converter,
        generators=generators,
        with_listings=with_listings,
        parts=Parts.of(keep, drop) if keep or drop else None,
    )
    page.digest = Digest.of(page.markdown, code_languages(page.markdown)) if page.markdown else None
    return page


def read_metadata(body: bytes, url: str, encoding: str | None) -> Page:
    """Return links and metadata of an HTML page."""
    from llmsspider.content import extraction  # noqa: PLC0415

    return extraction.read_metadata(body, url, encoding)


def read_texts(texts: Sequence[str]) -> list[Draft]:
    """Return the `Draft` of each Markdown body."""
    from llmsspider.content.markdown import draft  # noqa: PLC0415

    return [draft(text) for text in texts]


_handler = cache(lambda path: find(path)())  # type: ignore[operator]


def handle(path: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
    """Return a body as converted by the class at `path`; raises `ConversionError`."""
    from llmsspider.content import markdown  # noqa: PLC0415

    try:
        made = _handler(path).read(body, url, mime_type, encoding)
        return markdown.read(made, url) if isinstance(made, str) else _whole(made)
    except Exception as error:  # whatever the user's class raises
        raise ConversionError(f"handler {path}: {type(error).__name__}: {error}") from None


def _whole(page: Page) -> Page:
    """Validate and normalize the page that a handler returned; raises `TypeError` for any other
    type.
    """
    if not isinstance(page, Page) or not isinstance(page.meta, PageMeta):
        raise TypeError(f"it returned {type(page).__name__}, not Markdown or a Page")
    from llmsspider.content.markdown.commonmark import with_line_feeds  # noqa: PLC0415

    text = with_line_feeds(page.markdown).strip("\n")
    return Page(
        markdown=f"{text}\n" if text.strip() else "",
        links=[Link(str(link.text), str(link.url)) for link in page.links],
        follow=[str(url) for url in page.follow],
        meta=page.meta,
        converter=page.converter,
        parts=[(str(after), _whole(part)) for after, part in page.parts],
    )


def prepare() -> None:
    """Import what calls need, without a look for cyclic garbage, and have later looks be rare:
    pages leave little.
    """
    gc.disable()
    convert(b"<p>x</p>", "http://localhost/", None, "native", (), True)
    read_texts(("x",))
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


# What a worker process runs: the calls it answers, one at a time, until its socket is closed.

_LENGTH = struct.Struct("!Q")


def serve(prepare: Callable[[], object], stream: socket.socket) -> None:
    """Answer calls until the other end of the stream is closed."""
    # the crawling process handles Ctrl-C and stops its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stream.setblocking(True)
    prepare()
    with suppress(ConnectionError), stream, stream.makefile("rb") as calls:
        stream.sendall(b"+")
        while len(head := calls.read(_LENGTH.size)) == _LENGTH.size:
            stream.sendall(_answer(calls.read(_LENGTH.unpack(head)[0])))


def _answer(call: bytes) -> bytes:
    try:
        function, arguments, timeout_secs = pickle.loads(call)  # noqa: S301  # written by `Worker.call`
        # it ends this process in case the parent, which enforces the timeout, has died
        if sys.platform != "win32":
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 2 * timeout_secs)
        return _message(function(*arguments))
    except Exception as error:  # also a result that cannot be pickled
        return _message(ConversionError(str(ConversionError.of(error))))
    finally:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)


def _message(value: object) -> bytes:
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data
