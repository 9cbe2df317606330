"""Pages of full-text files: how workers read them, and which files are believed. No Scrapy.

A worker reads a page, makes its links absolute, and derives all that is kept of its text. What its relative links begin
at is pickled for the workers once the first pages of the file have shown it. A page whose links need more than that
comes back as a `Draft`, and is finished in the crawling process.

A file may be built by another job than the pages, two builds late, or say less than they do. Each crawl requests a few
of its pages and compares them (`content/judge.py`). A file that is not believed stays so: its pages are crawled, and it
is used only for those that are not found.
"""

from __future__ import annotations

import hashlib
import html
import pickle
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmsspider.content import judge
from llmsspider.content.links import Joiner
from llmsspider.content.markdown import Draft, draft
from llmsspider.content.markdown.commonmark import code_languages
from llmsspider.crawl.link_bases import Base, LinkBases, UnsettledError
from llmsspider.crawl.pages import with_valid_urls
from llmsspider.errors import ConversionError, TooLargePageError
from llmsspider.items import Digest, Page, raw_hash
from llmsspider.site import llmsfull
from llmsspider.site.llmsfull import FullPage
from llmsspider.site.llmsfull_marks import HEADING
from llmsspider.site.llmsfull_rules import normal_title
from llmsspider.web.urls import page_key

if TYPE_CHECKING:
    from llmsspider.crawl.state import RunState
    from llmsspider.site.discovered import Discovery


# --- how pages are read ---


@dataclass(slots=True, frozen=True)
class Piece:
    """The text of a page of a full-text file, and its address."""

    text: str
    url: str
    base: str | None = None  # the URL that its links are relative to, None where that is to be found out
    bases: Path | None = None  # the file of `keep_bases`, None where a worker cannot know what links begin at


@dataclass(slots=True, frozen=True)
class ReadPiece:
    """A page of a full-text file as it was read."""

    page: Page  # with valid URLs only
    digest: Digest  # of its Markdown
    raw_hash: str  # SHA-256 in hex of the text that it was read from
    base: Base | None = None  # what its relative links begin at, None where that makes no difference


def read_pieces(pieces: Sequence[Piece]) -> list[ReadPiece | Draft | TooLargePageError]:
    """Read pages of full-text files, in a worker; a `Draft` is one whose links the crawl has to join."""
    return list(map(_read, pieces))


def _read(piece: Piece) -> ReadPiece | Draft | TooLargePageError:
    drafted = draft(own_text(piece.text))
    try:
        if piece.base is not None:
            return finished(drafted, Joiner(piece.base).join, piece.text)
        bases = _bases(piece.bases) if piece.bases is not None else None
        links = bases.place(piece.url, piece.url, "llms-full", drafted.hrefs) if bases is not None else None
        if bases is None or links is None or not bases.is_settled(links):
            return drafted
        base = bases.base_of(links) if links.differs else None
        return finished(drafted, bases.join(links), piece.text, base)
    except UnsettledError:
        return drafted
    except TooLargePageError as error:
        return error


def own_text(text: str) -> str:
    r"""Return the text of a page without what generators put above it: its title, where it has that itself.

    >>> own_text("# Use\n\n\n## Use\n\nText.\n"), own_text("# Use\n\n## Users\n")
    ('# Use\n\nText.\n', '# Use\n\n## Users\n')
    """
    first, _, below = text.lstrip("\n").partition("\n")
    second, _, rest = below.lstrip("\n").partition("\n")
    titles = [HEADING.match(line) for line in (first, second)]
    is_repeated = titles[0] and titles[1] and normal_title(titles[0][2]) == normal_title(titles[1][2]) != ""
    return f"{first}\n\n{rest.lstrip(chr(10))}" if is_repeated else text


def finished(drafted: Draft, join: Callable[[str], str], text: str, base: Base | None = None) -> ReadPiece:
    """Return a page with the links that `join` makes absolute; raises `TooLargePageError`."""
    page = with_valid_urls(drafted.page(join))
    digest = Digest.of(page.markdown, code_languages(page.markdown))
    return ReadPiece(page, digest, raw_hash(text.encode("utf-8", "surrogatepass")), base)


def keep_bases(run: RunState, bases: LinkBases) -> Path | None:
    """Write for the workers what links are known to be relative to now; None where that is not known or not written."""
    if run.site.is_shown_elsewhere:
        return None
    with suppress(OSError):  # a full disk: the crawling process joins the links
        return run.spool.keep(pickle.dumps(bases, pickle.HIGHEST_PROTOCOL))
    return None


@lru_cache(maxsize=1)
def _bases(path: Path) -> LinkBases:
    found: LinkBases = pickle.loads(path.read_bytes())  # noqa: S301  # written by `keep_bases`
    return found


# --- which files are believed: a few of their pages are compared with those of the site ---

Reader = Callable[[str], Awaitable[Page | None]]
"""Returns a page as its HTML is now; None where there is none."""

ALIKE = 0.5
"""Least share of words that two states of a page have in common; with less it is another page: a wall, an error."""

_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<!--[^<>]*-->")
_DESTINATION = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"[^\W_]+")


async def judge_files(run: RunState, read: Reader, discovery: Discovery) -> None:
    """Compare a few pages of each full-text file with the site; say and count a file that is not believed."""
    room = judge.NIGHTLY
    for full_text in discovery.full_texts:
        samples = run.site.judged.of("full text", full_text.url)
        if full_text.report is None or not full_text.is_usable or samples.is_html:
            continue
        named = {run.page_of(url): url for url in full_text.report.urls}
        pages = [url for url in named if _is_of_file(run, url)]
        most = judge.SAMPLES if samples.decided is None else room
        asked = chosen(pages, sorted(samples.differing), run.known.number, most)
        room -= len(asked)
        held: dict[str, str] = {}  # the first text of each
        with full_text.answer.open() as body:
            for piece in llmsfull.cut(body, full_text.report) if asked else ():
                url = run.page_of(piece.url) if isinstance(piece, FullPage) and piece.url else ""
                if url in asked and isinstance(piece, FullPage):
                    held.setdefault(url, piece.text)
        if await _is_worse(run, read, samples, held):
            run.count("full-text/lagging")
            run.note(
                f"{full_text.url} {samples.evidence}: its pages are crawled, and it stands in for those "
                "only that are not there; -a full=true believes it again"
            )


async def _is_worse(run: RunState, read: Reader, samples: judge.FormSamples, held: Mapping[str, str]) -> bool:
    """Compare pages with their texts in a file, and say whether that decides against the file."""
    words: dict[str, tuple[str, str]] = {}
    for url, text in held.items():
        run.count("full-text/samples")
        own, page = (await run.workers.read_texts([text]))[0], await read(url)
        if isinstance(own, ConversionError) or page is None:
            continue
        drafted = own.page(Joiner(url).join)
        lost = frozenset[judge.Loss]()
        with suppress(ConversionError):
            lost = judge.is_worse(drafted, page) - {"links"}  # what they are relative to is not known yet
        run.site.judged.in_vain += not lost
        if samples.decided is not None:
            samples.report_again(lost)
        else:
            samples.report(None if "text" in lost and judge.may_be_stub(drafted.markdown) else lost)
        both = words_of(page.markdown), words_of(drafted.markdown)
        if are_alike(*map(Counter, both)):
            words[url] = _hash_of(both[0]), _hash_of(both[1])
    if samples.lags(words):
        samples.decide(["edits"])
    return bool(samples.is_html)


def _is_of_file(run: RunState, url: str) -> bool:
    """Say whether a page is taken from a file that holds it."""
    state = run.known.state(page_key(url))
    is_free = state is None or state.origin == "llms-full"
    return is_free and run.bounds.refusal(url, listed=True) is None


def chosen(pages: Sequence[str], differing: Sequence[str], number: int, most: int) -> list[str]:
    """Return so many pages of a file to look at in the run of this number: one that differed before, others in turn.

    >>> chosen(["a", "b", "c", "d"], [], 1, 2) != chosen(["a", "b", "c", "d"], [], 2, 2)
    True
    """
    paths = {url: urlsplit(url).path.encode("utf-8", "surrogatepass") for url in pages}
    order = sorted(paths, key=lambda url: hashlib.sha256(paths[url]).digest())
    again = paths.keys() & {differing[number % len(differing)]} if differing else ()
    turn = [order[(number * most + place) % len(order)] for place in range(most)] if order else []
    return list(dict.fromkeys([*again, *turn]))[: min(most, max(1, len(pages) // 4))]


def words_of(markdown: str) -> list[str]:
    r"""Return the words that a reader sees, whatever Markdown is around them, without the title.

    >>> words_of("# A\n\nSee [the *b*](/x) &amp; `c\\_d`.\n")
    ['see', 'the', 'b', 'c', 'd']
    """
    lines = own_text(markdown).split("\n")
    title = next((line for line in lines if line.startswith("# ")), "")
    kept = (line for line in lines if line != title and not line.lstrip().startswith(("```", "~~~", ":::")))
    text = _TAG.sub(" ", _DESTINATION.sub("]", "\n".join(kept)))
    return [word.lower() for word in _WORD.findall(html.unescape(text))]


def _hash_of(words: list[str]) -> str:
    return hashlib.sha256(" ".join(sorted(words)).encode()).hexdigest()[:32]


def are_alike(one: Counter[str], other: Counter[str]) -> bool:
    """Say whether two texts may be states of one page."""
    return 2 * (one & other).total() >= ALIKE * (one.total() + other.total())
