"""One source that is open for search: its page store, its index and its vectors, searched together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from llmsspider.retrieval.embedding import VectorIndex
from llmsspider.retrieval.index import SourceIndex
from llmsspider.retrieval.passages import fragment_of
from llmsspider.retrieval.ranking import (
    Candidates,
    Hit,
    RankedPage,
    SearchResult,
    SearchResults,
    fuse,
    rank,
    said_words,
    similar,
)
from llmsspider.retrieval.words import Query, corrected, parse_query
from llmsspider.store import CONTENT, PageRecord, Store

LONGEST_TEXT = 4000
"""Characters of a passage in a result; what is longer is to be read from the page."""

READ_AHEAD = 10
"""Pages that are read from the store at once."""

MOST_MORE = 4
"""Further headings of a page that a result names."""

MOST_BY_MEANING = 60
"""Passages that the vectors add."""


@dataclass(slots=True)
class OpenSource:
    """A source that is open: its store, its index, and its vectors where there are any."""

    name: str
    store: Store
    index: SourceIndex
    vectors: VectorIndex | None = None
    inode: tuple[int, int] | None = None
    """Of the SQLite file of the store, as it was opened."""

    def sync(self, seconds: float) -> bool:
        """Update index and vectors, for at most the time given; returns whether they are complete."""
        end = time.monotonic() + seconds

        def until() -> bool:
            return time.monotonic() >= end

        done = self.index.sync(self.store, until) if self.index.is_behind(self.store) else True
        return done and (self.vectors is None or self.vectors.add(self._without_vector(self.vectors), until))

    def _without_vector(self, vectors: VectorIndex) -> Iterator[tuple[bytes, str]]:
        every = self.index.digests()
        missing = vectors.missing(digest for _, _, digest in every)
        pages = dict.fromkeys(key for _, key, digest in every if digest in missing)
        for key, record in zip(pages, self.store.load_pages(pages, CONTENT), strict=True):
            for hit in self.index.passages_of(key):
                if hit.digest in missing and (text := text_of(record, hit)):
                    missing.discard(hit.digest)
                    yield (
                        hit.digest,
                        "\n".join((record.title or "" if record else "", *hit.heading_path, text)),
                    )

    def search(self, text: str, limit: int, section: str | None) -> SearchResults:
        """Search this source."""
        query = parse_query(text)
        found, note = self._candidates(query)
        ranked = rank(query, found)
        by_meaning = self._by_meaning(query)
        if by_meaning:
            ranked = _fused(ranked, by_meaning)
        results = list(self._results(ranked, limit, section))
        return SearchResults(query.text, results, note if results else _nothing(query, section, self))

    def _candidates(self, query: Query) -> tuple[Candidates, str | None]:
        found = self.index.candidates(query)
        unknown = [place for place, rarity in enumerate(found.rarity) if not rarity]
        if found.passages or found.pages or not query.terms:
            return found, _unknown(query, unknown)
        tried, instead = corrected(query, unknown, self.index.vocabulary())
        if not instead:
            return found, None
        said = ", ".join(f"{other!r} for {word!r}" for word, other in instead.items())
        return self.index.candidates(tried), f"nothing was found; searched for {said}"

    def _by_meaning(self, query: Query) -> list[RankedPage]:
        if self.vectors is None or not query.text:
            return []
        every = self.index.digests()
        near = self.vectors.nearest(query.text, [digest for _, _, digest in every], MOST_BY_MEANING)
        return rank(query, self.index.hits({every[place][0]: max(cosine, 0.0) for place, cosine in near}))

    def _results(
        self, ranked: Sequence[RankedPage], limit: int, section: str | None
    ) -> Iterator[SearchResult]:
        """Yield the results; passages that say the same are given once, with the addresses of the other pages."""
        wanted = section.casefold() if section else None
        given: list[SearchResult] = []
        said: list[frozenset[str]] = []
        for start in range(0, len(ranked), READ_AHEAD):
            if len(given) >= limit and start >= 2 * limit:
                break  # enough were looked at to name pages that say the same
            pages = ranked[start : start + READ_AHEAD]
            records = self.store.load_pages([one.key for one in pages], CONTENT)
            for page, record in zip(pages, records, strict=True):
                result = None if record is None else self._result(page, record)
                if result is None or (wanted and wanted not in (result.section or "").casefold()):
                    continue
                says = said_words(result.text)
                same = next((place for place, other in enumerate(said) if similar(other, says)), None)
                if same is not None:
                    given[same] = replace(given[same], also=(*given[same].also, result.url))
                elif len(given) < limit:
                    given.append(result)
                    said.append(says)
        yield from given

    def _result(self, page: RankedPage, record: PageRecord) -> SearchResult | None:
        hits = page.passages or self.index.passages_of(page.key)[:1]
        if not hits:
            return None
        best = hits[0]
        text = text_of(record, best)
        if text is None:  # the crawl that is going on changed the page since the index was brought in step
            return None
        headings = [hit.heading_path[-1] for hit in hits[1:] if hit.heading_path]
        more = [heading for heading in dict.fromkeys(headings) if heading not in best.heading_path[-1:]]
        return SearchResult(
            url=record.url + self._fragment(record.url, best.heading_path),
            title=record.title or record.url,
            heading_path=best.heading_path,
            text=text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT].rstrip() + " …",
            score=round(page.score, 4),
            source=self.name,
            page_id=record.id,
            section=record.llms.section if record.llms else None,
            fetched_at=record.fetched_at,
            offset=best.start,
            length=best.end - best.start,
            more=tuple(more[:MOST_MORE]),
        )

    def _fragment(self, url: str, heading_path: Sequence[str]) -> str:
        fragment = fragment_of(heading_path, self.index.fragments(url)) if heading_path else None
        return f"#{fragment}" if fragment else ""

    def close(self) -> None:
        """Close all of it."""
        if self.vectors is not None:
            self.vectors.close()
        self.index.close()
        self.store.close()


def text_of(record: PageRecord | None, hit: Hit) -> str | None:
    """The text of a passage; None where the page has other content by now."""
    if (
        record is None
        or record.content is None
        or bytes.fromhex(record.content_hash or "") != hit.content_hash
    ):
        return None
    return record.content[hit.start : hit.end].strip()


def _fused(by_words: Sequence[RankedPage], by_meaning: Sequence[RankedPage]) -> list[RankedPage]:
    """Join two orders of pages; a page keeps the passages its words found, before those of its meaning."""
    pages = {page.key: page for page in (*by_meaning, *by_words)}
    order = fuse([[page.key for page in by_words], [page.key for page in by_meaning]])
    return [RankedPage(key, 1.0 / (place + 1), pages[key].passages) for place, key in enumerate(order)]


def _unknown(query: Query, unknown: Sequence[int]) -> str | None:
    missing = [" ".join(query.terms[place].words) for place in unknown if query.terms[place].words]
    return f"no page has: {', '.join(dict.fromkeys(missing))}" if missing else None


def _nothing(query: Query, section: str | None, opened: OpenSource) -> str:
    if not query.terms:
        return "the query has no word to search for"
    pages, _ = opened.index.count()
    where = f"section {section!r} of {opened.name}" if section else opened.name
    return f"nothing found in {where} ({pages} pages); try fewer or other words"
