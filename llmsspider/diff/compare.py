"""Two contents of a page compared by blocks (headings, paragraphs, code, tables), and by words
inside of text.

What may change in a line with every build of a site (dates, build numbers, counters, hashes) is
masked: two texts that are alike but for that may be one page that moved (`most_similar`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeVar

from llmsspider.content.markdown import commonmark
from llmsspider.web.text import valid_text

Kind = Literal["heading", "text", "code", "table", "html"]
WHOLE: frozenset[Kind] = frozenset({"code", "table"})
"""Kinds of blocks that are compared by lines."""

# --- what may change in a line with every build ---

MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAYS = r"(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
MASK = "…"
"""What stands for the part of a line that changes."""

_AGO = (
    r"\b(?:an?|a few|one|\d+)\s+(?:second|minute|hour|day|week|month|year)s?\s+ago\b"
    r"|\b(?:yesterday|today|just now)\b"
)
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b"  # a UUID, a place in memory
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"  # a commit, a hash
    rf"|\b{DAYS}\b,?(?=\s+(?:\d|{MONTHS}))"
    rf"|\b{MONTHS}\b\.?(?=\s+\d|,|$)|(?<=\d\s){MONTHS}\b\.?"
    rf"|{_AGO}"
    r"|v?\d[\d.,:/+TZ-]*\d|v?\d|\b(?:am|pm|utc|gmt|cet|cest|[ecmp][sd]t)\b",
    re.IGNORECASE,
)
LABEL = re.compile(
    r"\b(?:updated?|modified|generated|built|build|rendered|published|revised|revision|rev|commit|edited|changed on|"
    r"as of|copyright|©|stars?|forks?|downloads?|views?|visitors?|contributors?|reads?|likes?|users?"
    r" online|uptime|"
    r"page loaded|cached)\b|©",
    re.IGNORECASE,
)
AGO = re.compile(_AGO, re.IGNORECASE)
DATE = re.compile(
    rf"\b\d{{4}}[-/.]\d\d?[-/.]\d\d?\b|\b{MONTHS}\.?\s+\d{{1,2}},?\s+\d{{4}}\b|\b\d{{1,2}}\.?\s+{MONTHS}\.?\s+\d{{4}}\b|"
    rf"\b\d\d?:\d\d(?::\d\d)?\b|{_AGO}",
    re.IGNORECASE,
)
_RELEASE = re.compile(
    r"(?:(?:[=<>~!^]=|[@^~])\s*v?\d+(?:\.\d+)+|(?<![\w.])v?\d+\.\d+\.\d+)(?![\w+-]|\.\w)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\s,./:-]*")


class Masked(NamedTuple):
    """A text without what may be volatile in it, and those parts in their order; adjacent ones are
    one.
    """

    mask: str
    parts: tuple[str, ...]


def mask(text: str) -> str:
    """A text with what may be volatile in it taken out.

    >>> mask("Last updated on Nov 21, 2026 (build 4711, 3f2a9c1d)")
    'Last updated on … (build …)'
    """
    return masked(text).mask


def masked(text: str, *, releases: bool = True) -> Masked:
    """Take out what may be volatile; without `releases` not their versions, unless a label marks
    the text as volatile.

    >>> masked("pip install tool==2.1.0  # 3 files, 0.12 s", releases=False)
    Masked(mask='pip install tool==2.1.0  # … files, … s', parts=('3', '0.12'))
    >>> masked("# Built with tool 2.1.0", releases=False).mask
    '# Built with tool …'
    """
    kept = (
        []
        if releases or LABEL.search(text)
        else [found.span() for found in _RELEASE.finditer(text)]
    )
    spans: list[tuple[int, int]] = []
    position = 0
    for stop, after in [*kept, (len(text), len(text))]:
        for found in _VOLATILE.finditer(text, position, stop):
            if spans and _BETWEEN.fullmatch(text, spans[-1][1], found.start()):
                spans[-1] = (spans[-1][0], found.end())
            else:
                spans.append(found.span())
        position = after
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    rest = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    return Masked(MASK.join(rest), tuple(text[start:end] for start, end in spans))


# --- the blocks of a page ---

_LEAVES: dict[str, Kind] = {
    "Paragraph": "text",
    "Heading": "heading",
    "CodeBlock": "code",
    "Table": "table",
    "HtmlBlock": "html",
}
_BLOCKS = frozenset({*_LEAVES, "List", "Item", "BlockQuote", "MetadataBlock", "FootnoteDefinition"})
_CONTINUED = re.compile(r"\n[ \t>]*")
_SPACE = re.compile(r"[ \t]+")
_DASHES = re.compile("-+")


@dataclass(slots=True, frozen=True)
class Block:
    """One block: its text as Markdown on one line (code and tables: lines), and the headings it
    stands below.

    `info` is the language of a code block, the level of a heading; it is empty for others.
    """

    kind: Kind
    text: str
    headings: tuple[str, ...]
    info: str = ""


def blocks(markdown: str) -> list[Block]:
    """Read a Markdown text; raises `ConversionError` where the parser fails."""
    return list(_BlockReader(markdown).blocks())


class _BlockReader:
    """The events of one text, on the way to its blocks."""

    def __init__(self, markdown: str):
        text = valid_text(markdown)
        self._source = text.encode()
        self._events = commonmark.events_with_range(text)
        self._path: list[tuple[int, str]] = []

    def blocks(self) -> Iterator[Block]:
        run: tuple[int, int] | None = None  # inline text that stands in an item without a paragraph
        for event, span in self._events:
            name, value = _name(event)
            if name not in {"Start", "End"} or value not in _BLOCKS:
                run = (run[0] if run else span["start"], span["end"])
                continue
            if run is not None:
                yield from self._block("text", self._text(*run))
                run = None
            if name == "Start" and value in _LEAVES:
                yield from self._leaf(event, value, span["start"], span["end"])

    def _leaf(self, event: Any, name: str, start: int, end: int) -> Iterator[Block]:
        code: list[str] = []
        # of what stands inside
        begin = end
        stop = start
        for inner, place in self._events:
            inner_name, value = _name(inner)
            if inner_name == "End" and value == name:
                break
            begin = min(begin, place["start"])
            stop = max(stop, place["end"])
            if inner_name == "Text":
                code.append(inner["Text"])
        match kind := _LEAVES[name]:
            case "code":
                fence = event["Start"]["CodeBlock"]
                language = fence["Fenced"].partition(" ")[0] if isinstance(fence, dict) else ""
                yield from self._block(kind, "".join(code).rstrip("\n"), language)
            case "table":
                lines = (
                    _SPACE.sub(" ", line).strip(" >") for line in self._raw(start, end).splitlines()
                )
                # in the row below the head, dashes may be as wide as the widest cell
                rows = (
                    line if line.strip("|:- ") else _DASHES.sub("---", line)
                    for line in lines
                    if line
                )
                yield from self._block(kind, "\n".join(rows))
            case "heading":
                level = int(event["Start"]["Heading"]["level"][1:])
                text = self._text(begin, stop)
                while self._path and self._path[-1][0] >= level:
                    self._path.pop()
                yield from self._block(kind, text, str(level))
                self._path.append((level, text))
            case _:
                yield from self._block(kind, self._text(start, end))

    def _block(self, kind: Kind, text: str, info: str = "") -> Iterator[Block]:
        if text.strip():
            yield Block(kind, text, tuple(heading for _, heading in self._path), info)

    def _raw(self, start: int, end: int) -> str:
        return self._source[start:end].decode("utf-8", "replace")

    def _text(self, start: int, end: int) -> str:
        return _SPACE.sub(" ", _CONTINUED.sub(" ", self._raw(start, end).strip())).strip()


def _name(event: Any) -> tuple[str, str]:
    """The kind of an event and what it is about: ("Start", "Heading"), ("End", "List"), ("Text",
    "").
    """
    if isinstance(event, str):
        return event, ""
    ((kind, value),) = event.items()
    if kind not in {"Start", "End"}:
        return kind, ""
    return kind, value if isinstance(value, str) else next(iter(value))


# --- two contents of a page ---

Op = Literal["equal", "delete", "insert"]
Words = tuple[tuple[Op, str], ...]
"""Pieces of a text in order; without those marked deleted they are the text as it is now."""

ALIKE = 0.4  # share of equal words from which on two blocks are one that changed
# pairs of blocks that are compared by words; beyond, they are paired in their order
MAX_BLOCK_PAIRS = 2_500
MAX_EXACT = 1_000_000
"""Product of the lengths from which on frequent elements no longer decide what belongs together."""
MAX_WORDS = 4_000
"""Words of a block that are compared one by one; of longer ones, sentences are."""

_STANDING = frozenset("_" + MASK)
_WORD = re.compile(r"\w+(?:[.\-'/]\w+)*|\s+|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?] )")


@dataclass(slots=True, frozen=True)
class Hunk:
    """One block that came, went or changed, below its headings; `before` and `after` are empty
    where there is none.

    `words` is for text that changed, `lines` for code and tables that did: a unified diff without
    its head.
    """

    change: Literal["added", "removed", "changed"]
    kind: Kind
    headings: tuple[str, ...]
    before: str
    after: str
    info: str = ""
    words: Words = ()
    lines: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True for code and tables, which are compared by lines."""
        return self.kind in WHOLE


def compare(before: Sequence[Block], after: Sequence[Block]) -> tuple[list[Hunk], int]:
    """Return the hunks of a page in its order, and how many blocks only stand elsewhere in it now."""
    keys = Counter[tuple[str, ...]]
    hunks = [
        ((hunk.kind, hunk.info, hunk.before or hunk.after), hunk) for hunk in _hunks(before, after)
    ]
    shifted = keys(key for key, hunk in hunks if hunk.change == "added")
    shifted &= keys(key for key, hunk in hunks if hunk.change == "removed")
    left = {"added": shifted.copy(), "removed": shifted.copy(), "changed": keys()}
    others: list[Hunk] = []
    for key, hunk in hunks:
        if left[hunk.change][key]:
            left[hunk.change][key] -= 1
        else:
            others.append(hunk)
    return others, shifted.total()


def _hunks(before: Sequence[Block], after: Sequence[Block]) -> Iterator[Hunk]:
    """Yield what differs, in order; in a region that was replaced, two blocks that are alike are
    one that changed.
    """
    keys, others = ([(one.kind, one.info, one.text) for one in found] for found in (before, after))
    for tag, i1, i2, start, end in matcher(keys, others).get_opcodes():
        if tag == "equal":
            continue
        position = start
        reach = end if (i2 - i1) * (end - start) <= MAX_BLOCK_PAIRS else 0
        for old in before[i1:i2]:
            candidates = after[position : reach or min(position + 1, end)]
            likeness = [_likeness(old, new) for new in candidates]
            best = max(likeness, default=0.0)
            if best < ALIKE:
                yield Hunk("removed", old.kind, old.headings, old.text, "", old.info)
                continue
            found = position + likeness.index(best)
            yield from map(_added, after[position:found])
            new = after[found]
            position = found + 1
            hunk = Hunk("changed", new.kind, new.headings, old.text, new.text, new.info)
            if new.kind in WHOLE:
                yield replace(hunk, lines=line_diff(old.text, new.text))
            else:
                yield replace(hunk, words=compare_words(old.text, new.text))
        yield from map(_added, after[position:end])


def _added(new: Block) -> Hunk:
    return Hunk("added", new.kind, new.headings, "", new.text, new.info)


def matcher(a: Sequence[object], b: Sequence[object]) -> SequenceMatcher[object]:
    """Return a matcher of two sequences; where both are long it goes by the elements that are rare
    in them.
    """
    return SequenceMatcher(None, a, b, autojunk=len(a) * len(b) > MAX_EXACT)


def _likeness(old: Block, new: Block) -> float:
    """How alike two blocks are, from 0 to 1; 0 for blocks of different kinds."""
    if old.kind != new.kind or (old.kind == "heading" and old.info != new.info):
        return 0.0
    if old.text == new.text:
        return 1.0
    alike = common_share(_weighed(old.text), _weighed(new.text))
    return (
        alike
        if alike >= ALIKE
        else max(alike, common_share(_weighed_mask(old.text), _weighed_mask(new.text)))
    )


def common_share(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of their words that two texts have in common."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _weighed(text: str) -> Counter[str]:
    return Counter(
        word.lower() for word in _WORD.findall(text) if word[0].isalnum() or word[0] in _STANDING
    )


@lru_cache(maxsize=512)
def _weighed_mask(text: str) -> Counter[str]:
    """The words of a block without dates and figures: a table whose figures all changed is still
    the same table.
    """
    return _weighed(mask(text))


def compare_words(before: str, after: str) -> Words:
    """Compare two texts by words; changes with only white space between them are joined.

    >>> compare_words("It takes 10 seconds.", "It takes 20 seconds.")
    (('equal', 'It takes '), ('delete', '10'), ('insert', '20'), ('equal', ' seconds.'))
    """
    a = _WORD.findall(before)
    b = _WORD.findall(after)
    if len(a) > MAX_WORDS or len(b) > MAX_WORDS:
        a = _SENTENCE.split(before)
        b = _SENTENCE.split(after)
    found: list[tuple[Op, str]] = []
    gone = come = ""
    opcodes = matcher(a, b).get_opcodes()
    for position, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        old = "".join(a[i1:i2])
        new = "".join(b[j1:j2])
        if tag != "equal" or (0 < position < len(opcodes) - 1 and old.isspace()):
            gone = gone + old
            come = come + new
            continue
        found += [("delete", gone), ("insert", come), ("equal", old)]
        gone = come = ""
    return tuple(piece for piece in [*found, ("delete", gone), ("insert", come)] if piece[1])


def line_diff(before: str, after: str) -> tuple[str, ...]:
    """The lines of a code block or table: ` ` kept, `-` gone, `+` new; without those far from any
    change.
    """
    return tuple(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))[2:]


# --- two texts that may be one page that moved ---

SAME_PAGE = 0.9  # share of words that two texts of one page have in common
MIN_WORDS = 20  # texts of fewer words say too little
MAX_PAIRS = 40_000  # new and deleted pages that are compared word by word

T = TypeVar("T")


def word_counts(content: str, url: str) -> Counter[str]:
    """The words of a page without its own address, dates and figures."""
    name = url.rstrip("/").rpartition("/")[2]
    text = content.replace(url, "").replace(f"/{name}", "") if name else content.replace(url, "")
    return Counter(re.findall(r"\w+", mask(text).lower()))


def most_similar(one: Counter[str], others: Iterable[tuple[T, Counter[str]]]) -> T | None:
    """Return which of several texts is the page that moved, the most alike; None for none of them.

    >>> text = "A page of many words that says what it does and how. " * 2
    >>> one, other = word_counts(text + "Nov 1, 2026", "https://e.com/a"), word_counts("Else.", "https://e.com/c")
    >>> moved = word_counts(text + "Nov 2, 2026", "https://e.com/b")
    >>> most_similar(one, [(1, other), (2, moved)]), most_similar(one, [(1, other)])
    (2, None)
    """
    alike: list[tuple[float, T]] = []
    for name, other in others:
        smaller = min(one.total(), other.total())
        total = one.total() + other.total()
        # else the share is too low in any case
        if smaller >= MIN_WORDS and 2 * smaller >= SAME_PAGE * total:
            alike.append((common_share(one, other), name))
    best = max(alike, key=itemgetter(0), default=None)
    return best[1] if best and best[0] >= SAME_PAGE else None
