"""The rules of texts: an llms.txt point by point (https://llmstxt.org), with places; Markdown
beside its page.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from llmsspider.content.markdown import commonmark
from llmsspider.errors import ConversionError
from llmsspider.lint.findings import Finding, finding, ordered
from llmsspider.site import llmsfull, llmstxt, llmstxt_parser
from llmsspider.site.llmstxt_links import absolute_url
from llmsspider.web.addresses import same_site
from llmsspider.web.text import valid_text
from llmsspider.web.urls import InvalidUrl

LARGE_TOKENS = 25_000
FULL_TOKENS = 1_000_000
"""An index, and a full text, of more tokens is more than most tools read of one file; a token is
four characters.
"""
UNKNOWN = "https://site.invalid/llms.txt"
"""The base of relative links where the address of a file is not known."""

_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\u0085\v\f]")
_UNSPACED = re.compile(r"^#[^#\s!].*", re.MULTILINE)
_UNTITLED = frozenset({"", "null", "none", "undefined", "untitled", "here"})
_BLANKED = re.compile(r"[^\n]")


def lint_body(body: bytes, file: str, url: str | None) -> list[Finding]:
    """Check a file, an index or full text, by its bytes; `file` is its path or URL, `url` its URL
    where it is known.
    """
    why = llmstxt.reject_reason(200, url or UNKNOWN, url or UNKNOWN, "text/plain", body)
    if why is not None:
        return [finding("not-llms-txt", file, f"this is no llms.txt: {why}")]
    found: list[Finding] = []
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        found = [finding("not-utf-8", file, f"byte {body[error.start]:#04x} is no UTF-8", line)]
        text = body.decode("cp1252", "replace")
    name = urlsplit(url or file).path.rpartition("/")[2].lower()
    is_full = "full" in name or "ctx" in name or llmsfull.looks_split(text)
    if is_full and llmstxt.classify(text) == "full":
        found += _of_full_text(text, file, url or UNKNOWN)
    else:
        found += _Index(text, file, url).found
    return ordered(found)


def _of_full_text(text: str, file: str, url: str) -> Iterator[Finding]:
    if len(text) // 4 > FULL_TOKENS:
        yield finding("full-text-too-large", file, f"the file has about {len(text) // 4:,} tokens")
    report = llmsfull.inspect(io.BytesIO(text.encode()), url)
    if report.rule is None:
        problem = f"its pages cannot be split: {report.reason or 'no rule fits'}"
        yield finding("full-text-unsplit", file, problem)


class _Index:
    """The check of an index: `found` is what is wrong with it."""

    def __init__(self, text: str, file: str, url: str | None):
        self.found: list[Finding] = []
        self._file = file
        text = _LINE_ENDS.sub("\n", text)
        entries = llmstxt_parser.parse(text, url or UNKNOWN).entries
        try:
            outline = Outline(text)
        except ConversionError as error:
            self._add("not-llms-txt", str(error))
            return
        self._head(text, outline)
        self._sections(outline)
        self._links(url, outline)
        if len(text) // 4 > LARGE_TOKENS:
            self._add("too-large", f"the file has about {len(text) // 4:,} tokens")
        if not entries:
            self._add("no-links", "no link could be read")
        elif len(entries) > 10 and not any(entry.section for entry in entries):
            self._add("no-sections", f"links below no heading: {len(entries)}")

    def _add(self, rule: str, problem: str, line: int = 0) -> None:
        self.found.append(finding(rule, self._file, problem, line))

    def _add_group(self, rule: str, problem: str, links: list[Link]) -> None:
        if links:
            urls = tuple(dict.fromkeys(link.href for link in links))
            problem = f"{problem}: {len(links)}"
            self.found.append(finding(rule, self._file, problem, links[0].line, urls))

    def _head(self, text: str, outline: Outline) -> None:
        titles = [heading for heading in outline.headings if heading.level == 1]
        if not titles and (unspaced := _UNSPACED.search(text)):
            problem = f"there is no H1: {_short(unspaced[0])!r} needs a blank after `#`"
            self._add("no-title", problem, text.count("\n", 0, unspaced.start()) + 1)
        elif not titles:
            self._add("no-title", "there is no H1", 1)
        for heading in titles[1:]:
            self._add("several-titles", f"a second H1: {_short(heading.text)}", heading.line)
        if not outline.has_summary:
            self._add("no-summary", "there is no summary", titles[0].line if titles else 1)
        if outline.html:
            self._add("html", f"HTML in the file: {len(outline.html)} times", outline.html[0])

    def _sections(self, outline: Outline) -> None:
        sections = [heading for heading in outline.headings if heading.level > 1]
        for heading in sections:
            if not heading.blocks and not heading.has_children:
                self._add(
                    "empty-section", f"nothing stands below {_short(heading.text)}", heading.line
                )
            elif not heading.links and heading.level == 2:
                self._add(
                    "section-without-links", f"{_short(heading.text)} has no link", heading.line
                )
        if deep := [heading for heading in sections if heading.level > 2]:
            self._add("deep-heading", f"headings deeper than `##`: {len(deep)}", deep[0].line)

    def _links(self, url: str | None, outline: Outline) -> None:
        base = url or UNKNOWN
        groups: dict[tuple[str, str], list[Link]] = defaultdict(list)
        pages: list[tuple[Link, str]] = []
        for link in outline.links:
            target = absolute_url(link.href, base)
            href = link.href.lower()
            if isinstance(target, InvalidUrl):
                self._add("invalid-url", f"{_short(link.href)} is no URL: {target.why}", link.line)
            elif target is None:
                groups["not-a-page", "links to parts of this file, or no http(s) address"].append(
                    link
                )
            else:
                pages.append((link, target))
                if not href.startswith(("http:", "https:")):
                    groups["relative-link", "relative links"].append(link)
                elif href.startswith("http:") and not base.startswith("http:"):
                    groups["insecure-link", "links with http"].append(link)
                if url and not same_site(target, url):
                    groups["off-site-link", "links to other sites"].append(link)
        for (rule, problem), links in groups.items():
            self._add_group(rule, problem, links)
        self._entries(pages, outline)

    def _entries(self, pages: list[tuple[Link, str]], outline: Outline) -> None:
        """Check the links of sections, what is said of each, and what else stands there."""
        by_url: dict[str, Link] = {}
        by_title: dict[tuple[int | None, str], dict[str, Link]] = defaultdict(dict)
        by_notes: dict[str, dict[str, Link]] = defaultdict(dict)
        of_sections = [(link, target) for link, target in pages if link.section is not None]
        entries = [(link, target) for link, target in of_sections if link.is_first]
        for link, target in entries:
            fragment = link.href.partition("#")[2]  # may distinguish two entries of a page
            url = f"{target}#{fragment}" if fragment else target
            if (first := by_url.setdefault(url, link)) is not link:
                problem = f"{_short(url)} is listed in line {first.line}, too"
                self._add("duplicate-link", problem, link.line)
            by_title[link.section, link.title.casefold()].setdefault(target, link)
            by_notes[link.notes.casefold()].setdefault(target, link)
            if link.title.casefold() in _UNTITLED or link.title == link.href:
                self._add("untitled-link", f"{_short(link.href)} has no title", link.line)
        self._alike(
            "duplicate-title", "links of a section with the title", "title", by_title.values()
        )
        self._alike("equal-notes", "links with the notes", "notes", by_notes.values())
        without_notes = [link for link, _ in entries if not link.notes]
        self._add_group("missing-notes", f"links without notes, of {len(entries)}", without_notes)
        loose = [link for link, _ in of_sections if not link.in_list]
        self._add_group("link-outside-list", "links of sections outside of a list", loose)
        listing = {link.section for link, _ in entries}
        unlinked = [place for place, section in outline.items_without_link if section in listing]
        if unlinked:
            problem = f"items without a link in lists of links: {len(unlinked)}"
            self._add("item-without-link", problem, unlinked[0])

    def _alike(self, rule: str, problem: str, what: str, groups: Iterable[dict[str, Link]]) -> None:
        """Add a finding for each group of links to several pages of which the same is said."""
        for links in map(list, map(dict.values, groups)):
            said = getattr(links[0], what)
            if said and len(links) > 1:
                self._add_group(rule, f"{problem} {_short(said)!r}", links)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:119]}…"


def lines_of(text: str, url: str) -> dict[str, int]:
    """The line of the first link to each page in an index, by absolute URL without fragment."""
    found: dict[str, int] = {}
    with suppress(ConversionError):
        for link in Outline(_LINE_ENDS.sub("\n", text)).links:
            target = absolute_url(link.href, url)
            if isinstance(target, str):
                found.setdefault(target, link.line)
    for entry in llmstxt_parser.parse(text, url).entries:
        found.setdefault(entry.url, 0)
    return found


# What stands in an llms.txt, with the line of everything: headings, quotations, list items, links,
# raw HTML.

_BLOCKS = frozenset(
    {"Paragraph", "Heading", "CodeBlock", "Table", "HtmlBlock", "BlockQuote", "List"}
)
_CONTAINERS = frozenset({"BlockQuote", "List", "Item"})
_COMMENT = re.compile(r"\s*<!--")
_NOTES = re.compile(r"\s*(?:[:\-–—|•·→]|=>)+\s*(?=\S)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")


@dataclass(slots=True)
class Link:
    """A link as it is written. `notes` is what follows it in its list item; `section` the index of
    its heading.
    """

    href: str
    title: str
    line: int
    section: int | None
    in_list: bool
    is_first: bool = False  # of its list item, which the item is about
    notes: str = ""


@dataclass(slots=True)
class Heading:
    """A heading, and the numbers of links and of blocks below it up to the next of its level or a
    higher one.
    """

    level: int
    text: str
    line: int
    links: int = 0
    blocks: int = 0
    has_children: bool = False


class Outline:
    r"""What stands in an llms.txt with `\n` line ends, in its order; raises `ConversionError` where
    the parser fails.
    """

    def __init__(self, text: str):
        # becomes empty lines, so that places stay
        if matter := llmstxt_parser.FRONT_MATTER.match(text):
            text = _BLANKED.sub(" ", matter[0]) + text[matter.end() :]
        text = valid_text(text)
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.items_without_link: list[tuple[int, int | None]] = []
        self.html: list[int] = []
        self.has_summary = False  # a quotation before the first section
        self._source = text.encode()
        self._starts = [0, *accumulate(map(len, self._source.splitlines(keepends=True)))]
        self._depth = self._code = 0
        self._section: int | None = None
        self._above: list[Heading] = []  # the last heading, and those that it belongs to
        self._heading: tuple[int, int, list[str]] | None = None  # being read: level, offset, text
        self._link: tuple[str, int, list[str]] | None = None  # being read: URL, offset, text
        self._items: list[list[int]] = []  # open list items: offset, links in it
        for event, span in commonmark.events_with_range(text):
            match event:
                case str():
                    self._text("\n")
                case {"Start": value}:
                    self._start(
                        value if isinstance(value, str) else next(iter(value)), value, span["start"]
                    )
                case {"End": value}:
                    self._end(value if isinstance(value, str) else next(iter(value)), span["end"])
                case {"Text": value} | {"Code": value}:
                    self._text(value)
                case {"InlineHtml": value} if not _COMMENT.match(value):
                    self.html.append(self._line(span["start"]))

    def _start(self, name: str, value: Any, start: int) -> None:
        if name == "HtmlBlock":
            if _COMMENT.match(self._source[start : start + 400].decode("utf-8", "ignore")):
                return
            self.html.append(self._line(start))
        if name in _BLOCKS and not self._depth:
            self._block(name)
        if name in _CONTAINERS:
            self._depth += 1
        if name == "Item":
            self._items.append([start, 0])
        elif name == "Heading":
            self._heading = (int(value["Heading"]["level"][1]), start, [])
        elif name == "Link":
            data = value["Link"]
            self._link = (
                ("mailto:" if data["link_type"] == "Email" else "") + data["dest_url"],
                start,
                [],
            )
        elif name == "CodeBlock":
            self._code += 1

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def _block(self, name: str) -> None:
        if name == "BlockQuote" and self._section is None:
            self.has_summary = True
        if name != "Heading":
            for heading in self._above:
                heading.blocks += 1

    def _end(self, name: str, end: int) -> None:
        if name in _CONTAINERS:
            self._depth -= 1
        if name == "Item":
            self._end_item()
        elif name == "Heading" and self._heading is not None:
            self._end_heading(*self._heading)
            self._heading = None
        elif name == "Link" and self._link is not None:
            self._end_link(*self._link, end)
            self._link = None
        elif name == "CodeBlock":
            self._code -= 1

    def _end_item(self) -> None:
        start, links = self._items.pop()
        if not links:
            self.items_without_link.append((self._line(start), self._section))
        elif self._items:
            self._items[-1][1] += links

    def _end_heading(self, level: int, start: int, text: list[str]) -> None:
        if self.headings:
            self.headings[-1].has_children = level > self.headings[-1].level
        self.headings.append(Heading(level, " ".join("".join(text).split()), self._line(start)))
        self._above = [*(one for one in self._above if one.level < level), self.headings[-1]]
        self._section = len(self.headings) - 1 if level > 1 else None

    def _end_link(self, href: str, start: int, text: list[str], end: int) -> None:
        title = " ".join("".join(text).split())
        link = Link(href, title, self._line(start), self._section, bool(self._items))
        if self._items:
            link.is_first = self._items[-1][1] == 0
            self._items[-1][1] += 1
            link.notes = self._notes(end)
        self.links.append(link)
        for heading in self._above:
            heading.links += 1

    def _notes(self, end: int) -> str:
        """What follows a link on its line, and on the next one where that goes on."""
        rest = self._source[end : end + 2000].decode("utf-8", "ignore")
        line, _, following = rest.partition("\n")
        goes_on = following[:1] in {" ", "\t"} and not _LIST_ITEM.match(following)
        if goes_on and not line.strip(" :-–—"):
            line = f"{line} {following.partition(chr(10))[0]}"
        found = _NOTES.match(line)
        return " ".join((line[found.end() :] if found else line).split())

    def _text(self, text: str) -> None:
        if self._code:
            return
        if self._heading is not None:
            self._heading[2].append(text)
        if self._link is not None:
            self._link[2].append(text)
