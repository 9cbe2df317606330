"""What the relative links of a site's Markdown are relative to, learned from where they lead.

Generators publish their authors' files as they are, at other addresses: `guide/a.md` becomes the
page `/guide/a/` with the Markdown `/guide/a/index.md`, and its link `b.md` means `/guide/b/`. Each
link is joined to the bases that generators use, and the base from which the links of a page lead to
known pages is the page's. Where a page's links say nothing, the base of most other pages of its
host and origin counts. Pure: no requests, no clock.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import get_args
from urllib.parse import urljoin, urlsplit

from llmsspider.content.links import Joiner
from llmsspider.web.page_forms import skipped_extension
from llmsspider.web.stats import LinkBase
from llmsspider.web.urls import host, identity, without_fragment

Base = LinkBase
"""What links are relative to, for a page `/guide/a/`: its address as a `directory` (`/guide/a/`),
the folder of its
`source` file (`/guide/`), the address its Markdown was `fetched` from where that is neither, the
`root` of the
documentation, the root of the `host`. Links that begin with `/` are relative to one of the last
two."""

SOURCE = re.compile(r"\.(?:mdx?|markdown|ipynb|qmd|rmd|rst)$", re.IGNORECASE)
_ENDING = re.compile(r"(?:\.html?)?(?:\.(?:mdx?|markdown|ipynb|qmd|rmd|rst))?$", re.IGNORECASE)
_INDEX_NAMES = frozenset({"index", "readme", "_index"})
_UPS = re.compile(r"(?:\.\.?/)*\.\.(?=/|\Z)")


@lru_cache(maxsize=65536)
def stem(url: str) -> str:
    """Return what a page, its Markdown and its source file have in common: no ending, index name,
    slash or query.

    >>> stem("https://e.com/a/b.ipynb") == stem("https://e.com/a/b/index.md") == stem("https://e.com/a/b.html.md#x")
    True
    """
    path = identity(url).partition("?")[0]
    path = _ENDING.sub("", path, count=1)
    directory, _slash, name = path.rpartition("/")
    return (directory if name.lower() in _INDEX_NAMES else path).rstrip("/")


@dataclass
class PageLinks:
    """The relative links of one page: where they lead from each base; `root` is that of the
    documentation.
    """

    page_url: str
    group: str
    fetched_url: str
    root: str | None
    landed: Counter[Base] = field(default_factory=Counter)
    root_landed: Counter[Base] = field(default_factory=Counter)
    # known pages lie below the page: its source may be the index file of their folder
    is_index: bool = False
    differs: bool = False  # the bases make a difference for some link

    @cached_property
    def joiners(self) -> dict[Base, Joiner]:
        """The bases of its links, the one that a browser would take first, each place once."""
        here = stem(self.page_url)
        fetched_url = self.fetched_url
        fetched = (
            urljoin(fetched_url, ".") if "/" in urlsplit(fetched_url).path else f"{fetched_url}/"
        )
        places: dict[Base, str] = {"directory": f"{here}/"}
        if urlsplit(here).path.strip("/"):
            places["source"] = f"{here.rpartition('/')[0]}/"
        first: Base = next((base for base, place in places.items() if place == fetched), "fetched")
        places = {first: fetched, **places}
        if self.root and host(self.root) == host(here):
            places["root"] = self.root
        unique: dict[str, Base] = {}
        for base, place in places.items():
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
        most = max(self.landed.values(), default=0)
        best = [base for base, number in self.landed.items() if number == most]
        return best[0] if len(best) == 1 else None


def ending_of(page_url: str) -> str:
    """Return what the address of a page has behind the name of its source file."""
    path = urlsplit(page_url).path
    return "/" if path.endswith("/") else ".html" if path.endswith(".html") else ""


def leaves(joiner: Joiner, href: str) -> bool:
    """Say whether an href goes up beyond the root of the host: nobody writes that for this base."""
    ups = _UPS.match(href)
    path = urlsplit(joiner.base).path.strip("/")
    return ups is not None and ups[0].count("..") > (path.count("/") + 1 if path else 0)


def is_page_like(url: str) -> bool:
    """Say whether a URL may be that of a page, or of a page's source."""
    return (
        skipped_extension(url, listed=True) is None or SOURCE.search(urlsplit(url).path) is not None
    )


class UnsettledError(Exception):
    """Other pages are to show what the links of a page are relative to."""


MAX_LEAVES = 50  # maximum number of known pages that are examined for the ending of their addresses
MIN_VOTES = 2  # number of pages with the same base that show it for their group

_README = re.compile(r"/(?:readme|_index)\.md$", re.IGNORECASE)
_NAMES_A_PAGE = re.compile(
    r"(?!(?:index|readme|_index)\b)[^./?#][^/?#]*/?(?:[?#]|\Z)", re.IGNORECASE
)
"""Hrefs that name one page; `index.md` and `../` lead to some page from every base."""
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\Z")
"""Hrefs with a scheme or a host, and those to the page itself."""


class LinkBases:
    """Learns from the links of pages what they are relative to, and makes them absolute.

    `known` gives the URLs of the pages known before the crawl (listed, linked by the start page,
    stored), `page_of` the page that a Markdown URL stands for by the rule of its host, else itself.
    """

    def __init__(self, known: Callable[[], Iterable[str]], page_of: Callable[[str], str]):
        self.root: str | None = None
        """The root of the documentation: where its llms.txt lies, else the section of the start
        page.
        """
        self._known = known
        self._page_of = page_of
        self._pages: dict[str, str] | None = None
        self._identities: set[str] = set()
        self._parents: set[str] = set()
        self._votes: defaultdict[str, Counter[Base]] = defaultdict(Counter)
        self._before: dict[str, Base] = {}
        """The base of each group (`host origin`) in earlier runs."""

    def remember(self, learned: object) -> None:
        """Use the bases that earlier runs learned, as `learned` returned them."""
        if isinstance(learned, dict):
            bases = get_args(Base)
            self._before = {str(group): base for group, base in learned.items() if base in bases}

    def learned(self) -> dict[str, Base]:
        """Return the base of each group (`host origin`), by this run where it has enough votes."""
        leaders = ((group, self._leader(group)) for group in self._votes)
        return self._before | {group: base for group, base in leaders if base is not None}

    def look(self, page_url: str, fetched_url: str, origin: str, hrefs: Iterable[str]) -> PageLinks:
        """Return where the links of a page lead from each base, and count its vote; index files
        have no vote.

        `fetched_url` is where its Markdown comes from. A page with pages below it may be the index
        file of their folder.
        """
        links = PageLinks(page_url, f"{host(page_url)} {origin}", fetched_url, self.root)
        relative = {href for href in hrefs if not _ABSOLUTE.match(href)}
        if not relative:
            return links
        self._know()
        here = stem(page_url)
        links.is_index = here in self._parents
        for href in sorted(relative):
            if href.startswith("/"):
                links.root_landed.update(self._landing(href, links.root_joiners, here))
                continue
            links.landed.update(self._landing(href, links.joiners, here))
            targets = {joiner.join(href) for joiner in links.joiners.values()}
            links.differs = links.differs or len(targets) > 1
        vote = links.vote
        if vote is not None and not links.is_index:
            self._votes[links.group][vote] += 1
        return links

    def _landing(self, href: str, bases: Mapping[Base, Joiner], here: str) -> Iterator[Base]:
        """Yield the bases from which an href leads to a known page, other than the one with the
        stem `here`.
        """
        for base, joiner in bases.items():
            url = without_fragment(joiner.join(href.lstrip("/")))
            is_other = is_page_like(url) and stem(url) != here
            if is_other and not leaves(joiner, href) and self._page_at(url) is not None:
                yield base

    def is_open(self, links: PageLinks) -> bool:
        """Say whether what the links of a page are relative to depends on pages that are not read
        yet.
        """
        return (
            links.differs
            and not links.landed
            and not links.is_index
            and links.group not in self._before
        )

    def _leader(self, group: str) -> Base | None:
        """Return the base that most pages of a group show, two at least."""
        base, number = next(iter(self._votes.get(group, Counter[Base]()).most_common(1)), (None, 0))
        return base if number >= MIN_VOTES else None

    def base_of(self, links: PageLinks) -> Base:
        """Return what the relative links of a page begin at."""
        group = links.group
        preferred = None if links.is_index else self._before.get(group) or self._leader(group)
        order = ([preferred] if preferred in links.joiners else []) + list(links.joiners)
        return max(order, key=lambda base: links.landed[base])

    def join(self, links: PageLinks) -> Callable[[str], str]:
        """Return the function that makes hrefs of the page absolute.

        A link leads to the known page it names from the page's base, else from another one; a link
        to a source file (`x.md`, `x.ipynb`, `x.qmd`, `x.rst`) becomes the page the file is
        published as.
        """
        plain = Joiner(links.page_url)

        @cache  # many pages have no relative links
        def bases(*, from_root: bool) -> list[Joiner]:
            joiners = links.root_joiners if from_root else links.joiners
            best = (
                max(joiners, key=links.root_landed.__getitem__)
                if from_root
                else self.base_of(links)
            )
            return [joiners[best], *(joiner for base, joiner in joiners.items() if base != best)]

        def absolute(href: str) -> str:
            if _ABSOLUTE.match(href):
                url = plain.join(href)
                target, mark, fragment = url.partition("#")
                if not SOURCE.search(target) or host(target) != host(links.page_url):
                    return url
                self._know()  # a source file is the page that it is published as
                return (self._page_at(target) or target) + mark + fragment
            joiner, *others = bases(from_root=href.startswith("/"))
            target, mark, fragment = joiner.join(href.lstrip("/")).partition("#")
            if not is_page_like(target):
                return target + mark + fragment
            self._know()
            if not _NAMES_A_PAGE.search(href):
                others = []
            for other in (joiner, *(other for other in others if not leaves(other, href))):
                page = self._page_at(without_fragment(other.join(href.lstrip("/"))))
                if page is not None:
                    return page + mark + fragment
            return self._published(target, links) + mark + fragment

        return absolute

    def _page_at(self, url: str) -> str | None:
        """Return the known page at an address, in the spelling that is known."""
        if not SOURCE.search(urlsplit(url).path) and identity(url) in self._identities:
            return url
        return self._pages.get(stem(url)) if self._pages and "?" not in url else None

    def _published(self, url: str, links: PageLinks) -> str:
        """Return the page that a source file nobody lists is published as: by its host's rule, else
        like this page.
        """
        path, mark, query = url.partition("?")
        if not SOURCE.search(path):
            return url
        markdown = _README.sub("/index.md", SOURCE.sub(".md", path))
        page = self._page_of(markdown)
        if page != markdown:
            return page + mark + query
        if path == markdown and SOURCE.sub("", links.fetched_url) == stem(links.page_url):
            return url  # other pages have their Markdown there, too
        endings = Counter[str]()
        name = host(links.page_url)
        if links.is_index and self._pages:
            pages = ((key, one) for key, one in self._pages.items() if host(one) == name)
            leaves = (one for key, one in pages if key not in self._parents)
            endings.update(map(ending_of, islice(leaves, MAX_LEAVES)))
        ending = endings.most_common(1)[0][0] if endings else ending_of(links.page_url)
        return SOURCE.sub(ending, path) + mark + query

    def _know(self) -> None:
        if self._pages is None:
            self._pages = {}
            for url in sorted(
                self._known(), key=lambda url: (bool(SOURCE.search(url)), len(url), url)
            ):
                self._add(url, self._pages)

    def learn(self, urls: Iterable[str], page_url: str) -> None:
        """Add the pages of its host that a page's HTML links to, to those known: links of HTML need
        no base.
        """
        if self._pages is not None:
            for url in urls:
                if host(url) == host(page_url) and is_page_like(url):
                    self._add(url, self._pages)

    def _add(self, url: str, pages: dict[str, str]) -> None:
        self._identities.add(identity(url))
        name = stem(url)
        if pages.setdefault(name, url) is not url:
            return
        parent = name.rpartition("/")[0]
        while parent and parent not in self._parents:
            self._parents.add(parent)
            parent = parent.rpartition("/")[0]
