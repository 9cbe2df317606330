"""An llms.txt on its site: what its links answer, their Markdown and HTML side by side, the other
files beside it.

Everything is fetched through every downloader middleware, a few links at a time and within limits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from scrapy.crawler import Crawler
from scrapy.http import Response

from llmsspider.config.arguments import PageArguments
from llmsspider.config.components import check_components
from llmsspider.config.settings import Config
from llmsspider.content import judge, markdown
from llmsspider.content.judge import Loss
from llmsspider.crawler.pages import drop_reason
from llmsspider.crawler.requests import EngineFetch, synthetic_request
from llmsspider.crawler.run import Run
from llmsspider.crawler.spiderrun import ProjectSpider
from llmsspider.errors import ConversionError, DiscoveryError, InvalidUrlError
from llmsspider.items import Page
from llmsspider.lint.findings import Finding, finding, ordered
from llmsspider.lint.text import lines_of, lint_body
from llmsspider.site.discovered import Discovery, Fetch, FetchResult, Options
from llmsspider.site.discovery import describing_files, discover
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.spiders.page import page_run
from llmsspider.web import page_forms
from llmsspider.web.addresses import same_site
from llmsspider.web.page_forms import Form, Shape, is_markdown_url, page_candidates, shape, twin
from llmsspider.web.rights import of_page, opt_out
from llmsspider.web.urls import identity, without_fragment

AT_ONCE = 8
MAX_COMPARED = 20
"""Maximum number of links fetched at the same time, and of pages whose Markdown and HTML are
compared.
"""
GIVE_UP_AFTER = 5
"""Number of pages of one form without Markdown after which that of the others is not requested."""
MAX_BODY = 8 * 1024 * 1024
TEXT_TYPES = frozenset({"text/plain", *page_forms.MARKDOWN_TYPES})

Health = Literal["fine", "dead", "failing", "opted-out"]
HEALTH_RULES = {"dead": "dead-link", "failing": "failing-link", "opted-out": "opted-out-link"}


@dataclass(slots=True)
class Checked:
    """The result for a listed page.

    `markdown` is the URL of its Markdown where it is HTML, `named` whether the page names it.
    `lost` is what its Markdown lacks of its HTML, where both were read.
    """

    url: str
    health: Health = "fine"
    why: str = ""
    final_url: str = ""
    is_html: bool = False
    markdown: str | None = None
    named: bool = False
    wrong_type: str | None = None
    lacks_vary: bool = False
    lost: frozenset[Loss] = frozenset()

    def mark(self, health: Health, why: str) -> None:
        """Note how it is, and why."""
        self.health = health
        self.why = why

    def traits(self) -> Iterator[tuple[str, str]]:
        """Yield rule and words of what many links have in common."""
        if self.wrong_type:
            yield "wrong-content-type", f"Markdown addresses served as {self.wrong_type}"
        if self.lacks_vary:
            what = "pages that are Markdown or HTML by the Accept header"
            yield "no-vary", f"{what} without `Vary: Accept`"
        if self.is_html and not is_markdown_url(self.url):
            if self.markdown:
                yield "html-link", "links to HTML pages that have a Markdown version"
            else:
                yield "no-markdown", "links to HTML pages without a Markdown version"
        if self.markdown is not None and not self.named:
            yield "no-alternate", "pages that do not name their Markdown version"


class LintSpider(ProjectSpider):
    """Checks the site of `url`; `findings` is what it found, None when it did not come to an end.

    `llms_txt` is the llms.txt to begin with; None looks for it. At most `max_links` links are
    checked, `unchecked` is the number of the others.
    """

    name = "lint"
    run: Run
    download: Fetch

    def __init__(self, url: str, max_links: int, llms_txt: str | None, **kwargs: Any):
        super().__init__(**kwargs)
        self.url = url
        self.max_links = max_links
        self.llms_txt = llms_txt
        self.findings: list[Finding] | None = None
        self.checked: dict[str, Checked] = {}
        self.unchecked = 0
        self._files: dict[str, FetchResult] = {}  # the answers for llms files
        self._compared = count()
        self._forms: dict[Shape, Form] = {}
        self._without: Counter[Shape] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> LintSpider:
        """Make the spider and its run, which the components use."""
        check_components(crawler.settings)
        spider = super().from_crawler(crawler, *args, **kwargs)
        config = Config.from_settings(crawler.settings)
        spider.run = page_run(crawler, PageArguments(url=spider.url), config)
        spider.download = EngineFetch(crawler, spider.run)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield the one request; it is not sent, its callback lints."""
        yield synthetic_request(self.parse)

    def closed(self, reason: str) -> None:
        """End the run."""
        self.run.end(reason)

    async def parse(self, response: Response) -> None:
        """Discover the files of the site, and check them."""
        options = Options(llms_txt=self.llms_txt, link_depth=self.run.config.link_depth)
        try:
            self.findings = await self._lint(await discover(self.fetch, self.url, options))
        except (DiscoveryError, InvalidUrlError) as error:
            self.findings = [finding("not-llms-txt", self.llms_txt or self.url, str(error))]

    async def fetch(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        """Download one URL; answers for llms files are kept."""
        answer = await self.download(url, accept=accept, max_bytes=max_bytes)
        if answer.ok and is_llms_url(answer.final_url):
            self._files[answer.final_url] = answer
        return answer

    async def _lint(self, discovery: Discovery) -> list[Finding]:
        if not discovery.files:
            return [_without_files(discovery)]
        found = [*self._of_files(discovery), *_beside(discovery)]
        indexes = [file for file in discovery.files if file.kind == "index"]
        urls = {without_fragment(entry.url): None for file in indexes for entry in file.entries}
        listed = [url for url in urls if not is_llms_url(url)]
        self.unchecked = max(len(listed) - self.max_links, 0)
        await self._check_all(listed[: self.max_links])
        for file in indexes:
            found += self._of_links(file.url, file.text)
        return ordered(found)

    def _of_files(self, discovery: Discovery) -> Iterator[Finding]:
        for file in discovery.files:
            if (answer := self._files.get(file.url)) is not None:
                yield from lint_body(answer.head(MAX_BODY * 4), file.url, file.url)
                if answer.content_type not in TEXT_TYPES:
                    problem = f"the file is served as {answer.content_type or 'no type'}"
                    yield finding("wrong-content-type", answer.final_url, problem)

    async def _check_all(self, urls: list[str]) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(url: str) -> None:
            async with room:
                self.checked[url] = await self._check(url)

        if urls:
            await one(urls[0])  # what it says of the site's Markdown helps with the others
        await asyncio.gather(*(one(url) for url in urls[1:]))

    async def _check(self, url: str) -> Checked:
        answer = await self.fetch(url, max_bytes=MAX_BODY)
        found = Checked(url, final_url=answer.final_url)
        if not answer.ok:
            why = answer.message or answer.error or f"HTTP status {answer.status}"
            if answer.error == "blocked" and "AI_OPTOUT" in why:
                found.mark("opted-out", why.partition(" (LLMS")[0])
            else:
                found.mark("dead" if answer.error == "not_found" else "failing", why)
            return found
        body = answer.head(MAX_BODY)
        headers = {name: [value] for name, value in answer.headers.items()}
        kind = page_forms.classify(
            answer.content_type, body, markdown_form=is_markdown_url(answer.final_url)
        )
        if kind == "html":
            await self._html(found, answer, body, headers)
        elif kind in {"markdown", "text"}:
            await self._markdown(found, answer, body)
        if found.health == "fine" and (reason := opt_out(of_page(headers))):
            found.mark("opted-out", reason)
        return found

    async def _markdown(self, found: Checked, answer: FetchResult, body: bytes) -> None:
        text = body.decode("utf-8", "replace")
        title = next((line[2:] for line in text.splitlines()[:20] if line.startswith("# ")), None)
        if (refusal := drop_reason(text, title)) is not None:
            found.mark("dead", refusal.rule)
        elif is_markdown_url(answer.final_url):
            if answer.content_type not in TEXT_TYPES:
                found.wrong_type = answer.content_type or "no type"
            await self._compare(found, text, page_candidates(answer.final_url).values())
        elif not answer.final_url.endswith(".txt"):
            vary = {part.strip() for part in answer.headers.get("vary", "").lower().split(",")}
            found.lacks_vary = vary.isdisjoint({"accept", "*"})

    async def _html(
        self, found: Checked, answer: FetchResult, body: bytes, headers: Mapping[str, list[str]]
    ) -> None:
        found.is_html = True
        if is_markdown_url(found.url):
            found.wrong_type = f"HTML ({answer.content_type})"
        if (page := await self._converted(answer, body)) is None:
            return
        if (refusal := drop_reason(page.markdown, page.meta.title)) is not None:
            if refusal.reason == "soft-404":
                found.mark("dead", refusal.rule)
            return
        if reason := opt_out(of_page(headers, page.meta.robots)):
            found.mark("opted-out", reason)
            return
        named = _alternate(page, answer)
        found.named = bool(named)
        text = None
        if not found.wrong_type:
            text = await self._read_markdown(found, named, answer.final_url)
        if text is not None and next(self._compared) < MAX_COMPARED:
            found.lost = _lost(text, found.url, page)

    async def _converted(self, answer: FetchResult, body: bytes) -> Page | None:
        try:
            return await self.run.workers.convert(body, answer.final_url, None)
        except ConversionError:
            return None

    async def _read_markdown(self, found: Checked, named: str | None, url: str) -> str | None:
        """Find the Markdown of an HTML page: what it names, else the form that the site has for
        such addresses.
        """
        if named:
            return await self._markdown_at(found, named)
        kind = shape(url)
        if kind is None or self._without[kind] >= GIVE_UP_AFTER:
            return None
        known = self._forms.get(kind)
        for form in [known] if known is not None else page_forms.FORMS[kind][:2]:
            target = twin(url, form)
            text = await self._markdown_at(found, target) if target is not None else None
            if text is not None:
                self._forms[kind] = form
                return text
        self._without[kind] += 1
        return None

    async def _markdown_at(self, found: Checked, url: str) -> str | None:
        answer = await self.fetch(url, max_bytes=MAX_BODY)
        body = answer.head(MAX_BODY)
        form = page_forms.classify(answer.content_type, body, markdown_form=True)
        if not answer.ok or form not in {"markdown", "text"}:
            return None
        found.markdown = url
        return body.decode("utf-8", "replace")

    async def _compare(self, found: Checked, text: str, pages: Iterable[str]) -> None:
        for url in pages if next(self._compared) < MAX_COMPARED else ():
            answer = await self.fetch(url, accept="text/html", max_bytes=MAX_BODY)
            if not answer.ok or answer.content_type not in page_forms.HTML_TYPES:
                continue
            page = await self._converted(answer, answer.head(MAX_BODY))
            if page is not None:
                found.named = bool(_alternate(page, answer))
                found.markdown = found.url
                found.lost = _lost(text, found.url, page)
            return

    def _of_links(self, file: str, text: str) -> Iterator[Finding]:
        groups: dict[tuple[str, str], list[str]] = {}
        where = lines_of(text, file)
        for url, line in where.items():
            if (one := self.checked.get(url)) is None:
                continue
            if one.health != "fine":
                yield finding(HEALTH_RULES[one.health], file, f"{url}: {one.why}", line, [url])
                continue
            if one.final_url and identity(one.final_url) != identity(url):
                yield finding(
                    "redirected-link", file, f"{url} leads to {one.final_url}", line, [url]
                )
            if one.lost:
                problem = f"the Markdown of {url} lacks {', '.join(sorted(one.lost))} of the page"
                yield finding("markdown-misses-content", file, problem, line, [url])
            for trait in one.traits():
                groups.setdefault(trait, []).append(url)
        for (rule, problem), urls in groups.items():
            yield finding(rule, file, f"{problem}: {len(urls)}", where[urls[0]], urls)


def _without_files(discovery: Discovery) -> Finding:
    start = discovery.start
    if start.error:
        why = start.message or start.error
        return finding("unreachable", start.final_url, f"{start.final_url} failed: {why}")
    tried = ", ".join(f"{one.url} ({one.reason})" for one in discovery.tried[:4] if one.reason)
    problem = f"no llms.txt was found: {tried or 'nothing answered'}"
    return finding("not-found", start.final_url, problem)


def _beside(discovery: Discovery) -> Iterator[Finding]:
    main = discovery.files[0].url
    for one in discovery.tried:
        if one.outcome != "found" and one.url in discovery.linked_files:
            yield finding("unread-llms-file", main, f"{one.url}: {one.reason}", urls=[one.url])
    for url in discovery.broken:
        yield finding("unread-sitemap", main, f"{url} breaks off", urls=[url])
    start = discovery.start
    is_page = start.ok and start.content_type in page_forms.HTML_TYPES
    if discovery.main_file is not None and is_page and not describing_files(start)[0]:
        problem = f"{start.final_url} does not name it"
        yield finding("no-describedby", discovery.main_file.url, problem)
    listed = [seed.url for seed in discovery.seeds if seed.llms is not None]
    for full in discovery.full_texts:
        held = full.report.urls if full.report is not None and full.is_usable else ()
        pages = {identity(_page(url)) for url in held}
        lacking = [url for url in listed if identity(_page(url)) not in pages]
        lacking = [url for url in lacking if same_site(url, full.url)]
        if pages and lacking and len(lacking) < len(listed):
            problem = f"{full.url} misses {len(lacking)} of {len(listed)} listed pages"
            yield finding("full-text-misses-pages", main, problem, urls=lacking)


def _lost(text: str, url: str, page: Page) -> frozenset[Loss]:
    try:
        return judge.compare(markdown.read(text, url), page).lost
    except ConversionError:
        return frozenset()


def _alternate(page: Page, answer: FetchResult) -> str | None:
    header = answer.headers.get("link", "")
    return page.meta.markdown_alternate or page_forms.markdown_link(header, answer.final_url)


def _page(url: str) -> str:
    """The address of the page of a Markdown address, near enough to compare lists."""
    endings = (".html.md", ".md", ".mdx", ".markdown", ".html")
    ending = next((one for one in endings if url.endswith(one)), "")
    return url.removesuffix(ending).removesuffix("/index").rstrip("/")
