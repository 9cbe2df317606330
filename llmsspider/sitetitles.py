"""Titles that belong to a site, told from those of its pages by comparing pages. Pure, in bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

MOST = 0.3
"""Part of a site's pages from which on a title that they share is the site's, or that of a part of it."""
LEAST = 4
"""Pages that must share it."""
MANY = 0.1
"""Part of the pages from which on a heading is one of the generator's ("Overview"), no title of a page."""
KEPT = 512
"""Titles and headings that are counted; the rarest are forgotten."""
LEARNED = 16
"""Titles that the store keeps for the next run."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_MARKS = re.compile(r"\]\([^()\[\]\n]*\)|[\[\]`*\\]|<[^<>]*>")
_NUMBER = re.compile(r"\A\d++(?:\.\d++)*+\.?\s++")
_LOOKED_AT = 200
"""Lines of a document among which its own heading is looked for."""


class SiteTitles:
    """Counts the titles of a site's pages, and chooses another where most pages share one."""

    def __init__(self) -> None:
        self.pages = 0
        self.start: str | None = None
        """The title of the start page: the first that another page may share."""
        self._known: list[str] = []
        self._titles: Counter[str] = Counter()
        self._headings: Counter[str] = Counter()

    def see(self, title: str, markdown: str, *, start: bool = False) -> None:
        """Count a page with the title that it gives itself."""
        self.pages += 1
        _count(self._titles, title)
        for heading in dict.fromkeys(text for _, text, _ in _headings(markdown)):
            _count(self._headings, heading)
        if start:
            self.start = title

    def is_shared(self, title: str) -> bool:
        """Say whether a title is that of so many pages that it is none of theirs."""
        return title in self._known or self._titles[title] >= max(LEAST, MOST * self.pages)

    def own(self, title: str, markdown: str, *others: str | None) -> str:
        """Return the title of a page that was seen: `title`, unless the site's pages share it.

        Then it is the heading right below that of the site, the first `<h1>` that says something else, the first of
        `others` (what llms.txt calls the page), the first heading that no other pages have, or the last of
        `others` (what its URL says).
        """
        headings = list(_headings(markdown))
        if not self.is_shared(title):
            is_starts = title == self.start and self.pages > 1 and self._titles[title] > 1
            below = self._right_below(title, headings) if is_starts else None
            return below or title
        candidates = [
            self._right_below(title, headings),
            *(text for level, text, _ in headings if level == 1 and text != title),
            *others[:-1],
            *(text for level, text, _ in headings if level < 5 and not self._is_common(text)),
            *others[-1:],
        ]
        return next(
            (name for name in candidates if name and name != title and not self.is_shared(name)), title
        )

    def _right_below(self, title: str, headings: list[tuple[int, str, bool]]) -> str | None:
        """Return the heading that follows the one that says the site's title, nothing in between."""
        for (_, above, _), (level, text, follows) in pairwise(headings):
            if above == title and follows and level <= 2 and not self._is_common(text):
                return text
        return None

    def _is_common(self, heading: str) -> bool:
        return self._headings[heading] >= max(LEAST, MANY * self.pages)

    def as_list(self) -> list[str]:
        """Return what the store remembers: the titles that are shared."""
        shared = [title for title, _ in self._titles.most_common(LEARNED) if self.is_shared(title)]
        return list(dict.fromkeys([*self._known, *shared]))[:LEARNED]

    def remember(self, data: object) -> None:
        """Take over what an earlier run learned."""
        if isinstance(data, list):
            self._known = [title for title in data if isinstance(title, str)][:LEARNED]


def _count(counts: Counter[str], text: str) -> None:
    counts[text[:200]] += 1
    if len(counts) > KEPT:
        for rare, number in counts.most_common()[: -KEPT // 2 : -1]:
            if number < LEAST:
                del counts[rare]
        if len(counts) > KEPT:
            for rare, _ in counts.most_common()[KEPT // 2 :]:
                del counts[rare]


def _headings(markdown: str) -> Iterable[tuple[int, str, bool]]:
    """Yield (level, text, nothing stands between it and the heading before) of the first headings of a document."""
    follows = fence = False
    for line in markdown.split("\n", _LOOKED_AT)[:_LOOKED_AT]:
        if line.startswith(("```", "~~~")):
            fence = not fence
        found = None if fence else _HEADING.match(line)
        if found:
            text = " ".join(_MARKS.sub("", found[2]).split())
            yield len(found[1]), _NUMBER.sub("", text)[:200] or text[:200], follows
        if line.strip():
            follows = found is not None
