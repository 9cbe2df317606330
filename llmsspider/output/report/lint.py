"""What the owner of an llms.txt should mend: the file itself, and what it lists against what was crawled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmsspider.items import MARKDOWN_ORIGINS
from llmsspider.lint.findings import MAX_NAMED, Finding, finding, ordered
from llmsspider.lint.text import lint_text
from llmsspider.web.markdown_forms import is_markdown_url
from llmsspider.web.urls import identity

if TYPE_CHECKING:
    from llmsspider.site.discovery import LlmsFile


# What llms.txt and sitemaps list, against what was crawled.

MAX_PER_OUTCOME = 200
"""Maximum number of URLs in each list; counts are exact."""


@dataclass(slots=True, frozen=True)
class Listed:
    """A page that discovery found listed, and where."""

    url: str
    in_llms: bool
    in_sitemap: bool


@dataclass(slots=True)
class Group:
    """URLs of one finding or outcome; `urls` holds the first of them, each with a detail."""

    count: int = 0
    urls: list[tuple[str, str]] = field(default_factory=list)

    def add(self, url: str, detail: str = "") -> None:
        """Count a URL, and keep it while there is room."""
        self.count += 1
        if len(self.urls) < MAX_PER_OUTCOME:
            self.urls.append((url, detail))


@dataclass(slots=True)
class ListCoverage:
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
    "left-out": "listed, but filtered",
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
) -> ListCoverage:
    """Compare listed pages with crawled ones.

    Args:
        listed: every listed page, once for each list or spelling that names it.
        crawled: URL of each document by its identity.
        errors: (kind, message) of each page that failed, by identity.
        filtered: (reason, rule) of each filtered URL, by identity.
    """
    found = ListCoverage(groups={name: Group() for name in GROUPS})
    known = _joined(listed)
    for key, page in known.items():
        _count(found, page.in_llms, page.in_sitemap, key in crawled)
        if key not in crawled:
            name, detail = _outcome(key, errors, filtered)
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


def _outcome(
    key: str, errors: Mapping[str, tuple[str, str]], filtered: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    if key in errors:
        kind, message = errors[key]
        return ("dead" if kind == "not_found" else "failed"), f"{kind}: {message}"
    if key in filtered:
        reason, rule = filtered[key]
        return ("soft-404" if reason == "soft-404" else "left-out"), f"{reason}: {rule}" if rule else reason
    return "not-reached", ""


def _count(found: ListCoverage, in_llms: bool, in_sitemap: bool, crawled: bool) -> None:
    combination = (in_llms, in_sitemap, crawled)
    found.combined[combination] = found.combined.get(combination, 0) + 1


# What the owner of an llms.txt should mend, by what a crawl saw: the rules of `scrapy lint`, nothing is fetched.


def lint(
    files: Iterable[LlmsFile],
    coverage: ListCoverage,
    origins: Mapping[str, str],
) -> list[Finding]:
    """Return the findings of every index, the worst first.

    Args:
        files: the llms files that were read.
        coverage: what is listed against what was crawled.
        origins: the origin of each document by its identity.
    """
    indexes = [file for file in files if file.kind == "index"]
    found = [one for file in indexes for one in _of_file(file, coverage, origins)]
    if indexes:
        found += _of_site(indexes[0].url, coverage)
    return ordered(found)


def _of_file(file: LlmsFile, coverage: ListCoverage, origins: Mapping[str, str]) -> Iterator[Finding]:
    yield from lint_text(file.text, file.url, file.url)
    listed = {entry.url for entry in file.entries}
    for group, rule, problem in (
        ("dead", "dead-link", "links to pages that do not exist"),
        ("soft-404", "dead-link", "links to pages that say they do not exist"),
        ("failed", "failing-link", "listed pages that failed"),
        ("left-out", "left-out-link", "listed pages that this crawl filtered"),
    ):
        urls = [url for url, _ in coverage.group(group).urls if url in listed]
        if urls:
            yield finding(rule, file.url, f"{problem}: {len(urls)}", urls=urls)
    served = [
        entry.url
        for entry in file.entries
        if origins.get(identity(entry.url)) in MARKDOWN_ORIGINS and _names_html(entry.url)
    ]
    if served:
        problem = f"links to HTML pages that have a Markdown version: {len(served)}"
        yield finding("html-link", file.url, problem, urls=served)


def _of_site(main: str, coverage: ListCoverage) -> Iterator[Finding]:
    for name, rule, problem in (
        ("only-sitemap", "only-in-sitemap", "pages of the sitemap that are in no llms.txt"),
        ("only-links", "only-linked", "pages that neither llms.txt nor sitemap lists"),
    ):
        group = coverage.group(name)
        if group.count:
            named = tuple(url for url, _ in group.urls[:MAX_NAMED])
            yield Finding(rule, main, f"{problem}: {group.count}", count=group.count, urls=named)


def _names_html(url: str) -> bool:
    return not is_markdown_url(url) and not url.partition("?")[0].partition("#")[0].endswith(".txt")
