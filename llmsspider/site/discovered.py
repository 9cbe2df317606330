"""What discovery needs of the network, and what it returns: files, and the pages they list, each
once, in order.
"""

import asyncio
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Protocol, Self

from llmsspider.errors import ErrorKind
from llmsspider.items import DiscoveredBy, LlmsEntry
from llmsspider.site.llmsfull import SplitReport
from llmsspider.site.llmstxt import directory_or_page, is_llms_url, section_url
from llmsspider.site.llmstxt_parser import LlmsTxt
from llmsspider.site.witnesses import Witness
from llmsspider.web import page_forms
from llmsspider.web.addresses import hostname
from llmsspider.web.encodings import decode, of_content_type
from llmsspider.web.page_forms import HeaderLink, bare_type
from llmsspider.web.stats import FilterReason
from llmsspider.web.urls import INVALID_URL, InvalidUrl

FileType = Literal["llms.txt", "llms-full.txt", "sitemap", "repository", "list", "none"]


@dataclass(slots=True)
class FetchResult:
    """One HTTP response, or the reason why there was none: `status` is 0 then. Header names are
    lower-case.

    `final_url` is the URL after redirects. The decompressed body is in `body`, a large one in the
    file `spool`.
    """

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    error: ErrorKind | None = None
    message: str | None = None
    spool: Path | None = None

    @property
    def ok(self) -> bool:
        """Whether a page came back."""
        return self.error is None and 200 <= self.status < 300

    @property
    def page_url(self) -> str:
        """The URL to probe from: the one after redirects, with a slash where it is a directory."""
        if not self.ok or hostname(self.final_url) is None:
            return self.url
        return directory_or_page(
            self.final_url, self.head(4 * 1024 * 1024).decode("utf-8", "replace")
        )

    @property
    def section_url(self) -> str:
        """The URL whose directory is the section of the site to crawl, see `llmstxt.section_url`."""
        return self.page_url if self.final_url == self.url else section_url(self.url, self.page_url)

    @property
    def content_type(self) -> str | None:
        """The media type alone, lower-case; None where the answer names none."""
        return bare_type(self.headers.get("content-type")) or None

    @property
    def size(self) -> int:
        """The length of the body in bytes."""
        return self.spool.stat().st_size if self.spool else len(self.body)

    def open(self) -> BinaryIO:
        """Open the body for reading from its start."""
        return self.spool.open("rb") if self.spool else io.BytesIO(self.body)

    def head(self, size: int) -> bytes:
        """Return the first `size` bytes of the body, all for -1."""
        with self.open() as file:
            return file.read(size)

    def links(self, rel: str) -> list[HeaderLink]:
        """Return the links with a relation, of the `Link:` header, then of the head; none of a page
        that failed.
        """
        if not self.ok:
            return []
        links = page_forms.header_links(self.headers.get("link", ""), self.final_url)
        links += page_forms.head_links(self.head(512 * 1024), self.final_url)
        return [link for link in links if rel in link.rel]

    @property
    def text(self) -> str:
        """The body as text: strict UTF-8 first, then the declared charset, then Latin-1."""
        return decode(self.head(-1), of_content_type(self.headers.get("content-type")))


class Fetch(Protocol):
    """Downloads one URL, following redirects. Network failures are in the `FetchResult`, never
    raised.

    `accept` overrides the Accept header, `max_bytes` the size above which the body is refused.
    """

    async def __call__(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        """Download `url`."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How far discovery goes.

    `llms_txt` names the file and skips probing. `enabled=False` fetches the start page and that
    file, nothing else.
    """

    llms_txt: str | None = None
    link_depth: int = 1
    max_linked_files: int = 200
    full_text: bool = True
    optional: Literal["include", "skip"] = "include"
    use_sitemaps: bool = True
    enabled: bool = True


@dataclass(slots=True)
class Seed:
    """A page to crawl from: the file that lists it, with title, section and notes of the entry.

    `lastmod` is the text of the sitemap; `alternates` maps hreflang tags to absolute URLs.
    `in_sitemap` says that a sitemap lists it, whoever named it first.
    """

    url: str
    discovered_by: DiscoveredBy
    llms: LlmsEntry | None = None
    lastmod: str | None = None
    alternates: Mapping[str, str] = field(default_factory=dict)
    in_sitemap: bool = False


@dataclass(slots=True)
class FullText:
    """A file that holds pages themselves, at `url` after redirects; `answer` has its bytes,
    `report` how it splits.
    """

    url: str
    answer: FetchResult
    report: SplitReport | None = None

    @property
    def is_usable(self) -> bool:
        """Whether its pages take the place of fetching them."""
        return self.report is not None and self.report.rule is not None

    @property
    def why_whole(self) -> str:
        """Why its pages cannot take the place of fetching them, in words."""
        if self.report is None:
            return "not inspected"
        return self.report.reason or "its pages have no address"


@dataclass(slots=True, frozen=True)
class Probe:
    """One location requested: `outcome` is found, rejected or failed; `reason` says why not."""

    url: str
    outcome: Literal["found", "rejected", "failed"]
    reason: str | None = None


class FilteredLink(NamedTuple):
    """One URL that discovery filtered, the reason as a stat key, and the rule in words."""

    url: str
    reason: FilterReason
    rule: str = "cut by discovery"

    @classmethod
    def invalid(cls, url: InvalidUrl) -> Self:
        """Return the filtered link of a URL that the gate refuses."""
        return cls(url.display, INVALID_URL, url.why)


@dataclass(slots=True)
class Discovery:
    """Everything discovery learned, in the order it learned it.

    `start` is the answer for the start page, `start_url` the URL whose directory is the section
    that was requested. `seeds` holds each URL once, without the start page and llms files;
    `external` are llms files on other sites, `broken` sitemaps that break off, `unreadable` the
    addresses of lists that answered with something else than a list or its absence.
    """

    start: FetchResult
    start_url: str
    start_entry: LlmsEntry | None = None
    start_listed: bool = False
    start_in_sitemap: bool = False
    discovered_file: str | None = None
    discovered_file_type: FileType = "none"
    files: list[LlmsTxt] = field(default_factory=list, repr=False)
    linked_files: list[str] = field(default_factory=list)
    full_texts: list[FullText] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    seeds: list[Seed] = field(default_factory=list, repr=False)
    tried: list[Probe] = field(default_factory=list)
    cut: list[FilteredLink] = field(default_factory=list, repr=False)
    external: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    witnesses: list[Witness] = field(default_factory=list, repr=False)
    requests: int = 0

    @property
    def main_file(self) -> LlmsTxt | None:
        """The llms.txt or llms-full.txt that was found first, which says what the site is."""
        return next((file for file in self.files if file.url == self.discovered_file), None)

    def note_unreadable(self, answer: FetchResult) -> None:
        """Note the answer for a list that is none, unless it says that there is none."""
        if answer.error != "not_found":
            self.unreadable += [answer.url, answer.final_url]

    def read_files(self) -> list[str]:
        """Return the URLs of the files that gave seeds or documents: llms files and sitemaps."""
        return [*(file.url for file in self.files), *self.sitemaps]


MAX_SEEDS = 250_000
"""So many pages are taken from sitemaps, and so many from llms.txt files; what is more is counted
as cut.
"""


class SeedList:
    """Collects the seeds of a discovery, but for those `known`; the first source to name a URL
    wins, later ones add.
    """

    def __init__(
        self, found: Discovery, optional: Literal["include", "skip"], known: Iterable[Seed] = ()
    ):
        self.cut: list[FilteredLink] = []
        self._found = found
        self._start_urls = {
            found.start.url.partition("#")[0],
            found.start.final_url,
            found.start_url,
        }
        self._seeds = {seed.url: seed for seed in known}
        self._skip_optional = optional == "skip"
        self._order = 0
        sources: tuple[DiscoveredBy, ...] = ("llms.txt", "sitemap", "search-index")
        self._room = dict.fromkeys(sources, MAX_SEEDS)

    def add_entries(self, file: LlmsTxt) -> None:
        """Add what an index lists."""
        for entry in file.entries:
            order = self._order
            self._order = self._order + 1
            if is_llms_url(entry.url):
                continue
            if entry.optional and self._skip_optional:
                self.cut.append(FilteredLink(entry.url, "optional"))
                continue
            listed = (entry.section, entry.title, entry.description, order, entry.optional)
            described = LlmsEntry(file.url, *listed, file.title, file.summary, file.notes)
            if entry.url in self._start_urls:
                self._found.start_listed = True
                self._found.start_entry = self._found.start_entry or described
            elif entry.url not in self._seeds:
                self._add(Seed(entry.url, "llms.txt", described), "too-many-llms-pages")

    def add_page(self, url: str, lastmod: str | None, alternates: Mapping[str, str]) -> None:
        """Add what a sitemap lists."""
        if url in self._start_urls:
            self._found.start_listed = self._found.start_in_sitemap = True
        known = self._seeds.get(url)
        if known is not None:
            known.lastmod = known.lastmod or lastmod
            known.alternates = known.alternates or alternates
            known.in_sitemap = True
        elif url not in self._start_urls and not is_llms_url(url):
            self._add(
                Seed(url, "sitemap", None, lastmod, alternates, True), "too-many-sitemap-pages"
            )

    def add_found(self, url: str) -> None:
        """Add what a search index names."""
        if url not in self._seeds and url not in self._start_urls and not is_llms_url(url):
            self._add(Seed(url, "search-index"), "too-many-sitemap-pages")

    def _add(self, seed: Seed, too_many: FilterReason) -> None:
        self._room[seed.discovered_by] -= 1
        if self._room[seed.discovered_by] < 0:
            self.cut.append(FilteredLink(seed.url, too_many))
        else:
            self._seeds[seed.url] = seed
            self._found.seeds.append(seed)


class Session:
    """Wraps a `Fetch` for the length of one discovery."""

    def __init__(self, fetch: Fetch):
        self.requests = 0
        self._fetch = fetch
        self._answers: dict[str, FetchResult] = {}
        self._silent: Counter[str] = Counter()
        self._slots = asyncio.Semaphore(8)

    async def get(self, url: str, max_bytes: int | None = None) -> FetchResult:
        """Fetch a URL once; a second call for it or its redirect target returns the same answer."""
        if url in self._answers:
            return self._answers[url]
        if self.is_unresponsive(url):
            return FetchResult(url, url, 0, error="network", message="the host does not answer")
        async with self._slots:
            self.requests += 1
            answer = await self._fetch(url, max_bytes=max_bytes)
        if answer.status == 0 and answer.error == "network":
            self._silent[hostname(url) or ""] += 1
        elif self._silent:
            self._silent.pop(hostname(url) or "", None)
        self._answers[url] = answer
        if answer.ok:
            self._answers.setdefault(answer.final_url, answer)
        return answer

    def is_unresponsive(self, url: str) -> bool:
        """Return whether the host of a URL has left the last three requests without an answer: it
        gets no more.
        """
        return bool(self._silent) and self._silent[hostname(url) or ""] >= 3

    def forget(self, url: str) -> None:
        """Forget an answer, so that a large body does not stay in memory."""
        answer = self._answers.pop(url, None)
        if answer is not None:
            self._answers.pop(answer.final_url, None)
