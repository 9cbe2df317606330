"""Writing the search index: pages with their passages, links and hints. Each method works in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from llmsspider.answers.passages import LONGEST_LINK_TEXT, IndexedPage, target_of, url_words
from llmsspider.answers.schema import IS_STALE, Words, insert_rows, link, page, passage, source
from llmsspider.answers.words import beside, words
from llmsspider.store import StoredPage

BATCH = 100
"""Pages of one transaction."""

MOST_LINK_TEXTS = 2000
"""Links to one page whose texts are counted."""

MOST_HINTS = 8
"""Different texts of links to a page that are indexed, the most frequent ones."""

_EMPTY = (
    "here this link more read next previous back home edit source top see details learn docs documentation"
)
_EMPTY_LINKS = frozenset(_EMPTY.split())

SEPARATOR = "\x1f"
"""Between the headings of a passage."""


class IndexWriter:
    """Writes the index of one source.

    Args:
        words: the tables of words.
        source_id: number of the source.
    """

    def __init__(self, words: Words, source_id: int):
        self._words = words
        self._id = source_id

    def replace_pages(
        self, connection: Connection, batch: Sequence[StoredPage], pages: Sequence[IndexedPage | None]
    ) -> None:
        """Replace the pages of a batch, except those that another process has indexed meanwhile."""
        state = state_of(connection, self._id, lock=True)
        todo = [(one, made) for one, made in zip(batch, pages, strict=True) if one.seq > state.seq]
        if not todo:
            return
        dead, before = self._delete(connection, [one.record.key for one, _ in todo])
        made = [page for _, page in todo if page is not None]
        next_id = self._insert(connection, made, state.next_id)
        if self._has_hints(connection):
            now = {(one.key, target, said) for one in made for target, said in one.links}
            self._mark_stale(connection, {target for _, target, _ in now ^ before})
        values = {"seq": todo[-1][0].seq, "next_id": next_id, "dead": state.dead + dead}
        connection.execute(update(source).where(source.c.id == self._id).values(values))

    def _delete(
        self, connection: Connection, keys: Sequence[bytes]
    ) -> tuple[int, set[tuple[bytes, int, str]]]:
        """Delete pages; returns the number of passages deleted, and the links: key of page, target, what was said."""
        mine = (page.c.source_id == self._id, page.c.key.in_(keys))
        gone = connection.execute(select(page.c.id, page.c.key, page.c.words).where(*mine)).all()
        if not gone:
            return 0, set()
        ids = {row.id: bytes(row.key) for row in gone}
        of_them = select(link.c.page_id, link.c.target, link.c.said).where(link.c.page_id.in_(ids))
        links = {(ids[number], target, said) for number, target, said in connection.execute(of_them).all()}
        passages = connection.execute(select(passage.c.id).where(passage.c.page_id.in_(ids))).scalars().all()
        self._words.delete(connection, self._words.passages, passages)
        self._words.delete(connection, self._words.pages, [row.words for row in gone if row.words])
        for table in (passage, link):
            connection.execute(delete(table).where(table.c.page_id.in_(ids)))
        connection.execute(delete(page).where(page.c.id.in_(ids)))
        return len(passages), links

    def _insert(self, connection: Connection, pages: Sequence[IndexedPage], next_id: int) -> int:
        """Insert pages; returns the next free number."""
        of_page, of_passage, of_link, words = [], [], [], []
        for made in pages:
            number, next_id = next_id, next_id + 1
            of_page.append(_page_row(self._id, number, made))
            of_link += [(self._id, number, *one) for one in made.links]
            beside_title = beside(made.title)
            path: tuple[str, ...] = ()
            headings = below = ""
            for one in made.passages:
                if one.heading_path is not path:  # the passages of a section share theirs
                    path = one.heading_path
                    headings = SEPARATOR.join(path)
                    below = "\n".join([heading for heading in path if heading != made.title])
                of_passage.append((next_id, self._id, number, one.start, one.end, headings, None))
                words.append((next_id, made.title, below, one.text, f"{beside_title} {one.beside}"))
                next_id += 1
        if of_page:
            connection.execute(insert(page), of_page)
        insert_rows(connection, passage, of_passage)
        insert_rows(connection, link, of_link)
        self._words.add(connection, self._words.passages, self._id, words)
        return next_id

    def write_hints(self, connection: Connection) -> int:
        """Rewrite the hints of some of the pages whose hints are stale; returns the number of pages."""
        state = state_of(connection, self._id, lock=True)
        columns = (
            page.c.id,
            page.c.url,
            page.c.target,
            page.c.title,
            page.c.own,
            page.c.hints,
            page.c.headings,
            page.c.words,
        )
        mine = (page.c.source_id == self._id, IS_STALE)
        found = connection.execute(select(*columns).where(*mine).limit(BATCH * 5)).all()
        if not found:
            return 0
        texts = self._texts_of_links(connection, [row.target for row in found])
        rows, updates, gone, next_id = [], [], [], state.next_id
        for row in found:
            hints = f"{row.own}\n{link_hints(texts.get(row.target, ()))}"
            words = row.words
            if words is None or hints != row.hints:
                gone += [words] if words else []
                aside = beside(f"{row.title}\n{hints}\n{row.headings}")
                rows.append((next_id, row.title, hints, url_words(row.url), row.headings, aside))
                words, next_id = next_id, next_id + 1
            updates.append({"page": row.id, "hints": hints, "words": words, "stale": False})
        connection.execute(update(page).where(page.c.id == bindparam("page")), updates)
        self._words.delete(connection, self._words.pages, gone)
        self._words.add(connection, self._words.pages, self._id, rows)
        connection.execute(update(source).where(source.c.id == self._id).values(next_id=next_id))
        return len(found)

    def _texts_of_links(self, connection: Connection, targets: Sequence[int]) -> dict[int, list[str]]:
        """The texts of links to pages, by target, in the order in which the links were indexed."""
        to_them = (link.c.source_id == self._id, link.c.target.in_(targets))
        texts: dict[int, list[str]] = {}
        for target, said in connection.execute(select(link.c.target, link.c.said).where(*to_them)).all():
            known = texts.setdefault(target, [])
            if len(known) < MOST_LINK_TEXTS:
                known += [text for _, text in orjson.loads(said)]
        return texts

    def _has_hints(self, connection: Connection) -> bool:
        """Whether hints of any page were written: those of every page are stale until then."""
        written = page.c.words.between(first_id(self._id), first_id(self._id + 1))
        return connection.execute(select(page.c.id).where(written).limit(1)).first() is not None

    def _mark_stale(self, connection: Connection, targets: set[int]) -> None:
        """Mark pages whose hints are to be written again."""
        if targets:
            to_them = (
                page.c.source_id == self._id,
                page.c.target == bindparam("to"),
                page.c.stale.is_(False),
            )
            connection.execute(
                update(page).where(*to_them).values(stale=True), [{"to": one} for one in targets]
            )

    def write_digests(self, connection: Connection, made: Sequence[dict[str, Any]]) -> None:
        """Write digests; rows of the number of a `passage` and its `digest`."""
        if made:
            connection.execute(update(passage).where(passage.c.id == bindparam("passage")), made)

    def write_outlines(
        self, connection: Connection, changed: Iterable[tuple[bytes, dict[str, Any]]], run: str
    ) -> None:
        """Write new titles and notes of pages with unchanged content; rows of key and changed columns."""
        for key, values in changed:
            mine = (page.c.source_id == self._id, page.c.key == key)
            connection.execute(update(page).where(*mine).values(**values, stale=True))
        connection.execute(update(source).where(source.c.id == self._id).values(run=run))


def first_id(source_id: int) -> int:
    """The number that those of a source's pages, passages and words are greater than."""
    return source_id << 40


def state_of(connection: Connection, source_id: int, *, lock: bool = False) -> Any:
    """The row of a source."""
    found = select(source).where(source.c.id == source_id)
    return connection.execute(found.with_for_update() if lock else found).one()


def link_hints(texts: Iterable[str]) -> str:
    """The most frequent texts of links to a page, generic ones (`here`, `next`) left out."""
    counted = Counter(
        plain for text in texts if len(text) <= LONGEST_LINK_TEXT and (plain := " ".join(text.split()))
    )
    useful = (text for text, _ in counted.most_common(50) if not _EMPTY_LINKS.issuperset(words(text)))
    return "\n".join(islice(useful, MOST_HINTS))


def _page_row(source_id: int, number: int, made: IndexedPage) -> dict[str, Any]:
    return {
        "id": number,
        "source_id": source_id,
        "key": made.key,
        "hash": made.content_hash,
        "document": made.id,
        "url": made.url,
        "target": target_of(made.url),
        "passages": len(made.passages),
        "title": made.title,
        "own": made.hints,
        "hints": "",
        "headings": made.headings,
        "optional": made.optional,
        "words": None,
        "stale": True,
    }
