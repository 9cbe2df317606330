"""Requests for what may not be worth one: HTML of Markdown that is there already, and links that were dead. Pure.

Author's Markdown may be a stub of its page: too short, or made of what its generator has not filled in. Its page is
requested as HTML once, and the fuller of the two is the document (docs/explanation/markdown-forms.md); what a host has
taught about that is kept in a `HostStubs`. Markdown carries no sidebar: a few pages are fetched as HTML for its links
(`LinkSources`). Links that were dead are skipped while the pages that show them do not change (`DeadLinks`); those that
were seen lately (`SeenLinks`) are looked at once.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

from llmsspider.content.markdown.commonmark import letters_of
from llmsspider.web.urls import directory, host, identity

# --- HTML of stubs ---

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
    r"""Return why an author's Markdown may be a stub of its page, or None where it is not.

    `typical` is the number of characters of the host's typical Markdown, 0 where that is not known.

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
    return "small" if letters < SMALL and len(markdown) * TENTH < typical else None


def stub_of_full_text(markdown: str) -> Stub | None:
    """Return why a page of a full-text file may be a stub of its page; a short one only with next to no text."""
    kind = stub(markdown)
    is_tiny = len(markdown) < 4 * TINY + 400 and _letters_outside_markup(markdown) < TINY
    return None if kind == "short" and not is_tiny else kind


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

    __slots__ = ("_counts", "_sizes", "_typical")

    def __init__(self, counts: Sequence[Sequence[int]] = ((0, 0), (0, 0)), typical: int = 0):
        self._counts, self._typical = [list(one) for one in counts], typical
        """How many were requested and fuller: of stubs, of other pages."""
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
        """Count Markdown by its size; return why it may be a stub, and whether sizes yet to come decide that."""
        found = stub(markdown, sys.maxsize)
        is_open = found == "small" and not self._typical
        if found == "small" and len(markdown) * TENTH >= self.typical:
            found = None
        self._sizes[zlib.crc32(markdown.encode("utf-8", "replace"))] = len(markdown)
        if len(self._sizes) > MAX_SIBLINGS:
            del self._sizes[max(self._sizes)]
        return found, is_open

    def pays(self, kind: Stub) -> bool:
        """Say whether the HTML of one more page is worth a request."""
        requested, fuller = self._counts[kind in {"part", "small"}]
        if fuller == 0:
            return requested < PROBES
        return requested < 2 * PROBES or fuller >= RARELY * requested

    def report(self, kind: Stub, *, fuller: bool) -> None:
        """Count what came of a request."""
        counts = self._counts[kind in {"part", "small"}]
        counts[:] = counts[0] + 1, counts[1] + fuller

    def as_list(self) -> list[int]:
        """Return what the store remembers: requested and fuller of stubs, of other pages, and the typical size."""
        return [*self._counts[0], *self._counts[1], self._median or self._typical]

    @classmethod
    def from_list(cls, data: object) -> HostStubs:
        """Rebuild from `as_list`; a host where it never paid is requested once more in each run."""
        if not (isinstance(data, list) and len(data) in {2, 5} and all(type(one) is int for one in data)):
            return cls()
        *counts, typical = [*data, 0, 0, 0][:5]
        pairs = counts[:2], counts[2:]
        return cls([[min(was, PROBES - 1) if paid == 0 else was, paid] for was, paid in pairs], typical)


# --- HTML for the links of its navigation ---
# The start page, section roots, one page in each directory, and samples for as long as they still show unseen URLs.

MIN_SAMPLES = 3
"""Pages fetched as HTML besides start page and section roots; so many in a row that show nothing new are enough."""

MAX_SHARE = 0.05
"""Share of the pages seen so far that may be fetched twice; section roots above `MAX_ROOTS` count into it."""

MAX_ROOTS = 9
"""Section roots always fetched as HTML."""


class LinkSources:
    """The policy of one crawl: `wanted` is called once for each Markdown page, `report` for each link source.

    Those of the last complete crawl (`earlier`, by identity) are requested again, since they can be revalidated; of the
    other pages only new ones are candidates.
    """

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self._earlier = frozenset(earlier)
        self._pages = 0
        self._roots = 0
        self._samples = 0
        self._without_new = 0
        self.requested: set[str] = set()
        """The pages that were wanted, by identity."""
        self._sampled_directories: set[str] = set()

    def wanted(self, url: str, *, start: bool = False, section_root: bool = False, new: bool = True) -> bool:
        """Say whether to fetch this page's HTML as well; `new` pages were not there in the last crawl."""
        self._pages += 1
        page = identity(url)
        if page in self.requested:
            return False
        if self._earlier and not new:
            wanted = start or page in self._earlier
        else:
            place = f"{host(url)}{directory(page.rstrip('/'))}"
            wanted = start or self._takes(place, section_root=section_root)
            if wanted:
                self._sampled_directories.add(place)
        if wanted:
            self.requested.add(page)
        return wanted

    def take(self, url: str) -> None:
        """Count a page whose HTML was read before its Markdown as a link source, for the next crawl."""
        self.requested.add(identity(url))

    def _takes(self, place: str, *, section_root: bool) -> bool:
        is_known = place in self._sampled_directories
        if section_root and not is_known and self._roots < MAX_ROOTS:
            self._roots += 1
            return True
        is_enough = self._samples >= MIN_SAMPLES and is_known and self._without_new > 0
        allowed = max(MIN_SAMPLES, int(self._pages * MAX_SHARE))
        if is_enough or self._samples >= allowed or self._without_new >= MIN_SAMPLES:
            return False
        self._samples += 1
        return True

    def report(self, unseen: int) -> None:
        """Count how many URLs a link source showed that nothing had shown before."""
        self._without_new = 0 if unseen else self._without_new + 1


# --- links that were dead when a crawl followed them ---
# An unchanged page shows the links that it showed when it was stored, whose dead ones were dead then. A dead link is
# requested again where a new or changed page shows it, and after `MAX_CRAWLS` crawls that skipped it. Listed pages are
# seeds, and always requested.

MAX_CRAWLS = 6
"""Crawls in a row that skip a dead link; the next one requests it, as the page may exist by then."""

MAX_STORED = 5000
"""Maximum number of dead links of a source that are stored."""


class DeadLinks:
    """The dead links of one source, by identity, each with the number of crawls that have skipped it.

    `stored` is what the last crawl kept (`to_keep`). Without `trusted` (`full=true`) all of them are requested.
    """

    def __init__(self, stored: object = None, *, trusted: bool = True) -> None:
        items = stored.items() if isinstance(stored, dict) else ()
        self._before = {url: n for url, n in items if isinstance(url, str) and isinstance(n, int)}
        self._trusted = trusted
        self._now: dict[str, int] = {}
        self.skipped: dict[str, str] = {}
        """Links skipped in this crawl, as pages spell them, and their identity; a changed page may request one."""

    def skip(self, link: str, page: str) -> bool:
        """Say whether to skip a link of an unchanged page, and remember it then; `page` is what the link stands for."""
        for known in (identity(page), identity(link)) if self._trusted and self._before else ():
            if self._before.get(known, MAX_CRAWLS) < MAX_CRAWLS:
                self.skipped[link] = known
                return True
        return False

    def was_dead(self, url: str) -> bool:
        """Say whether a page was dead in an earlier run, or is now."""
        return identity(url) in self._before or identity(url) in self._now

    def died(self, *urls: str) -> None:
        """Remember a link whose request was answered with 404, by each of its addresses."""
        self._now.update(dict.fromkeys(map(identity, urls), 0))

    def to_keep(self, *, whole: bool) -> dict[str, int]:
        """Return what the next crawl needs; one that did not see the `whole` site keeps the links it did not meet."""
        skipped = {known: self._before[known] + 1 for known in self.skipped.values()}
        kept = {**({} if whole else self._before), **skipped, **self._now}
        return dict(list(kept.items())[-MAX_STORED:])


# --- links that were seen already ---

MAX_LINKS_SEEN = 1_000_000
"""Links of which it is remembered that they were seen: about 100 MB. When there are more, the oldest half is forgotten.

One that is seen again then may be counted twice; no page is requested twice (`PageDupeFilter`).
"""


class SeenLinks:
    """The links seen lately, at least the last half of `limit`, by their hash."""

    def __init__(self, limit: int = MAX_LINKS_SEEN):
        self._half = max(limit // 2, 1)
        self._new: set[int] = set()
        self._old: set[int] = set()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def __contains__(self, link: str) -> bool:
        key = hash(link)
        return key in self._new or key in self._old

    def missing(self, links: Iterable[str]) -> list[str]:
        """Return the links that are not among those noted last, in one pass: most links of a page are on others too."""
        return [link for link in links if hash(link) not in self._new]

    def add(self, link: str) -> bool:
        """Note a link, as it is written; return whether it was not noted before."""
        key = hash(link)
        if key in self._new:
            return False
        if len(self._new) >= self._half:
            self._old, self._new = self._new, set()
        is_known = key in self._old
        self._new.add(key)
        return not is_known
