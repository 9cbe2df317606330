"""What the index holds of a page: its passages, and what is said of it as a whole."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote, urlsplit

from llmsspider.retrieval.words import beside, digest_of, words
from llmsspider.store.records import PageRecord

# The URL fragment of a heading.
# A page's Markdown does not say which fragments the page has. Links of the site to `page#fragment` do: a heading gets
# one of those, or none.

_NOT_SLUG = re.compile(r"[^\w]+")


def slug(heading: str) -> str:
    """Reduce a heading or its id to what the ids of all site generators have in common.

    >>> slug("Request.meta special keys"), slug("request-meta-special-keys")
    ('requestmetaspecialkeys', 'requestmetaspecialkeys')
    """
    return _NOT_SLUG.sub("", heading).replace("_", "").casefold()


def fragment_of(heading_path: Sequence[str], known: Sequence[tuple[str, str]]) -> str | None:
    """The fragment of the innermost heading that has one.

    Args:
        heading_path: the headings above a passage, outermost first.
        known: fragments of the page that links lead to, with the text of a link.
    """
    by_slug = {slug(fragment): fragment for fragment, _ in known}
    for fragment, text in known:
        by_slug.setdefault(slug(text), fragment)
    for heading in reversed(heading_path[1:] or heading_path):
        name = slug(heading)
        found = by_slug.get(name) or next(
            (by_slug[one] for one in by_slug if len(name) > 5 and one.endswith(name)), None
        )
        if found:
            return found
    return None


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

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_MARKS = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)|[`*]|\\(?=[!-/:-@\[-`{-~])")
_INTERESTING = re.compile(
    r"\n {0,3}[#`~=-](?:(?<=#)#{0,5}(?:[ \t]|$)|(?<=`)``|(?<=~)~~|(?<==)=*[ \t]*$|(?<=-)-+[ \t]*$)",
    re.MULTILINE,
)
"""The line end before a line that may be a heading, the underline of one, or a fence."""
_BREAK = re.compile(r"\n(?=[^\S\n]*(?:\n|\Z|`{3}|~{3}))")
"""The line end before a line that is blank or may be a fence."""
_FENCE_BREAK = re.compile(r"\n(?=[^\S\n]*(?:`{3}|~{3}))")


@dataclass(slots=True, frozen=True)
class Heading:
    """A heading above a passage.

    Its level (1 to 6), its text without marks, and its id where the page writes one (`{#id}`).
    """

    level: int
    text: str
    id: str | None = None


@dataclass(slots=True, frozen=True)
class Passage:
    """A piece of a page: `content[start:end]`, below `headings` (outermost first, its own included)."""

    start: int
    end: int
    headings: tuple[Heading, ...]

    @property
    def heading_path(self) -> tuple[str, ...]:
        """The texts of its headings."""
        return tuple(heading.text for heading in self.headings)


@dataclass(slots=True)
class _Section:
    start: int
    end: int
    headings: tuple[Heading, ...]
    body: int  # where the text below the heading begins


def passages(content: str) -> Iterator[Passage]:
    """Yield the passages of a page in order; together they cover the page except for blank sections."""
    for section in _joined(content, _sections(content)):
        for start, end in _pieces(content, section):
            if not content[start:end].isspace():
                yield Passage(start, end, section.headings)


def _sections(content: str) -> Iterator[_Section]:
    path: tuple[Heading, ...] = ()
    begin = body = 0
    for start, end, heading in _heading_lines(content):
        if start > begin:
            yield _Section(begin, start, path, body)
        path = (*(above for above in path if above.level < heading.level), heading)
        begin, body = start, end
    if begin < len(content):
        yield _Section(begin, len(content), path, body)


def _heading_lines(content: str) -> Iterator[tuple[int, int, Heading]]:
    """Yield start and end offset of each heading's lines, and the heading; lines inside code fences are none."""
    fence = ""
    after = 0
    for found in _INTERESTING.finditer(f"\n{content}"):
        start = found.start()  # of the line in `content`
        if start < after:
            continue
        stop = content.find("\n", start)
        end = len(content) if stop < 0 else stop + 1
        line = content[start:end].rstrip("\n")
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif (opened := line.lstrip(" ")).startswith("#"):
            text = opened.lstrip("#")
            yield start, end, _heading(len(opened) - len(text), _without_closing(text))
        elif (under := _SETEXT.match(line)) is not None:
            before = content.rfind("\n", 0, max(start - 1, 0)) + 1
            text = content[before : max(start - 1, 0)]
            if before >= after and text.strip() and not text.startswith(("    ", "\t", "|", ">", "- ", "* ")):
                yield before, end, _heading(1 if "=" in under[1] else 2, text)
        after = end


def _without_closing(text: str) -> str:
    """The text of an ATX heading without the marks that may close it."""
    text = text.strip()
    opened = text.rstrip("#")
    return opened.rstrip() if not opened or opened[-1].isspace() else text


def _heading(level: int, text: str) -> Heading:
    text, own = _own_id(text)
    return Heading(level, " ".join(_MARKS.sub(lambda found: found[1] or "", text).split()), own)


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


def _pieces(content: str, section: _Section) -> Iterator[tuple[int, int]]:
    """Yield as few pieces of a section as the size allows, cut between blocks."""
    if section.end - section.start <= PASSAGE_SIZE:
        yield section.start, section.end
        return
    start = reached = section.start
    for end in _block_ends(content, section.body, section.end):
        if end - start > PASSAGE_SIZE and reached > max(start, section.body):
            yield from _bounded(content, start, reached)
            start = reached
        reached = end
    yield from _bounded(content, start, section.end)


def _block_ends(content: str, start: int, end: int) -> Iterator[int]:
    """Yield where blocks end.

    At blank lines outside fences, and at lines within a block that is larger than a passage.
    """
    position, block, fence, has_text = start, start, "", False
    text_until = 1  # where lines end that are known to be text
    while position < end:
        if fence:
            position = _after(_FENCE_BREAK, content, position, end)
        elif position >= text_until:
            text_until = _after(_BREAK, content, position, end)
            if position < text_until <= block + PASSAGE_SIZE:
                position, has_text = text_until, True
        if position >= end:
            break
        stop = content.find("\n", position, end)
        after = end if stop < 0 else stop + 1
        line = content[position:after]
        text = line.lstrip()
        mark = _FENCE.match(line) if text.startswith(("```", "~~~")) else None
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        position = after
        has_text = has_text or bool(text)
        if has_text and not fence and (not text or (text[0] != "|" and after - block > PASSAGE_SIZE)):
            yield after
            block, has_text = after, False
    yield end


def _after(line_end: re.Pattern[str], content: str, position: int, end: int) -> int:
    """Start of the first line from here on whose preceding line end matches the pattern; `end` where none does."""
    found = line_end.search(content, position - 1, end)
    return end if found is None else found.end()


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

MOST_HINTS = 8
"""Different texts of links to a page that are indexed, the most frequent ones."""

LONGEST_LINK_TEXT = 120
"""Characters; what is longer is a teaser, not the name of a page."""

_EMPTY = (
    "here this link more read next previous back home edit source top see details learn docs documentation"
)
_EMPTY_LINKS = frozenset(_EMPTY.split())


@dataclass(slots=True, frozen=True)
class IndexedPassage:
    """A passage for the index; `digest` is equal for passages of equal text."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    text: str
    beside: str
    digest: bytes


@dataclass(slots=True, frozen=True)
class IndexedPage:
    """A page as it goes into the index.

    `hints` are the notes of llms.txt and the page's description; links are (target, fragment, text).
    """

    key: bytes
    content_hash: bytes
    url: str
    title: str
    hints: str
    url_words: str
    headings: str
    passages: list[IndexedPassage]
    links: list[tuple[int, str, str]]
    optional: bool
    id: str


def indexed_page(record: PageRecord) -> IndexedPage:
    """Cut a stored page (with content and links) into what an index holds."""
    content = record.content or ""
    found = []
    for one in islice(passages(content), MOST_PASSAGES):
        text = content[one.start : one.end]
        found.append(
            IndexedPassage(one.start, one.end, one.heading_path, text, beside(text), digest_of(text))
        )
    headings = dict.fromkeys(heading for passage in found for heading in passage.heading_path)
    return IndexedPage(
        record.key,
        bytes.fromhex(record.content_hash or ""),
        record.url,
        record.title or "",
        own_hints(record),
        url_words(record.url),
        "\n".join(headings),
        found,
        list(_links(record)),
        is_optional(record),
        record.id,
    )


def own_hints(record: PageRecord) -> str:
    """The notes of the site's llms.txt on the page, and the page's own description."""
    entry = record.llms
    said = (entry.title, entry.description, entry.section) if entry else ()
    return "\n".join(dict.fromkeys(text for text in (*said, record.description) if text))


def is_optional(record: PageRecord) -> bool:
    """Whether llms.txt lists the page as optional."""
    return record.llms is not None and record.llms.optional


def url_words(url: str) -> str:
    """The words of a URL's path, without the ending of a file.

    >>> url_words("https://e.com/docs/getting-started/first_steps.html")
    'docs getting started first steps'
    """
    path = unquote(urlsplit(url).path)
    return " ".join(words(re.sub(r"(?:/index)?\.\w{1,5}$", "", path)))


def link_hints(texts: Iterable[str]) -> str:
    """The most frequent texts of links to a page, generic ones (`here`, `next`) left out."""
    counted = Counter(
        plain for text in texts if len(text) <= LONGEST_LINK_TEXT and (plain := " ".join(text.split()))
    )
    useful = [text for text, _ in counted.most_common(50) if not _EMPTY_LINKS.issuperset(words(text))]
    return "\n".join(useful[:MOST_HINTS])


def target_of(url: str) -> int:
    """The number that stands for a URL in the index: the first 8 bytes of its SHA-256, signed."""
    digest = hashlib.sha256(url.encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _links(record: PageRecord) -> Iterable[tuple[int, str, str]]:
    seen = set()
    for link in record.links:
        url, _, fragment = link.url.partition("#")
        if url == record.url and not fragment:
            continue
        row = (target_of(url), fragment, link.text[: LONGEST_LINK_TEXT + 1])
        if row not in seen:
            seen.add(row)
            yield row
        if len(seen) >= MOST_LINKS:
            return
