"""What each view shows, read from the stores: values for the templates, no HTML.

A library is for one thread; so are these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any
from urllib.parse import urlsplit

from llmsspider.answers.library import Library
from llmsspider.answers.ranking import SearchResult
from llmsspider.answers.words import parse_query
from llmsspider.config.arguments import DocsArguments, check_arguments
from llmsspider.content.markdown.chunks import Chunk, chunks, tokens
from llmsspider.diff.compare import Hunk, blocks, compare
from llmsspider.diff.source import SourceChanges, changes_since
from llmsspider.errors import SearchError
from llmsspider.items import Link
from llmsspider.output.status import RunStatus, stored_status
from llmsspider.store import LINKS, OUTLINE, PageRecord, RunRecord, SourceRecord, Store, Version
from llmsspider.web.scope import Scope

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
    changes: Mapping[str, int]
    height: float

    @property
    def state(self) -> str:
        """How it ended: going, lost, failed, partial, changed or quiet."""
        if self.run.is_going or self.run.lost:
            return "lost" if self.run.lost else "going"
        if self.run.outcome != "finished" and not str(self.run.outcome).startswith("closespider"):
            return "failed"
        if not self.run.complete:
            return "partial"
        return "changed" if self.changes else "quiet"

    @property
    def words(self) -> str:
        """What happened, in a few words."""
        said = ", ".join(f"{number} {kind}" for kind, number in self.changes.items())
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
        return SourceView(record, nights_of(runs), status)


def record_of(library: Library, name: str) -> SourceRecord:
    """Return the record of a source; raises `SearchError` where there is none of that name."""
    found = next((one for one in library.records() if one.name == name), None)
    if found is None:
        raise SearchError(f"no source is called {name[:100]!r}")
    return found


def nights_of(runs: Sequence[RunRecord]) -> list[Night]:
    """Return the last runs of a source as nights, oldest first."""
    counted = [(run, _changes_of(run)) for run in runs[-NIGHTS:]]
    most = max((sum(changes.values()) for _, changes in counted), default=0) or 1
    return [Night(run, changes, sum(changes.values()) / most) for run, changes in counted]


def _changes_of(run: RunRecord) -> dict[str, int]:
    """Return how many pages a run found new, changed and deleted, where it found any."""
    given = run.counts.get("changes")
    found = given if isinstance(given, dict) else {}
    return {kind: found[kind] for kind in ("new", "changed", "deleted") if found.get(kind)}


def pages(library: Library, name: str, offset: int = 0) -> list[PageRecord]:
    """Return pages of a source from `offset` on, at most `LISTED`."""
    with closing(library.store(name)) as store:
        found = islice(store.iter_pages("url", OUTLINE), offset, offset + LISTED)
        return [page.record for page in found]


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
    """One night in the history of a page: what its text became, compared with the one before.

    `run` is None where it is not known any more.
    """

    run: RunRecord | None
    hunks: Sequence[Hunk]


@dataclass(slots=True, frozen=True)
class PageView:
    """A page with all that is known of it; its `edits` are compared where they are shown."""

    source: str
    record: PageRecord
    form: str
    chunks: Sequence[Chunk]
    links_in: Sequence[PageRecord]
    edits: int
    editions: Sequence[Edition]
    tokens: int
    judged: Sequence[str]

    @property
    def links(self) -> Sequence[Link]:
        """The links of its text."""
        return self.record.links


def page(library: Library, page_id: str, size: int, *, with_history: bool = False) -> PageView:
    """Return a page by its id or address; `size` is that of chunks. Raises `SearchError`."""
    name, record = library.page(page_id)
    with closing(library.store(name)) as store:
        versions = store.versions_of(record.key)
        editions = _editions(store, record, versions) if with_history else ()
        judged = store.memory().get("judged", ())
        is_small = store.count_pages() <= MAX_LINKED_FROM
        others = store.iter_pages("url", LINKS) if is_small else ()
        links_in = [
            one.record
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
        len(versions),
        editions,
        tokens(content),
        _judged(record, judged),
    )


def _editions(store: Store, record: PageRecord, versions: Sequence[Version]) -> list[Edition]:
    """Return what each edit of a page changed, the newest first."""
    if not versions:
        return []
    runs = store.runs()
    numbers = {run.number: run for run in runs}
    later = store.changes_since(versions[-1].seq, OUTLINE)
    last = next((page.run for page in later if page.record.key == record.key), None)
    came = [numbers.get(one.run) for one in versions[1:]]
    came.append(next((run for run in runs if run.id == last), None))
    texts = [*(one.content for one in versions), record.content or ""]
    found = []
    for run, (before, after) in zip(came, pairwise(texts), strict=True):
        hunks, _ = compare(blocks(before), blocks(after))
        found.append(Edition(run, hunks))
    return found[::-1]


def _judged(record: PageRecord, rows: Iterable[Any]) -> list[str]:
    """Return what comparisons of Markdown and HTML said of the host of a page, a line a form."""
    host = urlsplit(record.fetched_url).netloc
    lines = []
    for form, place, section, samples in rows:
        if host not in place:
            continue
        lost = ", ".join(samples["losses"])
        said = f"its HTML is the page, since it lacks {lost}" if samples["decided"] else "believed"
        of = f"{samples['good']} of {samples['good'] + samples['worse']} samples say what HTML says"
        lines.append(f"{form} {section}".strip() + f": {said} ({of})")
    return lines


BOUNDS = ("allow", "block", "drop", "keep")
"""Arguments of a source that the page changes: globs of addresses, selectors of parts."""
SAMPLES = 3
"""Stored pages on which selectors are tried."""


@dataclass(slots=True, frozen=True)
class BoundsView:
    """The bounds of a source as they are given: the stored pages that they leave out, with the
    rule, and pages on which the selectors can be tried.
    """

    record: SourceRecord
    given: Mapping[str, str]
    kept: int
    left_out: Sequence[tuple[str, str]]
    samples: Sequence[PageRecord]


def bounds(library: Library, name: str, given: Mapping[str, str]) -> BoundsView:
    """Return what bounds would do to a source; those that are not given are as they are stored.
    Raises `ArgumentsError` for what cannot be read.
    """
    record = record_of(library, name)
    stored = {one: "\n".join(_listed(record.arguments.get(one))) for one in BOUNDS}
    given = {one: given.get(one, stored[one]) for one in BOUNDS}
    checked = _checked(record, given)
    scope = Scope("domain", record.url, "/", tuple(checked.allow), tuple(checked.block))
    left_out: list[tuple[str, str]] = []
    kept: list[PageRecord] = []
    with closing(library.store(name)) as store:
        for one in store.iter_pages("url", OUTLINE):
            refusal = scope.refusal(one.record.url)
            if refusal is None:
                kept.append(one.record)
            else:
                left_out.append((one.record.url, refusal.rule))
        converted = [one.key for one in kept if one.origin in {"html", "rendered"}]
        samples = [one for one in store.load_pages(converted[:SAMPLES]) if one is not None]
    return BoundsView(record, given, len(kept), left_out, samples)


def save_bounds(library: Library, name: str, given: Mapping[str, str]) -> None:
    """Keep the bounds of a source for its next crawls; raises `SearchError` while one goes, which
    would write over them.
    """
    checked = _checked(record_of(library, name), given)
    with closing(library.store(name)) as store:
        if any(run.is_going for run in store.runs()):
            raise SearchError(f"a crawl of {name!r} goes; nothing was changed")
        record = store.source_record()
        if record is None:
            raise SearchError(f"{name!r} has not been crawled")
        for one in BOUNDS:
            record.arguments.pop(one, None)
            if values := list(getattr(checked, one)):
                record.arguments[one] = values
        store.upsert_source(record)


def _checked(record: SourceRecord, given: Mapping[str, str]) -> DocsArguments:
    own = {one: given.get(one, "") for one in BOUNDS}
    return check_arguments(DocsArguments, {"url": record.url, **own})


def _listed(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def differences(page: PageRecord, cut: Mapping[str, Any]) -> Sequence[Hunk]:
    """Return how a page that was fetched again differs from what is stored of it."""
    return compare(blocks(page.content or ""), blocks(cut["content"] or ""))[0]


@dataclass(slots=True, frozen=True)
class NightView:
    """What a night changed, beside the other nights; None for all changes since a number."""

    changes: SourceChanges
    nights: Sequence[Night]
    shown: Night | None


def night(
    library: Library, name: str, run_id: str | None = None, since: int | None = None
) -> NightView:
    """Return what one run changed, the last one by default; with `since`, all changes after that
    number of the history. Raises `SearchError` for a run that is not known.
    """
    with closing(library.store(name)) as store:
        runs = store.runs()
        nights = nights_of(runs)
        if since is not None or not runs:
            return NightView(_shown_changes(store, name, since or 0, None), nights, None)
        ids = [run.id for run in runs]
        if run_id is not None and run_id not in ids:
            raise SearchError(f"{name!r} has no run {run_id[:100]!r}")
        place = ids.index(run_id) if run_id is not None else len(runs) - 1
        until = runs[place + 1].seq_before if place + 1 < len(runs) else None
        changes = _shown_changes(store, name, runs[place].seq_before, until)
    shown = next((one for one in nights if one.run.id == ids[place]), None)
    return NightView(changes, nights, shown)


def _shown_changes(store: Store, name: str, since: int, until: int | None) -> SourceChanges:
    changes = changes_since(store, name, since, until=until)
    del changes.pages[SHOWN_PAGES:]
    return changes
