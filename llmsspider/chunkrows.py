"""The rows of a chunk feed: what a retrieval index is given, and what it has to forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from llmsspider.chunking import Chunk, Count, characters, chunks, tokens
from llmsspider.errors import ArgumentsError
from llmsspider.importing import find
from llmsspider.items import Document
from llmsspider.stats import ChunkChange

COUNTERS: dict[str, Count] = {"characters": characters, "tokens": tokens}
"""The units of `LLMS_CHUNK_UNIT` that need nothing else."""


@dataclass(slots=True, frozen=True)
class ChunkRow:
    """One chunk, or a tombstone (`change` deleted: no text). See docs/chunks.md for the fields.

    A tombstone with `id` None is for every chunk of the page.
    """

    id: str | None
    page: str
    url: str
    source: str
    run: str
    seq: int | None
    change: ChunkChange
    title: str | None
    heading_path: tuple[str, ...]
    section: str | None
    language: str | None
    text: str | None
    size: int | None


@dataclass(slots=True, frozen=True)
class Chunker:
    """The size of chunks and what it is counted in."""

    size: int = 2000
    count: Count = characters

    def ids(self, page: str, content: str | None) -> frozenset[str]:
        """The ids of the chunks of a page's content."""
        return frozenset(chunk.id for chunk in chunks(content or "", page, size=self.size, count=self.count))

    def rows(
        self, document: Document, before: frozenset[str] = frozenset(), *, changes: bool = False
    ) -> Iterator[ChunkRow]:
        """Yield the rows of a document: chunks that are gone, then those that are there.

        Args:
            document: as it leaves the crawl.
            before: the ids of its chunks as last stored; of a document that did not change, leave them out.
            changes: leave out chunks that are as they were.
        """
        if document.change == "deleted" and not before:
            yield _gone(document, None)
            return
        found = chunks(document.content or "", document.id, size=self.size, count=self.count)
        for gone in sorted(before - {chunk.id for chunk in found}):
            yield _gone(document, gone)
        for chunk in found:
            kept = document.change == "unchanged" or chunk.id in before
            if not (kept and changes):
                yield _row(document, chunk, "unchanged" if kept else "new")

    def replay(self, document: Document) -> Iterator[ChunkRow]:
        """Yield the rows of a document whose earlier chunks are not known: those go all, the present ones are new."""
        if document.change != "new":
            yield _gone(document, None)
        for chunk in chunks(document.content or "", document.id, size=self.size, count=self.count):
            yield _row(document, chunk, "new")


def _gone(document: Document, chunk_id: str | None) -> ChunkRow:
    return _row(document, None, "deleted", chunk_id)


def _row(
    document: Document,
    chunk: Chunk | None,
    change: ChunkChange,
    chunk_id: str | None = None,
) -> ChunkRow:
    return ChunkRow(
        id=chunk.id if chunk else chunk_id,
        page=document.id,
        url=document.url,
        source=document.source,
        run=document.run,
        seq=document.seq,
        change=change,
        title=document.title,
        heading_path=chunk.heading_path if chunk else (),
        section=document.llms.section if document.llms else None,
        language=document.language,
        text=chunk.text if chunk else None,
        size=chunk.size if chunk else None,
    )


def counter(unit: str) -> Count:
    """The function `LLMS_CHUNK_UNIT` names: a unit, or the dotted path of a function from text to int.

    Raises:
        ArgumentsError: there is no such unit or function.
    """
    if unit in COUNTERS:
        return COUNTERS[unit]
    try:
        found: Any = find(unit)
        if isinstance(found("some text"), int):
            return cast("Count", found)
        problem = "does not return an int"
    except Exception as error:  # whatever the user's module raises
        problem = f"{type(error).__name__}: {error}"
    accepted = f"{', '.join(COUNTERS)}, or the path of a function that counts a text"
    raise ArgumentsError([f"setting LLMS_CHUNK_UNIT={unit!r}: accepted are {accepted} ({problem})"])
