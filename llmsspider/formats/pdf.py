"""PDF as Markdown: its text page by page, headings from its outline (extra `pdf`: pypdf)."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

MAX_PAGES = 2_000
MAX_CHARS = 10_000_000
"""Characters that are taken of one file."""

_BROKEN_WORD = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_SPACE = re.compile(r"[ \t]{2,}")


class PdfError(ValueError):
    """The file cannot be read."""


class PdfHandler:
    """Makes the Markdown of a PDF."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; raises `PdfError`."""
        import logging  # noqa: PLC0415

        from pypdf import PdfReader  # noqa: PLC0415  # the extra
        from pypdf.errors import PyPdfError  # noqa: PLC0415

        logging.getLogger("pypdf").setLevel(logging.ERROR)  # it logs each oddity of a file
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
        text = _tidy(page.extract_text())
        for level, heading in headings[number]:
            yield f"{'#' * min(level + 1, 6)} {heading}"
        if text:
            chars += len(text)
            yield text


def _headings(reader: Any) -> dict[int, list[tuple[int, str]]]:
    """The entries of the outline by number of their page: level from 1, and text."""
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


def _tidy(text: str) -> str:
    """The text of a page: words that a line broke joined, lines of a paragraph one after the other."""
    text = _BROKEN_WORD.sub("", text.replace("\0", ""))
    return "\n".join(_SPACE.sub(" ", line).strip() for line in text.splitlines()).strip()
