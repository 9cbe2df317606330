"""Pages of full-text files: how workers read them, and which files lag behind the pages that they hold. No Scrapy.

A worker reads a page, makes its links absolute, and derives all that is kept of its text. What its relative links begin
at is pickled for the workers once the first pages of the file have shown it. A page whose links need more than that
comes back as a `Draft`, and is finished in the crawling process.

A file may be built by another job than the pages, two builds late. A crawl that has stored pages from it requests a few
of them in each run and compares their text. A file that was found to lag stays so: its pages are crawled, and it is
used only for those that are not found.
"""

from __future__ import annotations

import hashlib
import html
import pickle
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from llmsspider.content.judge import may_be_stub
from llmsspider.content.links import Joiner
from llmsspider.content.markdown import Draft, draft
from llmsspider.content.markdown.code_languages import code_languages
from llmsspider.crawl.link_bases import Base, LinkBases, UnsettledError
from llmsspider.crawl.pages import PageResponse, read_page, with_valid_urls
from llmsspider.crawl.records import utc_now
from llmsspider.errors import ConversionError, TooLargePageError
from llmsspider.items import Digest, Page, raw_hash
from llmsspider.site import llmsfull
from llmsspider.site.llmsfull import FullPage
from llmsspider.site.llmsfull_marks import HEADING
from llmsspider.site.llmsfull_rules import normal_title
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from llmsspider.crawl.state import RunState
    from llmsspider.site.discovered import Discovery, Fetch, FetchResult


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
    may_be_stub: bool  # its HTML may say more
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
    digest, is_stub = Digest.of(page.markdown, code_languages(page.markdown)), may_be_stub(page.markdown)
    return ReadPiece(page, digest, raw_hash(text.encode("utf-8", "surrogatepass")), is_stub, base)


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


# --- which files lag: the words of a few pages are compared with those of the site ---

MAX_SAMPLES = 5
"""Maximum number of pages of a file that are requested in one run, and no more than a quarter of them."""
BY_DATE = 3
"""Number of them that are the pages changed last by the sitemap."""
FAITHFUL = 2
"""Least number of samples that agree word for word for another one that differs to show that the file lags."""
ALIKE = 0.5
"""Least share of words that two states of a page have in common; with less it is another page: a wall, an error."""
KEPT_SAMPLES = 200
"""Maximum number of samples of a file that are stored."""
SLACK_SECS = 3600
"""Seconds that the dates of the files of one build may differ by."""
ACCEPT = "text/markdown, text/html;q=0.9, */*;q=0.1"

_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<!--[^<>]*-->")
_DESTINATION = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"[^\W_]+")


class Sample(NamedTuple):
    """A page as it is and as the file holds it, each as the hash of its words."""

    url: str
    live: str
    file: str
    is_newer: bool = False  # the page has a later date


@dataclass(slots=True)
class LaggingFiles:
    """The full-text files of a source that lag, and what was seen of the others; by URL.

    `samples` maps a file to the two hashes of each page that was compared, by the page's URL. `pages` are the keys of
    the pages of lagging files in this run.
    """

    files: set[str] = field(default_factory=set)
    samples: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    pages: set[bytes] = field(default_factory=set)

    @classmethod
    def from_json(cls, found: Any) -> LaggingFiles:
        """Read what `to_json` wrote; anything else gives an empty value."""
        if not isinstance(found, dict):
            return cls()
        stored = found.get("samples", {}).items()
        samples = {file: {url: (*hashes,) for url, hashes in pages.items()} for file, pages in stored}
        return cls(set(found.get("files", ())), samples)

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps."""
        kept = {file: dict(list(pages.items())[-KEPT_SAMPLES:]) for file, pages in self.samples.items()}
        return {"files": sorted(self.files), "samples": kept}

    def compare(self, file: str, samples: Sequence[Sample]) -> bool:
        """Compare the samples of a run with earlier ones; return whether they show that the file lags.

        A page whose text differs from the file's shows it where the page has a later date, where other pages have the
        file's text word for word, where it changed since the last sample and the file did not, or where the file has
        now the text that the page had then. By itself it does not: many files are made from another form of the page.
        """
        known = self.samples.setdefault(file, {})
        now = {sample.url: (sample.live, sample.file) for sample in samples}
        faithful = sum(live == held for live, held in (known | now).values())
        lags = False
        for sample in samples:
            live, held = known.pop(sample.url, ("", ""))
            known[sample.url] = now[sample.url]
            came_after = live not in ("", held) and sample.file == live
            only_page_changed = live not in ("", sample.live) and held == sample.file
            differs = sample.live != sample.file
            shown = sample.is_newer or faithful >= FAITHFUL or only_page_changed
            lags = lags or came_after or (differs and shown)
        if lags:
            self.files.add(file)
            del self.samples[file]
        return lags


async def find_lagging(
    run: RunState, lagging: LaggingFiles, number: int, fetch: Fetch, discovery: Discovery
) -> None:
    """Compare a few pages of each full-text file with the site; a file that lags is logged once, and counted."""
    dates = {identity(run.page_of(seed.url)): seed.lastmod for seed in discovery.seeds if seed.lastmod}
    for full_text in discovery.full_texts:
        if full_text.report is None or not full_text.is_usable or full_text.url in lagging.files:
            continue
        named = {run.page_of(url): url for url in full_text.report.urls}
        pages = [url for url in named if _is_of_file(run, url)]
        lastmod = {url: dates[identity(url)] for url in pages if identity(url) in dates}
        wanted = {named[url]: url for url in chosen(pages, lastmod, number)} if pages else {}
        held: dict[str, str] = {}  # the first text of each
        with full_text.answer.open() as body:
            for piece in llmsfull.cut(body, full_text.report) if wanted else ():
                if isinstance(piece, FullPage) and piece.url in wanted:
                    held.setdefault(wanted[piece.url], piece.text)
        samples = []
        for url, text in held.items():
            run.count("full-text/samples")
            answer = await fetch(url, accept=ACCEPT)
            words = await _words(run, text, url, answer)
            if words is not None and are_alike(*words):
                newer = is_newer(answer.headers, lastmod.get(url), full_text.answer.headers)
                samples.append(Sample(url, _hash_of(words[0]), _hash_of(words[1]), newer))
        if lagging.compare(full_text.url, samples):
            run.count("full-text/lagging")
            run.note(
                f"{full_text.url} lags behind its pages: they are crawled, and it stands in for those only "
                "that are not there; -a full=true believes it again"
            )


def _is_of_file(run: RunState, url: str) -> bool:
    """Say whether a page is taken from a file that holds it."""
    state = run.known.state(page_key(url))
    is_free = state is None or state.origin == "llms-full"
    return is_free and run.bounds.refusal(url, listed=True) is None


async def _words(
    run: RunState, text: str, url: str, answer: FetchResult
) -> tuple[Counter[str], Counter[str]] | None:
    """Return the words of a page as it is now and as the file holds it; None where the page does not come."""
    if not answer.ok or identity(answer.final_url) != identity(url):
        return None
    with answer.open() as opened:
        body = opened.read()
    answered = PageResponse(url, answer.final_url, answer.status, dict(answer.headers), body, utc_now())
    try:
        live = await read_page(answered, run.workers, listed=True)
    except ConversionError:
        return None
    (held,) = await run.workers.read_texts([text])
    if isinstance(held, ConversionError):
        return None
    return Counter(words_of(live.page.markdown)), Counter(words_of(held.page(Joiner(url).join).markdown))


def chosen(pages: Sequence[str], dates: Mapping[str, str], number: int) -> list[str]:
    """Return the pages of a file to look at in the run of this number: those changed last, and others in turn.

    `dates` has the `lastmod` of the sitemap, by URL, as far as there is one.

    >>> chosen(["a", "b", "c", "d"], {}, 1) != chosen(["a", "b", "c", "d"], {}, 2)
    True
    """
    most = min(MAX_SAMPLES, max(1, len(pages) // 4))
    dated = sorted((page for page in pages if page in dates), key=lambda page: dates[page], reverse=True)
    last = dated[: min(BY_DATE, most)] if len(set(dates.values())) > 1 else []
    paths = {url: urlsplit(url).path.encode("utf-8", "surrogatepass") for url in set(pages) - set(last)}
    others = sorted(paths, key=lambda url: hashlib.sha256(paths[url]).digest())
    begin, room = number * most, most - len(last)
    return last + [others[(begin + place) % len(others)] for place in range(min(room, len(others)))]


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


def _hash_of(words: Counter[str]) -> str:
    lines = "\n".join(f"{word} {n}" for word, n in sorted(words.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:32]


def are_alike(one: Counter[str], other: Counter[str]) -> bool:
    """Say whether two texts may be states of one page."""
    return 2 * (one & other).total() >= ALIKE * (one.total() + other.total())


def is_newer(page: Mapping[str, str], lastmod: str | None, file: Mapping[str, str]) -> bool:
    """Say whether a page has a later date than a file: its Last-Modified, or its `lastmod` where it has none of use.

    `page` and `file` are the headers of their answers, with lower-case names; a Last-Modified of this very moment says
    nothing. `lastmod` is a W3C date.
    """
    dates = page.get("last-modified"), page.get("date"), file.get("last-modified")
    modified, asked, of_file = (_seconds(parsedate_to_datetime, text) for text in dates)
    if modified is not None and asked is not None and asked - modified < SLACK_SECS:
        modified = None
    date = modified if modified is not None else _seconds(datetime.fromisoformat, lastmod)
    return date is not None and of_file is not None and date > of_file + SLACK_SECS


def _seconds(read: Callable[[str], datetime], text: str | None) -> float | None:
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        found = read((text or "").strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None
