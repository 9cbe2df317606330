"""Find everything a site offers about itself before its first page is crawled: the cascade.

llms.txt at each of its locations, the llms files it links, llms-full.txt, sitemaps; each level adds
to the one before.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal
from urllib.parse import urljoin, urlsplit

from llmsspider.errors import DiscoveryError
from llmsspider.site import llmsfull, llmstxt, witnesses
from llmsspider.site.discovered import (
    Discovery,
    Fetch,
    FetchResult,
    FileType,
    FilteredLink,
    FullText,
    Options,
    Probe,
    Seed,
    SeedList,
    Session,
)
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.site.llmstxt_parser import Entry, LlmsTxt, is_full_name, parse
from llmsspider.site.sitemaps import SitemapStep, alias_of
from llmsspider.site.witnesses import Witness
from llmsspider.web import foreign
from llmsspider.web.addresses import same_site
from llmsspider.web.encodings import decode
from llmsspider.web.foreign import UnreadableError
from llmsspider.web.page_forms import HTML_TYPES, is_markdown_url, page_candidates
from llmsspider.web.stats import FilterReason
from llmsspider.web.urls import InvalidUrl, identity

MAX_REQUESTS = 14
"""Maximum number of requests to a site that offers nothing, before its first page; the start page
included.
"""

_FULL_NAME = re.compile(r"/llms-(?:full|ctx)[^/]*\.txt$", re.IGNORECASE)
_TEXT_TYPES = frozenset({None, "text/markdown", "text/plain", "text/x-markdown"})

_ABRIDGED = re.compile(r"small|medium|mini|tiny|lite|compact|abridged|short")


async def discover(
    fetch: Fetch,
    start_url: str,
    options: Options,
    *,
    note: Callable[[str], None] = lambda _line: None,
    expect_pages: Callable[[], None] = lambda: None,
    witnessed: Callable[[Sequence[Witness]], None] | None = None,
) -> Discovery:
    """Fetch the start page, then everything the site offers about itself.

    `note` gets one line for each thing found; `expect_pages` is called once pages are sure to come,
    `witnessed`, where it is given, with the witnesses before anything else is looked for.

    Raises ------
    `InvalidUrlError`, and `DiscoveryError` where the file named by `options.llms_txt` cannot be
    used.
    """
    llmstxt.candidates(start_url)
    if options.llms_txt is not None:
        llmstxt.candidates(options.llms_txt)
    session = Session(fetch)
    for page in page_candidates(start_url).values() if is_markdown_url(start_url) else ():
        shown = await session.get(page)
        if shown.ok and shown.content_type in HTML_TYPES:  # its links say what the site is
            start_url = page
            break
    start = await session.get(start_url)
    found = Discovery(start, start.section_url)
    cascade = _Cascade(session, found, options, note, expect_pages)
    if witnessed is not None and options.enabled and options.use_sitemaps:
        witnessed([one for _, one in await cascade.search_indexes() if isinstance(one, Witness)])
    await cascade.run()
    found.requests = session.requests
    return found


def describing_files(answer: FetchResult) -> tuple[list[str], list[InvalidUrl]]:
    """Return what a page names as the llms.txt that covers it (`rel="describedby"`): two URLs at
    most; and invalid.
    """
    described = dict.fromkeys(
        link.url for link in answer.links("describedby") if link.type in _TEXT_TYPES
    )
    found = [url for url in described if isinstance(url, str) and same_site(url, answer.final_url)]
    return found[:2], [url for url in described if isinstance(url, InvalidUrl)]


async def read_described(fetch: Fetch, url: str, found: Discovery, options: Options) -> list[Seed]:
    """Read an llms.txt that a page named during the crawl, within `max_linked_files`; return its
    new seeds.
    """
    read = (
        {file.url for file in found.files}
        | set(found.linked_files)
        | {tried.url for tried in found.tried}
    )
    if url in read or not same_site(url, found.start_url):
        return []
    if len(found.linked_files) >= options.max_linked_files:
        found.cut.append(FilteredLink(url, "max-linked-files"))
        return []
    found.linked_files.append(url)
    found.requests += 1
    known = len(found.seeds)
    cascade = _Cascade(Session(fetch), found, replace(options, full_text=False))
    await cascade.read(await fetch(url, max_bytes=llmstxt.MAX_BYTES), url, main=True)
    found.cut += cascade.seeds.cut
    return found.seeds[known:]


MAX_FULL_BYTES = 200 * 1024 * 1024  # the largest full-text file that is read, in bytes
# how much of a file too large for an index is classified by, in bytes
SAMPLE_BYTES = 2 * 1024 * 1024


def classify_file(
    answer: FetchResult, url: str, *, main: bool
) -> tuple[Literal["index", "full"] | None, str | None]:
    """Return whether an answer to the request of `url` is an index or full text; None for no llms
    file, and why.

    A `main` file, found by probing, is full text only when it is delimited into pages or lists
    none.
    """
    if answer.error is not None:
        return None, answer.message or answer.error
    if answer.size > MAX_FULL_BYTES:
        return None, "larger than 200 MB"
    is_large = answer.size > llmstxt.MAX_BYTES
    body = answer.head(SAMPLE_BYTES if is_large else llmstxt.MAX_BYTES)
    content_type = answer.headers.get("content-type")
    reason = llmstxt.reject_reason(answer.status, url, answer.final_url, content_type, body)
    if reason is not None:
        return None, reason
    kind = _kind_of(decode(body[:SAMPLE_BYTES]), url, main=main)
    if is_large and kind == "index":
        return None, "larger than 20 MB"
    return kind, None


def _kind_of(text: str, url: str, *, main: bool) -> Literal["index", "full"]:
    kind = llmstxt.classify(text)
    if kind == "index":
        is_full = is_full_name(url) and llmsfull.looks_split(text, url, named=True)
        kind = "full" if is_full else "index"
    if not main or kind == "index" or llmsfull.looks_split(text):
        return kind
    has_links = "](" in text or "://" in text
    is_list = has_links or parse(text[: 256 * 1024], "https://site.invalid/").entries
    return "index" if is_list else "full"


async def _parsed(answer: FetchResult, kind: Literal["index", "full"]) -> LlmsTxt:
    """Parse a file of a known kind; full text is not searched for entries unless it is short."""
    if kind == "full" and answer.size > SAMPLE_BYTES:
        return LlmsTxt(answer.final_url, None, None, (), kind=kind)
    text = answer.text
    file = await asyncio.to_thread(foreign.read, parse, text, answer.final_url)
    alias = alias_of(answer.final_url, [entry.url for entry in file.entries])
    if alias is not None:
        file = replace(
            file,
            entries=tuple(replace(entry, url=alias.of(entry.url)) for entry in file.entries),
            warnings=(*file.warnings, f"lists {alias.listed} in place of {alias.kept}"),
        )
    if kind == "full":
        return replace(file, kind=kind, invalid=(), notes=None)
    return replace(file, text=text)


@dataclass
class _Cascade:
    """One discovery under way: each step adds to `found`."""

    session: Session
    found: Discovery
    options: Options
    note: Callable[[str], None] = lambda _line: None
    expect_pages: Callable[[], None] = lambda: None
    _indexes: list[tuple[str, Witness | str]] | None = None

    def __post_init__(self) -> None:
        self.page_url = self.found.start.page_url
        self.seeds = SeedList(self.found, self.options.optional, self.found.seeds)

    async def run(self) -> None:
        """Take the steps of the cascade."""
        if self.options.llms_txt or self.options.enabled:
            main = await self._find_llms_txt()
            if main is not None:
                await self._follow_links(main)
        if self.options.enabled and self.options.full_text:
            await self._find_full_text()
        if self.options.enabled and self.options.use_sitemaps:
            await self._read_sitemaps()
            await self._read_search_index()
        self.found.cut += self.seeds.cut
        await self._inspect_full_texts()
        if self.found.discovered_file_type == "none" and not self.found.start.error:
            self.note("no llms.txt or sitemap, following links")

    async def _find_llms_txt(self) -> LlmsTxt | None:
        """Read the file that the options name, else the first llms.txt of the locations, probed one
        by one.
        """
        named = self.options.llms_txt
        for url in [named] if named else self._locations():
            if self.session.is_unresponsive(url):
                break
            answer = await self.session.get(url, MAX_FULL_BYTES if named else llmstxt.MAX_BYTES)
            file = await self.read(answer, url, main=True)
            if file is not None:
                self._discovered(file.url, "llms.txt")
                return file
        if named:
            reason = self.found.tried[-1].reason
            raise DiscoveryError(
                f"llms_txt={named} cannot be used: {reason}. Check the address, or omit llms_txt."
            )
        return None

    def _locations(self) -> list[str]:
        """Return where to look: the start page if it is an llms file, what it names, then by its
        path.
        """
        start = self.found.start
        named = [start.url] if llmstxt.is_llms_url(start.url) else []
        described, invalid = describing_files(start)
        named += described
        self.found.cut += map(FilteredLink.invalid, invalid)
        return list(dict.fromkeys([*named, *llmstxt.candidates(self.page_url)]))

    async def read(self, answer: FetchResult, url: str, *, main: bool) -> LlmsTxt | None:
        """Classify an answer, record the outcome, and take in what the file holds."""
        file: LlmsTxt | None = None
        try:
            kind, reason = foreign.read(classify_file, answer, url, main=main)
            if kind is not None:
                file = await _parsed(answer, kind)
        except UnreadableError as error:
            reason = str(error)
        if file is None:
            failed = answer.error is not None or answer.status != 200
            self.found.tried.append(Probe(url, "failed" if failed else "rejected", reason))
            self.found.note_unreadable(answer)
            return None
        self.found.tried.append(Probe(url, "found"))
        if any(known.url == file.url for known in self.found.files):
            return None
        self.found.files.append(file)
        if file.kind == "full":
            if self.options.full_text:
                self.found.full_texts.append(FullText(answer.final_url, answer))
                self.expect_pages()
            else:
                self.found.cut.append(FilteredLink(answer.final_url, "full-text-off"))
            self.session.forget(answer.url)
        else:
            self.found.warnings += [f"{file.url} {warning}" for warning in file.warnings]
            self.found.cut += map(FilteredLink.invalid, file.invalid)
            self.seeds.add_entries(file)
        return file

    async def _follow_links(self, main: LlmsTxt) -> None:
        """Read the llms files the main file links, level by level, each level at once and each file
        once.
        """
        seen = {main.url}
        read = [main]
        depth = 0
        while read:
            depth += 1
            seen.update(file.url for file in read)
            level = self._linked(main, read, seen, depth)
            if level and depth == 1:
                them = "it" if len(level) == 1 else "them"
                self.note(f"found {_number(len(level), 'linked llms.txt file')}, reading {them}")
            answers = await asyncio.gather(
                *(self.session.get(url, MAX_FULL_BYTES) for url in level)
            )
            files = [
                await self.read(*answered, main=False)
                for answered in zip(answers, level, strict=True)
            ]
            self.found.linked_files += level
            read = [file for file in files if file is not None]
        self._warn_of_external()
        if self.found.linked_files:
            count = len(self.found.files)
            self.note(f"read {count} llms.txt files (1 main + {count - 1} linked)")

    def _warn_of_external(self) -> None:
        if external := self.found.external:
            more = f" and {len(external) - 5} more" if len(external) > 5 else ""
            examples = ", ".join(external[:5])
            self.found.warnings.append(
                f"llms files on other sites are not followed: {examples}{more}"
            )

    def _linked(self, main: LlmsTxt, read: list[LlmsTxt], seen: set[str], depth: int) -> list[str]:
        """Return the llms files that files of one level link, each once; note those left out."""
        level: list[str] = []
        entries = (entry for file in read for entry in file.entries if is_llms_url(entry.url))
        for entry in entries:
            if entry.url in seen:
                continue
            seen.add(entry.url)
            if not same_site(entry.url, main.url):
                self.found.external.append(entry.url)
            elif reason := self._reason_against(entry, main, depth, len(level)):
                self.found.cut.append(FilteredLink(entry.url, reason))
            else:
                level.append(entry.url)
        return level

    def _reason_against(
        self, entry: Entry, main: LlmsTxt, depth: int, ahead: int
    ) -> FilterReason | None:
        """Return why a linked file is not followed: from the second level on only those below the
        main one are.
        """
        options = self.options
        if depth > options.link_depth:
            return "link-depth"
        if depth > 1 and not entry.url.startswith(llmstxt.directory_url(main.url)):
            return "outside-directory"
        if entry.optional and options.optional == "skip":
            return "optional"
        if not options.full_text and _FULL_NAME.search(urlsplit(entry.url).path):
            return "full-text-off"
        number = len(self.found.linked_files) + ahead
        return "max-linked-files" if number >= options.max_linked_files else None

    async def _find_full_text(self) -> None:
        """Look for llms-full.txt beside the llms.txt found, else in the start directory and the
        root.
        """
        if any(full_text.url in self.found.linked_files for full_text in self.found.full_texts):
            return
        beside = self.found.discovered_file
        places = [beside] if beside else [self.page_url, urljoin(self.page_url, "/")]
        for url in dict.fromkeys(urljoin(place, "llms-full.txt") for place in places):
            if url in self.found.linked_files or self.session.is_unresponsive(url):
                continue
            answer = await self.session.get(url, MAX_FULL_BYTES)
            if await self.read(answer, url, main=False) is not None:
                self._discovered(answer.final_url, "llms-full.txt")
                return

    async def _inspect_full_texts(self) -> None:
        """Find out how the full-text files split, now that every page the site lists is known."""
        self.found.full_texts.sort(key=_completeness)
        indexes = [file for file in self.found.files if file.kind == "index"]
        listed = {entry.url: entry.title or "" for file in indexes for entry in file.entries}
        titles = {**listed, **{seed.url: "" for seed in self.found.seeds if seed.url not in listed}}
        for full_text in self.found.full_texts:
            with full_text.answer.open() as body:
                full_text.report = await asyncio.to_thread(_inspected, body, full_text.url, titles)
            report = full_text.report
            says = f"full text at {self._short(full_text.url)}"
            if not full_text.is_usable:
                why = full_text.why_whole
                self.note(f"{says} cannot be split into pages ({why}): its pages are crawled")
            else:
                self.note(
                    f"{says} holds {report.pages} pages, {len(report.urls)} with their address"
                )

    async def _read_sitemaps(self) -> None:
        step = SitemapStep(self.session, self.found, self.seeds, self.page_url)
        is_bare = self.found.discovered_file_type == "none"
        await step.run(MAX_REQUESTS - self.session.requests if is_bare else 3)
        if not self.found.sitemaps:
            return
        self._discovered(self.found.sitemaps[0], "sitemap")
        seeds = self.found.seeds
        listed = [seed.url for seed in seeds if seed.llms is not None and is_markdown_url(seed.url)]
        named = {identity(page) for url in listed for page in page_candidates(url).values()}
        count = sum(seed.llms is None and identity(seed.url) not in named for seed in seeds)
        if count:
            files = _number(len(self.found.sitemaps), "sitemap file")
            self.note(f"{_number(count, 'more page')} from {files}")

    async def search_indexes(self) -> list[tuple[str, Witness | str]]:
        """Return what the start page is set up with to search the site: the URL of each file, and
        what it says or why it is of no use. Read once.
        """
        if self._indexes is None:
            found = witnesses.find(self.session.get, self._html, self._page)
            self._indexes = [one async for one in found]
        return self._indexes

    @property
    def _page(self) -> str:
        return self.found.start.final_url

    @property
    def _html(self) -> bytes:
        start = self.found.start
        is_html = start.ok and start.content_type in HTML_TYPES
        return start.head(witnesses.MAX_PAGE_BYTES) if is_html else b""

    async def _read_search_index(self) -> None:
        for url, found in await self.search_indexes():
            if isinstance(found, str):
                self.note(f"{self._short(url)} is no search index that can be used: {found}")
                continue
            self.found.witnesses.append(found)
            seeds = (seed.url for seed in self.found.seeds)
            more = found.unlisted([*seeds, *witnesses.links(self._html, self._page)])
            for page in more:
                self.seeds.add_found(page)
            also = f", {len(more)} of them listed nowhere else" if more else ""
            self.note(f"{self._short(url)} names {_number(len(found.pages), 'page')}{also}")

    def _discovered(self, url: str, kind: FileType) -> None:
        if self.found.discovered_file_type == "none":
            self.found.discovered_file = url
            self.found.discovered_file_type = kind
        self.note(f"found {kind} at {self._short(url)}")

    def _short(self, url: str) -> str:
        parts = urlsplit(url)
        start = urlsplit(self.found.start_url)
        return parts.path if parts.netloc == start.netloc else url


def _inspected(body: BinaryIO, url: str, titles: Mapping[str, str]) -> llmsfull.SplitReport:
    try:
        return foreign.read(llmsfull.inspect, body, url, titles)
    except UnreadableError as error:
        return llmsfull.SplitReport("markdown", None, 0, (), str(error))


def _completeness(full_text: FullText) -> int:
    """Order full-text files: of a site that offers several lengths, the full one goes first."""
    name = urlsplit(full_text.url).path.rpartition("/")[2].lower()
    return 0 if is_full_name(full_text.url) else 2 if _ABRIDGED.search(name) else 1


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
