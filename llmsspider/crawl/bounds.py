"""The bounds of one crawl: which URLs belong to it, by which rule others do not, how many pages it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from llmsspider.crawl.traps import MAX_URL_LENGTH, LookAlikes, shape_of, trap_reason
from llmsspider.items import Section
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.web.locales import Trees, directory_above, language_segments
from llmsspider.web.scope import Scope, build_scope
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import directory, host, identity

if TYPE_CHECKING:
    from llmsspider.config.arguments import DocsArguments
    from llmsspider.crawl.progress import Progress
    from llmsspider.crawl.site import SiteKnowledge
    from llmsspider.items import Page
    from llmsspider.site.discovered import Discovery
    from llmsspider.store import PageState


REQUESTS_PER_PAGE = 10
MIN_REQUESTS = 100
"""Without `max_requests`, a crawl sends 10 requests for each page of `max_pages`, and 100 more, at most.

A page takes one to four: its Markdown form, its HTML, a redirect, retries. The rest is for pages that give no document.
"""

MIN_QUEUE = 1000
"""Number of pages that may be queued however few requests are left: not every queued page is requested."""


class PageLimit:
    """How many documents a crawl may export, and how many requests it may send for them.

    Args:
        max_pages: documents; 0 is no limit.
        progress: where the documents are counted.
        max_requests: requests; 0 is no limit, None that which follows from `max_pages`.
    """

    def __init__(self, max_pages: int, progress: Progress, max_requests: int | None = None):
        by_pages = REQUESTS_PER_PAGE * max_pages + MIN_REQUESTS if max_pages else 0
        self.max_requests = by_pages if max_requests is None else max_requests
        self.requests = 0
        """Requests sent for pages; discovery and robots.txt do not count."""
        self.cut = False
        """True once links were filtered because more pages are queued than `max_requests` allows."""
        self._max_pages = max_pages
        self._progress = progress

    @property
    def reached(self) -> bool:
        """True when `max_pages` documents have been exported, or `max_requests` requests sent."""
        return self.left == 0 or (0 < self.max_requests <= self.requests)

    @property
    def left(self) -> int | None:
        """How many more documents may be exported, None without a limit."""
        return max(self._max_pages - self._progress.documents, 0) if self._max_pages else None

    def room(self, queued: int) -> int | None:
        """Return how many more pages may be queued where `queued` wait already, None without a limit."""
        if not self.max_requests:
            return None
        return max(max(self.max_requests - self.requests, MIN_QUEUE) - queued, 0)

    @property
    def refusal(self) -> Filtered:
        """Why a page is filtered once the limit is `reached`, or its queue is full."""
        if self.left == 0:
            return Filtered("max-pages", f"max_pages={self._max_pages} is reached")
        return Filtered("max-requests", f"max_requests={self.max_requests} is reached")

    @property
    def why(self) -> str:
        """The name of the limit that ended the run: `max_pages` or `max_requests`."""
        return self.refusal.reason.replace("-", "_")


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
        """Return the links that are not among those noted last."""
        return [link for link in links if hash(link) not in self._new]

    def add(self, link: str) -> bool:
        """Note a link; returns whether it was not noted before."""
        key = hash(link)
        if key in self._new:
            return False
        if len(self._new) >= self._half:
            self._old, self._new = self._new, set()
        is_known = key in self._old
        self._new.add(key)
        return not is_known


def _evidence(discovery: Discovery, start_page: Page) -> Iterator[Section]:
    """Yield what the start page and the places of the sitemaps say of the section.

    A sitemap is for the pages below its own directory (https://www.sitemaps.org/protocol.html#location).
    """
    if start_page.meta.section is not None:
        yield start_page.meta.section
    for sitemap in discovery.sitemaps:
        if host(sitemap) == host(discovery.start_url) and directory(sitemap) != "/":
            yield Section(directory(sitemap), "its sitemap lies there")


class Bounds:
    """Which URLs belong to a crawl. Before `discovered` or `stored` is called there is no scope, and all are allowed.

    Args:
        arguments: the arguments of the run.
        site: what is known of the site's pages.
        handled: file extensions that a handler of the project reads.
        look_alikes: what is known of pages whose URLs differ in numbers only.
        requested: says whether a page was requested in this run.
        is_read: says whether there is a document of a page, of this run or an earlier one.
        handled_if_listed: extensions of files that the project reads where they are listed.
    """

    def __init__(
        self,
        arguments: DocsArguments,
        site: SiteKnowledge,
        handled: frozenset[str],
        look_alikes: LookAlikes,
        *,
        requested: Callable[[str], bool],
        is_read: Callable[[str], bool],
        handled_if_listed: frozenset[str] = frozenset(),
    ):
        self._handled_if_listed = handled_if_listed
        self.scope: Scope | None = None
        self._arguments = arguments
        self._site = site
        self._requested = requested
        self._is_read = is_read
        self._handled = handled
        self._trees: Trees | None = None
        self.look_alikes = look_alikes
        self._links_seen = SeenLinks()
        self._start_directory = ""
        self._only_listed = arguments.scope == "listed"

    # --- how they are fixed ---

    def discovered(self, discovery: Discovery, start_page: Page) -> None:
        """Fix the bounds by what discovery found; `start_page` has the start page's links."""
        covering = discovery.discovered_file if discovery.discovered_file_type == "llms.txt" else None
        listed = [seed.url for seed in discovery.seeds if seed.llms]
        evidence = _evidence(discovery, start_page)
        self._only_listed = self._only_listed or discovery.discovered_file_type == "repository"
        self.scope = self._build(discovery.start_url, covering, listed, evidence)
        self._start_directory = urljoin(discovery.start_url, ".")
        alternates = [(tag, url) for seed in discovery.seeds for tag, url in seed.alternates.items()]
        self._trees = Trees(
            discovery.start_url,
            self._arguments.language,
            self._arguments.versions == "all",
            lambda url: self._site.is_evident(url) or self._requested(url),
            self._is_read,
            language_segments([*start_page.meta.hreflang.items(), *alternates]),
        )
        if identity(discovery.start.url) != identity(discovery.start.final_url):
            self._trees.redirected(discovery.start.url, discovery.start.final_url)

    def stored(self, urls: Iterable[str], start: str | None = None) -> None:
        """Fix the bounds of a run without discovery, by the URLs of the stored pages.

        `start` is a page of the site where the argument `url` is none.
        """
        self.scope = self._build(start or self._arguments.url or "", None, list(urls))

    def _build(
        self, start_url: str, covering: str | None, listed: list[str], evidence: Iterable[Section] = ()
    ) -> Scope:
        arguments = self._arguments
        widened = [
            axis
            for axis, value in (("language", arguments.language), ("version", arguments.versions))
            if value == "all"
        ]
        return build_scope(
            "listed" if self._only_listed else arguments.scope,
            start_url,
            covering,
            listed,
            allow=arguments.allow,
            block=arguments.block,
            above=directory_above(start_url, widened),
            evidence=evidence,
            handled=self._handled,
            handled_if_listed=self._handled_if_listed,
        )

    # --- what is in scope ---

    def refusal(self, url: str, *, listed: bool = False) -> Filtered | None:
        """Return why a URL is filtered, None where it is in scope: llms files are no pages, else the scope decides."""
        if is_llms_url(url):
            return Filtered("llms-file", "llms files are read, not exported")
        if len(url) > MAX_URL_LENGTH:
            return Filtered("url-length", f"longer than {MAX_URL_LENGTH} characters")
        return self._foreign(url) or (self.scope.refusal(url, listed=listed) if self.scope else None)

    def _foreign(self, url: str) -> Filtered | None:
        """Return why a page belongs to another language or version, or None."""
        if self._trees is None or host(url) != self._trees.host or identity(url) in self._site.entries:
            return None
        foreign = self._trees.foreign(url)
        if foreign is None:
            return None
        axis, segment = foreign
        wider = "versions=all" if axis == "version" else f"language={segment} or all"
        return Filtered(axis, f"the {axis} {segment} (wider: -a {wider})")

    def is_undecided(self, url: str) -> bool:
        """Say whether a page may belong to another language or version, which depends on the rest of the site."""
        return (
            self._trees is not None
            and identity(url) not in self._site.entries
            and self._trees.is_undecided(url)
        )

    def accept_undecided(self, urls: Iterable[str]) -> None:
        """Decide whether the languages and versions of these pages are filtered, each as a whole."""
        if self._trees is not None:
            self._trees.accept_undecided(urls)

    def no_page(self, url: str) -> None:
        """Take in that an address is not found."""
        if self._trees is not None:
            self._trees.no_page(url)

    def redirected(self, url: str, target: str) -> None:
        """Take in that an address leads to another: by a redirect, or by what its page says of itself."""
        if self._trees is not None:
            self._trees.redirected(url, target)

    def allowed(self, url: str) -> bool:
        """Say whether the page is in scope."""
        return self.refusal(url, listed=self.is_listed(url)) is None

    def is_listed(self, url: str) -> bool:
        """Say whether the page counts as listed: llms.txt or a repository names it, with scope=listed a sitemap.

        A sitemap names the whole host, blog and all, so what it lists has to lie in the section like any link.
        """
        return self._site.is_described(url) or (self._only_listed and self._site.is_listed(url))

    def covers(self, state: PageState) -> bool:
        """Say whether a stored page lies inside the bounds, so that this run may decide whether it is deleted."""
        limit = self._arguments.max_depth
        if limit is not None and state.depth > limit:
            return False
        if is_llms_url(state.url):  # stored as a document: its pages failed, or follow=llms
            return self.scope is None or self.scope.refusal(state.url, listed=True) is None
        return self.refusal(state.url, listed=True) is None

    # --- endless links ---

    def trap(self, url: str) -> Filtered | None:
        """Return why a link looks like one of endlessly many, or None."""
        reason = trap_reason(url)
        return Filtered("trap", f"{reason}: looks endless") if reason else None

    def crowded(self, url: str, *, listed: bool) -> Filtered | None:
        """Return why a page is filtered as one of too many look-alikes, or None; see `LookAlikes.admits`."""
        if self.look_alikes.admits(url, listed=listed):
            return None
        why = f"URLs like {shape_of(url)}: {self.look_alikes.limit} of them brought nothing new"
        return Filtered("trap", why)

    def is_alike(self, url: str) -> bool:
        """Say whether a URL has numbers or a query below the start page's directory.

        A version in the address of the start page (`/docs/3.11/`) is no such number.
        """
        below = url.removeprefix(self._start_directory)
        return shape_of(url if below == url else f"https://x/{below}") is not None

    def is_linked(self, url: str) -> bool:
        """Say whether this exact URL was seen as a link in this run."""
        return url in self._links_seen

    def not_seen_lately(self, links: Iterable[str]) -> list[str]:
        """Return the links that were not seen lately, in one pass: most links of a page are on others too."""
        return self._links_seen.missing(links)

    def first_sight(self, link: str) -> bool:
        """Say whether this exact URL is seen as a link for the first time in this run."""
        return self._links_seen.add(link)
