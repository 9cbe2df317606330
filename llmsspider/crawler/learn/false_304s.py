"""Hosts that say 304 for pages that have changed: nothing conditional is sent to them any more."""

from collections.abc import Callable
from typing import Any

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.web.urls import host


class False304s(Learner):
    """The hosts whose 304 was false; `report` gets the URL that shows it, once for each host."""

    name = "unbelieved"

    def __init__(self, report: Callable[[str], None]):
        self._report = report
        self.hosts = set[str]()

    def remember(self, kept: Any) -> None:
        """Take over the hosts of earlier runs."""
        if isinstance(kept, list):
            self.hosts.update(map(str, kept))

    def keep(self, end: End) -> list[str]:
        """Return all hosts that are known."""
        return sorted(self.hosts)

    def note(self, url: str) -> None:
        """Believe the host of this URL no more: its 304 would have been false."""
        if host(url) not in self.hosts:
            self.hosts.add(host(url))
            self._report(url)
