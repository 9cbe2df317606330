"""What each view shows, read from the stores: values for the templates, no HTML.

A library is for one thread; so are these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import urlsplit

from llmsspider.answers.library import Library
from llmsspider.answers.ranking import SearchResult
from llmsspider.answers.words import parse_query
from llmsspider.content.markdown.chunks import Chunk, chunks, tokens
from llmsspider.diff.compare import Hunk, blocks, compare
from llmsspider.diff.source import SourceChanges, changes_since
from llmsspider.errors import SearchError
from llmsspider.items import Link
from llmsspider.output.status import RunStatus, stored_status
from llmsspider.store import LINKS, OUTLINE, PageRecord, RunRecord, SourceRecord, Version

NIGHTS = 30
"""Runs that the bar of a source shows."""
LISTED = 500
"""Pages of a source that are listed at a time."""
MAX_LINKED_FROM = 3_000
"""Pages of a source up to which it is looked which of them link to a page."""
SHOWN_PAGES = 200
"""Pages of a night that are shown with their differences."""

FORMS = {
    "markdown": "the author's Markdown file of the page",
    "negotiated": "Markdown that the site gave for Accept: text/markdown",
    "llms-full": "the site's llms-full.txt",
    "llms-txt": "an llms.txt, taken as the document",
    "html": "its HTML, converted",
    "rendered": "its HTML as a browser drew it, converted",
    "text": "a text file that the site lists",
}
"""How a page came, by `Document.origin`."""


@dataclass(slots=True, frozen=True)
class Night:
    """One run of a source: what it changed, and its height in the bar of nights, 0 to 1."""

    run: RunRecord
    new: int
    changed: int
    deleted: int
    height: float

    @property
    def state(self) -> str:
        """How it ended: going, lost, failed, partial, changed or quiet."""
        if self.run.finished_at is None:
            return "lost" if self.run.lost else "going"
        if self.run.outcome != "finished" and not str(self.run.outcome).startswith("closespider"):
            return "failed"
        if not self.run.complete:
            return "partial"
        return "changed" if self.new or self.changed or self.deleted else "quiet"

    @property
    def words(self) -> str:
        """What happened, in a few words."""
        parts = ((self.new, "new"), (self.changed, "changed"), (self.deleted, "deleted"))
        said = ", ".join(f"{number} {what}" for number, what in parts if number)
        return said or {"quiet": "no change"}.get(self.state, self.state)


@dataclass(slots=True, frozen=True)
class SourceView:
    """A source with its last nights, oldest first."""

    record: SourceRecord
    nights: Sequence[Night]
    status: RunStatus | None

    @property
    def is_going(self) -> bool:
        """Whether a crawl of it goes, whoever started it."""
        return self.status is not None and self.status.state == "going"

    @property
    def last(self) -> Night | None:
        """The newest night."""
        return self.nights[-1] if self.nights else None


def sources(library: Library) -> list[SourceView]:
    """Return all sources with their nights."""
    return [source(library, record) for record in library.records()]


def source(library: Library, record: SourceRecord) -> SourceView:
    """Return one source with its nights."""
    with closing(library.store(record.name)) as store:
        runs = store.runs()
        status = stored_status(store, runs[-1]) if runs else None
        return SourceView(record, _nights(runs), status)


def record_of(library: Library, name: str) -> SourceRecord:
    """Return the record of a source; raises `SearchError` where there is none of that name."""
    found = next((one for one in library.records() if one.name == name), None)
    if found is None:
        raise SearchError(f"no source is called {name[:100]!r}")
    return found


def _nights(runs: Sequence[RunRecord]) -> list[Night]:
    counted = [(run, _changes_of(run)) for run in runs[-NIGHTS:]]
    most = max((sum(numbers) for _, numbers in counted), default=0) or 1
    return [
        Night(run, new, changed, deleted, (new + changed + deleted) / most)
        for run, (new, changed, deleted) in counted
    ]


def _changes_of(run: RunRecord) -> tuple[int, int, int]:
    """Return how many pages a run found new, changed and deleted."""
    given = run.counts.get("changes")
    changes = given if isinstance(given, dict) else {}
    return changes.get("new", 0), changes.get("changed", 0), changes.get("deleted", 0)


@dataclass(slots=True, frozen=True)
class PageLine:
    """A page in a list."""

    title: str
    url: str
    page_id: str
    section: str


def pages(library: Library, name: str, offset: int = 0) -> tuple[list[PageLine], int]:
    """Return pages of a source from `offset` on, at most `LISTED`, and how many there are."""
    with closing(library.store(name)) as store:
        records = [page.record for page in store.iter_pages("url", OUTLINE)]
    lines = [
        PageLine(one.title or one.url, one.url, one.id, _section(one))
        for one in records[offset : offset + LISTED]
    ]
    return lines, len(records)


def _section(record: PageRecord) -> str:
    listed = record.llms.section if record.llms else None
    return listed or urlsplit(record.url).path.rpartition("/")[0] or "/"


@dataclass(slots=True, frozen=True)
class Found:
    """The results of a query, and the words that are to be marked in them."""

    query: str
    results: Sequence[SearchResult] = ()
    note: str | None = None
    words: list[str] = field(default_factory=list)


def search(library: Library, query: str, name: str | None, limit: int = 12) -> Found:
    """Search one source, or all; an empty query finds nothing."""
    if not query.strip():
        return Found(query)
    found = library.search(query, name or None, limit=limit)
    words = sorted(parse_query(query).words, key=len, reverse=True)
    return Found(query, found.results, found.note, [word for word in words if len(word) > 1])


@dataclass(slots=True, frozen=True)
class Edition:
    """One night in the history of a page: what its text became, compared with the one before."""

    seq: int
    hunks: Sequence[Hunk]


@dataclass(slots=True, frozen=True)
class PageView:
    """A page with all that is known of it."""

    source: str
    record: PageRecord
    form: str
    chunks: Sequence[Chunk]
    links_in: Sequence[PageLine]
    editions: Sequence[Edition]
    tokens: int

    @property
    def links(self) -> Sequence[Link]:
        """The links of its text."""
        return self.record.links


def page(library: Library, page_id: str, size: int) -> PageView:
    """Return a page by its id or address; `size` is that of chunks. Raises `SearchError`."""
    name, record = library.page(page_id)
    with closing(library.store(name)) as store:
        editions = _editions(record, store.versions_of(record.key))
        is_small = store.count_pages() <= MAX_LINKED_FROM
        others = store.iter_pages("url", LINKS) if is_small else ()
        links_in = [
            PageLine(one.record.title or one.record.url, one.record.url, one.record.id, "")
            for one in others
            if record.url in one.record.follow and one.record.id != record.id
        ]
    content = record.content or ""
    return PageView(
        name,
        record,
        FORMS.get(record.origin, record.origin),
        chunks(content, record.id, size=size),
        links_in,
        editions,
        tokens(content),
    )


def _editions(record: PageRecord, versions: Sequence[Version]) -> list[Edition]:
    """Return what each edit of a page changed, the newest first."""
    texts = [*(one.content for one in versions), record.content or ""]
    found = []
    for number, (before, after) in enumerate(pairwise(texts)):
        hunks, _ = compare(blocks(before), blocks(after))
        found.append(Edition(versions[number].seq, hunks))
    return found[::-1]


def night(
    library: Library, name: str, since: int | None = None
) -> tuple[SourceChanges, Sequence[Night]]:
    """Return the changes since a number of the history, and the nights; without a number, those of
    the last night.
    """
    with closing(library.store(name)) as store:
        nights = _nights(store.runs())
        begun = [one.run.seq_before for one in nights]
        start = begun[-1] if since is None and begun else since or 0
        changes = changes_since(store, name, start)
    del changes.pages[SHOWN_PAGES:]
    return changes, nights
