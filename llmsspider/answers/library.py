"""The crawled documentation of a project, searched and read from the page stores.

`Library` opens a source at the first query (`OpenSource`), updates its index before each search,
and reads every text that it returns from the store, so that answers show what the last crawl
changed.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar
from urllib.parse import unquote

from llmsspider.answers import VECTORS, WORDS, delete_index
from llmsspider.answers.embedding import Embedder, VectorIndex
from llmsspider.answers.fragments import encoded, fragments_of, place_of
from llmsspider.answers.index import DamagedIndexError, SourceIndex
from llmsspider.answers.ranking import (
    Candidates,
    Found,
    Hit,
    RankedPage,
    SearchResult,
    SearchResults,
    choose_source,
    code_in,
    fused,
    licences_of,
    pooled,
    rank,
    section_of,
    shown_of,
)
from llmsspider.answers.words import Query, Term, corrected, parse_query, words
from llmsspider.content.markdown.sections import Block, headings_of
from llmsspider.errors import LlmsspiderError, SearchError, StoreError, UnknownSourceError
from llmsspider.store import CONTENT, PageRecord, SourceRecord, Store, Stores
from llmsspider.store.database import STORE_FOLDER
from llmsspider.web.loading import own_mark

logger = logging.getLogger(__name__)

T = TypeVar("T")

ROOMS = (2800, 1300, 900, 600)
"""Characters of a page that are shown, by its place in the results; the last for all that follow."""

MAX_MORE = 4
"""Maximum number of further headings of a page in a result."""

MISSING = "no page has: "  # begins a note on words that no page of a source has
PASSAGES_OF = "key = ? ORDER BY start"

_HEADINGS = re.compile(r"^#{1,6} .*$", re.MULTILINE)

PAGE_RESOURCE = "llmsspider://page/"  # begins the address of a page for MCP clients

READ_AHEAD = 10  # pages that are read from the store at once
# results of a search
DEFAULT_LIMIT = 8
MAX_RESULTS = 50
# seconds a search may spend on updating an index before it answers from what is indexed
SYNC_SECS = 30.0


@dataclass(slots=True, frozen=True)
class Shown:
    """A page of the results: its passages that were found, the text of the best one without
    headings, and addresses of pages with the same text.
    """

    source: OpenSource
    page: RankedPage
    record: PageRecord
    hits: list[Hit]
    text: str
    also: list[str] = field(default_factory=list)


@dataclass(slots=True)
class OpenSource:
    """A source that is open: its record as last listed, its index, and its vectors where there are
    any. Its store is opened when it is read.
    """

    record: SourceRecord
    index: SourceIndex
    open_store: Callable[[], Store]
    vectors: VectorIndex | None = None
    _store: Store | None = None

    @property
    def name(self) -> str:
        """The name of the source here."""
        return self.record.name

    @property
    def store(self) -> Store:
        """The store, open."""
        if self._store is None:
            self._store = self.open_store()
        return self._store

    def sync(self, seconds: float) -> bool:
        """Update index and vectors, for at most the time given; returns whether they are complete."""
        end = time.monotonic() + seconds

        def until() -> bool:
            return time.monotonic() >= end

        state = self.index.state
        in_step = (state.seq, state.run) == (self.record.last_seq, self.record.last_run)
        if not in_step:
            self._close_store()  # its file may be another one
            in_step = self.index.sync(self.store, self.record.last_run, until)
        return in_step and (
            self.vectors is None or self.vectors.sync(self.index, self.store, until)
        )

    def find(self, text: str, *, as_typed: bool = False) -> Found:
        """Find and rank pages. `as_typed`: other spellings are not tried."""
        query = parse_query(text)
        found = self.index.candidates(query, as_typed=as_typed)
        note = None
        missing = dict.fromkeys(_typed(found.unknown))
        quoted = _typed(term for term in query.terms if term.required)
        if found.passages or found.pages:
            note = f"{MISSING}{', '.join(missing)}" if missing else None
        elif quoted:
            query = query.without_quotes
            found = self.index.candidates(query)
            note = f"no page has {', '.join(map(repr, quoted))} word for word"
        elif query.terms and not as_typed:
            tried, instead = corrected(query, found.unknown, self.index.vocabulary())
            if instead:
                found = self.index.candidates(tried)
                others = ", ".join(f"{other!r} for {word!r}" for word, other in instead.items())
                note = f"nothing was found; searched for {others}"
        return Found(self.name, query, self._ranked(query, found), found.strength, note)

    def _ranked(self, query: Query, found: Candidates) -> list[RankedPage]:
        by_words = self._rank(query, found)
        if self.vectors is None or not query.text:
            return by_words
        near = self.vectors.nearest(self.index, query.text)
        return fused(query, by_words, self._rank(query, Candidates(near)))

    def _rank(self, query: Query, found: Candidates) -> list[RankedPage]:
        keys = {hit.page for hit in found.passages}.union(found.pages)
        return rank(query, found, self.index.signals(keys))

    def shown(self, page: RankedPage, *, code: bool) -> Shown | None:
        """The page, read from the store; None where it has no passage, or none with `code`, and
        where a running crawl changed it after the index was updated.
        """
        (record,) = self.store.load_pages([page.key], CONTENT)
        hits = page.passages or self.index.hits_where(f"{PASSAGES_OF} LIMIT 1", page.key)
        if code:
            hits = [hit for hit in hits if code_in(hit.text_in(record) or "")]
        text = hits[0].text_in(record) if hits else None
        if record is None or text is None:
            return None
        return Shown(self, page, record, hits, " ".join(_HEADINGS.sub("", text).split()))

    def result(self, query: Query, shown: Shown, room: int, *, code: bool) -> SearchResult:
        """The result for a page, with as many characters as there is `room`; `code`: code alone."""
        page = shown.page
        record = shown.record
        hits = shown.hits
        best = hits[0]
        _, *others = dict.fromkeys(hit.heading_path[-1:] for hit in hits)
        more = [heading for path in others for heading in path]
        fragment = self._fragment(record, best)
        start, end, text = shown_of(record.content or "", hits, query, room)
        if code:
            text = code_in(text) or text
        return SearchResult(
            url=f"{record.url}#{encoded(fragment)}" if fragment else record.url,
            title=record.title or record.url,
            heading_path=best.heading_path,
            text=text,
            score=round(page.score, 4),
            source=self.name,
            page_id=record.id,
            section=record.llms.section if record.llms else None,
            fetched_at=record.fetched_at,
            offset=start,
            length=end - start,
            more=tuple(more[:MAX_MORE]),
            also=tuple(shown.also),
            licences=licences_of(record, self.record),
        )

    def headings(
        self, record: PageRecord, until: int | None = None
    ) -> list[tuple[Block, str | None]]:
        """The headings of a page, or of its first characters, each with its fragment."""
        heads = headings_of((record.content or "")[:until])
        known = self.index.fragments(record.url)
        has_ids = any(one.own for one in known)
        rule = None if has_ids else self.index.fragment_rule(record.url)
        return list(zip(heads, fragments_of(heads, known, rule), strict=True))

    def _fragment(self, record: PageRecord, hit: Hit) -> str | None:
        """The fragment of a passage's heading, else of the nearest one above that has one."""
        has_any = bool(hit.heading_path) and "#" not in record.url  # a route has no places
        found = self.headings(record, hit.end) if has_any else []
        heads = [head for head, _ in found]
        last = hit.heading_path[-1] if found else ""
        place = place_of(heads, last, hit.start, hit.end)
        if place is None:
            return None
        level = heads[place].level + 1
        for head, fragment in reversed(found[: place + 1]):
            if head.level >= level:
                continue
            level = head.level
            if fragment is not None and (level or head is heads[place]):
                return fragment or None
        return None

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def close(self) -> None:
        """Close all of it."""
        if self.vectors is not None:
            self.vectors.close()
        self.index.close()
        self._close_store()


def _typed(terms: Iterable[Term]) -> list[str]:
    """The words of terms, as a reader types them."""
    return [" ".join(term.words) for term in terms if term.words]


def results_of(
    query: Query,
    places: Sequence[tuple[OpenSource, RankedPage]],
    limit: int,
    section: str | None = None,
    *,
    code: bool = False,
) -> list[SearchResult]:
    """The results for pages in their order; of passages of a source with the same text there is
    one, with the addresses of the other pages.
    """
    wanted = (section or "").casefold()
    chosen: dict[object, Shown] = {}
    for place, (source, page) in enumerate(places):
        if len(chosen) >= limit and not place % READ_AHEAD:
            break  # pages with the same text are found among the next ones, too
        shown = source.shown(page, code=code)
        if shown is None or wanted not in section_of(shown.record).casefold():
            continue
        text = source.name, shown.text or page.key
        if text in chosen:
            chosen[text].also.append(shown.record.url)
        elif len(chosen) < limit:
            chosen[text] = shown
    rooms = chain(ROOMS, repeat(ROOMS[-1]))
    return [
        one.source.result(query, one, room, code=code)
        for one, room in zip(chosen.values(), rooms, strict=False)
    ]


class Library(AbstractContextManager["Library"]):
    """All sources of a project, or of several folders. Use it in one thread; close it, or use it in
    a `with` statement.

    Of folders with a source of one name, the later ones' are called `FOLDER/NAME`. `embedder`
    makes vectors for semantic search, `warn` is called with a line for the user. Where the folder
    of the stores cannot be written to, indexes are made in a temporary folder.
    """

    def __init__(
        self,
        stores: Stores | Sequence[Stores],
        embedder: Embedder | None = None,
        warn: Callable[[str], object] = logger.warning,
    ):
        self._places = (stores,) if isinstance(stores, Stores) else tuple(dict.fromkeys(stores))
        self._named: dict[str, tuple[Stores, str]] = {}
        self.problems: list[str] = []  # a line for each store that could not be read
        self._embedder = embedder
        self._warn = warn
        self._opened: dict[str, OpenSource] = {}
        self._temporary: TemporaryDirectory[str] | None = None

    def search(
        self,
        text: str,
        source: str | None = None,
        *,
        section: str | None = None,
        kind: Literal["code"] | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> SearchResults:
        """Search one source, or all where none is named; arguments and errors are those of the
        function `search`. `kind` "code" shows code alone.
        """
        wanted = (max(1, min(limit, MAX_RESULTS)), section, kind)
        return self._repaired(lambda: self._search(text, source, *wanted))

    def _search(
        self, text: str, source: str | None, limit: int, section: str | None, kind: str | None
    ) -> SearchResults:
        problems: list[str] = []
        if source:
            found = [_find(self.open(source), text)]
        else:
            found, problems = self._find_in_all(text, as_typed=True)
            if not any(one.ranked for one in found):
                found, problems = self._find_in_all(text, as_typed=False)
        query = parse_query(text)
        order = [(found[0], page) for page in found[0].ranked] if source else pooled(found)
        places = [(self._opened[one.source], page) for one, page in order]
        results = results_of(query, places, limit, section, code=kind == "code")
        said = _notes(found, {one.source for one in results})
        if not results:
            pages = sum(self._opened[one.source].index.count()[0] for one in found)
            said = [_nothing(found, pages, section)]
        notes = "; ".join([*said, *problems]) or None
        return SearchResults(query.text, results, notes)

    def _find_in_all(self, text: str, *, as_typed: bool) -> tuple[list[Found], list[str]]:
        """Search every source; returns a line for each that cannot be searched, too."""
        found = []
        problems = []
        for record in self.records():
            try:
                found.append(_find(self._open(record), text, as_typed=as_typed))
            except DamagedIndexError:
                raise
            except LlmsspiderError as error:
                problems.append(f"{record.name} cannot be searched: {error}")
        return found, problems + self.problems

    def _repaired(self, work: Callable[[], T]) -> T:
        """Call; where an index turns out to be damaged, which deletes it, again with a new one."""
        deleted: set[str] = set()
        while True:
            try:
                return work()
            except DamagedIndexError as error:
                if str(error) in deleted:
                    raise
                deleted.add(str(error))
                self._drop_all()

    def page(self, page: str) -> tuple[str, PageRecord]:
        """Return the source and the record, with content and links, of a page named by its id or
        its URL.

        Raises `SearchError`, which names the nearest addresses, where no source has it.
        """
        page = page.strip(" \n<>").removeprefix(PAGE_RESOURCE)
        found = self._repaired(lambda: self._page(page))
        if found is not None:
            return found
        path = unquote(page).rpartition("://")[2].partition("/")[2].partition(".")[0]
        near = [one.url for one in self.search(" ".join(words(path)), limit=3).results]
        there = f"the nearest are {', '.join(near)}" if near else "search for it first"
        raise SearchError(f"no source has the page {page[:200]!r}; {there}")

    def _page(self, page: str) -> tuple[str, PageRecord] | None:
        for record in self.records():
            opened = self._open(record)
            opened.sync(SYNC_SECS)
            found = opened.store.page_by_url(page) if "://" in page else None
            url = opened.index.url_of(page) if found is None else None
            found = found if url is None else opened.store.page_by_url(url)
            if found is not None:
                return record.name, found
        return None

    def headings(self, source: str, record: PageRecord) -> list[tuple[Block, str | None]]:
        """The headings of a page of a source, each with its fragment."""
        return self._repaired(lambda: self.at_hand(source).headings(record))

    def names(self) -> list[str]:
        """The names of all sources that can be read."""
        return [record.name for record in self.records()]

    def records(self) -> list[SourceRecord]:
        """All sources that can be read, as they are now, under the names that they have here."""
        found: list[SourceRecord] = []
        self._named = {}
        self.problems = []
        for place in self._places:
            folder = (place.data_dir or Path()).absolute()
            above = (folder.parent if folder.name == STORE_FOLDER else folder).parts[::-1]
            listed, problems = place.list_sources()
            self.problems += problems
            for record in listed:
                names = accumulate([record.name, *above], lambda name, part: f"{part}/{name}")
                name = next(name for name in names if name not in self._named)
                self._named[name] = place, record.name
                found.append(replace(record, name=name))
        return found

    def store(self, name: str) -> Store:
        """The store of a source, opened; the caller closes it.

        Raises `UnknownSourceError`, `StoreError`.
        """
        place, own = self._place(name)
        return place.open(own, create=False)

    def _place(self, name: str) -> tuple[Stores, str]:
        """Where a source is stored, and its name there."""
        if name not in self._named:
            self.names()
        return self._named.get(name, (self._places[0], name))

    def delete(self, name: str) -> None:
        """Delete a source with everything stored of it, its index too.

        Raises `UnknownSourceError`, `StoreError`.
        """
        chosen = choose_source(name, self.names())
        place, own = self._place(chosen)
        self._drop(chosen)
        place.delete(own)
        delete_index(place, own)

    def open(self, name: str) -> OpenSource:
        """The open source of a name (`choose_source`).

        Raises `UnknownSourceError`, `StoreError`, `SearchError`.
        """
        known = {record.name: record for record in self.records()}
        try:
            return self._open(known[choose_source(name, [*known])])
        except UnknownSourceError:
            if self.problems:
                self.store(name).close()  # says why it cannot be read
            raise

    def at_hand(self, name: str) -> OpenSource:
        """The open source of a name that was listed just now, as it was then; see `open`."""
        return self._opened.get(name) or self.open(name)

    def opened(self, name: str | None) -> list[OpenSource]:
        """The open source of a name (`open`), every one where None is named."""
        if name is not None:
            return [self.open(name)]
        return [self._open(record) for record in self.records()]

    def _open(self, record: SourceRecord) -> OpenSource:
        """The open source of a record that was listed just now; opened again where its pages were
        made anew since.
        """
        name = record.name
        opened = self._opened.get(name)
        if opened is None or _made_of(opened.record) != _made_of(record):
            self._drop(name)
            index = SourceIndex.open(self._file(name, WORDS), _made_of(record))
            vectors = None
            if self._embedder is not None:
                vectors = VectorIndex(self._file(name, VECTORS), self._embedder)
            opened = OpenSource(record, index, partial(self.store, name), vectors)
            self._opened[name] = opened
        opened.record = record
        return opened

    def _file(self, name: str, suffix: str) -> Path:
        """The file of an index; where its folder is read-only, a copy in a temporary folder."""
        place, own = self._place(name)
        file = place.index_file(own, suffix)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
        if os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
            return file
        if self._temporary is None:
            self._temporary = TemporaryDirectory(prefix="llmsspider-search-")
            self._warn(
                f"{file.parent} is read-only: the search index is kept in a temporary folder"
            )
        copy = Path(self._temporary.name) / f"{len(self._opened)}-{file.name}"
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{file}{ending}", f"{copy}{ending}")
        return copy

    def _drop(self, name: str) -> None:
        opened = self._opened.pop(name, None)
        if opened is not None:
            with suppress(StoreError):
                opened.close()

    def _drop_all(self) -> None:
        for name in list(self._opened):
            self._drop(name)

    def close(self) -> None:
        """Close every source that is open."""
        self._drop_all()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __exit__(self, *_: object) -> None:
        self.close()


def _find(opened: OpenSource, text: str, *, as_typed: bool = False) -> Found:
    in_step = opened.sync(SYNC_SECS)
    found = opened.find(text, as_typed=as_typed)
    if in_step:
        return found
    behind = "the search index is still being made; results are from the part that is ready"
    return replace(found, note="; ".join(filter(None, (found.note, behind))))


def _nothing(found: Sequence[Found], pages: int, section: str | None) -> str:
    """What is said where there is no result."""
    if not found:
        return "nothing has been crawled yet"
    if not found[0].query.terms:
        return "the query has no word to search for; give some"
    where = f"{len(found)} sources" if len(found) > 1 else found[0].source
    where = f"section {section[:100]!r} of {where}" if section else where
    return f"nothing found in {where} ({pages} pages); try fewer or other words"


def _notes(found: Sequence[Found], shown: set[str]) -> list[str]:
    """The notes on the sources shown: those of all of them, and on what else was searched for."""
    notes = {one.source: one.note for one in found if one.source in shown}
    if len({*notes.values()}) == 1:
        return [note for note in {*notes.values()} if note]
    return [
        f"{source}: {note}"
        for source, note in notes.items()
        if note and not note.startswith(MISSING)
    ]


def store_id(record: SourceRecord | None) -> str:
    """A value that differs for another source of the same name: when it was first crawled."""
    made = record and record.created_at
    return made.isoformat() + own_mark(record.extractor_version) if record and made else ""


def _made_of(record: SourceRecord) -> str:
    """What an index is made of: a store, by a version of this program."""
    return store_id(record) + record.extractor_version
