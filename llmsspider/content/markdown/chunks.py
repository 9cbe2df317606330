"""Cutting a document's Markdown into chunks for retrieval, and the rows of a chunk feed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, cast

from llmsspider.content.links import without_built_names
from llmsspider.content.markdown.commonmark import code_languages
from llmsspider.content.markdown.sections import Block, blocks_of
from llmsspider.items import Document
from llmsspider.web.loading import find
from llmsspider.web.stats import ChunkChange

# Each section (a heading and what stands below it, up to the next heading) is cut by itself, so
# that an edit changes the chunks of its section alone. Within one, whole blocks are packed up to
# the size. A list or quote that is too large is cut between its items, a paragraph between
# sentences, then words; code and tables are kept whole whatever their size. A heading is never
# parted from the first block below it, and one with nothing of its own joins its first subsection.
# A member (a paragraph that is a signature) is a section of its own, and bears its name.

Count = Callable[[str], int]
"""The size of a text in the unit of the user's choice."""

_WHOLE = frozenset({"fence", "code", "table", "heading"})
_SENTENCE = re.compile(r"[.!?…。！？][)\"'»”’*_`]*\s+|\n")
_WORD = re.compile(r"\s+")
_TOKEN = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_")
_LEAST = 80
"""Characters of a chunk; a shorter one joins its neighbour."""


@dataclass(slots=True, frozen=True)
class Chunk:
    """One chunk: `heading_path` names the headings and members it stands below, outermost first,
    its own included.

    `id` (32 hex digits) follows from page, headings and text. The second of equal chunks of a page,
    and each after it, has its ordinal in it too.
    """

    id: str
    heading_path: tuple[str, ...]
    text: str
    size: int


class Span(NamedTuple):
    """A piece of a text, by offsets of characters; those of a text follow each other without a gap."""

    start: int
    end: int
    heading_path: tuple[str, ...]


def tokens(text: str) -> int:
    """Estimate the tokens of a language model, without its vocabulary.

    A word counts one for each six letters begun, a number one for each three digits, any other mark
    one.

    >>> tokens("Install it: `pip install llmsspider`")
    11
    """
    return sum(1 for _ in _TOKEN.finditer(text))


def chunks(content: str | None, page: str, *, size: int, count: Count = len) -> list[Chunk]:
    """Cut the content of the page with the id `page` into chunks of up to `size`, counted by
    `count`.
    """
    content = content or ""
    found: list[Chunk] = []
    seen: Counter[str] = Counter()
    for span in split(content, size=size, count=count, least=_LEAST):
        text = content[span.start : span.end].strip("\n").rstrip()
        if not text:
            continue
        whole = "\n".join((page, *span.heading_path, "", without_built_names(text)))
        seen[whole] += 1
        if seen[whole] > 1:
            whole += f"\n{seen[whole]}"
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        found.append(Chunk(digest, span.heading_path, text, count(text)))
    return found


def split(content: str, *, size: int, count: Count = len, least: int = 0) -> list[Span]:
    """Return the pieces of a Markdown text, up to `size` where it can be cut; those below `least`
    characters join.
    """
    cutter = _Cutter(content, size, count, least)
    sections = _sections(blocks_of(content), len(content))
    found = [
        piece
        for section, first, blocks in sections
        for piece in cutter.pieces(section, first, blocks)
    ]
    return cutter.joined(cutter.joined(found, is_any=False), is_any=True) if least else found


def _sections(nodes: list[Block], length: int) -> Iterator[tuple[Span, int, list[Block]]]:
    """Yield sections, each with where the first block below its heading begins, and the blocks."""
    heads = [index for index, node in enumerate(nodes) if node.kind == "heading"]
    bounds = [0, *heads, len(nodes)] if not heads or heads[0] else [*heads, len(nodes)]
    path: list[tuple[int, str]] = []
    begin: int | None = 0
    for index, until in pairwise(bounds):
        blocks = nodes[index:until]
        end, level = (nodes[until].start, nodes[until].level) if until < len(nodes) else (length, 0)
        begin = nodes[index].start if begin is None else begin
        first = begin
        if blocks and (head := blocks[0]).kind == "heading":
            path = [(level, text) for level, text in path if level < head.level] + [
                (head.level, head.text)
            ]
            del blocks[0]
            if not blocks and level > head.level:
                continue
            first = blocks[0].start if blocks else begin
        yield Span(begin, end, tuple(text for _, text in path)), first, blocks
        begin = None


@dataclass(slots=True, frozen=True)
class _Cutter:
    content: str
    size: int
    count: Count
    least: int

    def pieces(self, section: Span, first_block: int, blocks: list[Block]) -> Iterator[Span]:
        """Yield as few pieces of a section as the size allows."""
        if self.count is len and 0 < section.end - section.start <= self.size:
            yield section
            return
        found = {section.start, section.end}
        for block, after in pairwise([*blocks, Block("", section.end)]):
            found.add(block.start)
            if block.kind not in _WHOLE and not self._fits(block.start, after.start):
                found.update(self._text_cuts(block.start, after.start))
        cuts = sorted(cut for cut in found if not section.start < cut <= first_block)
        start = reached = cuts[0]
        for cut in cuts[1:]:
            if reached > start and not self._fits(start, cut):
                yield Span(start, reached, section.heading_path)
                start = reached
            reached = cut
        if reached > start:
            yield Span(start, reached, section.heading_path)

    def joined(self, spans: list[Span], *, is_any: bool) -> list[Span]:
        """Join spans that are too short with the next one beside or below them; with either
        neighbour if `is_any`.
        """
        found: list[Span] = []
        for span in spans:
            joined = self._joined(found[-1], span, is_any=is_any) if found else None
            if joined is None:
                found.append(span)
            else:
                found[-1] = joined
        return found

    def _joined(self, first: Span, second: Span, *, is_any: bool) -> Span | None:
        paths = first.heading_path, second.heading_path
        is_near = is_any or paths[1][: len(paths[0]) - 1] == paths[0][:-1]
        short = [
            len(self.content[span.start : span.end].strip()) < self.least
            for span in (first, second)
        ]
        if not (
            is_near and (short[0] or (is_any and short[1])) and self._fits(first.start, second.end)
        ):
            return None
        both = takewhile(lambda pair: pair[0] == pair[1], zip(*paths, strict=False))
        return Span(
            first.start,
            second.end,
            tuple(one for one, _ in both) if all(short) else paths[short[0]],
        )

    def _fits(self, start: int, end: int) -> bool:
        return self.count(self.content[start:end].rstrip()) <= self.size

    def _text_cuts(self, start: int, end: int) -> Iterator[int]:
        for sentence, sentence_end in self._parts(_SENTENCE, start, end):
            if sentence > start:
                yield sentence
            if self._fits(sentence, sentence_end):
                continue
            for word, word_end in self._parts(_WORD, sentence, sentence_end):
                if word > sentence:
                    yield word
                if not self._fits(word, word_end):
                    yield from range(word + self.size, word_end, self.size)

    def _parts(self, separator: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int]]:
        ends = (found.end() for found in separator.finditer(self.content, start, end))
        return pairwise([start, *ends, end])


# The rows of a chunk feed: what a retrieval index is given, and what it has to forget.

COUNTERS: dict[str, Count] = {"characters": len, "tokens": tokens}
"""The units of `LLMS_CHUNK_SIZE` that need nothing else."""


@dataclass(slots=True, frozen=True)
class ChunkRow:
    """One chunk, or a tombstone without text, of all chunks of the page if `id` is None
    (docs/how-to/chunks.md).
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
    code_languages: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Chunker:
    """The size of chunks and what it is counted in."""

    size: int = 2000
    count: Count = len

    @classmethod
    def parse(cls, value: object) -> Chunker:
        """Read `LLMS_CHUNK_SIZE`: a number, with a unit after it where it does not count
        characters.

        >>> Chunker.parse("800 tokens").size, Chunker.parse(2000).count is len
        (800, True)
        """
        number, _, unit = str(value).strip().partition(" ")
        size = int(number) if number.isascii() and number.isdigit() else 0
        if not size:
            raise ValueError(f"{number!r} is no such number")
        return cls(size, counter(unit.strip() or "characters"))

    def ids(self, page: str, content: str | None) -> frozenset[str]:
        """The ids of the chunks of a page's content."""
        return frozenset(
            chunk.id for chunk in chunks(content, page, size=self.size, count=self.count)
        )

    def rows(
        self, document: Document, before: frozenset[str] = frozenset(), *, changes: bool = False
    ) -> Iterator[ChunkRow]:
        """Yield deleted chunks, which were in `before`, then the present ones, with `changes` those
        that are new.
        """
        if document.change == "deleted" and not before:
            yield _row(document, "deleted")
            return
        found = chunks(document.content, document.id, size=self.size, count=self.count)
        for gone in sorted(before - {chunk.id for chunk in found}):
            yield _row(document, "deleted", chunk_id=gone)
        for chunk in found:
            kept = document.change == "unchanged" or chunk.id in before
            if not (kept and changes):
                yield _row(document, "unchanged" if kept else "new", chunk)

    def replay(self, document: Document) -> Iterator[ChunkRow]:
        """Yield the rows of a document with unknown earlier chunks: those are deleted, the present
        ones are new.
        """
        if document.change != "new":
            yield _row(document, "deleted")
        for chunk in chunks(document.content, document.id, size=self.size, count=self.count):
            yield _row(document, "new", chunk)


def _row(
    document: Document, change: ChunkChange, chunk: Chunk | None = None, chunk_id: str | None = None
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
        code_languages=code_languages(chunk.text) if chunk else [],
    )


def counter(unit: str) -> Count:
    """The function that a unit names, or that is at the dotted path of one from text to int; raises
    `ValueError`.
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
    raise ValueError(f"{accepted} ({unit}: {problem})")
