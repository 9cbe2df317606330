"""Where the relative links of one Markdown page lead, from each base that they may have. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import urljoin, urlsplit

from llmsspider.web.media_types import skipped_extension
from llmsspider.web.stats import LinkBase
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import host, identity

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
    def has_markdown_beside(self) -> bool:
        """Whether its Markdown is at its own address with an ending: `/guide/a.md`."""
        return SOURCE.sub("", self.fetched_url) == stem(self.page_url)

    @property
    def vote(self) -> Base | None:
        """The one base from which most links lead to known pages; None where two do or none does."""
        ranked = self.landed.most_common(2)
        if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
            return None
        return ranked[0][0]


def first(joiners: dict[Base, Joiner], base: Base) -> list[Joiner]:
    """The joiners, that of a base first."""
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
