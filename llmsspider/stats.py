"""The stats of a crawl, under `llms/` (docs/reference/stats.md): every name, and the one function that counts."""

from __future__ import annotations

from typing import Any, Literal, Protocol, cast, get_args

from llmsspider.errors import ErrorKind
from llmsspider.items import Change, Origin
from llmsspider.reasons import BlockReason, FilterReason, GoneReason

PREFIX = "llms/"

Stat = Literal[
    "documents",
    "items",
    "altered-after-store",
    "markdown/hit",
    "markdown/miss",
    "markdown/asked-again",
    "stored-at-stop",
    "chrome/shared",
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
