"""What the store keeps of a page that was read: the record of which its `Document` is made, or why
it is none.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self
from urllib.parse import unquote, urlsplit

import orjson

from llmsspider.content import markdown
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.pages import PageResponse, PageResult, has_end, utc_now, with_valid_urls
from llmsspider.crawler.settle import Drop
from llmsspider.items import (
    EXTRACTOR_VERSION,
    HTML_ORIGINS,
    DiscoveredBy,
    Link,
    LlmsEntry,
    Page,
    PageMeta,
    Section,
    raw_hash,
)
from llmsspider.site.discovered import FullText
from llmsspider.site.llmstxt_parser import LlmsTxt
from llmsspider.store import PageRecord
from llmsspider.store import Reading as StoredReading
from llmsspider.web.outcomes import says_unchanged
from llmsspider.web.rights import of_page
from llmsspider.web.stats import FilterReason
from llmsspider.web.text import valid_text
from llmsspider.web.urls import document_id, identity


@dataclass(frozen=True, slots=True)
class Records:
    """Makes the records of one crawl's pages."""

    source: str
    converter: str  # its fingerprint (`Config.converter_fingerprint`)

    @property
    def extractor_version(self) -> str:
        """What content of this crawl is made with; stored content of another version is made again."""
        return f"{EXTRACTOR_VERSION}:{self.converter}"

    def of_page(
        self,
        url: str,
        page: Page,
        body_hash: str,
        entry: LlmsEntry | None = None,
        title: str | None = None,
    ) -> PageRecord:
        """Return what the store keeps of any page; of where it came from, its URL and the time."""
        meta = page.meta
        named = meta.title or title or (entry.title if entry else None) or title_from_url(url)
        said = meta.description or (entry.description if entry else None)
        return PageRecord(
            id=document_id(self.source, url),
            identity=identity(url),
            url=url,
            fetched_url=url,
            title=valid_text(named),
            description=valid_text(said) if said else said,
            language=valid_text(meta.language) if meta.language else meta.language,
            content=valid_text(page.markdown),
            raw_hash=body_hash,
            llms=entry,
            links=[_valid_link(link) for link in page.links],
            follow=page.follow,
            extractor_version=self.extractor_version,
            fetched_at=utc_now(),
            digest=page.digest,
        )

    def of_response(
        self,
        answered: PageResponse,
        result: PageResult,
        *,
        depth: int,
        by: DiscoveredBy,
        entry: LlmsEntry | None = None,
    ) -> PageRecord:
        """Return the record of a page that was fetched: its depth, its validators and what its
        headers say of it.
        """
        headers = answered.headers
        tokens = headers.get("x-markdown-tokens", "")
        record = self.of_page(answered.page_url, result.page, answered.raw_hash, entry)
        record.origin = result.origin
        record.discovered_by = by
        record.depth = depth
        record.fetched_url = answered.fetched_url
        record.fetched_at = answered.fetched_at
        if not record.language:
            record.language = headers.get("content-language", "").partition(",")[0].strip() or None
        record.status = answered.status
        record.mime_type = answered.mime_type
        if answered.is_whole:
            record.etag = headers.get("etag")
            record.last_modified = headers.get("last-modified")
        record.validators_url = answered.fetched_url
        record.accept = answered.accept
        meta = result.page.meta
        names = {name: [value] for name, value in headers.items()}
        declared = of_page(names, meta.robots, meta.licences, url=answered.page_url)
        record.declared = [list(one) for one in declared]
        record.markdown_tokens = int(tokens) if tokens.isdigit() else None
        if answered.is_form_of(result.origin):
            record.has_end_tag = has_end(answered.body, answered.kind)
        return record

    def of_part(self, record: PageRecord, after: str, page: Page) -> PageRecord:
        """Return the record of a document that was made of the same body as another page; `after`
        follows its URL.
        """
        url = record.url + after
        body = page.markdown.encode("utf-8", "surrogatepass")
        return replace(
            self.of_page(url, with_valid_urls(page), raw_hash(body), record.llms),
            fetched_url=record.fetched_url,
            fetched_at=record.fetched_at,
            origin=record.origin,
            discovered_by=record.discovered_by,
            description=page.meta.description,
            language=record.language,
            depth=record.depth,
            status=record.status,
            mime_type=record.mime_type,
            validators_url=url,
        )

    def of_full_text(
        self,
        page: Page,
        body_hash: str,
        *,
        url: str,
        title: str | None,
        file: FullText,
        entry: LlmsEntry | None,
    ) -> PageRecord:
        """Return the record of a page that a full-text file holds; the file's validators are not
        the page's.
        """
        answer = file.answer
        record = self.of_page(url, page, body_hash, entry, title)
        record.fetched_url = file.url
        record.origin = "llms-full"
        record.discovered_by = "llms-full.txt"
        record.status = answer.status
        record.mime_type = answer.content_type
        return record

    def of_index(self, file: LlmsTxt) -> PageRecord:
        """Return the record of an llms.txt that is a document itself; such a crawl does not follow
        its links.
        """
        page = with_valid_urls(markdown.read(file.text, file.url))
        record = self.of_page(file.url, page, raw_hash(file.text.encode("utf-8", "surrogatepass")))
        record.origin = "llms-txt"
        record.discovered_by = "llms.txt"
        record.status = 200
        record.title = file.title or record.title
        record.description = file.summary
        record.language = None
        record.follow = []
        return record


def _valid_link(link: Link) -> Link:
    return link if link.text.isascii() else replace(link, text=valid_text(link.text))


def title_from_url(url: str) -> str:
    """Return the last path segment in words, or the host.

    >>> title_from_url("https://e.com/guide/getting-started.html"), title_from_url("https://e.com/")
    ('getting started', 'e.com')
    """
    parts = urlsplit(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2])
    name = name.removesuffix(".html").removesuffix(".htm").removesuffix(".md")
    return name.replace("-", " ").replace("_", " ").strip() or parts.netloc


# What was read of pages that are no documents, and of the start page: used again where they are
# unchanged.

KEPT: frozenset[FilterReason] = frozenset(
    {"ai-opt-out", "canonical", "empty", "listing", "noindex", "redirect", "unsupported-type"}
)
"""Reasons that depend on nothing but the page, its address and the settings: what was read of such
pages is kept.
"""

_META = (
    "canonical", "copies", "describedby", "lists_only", "listing", "markdown_alternate", "refresh", "robots", "tags",
)  # fmt: skip
"""The fields of `PageMeta` that are kept: they decide whether a page is a document, and where it
leads.
"""

START_PAGE = " start page"  # ends `read_by` of what discovery needs of one


@dataclass(slots=True, frozen=True)
class Reading:
    """What was read of a page that is no document."""

    why: Drop
    meta: PageMeta  # only the fields in `_META` are stored
    follow: list[str]  # URLs; empty for a page whose links are not followed
    raw_hash: str  # the SHA-256 of the body in hexadecimal

    def to_json(self) -> bytes:
        """Return the reading as the JSON that the store keeps."""
        meta = {name: getattr(self.meta, name) for name in _META} | {
            "robots": sorted(self.meta.robots)
        }
        kept = {"why": [*self.why], "meta": meta, "follow": self.follow, "raw_hash": self.raw_hash}
        return orjson.dumps(kept)

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Return the reading that `to_json` wrote."""
        found = orjson.loads(data)
        meta = PageMeta(**found["meta"] | {"robots": frozenset(found["meta"]["robots"])})
        return cls(Drop(*found["why"]), meta, found["follow"], found["raw_hash"])


@dataclass(frozen=True, slots=True)
class Readings:
    """Keeps what was read of pages that are no documents, with the validators of their responses.

    It is used again with the same extractor, converter and `settings` only (those that decide what
    is a document, as one line), and where the page is listed as it was. `note_false_304` takes the
    URL of a page that says something else under unchanged validators.
    """

    _known: KnownPages
    _settings: str
    _note_false_304: Callable[[str], None]

    def restored(
        self, answer: PageResponse, *, listed: bool
    ) -> tuple[Reading, dict[str, str]] | None:
        """Return what an earlier run read of an unchanged page, and its headers; None where its
        body has to be read.
        """
        known = self._known
        read_by = self.read_by(listed=listed)
        found = (
            known.reading(answer.fetched_url, answer.accept, read_by=read_by)
            if known.trusted
            else None
        )
        if found is None:
            return None
        reading = Reading.from_json(found.body)
        if answer.status != 304 and reading.raw_hash != answer.raw_hash:
            return None
        kind = {name: found.headers[name] for name in ("content-type",) if name in found.headers}
        return reading, {**found.headers, **answer.headers, **kind}  # a 304 describes no body

    def keep(self, why: Drop, page: PageResult, answer: PageResponse, *, listed: bool) -> None:
        """Keep what was read of a page, if a 304 for the page's own address can stand for it."""
        meta = page.page.meta
        url = answer.fetched_url
        accept = answer.accept
        is_plain = answer.is_whole and answer.status == 200 and url == answer.page_url
        is_whole = not (
            page.was_stub or page.page.parts or meta.is_shell or meta.api_files is not None
        )
        if (
            why.reason not in KEPT
            or not is_plain
            or not is_whole
            or page.origin not in {"html", "text"}
        ):
            return
        follow = page.page.follow if why.reason in {"listing", "empty"} else []
        reading = Reading(why, meta, follow, answer.raw_hash)
        read_by = self.read_by(listed=listed)
        before = self._known.reading(url, accept, read_by=read_by)
        if before is not None and says_unchanged(before.etag, before.last_modified, answer.headers):
            stored = Reading.from_json(before.body)
            if (stored.why, stored.follow) != (why, follow):
                self._note_false_304(url)
        kept = StoredReading(
            url, accept, None, None, answer.headers, reading.to_json(), read_by, why.reason
        )
        self._known.keep_reading(kept)

    def start_page(self, body: bytes, url: str) -> Page | None:
        """Return what discovery needs of a start page, as an earlier run read it; None where its
        body is another.
        """
        if not self._known.trusted:
            return None
        found = self._known.reading(url, None, read_by=self._known.extractor_version + START_PAGE)
        kept = json.loads(found.body) if found is not None else {}
        if kept.get("raw_hash") != raw_hash(body):
            return None
        section = Section(*kept["section"]) if kept["section"] else None
        return Page("", [], kept["follow"], PageMeta(hreflang=kept["hreflang"], section=section))

    def keep_start_page(self, page: Page, body: bytes, url: str) -> None:
        """Keep what discovery needs of a start page: its links, its translations, the section that
        it names.
        """
        section = page.meta.section
        named = [section.path, section.why] if section is not None else None
        found = {"follow": page.follow, "hreflang": page.meta.hreflang, "section": named}
        data = json.dumps(
            {"raw_hash": raw_hash(body), **found}
        ).encode()  # unlike orjson it takes any text
        read_by = self._known.extractor_version + START_PAGE
        self._known.keep_reading(StoredReading(url, None, body=data, read_by=read_by))

    def read_by(self, *, listed: bool) -> str:
        """Return how pages that are no documents are read."""
        return f"{self._known.extractor_version} {self._settings} listed={listed}"


# Titles that belong to a site and not to a page, found by comparing its pages.

# part of a site's pages from which on a title that they share is the site's, or of a part of it
MOST_TITLES = 0.3
LEAST_TITLES = 4  # pages that must share it
# part of the pages from which on a heading is one of the generator's ("Overview"), no title of a
# page
MANY = 0.1
KEPT_TITLES = 512  # titles and headings that are counted; the rarest are forgotten
LEARNED_TITLES = 16  # titles that the store keeps for the next run
MAX_LINKED = 5_000  # pages whose names in links are kept during a crawl
_MAX_NAME = 100  # characters of a name
_POINTING = frozenset(
    {"here", "more", "link", "this", "this page", "next", "previous", "prev", "back", "up", "home", "top", "index",
     "contents", "read more", "learn more", "see also", "details", "source", "view source", "edit"}
)  # fmt: skip
"""Texts of links that name no page."""
_TITLE_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_MARKS = re.compile(r"\]\([^()\[\]\n]*\)|[\[\]`*\\]|<[^<>]*>")
_NUMBER = re.compile(r"\A\d++(?:\.\d++)*+\.?\s++")
_LOOKED_AT = 200  # lines of a document among which its own heading is looked for


class SiteTitles:
    """Counts the titles of a site's pages, and chooses another where most pages share one."""

    def __init__(self) -> None:
        self.pages = 0
        self.start: str | None = (
            None  # the title of the start page: the first that another page may share
        )
        self._known: list[str] = []
        self._titles: Counter[str] = Counter()
        self._headings: Counter[str] = Counter()
        self._linked: dict[str, str] = {}

    def see(self, title: str, markdown: str, *, start: bool = False) -> None:
        """Count a page with the title that it gives itself."""
        self.pages += 1
        _count(self._titles, title)
        for heading in dict.fromkeys(text for _, text, _ in _headings(markdown)):
            _count(self._headings, heading)
        if start:
            self.start = title

    def is_shared(self, title: str) -> bool:
        """Say whether a title is that of so many pages that it is none of theirs."""
        return title in self._known or self._titles[title] >= max(
            LEAST_TITLES, MOST_TITLES * self.pages
        )

    def see_links(self, links: Iterable[Link]) -> None:
        """Take note of what the links of a page call others, `MAX_LINKED` pages at most."""
        known = self._linked
        for link in links if len(known) < MAX_LINKED else ():
            url = link.url.partition("#")[0]
            text = link.text
            if url in known or not 1 < len(text) <= _MAX_NAME or len(known) >= MAX_LINKED:
                continue
            if text.strip(" .…»›→").casefold() not in _POINTING:
                known[url] = text

    def linked(self, url: str) -> str | None:
        """Return what the first link to a page calls it, None where none was seen."""
        return self._linked.get(url)

    def retitle(self, record: PageRecord, *, is_start: bool) -> bool:
        """Count a page of HTML, and give it a title of its own where pages share one; return
        whether it is another.
        """
        title = record.title
        content = record.content or ""
        if record.origin not in HTML_ORIGINS or not title:
            return False
        self.see(title, content, start=is_start)
        self.see_links(record.links)
        if not is_start:
            named = record.llms.title if record.llms else None
            linked = self.linked(record.url)
            path = title_from_url(record.url)
            record.title = self.own(title, content, named, linked, path)
        return record.title != title

    def own(self, title: str, markdown: str, named: str | None, *last: str | None) -> str:
        """Return the title of a page that was seen: `title`, unless the site's pages share it.

        Then it is the heading right below that of the site, the first `<h1>` that says something
        else, `named` (by llms.txt), the first heading that no other pages have, or the first of
        `last` (by links and URL).
        """
        is_starts = title == self.start and self.pages > 1 and self._titles[title] > 1
        if not is_starts and not self.is_shared(title):
            return title
        headings = list(_headings(markdown))
        below = (
            text
            for (_, above, _), (level, text, follows) in pairwise(headings)
            if above == title and follows and level <= 2 and not self._is_common(text)
        )
        right_below = next(
            below, None
        )  # the heading that follows the site's title, nothing in between
        if not self.is_shared(title):
            return right_below or title
        candidates = [
            right_below,
            *(text for level, text, _ in headings if level == 1 and text != title),
            named,
            *(text for level, text, _ in headings if level < 5 and not self._is_common(text)),
            *last,
        ]
        own = (name for name in candidates if name and name != title and not self.is_shared(name))
        return next(own, title)

    def _is_common(self, heading: str) -> bool:
        return self._headings[heading] >= max(LEAST_TITLES, MANY * self.pages)

    def as_list(self) -> list[str]:
        """Return what the store remembers: the titles that are shared."""
        shared = [
            title for title, _ in self._titles.most_common(LEARNED_TITLES) if self.is_shared(title)
        ]
        return list(dict.fromkeys([*self._known, *shared]))[:LEARNED_TITLES]

    def remember(self, data: object) -> None:
        """Take over what an earlier run learned."""
        if isinstance(data, list):
            self._known = [title for title in data if isinstance(title, str)][:LEARNED_TITLES]


def _count(counts: Counter[str], text: str) -> None:
    counts[text[:200]] += 1
    if len(counts) > KEPT_TITLES:
        for rare, number in counts.most_common()[: -KEPT_TITLES // 2 : -1]:
            if number < LEAST_TITLES:
                del counts[rare]
        for rare, _ in (
            counts.most_common()[KEPT_TITLES // 2 :] if len(counts) > KEPT_TITLES else ()
        ):
            del counts[rare]


def _headings(markdown: str) -> Iterable[tuple[int, str, bool]]:
    """Yield (level, text, nothing stands between it and the heading before) of the first headings
    of a document.
    """
    follows = fence = False
    for line in markdown.split("\n", _LOOKED_AT)[:_LOOKED_AT]:
        if line.startswith(("```", "~~~")):
            fence = not fence
        found = None if fence or not line.startswith("#") else _TITLE_HEADING.match(line)
        if found:
            text = " ".join(_MARKS.sub("", found[2]).split())
            yield len(found[1]), _NUMBER.sub("", text)[:200] or text[:200], follows
        if line.strip():
            follows = found is not None
