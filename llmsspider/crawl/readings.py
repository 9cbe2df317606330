"""What was read of pages that are no documents, and of the start page: used again where they are unchanged."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import orjson

from llmsspider.crawl.known_pages import says_unchanged
from llmsspider.crawl.pages import PageResult
from llmsspider.crawl.settle import Drop
from llmsspider.items import Page, PageMeta, Section, raw_hash
from llmsspider.store import Reading as StoredReading
from llmsspider.web.stats import Filtered

if TYPE_CHECKING:
    from llmsspider.crawl.pages import PageResponse
    from llmsspider.crawl.source_memory import SourceMemory
    from llmsspider.crawl.state import RunState
    from llmsspider.web.stats import FilterReason

KEPT: frozenset[FilterReason] = frozenset(
    {"ai-opt-out", "canonical", "empty", "listing", "noindex", "redirect", "unsupported-type"}
)
"""Reasons that depend on nothing but the page, its address and the settings: what was read of such pages is kept."""

_META = (
    "canonical",
    "describedby",
    "lists_only",
    "listing",
    "markdown_alternate",
    "refresh",
    "robots",
    "tags",
)
"""The fields of `PageMeta` that are kept: they decide whether a page is a document, and where it leads."""


@dataclass(slots=True, frozen=True)
class Reading:
    """What was read of a page that is no document.

    Attributes:
        why: why it is none.
        meta: its metadata; only the fields in `_META` are stored.
        follow: the URLs to follow; empty for a page whose links are not followed.
        raw_hash: the SHA-256 of the body in hexadecimal.
    """

    why: Drop
    meta: PageMeta
    follow: list[str]
    raw_hash: str

    @property
    def textless(self) -> Drop | None:
        """`why` if the page lacks text, else None."""
        return self.why if self.why.reason == "empty" else None

    def page(self) -> PageResult:
        """Return the page, without its Markdown and its own links."""
        is_file = self.why.reason == "unsupported-type"
        filtered = Filtered(self.why.reason, self.why.rule) if is_file else None
        return PageResult(Page("", [], self.follow, self.meta), "html", filtered)

    def to_json(self) -> bytes:
        """Return the reading as the JSON that the store keeps."""
        meta = asdict(self.meta)
        kept = {name: meta[name] for name in _META} | {"robots": sorted(self.meta.robots)}
        return orjson.dumps(
            {"why": [*self.why], "meta": kept, "follow": self.follow, "raw_hash": self.raw_hash}
        )

    @classmethod
    def from_json(cls, data: bytes) -> Reading:
        """Return the reading that `to_json` wrote."""
        found = orjson.loads(data)
        robots = frozenset(found["meta"].pop("robots"))
        meta = PageMeta(**found["meta"], robots=robots)
        return cls(Drop(*found["why"]), meta, found["follow"], found["raw_hash"])


class Readings:
    """Keeps what was read of pages that are no documents, with the validators of their responses.

    It is used again only with the same extractor, converter and settings, and for a page that is listed if it was
    listed then; otherwise the page is read anew. Kept are complete responses with status 200 at the page's own URL.

    Args:
        run: the run.
        memory: what runs of the source remember.
    """

    def __init__(self, run: RunState, memory: SourceMemory):
        self._run = run
        self._memory = memory

    def restored(self, answer: PageResponse, *, listed: bool) -> tuple[Reading, dict[str, str]] | None:
        """Return what was read of a page whose answer says that it is as it was, and the headers it came with.

        None for a page that is not known, has changed, or is to be read anew.
        """
        run = self._run
        read_by = self.read_by(listed=listed)
        if read_by is None or not run.known.trusted:
            return None
        found = run.known.reading(answer.fetched_url, answer.accept, read_by=read_by)
        if found is None:
            return None
        reading = Reading.from_json(found.body)
        if answer.status != 304 and reading.raw_hash != raw_hash(answer.body):
            return None
        return reading, {**found.headers, **answer.headers}

    def keep(self, why: Drop, page: PageResult, answer: PageResponse, *, listed: bool) -> None:
        """Keep what was read of a page, if its response may be kept (`_is_kept`).

        A page that says something else under unchanged validators gets no more validators (`note_false_304`).
        """
        if not self._is_kept(why, page, answer):
            return
        run, url, accept = self._run, answer.fetched_url, answer.accept
        follow = page.page.follow if why.reason in {"listing", "empty"} else []
        reading = Reading(why, page.page.meta, follow, raw_hash(answer.body))
        read_by = self._read_by(listed=listed)
        before = run.known.reading(url, accept, read_by=read_by) if self._may_know else None
        if before is not None and _is_false(before, reading, answer):
            self._memory.note_false_304(url)
        kept = StoredReading(url, accept, None, None, answer.headers, reading.to_json(), read_by, why.reason)
        run.known.keep_reading(kept)

    def start_page(self, body: bytes, url: str) -> Page | None:
        """Return what discovery needs of a start page, as an earlier run read it; None where its body is another."""
        run = self._run
        if not self._may_know or not run.known.trusted:
            return None
        found = run.known.reading(url, None, read_by=self._start_read_by)
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
        self._run.known.keep_reading(StoredReading(url, None, body=data, read_by=self._start_read_by))

    @property
    def _start_read_by(self) -> str:
        """What the links and metadata of a start page are read with."""
        return f"{self._run.records.extractor_version} start page"

    @property
    def _may_know(self) -> bool:
        """True if this is not the first run of the source, so that something may have been kept."""
        return self._memory.full_check.number > 1

    @staticmethod
    def _is_kept(why: Drop, page: PageResult, answer: PageResponse) -> bool:
        """Say whether a 304 for the page's own address can stand for what was read."""
        meta = page.page.meta
        return (
            why.reason in KEPT
            and answer.is_whole
            and answer.status == 200
            and answer.fetched_url == answer.page_url
            and page.origin in {"html", "text"}
            and not (page.was_stub or page.page.parts or meta.is_shell or meta.api_files is not None)
        )

    def read_by(self, *, listed: bool) -> str | None:
        """Return how pages that are no documents are read; None in the first run, which knows of none."""
        return self._read_by(listed=listed) if self._may_know else None

    def _read_by(self, *, listed: bool) -> str:
        """Return the extractor, and the settings that decide whether a page is a document, as one line."""
        arguments, config = self._run.arguments, self._run.config
        settings = {
            "listings": arguments.listings,
            "render": arguments.render,
            "ai_optout": config.obey_ai_optout,
            "noindex": config.obey_noindex,
            "listed": listed,
        }
        named = " ".join(f"{name}={value}" for name, value in settings.items())
        return f"{self._run.records.extractor_version} {named}"


def _is_false(before: StoredReading, reading: Reading, answer: PageResponse) -> bool:
    """Say whether a page differs from the stored reading although its validators say that it is unchanged."""
    stored = Reading.from_json(before.body)
    is_other = (stored.why, stored.follow) != (reading.why, reading.follow)
    return is_other and says_unchanged(before.etag, before.last_modified, answer.headers)
