"""The values the page store takes and gives: sources, runs, pages.

Plain data, no database in sight.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson

from llmsspider.content.markdown.commonmark import code_languages
from llmsspider.items import (
    FIELDS,
    Change,
    ChangeKind,
    Digest,
    DiscoveredBy,
    Document,
    Link,
    LlmsEntry,
    OpenDocument,
    Origin,
    compress,
    content_hash,
    decompress,
    packed,
)
from llmsspider.web.page_forms import bare_type
from llmsspider.web.urls import identity_key

Status = Literal["PENDING", "CRAWLING", "INDEXED", "UPDATING", "STOPPED", "ERROR", "lost"]
"""State of a source: never run; first run going; documents are there; a later run going; the last
run
failed or left nothing; the process of the last run died without finishing it."""

RunKind = Literal["crawl", "refresh", "page"]

Parts = frozenset[Literal["content", "links"]]
"""Which of the large parts of pages are read; `links` are those of the content and those to follow.
"""

WHOLE: Parts = frozenset({"content", "links"})
CONTENT: Parts = frozenset({"content"})
LINKS: Parts = frozenset({"links"})
OUTLINE: Parts = frozenset()

Json = dict[str, object]
"""An object that `json` can write."""


@dataclass(slots=True)
class SourceRecord:
    """One source: what a later run needs to crawl it again.

    `arguments` holds only what the user keeps (`save=true`). `says` has title, summary and notes of
    its llms.txt, `rights` what the files of its hosts declare (`web.rights`). `status`, `pages`,
    `undelivered_since` (see `runs.undelivered_since`), `crawled_at` and `last_run` (end and id of
    the last run that has ended) and `last_seq` (of the last change) are derived when sources are
    listed and ignored when the record is written.
    """

    name: str
    url: str
    llms_txt: str | None = None
    scope: str = "auto"
    arguments: Json = field(default_factory=dict)
    says: Json = field(default_factory=dict)
    rights: Json = field(default_factory=dict)
    extractor_version: str = ""
    created_at: datetime | None = None
    status: Status = "PENDING"
    pages: int = 0
    undelivered_since: int | None = None
    crawled_at: datetime | None = None
    last_seq: int = 0
    last_run: str = ""

    @property
    def header(self) -> dict[str, str | None]:
        """The llms.txt's text on the source: `title`, `summary`, `notes` (Markdown); None where it
        has none.
        """
        texts = {name: text for name, text in self.says.items() if isinstance(text, str)}
        return {name: texts.get(name) for name in ("title", "summary", "notes")}

    @property
    def introduction(self) -> str:
        """Title, summary and notes of the source as the beginning of a Markdown file; empty where
        there is no title.
        """
        header = self.header
        if not header["title"]:
            return ""
        parts = [f"# {' '.join(header['title'].split())}"]
        parts += [f"> {' '.join(header['summary'].split())}"] if header["summary"] else []
        parts += [header["notes"].strip()] if header["notes"] else []
        return "\n\n".join(parts) + "\n\n"


@dataclass(slots=True, frozen=True)
class RunRecord:
    """One run of a source.

    `number` counts the runs of the source from 1. `seq_before` is the last change known when the
    run began: `scrapy export SOURCE --since <seq_before>` replays what the run changed.
    `predecessor_clean` is False when the run before this one died without finishing; `concurrent`
    is True when another run of the source was going. `lost` is True for an unfinished run whose
    process died or sends no heartbeat. `outcome` of one that goes is how it was asked to end.
    """

    id: str
    number: int
    source: str
    kind: RunKind
    arguments: Json
    pid: int
    host: str
    started_at: datetime
    heartbeat_at: datetime
    seq_before: int = 0
    predecessor: str | None = None
    predecessor_clean: bool = True
    concurrent: bool = False
    finished_at: datetime | None = None
    outcome: str | None = None
    complete: bool = False
    why: str | None = None
    counts: Json = field(default_factory=dict)
    filtered: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    lost: bool = False

    @property
    def is_going(self) -> bool:
        """Whether a process is at it."""
        return self.finished_at is None and not self.lost


@dataclass(slots=True, frozen=True)
class PageState:
    """What is known of a stored page before it is requested again; small, since all are held at
    once.

    Hashes are 32 raw bytes, or None.
    """

    key: bytes
    url: str
    fetched_url: str
    validators_url: str
    accept: str | None
    etag: str | None
    last_modified: str | None
    raw_hash: bytes | None
    content_hash: bytes | None
    extractor_version: str
    origin: Origin
    depth: int
    has_end_tag: bool = False
    source_hash: bytes | None = None  # none where it is the same as `content_hash`

    @property
    def markdown_hash(self) -> bytes | None:
        """The hash of its Markdown before pipelines."""
        return self.source_hash or self.content_hash

    @property
    def is_part(self) -> bool:
        """Whether the page is one of several documents that were made of one body
        (`items.Page.parts`).
        """
        return self.origin == "text" and self.fetched_url != self.url == self.validators_url

    @property
    def whole_url(self) -> str:
        """Of a part: the address of the page of the body."""
        return self.url[: max(self.url.rfind("?"), self.url.rfind("&"))]

    @property
    def own_url(self) -> str:
        """The URL of this page alone: not that of a file with many pages."""
        return self.url if self.origin == "llms-full" else self.fetched_url


@dataclass(slots=True)
class PageRecord:
    """A page as the store keeps it: the fields of `Document` that are not of a run, and what a
    recrawl needs.

    `identity` joins the spellings of one page. The three hashes are SHA-256 in hex: `raw_hash` of
    the body that was sent, `source_hash` of the Markdown made of it, `content_hash` of `content`,
    which pipelines may have altered. `extra` holds the fields that pipelines added, `declared` what
    the page itself declares of its use (`web.rights`), `change_kinds` what its last change changed,
    where it is known. `source_hash` is set where a record comes from the store, and once it is on
    its way through the pipelines. `follow` is every URL the page links to, for the next crawl.
    `heading_ids` holds text and id of each heading that has an id in the page's HTML.
    `validators_url` and `accept` are the URL and representation that `etag` and `last_modified`
    belong to. `content` is None on a tombstone. `has_end_tag` says that its HTML had `</html>`, its
    Markdown a last line end; None where it was neither. `digest` is what a worker derived from the
    content that it made; it is not stored.
    """

    id: str
    identity: str
    url: str
    fetched_url: str
    title: str | None = None
    description: str | None = None
    language: str | None = None
    content: str | None = None
    content_hash: str | None = None
    source_hash: str | None = None
    raw_hash: str | None = None
    origin: Origin = "html"
    discovered_by: DiscoveredBy = "link"
    depth: int = 0
    llms: LlmsEntry | None = None
    links: list[Link] = field(default_factory=list)
    follow: list[str] = field(default_factory=list)
    status: int | None = None
    mime_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    validators_url: str | None = None
    accept: str | None = None
    markdown_tokens: int | None = None
    extractor_version: str = ""
    fetched_at: str = ""
    moved_from: list[str] = field(default_factory=list)
    has_end_tag: bool | None = None
    extra: Json = field(default_factory=dict)
    declared: list[list[object]] = field(default_factory=list)
    change_kinds: list[ChangeKind] = field(default_factory=list)
    digest: Digest | None = field(default=None, repr=False, compare=False)
    heading_ids: list[tuple[str, str]] = field(default_factory=list)
    key: bytes = field(init=False, repr=False)  # the page's key in the store

    def __post_init__(self) -> None:
        self.key = identity_key(self.identity)

    @property
    def code_languages(self) -> list[str]:
        """The languages of the code blocks in `content`, see `commonmark.code_languages`; a new
        list each time.
        """
        return (
            list(self._digest.code_languages)
            if self._digest
            else code_languages(self.content or "")
        )

    @property
    def text(self) -> str:
        """Its content, empty on a tombstone."""
        return self.content or ""

    @property
    def hash_of_content(self) -> str:
        """The SHA-256 in hex of `content` as it is now."""
        return self._digest.content_hash if self._digest else content_hash(self.content or "")

    @property
    def frame(self) -> bytes | None:
        """The content as it is stored (`items.packed`); None on a tombstone."""
        if self.content is None:
            return None
        return self._digest.frame if self._digest else packed(self.content)

    @property
    def _digest(self) -> Digest | None:
        return (
            self.digest if self.digest is not None and self.digest.content is self.content else None
        )

    def document(self, *, source: str, run: str, seq: int | None, change: Change) -> Document:
        """The page as it leaves an export; a deleted one has nothing of its content, and no added
        fields.
        """
        kind = OpenDocument if self.extra and change != "deleted" else Document
        made = kind(source=source, run=run, seq=seq, change=change, **self._own_fields())
        if change == "deleted":
            clear_content(made)
        elif isinstance(made, OpenDocument):
            vars(made).update(self.extra)
        return made

    def item(self, *, source: str, run: str, change: Change, confirmed: bool = False) -> PageItem:
        """The page as its document and this record travel through the pipelines, see `PageItem`."""
        made = PageItem(source=source, run=run, seq=None, change=change, **self._own_fields())
        made.record = self
        made.confirmed = confirmed
        made.stored = self.source_hash is not None
        if self.source_hash is None:
            self.source_hash = self.hash_of_content
        vars(made).update(self.extra)
        return made

    def _own_fields(self) -> dict[str, Any]:
        of_run = {"source", "run", "seq", "change", "rights"}
        return {name: getattr(self, name) for name in FIELDS if name not in of_run}


PAGE_COLUMNS = {one.name for one in fields(PageRecord)} - {
    "id",
    "content",
    "links",
    "follow",
    "heading_ids",
    "change_kinds",
    "digest",
    "key",
}
"""The fields of a page's record that are columns of the same name."""


class PageItem(OpenDocument):
    """A document on its way through the pipelines, with what the store keeps of its page, which no
    feed has.

    `confirmed` is True for a page that did not change, `stored` for content that comes from the
    store: it has been through the pipelines before. A tombstone has the content of the deleted
    page, for pipelines to see, until it is deleted in the store.
    """

    __slots__ = ("confirmed", "record", "stored")

    record: PageRecord
    confirmed: bool
    stored: bool


DERIVED = tuple(
    one for one in fields(Document) if isinstance(getattr(PageRecord, one.name, None), property)
)
"""The fields of documents that follow from `content`: properties of `PageRecord`."""


def derive_fields(document: Document, record: PageRecord) -> None:
    """Set the fields of a document that follow from its content, once that is what is stored."""
    for one in DERIVED:
        setattr(document, one.name, getattr(record, one.name))


def clear_content(document: Document) -> None:
    """Make a document one that has nothing of its content: a tombstone."""
    document.content = None
    document.content_hash = None
    document.links = []
    for one in DERIVED:
        empty = one.default if one.default_factory is MISSING else one.default_factory()
        setattr(document, one.name, empty)


@dataclass(slots=True, frozen=True)
class StoredPage:
    """A page read for an export: the record, and its last change (number, kind, id of the run)."""

    record: PageRecord
    seq: int
    change: Change
    run: str
    reason: str | None = None


@dataclass(slots=True, frozen=True)
class Version:
    """An earlier content of a page, its SHA-256 in hex, the change (`seq`) and the number of the
    run it came with.
    """

    seq: int
    run: int
    title: str | None
    content: str
    content_hash: str | None
    extractor_version: str


@dataclass(slots=True, frozen=True)
class PageHistory:
    """A page that changed: as it is, whether its first change since made it; its earlier contents,
    oldest first.
    """

    now: StoredPage
    was_new: bool
    versions: tuple[Version, ...]


@dataclass(slots=True, frozen=True)
class Reading:
    """What was read of a URL that is no document: an llms.txt, a sitemap, robots.txt, a page that
    was filtered.

    It belongs to exactly this URL and `Accept` value. `headers` are those that say what the body
    is, with lower-case names; `body` is empty where only the validators are wanted. `read_by` is
    empty for a body as it came; for what was read of it, it names the version and the settings that
    it was read with. `why` says why a page is no document. An asset is kept with `raw_hash`, the
    SHA-256 of its body in hex; without, it is none any more.
    """

    url: str
    accept: str | None
    etag: str | None = None
    last_modified: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    read_by: str = ""
    why: str | None = None
    raw_hash: str | None = None

    @property
    def key(self) -> bytes:
        """Its key in the store."""
        return identity_key(
            "\n".join(filter(None, (f"{self.url}\n{self.accept or ''}", self.read_by)))
        )

    @property
    def media_type(self) -> str:
        """The media type that its headers name; empty where they name none."""
        return bare_type(self.headers.get("content-type"))

    @property
    def path(self) -> str:
        """Where an asset lies below a folder of Markdown: its name is made of its content."""
        suffix = PurePosixPath(urlsplit(self.url).path).suffix.lower()
        usual = mimetypes.guess_all_extensions(self.media_type, strict=False)
        if suffix not in usual and (usual or not _SUFFIX.fullmatch(suffix)):
            suffix = usual[0] if usual else ""
        return f"assets/{(self.raw_hash or '')[:20]}{suffix}"

    @property
    def frame(self) -> bytes:
        """The body as it is stored."""
        return compress(self.body)


_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")
ASSET = "asset"
"""`read_by` of the readings that are files beside the pages."""


@dataclass(slots=True, frozen=True)
class PageError:
    """A page of a run that failed: the kind of error, its message, and the HTTP status where there
    was an answer.
    """

    url: str
    kind: str
    reason: str
    status: int | None


@dataclass(slots=True, frozen=True)
class FilteredUrl:
    """A URL that a run filtered: the reason (a stat key's last part) and the rule that said so."""

    url: str
    reason: str
    rule: str | None


def unpacked(value: bytes | None) -> Any:
    """What `Packed` was given; of a long list only when it is wanted."""
    return None if value is None else orjson.loads(decompress(value))
