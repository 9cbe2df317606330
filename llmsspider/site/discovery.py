"""Find everything a site offers about itself before its first page is crawled: the cascade.

llms.txt at each of its locations, the llms files it links, llms-full.txt, sitemaps; each level adds to the one before.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from urllib.parse import urljoin, urlsplit

from llmsspider.errors import DiscoveryError
from llmsspider.site import llms_files, llmsfull, llmstxt
from llmsspider.site.discovered import (
    Discovery,
    Fetch,
    FetchResult,
    FileType,
    FilteredLink,
    FullText,
    LlmsFile,
    Options,
    Probe,
    Seed,
    SeedList,
    Session,
    is_full_name,
)
from llmsspider.site.llms_files import LinkedFiles
from llmsspider.site.llmstxt import MAX_CANDIDATES
from llmsspider.site.sitemaps import SitemapStep
from llmsspider.web.addresses import same_site

MAX_REQUESTS = 14
"""Maximum number of requests to a site that offers nothing, before its first page; the start page included."""

_ABRIDGED = re.compile(r"small|medium|mini|tiny|lite|compact|abridged|short")


async def discover(
    fetch: Fetch,
    start_url: str,
    options: Options,
    *,
    note: Callable[[str], None] = lambda _line: None,
    expect_pages: Callable[[], None] = lambda: None,
) -> Discovery:
    """Fetch the start page, then everything the site offers about itself.

    `note` gets one line for each thing found. `expect_pages` is called as soon as pages are sure to come: there is a
    full-text file, and how it is joined is still to be found out. A start page that fails is no exception: its
    answer says so and discovery goes on.

    Raises:
        InvalidUrlError: `start_url` or `options.llms_txt` is not an absolute http(s) URL.
        DiscoveryError: the file named by `options.llms_txt` cannot be used.
    """
    llmstxt.candidates(start_url)
    if options.llms_txt is not None:
        llmstxt.candidates(options.llms_txt)
    session = Session(fetch)
    start = await session.get(start_url)
    found = Discovery(start, llms_files.section_url(start_url, start))
    cascade = _Cascade(session, found, options, note, expect_pages)
    await cascade.run()
    found.requests = session.requests
    return found


async def read_described(fetch: Fetch, url: str, found: Discovery, options: Options) -> list[Seed]:
    """Read an llms.txt that a page named during the crawl; return its seeds that were not known.

    It counts against `max_linked_files`, leads to no further file and changes nothing else.
    """
    read = {file.url for file in found.files} | set(found.linked_files) | {tried.url for tried in found.tried}
    if url in read or not same_site(url, found.start_url):
        return []
    if len(found.linked_files) >= options.max_linked_files:
        found.cut.append(FilteredLink(url, "max-linked-files"))
        return []
    found.linked_files.append(url)
    found.requests += 1
    answer = await fetch(url, max_bytes=llmstxt.MAX_BYTES)
    verdict = llms_files.classify_file(answer, url, main=True)
    if verdict.kind != "index":
        found.tried.append(Probe(url, "rejected", verdict.reason or "full text"))
        return []
    found.tried.append(Probe(url, "found"))
    file = await llms_files.read(answer, "index")
    known = {seed.url for seed in found.seeds}
    seeds = SeedList({*known, found.start.url, found.start.final_url, found.start_url}, options.optional)
    new = seeds.add_entries(file)
    found.cut += [*map(FilteredLink.invalid, file.invalid), *seeds.cut]
    found.files.append(file)
    found.seeds.extend(new)
    return new


class _Cascade:
    """One discovery under way: each step adds to `found`."""

    def __init__(
        self,
        session: Session,
        found: Discovery,
        options: Options,
        note: Callable[[str], None],
        expect_pages: Callable[[], None],
    ):
        self.expect_pages = expect_pages
        self.session = session
        self.found = found
        self.options = options
        self.note = note
        self.page_url = llms_files.page_url(found.start.url, found.start)
        start = found.start
        self.seeds = SeedList(
            (start.url.partition("#")[0], start.final_url, found.start_url), options.optional
        )

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
        self.found.seeds = self.seeds.all()
        self.found.start_entry = self.seeds.start_entry
        self.found.start_listed = self.seeds.start_listed
        self.found.start_in_sitemap = self.seeds.start_in_sitemap
        self.found.cut += self.seeds.cut
        await self._inspect_full_texts()
        if self.found.discovered_file_type == "none" and not self.found.start.error:
            self.note("no llms.txt or sitemap, following links")

    async def _find_llms_txt(self) -> LlmsFile | None:
        """Probe one location after the other and read the first llms.txt."""
        if self.options.llms_txt:
            return await self._read_named(self.options.llms_txt)
        for url in self._locations():
            if self.session.is_unresponsive(url):
                break
            answer = await self.session.get(url, llmstxt.MAX_BYTES)
            file = await self._read(answer, url, main=True)
            if file is not None:
                self._discovered(file.url, "llms.txt")
                return file
        return None

    def _locations(self) -> list[str]:
        """Return where to look: the start page if it is an llms file, what it names, then by its path."""
        start = self.found.start
        named = [start.url] if llmstxt.is_llms_url(start.url) else []
        described, invalid = llms_files.describing_files(start)
        named += described
        self.found.cut += map(FilteredLink.invalid, invalid)
        candidates = [url for url in llmstxt.candidates(self.page_url) if url not in named]
        room = MAX_CANDIDATES + 1 - len(named)
        if len(candidates) > room:
            candidates = candidates[: room - 2] + candidates[-2:]
        return named + candidates

    async def _read_named(self, url: str) -> LlmsFile:
        answer = await self.session.get(url, llms_files.MAX_FULL_BYTES)
        file = await self._read(answer, url, main=True)
        if file is None:
            reason = self.found.tried[-1].reason
            raise DiscoveryError(
                f"llms_txt={url} cannot be used: {reason}. Check the address, or omit llms_txt."
            )
        self._discovered(file.url, "llms.txt")
        return file

    async def _read(self, answer: FetchResult, url: str, *, main: bool) -> LlmsFile | None:
        """Classify an answer, record the outcome, and take in what the file holds."""
        verdict = llms_files.classify_file(answer, url, main=main)
        if verdict.kind is None:
            failed = answer.error is not None or answer.status != 200
            self.found.tried.append(Probe(url, "failed" if failed else "rejected", verdict.reason))
            return None
        self.found.tried.append(Probe(url, "found"))
        file = await llms_files.read(answer, verdict.kind)
        if any(known.url == file.url for known in self.found.files):
            return None
        self.found.files.append(file)
        if verdict.kind == "full":
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

    async def _follow_links(self, main: LlmsFile) -> None:
        """Read the llms files the main file links, level by level, each level at once."""
        links = LinkedFiles(main.url, self.options)
        level = links.next_level([main])
        if level:
            plural = "" if len(level) == 1 else "s"
            self.note(
                f"found {len(level)} linked llms.txt file{plural}, reading {'them' if plural else 'it'}"
            )
        while level:
            answers = await self.session.get_all(level, llms_files.MAX_FULL_BYTES)
            read = [
                await self._read(answer, url, main=False) for url, answer in zip(level, answers, strict=True)
            ]
            self.found.linked_files += level
            level = links.next_level([file for file in read if file is not None])
        self.found.cut += links.cut
        self.found.external += links.external
        if links.external:
            more = f" and {len(links.external) - 5} more" if len(links.external) > 5 else ""
            examples = ", ".join(links.external[:5])
            self.found.warnings.append(f"llms files on other sites are not followed: {examples}{more}")
        if self.found.linked_files:
            count = len(self.found.files)
            self.note(f"read {count} llms.txt files (1 main + {count - 1} linked)")

    async def _find_full_text(self) -> None:
        """Look for llms-full.txt beside the llms.txt found, else in the start directory and the root."""
        if any(full_text.url in self.found.linked_files for full_text in self.found.full_texts):
            return
        directory = llmstxt.directory_url(self.found.discovered_file or self.page_url)
        places = [directory] if self.found.discovered_file else [directory, urljoin(directory, "/")]
        for place in dict.fromkeys(places):
            url = urljoin(place, "llms-full.txt")
            if url in self.found.linked_files or self.session.is_unresponsive(url):
                continue
            answer = await self.session.get(url, llms_files.MAX_FULL_BYTES)
            if await self._read(answer, url, main=False) is not None:
                self._discovered(answer.final_url, "llms-full.txt")
                return

    async def _inspect_full_texts(self) -> None:
        """Find out how the full-text files split, now that every page the site lists is known."""
        self.found.full_texts.sort(key=_completeness)
        titles = self.found.titles()
        for full_text in self.found.full_texts:
            with full_text.answer.open() as body:
                full_text.report = await asyncio.to_thread(llmsfull.inspect, body, full_text.url, titles)
            place, report = self._short(full_text.url), full_text.report
            if not full_text.is_usable:
                self.note(
                    f"full text at {place} cannot be split into pages ({full_text.why_whole}): its pages are crawled"
                )
            else:
                self.note(
                    f"full text at {place} holds {report.pages} pages, {len(report.urls)} with their address"
                )

    async def _read_sitemaps(self) -> None:
        step = SitemapStep(self.session, self.found, self.seeds, self.page_url)
        is_bare = self.found.discovered_file_type == "none"
        await step.run(MAX_REQUESTS - self.session.requests if is_bare else 3)
        if self.found.sitemaps:
            count = self.seeds.new_in_sitemaps()
            self._discovered(self.found.sitemaps[0], "sitemap")
            if count:
                files = len(self.found.sitemaps)
                self.note(f"{_number(count, 'more page')} from {_number(files, 'sitemap file')}")

    def _discovered(self, url: str, kind: FileType) -> None:
        """Say what was found; the first find is the discovered file."""
        if self.found.discovered_file_type == "none":
            self.found.discovered_file = url
            self.found.discovered_file_type = kind
        self.note(f"found {kind} at {self._short(url)}")

    def _short(self, url: str) -> str:
        """Return the path of a URL on the start page's host, else the whole URL."""
        parts, start = urlsplit(url), urlsplit(self.found.start_url)
        return parts.path if parts.netloc == start.netloc else url


def _completeness(full_text: FullText) -> int:
    """Order full-text files: of a site that offers several lengths, the full one goes first."""
    name = urlsplit(full_text.url).path.rpartition("/")[2].lower()
    return 0 if is_full_name(full_text.url) else 2 if _ABRIDGED.search(name) else 1


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
