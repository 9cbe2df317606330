"""PDF as Markdown: its text page by page, headings from its outline (extra `pdf`: pypdf)."""

from __future__ import annotations

import io
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

MAX_PAGES = 2_000
MAX_CHARS = 10_000_000
"""Maximum number of characters of text of one file."""

_BROKEN_WORD = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_SPACE = re.compile(r"[ \t]{2,}")
_HASHES = re.compile(r"(?m)^#{1,6}(?= )")
"""What begins a line of text that would be read as a heading."""
_NUMBER = re.compile(r"(?:\d{1,4}|[ivxl]{1,8})\Z")
"""A line that is the number of its page."""
_LEADER = re.compile(r"(?: ?\.){4,}+ *")
"""The dots of a table of contents, between an entry and its page."""
_LABEL = re.compile(
    r"(?:chapter|section|part|appendix)? ?[\dA-Z]{0,3}(?:\.\d{1,3}){0,5}[.:]? ", re.IGNORECASE
)
"""What a heading of the text has before its name in the outline, or the name before that of the text."""


class PdfError(ValueError):
    """The file cannot be read."""


class PdfHandler:
    """Converts a PDF to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; raises `PdfError`."""
        import logging  # noqa: PLC0415

        from pypdf import PdfReader  # noqa: PLC0415  # the extra
        from pypdf.errors import PyPdfError  # noqa: PLC0415

        logging.getLogger("pypdf").setLevel(logging.ERROR)  # it logs every defect of a file
        try:
            reader = PdfReader(io.BytesIO(body))
            if reader.is_encrypted and not reader.decrypt(""):
                raise PdfError("it is encrypted")
            return "\n\n".join(_parts(reader)) + "\n"
        except PyPdfError as error:
            raise PdfError(f"it cannot be read: {error}") from None


def _parts(reader: Any) -> Iterator[str]:
    title = str((reader.metadata.title if reader.metadata else None) or "").strip()
    if title:
        yield f"# {' '.join(title.split())}"
    headings = _headings(reader)
    chars = 0
    for number, page in enumerate(reader.pages):
        if number >= MAX_PAGES or chars > MAX_CHARS:
            yield f"… ({len(reader.pages) - number} more pages)"
            return
        lines = _tidy(page.extract_text())
        chars += sum(map(len, lines))
        yield from _with_headings(lines, headings[number])


def _headings(reader: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the entries of the outline by page number: lists of (level, from 1; text)."""
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)

    def walk(entries: Any, level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                if level < 6:
                    walk(entry, level + 1)
                continue
            number = reader.get_destination_page_number(entry)
            title = " ".join(str(entry.title or "").split())
            if number is not None and number >= 0 and title:
                found[number].append((level, title))

    walk(reader.outline, 1)
    return found


def _with_headings(lines: list[str], headings: list[tuple[int, str]]) -> Iterator[str]:
    """Yield the blocks of a page: a heading replaces the line with its text, or is inserted before the next block."""
    places: dict[str, deque[int]] = defaultdict(deque)
    for number, line in enumerate(lines if headings else ()):
        places[_name(line)].append(number)
    begun = 0
    for level, heading in headings:
        found = places[_name(heading)]
        while found and found[0] < begun:
            found.popleft()
        at = found[0] if found else None
        if at is not None:
            yield from _block(lines[begun:at])
            begun = at + 1
        yield f"{'#' * min(level + 1, 6)} {heading if at is None else lines[at]}"
    yield from _block(lines[begun:])


def _block(lines: list[str]) -> Iterator[str]:
    if text := "\n".join(lines).strip():
        yield _HASHES.sub(r"\\\g<0>", text)


def _name(heading: str) -> str:
    """Return a heading without its number and case-folded, to compare the outline with the text of the page."""
    found = _LABEL.match(heading)
    name = heading[found.end() :] if found else heading
    return (name if len(name) > 2 else heading).casefold()


def _tidy(text: str) -> list[str]:
    """Return the lines of a page without page number: hyphenated words joined, dot leaders shortened."""
    text = _BROKEN_WORD.sub("", text.replace("\0", ""))
    lines = [_LEADER.sub(" … ", _SPACE.sub(" ", line)).strip() for line in text.strip().splitlines()]
    if len(lines) > 1 and _NUMBER.match(lines[-1]):
        del lines[-1]
    if len(lines) > 1 and _NUMBER.match(lines[0]):
        del lines[0]
    return lines
