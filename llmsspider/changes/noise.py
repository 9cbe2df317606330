"""Dates, counters and hashes that change with every build, recognised by what the contents of a page were before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from llmsspider.changes.compare import Block, Hunk, Kind, line_diff, matcher
from llmsspider.changes.volatile import MASK, is_dated, is_labelled, mask, mask_but_releases

PAGES = 3
"""Pages on which a labelled line has to change at the same time to be noise without any earlier content."""
PROVEN_PAGES = 2
"""Pages whose earlier contents have to prove a line to be noise for it to be noise everywhere."""

_CELL = re.compile(r"(?<!\\)\|")
_SPAN = re.compile(r"`[^`]+`")


@dataclass(slots=True, frozen=True)
class Line:
    """A line that differs in nothing but what may be volatile.

    `number` is that in the text before, `mask` what stays of it, `labelled` whether it says that it is volatile: by
    a word such as "updated", or by dates in what differs.
    """

    number: int
    mask: str
    before: str
    after: str
    labelled: bool


def volatile_lines(hunk: Hunk) -> list[Line]:
    """The lines of a hunk that may be noise: text is one line, code and tables have theirs."""
    if hunk.change != "changed":
        return []
    if not hunk.is_whole:
        return [*_lines_alike(hunk, 0, [hunk.before], [hunk.after])]
    before, after = hunk.before.splitlines(), hunk.after.splitlines()
    return [
        line
        for tag, i1, i2, j1, j2 in matcher(before, after).get_opcodes()
        if tag == "replace"
        for line in _lines_alike(hunk, i1, before[i1:i2], after[j1:j2])
    ]


def _lines_alike(hunk: Hunk, first: int, before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    """Pair the lines that have one mask."""
    masks, others = ([_mask_of(hunk.kind, line) for line in lines] for lines in (before, after))
    for start, other, size in matcher(masks, others).get_matching_blocks():
        for number in range(start, start + size):
            old, new = before[number], after[other + number - start]
            if MASK in masks[number] and old != new:
                yield Line(first + number, masks[number], old, new, _says_so(hunk, old, new))


def _mask_of(kind: Kind, line: str) -> str:
    if kind == "table":
        return "|".join(map(mask_but_releases, _CELL.split(line)))
    return mask_but_releases(line) if kind == "code" else mask(line)


def _says_so(hunk: Hunk, old: str, new: str) -> bool:
    """Whether a line says that it is volatile; each cell of a table that differs has to."""
    if hunk.kind != "table":
        return is_labelled(mask(new)) or (is_dated(old) and is_dated(new))
    cells = list(zip(_CELL.split(old), _CELL.split(new), strict=True))
    heads = _CELL.split(hunk.after.partition("\n")[0])
    row_says_so = any(one == other and is_labelled(_SPAN.sub("", one)) for one, other in cells)
    return row_says_so or all(
        is_labelled(mask(other)) or (is_dated(one) and is_dated(other)) or is_labelled(head)
        for (one, other), head in zip(cells, [*heads, *[""] * len(cells)], strict=False)
        if one != other
    )


def without(hunk: Hunk, noise: Collection[Line]) -> Hunk | None:
    """Return a hunk without lines that are noise; None where nothing else changed."""
    if not noise:
        return hunk
    lines = hunk.before.splitlines() if hunk.is_whole else [hunk.before]
    for line in noise:
        lines[line.number] = line.after
    rest = "\n".join(lines)
    return None if rest == hunk.after else replace(hunk, lines=line_diff(rest, hunk.after))


@dataclass(slots=True, frozen=True)
class Evidence:
    """How often each masked line of a page changed from one content to the next, and how often it could have."""

    changed: Mapping[str, int]
    compared: Mapping[str, int]

    def proves(self, line: Line) -> bool:
        """Whether the contents show that a line is noise: one with a label changed before, others every time."""
        changed = self.changed.get(line.mask, 0)
        return changed >= 2 if line.labelled else changed >= 3 and changed == self.compared[line.mask]


NO_EVIDENCE = Evidence({}, {})


def evidence(contents: Sequence[Sequence[Block]]) -> Evidence:
    """Read the contents of one page, oldest first, the present one included."""
    changed: Counter[str] = Counter()
    compared: Counter[str] = Counter()
    for before, after in pairwise([_by_mask(content) for content in contents]):
        for line in before.keys() & after.keys():
            compared[line] += 1
            changed[line] += before[line] != after[line]
    return Evidence(changed, compared)


def _by_mask(content: Iterable[Block]) -> dict[str, list[str]]:
    """The lines that may be noise, by their mask."""
    found: dict[str, list[str]] = {}
    for block in content:
        for line in block.text.splitlines() if block.is_whole else [block.text]:
            if MASK in (masked := _mask_of(block.kind, line)):
                found.setdefault(masked, []).append(line)
    return found


def noise_masks(pages: Iterable[tuple[Evidence, Iterable[Line]]]) -> set[str]:
    """The lines that are noise on every page: some pages prove it, or more change at the same time and say so."""
    proven: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    for page, lines in pages:
        found = list(lines)
        proven.update({line.mask for line in found if any(map(str.isalpha, line.mask)) and page.proves(line)})
        labelled.update({line.mask for line in found if line.labelled})
    everywhere = {line for line, count in proven.items() if count >= PROVEN_PAGES}
    return everywhere | {line for line, count in labelled.items() if count >= PAGES}
