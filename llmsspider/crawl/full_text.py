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
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmsspider.content.judge import Compared
from llmsspider.content.links import Joiner
from llmsspider.content.markdown import Draft, draft
from llmsspider.content.markdown.commonmark import code_languages
from llmsspider.crawl.link_bases import Base, LinkBases, UnsettledError
from llmsspider.crawl.pages import with_valid_urls
from llmsspider.crawl.second_requests import NIGHTLY, SAMPLES, FormSamples
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

Compare = Callable[[str, Page], Awaitable[Compared | None]]
"""Compares the text of a page with its HTML as that is now; None where there is none."""

_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<!--[^<>]*-->")
_DESTINATION = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"[^\W_]+")


async def judge_files(run: RunState, compare: Compare, discovery: Discovery) -> None:
    """Compare a few pages of each full-text file with the site; say and count what is not believed, or again."""
    room = NIGHTLY
    for full_text in discovery.full_texts:
        samples = run.site.judged.of("full text", full_text.url)
        if full_text.report is None or not full_text.is_usable:
            continue
        pages = [page for page in map(run.page_of, full_text.report.urls) if _is_of_file(run, page, samples)]
        most, first = (
            (room, samples.again(run.known.number)) if samples.good or samples.worse else (SAMPLES, [])
        )
        if (
            samples.is_html and (runs := run.store.runs())[1:]
        ):  # what was edited shows whether it comes in time
            first += [changed.record.url for changed in run.store.changes_since(runs[-2].seq_before)]
        asked = chosen(pages, first, run.known.number, most)
        room -= len(asked)
        held: dict[str, str] = {}  # the first text of each
        with full_text.answer.open() as body:
            for piece in llmsfull.cut(body, full_text.report) if asked else ():
                url = run.page_of(piece.url) if isinstance(piece, FullPage) and piece.url else ""
                if url in asked and isinstance(piece, FullPage):
                    held.setdefault(url, piece.text)
        found: dict[str, Compared] = {}
        for url, drafted in zip(held, await run.workers.read_texts([*held.values()]), strict=True):
            run.count("full-text/samples")
            if not isinstance(drafted, ConversionError):
                compared = await compare(url, drafted.page(Joiner(url).join))
                if compared is not None:  # what its links are relative to is not known yet
                    found[url] = compared._replace(lost=compared.lost - {"links"})
        was = bool(samples.is_html)
        samples.report_all(found)
        if samples.is_html is not was and (was or samples.is_html):
            run.count("full-text/lagging", samples.is_html is True)
            then = "its pages are crawled, and it stands in for those only that are not there"
            run.note(f"{full_text.url} {samples.evidence}: {'it is believed again' if was else then}")


def _is_of_file(run: RunState, url: str, samples: FormSamples) -> bool:
    """Say whether a page is taken from a file that holds it, or would be if the file were believed."""
    state = run.known.state(page_key(url))
    is_free = state is None or samples.is_html or state.origin == "llms-full"
    return is_free and run.bounds.refusal(url, listed=True) is None


def chosen(pages: Sequence[str], first: Sequence[str], number: int, most: int) -> list[str]:
    """Return so many pages to look at in the run of this number, of few pages one: `first` ones, then others in turn.

    >>> chosen(["a", "b", "c", "d"], [], 1, 2) != chosen(["a", "b", "c", "d"], [], 2, 2)
    True
    """
    paths = {url: urlsplit(url).path.encode("utf-8", "surrogatepass") for url in pages}
    order = sorted(paths, key=lambda url: hashlib.sha256(paths[url]).digest())
    turn = [order[(number * most + place) % len(order)] for place in range(most)] if order else []
    return list(dict.fromkeys([*(url for url in first if url in paths), *turn]))[
        : min(most, max(1, len(pages) // 4))
    ]


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
