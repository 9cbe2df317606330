"""What a worker process runs: the calls it answers, one at a time, until its socket is closed.

What a call needs is imported when it is made: the crawling process imports this module, too, and reads few pages. The
other end is `processes`.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import signal
import socket
import struct
from typing import TYPE_CHECKING

from llmsspider.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmsspider.content.markdown import Draft
    from llmsspider.items import Page

LENGTH = struct.Struct("!Q")
"""Precedes each message: its length in bytes."""


def convert(  # noqa: PLR0917 - the argument order of the call sent to a worker
    body: bytes,
    url: str,
    encoding: str | None,
    converter: str,
    generators: tuple[str, ...],
    with_listings: bool,
) -> Page:
    """Return an HTML page as converted by the engine `converter`, and its `digest`; see `extraction.convert`."""
    from llmsspider.content import extraction  # noqa: PLC0415
    from llmsspider.content.markdown.code_languages import code_languages  # noqa: PLC0415
    from llmsspider.items import Digest  # noqa: PLC0415

    page = extraction.convert(
        body, url, encoding, converter, generators=generators, with_listings=with_listings
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


def handle(path: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
    """Return a body as converted by the class at `path`; raises `ConversionError`."""
    from llmsspider.content.conversion import handlers  # noqa: PLC0415

    return handlers.handle(path, body, url, mime_type, encoding)


def prepare() -> None:
    """Import what calls need, without a look for cyclic garbage, and have later looks be rare: pages leave little."""
    gc.disable()
    convert(b"<p>x</p>", "http://localhost/", None, "native", (), True)
    read_texts(("x",))
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def message(value: object) -> bytes:
    """Return a value pickled, with its length before it."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def failure(error: Exception) -> ConversionError:
    """Return the error of a page whose conversion raised `error`."""
    if isinstance(error, ConversionError):
        return error
    if isinstance(error, MemoryError):
        return ConversionError("the conversion ran out of memory")
    return ConversionError(f"conversion failed: {type(error).__name__}: {error}")


def serve(stream: socket.socket, prepare: Callable[[], object]) -> None:
    """Answer calls until the other end of the stream is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawling process handles Ctrl-C and stops its workers
    stream.setblocking(True)
    prepare()
    with contextlib.suppress(ConnectionError), stream, stream.makefile("rb") as calls:
        stream.sendall(b"+")
        while len(head := calls.read(LENGTH.size)) == LENGTH.size:
            stream.sendall(_answer(calls.read(LENGTH.unpack(head)[0])))


def _answer(call: bytes) -> bytes:
    has_alarm = hasattr(signal, "setitimer")
    try:
        function, arguments, timeout_secs = pickle.loads(call)  # noqa: S301  # written by `Worker.call`
        if has_alarm:  # it ends this process in case the parent, which enforces the timeout, has died
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 2 * timeout_secs)
        return message(function(*arguments))
    except Exception as error:  # also a result that cannot be pickled
        return message(ConversionError(str(failure(error))))
    finally:
        if has_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
