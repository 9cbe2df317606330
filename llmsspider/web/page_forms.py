"""The forms of a page: what its URL and media type say of its text, and where its Markdown version
may lie.

A *form* maps a page's URL to that of its Markdown; a site uses one for each *shape* of URL
(docs/explanation/markdown-forms.md). The links of an HTTP answer (RFC 8288), which may name it, are
read here too.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from llmsspider.web.encodings import by_mark
from llmsspider.web.text import valid_text
from llmsspider.web.urls import InvalidUrl, identity, parse, without_fragment

Kind = Literal["markdown", "html", "text", "binary"]

_BINARY = (
    # images and fonts
    "png jpg jpeg jpe gif webp avif svg svgz ico bmp tif tiff psd ai eps woff woff2 ttf otf eot "
    # sound and film
    "mp3 mp4 m4a m4v mov avi mkv webm ogg oga ogv wav flac aac wmv "
    # archives, packages and programs
    "zip gz tgz bz2 xz zst tar rar 7z jar war whl egg gem deb rpm dmg pkg msi exe apk iso bin so"
    " dll wasm "
    # office, books and data
    "pdf ps doc docx xls xlsx ppt pptx odt ods odp epub mobi azw azw3 rtf sqlite db parquet ipynb"
    " crate "
    # what a page loads
    "css js mjs cjs map inv rss atom webmanifest swf"
)
BINARY_EXTENSIONS = frozenset(_BINARY.split())
"""Extensions of files that are never a page of documentation."""

MARKUP_TYPES = {
    "rst": "text/x-rst",
    "rest": "text/x-rst",
    "adoc": "text/asciidoc",
    "asciidoc": "text/asciidoc",
}
"""Media types of markup that stays text, by extension: many servers do not know them."""

TEXT_EXTENSIONS = frozenset(
    "txt text json yaml yml toml xml csv tsv graphql proto".split()  # noqa: SIM905
) | frozenset(MARKUP_TYPES)
"""Text formats that become documents only where an llms.txt lists them."""

MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown", "text/mdx"})
_FORM_ROUTE = re.compile(r"/llms\.mdx(/[^?#]*?)(?:/content\.md)?(?=[?#]|$)")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{64,}+={0,2}+\s*+")
_FRAMED = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.html(?:#.*)?")
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPE = re.compile(
    r"application/(?:json|(?:x-)?yaml|toml|xml|vnd\.oai\.openapi|graphql)|.*\+(?:json|yaml|xml)"
)


def extension(url: str) -> str:
    """Return the lower-case extension of the last path segment, without its dot; empty when it has
    none.

    >>> extension("https://e.com/a/Logo.PNG?v=1"), extension("https://e.com/v1.2/"), extension("https://e.com/a")
    ('png', '', '')
    """
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def shown_page(url: str) -> str:
    """Return the page that a frame set shows by its query (Javadoc), or that a route of Markdown is
    of (Fumadocs).

    >>> shown_page("https://e.com/api/index.html?pkg/Class.html"), shown_page("https://e.com/llms.mdx/docs/a")
    ('https://e.com/api/pkg/Class.html', 'https://e.com/docs/a')
    """
    url = _FORM_ROUTE.sub(r"\1", url)
    page, _, query = url.partition("?")
    return (
        urljoin(page, query) if page.endswith("/index.html") and _FRAMED.fullmatch(query) else url
    )


def skipped_extension(url: str, *, listed: bool) -> str | None:
    """Return the extension for which `url` is filtered, or None.

    Listed text formats are fetched.
    """
    ending = extension(url)
    is_skipped = ending in BINARY_EXTENSIONS or (ending in TEXT_EXTENSIONS and not listed)
    return ending if is_skipped else None


def bare_type(content_type: str | None) -> str:
    """Return the media type of a Content-Type header, without parameters and in lower case; empty
    where it names none.
    """
    return (content_type or "").partition(";")[0].strip().lower()


def media_type(content_type: str, url: str) -> str | None:
    """Return the media type of an answer, without parameters and in lower case; that of the
    extension for markup which the server does not know.
    """
    declared = bare_type(content_type) or None
    if declared in {None, "text/plain", "application/octet-stream"}:
        return MARKUP_TYPES.get(extension(url), declared)
    return declared


def classify(mime_type: str | None, body: bytes, *, markdown_form: bool) -> Kind:
    """Return what a body is, by its media type and first bytes; unclear text is Markdown for a
    `markdown_form`.
    """
    start, encoding = by_mark(body[:1024])
    if encoding is not None:
        start = start.decode(encoding, "replace").encode()
    head = start.lstrip()
    if _BASE64.fullmatch(head):  # Gitiles answers so to `?format=TEXT`
        return "binary"
    if b"\0" in head:  # HTML may be UTF-16 without a mark, or hold a stray NUL
        is_page = mime_type in HTML_TYPES and _is_html(head.replace(b"\0", b""))
        return "html" if is_page else "binary"
    if mime_type in HTML_TYPES or _is_html(head):
        return "html" if _is_html(head) or not markdown_form else "markdown"
    return _kind_of_text(mime_type, markdown_form=markdown_form)


def _kind_of_text(mime_type: str | None, *, markdown_form: bool) -> Kind:
    """Return what a body is that is no page, by its media type."""
    if mime_type in MARKDOWN_TYPES:
        return "markdown"
    if mime_type is None or mime_type == "application/octet-stream":
        return "markdown" if markdown_form else ("binary" if mime_type else "html")
    if mime_type.startswith("text/"):
        return "markdown" if markdown_form else "text"
    return "text" if TEXT_TYPE.fullmatch(mime_type) else "binary"


def _is_html(head: bytes) -> bool:
    start = head[:512].lower()
    return start.startswith((b"<!doctype html", b"<head", b"<body", b"<title")) or b"<html" in start


# Markdown versions of pages.

Shape = Literal["directory", "html", "bare"]
Form = Literal["page.html.md", "page.md", "page.mdx", "dir/index.html.md", "dir/index.md", "dir.md"]
PageForm = Literal["html", "bare", "directory"]
"""What a site calls the page of `x.md`: `x.html`, `x` or `x/`."""

FORMS: dict[Shape, tuple[Form, ...]] = {
    "html": ("page.html.md", "page.md"),
    "bare": ("page.md", "page.html.md", "dir/index.md", "page.mdx"),
    "directory": ("dir/index.md", "dir.md", "dir/index.html.md"),
}
"""The forms tried for each shape, the commonest first; `UNGUESSED` where files of it are named."""
UNGUESSED: Form = "page.mdx"

RELATED: dict[Form, Form] = {
    "page.html.md": "dir/index.html.md",
    "dir/index.html.md": "page.html.md",
    "page.md": "dir/index.md",
}
"""A form known for one shape says which to try first for another."""

MARKDOWN_ENDINGS = (".llms.md", ".md", ".mdx", ".markdown")
"""That of Quarto first, whose page is `x.html`."""


@lru_cache(1024)
def shape(url: str) -> Shape | None:
    """Return the shape of a page URL, or None when a Markdown twin makes no sense (it has another
    extension).

    >>> shape("https://e.com/a/"), shape("https://e.com/a.html"), shape("https://e.com/a"), shape("https://e.com/a.md")
    ('directory', 'html', 'bare', None)
    """
    path = urlsplit(url).path
    if path.endswith("/") or not path:
        return "directory"
    ending = extension(url)
    if ending in {"html", "htm"}:
        return "html"
    if ending in {"md", "mdx", "markdown"} or ending in BINARY_EXTENSIONS | TEXT_EXTENSIONS:
        return None
    return "bare"  # a dot in a bare name is part of it: /v1.2/release-1.0


def twin(url: str, form: Form) -> str | None:
    """Return the Markdown URL that `form` gives for a page URL, or None where the form does not
    apply.

    The query is removed: no generator writes Markdown per query. A page `/a` may be `/a/`, with the
    Markdown of that.

    >>> twin("https://e.com/a/b.html", "page.md"), twin("https://e.com/a/", "dir.md"), twin("https://e.com/", "dir.md")
    ('https://e.com/a/b.md', 'https://e.com/a.md', None)
    """
    parts = urlsplit(url)
    path = parts.path or "/"
    this = shape(url)
    if this is None or form not in FORMS[this]:
        return None
    stem = path.rpartition(".")[0] if this == "html" else path
    folder = path if this == "directory" else f"{path}/"
    made = {
        "page.html.md": f"{path}.md" if this == "html" else f"{path}.html.md",
        "page.md": f"{stem}.md",
        "page.mdx": f"{stem}.mdx",
        "dir/index.html.md": f"{folder}index.html.md",
        "dir/index.md": f"{folder}index.md",
        "dir.md": f"{path.rstrip('/')}.md" if path != "/" else "",
    }[form]
    return urlunsplit(parts._replace(path=made, query="", fragment="")) if made else None


def twins(url: str) -> Iterator[str]:
    """Yield the Markdown URLs that any form gives for a page, those of its spelling with a slash
    included.

    >>> list(twins("https://e.com/a"))
    ['https://e.com/a.md', 'https://e.com/a.html.md', 'https://e.com/a/index.md',
    'https://e.com/a.mdx', 'https://e.com/a/index.html.md']
    """
    this = shape(url)
    spellings = (url, f"{without_fragment(url).partition('?')[0]}/") if this == "bare" else (url,)
    made = (
        twin(spelling, form)
        for spelling in spellings
        for form in FORMS.get(shape(spelling) or "bare", ())
    )
    yield from dict.fromkeys(markdown_url for markdown_url in made if markdown_url is not None)


def with_slash(url: str, markdown_url: str) -> str | None:
    """Return the page `/a/` that `/a` is another spelling of, where its Markdown is `/a/index.md`;
    else None.

    >>> with_slash("https://e.com/a", "https://e.com/a/index.md"), with_slash("https://e.com/a", "https://e.com/a.md")
    ('https://e.com/a/', None)
    """
    is_index = shape(url) == "bare" and markdown_url == twin(url, "dir/index.md")
    return f"{url}/" if is_index else None


@lru_cache(maxsize=8192)
def is_markdown_url(url: str) -> bool:
    """Return whether the URL names a Markdown file by its extension.

    >>> is_markdown_url("https://e.com/a.html.md?x#y"), is_markdown_url("https://e.com/a.html")
    (True, False)
    >>> is_markdown_url("https://example.md"), is_markdown_url("https://example.md?a.md")
    (False, False)
    """
    path = url.partition("#")[0].partition("?")[0].lower()
    if not path.endswith(MARKDOWN_ENDINGS):
        return False
    address = path.partition("://")[2]
    return not address or "/" in address  # https://example.md is a host


def page_candidates(markdown_url: str) -> dict[PageForm, str]:
    """Return the page URLs a Markdown (or Sphinx source) URL may belong to, by the form of the
    page.

    >>> page_candidates("https://e.com/a/b.md")
    {'html': 'https://e.com/a/b.html', 'bare': 'https://e.com/a/b',
     'directory': 'https://e.com/a/b/'}
    >>> page_candidates("https://e.com/a/b.html.md"), page_candidates("https://e.com/a/index.md")
    ({'html': 'https://e.com/a/b.html', 'bare': 'https://e.com/a/b'},
     {'directory': 'https://e.com/a/', 'bare': 'https://e.com/a'})
    >>> page_candidates("https://e.com/_sources/b.rst.txt")["html"], page_candidates("https://e.com/b.llms.md")["html"]
    ('https://e.com/b.html', 'https://e.com/b.html')
    """
    parts = urlsplit(without_fragment(markdown_url))
    ending = next(
        (ending for ending in MARKDOWN_ENDINGS if parts.path.lower().endswith(ending)), ""
    )
    source = _SOURCE.fullmatch(parts.path)
    if source is None and not ending:
        return {}
    path = f"{source[1]}/{source[2]}" if source else parts.path[: -len(ending)]
    page = f"{parts.scheme}://{parts.netloc}{path}"
    directory, slash, name = page.rpartition("/")
    if name in {"index", "index.html"}:
        bare: dict[PageForm, str] = {"bare": directory} if urlsplit(directory).path else {}
        return {"directory": directory + slash, **bare}
    if name.endswith((".html", ".htm")):
        return {"html": page, "bare": page.rpartition(".")[0]}
    return {"html": f"{page}.html", "bare": page, "directory": f"{page}/"}


_SOURCE = re.compile(r"(?>(.*?)/_sources/)(.*?)(?:\.(?:rst|md|ipynb)(?:\.txt)?|\.txt)", re.DOTALL)
"""Sphinx: `/_sources/a.rst.txt` is the source of `/a.html`."""


def is_twin_of(markdown_url: str, page_url: str) -> bool:
    """Return whether, by any form, `markdown_url` is the Markdown of `page_url` (used after
    redirects).
    """
    candidates = page_candidates(markdown_url).values()
    return identity(page_url) in map(identity, (markdown_url, *candidates))


def forms_named_by(url: str) -> tuple[Form, ...]:
    """The forms that the spelling of a listed Markdown URL has."""
    path = urlsplit(url).path
    if path.endswith(".llms.md"):
        return ()  # each is named
    if path.endswith(".html.md"):
        return "page.html.md", "dir/index.html.md"
    if path.endswith("/index.md"):
        return ("dir/index.md",)
    if path.endswith(".mdx"):
        return (UNGUESSED,)
    return ("page.md", "dir.md") if path.endswith(".md") else ()


def converter(headers: Mapping[str, str]) -> str | None:
    """Return what converted a page's HTML to Markdown on its way, where the headers of the answer
    say so, or None.

    >>> converter({"x-markdown-tokens": "120", "server": "cloudflare"}), converter({"server": "cloudflare"})
    ('cloudflare', None)
    """
    is_converted = "x-markdown-tokens" in headers
    return (
        (headers.get("via") or headers.get("server") or "a server between")
        if is_converted
        else None
    )


# Links that an HTTP answer carries in its `Link:` header (RFC 8288), read as its appendix B.2 has
# it.

MAX_HEADER_CHARS = 16_384
"""What is longer is cut: an answer needs a handful of links."""


_LINK = re.compile(
    r"<([^<>]*+)>((?:[ \t]*+;[ \t]*+[^=;, \t]*+(?:[ \t]*+=["
    r" \t]*+(?:\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|[^;,]*+))?+)*+)"
)
_PARAMETER = re.compile(
    r";[ \t]*+([^=;, \t]++)(?:[ \t]*+=[ \t]*+(?:\"((?:[^\"\\]|\\.)*+)|([^;,]*+)))?+"
)


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link: absolute URL or why it is none, lower-case relation types, lower-case media type or
    None.
    """

    url: str | InvalidUrl
    rel: frozenset[str]
    type: str | None

    @classmethod
    def of(cls, url: str | InvalidUrl, rel: str, media_type: str) -> Self:
        """Return the link to a URL, of these relations and this type as they are written."""
        return cls(
            url,
            frozenset(valid_text(rel).lower().split()),
            bare_type(valid_text(media_type)) or None,
        )


def header_links(header: str, base: str) -> list[HeaderLink]:
    """Return the links of a `Link:` header, in order, without what cannot be parsed.

    `base` is the URL of the answer. Links with an `anchor` speak of another page (RFC 8288, 3.2)
    and are omitted too.

    >>> header_links('</llms.txt>; rel=describedby; type="text/markdown"', "https://example.com/docs/")
    [HeaderLink(url='https://example.com/llms.txt', rel=frozenset({'describedby'}),
    type='text/markdown')]
    """
    found = []
    for target, given in _LINK.findall(header[:MAX_HEADER_CHARS]):
        parameters: dict[str, str] = {}
        # the first of one name counts (B.2, 12 to 15)
        for name, quoted, plain in _PARAMETER.findall(given):
            parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain.strip())
        url = None if parameters.get("anchor") else parse(target.strip(), base)
        if url is not None:
            found.append(HeaderLink.of(url, parameters.get("rel", ""), parameters.get("type", "")))
    return found


_HEAD_END = re.compile(rb"</head\s*>|<body[\s>]", re.IGNORECASE)


def head_links(start: bytes, base: str) -> list[HeaderLink]:
    """Return each `<link>` in the head of a page, given its first bytes, as links of the `Link:`
    header.
    """
    if b"<" not in start[:1024]:
        return []
    end = _HEAD_END.search(start)
    from lxml import etree, html  # noqa: PLC0415  # few answers are read here

    try:
        head = html.document_fromstring(start[: end.start()] if end else start)
    except (etree.LxmlError, ValueError):
        return []
    return [
        HeaderLink.of(url, link.get("rel") or "", link.get("type") or "")
        for link in head.iter("link")
        if (url := parse(link.get("href") or "", base)) is not None
    ]


def header_link(header: str, base: str, rel: str, types: Collection[str | None] = ()) -> str | None:
    """Return the URL of the first link of a `Link` header (RFC 8288) with this relation, and one of
    the media types where any are given; or None.
    """
    return first_link(header_links(header, base), rel, types)


def first_link(
    links: Iterable[HeaderLink], rel: str, types: Collection[str | None] = ()
) -> str | None:
    """Return the URL of the first of these links with this relation; see `header_link`."""
    named = (link.url for link in links if rel in link.rel and (not types or link.type in types))
    return next((url for url in named if isinstance(url, str)), None)


def markdown_link(header: str, base: str) -> str | None:
    """Return the URL of the Markdown version that a `Link` header names, or None."""
    return header_link(header, base, "alternate", MARKDOWN_TYPES)
