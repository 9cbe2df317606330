"""Requests for what may not be worth one: HTML of Markdown that is there already, and links that were dead. Pure.

Markdown carries no sidebar: a few pages are fetched as HTML for its links (`LinkSources`). Links that were dead are
skipped while the pages that show them do not change (`DeadLinks`); those that were seen lately (`SeenLinks`) are looked
at once.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from llmsspider.web.urls import INDEX_FILES, directory, host, identity

# --- HTML for the links of its navigation ---
# The start page, section roots, index files, one page in each directory, and samples for as long as they still show
# unseen URLs.

MIN_SAMPLES = 3
"""Pages fetched as HTML besides start page and section roots; so many in a row that show nothing new are enough."""

MAX_SHARE = 0.05
"""Share of the pages seen so far that may be fetched twice; section roots above `MAX_ROOTS` count into it."""

MAX_ROOTS = 9
"""Section roots and index files always fetched as HTML."""


class LinkSources:
    """The policy of one crawl: `wanted` is called once for each Markdown page, `report` for each link source.

    Those of the last complete crawl (`earlier`, by identity) are requested again, since they can be revalidated; of the
    other pages only new ones are candidates.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self._earlier = frozenset(earlier)
        self._pages = 0
        self._roots = 0
        self._samples = 0
        self._without_new = 0
        self.requested: set[str] = set()
        """The pages that were wanted, by identity."""
        self._sampled_directories: set[str] = set()

    def wanted(self, url: str, *, start: bool = False, section_root: bool = False, new: bool = True) -> bool:
        """Say whether to fetch this page's HTML as well; `new` pages were not there in the last crawl."""
        self._pages += 1
        page = identity(url)
        if page in self.requested:
            return False
        if self._earlier and not new:
            wanted = start or page in self._earlier
        else:
            place = f"{host(url)}{directory(page.rstrip('/'))}"
            is_index = urlsplit(url).path.rpartition("/")[2] in INDEX_FILES  # of a directory
            wanted = start or self._takes(place, section_root=section_root, is_index=is_index)
            if wanted:
                self._sampled_directories.add(place)
        if wanted:
            self.requested.add(page)
        return wanted

    def take(self, url: str) -> None:
        """Count a page whose HTML was read before its Markdown as a link source, for the next crawl."""
        self.requested.add(identity(url))

    def _takes(self, place: str, *, section_root: bool, is_index: bool) -> bool:
        is_known = place in self._sampled_directories
        if (is_index or (section_root and not is_known)) and self._roots < MAX_ROOTS:
            self._roots += 1
            return True
        is_enough = self._samples >= MIN_SAMPLES and is_known and self._without_new > 0
        allowed = max(MIN_SAMPLES, int(self._pages * MAX_SHARE))
        if is_enough or self._samples >= allowed or self._without_new >= MIN_SAMPLES:
            return False
        self._samples += 1
        return True

    def report(self, unseen: int) -> None:
        """Count how many URLs a link source showed that nothing had shown before."""
        self._without_new = 0 if unseen else self._without_new + 1


# --- links that were dead when a crawl followed them ---
# An unchanged page shows the links that it showed when it was stored, whose dead ones were dead then. A dead link is
# requested again where a new or changed page shows it, and after `MAX_CRAWLS` crawls that skipped it. Listed pages are
# seeds, and always requested.

MAX_CRAWLS = 6
"""Crawls in a row that skip a dead link; the next one requests it, as the page may exist by then."""

MAX_STORED = 5000
"""Maximum number of dead links of a source that are stored."""


class DeadLinks:
    """The dead links of one source, by identity, each with the number of crawls that have skipped it.

    `stored` is what the last crawl kept (`to_keep`). Without `trusted` (`full=true`) all of them are requested.
    """

    def __init__(self, stored: object = None, *, trusted: bool = True) -> None:
        items = stored.items() if isinstance(stored, dict) else ()
        self._before = {url: n for url, n in items if isinstance(url, str) and isinstance(n, int)}
        self._trusted = trusted
        self._now: dict[str, int] = {}
        self.skipped: dict[str, str] = {}
        """Links skipped in this crawl, as pages spell them, and their identity; a changed page may request one."""

    def skip(self, link: str, page: str) -> bool:
        """Say whether to skip a link of an unchanged page, and remember it then; `page` is what the link stands for."""
        for known in (identity(page), identity(link)) if self._trusted and self._before else ():
            if self._before.get(known, MAX_CRAWLS) < MAX_CRAWLS:
                self.skipped[link] = known
                return True
        return False

    def was_dead(self, url: str) -> bool:
        """Say whether a page was dead in an earlier run, or is now."""
        return identity(url) in self._before or identity(url) in self._now

    def died(self, *urls: str) -> None:
        """Remember a link whose request was answered with 404, by each of its addresses."""
        self._now.update(dict.fromkeys(map(identity, urls), 0))

    def to_keep(self, *, whole: bool) -> dict[str, int]:
        """Return what the next crawl needs; one that did not see the `whole` site keeps the links it did not meet."""
        skipped = {known: self._before[known] + 1 for known in self.skipped.values()}
        kept = {**({} if whole else self._before), **skipped, **self._now}
        return dict(list(kept.items())[-MAX_STORED:])


# --- links that were seen already ---

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
