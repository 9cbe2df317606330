"""What a worker process runs: the calls it answers, one at a time, until its socket is closed.

What a call needs is imported when it is made: the crawling process imports this module, too, and reads few pages. The
other end is `processes`.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import inspect
import pickle
import signal
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from mimetypes import MimeTypes
from typing import TYPE_CHECKING, Protocol

from llmsspider.errors import ArgumentsError, ConversionError
from llmsspider.items import Digest, Link, Page, PageMeta
from llmsspider.web.loading import OURS, find, path_of, source_of

if TYPE_CHECKING:
    from llmsspider.content.markdown import Draft

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
    """Validate and normalize the page that a handler returned; raises `TypeError` for any other type."""
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


# Content handlers: user classes that convert responses to Markdown, by media type (`LLMS_CONTENT_HANDLERS`).
# An exception or a timeout in one fails only the page it was converting.

_UNKNOWN_TO_PYTHON = {
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".xml": "application/xml",
    ".toml": "application/toml",
    ".ipynb": "application/x-ipynb+json",
    ".rst": "text/x-rst",
    ".adoc": "text/asciidoc",
}


class ContentHandler(Protocol):
    """Converts responses of one media type. Instantiated without arguments, once per process."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str | Page:
        """Return the Markdown of a response, or a `Page`. Any exception fails the page.

        Args:
            body: the response body, decompressed.
            url: the URL of the response; the base of relative links in the Markdown.
            mime_type: the media type without parameters, in lower case.
            encoding: the charset of the Content-Type header, or None.
        """
        ...


@dataclass(slots=True, frozen=True)
class Handlers:
    """The import paths of the handler classes, by media type."""

    paths: Mapping[str, str] = field(default_factory=dict)

    @property
    def extensions(self) -> frozenset[str]:
        """File extensions, without dot, of the media types that have a handler; such files are crawled as pages.

        >>> Handlers({"application/pdf": "mine.Pdf"}).extensions
        frozenset({'pdf'})
        """
        known = MimeTypes()  # Python's built-in table, not that of the operating system
        for ending, mime_type in _UNKNOWN_TO_PYTHON.items():
            known.add_type(mime_type, ending)
        endings = chain.from_iterable(map(known.guess_all_extensions, self.paths))
        return frozenset(ending.removeprefix(".") for ending in endings)

    @property
    def fingerprint(self) -> str:
        """A hash of the handlers' paths and of the source of their modules, but for our own; empty without handlers."""
        if not self.paths:
            return ""
        known = []
        for mime_type, path in sorted(self.paths.items()):
            source = ""
            with contextlib.suppress(ImportError, AttributeError, ValueError):  # `check_handlers` reports it
                source = "" if path.startswith(OURS) else source_of(find(path))
            known.append((mime_type, path, source))
        return "+" + hashlib.sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:8]


def check_handlers(given: Mapping[str, object]) -> Handlers:
    """Return the handlers that `LLMS_CONTENT_HANDLERS` names, without those that are None; raises `ArgumentsError`."""
    paths: dict[str, str] = {}
    problems: list[str] = []
    for mime_type, value in given.items():
        if value is None:
            continue
        try:
            if mime_type != mime_type.lower() or mime_type.count("/") != 1:
                raise ValueError("a media type such as application/json is needed")
            paths[mime_type] = path_of(value)
            found = find(paths[mime_type])
            if not isinstance(found, type) or not callable(getattr(found, "read", None)):
                raise TypeError("it is no class with a method `read`")
            inspect.signature(found).bind()
        except Exception as error:  # whatever the user's module raises
            said = f"the path of a handler class is accepted ({type(error).__name__}: {error})"
            problems.append(f"setting LLMS_CONTENT_HANDLERS[{mime_type!r}]={value!r}: {said}")
    if problems:
        raise ArgumentsError(problems)
    return Handlers(paths)
