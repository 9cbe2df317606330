"""Content encodings: whole or not at all."""

from __future__ import annotations

import gzip
import sys
import zlib

import brotli
import pytest

from llmsspider.downloadermiddlewares.decompression import (
    BodyTooLargeError,
    BrokenEncodingError,
    decompress,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = "".join(f"<p>Line {number} of the page, caf\u00e9.</p>\n" for number in range(5000)).encode()
RAW = zlib.compressobj(wbits=-15)
WHOLE = {
    "gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "br": brotli.compress(TEXT, quality=5),
    "zstd": zstd.compress(TEXT),
}
UNUSUAL = {
    "gzip in two members": ("gzip", gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])),
    "gzip with padding": ("gzip", gzip.compress(TEXT) + b"\0" * 512),
    "x-gzip": ("x-gzip", gzip.compress(TEXT)),
    "deflate without its frame": ("deflate", RAW.compress(TEXT) + RAW.flush()),
    "zstd in two frames": ("zstd", zstd.compress(TEXT[:1000]) + zstd.compress(TEXT[1000:])),
}


@pytest.mark.parametrize("encoding", WHOLE)
def test_a_whole_body_comes_back(encoding: str) -> None:
    assert decompress(WHOLE[encoding], encoding) == TEXT
    assert decompress(WHOLE[encoding], encoding, len(TEXT)) == TEXT


@pytest.mark.parametrize(("encoding", "body"), UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_bodies_come_back(encoding: str, body: bytes) -> None:
    assert decompress(body, encoding) == TEXT


@pytest.mark.parametrize("encoding", WHOLE)
def test_a_body_that_breaks_off_is_no_body(encoding: str) -> None:
    whole = WHOLE[encoding]
    for kept in (10, len(whole) // 2, len(whole) - 1):
        with pytest.raises(BrokenEncodingError):
            decompress(whole[:kept], encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_damaged_body_is_no_body(encoding: str) -> None:
    whole = WHOLE[encoding]
    for place in range(20, len(whole), len(whole) // 20):
        with pytest.raises(BrokenEncodingError):
            decompress(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :], encoding)


@pytest.mark.parametrize("encoding", WHOLE)
def test_a_label_on_plain_text_is_overlooked(encoding: str) -> None:
    assert decompress(TEXT, encoding) == TEXT
    assert decompress(b"", encoding) == b""


@pytest.mark.parametrize("encoding", WHOLE)
def test_the_size_is_bounded(encoding: str) -> None:
    with pytest.raises(BodyTooLargeError):
        decompress(WHOLE[encoding], encoding, len(TEXT) - 1)
