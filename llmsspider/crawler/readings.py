"""What was read of pages that are no documents, and of the start page: used again where they are
unchanged. No Scrapy.
"""

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Self

import orjson

from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.pages import PageResponse, PageResult
from llmsspider.crawler.settle import Drop
from llmsspider.items import Page, PageMeta, Section, raw_hash
from llmsspider.store import Reading as StoredReading
from llmsspider.web.outcomes import says_unchanged
from llmsspider.web.stats import FilterReason

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
        meta = {name: getattr(self.meta, name) for name in _META}
        kept = {"why": [*self.why], "meta": meta, "follow": self.follow, "raw_hash": self.raw_hash}
        return orjson.dumps(kept, default=sorted)  # of sets

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
        if why.reason not in KEPT or not _may_stand_for(answer, page):
            return
        follow = page.page.follow if why.reason in {"listing", "empty"} else []
        reading = Reading(why, meta, follow, answer.raw_hash)
        read_by = self.read_by(listed=listed)
        before = self._known.reading(url, accept, read_by=read_by)
        if before is not None and says_unchanged(before.etag, before.last_modified, answer.headers):
            stored = Reading.from_json(before.body)
            is_other = stored.raw_hash != answer.raw_hash
            if is_other and (stored.why, stored.follow) != (why, follow):
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
        meta = PageMeta(hreflang=kept["hreflang"], section=section, language=kept.get("language"))
        return Page("", [], kept["follow"], meta)

    def keep_start_page(self, page: Page, body: bytes, url: str) -> None:
        """Keep what discovery needs of a start page: its links, its translations, the section that
        it names.
        """
        section = page.meta.section
        found = {
            "raw_hash": raw_hash(body),
            "follow": page.follow,
            "hreflang": page.meta.hreflang,
            "language": page.meta.language,
            "section": section and astuple(section),
        }
        data = json.dumps(found).encode()  # unlike orjson it takes any text
        read_by = self._known.extractor_version + START_PAGE
        self._known.keep_reading(StoredReading(url, None, body=data, read_by=read_by))

    def read_by(self, *, listed: bool) -> str:
        """Return how pages that are no documents are read."""
        return f"{self._known.extractor_version} {self._settings} listed={listed}"


def _may_stand_for(answer: PageResponse, page: PageResult) -> bool:
    """Say whether what was read of a page is all that its own address answers with."""
    meta = page.page.meta
    is_plain = answer.is_whole and answer.status == 200 and answer.fetched_url == answer.page_url
    is_more = page.was_stub or page.page.parts or meta.is_shell or meta.api_files is not None
    return is_plain and not is_more and page.origin in {"html", "text"}
