"""What the index holds of a page: its passages, and what is said of it as a whole."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import orjson

from llmsspider.answers.words import BesideWords, words
from llmsspider.store.records import Outline, PageRecord

# The passages of a page: what a search finds and an answer quotes.
# The rules are those of `markdown.chunks` (sections apart, code fences and tables whole, a heading with the first block
# below it), applied in one pass over the lines without a parse: the index is updated at the end of a crawl and may
# take a tenth of its time. Positions are offsets of characters, so that the text itself stays in the page
# store.

PASSAGE_SIZE = 1600
"""Characters of a passage; a code fence or table may be larger."""

LARGEST_PASSAGE = 16_000
"""Characters of a passage at most; what is larger is cut between lines, a larger line between characters."""

SMALLEST_PASSAGE = 160
"""Sections with less text, which answer little, are joined with the next one of their parent section."""

_MARKS = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)|[`*]|\\(?=[!-/:-@\[-`{-~])")
_INTERESTING = re.compile(
    r"\n {0,3}(?=[#`~=-])(?:(?P<atx>#{1,6})(?=[ \t]|$)|(?P<fence>`{3,}|~{3,})|(?P<under>=+|--+)[ \t]*$)",
    re.MULTILINE,
)
"""The line end before a line that may be a heading, the underline of one, or a fence, and its marks."""
_BLANKS = re.compile(r"(\n[^\S\n]*\n)(?:[^\S\n]*\n)*")
"""A line end and the blank lines after it; the group ends with the first of them."""


@dataclass(slots=True, frozen=True)
class Heading:
    """A heading above a passage.

    Its level (1 to 6), its text without marks, and its id where the page writes one (`{#id}`).
    """

    level: int
    text: str
    id: str | None = None


class Passage(NamedTuple):
    """A piece of a page: `text` is `content[start:end]`, below `headings` (outermost first, its own included).

    `heading_path` has their texts; the passages of a section share it.
    """

    start: int
    end: int
    headings: tuple[Heading, ...]
    heading_path: tuple[str, ...]
    text: str


class _Fences(NamedTuple):
    """Where the code fences of a page begin, and where the lines that close them end."""

    starts: list[int]
    ends: list[int]

    def around(self, place: int) -> int | None:
        """The index of the fence that a place is in, after its first line; None for none."""
        before = bisect_left(self.starts, place) - 1
        return before if before >= 0 and place < self.ends[before] else None


@dataclass(slots=True)
class _Section:
    start: int
    end: int
    headings: tuple[Heading, ...]
    body: int  # where the text below the heading begins


def passages(content: str) -> Iterator[Passage]:
    """Yield the passages of a page in order; together they cover the page except for blank sections."""
    fences = _Fences([], [])
    for section in _joined(content, _sections(content, fences)):
        path = tuple([heading.text for heading in section.headings])
        for start, end in _pieces(content, section, fences):
            text = content[start:end]
            if not text.isspace():
                yield Passage(start, end, section.headings, path, text)


def _sections(content: str, fences: _Fences) -> Iterator[_Section]:
    """Yield the sections of a page; the fences of each are in `fences` by then."""
    path: tuple[Heading, ...] = ()
    begin = body = 0
    for start, end, heading in _heading_lines(content, fences):
        if start > begin:
            yield _Section(begin, start, path, body)
        path = (*(above for above in path if above.level < heading.level), heading)
        begin, body = start, end
    if begin < len(content):
        yield _Section(begin, len(content), path, body)


def _heading_lines(content: str, fences: _Fences) -> Iterator[tuple[int, int, Heading]]:
    """Yield start and end offset of each heading's lines, and the heading; lines inside code fences are none.

    The fences that were passed are added to `fences`.
    """
    fence = ""
    after = 0
    for found in _INTERESTING.finditer(f"\n{content}"):
        start = found.start()  # of the line in `content`
        if start < after:
            continue
        stop = content.find("\n", start)
        end = len(content) if stop < 0 else stop + 1
        atx, mark, under = found.groups()
        behind = content[found.end() - 1 : end]
        if fence:
            if mark and mark.startswith(fence) and not behind.strip():
                fence = ""
                fences.ends.append(end)
        elif mark:
            fence = mark
            fences.starts.append(start)
        elif atx:
            yield start, end, _heading(len(atx), _without_closing(behind))
        else:
            before = content.rfind("\n", 0, max(start - 1, 0)) + 1
            text = content[before : max(start - 1, 0)]
            if before >= after and text.strip() and not text.startswith(("    ", "\t", "|", ">", "- ", "* ")):
                yield before, end, _heading(1 if under[0] == "=" else 2, text)
        after = end
    if fence:
        fences.ends.append(len(content))


def _without_closing(text: str) -> str:
    """The text of an ATX heading without the marks that may close it."""
    text = text.strip()
    opened = text.rstrip("#")
    return opened.rstrip() if not opened or opened[-1].isspace() else text


def _heading(level: int, text: str) -> Heading:
    text, own = _own_id(text)
    if not text.isalnum():
        text = _MARKS.sub(lambda found: found[1] or "", text)
    return Heading(level, " ".join(text.split()), own)


def _own_id(text: str) -> tuple[str, str | None]:
    """Split a heading into its text and the id it ends with: `Title {#id .class}`."""
    text = text.rstrip()
    before, mark, attributes = text.rpartition("{")
    if not mark or not attributes.endswith("}"):
        return text, None
    own = next((part[1:] for part in attributes[:-1].split() if part.startswith("#")), None)
    return (before, own) if own else (text, None)


def _joined(content: str, sections: Iterator[_Section]) -> Iterator[_Section]:
    """Merge short sections, and headings without text, into the next section under the same parent."""
    waiting: _Section | None = None
    for following in sections:
        section = following
        if waiting is not None:
            follows = len(section.headings) >= len(waiting.headings) > 0 or not waiting.headings
            headings_only = not content[waiting.body : waiting.end].strip()
            if follows and (
                headings_only or section.headings[: len(waiting.headings) - 1] == waiting.headings[:-1]
            ):
                section = _Section(
                    waiting.start,
                    section.end,
                    section.headings if headings_only else waiting.headings,
                    section.body,
                )
            else:
                yield waiting
        waiting = None
        if section.end - section.start < SMALLEST_PASSAGE:
            waiting = section
        else:
            yield section
    if waiting is not None:
        yield waiting


def _pieces(content: str, section: _Section, fences: _Fences) -> Iterator[tuple[int, int]]:
    """Yield as few pieces of a section as the size allows, cut between blocks."""
    start, end = section.start, section.end
    if end - start > PASSAGE_SIZE:
        blank = [one.end(1) for one in _BLANKS.finditer(content, section.body, end)]
        while end - start > PASSAGE_SIZE:
            cut = _cut(content, start, section, blank, fences)
            if cut >= end:
                break
            yield from _bounded(content, start, cut)
            start = cut
    yield from _bounded(content, start, end)


def _cut(content: str, start: int, section: _Section, blank: list[int], fences: _Fences) -> int:
    """Where a piece that begins at `start` ends: after the last block that fits, else after the first one.

    A block ends at a blank line outside fences, one that is larger than a passage also at a line. `blank` are the ends
    of blank lines of the section, of several together of the first.
    """
    least = max(start, section.body)
    first = bisect_right(blank, least)
    if first < len(blank) and not content[least : blank[first]].strip():
        first += 1  # no block has ended there
    place = bisect_right(blank, start + PASSAGE_SIZE)
    while place > first:
        fence = fences.around(blank[place - 1])
        if fence is None:
            return blank[place - 1]
        place = bisect_right(blank, fences.starts[fence], hi=place)
    stop = _line_after(content, least + PASSAGE_SIZE, section.end, fences)
    place = first
    while place < len(blank) and blank[place] < stop:
        fence = fences.around(blank[place])
        if fence is None:
            return blank[place]
        place = bisect_left(blank, fences.ends[fence], lo=place)
    return stop


def _line_after(content: str, position: int, end: int, fences: _Fences) -> int:
    """Where the first line ends from `position` on that is in no fence and no row of a table; at most `end`."""
    while (newline := content.find("\n", position, end)) >= 0:
        fence = fences.around(newline + 1)
        if fence is not None:
            return min(fences.ends[fence], end)
        line = content[content.rfind("\n", 0, newline) + 1 : newline].lstrip()
        if not line.startswith("|"):
            return newline + 1
        position = newline + 1
    return end


def _bounded(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LARGEST_PASSAGE:
        cut = content.rfind("\n", start, start + LARGEST_PASSAGE) + 1 or start + LARGEST_PASSAGE
        yield start, cut
        start = cut
    yield start, end


MOST_PASSAGES = 2000
"""Passages of one page that are indexed: about 3 MB of text."""

MOST_LINKS = 500
"""Links of one page whose texts are kept."""

LONGEST_LINK_TEXT = 120
"""Characters; what is longer is a teaser, not the name of a page."""


class IndexedPassage(NamedTuple):
    """A passage for the index. `beside` are further words to find it by; passages of a section share `heading_path`."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    beside: str


@dataclass(slots=True, frozen=True)
class IndexedPage:
    """A page as it goes into the index.

    `hints` are the notes of llms.txt and the page's description; links are pairs of a target and what links to it
    say, a JSON array of pairs of fragment and text.
    """

    key: bytes
    content_hash: bytes
    url: str
    title: str
    hints: str
    headings: str
    passages: list[IndexedPassage]
    links: list[tuple[int, str]]
    optional: bool
    id: str


def indexed_page(record: PageRecord, links: Iterable[Sequence[str]]) -> IndexedPage:
    """Cut a stored page into what an index holds.

    Args:
        record: of the page, with its content.
        links: text and URL of each link of the content.
    """
    content = record.content or ""
    aside = BesideWords(content)
    found = [
        IndexedPassage(start, end, path, text, aside.of(start, end))
        for start, end, _, path, text in islice(passages(content), MOST_PASSAGES)
    ]
    headings = dict.fromkeys(chain.from_iterable(dict.fromkeys(one.heading_path for one in found)))
    return IndexedPage(
        record.key,
        bytes.fromhex(record.content_hash or ""),
        record.url,
        record.title or "",
        own_hints(record),
        "\n".join(headings),
        found,
        _links(record.url, links),
        is_optional(record),
        record.id,
    )


def own_hints(record: PageRecord | Outline) -> str:
    """The notes of the site's llms.txt on the page, and the page's own description."""
    entry = record.llms
    said = (entry.title, entry.description, entry.section) if entry else ()
    return "\n".join(dict.fromkeys(text for text in (*said, record.description) if text))


def is_optional(record: PageRecord | Outline) -> bool:
    """Whether llms.txt lists the page as optional."""
    return record.llms is not None and record.llms.optional


def url_words(url: str) -> str:
    """The words of a URL's path, without the ending of a file.

    >>> url_words("https://e.com/docs/getting-started/first_steps.html")
    'docs getting started first steps'
    """
    path = unquote(urlsplit(url).path)
    return " ".join(words(re.sub(r"(?:/index)?\.\w{1,5}$", "", path)))


@lru_cache(maxsize=10_000)
def target_of(url: str) -> int:
    """The number that stands for a URL in the index: the first 8 bytes of its SHA-256, signed."""
    digest = hashlib.sha256(url.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _links(page: str, links: Iterable[Sequence[str]]) -> list[tuple[int, str]]:
    """What the links of a page say, by target: the first `MOST_LINKS` that differ, those to the page itself aside."""
    said: dict[str, dict[tuple[str, str], None]] = {}
    left = MOST_LINKS
    for text, link in links:
        url, _, fragment = link.partition("#")
        if url == page and not fragment:
            continue
        known = said.setdefault(url, {})
        row = (fragment, text[: LONGEST_LINK_TEXT + 1])
        if row not in known:
            known[row] = None
            left -= 1
            if not left:
                break
    return [(target_of(url), orjson.dumps(list(rows)).decode()) for url, rows in said.items()]
