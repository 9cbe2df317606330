"""What the index holds of a page: its passages, and what is said of it as a whole.

Passages are the chunks of `content.markdown.chunks`, cut at blocks that one pattern finds: a parse of each page would
cost several times as much as the rest of indexing, which may take a tenth of the crawl's time. Positions are offsets
of characters, so that the text itself stays in the page store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from llmsspider.answers.words import WordParts
from llmsspider.content.markdown.chunks import Block, Span, split
from llmsspider.store import PageRecord

PASSAGE_SIZE = 1600
"""Characters of a passage; a code fence or table may be larger."""

MIN_SECTION = 160
"""Characters of a section; a shorter one, which answers little, is joined with the next one of its parent section."""

MAX_PASSAGE = 16_000
"""Maximum number of characters of a passage; what is larger is cut between lines, a larger line anywhere."""

MAX_PASSAGES = 2000
"""Maximum number of passages of one page that are indexed: about 3 MB of text."""

MAX_LINKS = 500
"""Maximum number of links of one page to fragments of pages that are kept."""

MAX_LINK_TEXT = 120
"""Characters of the text of a link that are kept."""

_MARKS = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)|[`*]|\\(?=[!-/:-@\[-`{-~])")
_LINES = re.compile(
    r"\n {0,3}(?=[#`~=-])(?:(#{1,6})(?=[ \t]|$)|(`{3,}|~{3,})|(=+|--+)[ \t]*$)|(?:\n[^\S\n]*+(?=\n))++",
    re.MULTILINE,
)
"""The line end before a heading, a code fence or the underline of a heading, and its marks; or blank lines."""


class Passage(NamedTuple):
    """A piece of a page: `text` is `content[start:end]`, below the headings of `heading_path`, outermost first.

    The passages of a section share one `heading_path`.
    """

    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str


def passages(content: str) -> Iterator[Passage]:
    """Yield the passages of a page in order; together they cover the page except for blank sections."""
    for begin, end, path in _joined(split(content, size=PASSAGE_SIZE, blocks=_blocks(content))):
        start = begin
        while start < end:
            most = start + MAX_PASSAGE
            cut = end if end <= most else content.rfind("\n", start, most) + 1 or most
            if not (text := content[start:cut]).isspace():
                yield Passage(start, cut, path, text)
            start = cut


def _joined(spans: Iterator[Span]) -> Iterator[Span]:
    """Join short spans with the next one under the same parent."""
    waiting: Span | None = None
    for span in spans:
        joined = span
        if waiting is not None:
            path = waiting.heading_path
            parents = max(len(path) - 1, 0)
            if len(span.heading_path) >= len(path) and span.heading_path[:parents] == path[:parents]:
                joined = Span(waiting.start, span.end, path)
            else:
                yield waiting
        waiting = joined if joined.end - joined.start < MIN_SECTION else None
        if waiting is None:
            yield joined
    if waiting is not None:
        yield waiting


def _blocks(content: str) -> list[Block]:
    """The headings, code fences, tables and paragraphs of a page, one after the other; lists are paragraphs."""
    blocks: list[Block] = []
    fence = ""
    begin = 0  # of the block that is open
    read = 0  # up to here

    def close(end: int) -> None:
        if begin < end:
            is_table = content[begin : begin + 4].lstrip(" ").startswith("|")
            blocks.append(Block("table_open" if is_table else "paragraph_open", begin))

    for found in _LINES.finditer(f"\n{content}"):
        start = found.start()  # of the line in `content`
        if start < read:
            continue
        atx, mark, under = found.groups()
        read = content.find("\n", found.end() - 1) + 1 or len(content)
        if fence:
            if mark and mark.startswith(fence) and not content[found.end() - 1 : read].strip():
                fence, begin = "", read
        elif mark:
            close(start)
            blocks.append(Block("fence", start))
            fence, begin = mark, len(content)
        elif atx:
            close(start)
            text = _without_closing(content[found.end() - 1 : read])
            blocks.append(Block("heading_open", start, len(atx), text))
            begin = read
        elif under:
            before = content.rfind("\n", 0, max(start - 1, 0)) + 1
            text = content[before : max(start - 1, 0)]
            if before >= begin and text.strip() and not text.startswith(("    ", "\t", "|", ">", "- ", "* ")):
                close(before)
                blocks.append(Block("heading_open", before, 1 if under[0] == "=" else 2, _heading(text)))
                begin = read
        else:
            close(start)
            begin = read = found.end()
    close(len(content))
    return blocks


def _without_closing(text: str) -> str:
    """The text of an ATX heading without the marks that may close it."""
    text = text.strip()
    opened = text.rstrip("#")
    return _heading(opened if not opened or opened[-1].isspace() else text)


def _heading(text: str) -> str:
    """The text of a heading without marks, and without the id it may end with: `Title {#id .class}`."""
    text = text.rstrip()
    before, mark, attributes = text.rpartition("{")
    if mark and attributes.endswith("}") and any(part[0] == "#" for part in attributes[:-1].split()):
        text = before
    if not text.isalnum():
        text = _MARKS.sub(lambda found: found[1] or "", text)
    return " ".join(text.split())


@dataclass(slots=True, frozen=True)
class IndexedPage:
    """A page as it goes into the index.

    `parts` are the further words of each passage (`WordParts`). `links` are those to fragments of pages: the page's
    URL, fragment and text.
    """

    record: PageRecord
    passages: list[Passage]
    parts: list[str]
    links: list[tuple[str, str, str]]

    @property
    def headings(self) -> str:
        """Every heading once."""
        return "\n".join(dict.fromkeys(heading for one in self.passages for heading in one.heading_path))


def indexed_page(record: PageRecord, links: Iterable[Sequence[str]]) -> IndexedPage:
    """Cut a stored page into what an index holds.

    Args:
        record: of the page, with its content.
        links: text and URL of each link of the content.
    """
    content = record.content or ""
    found = list(islice(passages(content), MAX_PASSAGES))
    parts = WordParts(content)
    to_fragments: dict[tuple[str, str, str], None] = {}
    for text, link in links:
        url, mark, fragment = link.partition("#")
        if mark and fragment:
            to_fragments[url, fragment, text[:MAX_LINK_TEXT]] = None
            if len(to_fragments) == MAX_LINKS:
                break
    return IndexedPage(record, found, [parts.of(one.start, one.end) for one in found], list(to_fragments))


def outline_of(record: PageRecord) -> tuple[str, str, bool]:
    """What the index has of a page beside its content: title, hints, whether llms.txt calls it optional.

    Hints are the notes of the site's llms.txt on the page, and the page's own description.
    """
    entry = record.llms
    notes = (entry.title, entry.description, entry.section) if entry else ()
    hints = "\n".join(dict.fromkeys(text for text in (*notes, record.description) if text))
    return record.title or "", hints, entry is not None and entry.optional
