"""Hosts whose pages that scripts make have the same HTML: later crawls download it once."""

from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.web.urls import host, split_route


class Shells(Learner):
    """The HTML of the empty shells of each host, while all that were downloaded are the same."""

    name = "shells"

    def __init__(self, *, trusted: bool):
        self._trusted = trusted
        self._before = set[str]()
        self._now: dict[str, bytes | None] = {}  # None where they differ

    def remember(self, kept: Any) -> None:
        """Take over the hosts with one shell."""
        if isinstance(kept, list):
            self._before.update(map(str, kept))

    def keep(self, end: End) -> list[str]:
        """Return the hosts with one shell."""
        several = {place for place, body in self._now.items() if body is None}
        return sorted((self._before | self._now.keys()) - several)

    def learn(self, url: str, body: bytes) -> None:
        """Learn the shell of a page."""
        place = host(url)
        if self._now.setdefault(place, body) != body:
            self._now[place] = None

    def shell_of(self, url: str) -> bytes | None:
        """Return the shell of a page that was one in an earlier crawl, or of a route of a page of
        this crawl; None where it is not known.
        """
        is_known = (self._trusted and host(url) in self._before) or bool(split_route(url)[1])
        return self._now.get(host(url)) if is_known else None
