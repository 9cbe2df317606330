"""Full-text files that lag behind the pages they hold, found by comparing a few pages. No Scrapy here."""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llmsspider.crawl.pages import PageResponse, read_page
from llmsspider.crawl.records import utc_now
from llmsspider.errors import ConversionError
from llmsspider.site import llmsfull
from llmsspider.site.llmsfull import FullPage
from llmsspider.web.url_gate import Joiner
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run
    from llmsspider.site.discovery import Discovery, Fetch, FullText
    from llmsspider.store import PageRecord


# Full-text files that lag behind the pages they hold: built by another job, two builds late. Pure.
# A crawl that has stored pages from such a file requests a few of them in each run, and compares their text. A file
# that was found to lag is not believed again: its pages are crawled, and it is used only for those that are not found.

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

_TAG = re.compile(r"<[^<>]*>")
_DESTINATION = re.compile(r"\]\([^()\s]*\)")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Sample:
    """A page as it is and as the file holds it, each as the hash of its words.

    `is_newer` says that it has a later date than the file.
    """

    url: str
    live: str
    file: str
    is_newer: bool = False


@dataclass(slots=True)
class LaggingFiles:
    """The full-text files of a source that lag, and what was seen of the others; by URL.

    `samples` maps a file to the two hashes of each page that was compared, by the page's URL. `pages` are the keys of
    the pages of lagging files, `missing` of those that are not there; they are of one run.
    """

    files: set[str] = field(default_factory=set)
    samples: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    pages: set[bytes] = field(default_factory=set)
    missing: set[bytes] = field(default_factory=set)

    @classmethod
    def from_json(cls, found: Any) -> LaggingFiles:
        """Read what `to_json` wrote; anything else gives an empty value."""
        if not isinstance(found, dict):
            return cls()
        samples = {
            file: {url: (live, held) for url, (live, held) in pages.items()}
            for file, pages in found.get("samples", {}).items()
        }
        return cls(set(found.get("files", ())), samples)

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps."""
        kept = {file: dict(list(pages.items())[-KEPT_SAMPLES:]) for file, pages in self.samples.items()}
        return {"files": sorted(self.files), "samples": kept}

    def compare(self, file: str, samples: Iterable[Sample]) -> bool:
        """Compare the samples of a run with earlier ones; return whether they show that the file lags.

        A page that says other than the file does is such a sign where it has a later date than the file, where other
        pages say the same word for word, where it changed since it was looked at and the file did not, or where the
        file says now what the page said then. By itself it is none: many files are made from another form of the page.
        """
        known = self.samples.setdefault(file, {})
        samples = list(samples)
        now = {sample.url: (sample.live, sample.file) for sample in samples}
        faithful = sum(live == held for live, held in (known | now).values())
        lags = any(self._is_behind(sample, known.get(sample.url), faithful) for sample in samples)
        for url, pair in now.items():
            known.pop(url, None)
            known[url] = pair
        if lags:
            self.files.add(file)
            del self.samples[file]
        return lags

    def _is_behind(self, sample: Sample, before: tuple[str, str] | None, faithful: int) -> bool:
        if before is not None and before[0] != before[1] and sample.file == before[0]:
            return True
        if sample.live == sample.file:
            return False
        alone = before is not None and before[0] != sample.live and before[1] == sample.file
        return sample.is_newer or faithful >= FAITHFUL or alone


def chosen(pages: Sequence[str], dates: Mapping[str, str], number: int) -> list[str]:
    """Return the pages of a file to look at in the run of this number: those changed last, and others in turn.

    Args:
        pages: the URLs of the file's pages.
        dates: the `lastmod` of the sitemap, by URL, as far as there is one.
        number: number of the run.

    >>> chosen(["a", "b", "c", "d"], {}, 1) != chosen(["a", "b", "c", "d"], {}, 2)
    True
    """
    most = min(MAX_SAMPLES, max(1, len(pages) // 4))
    dated = sorted((page for page in pages if page in dates), key=lambda page: dates[page], reverse=True)
    last = dated[: min(BY_DATE, most)] if len(set(dates.values())) > 1 else []
    others = sorted(set(pages) - set(last), key=_shuffled)
    begin, room = number * most, most - len(last)
    return last + [others[(begin + place) % len(others)] for place in range(min(room, len(others)))]


def _shuffled(url: str) -> bytes:
    return hashlib.sha256(urlsplit(url).path.encode("utf-8", "surrogatepass")).digest()


def counted_words(markdown: str) -> Counter[str]:
    r"""Return the words that a reader sees, whatever Markdown is around them, without the title.

    >>> counted_words("# A\n\nSee [the *b*](/x) &amp; `c\\_d`.\n") == counted_words("See the b & c_d.")
    True
    """
    lines = [
        line for line in markdown.split("\n") if not line.lstrip().startswith(("# ", "```", "~~~", ":::"))
    ]
    text = _TAG.sub(" ", _DESTINATION.sub("]", "\n".join(lines)))
    return Counter(word.lower() for word in _WORD.findall(html.unescape(text)))


def hash_of_words(counted: Counter[str]) -> str:
    """Return a hash of words, in hex."""
    return hashlib.sha256(
        "\n".join(f"{word} {n}" for word, n in sorted(counted.items())).encode()
    ).hexdigest()[:32]


def are_alike(one: Counter[str], other: Counter[str]) -> bool:
    """Say whether two texts may be states of one page."""
    return 2 * (one & other).total() >= ALIKE * (one.total() + other.total())


def is_newer(page: Mapping[str, str], lastmod: str | None, file: Mapping[str, str]) -> bool:
    """Say whether a page has a later date than a file: its Last-Modified, or its `lastmod` where it has none of use.

    Args:
        page: headers of the page's answer, with lower-case names; a Last-Modified of this very moment says nothing.
        lastmod: of the sitemap (W3C date).
        file: headers of the file's answer.
    """
    modified, asked = _http_date(page.get("last-modified")), _http_date(page.get("date"))
    of_file = _http_date(file.get("last-modified"))
    if of_file is None:
        return False
    if modified is not None and asked is not None and asked - modified < SLACK_SECS:
        modified = None
    date = modified if modified is not None else _w3c_date(lastmod)
    return date is not None and date > of_file + SLACK_SECS


def _http_date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _w3c_date(text: str | None) -> float | None:
    try:
        found = datetime.fromisoformat((text or "").strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


# Compares a few pages with what a full-text file holds of them, see `LaggingFiles`.

ACCEPT = "text/markdown, text/html;q=0.9, */*;q=0.1"


class FullTextSamples:
    """Finds the full-text files that lag; those whose pages are stored are looked at.

    Args:
        run: the run.
        fetch: downloads a page.
    """

    def __init__(self, run: Run, fetch: Fetch):
        self.run = run
        self.fetch = fetch

    async def look(self, discovery: Discovery) -> None:
        """Compare a few pages of each file; one that lags is logged once, and counted."""
        run = self.run
        dates = {identity(run.page_of(seed.url)): seed.lastmod for seed in discovery.seeds if seed.lastmod}
        for full_text in discovery.full_texts:
            pages = self._stored_pages(full_text)
            if not full_text.is_usable or run.memory.lags(full_text.url) or not pages:
                continue
            samples = await self._samples(full_text, pages, dates)
            if run.memory.lagging.compare(full_text.url, samples):
                run.count("full-text/lagging")
                run.note(
                    f"{full_text.url} lags behind its pages: they are crawled, and it stands in for those only "
                    "that are not there; -a full=true believes it again"
                )

    def _stored_pages(self, full_text: FullText) -> dict[str, str]:
        """Return the address of each page of the file that is stored from it, and what the file calls it."""
        run, found = self.run, {}
        for named in full_text.report.urls if full_text.report else ():
            url = run.page_of(named)
            state = run.known.state(page_key(url))
            if (
                state is not None
                and state.origin == "llms-full"
                and run.bounds.verdict(url, listed=True).allowed
            ):
                found[url] = named
        return found

    async def _samples(
        self, full_text: FullText, pages: dict[str, str], dates: dict[str, str]
    ) -> list[Sample]:
        lastmod = {url: dates[identity(url)] for url in pages if identity(url) in dates}
        wanted = {pages[url]: url for url in chosen(list(pages), lastmod, self.run.memory.full_check.number)}
        found = []
        for held in self._pieces(full_text, set(wanted)):
            url = wanted[held.url or ""]
            self.run.count("full-text/samples")
            answer = await self.fetch(url, accept=ACCEPT)
            if not answer.ok or identity(answer.final_url) != identity(url):
                continue
            headers = dict(answer.headers)
            with answer.open() as opened:
                body = opened.read()
            answered = PageResponse(url, answer.final_url, answer.status, headers, body, utc_now())
            try:
                live = (await read_page(answered, self.run.workers, listed=True)).page.markdown
            except ConversionError:
                continue
            (draft,) = await self.run.workers.read_texts([held.text])
            if isinstance(draft, ConversionError):
                continue
            of_file = counted_words(
                draft.page(Joiner(url).join, keep_hidden=self.run.workers.keep_hidden).markdown
            )
            of_page = counted_words(live)
            if are_alike(of_page, of_file):
                newer = is_newer(headers, lastmod.get(url), full_text.answer.headers)
                found.append(Sample(url, hash_of_words(of_page), hash_of_words(of_file), newer))
        return found

    def _pieces(self, full_text: FullText, named: set[str]) -> list[FullPage]:
        """Return the first page of the file under each of the addresses."""
        found: dict[str, FullPage] = {}
        if full_text.report is None:
            return []
        with full_text.answer.open() as body:
            for piece in llmsfull.cut(body, full_text.report):
                if isinstance(piece, FullPage) and piece.url in named:
                    found.setdefault(piece.url or "", piece)
                    if len(found) == len(named):
                        break
        return list(found.values())


def keep_text_of_file(run: Run, record: PageRecord) -> None:
    """Keep the text that was stored from a full-text file which lags or is away, where the page says the same."""
    state = run.known.state(record.key)
    is_of_file = state is not None and state.origin == "llms-full"
    was_of_file = record.key in run.memory.lagging.pages and not is_of_file
    if state is None or not (is_of_file or was_of_file):
        return
    is_away = is_of_file and state.fetched_url in run.memory.previous_discovery.unread
    stored = run.store.load_page(state.key) if is_away or run.memory.lagging.files else None
    if stored is None or counted_words(stored.content or "") != counted_words(record.content or ""):
        return
    if was_of_file and stored.title != record.title:
        return
    record.content, record.title = stored.content, stored.title
    record.description, record.language = stored.description, stored.language
    record.source_hash, record.extra = stored.source_hash, stored.extra
    if is_away:  # its text is that of the file, and is compared with it when it is back
        record.origin, record.fetched_url, record.raw_hash = (
            stored.origin,
            stored.fetched_url,
            stored.raw_hash,
        )
        record.validators_url, record.accept = stored.validators_url, stored.accept
        record.etag, record.last_modified = stored.etag, stored.last_modified
        record.has_end_tag = stored.has_end_tag
