"""Links that were dead when a crawl followed them: not asked again while the pages that show them do not change. Pure.

A page that is as it was stored shows what it showed then, and what was dead among it was dead already. A dead link is
asked again where a page that is new or changed shows it, and in any case when `MAX_CRAWLS` crawls have left it alone.
What a list names is a seed and no matter of this.
"""

from __future__ import annotations

from collections.abc import Iterator

from llmsspider.urls import identity

MAX_CRAWLS = 6
"""Crawls in a row that leave a dead link alone; the next one asks again, so that a page that came to life is found."""

MAX_STORED = 5000
"""How many dead links of a source are remembered."""


class DeadLinks:
    """The dead links of one source, by identity, each with the number of crawls that have left it alone.

    Args:
        stored: what the last crawl kept, see `to_keep`; anything of another form is ignored.
        trusted: False asks for all of them (`full=true`).
    """

    def __init__(self, stored: object = None, *, trusted: bool = True) -> None:
        items = stored.items() if isinstance(stored, dict) else ()
        self._before: dict[str, int] = {
            url: crawls for url, crawls in items if isinstance(url, str) and isinstance(crawls, int)
        }
        self._trusted = trusted
        self._now: dict[str, int] = {}
        self._left: dict[str, str] = {}
        """The links that were left alone in this crawl, as pages spell them, with the identity they are known by."""

    def leave(self, link: str, page: str) -> bool:
        """Say whether to leave alone a link of a page that did not change, and remember it then.

        Args:
            link: the URL as the page shows it.
            page: the URL of the page it stands for.
        """
        if not self._trusted or not self._before:
            return False
        for known in (identity(page), identity(link)):
            if self._before.get(known, MAX_CRAWLS) < MAX_CRAWLS:
                self._left[link] = known
                return True
        return False

    def was_left(self, link: str) -> bool:
        """Say whether the link was left alone: a page that changed may still ask for it."""
        return link in self._left

    def left(self) -> Iterator[str]:
        """Yield the links that were left alone, one spelling of each."""
        yield from {known: link for link, known in self._left.items()}.values()

    def died(self, *urls: str) -> None:
        """Remember a link that was asked for and is not there, by each of its addresses."""
        self._now.update(dict.fromkeys(map(identity, urls), 0))

    def to_keep(self, *, whole: bool) -> dict[str, int]:
        """Return what the next crawl needs; one that did not see the `whole` site keeps what it did not come by."""
        left = {known: self._before[known] + 1 for known in self._left.values()}
        kept = {**({} if whole else self._before), **left, **self._now}
        return dict(list(kept.items())[-MAX_STORED:])
