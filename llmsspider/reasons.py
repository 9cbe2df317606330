"""Why a URL is filtered, a request refused, a page deleted, as stats name it (docs/reference/stats.md)."""

from __future__ import annotations

from typing import Literal, NamedTuple

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
