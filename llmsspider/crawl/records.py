"""What the store keeps of a page that was read: the record of which its `Document` is made, or why it is none."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Self
from urllib.parse import unquote, urlsplit

import orjson

from llmsspider.content import markdown
from llmsspider.crawl.bot_walls import has_end
from llmsspider.crawl.known_pages import KnownPages
from llmsspider.crawl.pages import PageResponse, PageResult, with_valid_urls
from llmsspider.crawl.settle import Drop
from llmsspider.items import EXTRACTOR_VERSION, DiscoveredBy, LlmsEntry, Page, PageMeta, Section, raw_hash
from llmsspider.site.discovered import FullText
from llmsspider.site.llmstxt import LlmsTxt
from llmsspider.store import PageRecord
from llmsspider.store import Reading as StoredReading
from llmsspider.web.outcomes import says_unchanged
from llmsspider.web.rights import of_page
from llmsspider.web.stats import Filtered, FilterReason
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
        self, url: str, page: Page, body_hash: str, entry: LlmsEntry | None = None, title: str | None = None
    ) -> PageRecord:
        """Return what the store keeps of any page; of where it came from, its URL and the time."""
        meta = page.meta
        return PageRecord(
            id=document_id(self.source, url),
            identity=identity(url),
            url=url,
            fetched_url=url,
            title=meta.title or title or (entry.title if entry else None) or title_from_url(url),
            description=meta.description or (entry.description if entry else None),
            language=meta.language,
            content=page.markdown,
            raw_hash=body_hash,
            llms=entry,
            links=page.links,
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
        """Return the record of a page that was fetched: its depth, its validators and what its headers say of it."""
        headers = answered.headers
        tokens = headers.get("x-markdown-tokens", "")
        record = self.of_page(answered.page_url, result.page, answered.raw_hash, entry)
        record.origin, record.discovered_by, record.depth = result.origin, by, depth
        record.fetched_url, record.fetched_at = answered.fetched_url, answered.fetched_at
        if not record.language:
            record.language = headers.get("content-language", "").partition(",")[0].strip() or None
        record.status, record.mime_type = answered.status, answered.mime_type
        if answered.is_whole:
            record.etag, record.last_modified = headers.get("etag"), headers.get("last-modified")
        record.validators_url, record.accept = answered.fetched_url, answered.accept
        record.declared = [
            list(one)
            for one in of_page(
                {name: [value] for name, value in headers.items()},
                result.page.meta.robots,
                result.page.meta.licences,
                url=answered.page_url,
            )
        ]
        record.markdown_tokens = int(tokens) if tokens.isdigit() else None
        if answered.is_form_of(result.origin):
            record.has_end_tag = has_end(answered.body, answered.kind)
        return record

    def of_part(self, record: PageRecord, after: str, page: Page) -> PageRecord:
        """Return the record of a document that was made of the same body as another page; `after` follows its URL."""
        url, body = record.url + after, page.markdown.encode("utf-8", "surrogatepass")
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
        """Return the record of a page that a full-text file holds; the file's validators are not the page's."""
        record = self.of_page(url, page, body_hash, entry, title)
        record.fetched_url, record.origin, record.discovered_by = file.url, "llms-full", "llms-full.txt"
        record.status, record.mime_type = file.answer.status, file.answer.content_type
        return record

    def of_index(self, file: LlmsTxt) -> PageRecord:
        """Return the record of an llms.txt that is a document itself; such a crawl does not follow its links."""
        page = with_valid_urls(markdown.read(file.text, file.url))
        record = self.of_page(file.url, page, raw_hash(file.text.encode("utf-8", "surrogatepass")))
        record.origin, record.discovered_by, record.status = "llms-txt", "llms.txt", 200
        record.title, record.description, record.language = file.title or record.title, file.summary, None
        record.follow = []
        return record


def utc_now() -> str:
    """Return the time as `Document.fetched_at` has it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def title_from_url(url: str) -> str:
    """Return the last path segment in words, or the host.

    >>> title_from_url("https://e.com/guide/getting-started.html"), title_from_url("https://e.com/")
    ('getting started', 'e.com')
    """
    parts = urlsplit(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2])
    name = name.removesuffix(".html").removesuffix(".htm").removesuffix(".md")
    return name.replace("-", " ").replace("_", " ").strip() or parts.netloc


# What was read of pages that are no documents, and of the start page: used again where they are unchanged.

KEPT: frozenset[FilterReason] = frozenset(
    {"ai-opt-out", "canonical", "empty", "listing", "noindex", "redirect", "unsupported-type"}
)
"""Reasons that depend on nothing but the page, its address and the settings: what was read of such pages is kept."""

_META = (
    "canonical", "describedby", "lists_only", "listing", "markdown_alternate", "refresh", "robots", "tags",
)  # fmt: skip
"""The fields of `PageMeta` that are kept: they decide whether a page is a document, and where it leads."""


@dataclass(slots=True, frozen=True)
class Reading:
    """What was read of a page that is no document."""

    why: Drop
    meta: PageMeta  # only the fields in `_META` are stored
    follow: list[str]  # URLs; empty for a page whose links are not followed
    raw_hash: str  # the SHA-256 of the body in hexadecimal

    def page(self) -> PageResult:
        """Return the page, without its Markdown and its own links."""
        is_file = self.why.reason == "unsupported-type"
        filtered = Filtered(self.why.reason, self.why.rule) if is_file else None
        return PageResult(Page("", [], self.follow, self.meta), "html", filtered)

    def to_json(self) -> bytes:
        """Return the reading as the JSON that the store keeps."""
        meta = {name: getattr(self.meta, name) for name in _META} | {"robots": sorted(self.meta.robots)}
        kept = {"why": [*self.why], "meta": meta, "follow": self.follow, "raw_hash": self.raw_hash}
        return orjson.dumps(kept)

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Return the reading that `to_json` wrote."""
        found = orjson.loads(data)
        meta = PageMeta(**found["meta"] | {"robots": frozenset(found["meta"]["robots"])})
        return cls(Drop(*found["why"]), meta, found["follow"], found["raw_hash"])


class Readings:
    """Keeps what was read of pages that are no documents, with the validators of their responses.

    It is used again with the same extractor, converter and `settings` only (those that decide what is a document, as
    one line), and where the page is listed as it was. `note_false_304` takes the URL of a page that says something
    else under unchanged validators.
    """

    def __init__(
        self, known: KnownPages, settings: str = "", note_false_304: Callable[[str], None] | None = None
    ):
        self._known = known
        self._settings = settings
        self._note_false_304 = note_false_304

    def restored(self, answer: PageResponse, *, listed: bool) -> tuple[Reading, dict[str, str]] | None:
        """Return what was read of a page that is as it was, and its headers; None where it is to be read anew."""
        if not self._known.trusted:
            return None
        found = self._known.reading(answer.fetched_url, answer.accept, read_by=self.read_by(listed=listed))
        if found is None:
            return None
        reading = Reading.from_json(found.body)
        if answer.status != 304 and reading.raw_hash != answer.raw_hash:
            return None
        kind = {name: found.headers[name] for name in ("content-type",) if name in found.headers}
        return reading, {**found.headers, **answer.headers, **kind}  # a 304 describes no body

    def keep(self, why: Drop, page: PageResult, answer: PageResponse, *, listed: bool) -> None:
        """Keep what was read of a page, if a 304 for the page's own address can stand for it."""
        meta, url, accept = page.page.meta, answer.fetched_url, answer.accept
        is_plain = answer.is_whole and answer.status == 200 and url == answer.page_url
        is_whole = not (page.was_stub or page.page.parts or meta.is_shell or meta.api_files is not None)
        if why.reason not in KEPT or not is_plain or not is_whole or page.origin not in {"html", "text"}:
            return
        follow = page.page.follow if why.reason in {"listing", "empty"} else []
        reading = Reading(why, meta, follow, answer.raw_hash)
        read_by = self.read_by(listed=listed)
        before = self._known.reading(url, accept, read_by=read_by)
        if before is not None and says_unchanged(before.etag, before.last_modified, answer.headers):
            stored = Reading.from_json(before.body)
            if (stored.why, stored.follow) != (why, follow) and self._note_false_304 is not None:
                self._note_false_304(url)
        kept = StoredReading(url, accept, None, None, answer.headers, reading.to_json(), read_by, why.reason)
        self._known.keep_reading(kept)

    def start_page(self, body: bytes, url: str) -> Page | None:
        """Return what discovery needs of a start page, as an earlier run read it; None where its body is another."""
        if not self._known.trusted:
            return None
        found = self._known.reading(url, None, read_by=self._start_read_by)
        kept = json.loads(found.body) if found is not None else {}
        if kept.get("raw_hash") != raw_hash(body):
            return None
        section = Section(*kept["section"]) if kept["section"] else None
        return Page("", [], kept["follow"], PageMeta(hreflang=kept["hreflang"], section=section))

    def keep_start_page(self, page: Page, body: bytes, url: str) -> None:
        """Keep what discovery needs of a start page: its links, its translations, the section that it names."""
        section = page.meta.section
        kept = {
            "raw_hash": raw_hash(body),
            "follow": page.follow,
            "hreflang": page.meta.hreflang,
            "section": [section.path, section.why] if section is not None else None,
        }
        data = json.dumps(kept).encode()  # unlike orjson it takes any text
        self._known.keep_reading(StoredReading(url, None, body=data, read_by=self._start_read_by))

    @property
    def _start_read_by(self) -> str:
        return f"{self._known.extractor_version} start page"

    def read_by(self, *, listed: bool) -> str:
        """Return how pages that are no documents are read."""
        return f"{self._known.extractor_version} {self._settings} listed={listed}"
