"""Writing the search index: pages with their passages, links and hints. Each method works in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from llmsspider.retrieval.passages import IndexedPage, link_hints, target_of, url_words
from llmsspider.retrieval.schema import Words, insert_rows, link, page, passage, source, touched
from llmsspider.retrieval.words import beside
from llmsspider.store import StoredPage

BATCH = 100
"""Pages of one transaction."""

MOST_LINK_TEXTS = 2000
"""Links to one page whose texts are counted."""

SEPARATOR = "\x1f"
"""Between the headings of a passage."""


class IndexWriter:
    """Writes the index of one source.

    Args:
        words: the tables of words.
        source_id: number of the source.
        is_sqlite: whether the database is SQLite.
    """

    def __init__(self, words: Words, source_id: int, *, is_sqlite: bool):
        self._words = words
        self._id = source_id
        self._is_sqlite = is_sqlite

    def replace_pages(
        self, connection: Connection, batch: Sequence[StoredPage], pages: Sequence[IndexedPage | None]
    ) -> None:
        """Replace the pages of a batch, except those that another process has indexed meanwhile."""
        state = state_of(connection, self._id, lock=True)
        todo = [(one, made) for one, made in zip(batch, pages, strict=True) if one.seq > state.seq]
        if not todo:
            return
        dead = self._delete(connection, [one.record.key for one, _ in todo])
        next_id = self._insert(connection, [made for _, made in todo if made is not None], state.next_id)
        values = {"seq": todo[-1][0].seq, "next_id": next_id, "dead": state.dead + dead}
        connection.execute(update(source).where(source.c.id == self._id).values(values))

    def _delete(self, connection: Connection, keys: Sequence[bytes]) -> int:
        """Delete pages; returns the number of passages deleted."""
        mine = (page.c.source_id == self._id, page.c.key.in_(keys))
        gone = connection.execute(select(page.c.id, page.c.target, page.c.words).where(*mine)).all()
        ids = [row.id for row in gone]
        if not ids:
            return 0
        targets = connection.execute(
            select(link.c.target).where(link.c.page_id.in_(ids)).distinct()
        ).scalars()
        self.mark_touched(connection, [*(row.target for row in gone), *targets])
        passages = connection.execute(select(passage.c.id).where(passage.c.page_id.in_(ids))).scalars().all()
        self._words.delete(connection, self._words.passages, passages)
        self._words.delete(connection, self._words.pages, [row.words for row in gone if row.words])
        for table in (passage, link):
            connection.execute(delete(table).where(table.c.page_id.in_(ids)))
        connection.execute(delete(page).where(page.c.id.in_(ids)))
        return len(passages)

    def _insert(self, connection: Connection, pages: Sequence[IndexedPage], next_id: int) -> int:
        """Insert pages; returns the next free number."""
        of_page, of_passage, of_link, words = [], [], [], []
        for made in pages:
            number, next_id = next_id, next_id + 1
            of_page.append(_page_row(self._id, number, made))
            of_link += [(self._id, number, *one) for one in made.links]
            beside_title = beside(made.title)
            for one in made.passages:
                path = one.heading_path
                headings = SEPARATOR.join(path)
                of_passage.append((next_id, self._id, number, one.start, one.end, headings, one.digest))
                below = "\n".join(heading for heading in path if heading != made.title)
                words.append((next_id, made.title, below, one.text, f"{beside_title} {one.beside}"))
                next_id += 1
        if of_page:
            connection.execute(insert(page), of_page)
        insert_rows(connection, passage, of_passage)
        insert_rows(connection, link, of_link)
        self._words.add(connection, self._words.passages, self._id, words)
        self.mark_touched(connection, [*(row["target"] for row in of_page), *(row[2] for row in of_link)])
        return next_id

    def write_hints(self, connection: Connection) -> int:
        """Rewrite the hints of some of the pages marked by `mark_touched`; returns the number of pages."""
        state = state_of(connection, self._id, lock=True)
        mine = touched.c.source_id == self._id
        targets = connection.execute(select(touched.c.target).where(mine).limit(BATCH * 5)).scalars().all()
        if not targets:
            return 0
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
        found = connection.execute(
            select(*columns).where(page.c.source_id == self._id, page.c.target.in_(targets))
        ).all()
        texts: dict[int, list[str]] = {}
        to_them = (link.c.source_id == self._id, link.c.target.in_([row.target for row in found]))
        for target, text in connection.execute(select(link.c.target, link.c.text).where(*to_them)):
            known = texts.setdefault(target, [])
            if len(known) < MOST_LINK_TEXTS:
                known.append(text)
        rows, updates, gone, next_id = [], [], [], state.next_id
        for row in found:
            hints = f"{row.own}\n{link_hints(texts.get(row.target, ()))}"
            if row.words and hints == row.hints:
                continue
            gone += [row.words] if row.words else []
            aside = beside(f"{row.title}\n{hints}\n{row.headings}")
            rows.append((next_id, row.title, hints, url_words(row.url), row.headings, aside))
            updates.append({"page": row.id, "hints": hints, "words": next_id})
            next_id += 1
        if updates:
            connection.execute(update(page).where(page.c.id == bindparam("page")), updates)
        self._words.delete(connection, self._words.pages, gone)
        self._words.add(connection, self._words.pages, self._id, rows)
        connection.execute(delete(touched).where(mine, touched.c.target.in_(targets)))
        connection.execute(update(source).where(source.c.id == self._id).values(next_id=next_id))
        return len(targets)

    def mark_touched(self, connection: Connection, targets: Iterable[int]) -> None:
        """Mark pages whose hints are to be written again."""
        dialect = sqlite if self._is_sqlite else postgresql
        rows = [{"source_id": self._id, "target": target} for target in set(targets)]
        if rows:
            connection.execute(dialect.insert(touched).on_conflict_do_nothing(), rows)

    def write_outlines(
        self, connection: Connection, changed: Iterable[tuple[bytes, str, dict[str, Any]]], run: str
    ) -> None:
        """Write new titles and notes of pages with unchanged content; rows of key, URL and changed columns."""
        for key, url, values in changed:
            mine = (page.c.source_id == self._id, page.c.key == key)
            connection.execute(update(page).where(*mine).values(values))
            self.mark_touched(connection, [target_of(url)])
        connection.execute(update(source).where(source.c.id == self._id).values(run=run))


def state_of(connection: Connection, source_id: int, *, lock: bool = False) -> Any:
    """The row of a source."""
    found = select(source).where(source.c.id == source_id)
    return connection.execute(found.with_for_update() if lock else found).one()


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
    }
