"""Links that were dead when a crawl followed them.

An unchanged page shows the links that it showed when it was stored, whose dead ones were dead then.
A dead link is requested again where a new or changed page shows it, and after `asked_again` crawls
that skipped it. Listed pages are seeds, and always requested.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

from llmsspider.crawler.learn.base import Dropped, End, Learner, PageFailed
from llmsspider.web.urls import identity

ASKED_AGAIN = 6
"""Crawls in a row that skip a dead link; the next one requests it, as the page may exist by then.
"""

SPREAD = 4
"""Number of crawls over which those that one crawl met are requested again."""

MAX_STORED = 5000
"""Maximum number of dead links of a source that are stored."""

NOT_ASKED = "404 in an earlier crawl, and no page that links to it changed"


class DeadLinks(Learner):
    """The dead links of one source, by identity, each with the number of crawls that skipped it.

    Without `trusted` (`full=true`) all of them are requested; `requested` says whether the page of
    a link was.
    """

    name = "dead_links"

    def __init__(
        self, *, trusted: bool = True, requested: Callable[[str], bool] = lambda _link: False
    ) -> None:
        self._trusted = trusted
        self._requested = requested
        self._before: dict[str, int] = {}
        self._now: set[str] = set()
        self.asked_again = ASKED_AGAIN
        self.skipped: dict[str, str] = {}
        """Links skipped in this crawl, as pages spell them, and their identity; a changed page may
        request one.
        """

    def remember(self, kept: Any) -> None:
        """Take over the dead links of earlier runs."""
        items = kept.items() if isinstance(kept, dict) else ()
        self._before = {url: n for url, n in items if isinstance(url, str) and isinstance(n, int)}

    def keep(self, end: End) -> dict[str, int] | None:
        """Return the dead links; a run that did not see the whole site keeps those that it did not
        meet.
        """
        if not end.followed_links:
            return None
        skipped = {known: self._before[known] + 1 for known in self.skipped.values()}
        # those that one crawl met are not all requested again in one
        dead = {
            known: 0 if known in self._before else zlib.crc32(known.encode()) % SPREAD
            for known in self._now
        }
        kept = {**({} if end.saw_all else self._before), **skipped, **dead}
        return dict(list(kept.items())[-MAX_STORED:])

    def page_failed(self, failed: PageFailed) -> None:
        """Remember a link that was answered with 404, by each of its addresses."""
        is_link = failed.by == "link" and not (failed.listed or failed.is_stored)
        if failed.kind == "not_found" and is_link:
            urls = (failed.url, *failed.resolved_to)
            self._now.update(map(identity, urls))

    def drained(self) -> Iterator[Dropped]:
        """Count the links that were dead before and not requested."""
        for link in {known: link for link, known in self.skipped.items()}.values():
            if not self._requested(link):
                yield Dropped(link, "dead-link", NOT_ASKED)

    # --- questions ---

    def skip(self, link: str, page: str) -> bool:
        """Say whether to skip a link of an unchanged page, and remember it then; `page` is what the
        link stands for.
        """
        for known in (identity(page), identity(link)) if self._trusted and self._before else ():
            if self._before.get(known, self.asked_again) < self.asked_again:
                self.skipped[link] = known
                return True
        return False

    def was_dead(self, url: str) -> bool:
        """Say whether a page was dead in an earlier run, or is now."""
        return identity(url) in self._before or identity(url) in self._now
