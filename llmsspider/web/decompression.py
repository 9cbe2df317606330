"""Content encodings (RFC 9110, section 8.4.1) undone, whole or not at all, and how far a small body may grow."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator

import brotli

from llmsspider.errors import TooLargePageError

# How much larger than what was received a page may become: a small page cannot fill the machine.

MAX_GROWTH = 16
"""Characters that one byte of a page may become, where `LLMS_MAX_GROWTH` says nothing else."""
SMALL_CHARS = 1_000_000
"""Characters that any page may have."""


class Growth:
    """Counts the characters that a page of `size` bytes becomes.

    `check` and `count` raise `TooLargePageError` beyond `factor` for each byte and `SMALL_CHARS` more.
    """

    def __init__(self, size: int, factor: int = MAX_GROWTH):
        self.size = size
        self.most = factor * size + SMALL_CHARS
        self._counted = 0

    def check(self, chars: int) -> None:
        """Raise for a part of the page that is as long as that."""
        if chars > self.most:
            raise TooLargePageError(
                f"too-large: {self.size:,} bytes became more than {self.most:,} characters (LLMS_MAX_GROWTH)"
            )

    def count(self, chars: int) -> None:
        """Add to what was counted before."""
        self._counted += chars
        if self._counted > self.most:
            self.check(self._counted)

    def counted(self, join: Callable[[str], str]) -> Callable[[str], str]:
        """Return `join` with the length of each URL counted: a long base makes many short hrefs long."""

        def joined(href: str) -> str:
            url = join(href)
            self.count(len(url))
            return url

        return joined


# Content encodings (RFC 9110, section 8.4.1) undone, whole or not at all.
# Scrapy takes what it can get of a gzip, deflate, br or zstd stream that breaks off; half a page would be stored as
# the page, with the validators of the whole one. Here a stream has to reach its end, and its checksum has to be
# right. A body that is labelled but was never compressed is taken as it is.

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 64 * 1024
"""Bytes that are decompressed at a time."""

MAX_MEMBERS = 10_000
"""Members of a gzip body, or frames of a zstd body, that are read; a body of 32 MB in members of 4 KB has fewer."""

MAX_ENCODINGS = 4
"""Encodings one upon the other that are undone."""


class BrokenEncodingError(ValueError):
    """The stream is truncated or damaged; the message says which."""


class BodyTooLargeError(ValueError):
    """The body is larger than was allowed; the message says how much."""


def decompress(body: bytes, encoding: str, max_size: int = 0) -> bytes:
    """Return the body without `encoding`, one of `DECODERS`.

    Args:
        body: as it came.
        encoding: lower-case name.
        max_size: bytes that the result may have, 0 for any number.

    Raises:
        BrokenEncodingError: the stream has no end or is damaged.
        TooLargeError: the result is larger than `max_size`.
    """
    if not body:
        return body
    try:
        return _bounded(DECODERS[encoding](body), max_size)
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError, BrokenEncodingError) as error:
        if _is_plain(body):
            return body
        raise BrokenEncodingError(f"the {encoding} body is damaged or breaks off ({error})") from None


def _bounded(chunks: Iterable[bytes], max_size: int) -> bytes:
    whole = bytearray()
    for chunk in chunks:
        whole += chunk
        if max_size and len(whole) > max_size:
            raise BodyTooLargeError(f"larger than {max_size} bytes when decompressed")
    return bytes(whole)


def _is_plain(body: bytes) -> bool:
    """Return whether a body is text; compressed data is no valid UTF-8 for long."""
    try:
        return "\0" not in body.decode("utf-8")
    except UnicodeDecodeError:
        return False


class _Source:
    """Compressed bytes, taken a chunk at a time; what one member did not need is put back for the next.

    Raises:
        TooLargeError: there are more members than `MAX_MEMBERS`.
    """

    def __init__(self, body: bytes):
        self._body = body
        self._position = 0
        self._members = 0

    def take(self) -> bytes:
        chunk = self._body[self._position : self._position + CHUNK]
        self._position += len(chunk)
        return chunk

    def put_back(self, unused: bytes) -> None:
        self._position -= len(unused)

    def starts_with(self, mark: bytes) -> bool:
        return self._body.startswith(mark, self._position)

    @property
    def is_empty(self) -> bool:
        return self._position >= len(self._body)

    @property
    def is_padding(self) -> bool:
        return not self._body[self._position :].strip(b"\0")

    def begin_member(self) -> None:
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise BodyTooLargeError(f"made of more than {MAX_MEMBERS} compressed members")


def _gzip(body: bytes) -> Iterator[bytes]:
    source = _Source(body)
    while source.starts_with(b"\x1f\x8b"):  # members follow each other, padding may follow the last
        source.begin_member()
        stream = zlib.decompressobj(wbits=31)
        yield from _zlib_stream(stream, source)
        source.put_back(stream.unused_data)
    if not source.is_padding:
        raise BrokenEncodingError("no gzip")


def _deflate(body: bytes) -> Iterator[bytes]:
    try:
        zlib.decompressobj().decompress(body[:CHUNK], 1)
    except zlib.error:  # some servers send the stream without its zlib frame
        yield from _zlib_stream(zlib.decompressobj(wbits=-15), _Source(body))
        return
    yield from _zlib_stream(zlib.decompressobj(), _Source(body))


def _zlib_stream(stream: zlib._Decompress, source: _Source) -> Iterator[bytes]:
    data = b""
    while not stream.eof:
        data = data or source.take()
        chunk = stream.decompress(data, CHUNK)
        if not chunk and not data and not stream.eof:
            raise BrokenEncodingError("no end")
        data = stream.unconsumed_tail
        yield chunk


def _br(body: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    chunk = stream.process(body, output_buffer_limit=CHUNK)
    while chunk or not stream.is_finished():
        if not chunk:
            raise BrokenEncodingError("no end")
        yield chunk
        chunk = b"" if stream.is_finished() else stream.process(b"", output_buffer_limit=CHUNK)


def _zstd(body: bytes) -> Iterator[bytes]:
    source = _Source(body)
    while not source.is_empty:
        source.begin_member()
        stream = zstd.ZstdDecompressor()
        while not stream.eof:
            data = source.take() if stream.needs_input else b""
            chunk = stream.decompress(data, CHUNK)
            if not chunk and not data and stream.needs_input and not stream.eof:
                raise BrokenEncodingError("no end")
            yield chunk
        source.put_back(stream.unused_data)


DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _br,
    "zstd": _zstd,
}
"""What can be undone, by its name in `Content-Encoding`."""
