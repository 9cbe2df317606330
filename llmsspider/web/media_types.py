"""Which URLs and media types are documentation text, and the links of an HTTP answer (RFC 8288)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from llmsspider.web import url_gate
from llmsspider.web.url_gate import InvalidUrl

Kind = Literal["markdown", "html", "text", "binary"]

BINARY_EXTENSIONS = frozenset(
    " ".join(
        [
            # images and fonts
            "png jpg jpeg jpe gif webp avif svg svgz ico bmp tif tiff psd ai eps woff woff2 ttf otf eot",
            # sound and film
            "mp3 mp4 m4a m4v mov avi mkv webm ogg oga ogv wav flac aac wmv",
            # archives, packages and programs
            "zip gz tgz bz2 xz zst tar rar 7z jar war whl egg gem deb rpm dmg pkg msi exe apk iso bin so dll wasm",
            # office, books and data
            "pdf ps doc docx xls xlsx ppt pptx odt ods odp epub mobi azw azw3 rtf sqlite db parquet ipynb crate",
            # what a page loads
            "css js mjs cjs map inv rss atom webmanifest swf",
        ]
    ).split()
)
"""Extensions of files that are never a page of documentation."""

TEXT_EXTENSIONS = frozenset(
    "txt text rst rest adoc asciidoc json yaml yml toml xml csv tsv graphql proto".split()  # noqa: SIM905
)
"""Text formats that become documents only where an llms.txt lists them."""

MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown", "text/mdx"})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in (
        "json",
        "yaml",
        "x-yaml",
        "toml",
        "xml",
        "vnd.oai.openapi",
        "vnd.oai.openapi+json",
        "graphql",
    )
)


def extension(url: str) -> str:
    """Return the lower-case extension of the last path segment, without its dot; empty when it has none.

    >>> extension("https://e.com/a/Logo.PNG?v=1"), extension("https://e.com/v1.2/"), extension("https://e.com/a")
    ('png', '', '')
    """
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def skipped_extension(url: str, *, listed: bool) -> str | None:
    """Return the extension for which `url` is filtered, or None. Listed text formats are fetched."""
    ending = extension(url)
    if ending in BINARY_EXTENSIONS or (ending in TEXT_EXTENSIONS and not listed):
        return ending
    return None


def classify(mime_type: str | None, body: bytes, *, markdown_form: bool) -> Kind:
    """Return what a body is, by its media type and its first bytes.

    Args:
        mime_type: media type without parameters, lower-case, or None where the server sent none.
        body: the whole body or its first kilobyte.
        markdown_form: the URL requested was a Markdown form, so an unclear text is Markdown.
    """
    head = body[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"\0" in body[:1024]:  # HTML may be UTF-16, or hold a stray NUL
        is_page = mime_type in HTML_TYPES and _is_html(head.replace(b"\0", b""))
        return "html" if is_page else "binary"
    if mime_type in HTML_TYPES or _is_html(head):
        return "html" if _is_html(head) or not markdown_form else "markdown"
    if mime_type in MARKDOWN_TYPES:
        return "markdown"
    if mime_type is None or mime_type == "application/octet-stream":
        return "markdown" if markdown_form else ("binary" if mime_type else "html")
    if mime_type.startswith("text/"):
        return "markdown" if markdown_form else "text"
    return "text" if mime_type in TEXT_TYPES or mime_type.endswith(("+json", "+yaml", "+xml")) else "binary"


def _is_html(head: bytes) -> bool:
    start = head[:512].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<title")) or b"<html" in start


# Links that an HTTP answer carries in its `Link:` header (RFC 8288), read as its appendix B.2 has it.

MAX_HEADER_CHARS = 16_384
"""What is longer is cut: an answer needs a handful of links."""


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link: absolute URL or why it is none, lower-case relation types, lower-case media type or None."""

    url: str | InvalidUrl
    rel: frozenset[str]
    type: str | None


def parse(header: str, base: str) -> list[HeaderLink]:
    """Return the links of a `Link:` header, in order, without what cannot be parsed.

    `base` is the URL of the answer. Links with an `anchor` speak of another page (RFC 8288, 3.2) and
    are omitted too.

    >>> parse('</llms.txt>; rel=describedby; type="text/markdown"', "https://example.com/docs/")
    [HeaderLink(url='https://example.com/llms.txt', rel=frozenset({'describedby'}), type='text/markdown')]
    """
    found = []
    for target, parameters in _links(header[:MAX_HEADER_CHARS]):
        if parameters.get("anchor"):
            continue
        url = url_gate.parse(target, base)
        if url is None:
            continue
        media_type = parameters.get("type", "").partition(";")[0].strip().lower()
        rel = frozenset(parameters.get("rel", "").lower().split())
        found.append(HeaderLink(url, rel, media_type or None))
    return found


_LINK = re.compile(
    r"<([^<>]*+)>((?:[ \t]*+;[ \t]*+[^=;, \t]*+(?:[ \t]*+=[ \t]*+(?:\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|[^;,]*+))?+)*+)"
)
_PARAMETER = re.compile(r";[ \t]*+([^=;, \t]++)(?:[ \t]*+=[ \t]*+(?:\"((?:[^\"\\]|\\.)*+)|([^;,]*+)))?+")


def _links(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield target and parameters of each link; of a parameter that comes twice the first counts (B.2, 12 to 15)."""
    for target, given in _LINK.findall(header):
        parameters: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(given):
            parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain.strip())
        yield target.strip(), parameters
