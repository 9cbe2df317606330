"""Author's Markdown that is a stub of its page: too short, or made of what its generator has not filled in. Pure.

Its page is requested as HTML once, and the fuller of the two is the document (docs/explanation/markdown-forms.md). What
a host has taught about that is kept in a `HostStubs`. `callbacks.reading` acts on it.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Sequence
from statistics import median
from typing import Literal

from llmsspider.content.markdown.commonmark import letters_of

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
    letters, unfilled, is_part = 0, False, False
    fence, is_filled, has_options = "", False, False
    for line in markdown.split("\n"):
        text = line.strip()
        if fence:
            is_end = text == fence
            letters += 0 if is_end or is_filled else letters_of(text)
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
            letters += 0 if text.startswith("#") else letters_of(_MARKUP.sub("", text))
        if letters >= PART:
            return None
    if letters < SHORT:
        return "unfilled" if unfilled else "short"
    if is_part and letters < PART:
        return "part"
    return "small" if letters < SMALL and is_small(markdown, typical) else None


def is_small(markdown: str, typical: int) -> bool:
    """Say whether Markdown is far smaller than the host's typical one."""
    return len(markdown) * TENTH < typical


def stub_of_full_text(markdown: str) -> Stub | None:
    """Return why a page of a full-text file may be a stub of its page, or None where it is not."""
    kind = stub(markdown)
    return None if kind == "short" and not is_tiny(markdown) else kind


def is_tiny(markdown: str) -> bool:
    """Say whether a page of a full-text file has next to no text."""
    return len(markdown) < 4 * TINY + 400 and _letters_outside_markup(markdown) < TINY


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


def is_fuller(html: str, markdown: str) -> bool:
    """Say whether the Markdown made from a page's HTML has far more text than the author's Markdown of it.

    >>> is_fuller("word " * 200, "# Changes"), is_fuller("Home Guide Changes " * 3, "# Changes")
    (True, False)
    """
    return _letters_outside_markup(html) >= FULLER * _letters_outside_markup(markdown) + MORE


def _letters_outside_markup(markdown: str) -> int:
    """Return how many letters and digits a text has outside headings, tags and destinations of links."""
    lines = (line for line in markdown.split("\n") if not line.startswith("#"))
    return letters_of(_MARKUP.sub("", "\n".join(lines)))


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

    def judge(self, markdown: str) -> tuple[Stub | None, bool]:
        """Judge Markdown of the host, and count its size.

        Returns:
            Why it may be a stub as far as is known now; whether the sizes of more pages decide that it is "small".
        """
        found = stub(markdown, sys.maxsize)
        is_open = found == "small" and not self._typical
        if found == "small" and not is_small(markdown, self.typical):
            found = None
        self._sizes[zlib.crc32(markdown.encode("utf-8", "replace"))] = len(markdown)
        if len(self._sizes) > MAX_SIBLINGS:
            del self._sizes[max(self._sizes)]
        return found, is_open

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
