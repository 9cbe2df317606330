"""What a search gives back."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, frozen=True)
class SearchResult:
    """One page that answers a query, by its best passage.

    `url` has a fragment where the page is known to have one for the passage's heading. `heading_path` names the
    headings above the
    passage, outermost first. `score` grows with relevance and compares results of one search only. `offset` and
    `length` say where the
    passage stands in the page's Markdown, in characters. `more` names further headings of the page that answer too;
    `also` the addresses
    of other pages that hold the same passage.
    """

    url: str
    title: str
    heading_path: tuple[str, ...]
    text: str
    score: float
    source: str
    page_id: str
    section: str | None
    fetched_at: str
    offset: int
    length: int
    more: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(slots=True, frozen=True)
class SearchResults:
    """The results of a query, best first.

    `note` is a sentence for the reader where something has to be said of them.
    """

    query: str
    results: list[SearchResult] = field(default_factory=list)
    note: str | None = None


@dataclass(slots=True, frozen=True)
class Hit:
    """A passage that an index found: where it stands, and how well it fits.

    `page` is the page's key in the store and `content_hash` that of the content the index has read (32 bytes);
    `digest` is equal for passages
    of equal words. `terms` is the set of the query's terms (by their place) that stand in it, its title and
    headings included.
    """

    page: bytes
    content_hash: bytes
    start: int
    end: int
    heading_path: tuple[str, ...]
    digest: bytes
    score: float
    terms: frozenset[int]


@dataclass(slots=True, frozen=True)
class PageHit:
    """How well a page as a whole fits: its title, what llms.txt and links to it say of it, its headings."""

    page: bytes
    score: float
    terms: frozenset[int]


@dataclass(slots=True, frozen=True)
class Standing:
    """What is known of a page beside its words.

    `optional`: llms.txt lists it under "Optional". `version`: the segment of its path that names one. `superseded`:
    the same page is there
    in a newer version. `length`: how many passages it has, as a multiple of the mean of its source.
    """

    url: str
    title: str
    optional: bool = False
    version: str | None = None
    superseded: bool = False
    length: float = 1.0


@dataclass(slots=True)
class Candidates:
    """What an index has for a query, not yet in the order of results.

    `rarity` is the inverse document frequency of each of the query's terms.
    """

    passages: list[Hit]
    pages: dict[bytes, PageHit]
    standing: dict[bytes, Standing]
    rarity: tuple[float, ...]
