"""Titles that belong to a site and not to a page, found by comparing its pages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.crawler.records import title_from_url
from llmsspider.items import HTML_ORIGINS, Link
from llmsspider.store import PageRecord

# part of a site's pages from which on a title that they share is the site's, or of a part of it
MOST_TITLES = 0.3
LEAST_TITLES = 4  # pages that must share it
# part of the pages from which on a heading is one of the generator's ("Overview"), no title of a
# page
MANY = 0.1
KEPT_TITLES = 512  # titles and headings that are counted; the rarest are forgotten
LEARNED_TITLES = 16  # titles that the store keeps for the next run
MAX_LINKED = 5_000  # pages whose names in links are kept during a crawl
_MAX_NAME = 100  # characters of a name
_POINTING = frozenset(
    {"here", "more", "link", "this", "this page", "next", "previous", "prev", "back", "up", "home", "top", "index",
     "contents", "read more", "learn more", "see also", "details", "source", "view source", "edit"}
)  # fmt: skip
"""Texts of links that name no page."""
_TITLE_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_MARKS = re.compile(r"\]\([^()\[\]\n]*\)|[\[\]`*\\]|<[^<>]*>")
_NUMBER = re.compile(r"\A\d++(?:\.\d++)*+\.?\s++")
_LOOKED_AT = 200  # lines of a document among which its own heading is looked for


class SiteTitles(Learner):
    """Counts the titles of a site's pages, and chooses another where most pages share one."""

    name = "titles"

    def __init__(self) -> None:
        self.pages = 0
        # the title of the start page: the first that another page may share
        self.start: str | None = None
        self._known: list[str] = []
        self._titles: Counter[str] = Counter()
        self._headings: Counter[str] = Counter()
        self._linked: dict[str, str] = {}

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
        return title in self._known or self._titles[title] >= max(
            LEAST_TITLES, MOST_TITLES * self.pages
        )

    def see_links(self, links: Iterable[Link]) -> None:
        """Take note of what the links of a page call others, `MAX_LINKED` pages at most."""
        known = self._linked
        for link in links if len(known) < MAX_LINKED else ():
            url = link.url.partition("#")[0]
            text = link.text
            if url in known or not 1 < len(text) <= _MAX_NAME or len(known) >= MAX_LINKED:
                continue
            if text.strip(" .…»›→").casefold() not in _POINTING:
                known[url] = text

    def linked(self, url: str) -> str | None:
        """Return what the first link to a page calls it, None where none was seen."""
        return self._linked.get(url)

    def retitle(self, record: PageRecord, *, is_start: bool) -> bool:
        """Count a page of HTML, and give it a title of its own where pages share one; return
        whether it is another.
        """
        title = record.title
        content = record.text
        if record.origin not in HTML_ORIGINS or not title:
            return False
        self.see(title, content, start=is_start)
        self.see_links(record.links)
        if not is_start:
            named = record.llms.title if record.llms else None
            linked = self.linked(record.url)
            path = title_from_url(record.url)
            record.title = self.own(title, content, named, linked, path)
        return record.title != title

    def own(self, title: str, markdown: str, named: str | None, *last: str | None) -> str:
        """Return the title of a page that was seen: `title`, unless the site's pages share it.

        Then it is the heading right below that of the site, the first `<h1>` that says something
        else, `named` (by llms.txt), the first heading that no other pages have, or the first of
        `last` (by links and URL).
        """
        if not self._is_of_start(title) and not self.is_shared(title):
            return title
        headings = list(_headings(markdown))
        right_below = self._right_below(title, headings)
        if not self.is_shared(title):
            return right_below or title
        first = (text for level, text, _ in headings if level == 1 and text != title)
        candidates = chain([right_below], first, [named], self._own_of(headings), last)
        return next((name for name in candidates if name and not self.is_shared(name)), title)

    def _own_of(self, headings: list[tuple[int, str, bool]]) -> Iterator[str]:
        """Yield the headings that no other pages have."""
        for level, text, _ in headings:
            if level < 5 and not self._is_common(text):
                yield text

    def _is_of_start(self, title: str) -> bool:
        return title == self.start and self.pages > 1 and self._titles[title] > 1

    def _right_below(self, title: str, headings: list[tuple[int, str, bool]]) -> str | None:
        """Return the heading that follows the site's title, with nothing in between."""
        for (_, above, _), (level, text, follows) in pairwise(headings):
            if above == title and follows and level <= 2 and not self._is_common(text):
                return text
        return None

    def _is_common(self, heading: str) -> bool:
        return self._headings[heading] >= max(LEAST_TITLES, MANY * self.pages)

    def keep(self, end: End) -> list[str]:
        """Return the titles that are shared."""
        shared = [
            title for title, _ in self._titles.most_common(LEARNED_TITLES) if self.is_shared(title)
        ]
        return list(dict.fromkeys([*self._known, *shared]))[:LEARNED_TITLES]

    def remember(self, kept: Any) -> None:
        """Take over the titles of earlier runs."""
        if isinstance(kept, list):
            self._known = [title for title in kept if isinstance(title, str)][:LEARNED_TITLES]


def _count(counts: Counter[str], text: str) -> None:
    counts[text[:200]] += 1
    if len(counts) > KEPT_TITLES:
        most = dict(counts.most_common(KEPT_TITLES // 2))
        counts.clear()
        counts.update(most)


def _headings(markdown: str) -> Iterable[tuple[int, str, bool]]:
    """Yield (level, text, nothing stands between it and the heading before) of the first headings
    of a document.
    """
    follows = fence = False
    for line in markdown.split("\n", _LOOKED_AT)[:_LOOKED_AT]:
        if line.startswith(("```", "~~~")):
            fence = not fence
        found = None if fence or not line.startswith("#") else _TITLE_HEADING.match(line)
        if found:
            text = " ".join(_MARKS.sub("", found[2]).split())
            yield len(found[1]), _NUMBER.sub("", text)[:200] or text[:200], follows
        if line.strip():
            follows = found is not None
