"""Whether a page is one: stubs of Markdown, HTML that breaks off, pages that are no documentation. Pure."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

from llmsspider.stats import Filtered
from llmsspider.web.media_types import Kind

# Author's Markdown that is a stub: too short, or made of what its generator has not filled in. Pure.
# Its page is requested as HTML once, and the fuller of the two is the document (docs/explanation/markdown-forms.md).
# What a host has taught about that is kept in a `HostStubs`.

Stub = Literal["short", "unfilled", "part", "small"]
"""Nearly no text; nearly none beside what is not filled in; a text with gaps; far less than the host's other pages."""

SHORT = 300
"""Letters and digits of text below which Markdown may be a stub."""
FULLER = 2
"""How many times the text of the Markdown the HTML must have, and `MORE` letters besides."""
MORE = 150
"""Letters that the navigation of a site may leave in the text of a page."""
PART = 10 * SHORT
"""Letters of text up to which Markdown with something that is not filled in may be only a part of its page."""
SMALL = 1_000
"""Letters below which Markdown may be a stub for being small beside the others of its host."""
TENTH = 10
"""How many times smaller than the host's typical page such Markdown is."""
SIBLINGS = 20
"""Pages of a host from which on it has a typical size."""
MAX_SIBLINGS = 200
TINY = 60
"""Letters below which a page of a full-text file may be a stub: such a file is there so that pages are not fetched."""
PROBES = 4
"""Pages of a host whose HTML is requested in vain before no more is requested; of stubs, and of other pages."""
RARELY = 0.05
"""Part of the pages requested that must have been fuller, from `PROBES` times two pages on."""

_MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>|\]\([^()\[\]\n]*\)")
"""Tags, comments and destinations of links."""
_FENCES = ("```", "~~~")
_FILLED_BY = ("{include}", "{literalinclude}", "{eval-rst}", "{auto", "{toctree}")
"""What the info string of a fence says whose text the generator takes from elsewhere (MyST)."""
_UNFILLED_STARTS = ("<<<", "!!!include(", "[!include", ":include:", "#include ")
"""Beginnings of lines that name what is to stand there: VitePress, markdown-it-include, DocFX, Docsify."""


def stub(markdown: str, typical: int = 0) -> Stub | None:
    r"""Return why Markdown may be a stub of its page, or None where it is not.

    Args:
        markdown: the author's Markdown of the page.
        typical: characters of the host's typical Markdown, 0 where that is not known.

    >>> stub('# Changes\n\n--8<-- "CHANGELOG.md"\n'), stub("# Home\n\nWelcome.\n"), stub("word " * 100)
    ('unfilled', 'short', None)
    >>> stub("word " * 100 + "\n\n::: widget.Wheel\n"), stub("word " * 100, typical=20_000)
    ('part', 'small')
    """
    if len(markdown) > 40 * SHORT:
        return None  # so much text is no stub, whatever it includes
    said, unfilled, is_part = 0, False, False
    fence, is_filled, has_options = "", False, False
    for line in markdown.split("\n"):
        text = line.strip()
        if fence:
            is_end = text == fence
            said += 0 if is_end or is_filled else letters(text)
            fence = "" if is_end else fence
        elif text.startswith(_FENCES):
            info = text.lstrip("`~")
            fence, is_filled = text[: len(text) - len(info)], info.lstrip().startswith(_FILLED_BY)
            unfilled, is_part = unfilled or is_filled, is_part or is_filled
        elif _is_unfilled(text) or (has_options and line[:1].isspace()):
            unfilled = has_options = True
            is_part = is_part or not text.startswith(("import ", "export "))
        else:
            has_options = has_options and not text
            said += _said(text)
    if said < SHORT:
        return "unfilled" if unfilled else "short"
    if is_part and said < PART:
        return "part"
    return "small" if said < SMALL and len(markdown) * TENTH < typical else None


def stub_of_full_text(markdown: str) -> Stub | None:
    """Return why a page of a full-text file may be a stub of its page, or None where it is not."""
    kind = stub(markdown)
    return None if kind == "short" and not is_tiny(markdown) else kind


def is_tiny(markdown: str) -> bool:
    """Say whether a page of a full-text file has next to no text."""
    return len(markdown) < 4 * TINY + 400 and _said(markdown) < TINY


def _is_unfilled(line: str) -> bool:
    """Return True for a line that names what the generator is to put in its place."""
    start, end = line[:2], line[-2:]
    return (
        line.lstrip("-;*").startswith("8<-")
        or (start in {"{%", "{{", "{!", "{<", "{#"} and end[-1:] == "}")
        or line.lower().startswith(_UNFILLED_STARTS)
        or (line.startswith("::: ") and "." in line and " " not in line[4:])
        or (line.startswith("<!--") and "include" in line and line.endswith("-->"))
        or (line.startswith(".. ") and "::" in line)
        or (line.startswith("[") and "':include" in line)
        or (line.startswith("![[") and end == "]]")
        or (line.startswith(("import ", "export ")) and ("'" in line or '"' in line or "=" in line))
        or (start[:1] == "<" and end[-1:] == ">" and line.lstrip("</")[:1].isupper() and line.count("<") == 1)
    )


def letters(text: str) -> int:
    """Return how many letters and digits are in a text."""
    return sum(map(str.isalnum, text))


def is_fuller(html: str, markdown: str) -> bool:
    """Say whether the Markdown made from a page's HTML says far more than the author's Markdown of it.

    >>> is_fuller("word " * 200, "# Changes"), is_fuller("Home Guide Changes " * 3, "# Changes")
    (True, False)
    """
    return _said(html) >= FULLER * _said(markdown) + MORE


def _said(markdown: str) -> int:
    """Return how many letters and digits a text has outside headings, tags and destinations of links."""
    lines = (line for line in markdown.split("\n") if not line.startswith("#"))
    return letters(_MARKUP.sub("", "\n".join(lines)))


class HostStubs:
    """How often the HTML of a host's Markdown was requested and was fuller, and how large its Markdown is.

    The size that an earlier run learned holds for the whole of a run. Before there is one it is that of the texts whose
    checksums are lowest: which those are does not depend on the order in which pages come.

    Stubs ("short", "unfilled") and other pages ("part", "small") are counted apart: that one of them does not pay says
    nothing of the other.
    """

    __slots__ = ("_fuller", "_requested", "_sizes", "_typical")

    def __init__(self, requested: Sequence[int] = (0, 0), fuller: Sequence[int] = (0, 0), typical: int = 0):
        self._requested, self._fuller, self._typical = list(requested), list(fuller), typical
        self._sizes: dict[int, int] = {}
        """Sizes by the checksum of the text."""

    @property
    def typical(self) -> int:
        """Characters of the host's typical Markdown, as an earlier run or this one learned them; 0 for unknown."""
        return self._typical or self._median

    @property
    def _median(self) -> int:
        return int(median(self._sizes.values())) if len(self._sizes) >= SIBLINGS else 0

    def kind_of(self, markdown: str) -> Stub | None:
        """Return why Markdown of the host may be a stub, and count its size."""
        found = stub(markdown, self.typical)
        self._sizes[zlib.crc32(markdown.encode("utf-8", "replace"))] = len(markdown)
        if len(self._sizes) > MAX_SIBLINGS:
            del self._sizes[max(self._sizes)]
        return found

    def is_open(self, markdown: str) -> bool:
        """Say whether it takes the sizes of more pages to know that Markdown of the host is "small" or is not."""
        return not self._typical and stub(markdown, sys.maxsize) == "small"

    def pays(self, kind: Stub) -> bool:
        """Say whether the HTML of one more page is worth a request."""
        requested, fuller = self._requested[_is_other(kind)], self._fuller[_is_other(kind)]
        if fuller == 0:
            return requested < PROBES
        return requested < 2 * PROBES or fuller >= RARELY * requested

    def report(self, kind: Stub, *, fuller: bool) -> None:
        """Count what came of a request."""
        self._requested[_is_other(kind)] += 1
        self._fuller[_is_other(kind)] += fuller

    def as_list(self) -> list[int]:
        """Return what the store remembers: requested and fuller of stubs, of other pages, and the typical size."""
        typical = self._median or self._typical
        return [self._requested[0], self._fuller[0], self._requested[1], self._fuller[1], typical]

    @classmethod
    def from_list(cls, data: object) -> HostStubs:
        """Rebuild from `as_list`; a host where it never paid is requested once more in each run."""
        if not (
            isinstance(data, list) and len(data) in {2, 5} and all(type(number) is int for number in data)
        ):
            return cls()
        counts = [*data, 0, 0, 0][:5]
        requested, fuller = counts[0:4:2], counts[1:4:2]
        limited = [
            min(was, PROBES - 1) if paid == 0 else was for was, paid in zip(requested, fuller, strict=True)
        ]
        return cls(limited, fuller, counts[4])


def _is_other(kind: Stub) -> bool:
    return kind in {"part", "small"}


# Pages that break off without a sign. No Scrapy here.
# A body with the Content-Length of its half looks whole. `</html>` may be left out (HTML, section 13.1.2.4), so its
# absence says nothing of a page by itself: it does where the page had one. The same holds for the line end that
# closes a file of Markdown; and a text breaks off where the stored one went on in the middle of a line.

END_TAG = b"</html"
_LAST_BYTES = 1024
"""Where an end tag stands, nearly always: a page of 96 KB in lower case takes 0.1 ms."""


def has_end(body: bytes, kind: Kind) -> bool | None:
    r"""Say whether HTML has its end tag, Markdown its last line end; None for what has no end.

    >>> has_end(b"<html><p>Text</HTML>", "html"), has_end(b"<html><p>Te", "html"), has_end(b"# Text\n", "markdown")
    (True, False, True)
    """
    if kind == "html":
        return END_TAG in body[-_LAST_BYTES:].lower() or END_TAG in body.lower()
    return body.endswith(b"\n") if kind == "markdown" else None


TAIL_WORDS = 8
"""Words at the end of a text that are looked for in the stored one."""


def breaks_off(before: str, now: str) -> bool:
    r"""Say whether a text ends in the middle of a line of the stored one.

    >>> breaks_off("# Setup\n\nInstall it.\n\nRun it now.\n", "# Setup\n\nInstall it.\n\nRun i\n")
    True
    >>> breaks_off("# Setup\n\nInstall it.\n\nRun it now.\n", "# Setup\n\nInstall it.\n")
    False
    """
    before, now = before.rstrip(), now.rstrip()
    if not now or len(now) >= len(before):
        return False
    if before.startswith(now):
        return before[len(now)] != "\n"
    begin, *words = now.rsplit(None, TAIL_WORDS)
    tail = now[len(begin) :].lstrip()
    at = before.find(tail) if len(words) == TAIL_WORDS else -1
    while at >= 0:
        end = at + len(tail)
        if end < len(before) and before[end] != "\n":
            return True
        at = before.find(tail, end)
    return False


class MissingEnds:
    """The stored pages that came without their end, see `has_end`, each with its number of such runs in a row.

    Args:
        before: `counts` of the run before this one.
        runs: runs in a row after which a page is believed, as a site may stop to write it; 0 for never.
    """

    def __init__(self, before: Mapping[bytes, int], runs: int):
        self._before = before
        self._runs = runs
        self.counts = dict(before)

    def breaks_off(self, key: bytes, body: bytes, kind: Kind) -> bool:
        """Say whether a body is only the beginning of a stored page, which had its end."""
        times = 0 if has_end(body, kind) else self._before.get(key, 0) + 1
        if times == 0 or (self._runs and times >= self._runs):
            self.counts.pop(key, None)
            return False
        self.counts[key] = times
        return True


# What is no documentation: the reasons a converted page is dropped. Pure.

MISSING_TITLE = re.compile(
    r"\A\W*(?:(?:error\W*)?404\b|(?:page|site|document|content|file) (?:was |could )?not (?:be )?found|not found\W*\Z"
    r"|(?:oops|sorry|whoops)\b.{0,40}\bnot? (?:be )?found|page (?:does not|doesn.t) exist|nothing (?:to see )?here)",
    re.IGNORECASE,
)
"""Titles of pages that a server shows, with status 200, for a page it does not have."""

MAX_MISSING_CHARACTERS = 1500
"""Maximum length in characters of a page that says that it is missing; longer ones are about missing pages."""


def drop_reason(content: str, title: str | None, *, min_characters: int) -> Filtered | None:
    """Return the reason for a document that is dropped, or None.

    Args:
        content: Markdown.
        title: the document's title.
        min_characters: minimum number of characters that are not white space.
    """
    characters = (
        len("".join(content.split())) if len(content) < 4 * min_characters + 64 else min_characters + 1
    )
    if characters < min_characters or not content or content.isspace():
        return Filtered("empty", f"fewer than {min_characters} characters")
    if title and len(content) < MAX_MISSING_CHARACTERS and MISSING_TITLE.search(title):
        return Filtered("soft-404", f"status 200, but titled {title!r}")
    return None
