"""The stats of a crawl, under `llms/` (docs/reference/stats.md): every name, every reason, and what counts them.

A reason says why a URL is filtered, a request refused, a page deleted.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, cast, get_args

from llmsspider.errors import ErrorKind
from llmsspider.items import Change, Origin

FilterReason = Literal[
    "out-of-scope",
    "offsite",
    "scheme",
    "file-type",
    "allow",
    "block",
    "login",
    "max-depth",
    "max-pages",
    "max-requests",
    "llms-file",
    "max-linked-files",
    "link-depth",
    "outside-directory",
    "optional",
    "full-text-off",
    "full-text-unaddressed",
    "full-text-unsplit",
    "full-text-repeated",
    "full-text-outside",
    "full-text-too-long",
    "sitemap-other-site",
    "sitemap-too-deep",
    "too-many-sitemaps",
    "too-many-llms-pages",
    "too-many-sitemap-pages",
    "language",
    "version",
    "trap",
    "invalid-url",
    "url-length",
    "noindex",
    "redirect",
    "canonical",
    "not-stored",
    "unsupported-type",
    "needs-browser",
    "empty",
    "dead-link",
    "listing",
    "soft-404",
    "duplicate",
    "ai-opt-out",
    "pipeline",
]
"""Why a URL is filtered: `llms/filtered/REASON`."""

BlockReason = Literal[
    "address",
    "scheme",
    "robots",
    "robots-unreachable",
    "size",
    "redirect-loop",
    "markdown-outage",
    "rate-limited",
    "host-refuses",
]
"""Why a request is refused; its page fails: `llms/blocked/REASON`."""

GoneReason = Literal["not-found", "moved", "unlinked"]
"""Why a stored page is deleted that is not filtered now: `llms/deleted/REASON`."""

LIMITS: frozenset[FilterReason] = frozenset(
    {
        "max-requests",
        "too-many-llms-pages",
        "max-depth",
        "max-pages",
        "max-linked-files",
        "too-many-sitemaps",
        "too-many-sitemap-pages",
    }
)
"""Reasons for which a limit, not a rule of the scope, filters pages."""

FILTERED_AFTER_FETCH: frozenset[FilterReason] = frozenset(
    {
        "ai-opt-out",
        "canonical",
        "duplicate",
        "empty",
        "listing",
        "noindex",
        "pipeline",
        "redirect",
        "soft-404",
        "unsupported-type",
    }
)
"""Reasons for which a fetched page is filtered: it is done, though no document came of it."""


class Filtered(NamedTuple):
    """A filtered page: the reason, and the rule in words."""

    reason: FilterReason
    rule: str


PREFIX = "llms/"

Stat = Literal[
    "documents",
    "items",
    "altered-after-store",
    "markdown/hit",
    "markdown/miss",
    "markdown/asked-again",
    "stored-at-stop",
    "titles/shared",
    "markdown/stub",
    "markdown/stub/html",
    "link-sources",
    "link-sources/failed",
    "rendering/pages",
    "rendering/failed",
    "rendering/again",
    "rendering/incomplete",
    "openapi/documents",
    "openapi/failed",
    "revalidated",
    "head/refused",
    "walls",
    "unbelieved-hosts",
    "not-modified",
    "broken-encoding",
    "second-chance",
    "full-text/samples",
    "full-text/lagging",
    "twice",
    "same-body",
    "converted",
    "converter/fallback",
    "hidden-text",
    "too-large",
    "reported/no-ai-training",
    "mirror/written",
    "mirror/removed",
    "mirror/failed",
    "skill/failed",
    "cloud/split",
    "cloud/refused",
]
"""The stats with a name of their own, without `llms/`. The functions below give those of the families."""

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
"""The stats `FAMILY/VALUE`: the values of each family. Those of `backoff` are statuses; `deleted` has each reason of
`filtered` too."""


class Collector(Protocol):
    """The part of Scrapy's stats collector that is used."""

    def inc_value(self, key: str, count: int = 1) -> Any: ...  # noqa: D102


def count(collector: Collector | None, stat: Stat, number: int = 1) -> None:
    """Add to a stat; without a collector nothing is counted."""
    if collector is not None:
        collector.inc_value(PREFIX + stat, number)


def count_scrapys(collector: Collector | None, name: str, number: int = 1) -> None:
    """Add to a stat of Scrapy's, by its whole name, where a component of ours does what Scrapy's does."""
    if collector is not None:
        collector.inc_value(name, number)


def filtered(reason: FilterReason) -> Stat:
    """Filtered URLs."""
    return _of("filtered", reason)


def blocked(reason: BlockReason) -> Stat:
    """Requests refused."""
    return _of("blocked", reason)


def errors(kind: ErrorKind) -> Stat:
    """Pages that failed."""
    return _of("errors", kind)


def deleted(reason: str) -> Stat:
    """Pages deleted: a `GoneReason`, or the `FilterReason` for which the page is filtered now."""
    return _of("deleted", reason)


def origin(value: Origin) -> Stat:
    """Documents exported, by origin."""
    return _of("origin", value)


def change(value: Change) -> Stat:
    """Documents exported, by change."""
    return _of("change", value)


def chunks(value: ChunkChange) -> Stat:
    """Rows written to a feed of chunks."""
    return _of("chunks", value)


def markdown_links(base: LinkBase) -> Stat:
    """Markdown pages, by where their relative links begin."""
    return _of("markdown-links", base)


def backoff(status: int) -> Stat:
    """Answers after which requests to the host were slowed down, by status."""
    return _of("backoff", str(status))


def _of(family: str, value: str) -> Stat:
    return cast("Stat", f"{family}/{value}")
