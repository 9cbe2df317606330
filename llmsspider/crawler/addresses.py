"""Which page an address stands for: by its spelling, redirects, and what pages say of themselves;
and which pages of a run were requested. No Scrapy.
"""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KnownPages
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.site import FEW_SLASHES, SiteKnowledge
from llmsspider.crawler.uses import UsesRun
from llmsspider.web.page_forms import is_markdown_url, shape
from llmsspider.web.urls import host, identity, loose_key, page_key

FEW_DEAD = 3
"""So many addresses that pages named as their own, and none was found, are the last requested."""
_FOUND = 5_000  # counts for one that is found: more than are ever dead


class Addresses(UsesRun):
    """The pages of one run by their addresses; keys are those of `urls.page_key`."""

    bounds: Bounds
    known: KnownPages
    learned: Learners
    site: SiteKnowledge

    def __init__(self, run: object):
        super().__init__(run)
        self.requested_pages: set[bytes] = set()
        """The pages that were requested in this crawl, or that came another way."""
        self.accounted: set[bytes] = set()
        """Those that failed, or were filtered for a reason of their own."""
        self.respelled: set[str] = set()
        """Pages, by identity, whose stored address is not found any more, while another spelling of
        it may be.
        """
        self._leading_back: set[str] = set()
        """Hosts whose pages name as their address a spelling that redirects to them."""
        self._redirects: dict[str, str] = {}
        """Where addresses redirect to another spelling of their own, by identity."""
        self._dead_named: Counter[str] = Counter()
        """How many addresses that pages name as their own are not found, by host; below zero where
        one is found.
        """
        self._counts_as: dict[bytes, tuple[bytes, str, int | None]] = {}
        """Pages that count as another: the other, their address and depth; None of a redirect."""

    def page_of(self, url: str) -> str:
        """Return the page a URL stands for: the page of a Markdown URL, the first spelling of
        joined ones.

        A stored page keeps its address: `/a/` and `/a/index.html` do not change places from run to
        run.
        """
        page = self.site.page_of(url)
        if not self.known.may_hold(page) or identity(page) in self.respelled:
            return page
        state = self.known.at(page) or self.known.at(url)
        return state.url if state is not None else page

    def requested(self, url: str) -> bool:
        """Say whether the page was requested in this run already."""
        return page_key(url) in self.requested_pages

    def page_at(self, url: str) -> bytes:
        """Return the page that a stub leads to: with or without the slash, as it was requested."""
        plain = self.page_of(url)
        bare = plain.rstrip("/")
        keys = [page_key(one) for one in (plain, bare, f"{bare}/")]
        return next((key for key in keys if key in self.requested_pages), keys[0])

    def after_redirects(self, url: str) -> str:
        """Return the page that an address leads to by redirects that an earlier run met."""
        target = self.learned.redirects.target_of(url)
        if target != url:
            self.bounds.trees.redirected(url, target)
        return target

    def is_respelled(self, url: str, target: str) -> bool:
        """Return whether a stored page is to be had at another spelling of its address, which is
        not stored.
        """
        is_spelling = loose_key(url) == loose_key(target)
        return is_spelling and self.known.at(url) is not None and self.known.at(target) is None

    def learn_redirect(self, url: str, target: str, *, is_named: bool) -> None:
        """Remember that an address redirects to another spelling of its own, which `is_named` by
        the page there.
        """
        if loose_key(url) == loose_key(target):
            self._redirects[identity(url)] = identity(target)
            if identity(target) == f"{identity(url)}/":
                self.site.with_slash[host(url)] += 1
            if is_named:
                self._leading_back.add(host(target))

    def is_spelled_otherwise(self, url: str, links: Iterable[str]) -> bool:
        """Say whether the links of a page spell its address otherwise, and never so: as no address
        that redirects to it, and as no Markdown of it.
        """
        address = loose_key(url)
        named = {
            identity(link)
            for link in links
            if link.startswith(address) and loose_key(link) == address
        }
        own = identity(url)
        others = (
            one
            for one in named
            if not (is_markdown_url(one) or self.adds_slash(one) or self._redirects.get(one) == own)
        )
        return own not in named and any(identity(self.page_of(one)) != own for one in others)

    def adds_slash(self, url: str) -> bool:
        """Say whether the host would redirect an address to the one with a slash, as it always did."""
        is_usual = shape(url) == "bare" and identity(url) not in self.respelled
        return is_usual and self.site.with_slash[host(url)] >= FEW_SLASHES

    def named_answers(self, canonical: str, *, is_found: bool) -> None:
        """Take in whether an address that a page named as its own is found."""
        self._dead_named[host(canonical)] += -_FOUND if is_found else 1

    def leads_back(self, url: str, canonical: str) -> bool:
        """Say whether an address that a page names leads back to it, or nowhere, like others there.

        It is of the same Markdown, or another spelling that redirects to it; or such addresses are
        not found.
        """
        if (
            identity(self.site.page_of(canonical)) == identity(url)
            or self._dead_named[host(canonical)] >= FEW_DEAD
        ):
            return True
        if loose_key(url) != loose_key(canonical):
            return False
        target = self.learned.redirects.target_of(canonical)
        if identity(url) in {self._redirects.get(identity(canonical)), identity(target)}:
            self._leading_back.add(host(url))
        return host(url) in self._leading_back

    # --- what takes the place of a page ---

    def redirected(self, urls: Iterable[str], target: str, *, for_good: bool) -> None:
        """Take in that addresses redirect to another page; stored ones moved."""
        for url in urls:
            if identity(url) == identity(target):
                continue
            self.bounds.trees.redirected(url, target)
            if for_good:
                self.learned.redirects.learn(url, target)
            self.known.moved(page_key(url), page_key(target), for_good=for_good)

    def replaced(self, url: str, target: str, depth: int, *, answers: bool) -> None:
        """Take in that a page says that another one takes its place; it `answers` as ever."""
        key = page_key(url)
        self.known.moved(key, page_key(target))
        if answers and self.known.state(key) is not None:
            self.known.canonical_elsewhere.add(key)
        self.count_as(url, self.page_of(target), depth)
        self.bounds.trees.redirected(url, target)

    def count_as(self, url: str, target: str, depth: int | None = None) -> None:
        """Note that a page counts as the one at another address; without a depth it redirects."""
        self._counts_as[page_key(url)] = page_key(target), url, depth

    def final_page(self, key: bytes) -> bytes:
        """Return the page that an address counts as in the end, by the redirects of this run."""
        return self._way(key)[-1]

    def lost_pages(self, obtained: AbstractSet[bytes]) -> list[tuple[str, int]]:
        """Return the pages, with their depths, that count as another of which nothing came; one of
        each circle. The pages `obtained` and those that are accounted for are what came.
        """
        ends = {*obtained, *self.accounted}
        lost = []
        for key, (_, url, depth) in sorted(self._counts_as.items(), key=lambda one: one[1][1]):
            way = self._way(key)
            is_requested = way[-1] in self.requested_pages
            if depth is not None and is_requested and ends.isdisjoint(way):
                lost.append((url, depth))
                ends.add(key)
        return lost

    def _way(self, key: bytes) -> list[bytes]:
        """Return the pages that a page counts as, one after the other, from itself on."""
        way = dict.fromkeys([key])
        while key in self._counts_as:
            key = self._counts_as[key][0]
            if key in way:
                return [*way, key]
            way[key] = None
        return [*way]
