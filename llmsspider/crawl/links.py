"""Which links are requested: HTML of Markdown pages for their navigation, and links that were dead before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llmsspider.web.urls import directory, host, identity

# Which Markdown pages are also fetched as HTML, for their navigation links only.
# Markdown pages carry no sidebar, so on Markdown-native sites links alone miss pages. A few HTML pages fill the gap:
# the start page, section roots, one in each directory, and samples for as long as they still show unseen URLs.

MIN_SAMPLES = 3
"""Pages fetched as HTML besides start page and section roots; so many in a row that show nothing new are enough."""

MAX_SHARE = 0.05
"""Share of the pages seen so far that may be fetched twice; section roots above `MAX_ROOTS` count into it."""

MAX_ROOTS = 9
"""Section roots always fetched as HTML."""


class LinkSources:
    """The policy of one crawl: `wanted` is called once for each Markdown page, `report` for each link source.

    Args:
        earlier: the link sources of the last complete crawl, by identity. They are requested again, since they can be
            revalidated; of the other pages only new ones are candidates.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self._earlier = frozenset(earlier)
        self._pages = 0
        self._roots = 0
        self._samples = 0
        self._without_new = 0
        self._requested: set[str] = set()
        self._sampled_directories: set[str] = set()

    @property
    def requested(self) -> list[str]:
        """The pages that were wanted, by identity."""
        return sorted(self._requested)

    def wanted(self, url: str, *, start: bool = False, section_root: bool = False, new: bool = True) -> bool:
        """Say whether to fetch this page's HTML as well; `new` pages were not there in the last crawl."""
        self._pages += 1
        page = identity(url)
        if page in self._requested:
            return False
        if self._earlier and not new:
            if start or page in self._earlier:
                self._requested.add(page)
            return page in self._requested
        place = f"{host(url)}{directory(page.rstrip('/'))}"
        opens_place = section_root and place not in self._sampled_directories
        wanted = start or self._root(section_root=opens_place) or self._sample(place)
        if wanted:
            self._requested.add(page)
            self._sampled_directories.add(place)
        return wanted

    def take(self, url: str) -> None:
        """Count a page whose HTML was read before its Markdown as a link source, for the next crawl."""
        self._requested.add(identity(url))

    def _root(self, *, section_root: bool) -> bool:
        if not section_root or self._roots >= MAX_ROOTS:
            return False
        self._roots += 1
        return True

    def _sample(self, place: str) -> bool:
        allowed = max(MIN_SAMPLES, int(self._pages * MAX_SHARE))
        still_shows_new = self._without_new < MIN_SAMPLES
        known_place = place in self._sampled_directories and self._samples >= 1 and self._without_new > 0
        if self._samples >= allowed or not still_shows_new or (known_place and self._samples >= MIN_SAMPLES):
            return False
        self._samples += 1
        return True

    def report(self, unseen: int) -> None:
        """Count how many URLs a link source showed that nothing had shown before."""
        self._without_new = 0 if unseen else self._without_new + 1


# Links that were dead when a crawl followed them: skipped while the pages that show them do not change.
# An unchanged page shows the links that it showed when it was stored, whose dead ones were dead then. A dead link is
# requested again where a new or changed page shows it, and after `MAX_CRAWLS` crawls that skipped it. Listed pages are
# seeds, and always requested.

MAX_CRAWLS = 6
"""Crawls in a row that skip a dead link; the next one requests it, as the page may exist by then."""

MAX_STORED = 5000
"""Maximum number of dead links of a source that are stored."""


class DeadLinks:
    """The dead links of one source, by identity, each with the number of crawls that have skipped it.

    Args:
        stored: what the last crawl kept, see `to_keep`; anything of another form is ignored.
        trusted: False requests all of them (`full=true`).
    """

    def __init__(self, stored: object = None, *, trusted: bool = True) -> None:
        items = stored.items() if isinstance(stored, dict) else ()
        self._before: dict[str, int] = {
            url: crawls for url, crawls in items if isinstance(url, str) and isinstance(crawls, int)
        }
        self._trusted = trusted
        self._now: dict[str, int] = {}
        self._skipped: dict[str, str] = {}
        """The links that were skipped in this crawl, as pages spell them, with the identity they are known by."""

    def skip(self, link: str, page: str) -> bool:
        """Say whether to skip a link of a page that did not change, and remember it then.

        Args:
            link: the URL as the page shows it.
            page: the URL of the page it stands for.
        """
        if not self._trusted or not self._before:
            return False
        for known in (identity(page), identity(link)):
            if self._before.get(known, MAX_CRAWLS) < MAX_CRAWLS:
                self._skipped[link] = known
                return True
        return False

    @property
    def skips(self) -> bool:
        """True once a link was skipped."""
        return bool(self._skipped)

    def was_skipped(self, link: str) -> bool:
        """Say whether the link was skipped: a page that changed may still lead to a request for it."""
        return link in self._skipped

    def skipped(self) -> Iterator[str]:
        """Yield the links that were skipped, one spelling of each."""
        yield from {known: link for link, known in self._skipped.items()}.values()

    def died(self, *urls: str) -> None:
        """Remember a link whose request was answered with 404, by each of its addresses."""
        self._now.update(dict.fromkeys(map(identity, urls), 0))

    def to_keep(self, *, whole: bool) -> dict[str, int]:
        """Return what the next crawl needs; one that did not see the `whole` site keeps the links it did not meet."""
        skipped = {known: self._before[known] + 1 for known in self._skipped.values()}
        kept = {**({} if whole else self._before), **skipped, **self._now}
        return dict(list(kept.items())[-MAX_STORED:])


MAX_LINKS_SEEN = 1_000_000
"""Links of which it is remembered that they were seen: about 100 MB. When there are more, the oldest half is forgotten.

One that is seen again then may be counted twice; no page is requested twice (`PageDupeFilter`).
"""


class SeenLinks:
    """The links seen lately, at least the last half of `limit`, by their hash."""

    def __init__(self, limit: int = MAX_LINKS_SEEN):
        self._half = max(limit // 2, 1)
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def __contains__(self, link: str) -> bool:
        key = hash(link)
        return key in self._new or key in self._old

    def missing(self, links: Iterable[str]) -> list[str]:
        """Return the links that are not among those noted last, in one pass: most links of a page are on others too."""
        return [link for link in links if hash(link) not in self._new]

    def add(self, link: str) -> bool:
        """Note a link, as it is written; return whether it was not noted before."""
        key = hash(link)
        if key in self._new:
            return False
        if len(self._new) >= self._half:
            self._old, self._new = self._new, set()
        is_known = key in self._old
        self._new.add(key)
        return not is_known
