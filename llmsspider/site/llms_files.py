"""What the start page and each llms file say: which files cover the site, and whether one is an index or full text."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from lxml import etree
from lxml import html as lxml_html

from llmsspider.site import llmsfull, llmstxt
from llmsspider.site.discovered import FetchResult, FilteredLink, LlmsFile, Options, is_full_name
from llmsspider.site.llmstxt import Entry, decode, directory_url, is_llms_url
from llmsspider.web import page_forms, url_gate
from llmsspider.web.addresses import hostname, same_site
from llmsspider.web.locales import alias_of, axis_of
from llmsspider.web.page_forms import HeaderLink
from llmsspider.web.stats import FilterReason
from llmsspider.web.url_gate import InvalidUrl

MAX_FULL_BYTES = 200 * 1024 * 1024
"""The largest full-text file that is read, in bytes."""

SAMPLE_BYTES = 2 * 1024 * 1024
"""How much of a file too large for an index is classified by, in bytes."""

_INLINE_BYTES = 256 * 1024
"""Files up to this size are parsed at once; larger ones in a thread."""


class Classified(NamedTuple):
    """`kind` is None for what is no llms file, and `reason` says why."""

    kind: Literal["index", "full"] | None
    reason: str | None = None


def classify_file(answer: FetchResult, url: str, *, main: bool) -> Classified:
    """Return whether an answer to the request of `url` is an index, full text or no llms file.

    A `main` file, found by probing, is full text only when it is delimited into pages or lists none:
    long prose with links is still an index there.
    """
    if answer.error is not None:
        return Classified(None, answer.message or answer.error)
    if answer.size > MAX_FULL_BYTES:
        return Classified(None, "larger than 200 MB")
    is_large = answer.size > llmstxt.MAX_BYTES
    body = answer.head(SAMPLE_BYTES if is_large else llmstxt.MAX_BYTES)
    content_type = answer.headers.get("content-type")
    reason = llmstxt.reject_reason(answer.status, url, answer.final_url, content_type, body)
    if reason is not None:
        return Classified(None, reason)
    text = decode(body[:SAMPLE_BYTES])
    kind = llmstxt.classify(text)
    if kind == "index" and is_full_name(url) and llmsfull.looks_split(text, url, named=True):
        kind = "full"
    if main and kind == "full" and not llmsfull.looks_split(text):
        has_links = "](" in text or "://" in text
        if has_links or llmstxt.parse(text[:_INLINE_BYTES], "https://site.invalid/").entries:
            kind = "index"
    if is_large and kind == "index":
        return Classified(None, "larger than 20 MB")
    return Classified(kind)


async def read(answer: FetchResult, kind: Literal["index", "full"]) -> LlmsFile:
    """Parse a file of a known kind; full text is not searched for entries unless it is short."""
    if kind == "full" and answer.size > SAMPLE_BYTES:
        return LlmsFile(answer.final_url, kind, None, None, "", ())
    text = answer.text
    if len(text) > _INLINE_BYTES:
        parsed = await asyncio.to_thread(llmstxt.parse, text, answer.final_url)
    else:
        parsed = llmstxt.parse(text, answer.final_url)
    is_index = kind == "index"
    alias = alias_of(answer.final_url, (entry.url for entry in parsed.entries))
    return LlmsFile(
        answer.final_url,
        kind,
        parsed.title,
        parsed.summary,
        text if is_index else "",
        parsed.entries if alias is None else tuple(replace(e, url=alias.of(e.url)) for e in parsed.entries),
        parsed.warnings,
        parsed.invalid if is_index else (),
        parsed.notes if is_index else None,
    )


_FULL_NAME = re.compile(r"/llms-(?:full|ctx)[^/]*\.txt$", re.IGNORECASE)


class LinkedFiles:
    """Returns the linked files level by level, each URL once.

    Followed are llms files on the registrable domain of the first file; from the second level on only
    below its directory. What is not followed lands in `cut` with its reason or in `external`.
    """

    def __init__(self, main: str, options: Options):
        self.cut: list[FilteredLink] = []
        self.external: list[str] = []
        self._main = main
        self._below = directory_url(main)
        self._options = options
        self._seen = {main}
        self._level = 0
        self._followed = 0

    def next_level(self, read: Sequence[LlmsFile]) -> list[str]:
        """Return the files to read next, which the files of the last level link, in their order."""
        self._level += 1
        self._seen.update(file.url for file in read)
        level = []
        for file in read:
            for entry in file.entries:
                if is_llms_url(entry.url) and entry.url not in self._seen:
                    self._seen.add(entry.url)
                    if self._should_follow(entry):
                        level.append(entry.url)
        return level

    def _should_follow(self, entry: Entry) -> bool:
        if not same_site(entry.url, self._main):
            self.external.append(entry.url)
            return False
        reason = self._reason_against(entry)
        if reason is not None:
            self.cut.append(FilteredLink(entry.url, reason))
            return False
        self._followed += 1
        return True

    def _reason_against(self, entry: Entry) -> FilterReason | None:
        if self._level > self._options.link_depth:
            return "link-depth"
        if self._level > 1 and not entry.url.startswith(self._below):
            return "outside-directory"
        if entry.optional and self._options.optional == "skip":
            return "optional"
        if not self._options.full_text and _FULL_NAME.search(urlsplit(entry.url).path):
            return "full-text-off"
        if self._followed >= self._options.max_linked_files:
            return "max-linked-files"
        return None


# What the start page itself says: which llms.txt covers it, and whether it is a directory.

MAX_HEAD_BYTES = 512 * 1024
"""How much of a page is searched for its `<head>`, in bytes."""

MAX_LINK_BYTES = 4 * 1024 * 1024
"""How much of a start page is searched for links, in bytes."""

MAX_DESCRIBEDBY = 2
"""How many files one page may name; more are ignored."""

_HEAD_END = re.compile(rb"</head\s*>|<body[\s>]", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_HREF = re.compile(
    r"<a\s[^<>]{0,600}?\bhref\s*+=\s*+(?:\"([^\"]{1,2000})\"|'([^']{1,2000})'|([^\s\"'>]{1,2000}))|\]\(([^)\s]{1,2000})",
    re.IGNORECASE,
)
_TEXT_TYPES = frozenset({None, "text/markdown", "text/plain", "text/x-markdown"})


def describing_files(answer: FetchResult) -> tuple[list[str], list[InvalidUrl]]:
    """Return the URLs a page names as the llms.txt that covers it (`rel="describedby"`), and those that are none.

    Both the `Link:` header and `<link>` elements of the head count (llms.txt v2); files of another
    site and of types that are no text are omitted.
    """
    described = dict.fromkeys(
        link.url for link in _links(answer) if "describedby" in link.rel and link.type in _TEXT_TYPES
    )
    found = [url for url in described if isinstance(url, str) and same_site(url, answer.final_url)]
    return found[:MAX_DESCRIBEDBY], [url for url in described if isinstance(url, InvalidUrl)]


def named_sitemaps(answer: FetchResult) -> list[str]:
    """Return the URLs a page names as sitemaps, in its head (`<link rel="sitemap">`) or `Link:` header."""
    named = dict.fromkeys(
        link.url for link in _links(answer) if "sitemap" in link.rel and isinstance(link.url, str)
    )
    return list(named)[:MAX_DESCRIBEDBY]


def _links(answer: FetchResult) -> list[HeaderLink]:
    """Return the links of the `Link:` header, then those of the head; none of a page that failed."""
    if not answer.ok:
        return []
    return [
        *page_forms.header_links(answer.headers.get("link", ""), answer.final_url),
        *_head_links(answer),
    ]


def page_url(url: str, answer: FetchResult) -> str:
    """Return the URL to probe from: the one after redirects, with a slash where it is a directory.

    An extensionless page that links below itself (`/docs` linking `/docs/intro`) is the directory
    `/docs/`. Of a page that failed it is the URL requested.
    """
    if not answer.ok or hostname(answer.final_url) is None:
        return url
    parts = urlsplit(answer.final_url)
    name = parts.path.rpartition("/")[2]
    if not name or _EXTENSION.search(name):
        return answer.final_url
    below = f"{parts.path}/"
    text = answer.head(MAX_LINK_BYTES).decode("utf-8", "replace")
    hrefs = ("".join(groups) for groups in _HREF.findall(text))
    if any(_lies_below(href, answer.final_url, parts.netloc, below) for href in hrefs):
        return urlunsplit((parts.scheme, parts.netloc, below, "", ""))
    return answer.final_url


def section_url(url: str, answer: FetchResult) -> str:
    """Return the URL whose directory is the section of the site to crawl.

    It is `page_url`, unless a directory redirected to a page below itself (`/docs/` to
    `/docs/intro/first`): then it is that directory, with the language and version it chose
    (`/` to `/en/latest/` is `/en/latest/`).
    """
    page = page_url(url, answer)
    requested, parts = urlsplit(url), urlsplit(page)
    name = requested.path.rpartition("/")[2]
    directory = requested.path if not name else f"{requested.path}/"
    directory = directory or "/"
    if _EXTENSION.search(name) or not parts.path.startswith(directory) or answer.final_url == url:
        return page
    *folders, _ = parts.path[len(directory) :].split("/")
    chosen = [f"{folder}/" for folder in takewhile(_is_tree, folders)]
    return urlunsplit((parts.scheme, parts.netloc, directory + "".join(chosen), "", ""))


def _is_tree(folder: str) -> bool:
    """Return whether a directory name is a language or a version."""
    return axis_of(folder) is not None or folder.lower() == "release"


def _lies_below(href: str, base: str, netloc: str, below: str) -> bool:
    url = url_gate.parse(href, base)
    if not isinstance(url, str):
        return False
    target = urlsplit(url)
    return target.netloc == netloc and target.path.startswith(below) and len(target.path) > len(below)


def _head_links(answer: FetchResult) -> list[HeaderLink]:
    """Return each `<link>` in an HTML head, as links of the `Link:` header."""
    start = answer.head(MAX_HEAD_BYTES)
    if b"<" not in start[:1024]:
        return []
    end = _HEAD_END.search(start)
    try:
        head = lxml_html.document_fromstring(start[: end.start()] if end else start)
    except (etree.LxmlError, ValueError):
        return []
    found = []
    for link in head.iter("link"):
        url = url_gate.parse(link.get("href") or "", answer.final_url)
        if url is None:
            continue
        media_type = (link.get("type") or "").partition(";")[0].strip().lower()
        rel = frozenset((link.get("rel") or "").lower().split())
        found.append(HeaderLink(url, rel, media_type or None))
    return found
