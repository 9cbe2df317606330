"""Addresses that redirect for good, and where they lead: links to them are links to that page."""

import zlib
from typing import Any

from llmsspider.crawler.learn.base import End, Learner, PageFailed
from llmsspider.web.urls import identity

ASKED_AGAIN = 10
"""Crawls after which such an address is requested itself, as it may lead elsewhere by then."""

MAX_STORED = 20_000
"""Maximum number of addresses of a source that are stored."""


class Redirects(Learner):
    """The permanent redirects of one source; without `trusted` (`full=true`) none of earlier runs."""

    name = "redirects"

    def __init__(self, *, trusted: bool = True):
        self._trusted = trusted
        self._before: dict[str, tuple[str, int]] = {}
        """By identity: the page that it leads to, and the crawls since it was requested."""
        self._now: dict[str, str] = {}
        self._taken: set[str] = set()
        self._not_found: set[str] = set()
        self.asked_again = ASKED_AGAIN

    def remember(self, kept: Any) -> None:
        """Take over the redirects of earlier runs."""
        for url, found in kept.items() if self._trusted and isinstance(kept, dict) else ():
            match found:
                case [str(target), int(crawls)]:
                    self._before[url] = target, crawls

    def keep(self, end: End) -> dict[str, tuple[str, int]]:
        """Return the redirects; a run that did not see the whole site keeps what it did not meet."""
        kept = {
            url: (target, crawls + (url in self._taken))
            for url, (target, crawls) in self._before.items()
            if not end.saw_all or url in self._taken
        }
        for url, target in self._now.items():
            # those that one crawl met are not all requested again in one
            spread = zlib.crc32(url.encode()) % ASKED_AGAIN
            kept[url] = target, 0 if url in self._before else spread
        live = {url: one for url, one in kept.items() if identity(one[0]) not in self._not_found}
        return dict(list(live.items())[-MAX_STORED:])

    def page_failed(self, failed: PageFailed) -> None:
        """Forget where addresses lead once nothing is there."""
        if failed.kind == "not_found":
            self._not_found.add(identity(failed.url))

    # --- questions ---

    def learn(self, url: str, target: str) -> None:
        """Take in that an address redirects for good to a page."""
        self._now[identity(url)] = target

    def target_of(self, url: str) -> str:
        """Return the page that an address leads to, the address itself where that is not known."""
        known = identity(url)
        target, crawls = self._before.get(known, (url, self.asked_again))
        if crawls >= self.asked_again:
            return url
        self._taken.add(known)
        return target
