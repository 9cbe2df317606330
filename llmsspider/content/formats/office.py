"""PDF, Word, PowerPoint, Excel and EPUB as Markdown, by libraries of the extra `documents`.

pdf-oxide reads PDF, since it finds tables; mammoth reads Word, since it finds lists, and what it
writes is converted as a page is; kreuzberg reads the others (docs/how-to/handlers.md has the
comparison).
"""

import io
import zipfile

from lxml import html

from llmsspider.content.extraction import convert
from llmsspider.content.formats import FORMATS
from llmsspider.content.markdown import read
from llmsspider.items import Page
from llmsspider.web.foreign import UnreadableError

MAX_UNPACKED = 512 * 1024 * 1024
"""Bytes that the parts of an Office file or EPUB may have together."""
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"


class PdfHandler:
    """Converts a PDF: text in its order of reading, headings by their size, tables, lists."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; raises `UnreadableError`."""
        from pdf_oxide import PdfDocument, disable_logging  # noqa: PLC0415  # the extra

        disable_logging()
        try:
            document = PdfDocument.from_bytes(body)
            text = str(document.to_markdown_all()).replace("** **", " ")
        except (OSError, ValueError, RuntimeError) as error:
            raise UnreadableError(_first_line(error)) from None
        if not text.strip() and document.page_count():
            raise UnreadableError("it holds no text: it is encrypted, or pictures of pages")
        return text


class WordHandler:
    """Converts a Word document (.docx) by way of HTML."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        """Return the page; raises `UnreadableError`."""
        import mammoth  # noqa: PLC0415  # the extra

        _check_size(body)
        pictures = mammoth.images.img_element(lambda _picture: {"src": ""})
        try:
            made = mammoth.convert_to_html(
                io.BytesIO(body), style_map=_STYLES, convert_image=pictures
            )
        except (KeyError, ValueError, OSError) as error:
            raise UnreadableError(_first_line(error)) from None
        return convert(_with_heads(made.value), url, "utf-8")


class OfficeHandler:
    """Converts PowerPoint, Excel and EPUB: slides, sheets and chapters below their headings."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        """Return the page; raises `UnreadableError`."""
        from kreuzberg import ExtractionConfig, KreuzbergError, extract_bytes_sync  # noqa: PLC0415

        names = _check_size(body)
        kind = next((kind for part, kind in _TYPES.items() if part in names), mime_type)
        config = ExtractionConfig(output_format="markdown", use_cache=False)
        try:
            made = extract_bytes_sync(body, kind, config)
        except KreuzbergError as error:
            raise UnreadableError(_first_line(error)) from None
        page = read(made.content, url)
        page.meta.title = made.metadata.get("title") or page.meta.title
        page.meta.language = made.metadata.get("language")
        return page


_TYPES = {
    "ppt/presentation.xml": FORMATS["powerpoint"].types[0],
    "xl/workbook.xml": FORMATS["excel"].types[0],
    "META-INF/container.xml": FORMATS["epub"].types[0],
}
"""The media type of a file by a part that it has: servers often send another."""


def _check_size(body: bytes) -> frozenset[str]:
    """Return the names of the parts of a file; raises `UnreadableError` where they are too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as parts:
            infos = parts.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise UnreadableError(_first_line(error)) from None
    if sum(info.file_size for info in infos) > MAX_UNPACKED:
        raise UnreadableError(f"its parts are larger than {MAX_UNPACKED >> 20} MB")
    return frozenset(info.filename for info in infos)


def _with_heads(fragment: str) -> bytes:
    """Return a page with a fragment of HTML, the first row of each table its header."""
    content = html.fragment_fromstring(fragment, create_parent="main")
    for table in content.iter("table"):
        row = next(table.iter("tr"), None)
        for cell in row if row is not None and table.find(".//th") is None else ():
            cell.tag = "th"
    page: bytes = html.tostring(content, encoding="utf-8")
    return b"<html><body>" + page + b"</body></html>"


def _first_line(error: Exception) -> str:
    return f"it cannot be read: {(str(error).splitlines() or [type(error).__name__])[0]}"
