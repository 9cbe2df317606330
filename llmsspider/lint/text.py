"""The rules of texts: an llms.txt point by point (https://llmstxt.org), with places; Markdown beside its page."""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from llmsspider.errors import ConversionError
from llmsspider.lint.findings import Finding, finding, ordered
from llmsspider.lint.outline import Heading, Link, Outline, Place
from llmsspider.site import llmsfull, llmstxt, llmstxt_parser
from llmsspider.site.llmstxt_links import absolute_url
from llmsspider.web.addresses import same_site
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
    return ordered(
        [*found, *(_lint_full if _is_full_text(text, url or file) else lint_text)(text, file, url)]
    )


def _is_full_text(text: str, name: str) -> bool:
    """Whether a file holds the pages themselves: it says so by its name, or is delimited into pages."""
    last = urlsplit(name).path.rpartition("/")[2].lower()
    is_named = "full" in last or "ctx" in last
    return llmstxt.classify(text) == "full" and (is_named or llmsfull.looks_split(text))


def _lint_full(text: str, file: str, url: str | None) -> Iterator[Finding]:
    yield from _size(text, file, "full-text-too-large", FULL_TOKENS)
    report = llmsfull.inspect(io.BytesIO(text.encode()), url or UNKNOWN)
    if report.rule is None:
        problem = f"its pages cannot be split: {report.reason or 'no rule fits'}"
        yield finding("full-text-unsplit", file, problem)


def lint_text(text: str, file: str, url: str | None) -> Iterator[Finding]:
    """Check an index."""
    text = _LINE_ENDS.sub("\n", text)
    entries = llmstxt.parse(text, url or UNKNOWN).entries
    try:
        outline = Outline(_without_front_matter(text))
    except ConversionError as error:
        yield finding("not-llms-txt", file, str(error))
        return
    yield from _head(text, file, outline)
    yield from _sections(file, outline)
    yield from _links(file, url, outline)
    yield from _size(text, file, "too-large", LARGE_TOKENS)
    if not entries:
        yield finding("no-links", file, "no link could be read")
    elif len(entries) > FEW_LINKS and not any(entry.section for entry in entries):
        yield finding("no-sections", file, f"links below no heading: {len(entries)}")
    if hidden := _INVISIBLE.search(text):
        first = f"the first is U+{ord(hidden[0]):04X}"
        problem = f"invisible characters: {len(_INVISIBLE.findall(text))}, {first}"
        yield finding("invisible-characters", file, problem, _place(text, hidden.start()))


def _without_front_matter(text: str) -> str:
    """The text with front matter as empty lines, so that places stay."""
    matter = llmstxt_parser.FRONT_MATTER.match(text)
    return text if matter is None else _BLANKED.sub(" ", matter[0]) + text[matter.end() :]


def _place(text: str, offset: int) -> Place:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _size(text: str, file: str, rule: str, limit: int) -> Iterator[Finding]:
    tokens = len(text) // 4
    if tokens > limit:
        yield finding(rule, file, f"the file has about {tokens:,} tokens")


def _head(text: str, file: str, outline: Outline) -> Iterator[Finding]:
    """Title and summary."""
    titles = [heading for heading in outline.headings if heading.level == 1]
    if titles and outline.first != "title":
        yield finding("title-not-first", file, "other text stands above the title", titles[0].place)
    elif not titles and (unspaced := _UNSPACED.search(text)):
        problem = f"there is no H1: {_short(unspaced[0])!r} needs a blank after `#`"
        yield finding("no-title", file, problem, _place(text, unspaced.start()))
    elif not titles:
        yield finding("no-title", file, "there is no H1", (1, 1))
    for heading in titles[1:]:
        yield finding("several-titles", file, f"a second H1: {_short(heading.text)}", heading.place)
    if not outline.quotes:
        yield finding("no-summary", file, "there is no summary", titles[0].place if titles else (1, 1))
    elif titles and outline.after_title != "BlockQuote":
        yield finding("summary-misplaced", file, "the summary does not follow the title", outline.quotes[0])
    if outline.html:
        yield finding("html", file, f"HTML in the file: {len(outline.html)} times", outline.html[0])


def _sections(file: str, outline: Outline) -> Iterator[Finding]:
    """Headings and what stands below them."""
    sections = [heading for heading in outline.headings if heading.level > 1]
    for heading in sections:
        if not heading.blocks and not heading.has_children:
            yield finding(
                "empty-section", file, f"nothing stands below {_short(heading.text)}", heading.place
            )
        elif not heading.links and heading.level == 2:
            yield finding("section-without-links", file, f"{_short(heading.text)} has no link", heading.place)
    if deep := [heading for heading in sections if heading.level > 2]:
        yield finding("deep-heading", file, f"headings deeper than `##`: {len(deep)}", deep[0].place)
    optional = next((one for one in sections if _is_optional(one)), None)
    if optional is None:
        return
    others = [one for one in sections if one.level == 2 and one.links and not _is_optional(one)]
    if not others and any(one.level == 2 and one.links for one in sections):
        yield finding(
            "everything-optional", file, "every link stands in the Optional section", optional.place
        )
    elif any(one.place > optional.place for one in others):
        yield finding("optional-not-last", file, "sections follow the Optional section", optional.place)


def _is_optional(heading: Heading) -> bool:
    return heading.text.strip(" :.").casefold() == "optional"


def _links(file: str, url: str | None, outline: Outline) -> Iterator[Finding]:
    """Every link as it is written."""
    base = url or UNKNOWN
    for place, written in outline.broken:
        yield finding("broken-link-syntax", file, f"{_short(written)} is no link", place)
    groups: dict[tuple[str, str], list[Link]] = defaultdict(list)
    pages: list[tuple[Link, str]] = []
    for link in outline.links:
        target, href = absolute_url(link.href, base), link.href.lower()
        if isinstance(target, InvalidUrl):
            yield finding("invalid-url", file, f"{_short(link.href)} is no URL: {target.why}", link.place)
        elif target is None and (not href or href.startswith("#")):
            groups["fragment-link", "links to parts of this file"].append(link)
        elif target is None:
            groups["not-a-page", "links that are no http(s) address"].append(link)
        else:
            pages.append((link, target))
            if not href.startswith(("http:", "https:")):
                groups["relative-link", "relative links"].append(link)
            elif href.startswith("http:") and not base.startswith("http:"):
                groups["insecure-link", "links with http"].append(link)
            if url and not same_site(target, url):
                groups["off-site-link", "links to other sites"].append(link)
    for (rule, problem), links in groups.items():
        yield from _group(file, rule, problem, links)
    yield from _entries(file, pages, outline)


def _entries(file: str, pages: list[tuple[Link, str]], outline: Outline) -> Iterator[Finding]:
    """The links of sections, what is said of each, and what else stands there."""
    by_url: dict[str, list[Link]] = defaultdict(list)
    by_title: dict[tuple[int | None, str], dict[str, Link]] = defaultdict(dict)
    by_notes: dict[str, dict[str, Link]] = defaultdict(dict)
    entries = [(link, target) for link, target in pages if link.section is not None and link.is_first]
    for link, target in entries:
        fragment = link.href.partition("#")[2]  # may distinguish two entries of a page
        by_url[f"{target}#{fragment}" if fragment else target].append(link)
        by_title[link.section, link.title.casefold()].setdefault(target, link)
        if link.notes:
            by_notes[link.notes.casefold()].setdefault(target, link)
        if link.title.casefold() in _UNTITLED or link.title == link.href:
            yield finding("untitled-link", file, f"{_short(link.href)} has no title", link.place)
    for url, links in by_url.items():
        for again in links[1:]:
            problem = f"{_short(url)} is listed in line {links[0].place[0]}, too"
            yield finding("duplicate-link", file, problem, again.place)
    for (_, title), found in by_title.items():
        if len(found) > 1 and title:
            first, *_ = same = list(found.values())
            problem = f"links of a section with the title {_short(first.title)!r}"
            yield from _group(file, "duplicate-title", problem, same)
    for found in by_notes.values():
        if len(found) > 1:
            first, *_ = same = list(found.values())
            yield from _group(file, "equal-notes", f"links with the notes {_short(first.notes)!r}", same)
    without_notes = [link for link, _ in entries if not link.notes]
    yield from _group(file, "missing-notes", f"links without notes, of {len(entries)}", without_notes)
    loose = [link for link, _ in pages if link.section is not None and not link.in_list]
    yield from _group(file, "link-outside-list", "links of sections outside of a list", loose)
    listing = {link.section for link, _ in entries}
    unlinked = [place for place, section in outline.items_without_link if section in listing]
    if unlinked:
        problem = f"items without a link in lists of links: {len(unlinked)}"
        yield finding("item-without-link", file, problem, unlinked[0])


def _group(file: str, rule: str, problem: str, links: list[Link]) -> Iterator[Finding]:
    """One finding for links that have the same fault, at the first of them."""
    if links:
        urls = tuple(dict.fromkeys(link.href for link in links))
        yield finding(rule, file, f"{problem}: {len(links)}", links[0].place, urls)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:119]}…"


def places(text: str, url: str) -> dict[str, Place]:
    """The place of the first link to each page in an index, by absolute URL without fragment."""
    found: dict[str, Place] = {}
    try:
        links = Outline(_without_front_matter(_LINE_ENDS.sub("\n", text))).links
    except ConversionError:
        links = []
    for link in links:
        target = absolute_url(link.href, url)
        if isinstance(target, str):
            found.setdefault(target, link.place)
    for entry in llmstxt.parse(text, url).entries:
        found.setdefault(entry.url, (0, 0))
    return found


# A page and its Markdown version side by side: which text one of them misses.

MIN_WORDS = 30
"""Words that a side has to miss at least."""
MAX_MISSED = 0.15
"""Share of its words that a side may miss: menus and the like differ always."""
MAX_QUOTED = 100

_WORD = re.compile(r"[^\W_]{2,}")
_MARKUP = re.compile(r"\]\([^()\s]*\)|<[A-Za-z/!][^<>]{0,300}>|^---\n.*?\n---\n", re.DOTALL)


@dataclass(slots=True, frozen=True)
class Sides:
    """Shares, from 0 to 1, of the words of each side that the other one misses; and a line of each that is missed."""

    markdown_misses: float
    page_misses: float
    example: str = ""
    page_example: str = ""

    def findings(self, file: str, url: str, place: Place) -> Iterator[Finding]:
        """Yield the findings for the pair."""
        for rule, misses, side, other, example in (
            (
                "markdown-misses-content",
                self.markdown_misses,
                f"the Markdown of {url}",
                "the page",
                self.example,
            ),
            ("page-misses-content", self.page_misses, "the page", f"its Markdown {url}", self.page_example),
        ):
            if misses > MAX_MISSED:
                such_as = f", such as {example!r}" if example else ""
                yield finding(rule, file, f"{side} misses {misses:.0%} of {other}{such_as}", place, [url])


def missing(page: str, markdown: str) -> Sides:
    r"""Compare the text of a page, converted, with its Markdown version, by their words.

    >>> missing("# A", "# A\n\ntext")
    Sides(markdown_misses=0.0, page_misses=0.0, example='', page_example='')
    """
    of_page, of_markdown = _words(page), _words(markdown)
    return Sides(
        _missed(of_page, of_markdown),
        _missed(of_markdown, of_page),
        _example(page, of_markdown),
        _example(markdown, of_page),
    )


def _words(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _WORD.findall(_MARKUP.sub(" ", text)))


def _missed(these: Counter[str], others: Counter[str]) -> float:
    missed = (these - others).total()
    return missed / these.total() if missed >= MIN_WORDS else 0.0


def _example(text: str, others: Counter[str]) -> str:
    """The first line that the other side has not got most words of."""
    for line in text.splitlines():
        words = _words(line)
        if words.total() >= 5 and (words - others).total() * 2 > words.total():
            return line.strip()[:MAX_QUOTED]
    return ""
