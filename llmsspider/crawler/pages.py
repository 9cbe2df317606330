"""From an answer to a page: what a body is, and how it is read.

No Scrapy classes beyond duck typing.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmsspider.content import markdown
from llmsspider.content.conversion import read_metadata
from llmsspider.content.links import Joiner
from llmsspider.content.markdown.commonmark import with_line_feeds
from llmsspider.errors import ConversionError, ErrorKind
from llmsspider.items import HTML_ORIGINS, MARKDOWN_ORIGINS, Origin, Page, PageMeta, raw_hash
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.web import page_forms
from llmsspider.web.addresses import same_site
from llmsspider.web.encodings import decode, of_content_type
from llmsspider.web.outcomes import kind_of_response
from llmsspider.web.page_forms import (
    TEXT_EXTENSIONS,
    Kind,
    classify,
    extension,
    is_markdown_url,
    media_type,
)
from llmsspider.web.rights import of_page, opt_out, robots_directives
from llmsspider.web.stats import Filtered
from llmsspider.web.text import valid_text
from llmsspider.web.urls import InvalidUrl, identity, parse, redacted, without_fragment

if TYPE_CHECKING:
    from llmsspider.config.settings import Config
    from llmsspider.content.conversion import ConversionPool
    from llmsspider.content.markdown import Draft


def utc_now() -> str:
    """Return the time as `Document.fetched_at` has it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class PageResponse:
    """An HTTP answer for a page.

    `page_url` is the page's address, `fetched_url` the URL whose body this is.
    """

    page_url: str
    fetched_url: str
    status: int
    headers: dict[str, str]
    body: bytes
    fetched_at: str
    accept: str | None = None
    data: tuple[str, ...] = ()  # URLs of the data that the page fetched when a browser rendered it
    spec: str = ""  # the OpenAPI description that its scripts made when a browser rendered it
    is_whole: bool = True
    """False where only the end of the connection says that the body has ended: it may be half of
    it.
    """
    is_file: bool = False
    """Its name and its headers say that it is a file and no page; no body is there."""

    @classmethod
    def from_response(cls, response: Any, *, now: str) -> PageResponse:
        """Read a Scrapy response; `now` is an ISO 8601 time."""
        request = response.request
        fetched_url = without_fragment(response.url)
        page_url = without_fragment(request.url) if request is not None else fetched_url
        accept = request.headers.get("Accept") if request is not None else None
        accepted = accept.decode("latin-1") if accept else None
        is_whole = "partial" not in response.flags
        headers = text_headers(response)
        body = response.body
        return cls(
            page_url, fetched_url, response.status, headers, body, now, accepted, is_whole=is_whole
        )

    @property
    def mime_type(self) -> str | None:
        """Media type without parameters, lower-case; None where it is not known."""
        return media_type(self.headers.get("content-type", ""), self.fetched_url)

    @property
    def encoding(self) -> str | None:
        """The encoding that the Content-Type header declares."""
        return of_content_type(self.headers.get("content-type"))

    @property
    def error_kind(self) -> ErrorKind | None:
        """The kind of error that it is, None for an answer that is none."""
        return kind_of_response(self.status, self.headers, self.body)

    @cached_property
    def raw_hash(self) -> str:
        """The SHA-256 of the body, in hex."""
        return raw_hash(self.body)

    @cached_property
    def kind(self) -> Kind:
        """The kind of content that the body is."""
        return classify(self.mime_type, self.body, markdown_form=is_markdown_url(self.fetched_url))

    def is_form_of(self, origin: Origin) -> bool:
        """Say whether the body is what documents of this origin are made of, as it came."""
        kind = "markdown" if origin in MARKDOWN_ORIGINS else origin
        return kind == self.kind

    def text(self) -> str:
        """The body as text."""
        return decode(self.body, self.encoding)


@dataclass(slots=True, frozen=True)
class PageResult:
    """A page that was read; `filtered` says why where it is no page of documentation.

    `was_stub` says that it is HTML taken in place of a Markdown file that says less; `is_undecided`
    that it is Markdown and that pages yet to come decide whether its form is believed
    (`crawler.second_requests.FormSamples`). `is_as_stored` says that it comes as Markdown for the
    first time, and says nothing else than the stored HTML.
    """

    page: Page
    origin: Origin
    filtered: Filtered | None = None
    was_stub: bool = False
    is_undecided: bool = False
    is_as_stored: bool | None = None

    @property
    def needs_renderer(self) -> bool:
        """Whether scripts or the description of an API make the page or parts of it, so far as the
        page itself shows.
        """
        meta = self.page.meta
        is_api = meta.api_files is not None or bool(meta.held_apis)
        return meta.is_shell or is_api or bool(meta.mounts)


Read = tuple[PageResponse, PageResult | None]
"""An answer and the page that was read from it; None where the answer says that the page is as it
was stored.
"""

MAX_STUB_BYTES = 16 * 1024
"""Size of the largest page that is read only for where it leads."""


def leads_on(body: bytes, url: str, encoding: str | None) -> str | None:
    """Return the address that a small HTML page leads to instead of a text of its own, or None."""
    if len(body) > MAX_STUB_BYTES or not any(
        mark in body for mark in (b"refresh", b"location", b"canonical")
    ):
        return None
    target = None
    with suppress(ConversionError):
        target = read_metadata(body, url, encoding).meta.refresh
    return target if target and identity(target) != identity(url) else None


VALIDATORS = frozenset({"etag", "last-modified"})
"""Headers that say which version of a body an answer holds."""

LinkJoiner = Callable[["Draft", str, str, str], Callable[[str], str]]
"""Returns what makes the links of a Markdown page absolute, by its URL, the one fetched, and its
origin.
"""


async def read_page(
    answered: PageResponse,
    workers: ConversionPool,
    *,
    listed: bool,
    join: LinkJoiner | None = None,
    with_listings: bool = True,
) -> PageResult:
    """Read a body by its media type, and check the URLs in its metadata; raises `ConversionError`.

    A page that an llms.txt has `listed` may be of another text format. `join` makes links of
    Markdown absolute, without it they are relative to the URL fetched. `with_listings` reads the
    text of HTML pages that only list others, too.
    """
    kind = answered.kind
    body = answered.body
    url = answered.fetched_url
    mime_type = answered.mime_type or ""
    origin: Origin = "html" if kind == "html" else "text"
    reader = workers.reader_of(mime_type, url, body, listed=listed and kind != "html")
    if reader is not None:
        page = await workers.read_with(reader, body, url, mime_type, answered.encoding)
        result = PageResult(page, origin)
    elif kind == "html":
        page = await workers.convert(body, url, answered.encoding, with_listings=with_listings)
        result = PageResult(page, origin)
    elif kind == "binary":
        result = _no_page("html", mime_type or kind)
    else:
        result = await _read_text(answered, workers, listed=listed, join=join)
    page = with_valid_urls(result.page, answered.headers.get("link", ""), url)
    return replace(result, page=page)


async def _read_text(
    answered: PageResponse, workers: ConversionPool, *, listed: bool, join: LinkJoiner | None
) -> PageResult:
    """Read Markdown, and another text format where the page is `listed`."""
    text = answered.text()
    url = answered.fetched_url
    mime_type = answered.mime_type or "text"
    is_markdown = mime_type == "text/plain" and markdown.looks_like_markdown(text)
    if not (is_markdown or answered.kind == "markdown"):
        page = Page(normalised(text), [], [], PageMeta(), "none")
        return PageResult(page, "text") if listed else _no_page("text", mime_type)
    origin: Origin = "text" if extension(url) in TEXT_EXTENSIONS else "negotiated"
    if is_markdown_url(url):
        origin = "markdown"
    draft = await workers.read_markdown(text)
    joined = Joiner(url).join if join is None else join(draft, answered.page_url, url, origin)
    return PageResult(draft.page(joined), origin)


def _no_page(origin: Origin, what: str) -> PageResult:
    return PageResult(Page("", [], [], PageMeta()), origin, Filtered("unsupported-type", what))


def with_valid_urls(page: Page, link_header: str = "", url: str = "") -> Page:
    """Return a page whose metadata holds only valid URLs; invalid ones are among the links to
    follow, where they count.

    User names and passwords are kept of no link. `link_header` is the `Link` header of the answer
    for `url`.
    """
    meta = page.meta
    headers = page_forms.header_links(link_header, url)
    invalid = [link.url for link in headers if isinstance(link.url, InvalidUrl)]

    def passed(named: str | None) -> str | None:
        found = parse(named) if named else None
        if isinstance(found, InvalidUrl):
            invalid.append(found)
        return found if isinstance(found, str) else None

    meta = replace(
        meta,
        canonical=passed(meta.canonical) or page_forms.first_link(headers, "canonical"),
        refresh=passed(meta.refresh),
        describedby=passed(meta.describedby),
        markdown_alternate=passed(meta.markdown_alternate),
        hreflang={tag: target for tag, named in meta.hreflang.items() if (target := passed(named))},
    )
    follow = [*map(redacted, page.follow), *(refused.url for refused in invalid)]
    links = [
        replace(link, url=redacted(link.url)) if "@" in link.url else link for link in page.links
    ]
    return replace(page, meta=meta, links=links, follow=follow)


def refused_by_page(meta: PageMeta, answered: PageResponse, config: Config) -> Filtered | None:
    """Return the reason where the page itself opts out, or None; those of headers were obeyed
    before it was read.
    """
    reason = opt_out(of_page({}, meta.robots)) if config.obey_ai_optout and meta.robots else None
    if reason:
        return Filtered("ai-opt-out", reason)
    if config.obey_noindex:
        is_file = is_markdown_url(answered.fetched_url) and not is_markdown_url(answered.page_url)
        # search engines are to list the page, and not its Markdown file
        said = "" if is_file else answered.headers.get("x-robots-tag", "")
        header = robots_directives([said])
        if (meta.robots | header) & {"noindex", "none"}:
            return Filtered("noindex", "LLMS_OBEY_NOINDEX")
    return None


def is_documentation(result: PageResult, answered: PageResponse, config: Config) -> bool:
    """Say whether a page that was read is one of its own: not filtered, leading nowhere else,
    without an opt-out.
    """
    is_own = result.filtered is None and not result.page.meta.refresh
    return is_own and refused_by_page(result.page.meta, answered, config) is None


def markdown_alternate(result: PageResult, answered: PageResponse) -> str | None:
    """Return the URL of the Markdown version that an HTML page or its `Link` header names, on its
    own site, or None. An llms file is of all pages, and of none.
    """
    if result.origin not in HTML_ORIGINS:
        return None
    here = answered.fetched_url
    header = answered.headers.get("link", "")
    url = result.page.meta.markdown_alternate or page_forms.markdown_link(header, here)
    if not url or is_llms_url(url) or identity(url) == identity(here):
        return None
    return url if same_site(url, here) else None


def named_llms_txt(meta: PageMeta, answered: PageResponse) -> str | None:
    """Return the URL of the llms.txt that a page says describes it (`rel=describedby`), or None."""
    header = answered.headers.get("link", "")
    url = meta.describedby or page_forms.header_link(header, answered.fetched_url, "describedby")
    return url if url and is_llms_url(url) else None


def text_headers(response: Any) -> dict[str, str]:
    """Return the headers of a Scrapy response as valid text: lower-case names, several values
    joined by a comma.
    """
    return {
        name.decode("latin-1").lower(): valid_text(b", ".join(values).decode("latin-1"))
        for name, values in response.headers.items()
    }


def normalised(text: str) -> str:
    r"""Return text with `\n` line ends and one trailing new line; empty text stays empty."""
    lines = with_line_feeds(text).strip("\n")
    return f"{lines}\n" if lines else ""


# Text that is no documentation.

MISSING_TITLE = re.compile(
    r"\A\W*(?:(?:error\W*)?404\b|(?:page|site|document|content|file) (?:was |could )?not (?:be"
    r" )?found|not found\W*\Z"
    r"|(?:oops|sorry|whoops)\b.{0,40}\bnot? (?:be )?found|page (?:does not|doesn.t) exist|nothing"
    r" (?:to see )?here)",
    re.IGNORECASE,
)
"""Titles of pages that a server shows, with status 200, for a page it does not have."""

FAILED_TITLE = re.compile(
    r"\A\W*(?:(?:error\W*)?50[0234]\b|internal server error|bad gateway|gateway time-?out"
    r"|service (?:temporarily )?unavailable)",
    re.IGNORECASE,
)
"""Titles of pages that a server shows, with status 200, where it failed."""

MISSING_NOTICE = re.compile(
    r"\A\W*(?:(?:error\W*)?404\b|(?:oops|sorry|whoops)\b.{0,40}\b(?:not? (?:be )?found|no such page)"
    r"|page (?:was )?not found\b|page (?:does not|doesn.t) exist\b)",
    re.IGNORECASE,
)
"""Paragraphs with which such a page begins where its title does not say so."""

MAX_MISSING_CHARACTERS = 1500
"""Maximum length in characters of a page that says that it is missing; longer ones are about
missing pages.
"""

MAX_MISSING_NOTICE = 300
"""Maximum length in characters of a page that says that it is missing in its text."""

_ABOUT = re.compile(r"^(?:```|~~~|\|)", re.MULTILINE)
"""Code or a table: what a page about missing pages has."""


_FIRST_HEADING = re.compile(r"\s*+#\s++([^\n]++)")


def drop_reason(content: str, title: str | None) -> Filtered | None:
    """Return the reason for a document, of this Markdown and title, that is dropped, or None."""
    if not content or content.isspace():
        return Filtered("empty", "no text")
    if len(content) >= MAX_MISSING_CHARACTERS or _ABOUT.search(content):
        return None
    if title and MISSING_TITLE.search(title):
        return Filtered("soft-404", f"status 200, but titled {title!r}")
    if title and FAILED_TITLE.search(title):
        return Filtered("soft-404", f"status 200, but an error by its title {title!r}")
    if len(content) < MAX_MISSING_NOTICE:
        notice = next(filter(MISSING_NOTICE.search, content.split("\n\n")[:2]), None)
        if notice is not None:
            return Filtered("soft-404", f"status 200, but says {notice.strip()!r}")
    return None


def says_missing(markdown: str) -> bool:
    r"""Say whether short Markdown, sent with status 200, says that there is no such page.

    >>> says_missing("# Page not found\n\nSee [all pages](/llms.txt).\n"), says_missing("# Install\n")
    (True, False)
    """
    heading = _FIRST_HEADING.match(markdown[:MAX_MISSING_CHARACTERS])
    why = drop_reason(markdown, heading[1]) if heading is not None else None
    return why is not None and why.reason == "soft-404"


# Pages that break off without a sign. A body with the Content-Length of its half looks whole.
# `</html>` may be left out (HTML, section 13.1.2.4), so its absence says nothing of a page by
# itself: it does where the page had one. The same holds for the line end that closes a file of
# Markdown; and a text breaks off where the stored one went on in the middle of a line.

END_TAG = b"</html"
_LAST_BYTES = 1024
"""Where an end tag stands, nearly always: a page of 96 KB in lower case takes 0.1 ms."""


def has_end(body: bytes, kind: Kind) -> bool | None:
    r"""Say whether HTML has its end tag, Markdown its last line end; None for what has no end.

    >>> has_end(b"<html><p>Text</HTML>", "html"), has_end(b"<html><p>Te", "html"), has_end(b"# Text\n", "markdown")
    (True, False, True)
    """
    if kind == "html":
        return END_TAG in body[-_LAST_BYTES:].lower() or END_TAG in body.lower()
    return body.endswith(b"\n") if kind == "markdown" else None


TAIL_WORDS = 8
"""Words at the end of a text that are looked for in the stored one."""


LEAST_LOST = 0.02
"""Least share of a text that is lost where it breaks off: what ends nearer to its end was edited."""


def breaks_off(before: str, now: str) -> bool:
    r"""Say whether a text ends in the middle of a line of the stored one.

    >>> breaks_off("# Setup\n\nInstall it.\n\nRun it now.\n", "# Setup\n\nInstall it.\n\nRun i\n")
    True
    >>> breaks_off("# Setup\n\nInstall it.\n\nRun it now.\n", "# Setup\n\nInstall it.\n")
    False
    """
    before = before.rstrip()
    now = now.rstrip()
    if not now or len(before) - len(now) <= LEAST_LOST * len(before):
        return False
    if before.startswith(now):
        return before[len(now)] != "\n"
    begin, *words = now.rsplit(None, TAIL_WORDS)
    tail = now[len(begin) :].lstrip()
    at = before.find(tail) if len(words) == TAIL_WORDS else -1
    while at >= 0:
        end = at + len(tail)
        if end < len(before) and before[end] != "\n":
            return True
        at = before.find(tail, end)
    return False


# Large bodies, kept on disk.

SPOOLED_BYTES = 4 * 1024 * 1024
"""Bodies below this stay in memory, see `Spool`."""


class Spool:
    """A temporary folder, made with the first body that is put there and removed by `close`."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._count = 0

    def keep(self, body: bytes) -> Path:
        """Write a body to a file of its own and return its path; raises `OSError`."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="llmsspider-"))
        self._count += 1
        path = self._folder / str(self._count)
        path.write_bytes(body)
        return path

    def close(self) -> None:
        """Remove the files; idempotent."""
        folder = self._folder
        self._folder = None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
