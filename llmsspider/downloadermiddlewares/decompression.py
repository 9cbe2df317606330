"""Compressed bodies (RFC 9110, section 8.4.1), whole or not at all.

Scrapy takes what it can get of a stream that breaks off; half a page would be stored as the page,
with the validators of the whole one. Here a stream has to reach its end, and its checksum has to be
right. A body that is labelled but was never compressed is taken as it is.
"""

import gzip
import sys
import zlib
from contextlib import suppress
from io import BytesIO

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_MEMBERS = 10_000
"""Members of a gzip body, or frames of a zstd body, that are read; a body of 32 MB in members of 4
KB has fewer.
"""

CHUNK = 256 * 1024  # bytes that are decompressed at a time

ENCODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
_MEMBER = {"gzip": b"\x1f\x8b\x08", "x-gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
"""How each member begins; other places of a body hold these bytes once in 16 MB."""


class BrokenEncodingError(ValueError):
    """The stream is truncated or damaged; the message says which."""


class BodyTooLargeError(ValueError):
    """The body is larger than was allowed; the message says how much."""


def decompress(body: bytes, encoding: str, max_size: int = 0) -> bytes:
    """Return the body without `encoding`, one of `ENCODINGS`; `max_size` is the most bytes of the
    result, 0 for any.

    Raises `BrokenEncodingError`, and `BodyTooLargeError`, also for more than `MAX_MEMBERS` members.
    """
    if not body:
        return body
    if encoding in _MEMBER and body.count(_MEMBER[encoding]) > MAX_MEMBERS:
        raise BodyTooLargeError(f"made of more than {MAX_MEMBERS} compressed members")
    try:
        whole = _decompressed(body, encoding, max_size + 1 if max_size else sys.maxsize)
    except (zlib.error, brotli.error, zstd.ZstdError, OSError, EOFError) as error:
        with suppress(UnicodeDecodeError):
            # plain text; compressed data is no valid UTF-8 for long
            if "\0" not in body.decode("utf-8"):
                return body
        raise BrokenEncodingError(
            f"the {encoding} body is damaged or breaks off ({error})"
        ) from None
    if max_size and len(whole) > max_size:
        raise BodyTooLargeError(f"larger than {max_size} bytes when decompressed")
    return whole


def _decompressed(body: bytes, encoding: str, most: int) -> bytes:
    """Return the first `most` bytes of the stream, or all; raises `EOFError` where it ends before."""
    if encoding in _MEMBER:
        file = (
            zstd.ZstdFile(BytesIO(body))
            if encoding == "zstd"
            else gzip.GzipFile(fileobj=BytesIO(body))
        )
        whole = bytearray()
        while len(whole) < most and (chunk := file.read(min(CHUNK, most - len(whole)))):
            whole += chunk
        return bytes(whole)
    if encoding == "br":
        stream = brotli.Decompressor()
        found: bytes = stream.process(body, output_buffer_limit=most)
        ended = stream.is_finished()
    else:
        try:
            zlib.decompressobj().decompress(body, 1)
            inflate = zlib.decompressobj()
        except zlib.error:  # some servers send the stream without its zlib frame
            inflate = zlib.decompressobj(wbits=-15)
        found = inflate.decompress(body, most)
        ended = inflate.eof
    if not ended and len(found) < most:
        raise EOFError("no end")
    return found
