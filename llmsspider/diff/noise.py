"""Noise in a change: dates, counters and hashes that change with every build, recognised by what
the contents of a page were before.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

from llmsspider.diff.compare import (
    AGO,
    DATE,
    LABEL,
    MASK,
    WHOLE,
    Block,
    Hunk,
    Masked,
    line_diff,
    masked,
    matcher,
)

PAGES = 3
"""Pages on which a labelled line has to change at the same time to be noise without any earlier
content.
"""

_CELL = re.compile(r"(?<!\\)\|")
_CODE_SPAN = re.compile(r"`[^`]+`")


MAX_STAMP = 80
"""Characters of the longest line that says when its page was built, or how often it was seen."""
_COUNTER = re.compile(
    r"(?<![\d.,])\d[\d.,]*+[km]?+(?=[ ](?:page[ ])?(?:views?|reads|visits|visitors|hits)\b)",
    re.IGNORECASE,
)


def without_stamps(markdown: str) -> str:
    r"""Return Markdown without times as they are from now ("3 days ago"), and without the dates and
    counters of its short lines that call themselves volatile.

    >>> without_stamps("1,204 views\nSeen by Ann 3 days ago\nReleased 2026-01-02")
    '… views\nSeen by Ann …\nReleased 2026-01-02'
    """
    return "\n".join(map(_without_stamp, AGO.sub(MASK, markdown).split("\n")))


def _without_stamp(line: str) -> str:
    if len(line) > MAX_STAMP or not LABEL.search(line):
        return line
    return _COUNTER.sub(MASK, DATE.sub(MASK, line))


@dataclass(slots=True, frozen=True)
class Line:
    """A line that differs in nothing but what may be volatile: its number in the text before, and
    what stays of it.

    `slots` are the mask and the number of each volatile part that differs. `labelled` says whether
    it calls itself volatile: by a word such as "updated", or by dates in what differs.
    """

    number: int
    mask: str
    slots: frozenset[tuple[str, int]]
    after: str
    labelled: bool


def _lines(kind: str, text: str) -> list[str]:
    """The lines of a block: a text is one, code and tables have theirs."""
    return text.splitlines() if kind in WHOLE else [text]


def volatile_lines(hunk: Hunk) -> list[Line]:
    """The lines of a hunk that may be noise."""
    if hunk.change != "changed":
        return []
    before = _lines(hunk.kind, hunk.before)
    after = _lines(hunk.kind, hunk.after)
    replaced = (one[1:] for one in matcher(before, after).get_opcodes() if one[0] == "replace")
    pairs = (_lines_alike(hunk, i1, before[i1:i2], after[j1:j2]) for i1, i2, j1, j2 in replaced)
    return list(chain.from_iterable(pairs))


def _lines_alike(
    hunk: Hunk, first: int, before: Sequence[str], after: Sequence[str]
) -> Iterator[Line]:
    old, new = ([_masked(hunk.kind, line) for line in lines] for lines in (before, after))
    masks = [line.mask for line in old]
    others = [line.mask for line in new]
    for start, other, size in matcher(masks, others).get_matching_blocks():
        for number in range(start, start + size):
            then = number
            now = other + number - start
            parts = enumerate(zip(old[then].parts, new[now].parts, strict=False))
            changed = frozenset((masks[then], slot) for slot, (one, two) in parts if one != two)
            if changed and len(old[then].parts) == len(new[now].parts):
                labelled = _calls_itself_volatile(hunk, before[then], after[now])
                yield Line(first + number, masks[number], changed, after[now], labelled)


def _masked(kind: str, line: str) -> Masked:
    if kind == "table":
        masks, parts = zip(
            *(masked(cell, releases=False) for cell in _CELL.split(line)), strict=True
        )
        return Masked("|".join(masks), tuple(chain.from_iterable(parts)))
    return masked(line, releases=kind != "code")


def _calls_itself_volatile(hunk: Hunk, old: str, new: str) -> bool:
    """Whether a line is labelled as volatile; each cell of a table that differs has to be."""
    if hunk.kind != "table":
        return _is_volatile(old, new)
    cells = list(zip(_CELL.split(old), _CELL.split(new), strict=True))
    if any(one == other and LABEL.search(_CODE_SPAN.sub("", one)) for one, other in cells):
        return True  # the row is labelled
    heads = [*_CELL.split(hunk.after.partition("\n")[0]), *[""] * len(cells)]
    return all(
        _is_volatile(one, other) or LABEL.search(head)
        for (one, other), head in zip(cells, heads, strict=False)
        if one != other
    )


def _is_volatile(old: str, new: str) -> bool:
    return bool(LABEL.search(masked(new).mask) or (DATE.search(old) and DATE.search(new)))


def remove_noise(hunk: Hunk, noise: Collection[Line]) -> Hunk | None:
    """Return a hunk without lines that are noise; None where nothing else changed."""
    if not noise:
        return hunk
    lines = _lines(hunk.kind, hunk.before)
    for line in noise:
        lines[line.number] = line.after
    rest = "\n".join(lines)
    return None if rest == hunk.after else replace(hunk, lines=line_diff(rest, hunk.after))


@dataclass(slots=True, frozen=True)
class Evidence:
    """How often each volatile part of a masked line changed between two contents of a page, and
    could have.
    """

    changed: Counter[tuple[str, int]] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)

    def proves(self, line: Line) -> bool:
        """Whether the contents show that a line is noise: one with a label changed before, others
        every time.
        """
        often = min(self.changed[slot] for slot in line.slots)
        return often >= 2 if line.labelled else often >= 3 and often == self.compared[line.mask]


def evidence(contents: Iterable[Iterable[Block]]) -> Evidence:
    """Read the contents of one page, oldest first, the present one included."""
    found = Evidence()
    for before, after in pairwise(map(_by_mask, contents)):
        for line in before.keys() & after.keys():
            found.compared[line] += 1
            old = before[line]
            new = after[line]
            if len(old) == len(new):
                columns = enumerate(
                    zip(zip(*old, strict=True), zip(*new, strict=True), strict=True)
                )
                found.changed.update((line, slot) for slot, (then, now) in columns if then != now)
    return found


def _by_mask(content: Iterable[Block]) -> dict[str, list[tuple[str, ...]]]:
    """The volatile parts of the lines that have any, by their mask."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for block in content:
        for text, parts in (_masked(block.kind, line) for line in _lines(block.kind, block.text)):
            if parts:
                found.setdefault(text, []).append(parts)
    return found


def noise_of(pages: Sequence[tuple[Evidence, Sequence[Line]]]) -> list[set[Line]]:
    """Return the lines of each page that are noise: as its contents prove, or labelled and changed
    on three pages.
    """
    labelled: Counter[tuple[str, int]] = Counter()
    for _, lines in pages:
        labelled.update({slot for line in lines if line.labelled for slot in line.slots})
    everywhere = {slot for slot, count in labelled.items() if count >= PAGES}
    return [
        {one for one in lines if one.slots <= everywhere or page.proves(one)}
        for page, lines in pages
    ]
