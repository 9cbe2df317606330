"""What the relative links of a site's Markdown are relative to, learned from where they lead.

Generators publish their authors' files as they are, at other addresses: `guide/a.md` becomes the page `/guide/a/` with
the Markdown `/guide/a/index.md`, and its link `b.md` means `/guide/b/`. Each link is joined to the bases that
generators use, and the base from which the links of a page lead to known pages is the page's. Where a page's links say
nothing, the base of the other pages of its host and origin counts, decided once. Pure: no requests, no clock.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import Any, get_args
from urllib.parse import urljoin, urlsplit

from llmsspider.web.page_forms import skipped_extension
from llmsspider.web.stats import LinkBase
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import host, identity, without_fragment

Base = LinkBase
"""What links are relative to, for a page `/guide/a/`: its address as a `directory` (`/guide/a/`), the folder of its
`source` file (`/guide/`), the address its Markdown was `fetched` from where that is neither, the `root` of the
documentation, the root of the `host`. Links that begin with `/` are relative to one of the last two."""

SOURCE = re.compile(r"\.(?:mdx?|markdown|ipynb|qmd|rmd|rst)$", re.IGNORECASE)
_ENDING = re.compile(r"(?:\.html?)?(?:\.(?:mdx?|markdown|ipynb|qmd|rmd|rst))?$", re.IGNORECASE)
_INDEX_NAMES = frozenset({"index", "readme", "_index"})
_UPS = re.compile(r"(?:\.\.?/)*\.\.(?=/|\Z)")


@lru_cache(maxsize=65536)
def stem(url: str) -> str:
    """Return what a page, its Markdown and its source file have in common: no ending, index name, slash or query.

    >>> stem("https://e.com/a/b.ipynb") == stem("https://e.com/a/b/index.md") == stem("https://e.com/a/b.html.md#x")
    True
    """
    path = identity(url).partition("?")[0]
    path = _ENDING.sub("", path, count=1)
    directory, _slash, name = path.rpartition("/")
    return (directory if name.lower() in _INDEX_NAMES else path).rstrip("/")


@dataclass
class PageLinks:
    """The relative links of one page: where they lead from each base that they may have."""

    page_url: str
    group: str
    fetched_url: str
    root: str | None
    """The root of the documentation."""
    landed: Counter[Base] = field(default_factory=Counter)
    root_landed: Counter[Base] = field(default_factory=Counter)
    is_index: bool = False
    """Whether known pages lie below the page: its source may be the index file of their folder."""
    differs: bool = False
    """Whether the bases make a difference for any of the links."""

    @cached_property
    def joiners(self) -> dict[Base, Joiner]:
        """The bases of its links, the one that a browser would take first, each place once."""
        here, fetched_url = stem(self.page_url), self.fetched_url
        fetched = urljoin(fetched_url, ".") if "/" in urlsplit(fetched_url).path else f"{fetched_url}/"
        places: dict[Base, str] = {"directory": f"{here}/", "source": f"{here.rpartition('/')[0]}/"}
        if not urlsplit(here).path.strip("/"):
            places = {"directory": f"{here}/"}
        first = next((base for base, place in places.items() if place == fetched), None)
        ordered: dict[Base, str] = {first: fetched} if first else {"fetched": fetched}
        ordered.update(places)
        if self.root and host(self.root) == host(here):
            ordered["root"] = self.root
        unique: dict[str, Base] = {}
        for base, place in ordered.items():
            unique.setdefault(place, base)
        return {base: Joiner(place) for place, base in unique.items()}

    @cached_property
    def root_joiners(self) -> dict[Base, Joiner]:
        """The bases of its links that begin with `/`."""
        joiners: dict[Base, Joiner] = {"host": Joiner(urljoin(self.page_url, "/"))}
        root = self.root
        if root and urlsplit(root).path not in {"", "/"} and host(root) == host(self.page_url):
            joiners["root"] = Joiner(root)
        return joiners

    @property
    def vote(self) -> Base | None:
        """The one base from which most links lead to known pages; None where two do or none does."""
        ranked = self.landed.most_common(2)
        if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
            return None
        return ranked[0][0]


def _first(joiners: dict[Base, Joiner], base: Base) -> list[Joiner]:
    return [joiners[base], *(joiner for name, joiner in joiners.items() if name != base)]


def joined(joiner: Joiner, href: str) -> str:
    """Return an href joined to a base; one that begins with `/` is relative to it, too."""
    return joiner.join(href.lstrip("/") if href.startswith("/") else href)


def ending_of(page_url: str) -> str:
    """Return what the address of a page has behind the name of its source file."""
    path = urlsplit(page_url).path
    return "/" if path.endswith("/") else ".html" if path.endswith(".html") else ""


def leaves(joiner: Joiner, href: str) -> bool:
    """Say whether an href goes up beyond the root of the host: nobody writes that for this base."""
    ups = _UPS.match(href)
    return ups is not None and ups[0].count("..") > urlsplit(joiner.base).path.strip("/").count("/") + (
        urlsplit(joiner.base).path not in {"", "/"}
    )


def is_page_like(url: str) -> bool:
    """Say whether a URL may be that of a page, or of a page's source."""
    return skipped_extension(url, listed=True) is None or SOURCE.search(urlsplit(url).path) is not None


WORDS: Mapping[Base, str] = {
    "directory": "the page's address",
    "source": "the folder of the source file",
    "fetched": "the address the Markdown was fetched from",
    "root": "the root of the documentation",
    "host": "the root of the host",
}


class UnsettledError(Exception):
    """What the links of a page are relative to is not decided yet; `args` holds the page's group, or a link."""


CLEAR_VOTES = 3
"""Number of pages with the same base that decide it for their group, unless more than a third as many show another."""

MAX_LEAVES = 50
"""Maximum number of known pages that are examined for the ending of their addresses."""

MIN_VOTES = 2
"""Number of pages with the same base that are enough once no more pages follow."""

_README = re.compile(r"/(?:readme|_index)\.md$", re.IGNORECASE)
_NAMES_A_PAGE = re.compile(r"(?!(?:index|readme|_index)\b)[^./?#][^/?#]*/?(?:[?#]|\Z)", re.IGNORECASE)
"""Hrefs that name one page; `index.md` and `../` lead to some page from every base."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|\Z")


def _unsettled(url: str) -> str:
    raise UnsettledError(url)


class LinkBases:
    """Learns from the links of pages what they are relative to, and makes them absolute.

    Args:
        known: gives the URLs of the pages known before the crawl (listed, linked by the start page, stored).
        page_of: returns the page that a Markdown URL stands for, by the rule of its host; itself where none is known.
        note: gets one line for each decision.
    """

    def __init__(
        self,
        known: Callable[[], Iterable[str]],
        page_of: Callable[[str], str],
        note: Callable[[str], None] = lambda _line: None,
    ):
        self.root: str | None = None
        """The root of the documentation: where its llms.txt lies, else the section of the start page."""
        self._known = known
        self._page_of = page_of
        self._note = note
        self._pages: dict[str, str] | None = None
        self._identities: set[str] = set()
        self._parents: set[str] = set()
        self._votes: defaultdict[str, Counter[Base]] = defaultdict(Counter)
        self.decided: dict[str, Base | None] = {}
        """The base of each group (`host origin`); None where no page showed any."""

    def remember(self, decided: object) -> None:
        """Use the bases that earlier runs decided, as `learned` returned them."""
        if isinstance(decided, dict):
            bases = get_args(Base)
            self.decided = {str(group): base for group, base in decided.items() if base in bases}

    def learned(self) -> dict[str, Base]:
        """Return the base of each group (`host origin`): the decided one, else the one with most votes so far."""
        leading = {group: base for group in self._votes if (base := self._leader(group)) is not None}
        return {**leading, **{group: base for group, base in self.decided.items() if base is not None}}

    def look(self, page_url: str, fetched_url: str, origin: str, hrefs: Iterable[str]) -> PageLinks:
        """Do what `place` does, and count the vote of the page for its base; index files have no vote."""
        links = self.place(page_url, fetched_url, origin, hrefs)
        vote = links.vote
        if vote is not None and not links.is_index:
            self._take_vote(links.group, vote)
        return links

    def place(self, page_url: str, fetched_url: str, origin: str, hrefs: Iterable[str]) -> PageLinks:
        """Return where the links of a page lead from each base, without learning from them.

        A page with pages below it may be the index file of their folder, whose links begin at the page.

        Args:
            page_url: the page's address.
            fetched_url: where its Markdown comes from; the page's address for full text.
            origin: as in `Document.origin`.
            hrefs: destinations of links, images and definitions.
        """
        links = PageLinks(page_url, f"{host(page_url)} {origin}", fetched_url, self.root)
        relative = {href for href in hrefs if not _SCHEME.match(href) and not href.startswith("#")}
        if not relative:
            return links
        self._know()
        here = stem(page_url)
        links.is_index = here in self._parents
        for href in sorted(relative):
            from_root = href.startswith("/")
            bases, landed = (
                (links.root_joiners, links.root_landed) if from_root else (links.joiners, links.landed)
            )
            targets = {base: joined(joiner, href) for base, joiner in bases.items()}
            links.differs = links.differs or (not from_root and len(set(targets.values())) > 1)
            landed.update(
                base
                for base, url in targets.items()
                if not leaves(bases[base], href)
                and is_page_like(without_fragment(url))
                and stem(url) != here
                and self._page_at(without_fragment(url)) is not None
            )
        return links

    def is_open(self, links: PageLinks) -> bool:
        """Say whether what the links of a page are relative to depends on pages that are not read yet."""
        return links.differs and not links.landed and not links.is_index and links.group not in self.decided

    def is_settled(self, links: PageLinks) -> bool:
        """Say whether the links of a page neither need those of other pages nor say anything of them."""
        says_nothing = links.vote is None and not links.differs
        return says_nothing or links.is_index or self.decided.get(links.group) is not None

    def __getstate__(self) -> tuple[object, ...]:
        """Pickle what is known and decided now; in a worker, a link that takes more raises `UnsettledError`."""
        self._know()
        return self.root, self.decided, self._pages, self._identities, self._parents

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(tuple, _unsettled)  # type: ignore[misc]
        self.root, self.decided, self._pages, self._identities, self._parents = state

    def conclude(self, group: str | None = None) -> None:
        """Decide by the votes so far, for one group or for all; without enough votes there is no base."""
        for name in [group] if group is not None else list(self._votes):
            if name in self.decided:
                continue
            base = self._leader(name)
            if base is not None:
                self._decide(name, base)
            else:
                self.decided[name] = None

    def _leader(self, group: str) -> Base | None:
        """Return the base that most pages of a group show, two at least."""
        ranked = self._votes[group].most_common(1) if group in self._votes else []
        return ranked[0][0] if ranked and ranked[0][1] >= MIN_VOTES else None

    def _take_vote(self, group: str, base: Base) -> None:
        votes = self._votes[group]
        votes[base] += 1
        if self.decided.get(group) is None:
            leader, most = votes.most_common(1)[0]
            if most >= CLEAR_VOTES and most >= 3 * (votes.total() - most):
                self._decide(group, leader)

    def _decide(self, group: str, base: Base) -> None:
        self.decided[group] = base
        name, _, origin = group.partition(" ")
        votes = self._votes[group]
        self._note(
            f"relative links of the Markdown of {name} ({origin}) begin at {WORDS[base]}: {votes[base]} of "
            f"{votes.total()} pages show it by links to known pages"
        )

    def base_of(self, links: PageLinks) -> Base:
        """Return what the relative links of a page begin at."""
        preferred = self.decided.get(links.group) if not links.is_index else None
        order = ([preferred] if preferred in links.joiners else []) + list(links.joiners)
        return max(order, key=lambda base: links.landed[base])

    def join(self, links: PageLinks) -> Callable[[str], str]:
        """Return the function that makes hrefs of the page absolute.

        A link leads to the known page it names from the page's base, else from another one; a link to a source file
        (`x.md`, `x.ipynb`, `x.qmd`, `x.rst`) becomes the page the file is published as.
        """
        plain = Joiner(links.page_url)

        @cache  # many pages have no relative links
        def relative() -> list[Joiner]:
            return _first(links.joiners, self.base_of(links))

        @cache
        def from_root() -> list[Joiner]:
            best = max(links.root_joiners, key=lambda name: links.root_landed[name])
            return _first(links.root_joiners, best)

        def joined(href: str) -> str:
            if _SCHEME.match(href) or href.startswith("#"):
                return self._page_of_source(plain.join(href), links.page_url)
            return self._resolved(href, from_root() if href.startswith("/") else relative(), links)

        return joined

    def _resolved(self, href: str, joiners: list[Joiner], links: PageLinks) -> str:
        target, mark, fragment = joined(joiners[0], href).partition("#")
        if is_page_like(target):
            self._know()
            others = joiners[1:] if _NAMES_A_PAGE.search(href) else ()
            for joiner in (joiners[0], *(other for other in others if not leaves(other, href))):
                page = self._page_at(without_fragment(joined(joiner, href)))
                if page is not None:
                    return page + mark + fragment
            target = self._published(target, links)
        return target + mark + fragment

    def _page_of_source(self, url: str, page_url: str) -> str:
        """Return the known page of an absolute link to a Markdown or source file of the same host, else the link."""
        target, mark, fragment = url.partition("#")
        if not SOURCE.search(target) or host(target) != host(page_url):
            return url
        self._know()
        return (self._page_at(target) or target) + mark + fragment

    def _page_at(self, url: str) -> str | None:
        """Return the known page at an address, in the spelling that is known."""
        if not SOURCE.search(urlsplit(url).path) and identity(url) in self._identities:
            return url
        return self._pages.get(stem(url)) if self._pages and "?" not in url else None

    def _published(self, url: str, links: PageLinks) -> str:
        """Return the page that a source file nobody lists is published as: by its host's rule, else like this page."""
        path, mark, query = url.partition("?")
        if not SOURCE.search(path):
            return url
        markdown = _README.sub("/index.md", SOURCE.sub(".md", path))
        page = self._page_of(markdown)
        if page != markdown:
            return page + mark + query
        if path == markdown and SOURCE.sub("", links.fetched_url) == stem(links.page_url):
            return url  # other pages have their Markdown there, too
        return SOURCE.sub(self._leaf_ending(links), path) + mark + query

    def _leaf_ending(self, links: PageLinks) -> str:
        """Return the ending of pages such as this one; of one with pages below it, that of most pages on its host."""
        if not links.is_index or not self._pages:
            return ending_of(links.page_url)
        name = host(links.page_url)
        leaves = (url for key, url in self._pages.items() if host(url) == name and key not in self._parents)
        endings = Counter(map(ending_of, islice(leaves, MAX_LEAVES)))
        return endings.most_common(1)[0][0] if endings else ending_of(links.page_url)

    def _know(self) -> None:
        if self._pages is not None:
            return
        self._pages = {}
        for url in sorted(self._known(), key=lambda url: (bool(SOURCE.search(url)), len(url), url)):
            self._add(url)

    def learn(self, urls: Iterable[str], page_url: str) -> None:
        """Add the pages of its host that a page's HTML links to, to those known: links of HTML need no base."""
        if self._pages is None:
            return
        name = host(page_url)
        for url in urls:
            if host(url) == name and is_page_like(url):
                self._add(url)

    def _add(self, url: str) -> None:
        pages = self._pages if self._pages is not None else {}
        name = stem(url)
        self._identities.add(identity(url))
        if name in pages:
            return
        pages[name] = url
        parent = name.rpartition("/")[0]
        while parent and parent not in self._parents:
            self._parents.add(parent)
            parent = parent.rpartition("/")[0]
