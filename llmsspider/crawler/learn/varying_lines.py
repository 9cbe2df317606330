"""Lines that a page says otherwise each time it is downloaded: counters of views, tips, times."""

from collections import Counter
from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.diff.compare import LABEL, mask

MAX_LINES = 4
"""Lines in which two texts of a page may differ."""
MAX_CHARACTERS = 300
"""Characters of the longest such line."""
FEW_PAGES = 3
"""Pages that show that lines like one of theirs vary."""
MAX_IN_VAIN = 3
"""Changed pages of a crawl that are downloaded again and say the same as before, ..."""
MAX_ASKED = 20
"""... and those that are downloaded again at all."""
MAX_STORED = 1_000
"""Lines that the store remembers."""

Lines = list[tuple[str, str]]
"""Lines of two texts of a page that differ, beside each other."""


class VaryingLines(Learner):
    """What stays of such lines, with the number of pages that had one."""

    name = "varying"

    def __init__(self) -> None:
        self._pages = Counter[str]()
        self._asked = 0
        self._in_vain = 0

    def remember(self, kept: Any) -> None:
        """Take over the lines that enough pages had."""
        if isinstance(kept, list):
            self._pages.update(dict.fromkeys(map(str, kept), FEW_PAGES))

    def keep(self, end: End) -> list[str]:
        """Return the lines that enough pages had."""
        known = [line for line, pages in self._pages.items() if pages >= FEW_PAGES]
        return known[-MAX_STORED:]

    def changed(self, lines: Lines) -> None:
        """Take in how a page differs from the stored one: lines that say what they count vary."""
        self._pages.update({line for line in map(_frame, lines) if LABEL.search(line)})

    def downloaded_again(self, lines: Lines) -> None:
        """Take in how two answers for one page differ."""
        self._asked += 1
        self._in_vain += not lines
        self._pages.update({line for line in map(_frame, lines) if line})

    @property
    def may_ask(self) -> bool:
        """Whether one more page may be downloaded again."""
        return self._in_vain < MAX_IN_VAIN and self._asked < MAX_ASKED

    def are_known(self, lines: Lines) -> bool:
        """Return whether a page differs in nothing but lines that vary."""
        return all(self._pages[_frame(line)] >= FEW_PAGES for line in lines)


def differing(before: str, now: str) -> Lines:
    r"""Return the lines in which two texts differ, nothing where they do in more than a few.

    >>> differing("# A\n\n7 views", "# A\n\n9 views")
    [('7 views', '9 views')]
    """
    old = before.split("\n")
    new = now.split("\n")
    if len(old) != len(new):
        return []
    pairs = [pair for pair in zip(old, new, strict=True) if pair[0] != pair[1]]
    is_short = all(len(line) <= MAX_CHARACTERS for pair in pairs for line in pair)
    return pairs if is_short and len(pairs) <= MAX_LINES else []


def _frame(lines: tuple[str, str]) -> str:
    """Return what two lines have in common: all but numbers and dates, or the label before a
    colon; empty where they have neither.

    >>> _frame(("Seen 7 times", "Seen 9 times")), _frame(("Tip: use it", "Tip: be brief"))
    ('Seen … times', 'Tip:')
    """
    one, other = map(mask, lines)
    if one == other:
        return one
    label, colon, _ = one.partition(":")
    return label + colon if other.startswith(label + colon) and colon else ""
