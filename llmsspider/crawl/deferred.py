"""Deferred pages: retries of failed ones, pages that wait for their Markdown; link sources; dead links. No Scrapy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmsspider.crawl.page_checks import drop_reason
from llmsspider.errors import ErrorKind
from llmsspider.items import content_hash
from llmsspider.web.urls import directory, host, identity, page_key

if TYPE_CHECKING:
    from llmsspider.crawl.pages import PageResponse, PageResult
    from llmsspider.crawl.run import Run
    from llmsspider.store import PageRecord


# Retries of pages that failed for the network or the server, at the end of the crawl. Pure.
# A retry at once meets the same outage: a server that restarts, a limit on connections, a name that does not resolve
# for a minute. At the end of the crawl the site has had time, and gets few requests at once.

MAX_RETRIES = 200
"""Maximum number of retries; when more pages fail the site is down, and the others are errors at once."""

MAX_SECS = 300.0
"""Maximum time of the retries, in seconds; pages not requested by then are errors."""

AT_ONCE = 2
"""Number of pages that are retried at a time."""

KINDS = frozenset({"network", "rate_limited"})
"""Error kinds that may be over by the end of the crawl; so may answers without a page that are no 4xx."""


@dataclass(frozen=True, slots=True)
class DeferredRetry:
    """A failed page: the request that retries it, and the error that is reported if that fails too."""

    request: Any
    url: str
    kind: ErrorKind
    message: str
    status: int | None = None


@dataclass(slots=True)
class DeferredRetries:
    """The failed pages of one run that are retried at its end; `enabled` is False where nothing is retried."""

    enabled: bool = True
    waiting: list[DeferredRetry] = field(default_factory=list)
    kept: int = 0

    def keep(self, failed: DeferredRetry) -> bool:
        """Keep a failed page for a retry; return False where its error will not pass, or there are too many."""
        passing = failed.kind in KINDS or (failed.kind == "http" and (failed.status or 0) < 400)
        if not self.enabled or not passing or self.kept >= MAX_RETRIES:
            return False
        self.kept += 1
        self.waiting.append(failed)
        return True

    def take(self, number: int) -> list[DeferredRetry]:
        """Return the next pages to retry, the oldest first."""
        taken, self.waiting = self.waiting[:number], self.waiting[number:]
        return taken


# Pages of which only the site's other pages say what becomes of them; their documents wait, so that the order in which
# pages come decides nothing. Pure.
# They came as HTML before it was known how their host names its Markdown, requested at the end of the crawl; or
# they are nothing but links, and another page may name them as its tag; or their Markdown is small, and may be a stub
# beside the host's other Markdown.

MAX_PENDING = 100
"""Maximum number of pages that wait for their Markdown; further ones are documents made of HTML."""
MAX_UNSURE = 1000
"""Maximum number of other pages that wait; what is known when further ones come decides of them."""


@dataclass(frozen=True, slots=True)
class PendingPage:
    """A page that waits: its record, whether it is confirmed as it was stored, and the request that it answered.

    `shows_pages` says that its HTML linked to pages that nothing had shown before, `for_markdown` that its Markdown is
    to be requested, `lists_only` that it is nothing but links. `read` is the answer and the page of small Markdown.
    """

    record: PageRecord
    confirmed: bool
    request: Any
    shows_pages: bool = False
    for_markdown: bool = True
    lists_only: bool = False
    read: tuple[PageResponse, PageResult] | None = None


@dataclass(slots=True)
class PendingPages:
    """The pages of one run that wait, by the id of the document.

    `enabled` is False where a stop would lose them, `only_for_markdown` True where the spider has a `parse` of its own:
    it is to see the document of each page with its response.
    """

    enabled: bool = True
    only_for_markdown: bool = False
    waiting: dict[str, PendingPage] = field(default_factory=dict)
    _number: Counter[bool] = field(default_factory=Counter)
    undecided: list[Any] = field(default_factory=list)
    """Requests for pages of trees of which it is not known yet whether they are copies (`locales.Trees`)."""

    def keep(self, page: PendingPage, *, room: int | None) -> bool:
        """Keep a page until the end; return False where too many wait or the `room` for documents is small."""
        if not self.has_room(room, for_markdown=page.for_markdown):
            return False
        self._number[page.for_markdown] += 1
        self.waiting[page.record.id] = page
        return True

    def has_room(self, room: int | None, *, for_markdown: bool) -> bool:
        """Say whether one more page can wait, where `room` more documents are allowed (None: any number)."""
        limit = MAX_PENDING if for_markdown else MAX_UNSURE
        full = self._number[for_markdown] >= limit or (room is not None and room <= MAX_PENDING)
        return self.enabled and (for_markdown or not self.only_for_markdown) and not full

    def take(self) -> Iterator[PendingPage]:
        """Yield the pages that wait, by their addresses; each waits no more."""
        for page in sorted(self.waiting.values(), key=lambda page: page.record.url):
            if self.waiting.pop(page.record.id, None) is not None:
                yield page


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
        self._barren = 0
        self._asked: set[str] = set()
        self._sampled_directories: set[str] = set()

    @property
    def requested(self) -> list[str]:
        """The pages that were wanted, by identity."""
        return sorted(self._asked)

    def wanted(self, url: str, *, start: bool = False, section_root: bool = False, new: bool = True) -> bool:
        """Say whether to fetch this page's HTML as well; `new` pages were not there in the last crawl."""
        self._pages += 1
        page = identity(url)
        if page in self._asked:
            return False
        if self._earlier and not new:
            if start or page in self._earlier:
                self._asked.add(page)
            return page in self._asked
        place = f"{host(url)}{directory(page.rstrip('/'))}"
        opens_place = section_root and place not in self._sampled_directories
        wanted = start or self._root(section_root=opens_place) or self._sample(place)
        if wanted:
            self._asked.add(page)
            self._sampled_directories.add(place)
        return wanted

    def take(self, url: str) -> None:
        """Count a page whose HTML was read before its Markdown as a link source, for the next crawl."""
        self._asked.add(identity(url))

    def _root(self, *, section_root: bool) -> bool:
        if not section_root or self._roots >= MAX_ROOTS:
            return False
        self._roots += 1
        return True

    def _sample(self, place: str) -> bool:
        allowed = max(MIN_SAMPLES, int(self._pages * MAX_SHARE))
        fruitful = self._barren < MIN_SAMPLES
        known_place = place in self._sampled_directories and self._samples >= 1 and self._barren > 0
        if self._samples >= allowed or not fruitful or (known_place and self._samples >= MIN_SAMPLES):
            return False
        self._samples += 1
        return True

    def report(self, unseen: int) -> None:
        """Count how many URLs a link source showed that nothing had shown before."""
        self._barren = 0 if unseen else self._barren + 1


# Links that were dead when a crawl followed them: skipped while the pages that show them do not change. Pure.
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


# What becomes of the pages that still wait when a crawl ends.


def give_up_failed_pages(run: Run) -> None:
    """Count the failed pages that were not retried as errors; the stored ones stay."""
    for failed in run.retries.take(len(run.retries.waiting)):
        run.fail(failed.url, failed.kind, failed.message, failed.status)
        _keep_stored(run, page_key(failed.url))


def keep_suspects(run: Run) -> None:
    """Keep the stored pages whose answers still wait as suspects; new pages are left to the next crawl."""
    for suspect, _record in run.suspects.take():
        _keep_stored(run, suspect.key)


def _keep_stored(run: Run, key: bytes) -> None:
    """Confirm a stored page that has no document in this run, so that a run which continues this one has it."""
    state = run.known.state(key)
    record = run.store.load_page(state.key) if state is not None and run.is_open else None
    if record is not None and run.recorded.is_first(record):
        run.recorded.write(record, confirmed=True)


def store_pending_pages(run: Run) -> None:
    """Store the pages of a stopped crawl that waited, for their Markdown or for its end; a replay has them.

    Those that pipelines of the user were to see first are left to the next crawl.
    """
    if run.config.own_code:
        return
    pending = run.pending_pages.take()
    waiting = [
        (page.record, page.confirmed)
        for page in pending
        if not (page.lists_only and run.site.is_tag(page.record.url))
    ]
    waiting += [(record, False) for record in run.moved_pages.take()]
    for record, confirmed in waiting:
        content = record.content or ""
        known = run.known.state(record.key) is not None
        in_scope = run.bounds.allowed(record.url) and run.arguments.follow != "listed"
        dropped = drop_reason(content, record.title, min_characters=run.config.min_characters)
        record.content_hash = content_hash(content)
        is_document = in_scope and not dropped and record.content_hash not in run.site.soft404_hashes
        if run.recorded.is_first(record) and (known or (is_document and run.arguments.mode == "crawl")):
            run.site.forms_of(record.url).missed.pop(identity(record.url), None)
            run.recorded.write(record, confirmed=confirmed or not is_document)
            run.count("stored-at-stop")
            run.progress.stored_at_stop += 1
