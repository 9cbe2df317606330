"""Read a text file of any size and encoding line by line, as often as needed."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

MAX_LINE_CHARS = 64 * 1024
"""A longer line comes in parts."""

_CHUNK = 1024 * 1024
_TAG = re.compile(
    r"(</(?:doc|page|document)>|<(?:doc|page|document)"
    r"(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"]{0,4000}\"|'[^']{0,4000}'|[^\s\"'<>]+))?)*\s*>)",
    re.IGNORECASE,
)
_TAG_HINT = re.compile(r"</?(?:doc|page)", re.IGNORECASE)


class Lines:
    r"""The lines of a file or an open binary stream that can seek; iterating starts over each time.

    Line ends are `\\n`, whatever the file has; the last line and the parts of an overlong one have
    none. A page tag (`<doc …>`, `</page>`) that shares its line with text comes as a line of its own.
    """

    def __init__(self, source: BinaryIO | Path):
        self._source = source
        self._encoding = self._find_encoding()

    def __iter__(self) -> Iterator[str]:
        with self._open() as raw:
            text = io.TextIOWrapper(raw, self._encoding, errors="replace", newline=None)
            try:
                while line := text.readline(MAX_LINE_CHARS):
                    if _TAG_HINT.search(line):
                        yield from _apart(line)
                    else:
                        yield line
            finally:
                text.detach()

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        if isinstance(self._source, Path):
            with self._source.open("rb") as file:
                yield file
        else:
            self._source.seek(0)
            yield self._source

    def _find_encoding(self) -> str:
        """Return UTF-8 if the whole file is, else what its byte order mark says, else Windows-1252."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        with self._open() as raw:
            chunk = raw.read(_CHUNK)
            if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            try:
                while chunk:
                    decoder.decode(chunk)
                    chunk = raw.read(_CHUNK)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return "cp1252"
        return "utf-8-sig"


def _apart(line: str) -> Iterator[str]:
    """Split a line at its page tags; the parts joined are the line."""
    parts = [part for part in _TAG.split(line) if part]
    if len(parts) > 1 and parts[-1] == "\n":
        parts[-2:] = [parts[-2] + "\n"]
    yield from parts
