"""The rules of an llms.txt as a text: the format point by point (https://llmstxt.org), each with its place."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import urlsplit

from llmsspider.errors import ConversionError
from llmsspider.lint.findings import Finding, finding, ordered
from llmsspider.lint.outline import Outline, OutlineHeading, OutlineLink, Place, outline
from llmsspider.site import llmsfull, llmstxt
from llmsspider.site.llmstxt.links import absolute_url
from llmsspider.web import hosts
from llmsspider.web.url_gate import InvalidUrl

LARGE_TOKENS = 25_000
"""An index of more tokens is more than most tools read of one file; a token is four characters."""
FULL_TOKENS = 1_000_000
FEW_LINKS = 10
"""A list of so many links needs no sections."""
UNKNOWN = "https://site.invalid/llms.txt"
"""The base of relative links where the address of a file is not known."""

_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\u0085\v\f]")
_UNSPACED = re.compile(r"^#[^#\s!].*", re.MULTILINE)
_UNTITLED = frozenset({"", "null", "none", "undefined", "untitled", "here"})
_BLANKED = re.compile(r"[^\n]")


def lint_body(body: bytes, file: str, url: str | None) -> list[Finding]:
    """Check a file as it is on disk or was fetched: an index or full text.

    Args:
        body: its bytes.
        file: its path or URL, for the findings.
        url: its URL; None where that is not known.
    """
    why = llmstxt.reject_reason(200, url or UNKNOWN, url or UNKNOWN, "text/plain", body)
    if why is not None:
        return [finding("not-llms-txt", file, f"this is no llms.txt: {why}")]
    try:
        text, found = body.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        before = body[: error.start]
        place = (before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        found = [finding("not-utf-8", file, f"byte {body[error.start]:#04x} is no UTF-8", place)]
        text = body.decode("cp1252", "replace")
    found += lint_full(text, file, url) if is_full_text(text, url or file) else lint_text(text, file, url)
    return ordered(found)


def is_full_text(text: str, name: str) -> bool:
    """Whether a file holds the pages themselves: it says so by its name, or is delimited into pages."""
    last = urlsplit(name).path.rpartition("/")[2].lower()
    return llmstxt.classify(text) == "full" and (
        "full" in last or "ctx" in last or llmsfull.looks_split(text)
    )


def lint_full(text: str, file: str, url: str | None) -> list[Finding]:
    """Check a full-text file."""
    found = list(_size(text, file, "full-text-too-large", FULL_TOKENS))
    report = llmsfull.inspect(io.BytesIO(text.encode()), url or UNKNOWN)
    if report.rule is None:
        found.append(
            finding(
                "full-text-unsplit",
                file,
                f"its pages cannot be split: {report.reason or 'no rule fits'}",
            )
        )
    return found


def lint_text(text: str, file: str, url: str | None) -> list[Finding]:
    """Check an index."""
    text = _LINE_ENDS.sub("\n", text)
    parsed = llmstxt.parse(text, url or UNKNOWN)
    try:
        seen = outline(_without_front_matter(text))
    except ConversionError as error:
        return [finding("not-llms-txt", file, str(error))]
    rules = _Rules(text, file, url, seen)
    found = [*rules.head(), *rules.sections(), *rules.links(), *_size(text, file, "too-large", LARGE_TOKENS)]
    if not parsed.entries:
        found.append(finding("no-links", file, "no link could be read"))
    elif len(parsed.entries) > FEW_LINKS and not any(entry.section for entry in parsed.entries):
        found.append(finding("no-sections", file, f"links below no heading: {len(parsed.entries)}"))
    hidden = _INVISIBLE.search(text)
    if hidden:
        problem = (
            f"invisible characters: {len(_INVISIBLE.findall(text))}, the first is U+{ord(hidden[0]):04X}"
        )
        found.append(finding("invisible-characters", file, problem, _place(text, hidden.start())))
    return ordered(found)


def _without_front_matter(text: str) -> str:
    """The text with front matter as empty lines, so that places stay."""
    matter = llmstxt.parser.FRONT_MATTER.match(text)
    return text if matter is None else _BLANKED.sub(" ", matter[0]) + text[matter.end() :]


def _place(text: str, offset: int) -> Place:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _size(text: str, file: str, rule: str, limit: int) -> Iterator[Finding]:
    tokens = len(text) // 4
    if tokens > limit:
        yield finding(rule, file, f"the file has about {tokens:,} tokens")


class _Rules:
    """The rules over the outline of one index."""

    def __init__(self, text: str, file: str, url: str | None, seen: Outline):
        self._text = text
        self._file = file
        self._url = url
        self._base = url or UNKNOWN
        self._seen = seen

    def _found(self, rule: str, problem: str, place: Place = (0, 0), urls: tuple[str, ...] = ()) -> Finding:
        return finding(rule, self._file, problem, place, urls)

    def head(self) -> Iterator[Finding]:
        """Title and summary."""
        titles = [heading for heading in self._seen.headings if heading.level == 1]
        if not titles:
            unspaced = _UNSPACED.search(self._text)
            problem = (
                f"there is no H1: {_short(unspaced[0])!r} needs a blank after `#`"
                if unspaced
                else "there is no H1"
            )
            yield self._found(
                "no-title", problem, _place(self._text, unspaced.start()) if unspaced else (1, 1)
            )
        elif self._seen.first != "title":
            yield self._found("title-not-first", "other text stands above the title", titles[0].place)
        for heading in titles[1:]:
            yield self._found("several-titles", f"a second H1: {_short(heading.text)}", heading.place)
        if not self._seen.quotes:
            yield self._found("no-summary", "there is no summary", titles[0].place if titles else (1, 1))
        elif titles and self._seen.after_title != "BlockQuote":
            yield self._found(
                "summary-misplaced", "the summary does not follow the title", self._seen.quotes[0]
            )
        if self._seen.html:
            problem = f"HTML in the file: {len(self._seen.html)} times"
            yield self._found("html", problem, self._seen.html[0])

    def sections(self) -> Iterator[Finding]:
        """Headings and what stands below them."""
        sections = [heading for heading in self._seen.headings if heading.level > 1]
        for heading in sections:
            if not heading.blocks and not self._has_children(heading):
                yield self._found(
                    "empty-section", f"nothing stands below {_short(heading.text)}", heading.place
                )
            elif not heading.links and heading.level == 2:
                yield self._found(
                    "section-without-links", f"{_short(heading.text)} has no link", heading.place
                )
        deep = [heading for heading in sections if heading.level > 2]
        if deep:
            problem = f"headings deeper than `##`: {len(deep)}"
            yield self._found("deep-heading", problem, deep[0].place)
        yield from self._optional(sections)

    def _has_children(self, heading: OutlineHeading) -> bool:
        after = self._seen.headings[self._seen.headings.index(heading) + 1 :]
        return bool(after) and after[0].level > heading.level

    def _optional(self, sections: list[OutlineHeading]) -> Iterator[Finding]:
        optional = [one for one in sections if one.text.strip(" :.").casefold() == "optional"]
        if not optional:
            return
        others = [one for one in sections if one.level == 2 and one not in optional and one.links]
        total = sum(one.level <= 2 and one.links for one in sections)
        if not others and total:
            yield self._found(
                "everything-optional", "every link stands in the Optional section", optional[0].place
            )
        elif any(one.place > optional[0].place for one in others):
            yield self._found("optional-not-last", "sections follow the Optional section", optional[0].place)

    def links(self) -> Iterator[Finding]:
        """Every link as it is written."""
        for place, written in self._seen.broken:
            yield self._found("broken-link-syntax", f"{_short(written)} is no link", place)
        relative: list[OutlineLink] = []
        fragments: list[OutlineLink] = []
        others: list[OutlineLink] = []
        insecure: list[OutlineLink] = []
        outside: list[OutlineLink] = []
        pages: list[tuple[OutlineLink, str]] = []
        for link in self._seen.links:
            target = absolute_url(link.href, self._base)
            if isinstance(target, InvalidUrl):
                yield self._found("invalid-url", f"{_short(link.href)} is no URL: {target.why}", link.place)
            elif target is None:
                (fragments if link.href.startswith("#") or not link.href else others).append(link)
            else:
                pages.append((link, target))
                if not link.href.lower().startswith(("http:", "https:")):
                    relative.append(link)
                elif link.href.lower().startswith("http:") and not self._base.startswith("http:"):
                    insecure.append(link)
                if self._url and not hosts.same_site(target, self._url):
                    outside.append(link)
        groups = (
            ("relative-link", "relative links", relative),
            ("fragment-link", "links to parts of this file", fragments),
            ("not-a-page", "links that are no http(s) address", others),
            ("insecure-link", "links with http", insecure),
            ("off-site-link", "links to other sites", outside),
        )
        for rule, what, links in groups:
            yield from self._group(rule, what, links)
        yield from self._pages(pages)

    def _pages(self, pages: list[tuple[OutlineLink, str]]) -> Iterator[Finding]:
        by_url: dict[str, list[OutlineLink]] = defaultdict(list)
        by_title: dict[tuple[int | None, str], dict[str, OutlineLink]] = defaultdict(dict)
        by_notes: dict[str, dict[str, OutlineLink]] = defaultdict(dict)
        entries = [(link, target) for link, target in pages if link.section is not None and link.is_first]
        for link, target in entries:
            by_url[_written(link.href, target)].append(link)
            by_title[link.section, link.title.casefold()].setdefault(target, link)
            if link.notes:
                by_notes[link.notes.casefold()].setdefault(target, link)
            if link.title.casefold() in _UNTITLED or link.title == link.href:
                yield self._found("untitled-link", f"{_short(link.href)} has no title", link.place)
        for url, links in by_url.items():
            for again in links[1:]:
                problem = f"{_short(url)} is listed in line {links[0].place[0]}, too"
                yield self._found("duplicate-link", problem, again.place)
        for (_, title), found in by_title.items():
            if len(found) > 1 and title:
                yield from self._group(
                    "duplicate-title",
                    f"links of a section with the title {_short(next(iter(found.values())).title)!r}",
                    list(found.values()),
                )
        for found in by_notes.values():
            if len(found) > 1:
                yield from self._group(
                    "equal-notes",
                    f"links with the notes {_short(next(iter(found.values())).notes)!r}",
                    list(found.values()),
                )
        without_notes = [link for link, _ in entries if not link.notes]
        yield from self._group("missing-notes", f"links without notes, of {len(entries)}", without_notes)
        loose = [link for link, _ in pages if link.section is not None and not link.in_list]
        yield from self._group("link-outside-list", "links of sections outside of a list", loose)
        listing = {link.section for link, _ in entries}
        unlinked = [
            place
            for place, section in self._seen.items_without_link
            if section in listing and section is not None
        ]
        if unlinked:
            problem = f"items without a link in lists of links: {len(unlinked)}"
            yield self._found("item-without-link", problem, unlinked[0])

    def _group(self, rule: str, what: str, links: list[OutlineLink]) -> Iterator[Finding]:
        """One finding for links that have the same fault, at the first of them."""
        if links:
            urls = tuple(dict.fromkeys(link.href for link in links))
            one = finding(rule, self._file, f"{what}: {len(links)}", links[0].place, urls)
            yield one


def _written(href: str, target: str) -> str:
    """The address with its fragment, which may distinguish two entries of a page."""
    fragment = href.partition("#")[2]
    return f"{target}#{fragment}" if fragment else target


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:119]}…"


def places(text: str, url: str) -> dict[str, Place]:
    """The place of the first link to each page in an index, by absolute URL without fragment."""
    found: dict[str, Place] = {}
    try:
        links = outline(_without_front_matter(_LINE_ENDS.sub("\n", text))).links
    except ConversionError:
        links = []
    for link in links:
        target = absolute_url(link.href, url)
        if isinstance(target, str):
            found.setdefault(target, link.place)
    for entry in llmstxt.parse(text, url).entries:
        found.setdefault(entry.url, (0, 0))
    return found
