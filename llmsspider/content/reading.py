"""A body of any format that is converted as a `Converted`: HTML, Markdown, text, notebooks,
documents.
"""

from __future__ import annotations

from collections.abc import Iterable

from llmsspider.content import markdown
from llmsspider.content.extraction import convert
from llmsspider.content.extraction.parts import Parts
from llmsspider.content.formats import FORMATS, format_of
from llmsspider.content.to_markdown import Converted
from llmsspider.errors import ConversionError
from llmsspider.web.encodings import decode
from llmsspider.web.loading import missing_extra
from llmsspider.web.page_forms import MARKDOWN_TYPES, classify


def read(
    body: bytes,
    url: str,
    mime_type: str | None,
    encoding: str | None,
    *,
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    name: str = "",
) -> Converted:
    """Return a body as Markdown.

    Args:
        body: the body, decompressed.
        url: its address, the base of its links; empty without one.
        mime_type: its media type in lower case, None where nothing says it.
        encoding: its charset, where an HTTP header says it.
        keep: CSS selectors of what of an HTML page is the content.
        drop: CSS selectors of what of it is left out.
        name: the name of the file, where that is not in `url`.

    Raises:
        ConversionError: it is of no format that is converted, or cannot be read.
    """
    parts = Parts.of(keep, drop)
    if mime_type is None and body.startswith(b"%PDF-"):
        mime_type = "application/pdf"
    if (found := format_of(mime_type, name or url, body)) is not None:
        return _document(found, body, url, mime_type or "", encoding)
    kind = classify(mime_type, body, markdown_form=mime_type in MARKDOWN_TYPES)
    if kind == "binary":
        raise ConversionError(f"{mime_type or 'binary data'} is of no format that is converted")
    text = decode(body, encoding)
    is_html = kind == "html" if mime_type else text.lstrip().startswith("<")
    if is_html:
        return Converted.of(convert(body, url, encoding, parts=parts), parts.unmatched)
    return Converted.of(markdown.read(text, url), parts.unmatched)


def _document(found: str, body: bytes, url: str, mime_type: str, encoding: str | None) -> Converted:
    from llmsspider.content.conversion import handle  # noqa: PLC0415  # pages do not need it

    extra = FORMATS[found].extra
    if extra is not None and (lack := missing_extra(extra)) is not None:
        raise ConversionError(f"{found}: {lack}")
    return Converted.of(handle(FORMATS[found].reader, body, url, mime_type, encoding))
