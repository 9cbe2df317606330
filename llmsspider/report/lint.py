"""What the owner of an llms.txt should mend: the file itself, and what it lists against what was crawled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from llmsspider.web.urls import identity

if TYPE_CHECKING:
    from llmsspider.discovery import LlmsFile


# What llms.txt and sitemaps list, against what was crawled.

MAX_PER_OUTCOME = 200
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
        if len(self.urls) < MAX_PER_OUTCOME:
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


def _count(found: Coverage, in_llms: bool, in_sitemap: bool, crawled: bool) -> None:
    combination = (in_llms, in_sitemap, crawled)
    found.combined[combination] = found.combined.get(combination, 0) + 1


# What the owner of an llms.txt should mend: the file itself, and how it fits the site it describes.

Level = Literal["error", "warning", "hint"]

MAX_PER_OUTCOME = 20
"""URLs named for each finding."""

LARGE_CHARACTERS = 100_000
"""An index longer than this is more than a model reads at a glance."""


@dataclass(slots=True, frozen=True)
class Finding:
    """One thing to mend: the file, what is wrong, what to do, how often, and some of the URLs."""

    level: Level
    file: str
    problem: str
    remedy: str
    count: int = 1
    urls: tuple[str, ...] = ()


def lint(
    files: Iterable[LlmsFile],
    coverage: Coverage,
    origins: Mapping[str, str],
) -> list[Finding]:
    """Return the findings of every index, the worst first.

    Args:
        files: the llms files that were read.
        coverage: what is listed against what was crawled.
        origins: the origin of each document by its identity.
    """
    indexes = [file for file in files if file.kind == "index"]
    found = [finding for file in indexes for finding in _of_file(file, coverage, origins)]
    if indexes:
        found += _of_site(indexes[0].url, coverage)
    order: list[Level] = ["error", "warning", "hint"]
    return sorted(found, key=lambda finding: order.index(finding.level))


def _of_file(file: LlmsFile, coverage: Coverage, origins: Mapping[str, str]) -> Iterator[Finding]:
    yield from _form(file)
    listed = {entry.url for entry in file.entries}
    for group, level, problem, remedy in (
        ("dead", "error", "links lead to pages that do not exist", "remove or correct them"),
        ("soft-404", "error", "links lead to pages that say they do not exist", "remove or correct them"),
        ("failed", "warning", "listed pages failed", "see that they answer without a login"),
        ("left-out", "hint", "listed entries were left out by this crawl", "see the reasons below"),
    ):
        urls = [url for url, _ in coverage.group(group).urls if url in listed]
        if urls:
            yield _finding(level, file, problem, remedy, urls)  # type: ignore[arg-type]
    served = [
        entry.url
        for entry in file.entries
        if origins.get(identity(entry.url)) in {"markdown", "negotiated"} and _names_html(entry.url)
    ]
    if served:
        yield _finding(
            "hint", file, "links name HTML pages that have a Markdown form", "link the Markdown", served
        )


def _form(file: LlmsFile) -> Iterator[Finding]:
    """Findings of the text alone; https://llmstxt.org asks for an H1 and allows the rest."""
    if not file.title:
        yield _finding("error", file, "there is no H1", "begin the file with `# Name of the project`")
    if not file.summary:
        yield _finding(
            "warning", file, "there is no summary", "put `> One or two sentences` below the heading"
        )
    for warning in file.warnings:
        yield _finding("warning", file, warning, "look at the text")
    if not file.entries:
        yield _finding("error", file, "no link could be read", "list pages as `- [Title](URL): description`")
        return
    if len(file.entries) > 10 and not any(entry.section for entry in file.entries):
        yield _finding("hint", file, "there are no sections", "group the links below `## Headings`")
    bare = [entry.url for entry in file.entries if not entry.description]
    if len(bare) * 2 > len(file.entries):
        yield _finding(
            "hint", file, "most links have no description", "say after a colon what is there", bare
        )
    insecure = [entry.url for entry in file.entries if entry.url.startswith("http:")]
    if insecure and file.url.startswith("https:"):
        yield _finding("warning", file, "links use http", "use https", insecure)
    titles = Counter(entry.title for entry in file.entries if entry.title)
    same = [entry.url for entry in file.entries if entry.title and titles[entry.title] > 1]
    if same:
        yield _finding("hint", file, "links share their title with another one", "tell them apart", same)
    if len(file.text) > LARGE_CHARACTERS:
        problem = f"the file has {len(file.text):,} characters"
        yield _finding("hint", file, problem, "split it into linked llms.txt files")


def _of_site(main: str, coverage: Coverage) -> Iterator[Finding]:
    for name, problem in (
        ("only-sitemap", "pages are in the sitemap but in no llms.txt"),
        ("only-links", "pages were found by links only: neither llms.txt nor sitemap lists them"),
    ):
        group = coverage.group(name)
        if group.count:
            urls = tuple(url for url, _ in group.urls[:MAX_PER_OUTCOME])
            yield Finding("hint", main, problem, "list those that matter", group.count, urls)


def _finding(level: Level, file: LlmsFile, problem: str, remedy: str, urls: Sequence[str] = ()) -> Finding:
    return Finding(level, file.url, problem, remedy, max(len(urls), 1), tuple(urls[:MAX_PER_OUTCOME]))


def _names_html(url: str) -> bool:
    path = url.partition("?")[0].partition("#")[0]
    return not path.endswith((".md", ".mdx", ".markdown", ".txt"))
