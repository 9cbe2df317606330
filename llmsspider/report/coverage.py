"""What llms.txt and sitemaps list, against what was crawled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llmsspider.urls import identity

MAX_NAMED = 200
"""URLs named in each list; counts are exact."""


@dataclass(slots=True, frozen=True)
class Listed:
    """A page that discovery found listed, and where."""

    url: str
    in_llms: bool
    in_sitemap: bool


@dataclass(slots=True)
class Group:
    """URLs that have the same in common; `urls` names the first of them, each with a word on it."""

    count: int = 0
    urls: list[tuple[str, str]] = field(default_factory=list)

    def add(self, url: str, detail: str = "") -> None:
        """Count a URL, and name it while there is room."""
        self.count += 1
        if len(self.urls) < MAX_NAMED:
            self.urls.append((url, detail))


@dataclass(slots=True)
class Coverage:
    """Pages by where they were found. `combined` counts (in llms.txt, in a sitemap, crawled)."""

    combined: dict[tuple[bool, bool, bool], int] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)

    def group(self, name: str) -> Group:
        """The URLs of one group: see `GROUPS`."""
        return self.groups[name]


GROUPS = {
    "dead": "listed, but the site answers that there is no such page",
    "soft-404": "listed and answered with status 200, but the page says that it does not exist",
    "failed": "listed, but failed",
    "left-out": "listed, but left out",
    "not-reached": "listed, but not reached in this run",
    "only-llms": "crawled; in llms.txt and in no sitemap",
    "only-sitemap": "crawled; in a sitemap and not in llms.txt",
    "only-links": "crawled; found by links alone",
}


def compare(
    listed: Iterable[Listed],
    crawled: Mapping[str, str],
    errors: Mapping[str, tuple[str, str]],
    filtered: Mapping[str, tuple[str, str]],
) -> Coverage:
    """Set what is listed against what was crawled.

    Args:
        listed: every listed page, once for each list or spelling that names it.
        crawled: URL of each document by its identity.
        errors: (kind, message) of each page that failed, by identity.
        filtered: (reason, rule) of each URL that was left out, by identity.
    """
    found = Coverage(groups={name: Group() for name in GROUPS})
    known = _joined(listed)
    for key, page in known.items():
        _count(found, page.in_llms, page.in_sitemap, key in crawled)
        if key not in crawled:
            name, detail = _fate(key, errors, filtered)
            found.groups[name].add(page.url, detail)
        elif page.in_llms != page.in_sitemap:
            found.groups["only-llms" if page.in_llms else "only-sitemap"].add(page.url)
    for key, url in crawled.items():
        if key not in known:
            _count(found, False, False, True)
            found.groups["only-links"].add(url)
    return found


def _joined(listed: Iterable[Listed]) -> dict[str, Listed]:
    """Return each listed page once, by identity: one that is listed as `.md` and as HTML is one page."""
    pages: dict[str, Listed] = {}
    for page in listed:
        first = pages.setdefault(identity(page.url), page)
        in_llms, in_sitemap = first.in_llms or page.in_llms, first.in_sitemap or page.in_sitemap
        pages[identity(page.url)] = Listed(first.url, in_llms, in_sitemap)
    return pages


def _fate(
    key: str, errors: Mapping[str, tuple[str, str]], filtered: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    if key in errors:
        kind, message = errors[key]
        return ("dead" if kind == "not_found" else "failed"), f"{kind}: {message}"
    if key in filtered:
        reason, rule = filtered[key]
        return ("soft-404" if reason == "soft-404" else "left-out"), f"{reason}: {rule}" if rule else reason
    return "not-reached", ""


def _count(found: Coverage, in_llms: bool, in_sitemap: bool, crawled: bool) -> None:
    combination = (in_llms, in_sitemap, crawled)
    found.combined[combination] = found.combined.get(combination, 0) + 1
