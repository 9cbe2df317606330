"""Look at a full-text file, of any size and encoding, and cut it into pages."""

import codecs
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import BinaryIO, Literal

from llmsspider.site.llmsfull_marks import HEADING, SEPARATOR, Mark, clean_title
from llmsspider.site.llmsfull_rules import FileScan, Locator, choose, titled
from llmsspider.web.stats import FilterReason

Kind = Literal["markdown", "rst", "html"]

MAX_LINE_CHARS = 64 * 1024
"""A longer line comes in parts."""

_CHUNK = 1024 * 1024
_TAG = re.compile(
    r"(</(?:doc|page|document)>|<(?:doc|page|document)"
    r"(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"]{0,4000}\"|'[^']{0,4000}'|[^\s\"'<>]+))?)*\s*>)",
    re.IGNORECASE,
)
_FRONT_MATTER = re.compile(r"---\s*\n[A-Za-z_][\w-]*\s*:")
_TAG_HINT = re.compile(r"</?(?:doc|page)", re.IGNORECASE)


def lines_of(source: BinaryIO) -> Iterator[str]:
    r"""Yield the lines of an open binary stream that can seek, from its start.

    Line ends are `\\n`, whatever the file has; the last line and the parts of an overlong one have
    none. A page tag (`<doc …>`, `</page>`) that shares its line with text comes as a line of its
    own.
    """
    encoding = _encoding(source)
    source.seek(0)
    text = io.TextIOWrapper(source, encoding, errors="replace", newline=None)
    try:
        while line := text.readline(MAX_LINE_CHARS):
            if "<" in line and _TAG_HINT.search(line):
                parts = [part for part in _TAG.split(line) if part]
                if len(parts) > 1 and parts[-1] == "\n":
                    parts[-2:] = [parts[-2] + "\n"]
                yield from parts
            else:
                yield line
    finally:
        with suppress(ValueError):  # the file was closed before: nobody reads on
            text.detach()


def _encoding(source: BinaryIO) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    source.seek(0)
    chunk = source.read(_CHUNK)
    if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        while chunk:
            decoder.decode(chunk)
            chunk = source.read(_CHUNK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


_DIRECTIVE = re.compile(r"\s*\.\. (?:[\w:-]+::|_[^:]+:|\|)")
_ROLE = re.compile(r":[a-z+-]{1,40}:`[^`]+`")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_TAG_LINE = re.compile(r"\s*</?[a-z][a-z0-9]*(?:\s[^>]*)?>", re.IGNORECASE)
_MARKDOWN = re.compile(r"#{1,6}\s|```|\s*[-*]\s.*\]\(|[^\]]*+(?:\](?!\(\S)[^\]]*+)*+\]\(")


def _markup(lines: Iterable[str]) -> Kind:
    """Return the markup that most lines have, by lines that only one markup has."""
    texts = rst = html = markdown = 0
    before = ""
    for line in lines:
        text = line[:500].rstrip()
        if text and not texts and text.lstrip().lower().startswith(("<!doctype html", "<html")):
            return "html"
        texts += bool(text)
        if ".." in text[:12] and _DIRECTIVE.match(text):
            rst += 2
        elif _is_rst(text, before):
            rst += 1
        elif "<" in text[:20] and _TAG_LINE.match(text):
            html += 1
        elif _MARKDOWN.match(text):
            markdown += 1
        before = text
    if html > 0.5 * max(texts, 1):
        return "html"
    return "rst" if rst >= 5 and rst > 2 * markdown else "markdown"


def _is_rst(text: str, before: str) -> bool:
    """Say whether a line has a role, or underlines the one before, as only reStructuredText does."""
    if ":`" in text and _ROLE.search(text):
        return True
    is_line = text[:1] in tuple('=~^"-#*+') and _UNDERLINE.match(text) is not None
    return is_line and 3 <= len(before) <= len(text)


MAX_PAGE_CHARS = 20 * 1024 * 1024
"""Maximum length of a page; longer ones are omitted, since they come of missed boundaries."""

_NO_TITLES: Mapping[str, str] = MappingProxyType({})


class UnsplittableError(ValueError):
    """The file cannot be cut into pages; the message says why."""


@dataclass(frozen=True, slots=True)
class FullPage:
    r"""One page of a full-text file.

    `url` is absolute without fragment, None where nothing says which page it is. `text` is the page
    without the generator's marks, with `\\n` line ends and one at its end; `kind` its markup,
    `rule` the name of the rule that cut it.
    """

    url: str | None
    title: str | None
    text: str
    rule: str
    kind: Kind = "markdown"


@dataclass(frozen=True, slots=True)
class Leftover:
    """Text of a full-text file outside its pages, `chars` long.

    `full-text-outside` stands before the first page or between pages that their marks close; the
    `text` of what is `full-text-too-long` is its beginning.
    """

    reason: FilterReason
    text: str
    chars: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """The structure of a full-text file: its markup, the rule that splits it, number of pages,
    their URLs each once.

    `rule` is None for a file that cannot be split, and `reason` says why. `marks` is where to cut.
    """

    kind: Kind
    rule: str | None
    pages: int
    urls: tuple[str, ...]
    reason: str | None = None
    marks: tuple[Mark, ...] = field(default=(), repr=False)


def inspect(source: BinaryIO, url: str, titles: Mapping[str, str] = _NO_TITLES) -> SplitReport:
    """Return the structure of a full-text file, without cutting it.

    `source` is a file or a binary stream that can seek, `url` where it came from, `titles` maps the
    URLs listed elsewhere (llms.txt, sitemap) to their titles, in order; titles may be empty.
    """
    locator = Locator(url, titles)
    kind = _markup(islice(lines_of(source), 50_000))
    scan = FileScan(lines_of(source))
    rule, marks = choose(scan, url) or ("titles", [])
    for mark in marks:
        mark.url = locator.locate(mark.url, mark.title)
    reason = "HTML without page boundaries"
    if not marks and kind != "html":
        marks = titled(scan.titles.headings, locator)
        reason = "no page boundaries"
    if not marks:
        reason = "reStructuredText without page boundaries" if kind == "rst" else reason
        return SplitReport(kind, None, 0, (), reason)
    joined = _joined(marks)
    urls = tuple(dict.fromkeys(mark.url for mark in joined if mark.url))
    return SplitReport(kind, rule, len(joined), urls, None, tuple(joined))


def _joined(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks of pages: one that names the page before is a section of that."""
    joined: list[Mark] = []
    for mark in marks:
        last = joined[-1] if joined else None
        if last and last.end is None and mark.url and mark.url == last.url:
            last.skip += mark.skip
            if mark.lead:
                last.sections[mark.start] = mark.lead
        else:
            joined.append(mark)
    return joined


def cut(source: BinaryIO, report: SplitReport) -> Iterator[FullPage | Leftover]:
    """Yield all text of an inspected file in its order: its pages, and what is in none of them.

    Raises `UnsplittableError` where no rule finds where the pages begin.
    """
    if report.rule is None:
        raise UnsplittableError(report.reason or "no page boundaries")
    for mark, lines, chars in _pieces(source, report.marks):
        text = _trimmed(lines)
        if chars > MAX_PAGE_CHARS:
            yield Leftover("full-text-too-long", text[:1000], chars)
        elif mark is not None:
            yield FullPage(
                mark.url, mark.title or _first_heading(text), text, report.rule, report.kind
            )
        elif text:
            yield Leftover("full-text-outside", text, len(text))


def _pieces(
    source: BinaryIO, marks: Iterable[Mark]
) -> Iterator[tuple[Mark | None, list[str], int]]:
    """Yield each mark, or None outside of pages, with its lines, as many as a page may have, and
    their characters.
    """
    coming = iter(marks)
    current = None
    following = next(coming, None)
    lines: list[str] = []
    chars = 0
    skip = frozenset[int]()
    for number, line in enumerate(lines_of(source)):
        begins = following is not None and number >= following.start
        ends = current is not None and number == current.end  # the line that closes the page
        if begins or ends:
            yield current, lines, chars
            current = following if begins else None
            following = next(coming, None) if begins else following
            lines = [current.lead] if current else []
            chars = 0
            skip = frozenset(current.skip if current else ())
        if ends and not begins:
            continue
        kept = current.sections.get(number, "") if current is not None and number in skip else line
        chars += len(kept)
        if chars <= MAX_PAGE_CHARS:
            lines.append(kept)
    yield current, lines, chars


def read_whole(source: BinaryIO, url: str, report: SplitReport) -> FullPage:
    """Return an inspected file as one page with its address; `UnsplittableError` where that is too
    long.
    """
    kept: list[str] = []
    size = 0
    for line in lines_of(source):
        size += len(line)
        if size > MAX_PAGE_CHARS:
            raise UnsplittableError(
                f"longer than {MAX_PAGE_CHARS:,} characters, too long for one document"
            )
        kept.append(line)
    text = "".join(kept).strip("\n")
    # front matter at its top is the first page's, and stays in the text
    text = f"\n{text}\n" if text else ""
    return FullPage(url, _first_heading(text), text, "whole", report.kind)


def looks_split(text: str, url: str = "", *, named: bool = False) -> bool:
    """Return whether text is delimited into pages of some length, as full-text generators write it.

    `named` says that the file's name calls it full text; then, and where the marks are those that
    only full-text generators write, short pages will do. Other marks stand in annotated indexes
    too.
    """
    scan = FileScan(lines_of(io.BytesIO(text.encode("utf-8", "replace"))))
    choice = choose(scan, url)
    if choice is None or len(choice.marks) < 2:
        return False
    below_title = choice.rule == "title-label" and choice.marks[0].level == 1
    no_index = (
        below_title or choice.rule in {"front-matter", "firecrawl"} or choice.rule.endswith("-tag")
    )
    # shorter pages, on average, are the entries of an index
    least = 80 if named or no_index else 250
    return scan.chars / len(choice.marks) >= least


def _trimmed(lines: list[str]) -> str:
    """Return lines without blank ones and the generator's separators at both ends, with one line
    end.

    A separator may open front matter; at the end it may be the underline of a heading.
    """
    left = deque(filter(None, lines))
    while left and _is_no_text(left[0]) and not _FRONT_MATTER.match("".join(islice(left, 2))):
        left.popleft()
    while left and _is_no_text(left[-1]):
        if not left[-1].isspace() and len(left) > 1 and left[-2].strip():
            break
        left.pop()
    text = "".join(left)
    return text if not text or text.endswith("\n") else f"{text}\n"


def _is_no_text(line: str) -> bool:
    return line.isspace() or SEPARATOR.match(line) is not None


def _first_heading(text: str) -> str | None:
    headings = (HEADING.match(line) for line in text.splitlines()[:50])
    return next((clean_title(found[2]) for found in headings if found and found[2]), None)
