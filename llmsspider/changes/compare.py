"""Two contents of a page compared by blocks (headings, paragraphs, code, tables), and by words inside of text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from functools import lru_cache
from typing import Any, Literal

from llmsspider.changes.volatile import MASK, mask
from llmsspider.content.markdown import commonmark

Kind = Literal["heading", "text", "code", "table", "html"]

_LEAVES: dict[str, Kind] = {
    "Paragraph": "text",
    "Heading": "heading",
    "CodeBlock": "code",
    "Table": "table",
    "HtmlBlock": "html",
}
_CONTINUED = re.compile(r"\n[ \t>]*")
_SPACE = re.compile(r"[ \t]+")
_DASHES = re.compile("-+")


@dataclass(slots=True, frozen=True)
class Block:
    """One block: its text as Markdown on one line (code and tables: lines), and the headings it stands below.

    `info` is the language of a code block; it is empty for others.
    """

    kind: Kind
    text: str
    headings: tuple[str, ...]
    info: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two blocks the same, wherever they stand."""
        return (self.kind, self.info, self.text)

    @property
    def is_whole(self) -> bool:
        """True for code and tables, which are compared by lines."""
        return self.kind in {"code", "table"}


def blocks(markdown: str) -> list[Block]:
    """Read a Markdown text; raises `ConversionError` where the parser fails."""
    return list(_BlockReader(markdown).blocks())


class _BlockReader:
    """The events of one text, on the way to its blocks."""

    def __init__(self, markdown: str):
        text = commonmark.encodable(markdown)
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
                yield from self._leaf(event, value, span)

    def _leaf(self, event: Any, name: str, span: dict[str, int]) -> Iterator[Block]:
        start, end = span["start"], span["end"]
        code: list[str] = []
        begin, stop = end, start  # of what stands inside
        for inner, place in self._events:
            inner_name, value = _name(inner)
            if inner_name == "End" and value == name:
                break
            begin, stop = min(begin, place["start"]), max(stop, place["end"])
            if inner_name == "Text":
                code.append(inner["Text"])
        kind = _LEAVES[name]
        if kind == "code":
            yield from self._block(kind, "".join(code).rstrip("\n"), _language(event))
        elif kind == "table":
            lines = (_SPACE.sub(" ", line).strip(" >") for line in self._raw(start, end).splitlines())
            yield from self._block(kind, "\n".join(_row(line) for line in lines if line))
        elif kind == "heading":
            yield from self._heading(int(event["Start"]["Heading"]["level"][1:]), self._text(begin, stop))
        else:
            yield from self._block(kind, self._text(start, end))

    def _heading(self, level: int, text: str) -> Iterator[Block]:
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        yield from self._block("heading", text, str(level))
        self._path.append((level, text))

    def _block(self, kind: Kind, text: str, info: str = "") -> Iterator[Block]:
        if text.strip():
            yield Block(kind, text, tuple(heading for _, heading in self._path), info)

    def _raw(self, start: int, end: int) -> str:
        return self._source[start:end].decode("utf-8", "replace")

    def _text(self, start: int, end: int) -> str:
        return _SPACE.sub(" ", _CONTINUED.sub(" ", self._raw(start, end).strip())).strip()


def _row(line: str) -> str:
    """A row of a table; in the one below the head, dashes may be as wide as the widest cell."""
    return _DASHES.sub("---", line) if not line.strip("|:- ") else line


_BLOCKS = frozenset({*_LEAVES, "List", "Item", "BlockQuote", "MetadataBlock", "FootnoteDefinition"})


def _name(event: Any) -> tuple[str, str]:
    """The kind of an event and what it is about: ("Start", "Heading"), ("End", "List"), ("Text", "")."""
    if isinstance(event, str):
        return event, ""
    ((kind, value),) = event.items()
    if kind not in {"Start", "End"}:
        return kind, ""
    return kind, value if isinstance(value, str) else next(iter(value))


def _language(event: Any) -> str:
    value = event["Start"]["CodeBlock"]
    return value["Fenced"].partition(" ")[0] if isinstance(value, dict) else ""


Op = Literal["equal", "delete", "insert"]
Words = tuple[tuple[Op, str], ...]
"""Pieces of a text in order; without those marked deleted they are the text as it is now."""

ALIKE = 0.4
"""Share of equal words from which on two blocks are one that changed."""
MAX_PAIRS = 2_500
"""Pairs of blocks that are compared by words; beyond, they are paired in their order."""
MAX_EXACT = 1_000_000
"""Product of the lengths from which on frequent elements no longer decide what belongs together."""
MAX_WORDS = 4_000
"""Words of a block that are compared one by one; of longer ones, sentences are."""

_STANDING = frozenset("_" + MASK)
_WORD = re.compile(r"\w+(?:[.\-'/]\w+)*|\s+|[^\w\s]")
_SENTENCE = re.compile(r"(?<=[.!?]) ")


@dataclass(slots=True, frozen=True)
class Hunk:
    """One block that came, went or changed, below its headings.

    `words` is for text that changed, `lines` for code and tables that did: a unified diff without its head.
    `before` and `after` are empty where there is no block.
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
        return self.kind in {"code", "table"}


@dataclass(slots=True)
class Comparison:
    """The hunks of a page in its order, and how many blocks only stand elsewhere in it now."""

    hunks: list[Hunk] = field(default_factory=list)
    shifted: int = 0


def compare(before: Sequence[Block], after: Sequence[Block]) -> Comparison:
    """Compare two contents of a page."""
    pairs = list(_pairs(before, after))
    gone = Counter(old.key for old, new in pairs if old is not None and new is None)
    come = Counter(new.key for old, new in pairs if new is not None and old is None)
    shifted = gone & come
    result = Comparison(shifted=shifted.total())
    left_old, left_new = Counter(shifted), Counter(shifted)
    for old, new in pairs:
        if old is None and new is not None and left_new[new.key]:
            left_new[new.key] -= 1
        elif new is None and old is not None and left_old[old.key]:
            left_old[old.key] -= 1
        else:
            result.hunks.append(_hunk(old, new))
    return result


def _pairs(before: Sequence[Block], after: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield what differs: a block before and after, either None where there is none."""
    found = matcher([block.key for block in before], [block.key for block in after])
    for tag, i1, i2, j1, j2 in found.get_opcodes():
        if tag != "equal":
            yield from _paired(before[i1:i2], after[j1:j2])


def matcher(a: Sequence[object], b: Sequence[object]) -> SequenceMatcher[object]:
    """Return a matcher of two sequences; where both are long it goes by the elements that are rare in them."""
    return SequenceMatcher(None, a, b, autojunk=len(a) * len(b) > MAX_EXACT)


def _paired(old: Sequence[Block], new: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield the blocks of a replaced region in pairs, in order: two of one kind that are alike, or one and None."""
    position = 0
    exact = len(old) * len(new) <= MAX_PAIRS
    for block in old:
        candidates = new[position:] if exact else new[position : position + 1]
        best = max(
            ((_likeness(block, other), -index) for index, other in enumerate(candidates)), default=(0.0, 0)
        )
        if best[0] < ALIKE:
            yield block, None
            continue
        found = position - best[1]
        yield from ((None, other) for other in new[position:found])
        yield block, new[found]
        position = found + 1
    yield from ((None, other) for other in new[position:])


def _likeness(old: Block, new: Block) -> float:
    """How alike two blocks are, from 0 to 1; 0 for blocks of different kinds."""
    if old.kind != new.kind or (old.kind == "heading" and old.info != new.info):
        return 0.0
    if old.text == new.text:
        return 1.0
    alike = _share(_weighed(old.text), _weighed(new.text))
    return alike if alike >= ALIKE else max(alike, _share(*map(_weighed_mask, (old.text, new.text))))


def _share(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _weighed(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _WORD.findall(text) if word[0].isalnum() or word[0] in _STANDING)


@lru_cache(maxsize=512)
def _weighed_mask(text: str) -> Counter[str]:
    """The words of a block without dates and figures: a table whose figures all changed is still the same table."""
    return _weighed(mask(text))


def _hunk(old: Block | None, new: Block | None) -> Hunk:
    if old is None or new is None:
        block = new or old
        assert block is not None  # noqa: S101  # one of them is there
        change: Literal["added", "removed"] = "added" if old is None else "removed"
        before, after = ("", block.text) if old is None else (block.text, "")
        return Hunk(change, block.kind, block.headings, before, after, block.info)
    changed = (new.kind, new.headings, old.text, new.text, new.info)
    if new.is_whole:
        return Hunk("changed", *changed, lines=line_diff(old.text, new.text))
    return Hunk("changed", *changed, words=compare_words(old.text, new.text))


def compare_words(before: str, after: str) -> Words:
    """Compare two texts by words.

    >>> compare_words("It takes 10 seconds.", "It takes 20 seconds.")
    (('equal', 'It takes '), ('delete', '10'), ('insert', '20'), ('equal', ' seconds.'))
    """
    a, b = _WORD.findall(before), _WORD.findall(after)
    if len(a) > MAX_WORDS or len(b) > MAX_WORDS:
        a, b = _sentences(before), _sentences(after)
    found: list[tuple[Op, str]] = []
    for tag, i1, i2, j1, j2 in _joined(a, matcher(a, b).get_opcodes()):
        if tag == "equal":
            found.append(("equal", "".join(a[i1:i2])))
            continue
        found += [("delete", "".join(a[i1:i2]))] if i2 > i1 else []
        found += [("insert", "".join(b[j1:j2]))] if j2 > j1 else []
    return tuple(found)


def _joined(
    a: Sequence[str], opcodes: Sequence[tuple[str, int, int, int, int]]
) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the opcodes; changes with only white space between them are joined."""
    held: tuple[str, int, int, int, int] | None = None
    for position, code in enumerate(opcodes):
        tag, i1, i2, _, _ = code
        between = tag == "equal" and 0 < position < len(opcodes) - 1 and "".join(a[i1:i2]).isspace()
        if tag == "equal" and not between:
            if held is not None:
                yield held
                held = None
            yield code
        elif held is None:
            held = ("replace", *code[1:])
        else:
            held = ("replace", held[1], code[2], held[3], code[4])
    if held is not None:
        yield held


def _sentences(text: str) -> list[str]:
    parts = _SENTENCE.split(text)
    return [f"{part} " for part in parts[:-1]] + parts[-1:]


def line_diff(before: str, after: str) -> tuple[str, ...]:
    """The lines of a code block or table: ` ` kept, `-` gone, `+` new; without those far from any change."""
    found = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return tuple(line for number, line in enumerate(found) if number > 1)
