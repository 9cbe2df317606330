"""Hosts whose pages that scripts make have the same HTML: it is downloaded once."""

from collections import Counter
from typing import Any
from urllib.parse import urljoin

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.web.urls import ANCHOR_ROUTE, host, split_route

MIN_SAME = 3
"""Answers of a host with the same HTML after which the first crawl, too, expects it of others."""

SAMPLE_EVERY = 10
"""Of so many pages that are expected to have it, one is downloaded nevertheless."""

NOWHERE = "no-such-page-here"
"""Name of a page that no site has."""

MAX_UNPROVEN = 3
"""Consecutive pages that showed nothing of their own with it, after which it is expected no more."""


class Shells(Learner):
    """The HTML of the empty shells of each host, while all that were downloaded are the same."""

    name = "shells"

    def __init__(self, *, trusted: bool):
        self._trusted = trusted
        self._before: dict[str, str] = {}
        self._nothing: dict[str, str] = {}
        self._asked = set[str]()
        self._now: dict[str, bytes | None] = {}  # None where they differ
        self._false = Counter[str]()  # files in whose place the start page came
        self._same = Counter[str]()
        self._expected = Counter[str]()
        self._unproven = Counter[str]()
        self._others = set[str]()  # hosts with pages that are no shells

    def remember(self, kept: Any) -> None:
        """Take over the hosts with one shell."""
        if isinstance(kept, dict):
            self._before = kept

    def keep(self, end: End) -> dict[str, str]:
        """Return the hosts with one shell, and pages with routes; and the hash of what is drawn for
        an address that they do not have, empty where it is not known.
        """
        known = dict.fromkeys(self._now, "") | self._before | self._nothing
        several = {place for place, body in self._now.items() if body is None}
        return {place: known[place] for place in sorted(known.keys() - several)}

    def learn(self, url: str, body: bytes) -> None:
        """Learn the shell of a page."""
        place = host(url)
        self._same[place] += 1
        if self._now.setdefault(place, body) != body:
            self._now[place] = None

    def learn_other(self, url: str) -> None:
        """Learn that a page is no shell."""
        self._others.add(host(url))

    def learn_false(self, url: str) -> None:
        """Learn that the start page came in place of a file: so does it for all that is not there."""
        self._false[host(url)] += 1

    def nowhere(self, url: str) -> str | None:
        """Return an address that the site of a page does not have, or the page of a route; None
        where what is drawn for it was seen in this crawl, or not several pages have one program.
        """
        place = _place(url)
        page, route = split_route(url)
        is_of_several = self._same[place] > 1 and self._now[place] is not None
        if place in self._asked or not (route or is_of_several):
            return None
        self._asked.add(place)
        if not route:
            return urljoin(url, f"/{NOWHERE}")
        end = ANCHOR_ROUTE if route.endswith(ANCHOR_ROUTE) else ""
        return f"{page}{route[: -len(route.lstrip('#!/'))]}{NOWHERE}{end}"

    def learn_nothing(self, nowhere: str, text: str) -> None:
        """Learn the hash of what is drawn for an address that a site does not have."""
        self._nothing[_place(nowhere)] = text

    def texts_of_nothing(self, url: str) -> set[str]:
        """Return the hash of what is drawn for an address that the site of a page does not have."""
        known = self._before | self._nothing
        return {known.get(_place(url), "")} - {""}

    def learn_drawn(self, url: str, *, is_proven: bool) -> None:
        """Learn whether a page that was expected to have the shell showed something of its own."""
        place = host(url)
        self._unproven[place] = 0 if is_proven else self._unproven[place] + 1

    def shell_of(self, url: str) -> bytes | None:
        """Return the shell of a page that was one in an earlier crawl, or of a route of a page of
        this crawl; None where it is not known.
        """
        is_known = (self._trusted and host(url) in self._before) or bool(split_route(url)[1])
        return self._now.get(host(url)) if is_known else None

    def is_expected(self, url: str) -> bool:
        """Say whether a page that nothing is known of has the shell of its host, too."""
        place = host(url)
        body = self._now.get(place)
        if body is None or place in self._others or not self._trusted:
            return False
        same = self._same[place] + self._false[place]
        return same >= MIN_SAME and self._unproven[place] < MAX_UNPROVEN

    def expected(self, url: str) -> bytes | None:
        """Return the shell that a page is expected to have; None where it is not, and for samples."""
        if not self.is_expected(url):
            return None
        place = host(url)
        is_sample = self._expected[place] % SAMPLE_EVERY == 0
        self._expected[place] += 1
        return None if is_sample else self._now[place]


def _place(url: str) -> str:
    """Return what has one program: the page of a route, or the host."""
    page, route = split_route(url)
    return f"{page}#" if route else host(url)
