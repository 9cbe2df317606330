"""The stats of a crawl, under `llms/` (docs/reference/stats.md): every name, every reason, and what
counts them.

A reason says why a URL is filtered, a request refused, a page deleted.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, cast, get_args

from llmsspider.errors import ErrorKind
from llmsspider.items import Change, Origin

LimitReason = Literal[
    "max-depth", "max-pages", "max-requests", "max-linked-files", "too-many-llms-pages", "too-many-sitemaps",
    "too-many-sitemap-pages",
]  # fmt: skip
FetchedReason = Literal[
    "ai-opt-out", "canonical", "duplicate", "empty", "listing", "noindex", "pipeline", "redirect", "soft-404",
    "unsupported-type",
]  # fmt: skip
FilterReason = Literal[
    LimitReason, FetchedReason,
    "out-of-scope", "offsite", "scheme", "file-type", "allow", "block", "login", "language", "version",
    "trap", "invalid-url", "url-length", "dead-link", "not-stored", "needs-browser",
    "llms-file", "link-depth", "outside-directory", "optional", "sitemap-other-site", "sitemap-too-deep",
    "full-text-off", "full-text-unaddressed", "full-text-unsplit", "full-text-repeated", "full-text-outside",
    "full-text-too-long",
]  # fmt: skip
"""Why a URL is filtered: `llms/filtered/REASON`."""

BlockReason = Literal[
    "address", "scheme", "robots", "robots-unreachable", "size", "redirect-loop", "markdown-outage", "rate-limited",
    "host-refuses",
]  # fmt: skip
"""Why a request is refused; its page fails: `llms/blocked/REASON`."""

GoneReason = Literal["not-found", "moved", "unlinked"]
"""Why a stored page is deleted that is not filtered now: `llms/deleted/REASON`."""

LIMITS: frozenset[FilterReason] = frozenset(get_args(LimitReason))
"""Reasons for which a limit, not a rule of the scope, filters pages."""

FILTERED_AFTER_FETCH: frozenset[FilterReason] = frozenset(get_args(FetchedReason))
"""Reasons for which a fetched page is filtered: it is done, though no document came of it."""


class Filtered(NamedTuple):
    """A filtered page: the reason, and the rule in words."""

    reason: FilterReason
    rule: str


PREFIX = "llms/"

Stat = Literal[
    "documents", "items", "altered-after-store", "stored-at-stop", "titles/shared", "twice",
    "markdown/hit", "markdown/miss", "markdown/asked-again",
    "markdown/accept-refused", "markdown/stub", "markdown/stub/html", "markdown/samples",
    "link-sources", "link-sources/failed", "openapi/documents", "openapi/failed",
    "rendering/pages", "rendering/failed", "rendering/again", "rendering/incomplete",
    "revalidated", "head/refused", "not-modified", "same-body", "walls", "unbelieved-hosts",
    "converted", "converter/fallback", "hidden-text", "selected", "too-large", "broken-encoding",
    "full-text/samples", "full-text/lagging", "second-chance", "reported/no-ai-training",
    "assets/kept", "assets/failed", "assets/too-many",
    "mirror/written", "mirror/removed", "mirror/failed", "skill/failed", "cloud/split", "cloud/refused",
    "vectors/written", "vectors/removed", "vectors/failed",
]  # fmt: skip
"""The stats with a name of their own, without `llms/`.

The functions below give those of the families.
"""

ChunkChange = Literal["new", "unchanged", "deleted"]

LinkBase = Literal["directory", "source", "fetched", "root", "host"]

FAMILIES: dict[str, tuple[str, ...]] = {
    "filtered": get_args(FilterReason),
    "blocked": get_args(BlockReason),
    "errors": get_args(ErrorKind),
    "origin": get_args(Origin),
    "change": get_args(Change),
    "deleted": get_args(GoneReason),
    "chunks": get_args(ChunkChange),
    "markdown-links": get_args(LinkBase),
    "backoff": (),
}
"""The stats `FAMILY/VALUE`: the values of each family. Those of `backoff` are statuses; `deleted`
has each reason of
`filtered` too."""


class Collector(Protocol):
    """The part of Scrapy's stats collector that is used."""

    def inc_value(self, key: str, count: int = 1) -> Any: ...  # noqa: D102


def count(collector: Collector | None, stat: Stat, number: int = 1) -> None:
    """Add to a stat; without a collector nothing is counted."""
    if collector is not None:
        collector.inc_value(PREFIX + stat, number)


filtered = cast("Callable[[FilterReason], Stat]", "filtered/{}".format)  # filtered URLs
blocked = cast("Callable[[BlockReason], Stat]", "blocked/{}".format)  # requests refused
errors = cast("Callable[[ErrorKind], Stat]", "errors/{}".format)  # pages that failed
deleted = cast("Callable[[str], Stat]", "deleted/{}".format)  # deleted pages, by why they go
origin = cast("Callable[[Origin], Stat]", "origin/{}".format)  # documents exported, by origin
change = cast("Callable[[Change], Stat]", "change/{}".format)  # documents exported, by change
# rows written to a feed of chunks
chunks = cast("Callable[[ChunkChange], Stat]", "chunks/{}".format)
# Markdown pages, by base of links
markdown_links = cast("Callable[[LinkBase], Stat]", "markdown-links/{}".format)
backoff = cast("Callable[[int], Stat]", "backoff/{}".format)  # answers that slow a host down
