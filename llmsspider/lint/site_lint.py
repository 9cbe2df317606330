"""An llms.txt on its site: what its links answer, their Markdown and HTML side by side, the other files beside it.

Everything is fetched through a `Fetch`, a few links at a time and within limits; what the store knows of a page from
its last crawl is not fetched again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from llmsspider.crawl.settle import drop_reason
from llmsspider.errors import ConversionError
from llmsspider.lint.findings import Finding, finding, ordered
from llmsspider.lint.markdown_version import Sides, missing
from llmsspider.lint.text import lint_body, places
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.web import hosts, media_types
from llmsspider.web.markdown_forms import FORMS, Form, Shape, is_markdown_url, shape, twin
from llmsspider.web.media_types import HTML_TYPES, MARKDOWN_TYPES, classify
from llmsspider.web.opt_out import opt_out
from llmsspider.web.urls import identity, without_fragment

if TYPE_CHECKING:
    from llmsspider.items import Page
    from llmsspider.site.discovery import Discovery, Fetch, FetchResult

AT_ONCE = 8
"""Maximum number of links fetched at the same time; the delays of the crawl hold all the same."""
GIVE_UP_AFTER = 5
"""Number of pages of one form without Markdown after which that of the others is not requested."""
MAX_BODY = 8 * 1024 * 1024
TEXT_TYPES = frozenset({"text/plain", *MARKDOWN_TYPES})

Health = Literal["fine", "dead", "failing", "opted-out"]


class Convert(Protocol):
    """Makes Markdown of HTML; raises `ConversionError`."""

    def __call__(self, body: bytes, url: str, encoding: str | None) -> Awaitable[Page]:
        """Convert."""
        ...


@dataclass(slots=True)
class Checked:
    """The result for a listed page.

    `markdown` is the URL of its Markdown where it is HTML, `named` whether the page names it. `sides` is what its
    Markdown and its HTML miss of each other, where both were read.
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
    sides: Sides | None = None


@dataclass(slots=True)
class Limits:
    """Maximum numbers of requests: links, pages whose Markdown and HTML are compared."""

    links: int = 200
    pairs: int = 20


@dataclass(slots=True)
class SiteLint:
    """One lint of a site.

    Args:
        fetch: downloads one URL.
        convert: makes Markdown of HTML.
        limits: maximum numbers of requests.
        known: what the store knows of pages, by identity; those are not fetched.
    """

    fetch: Fetch
    convert: Convert
    limits: Limits = field(default_factory=Limits)
    known: Mapping[str, Checked] = field(default_factory=dict)
    checked: dict[str, Checked] = field(default_factory=dict)
    unchecked: int = 0
    _forms: dict[Shape, Form] = field(default_factory=dict)
    _without: Counter[Shape] = field(default_factory=Counter)

    async def run(self, discovery: Discovery, bodies: Mapping[str, FetchResult]) -> list[Finding]:
        """Check everything that discovery found.

        Args:
            discovery: the files of the site.
            bodies: the answers for its llms files, by URL.
        """
        start = discovery.start.final_url
        if not discovery.files:
            tried = ", ".join(f"{one.url} ({one.reason})" for one in discovery.tried[:4] if one.reason)
            if discovery.start.error:
                why = discovery.start.message or discovery.start.error
                return [finding("unreachable", start, f"{start} failed: {why}")]
            return [finding("not-found", start, f"no llms.txt was found: {tried or 'nothing answered'}")]
        found: list[Finding] = []
        for file in discovery.files:
            answer = bodies.get(file.url)
            if answer is not None:
                found += lint_body(answer.head(MAX_BODY * 4), file.url, file.url)
                found += _served_as(answer)
        found += self._beside(discovery)
        found += await self._start_page(discovery)
        listed = list(_listed(discovery))
        self.unchecked = max(len(listed) - self.limits.links, 0)
        await self._check_all(listed[: self.limits.links])
        for file in discovery.files:
            if file.kind == "index":
                found += self._of_links(file.url, file.text)
        return ordered(found)

    # --- links ---

    async def _check_all(self, urls: list[str]) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(url: str) -> None:
            async with room:
                self.checked[url] = self.known.get(identity(url)) or await self._check(url)

        if urls:
            await one(urls[0])  # what it says of the site's Markdown helps with the others
        await asyncio.gather(*(one(url) for url in urls[1:]))

    async def _check(self, url: str) -> Checked:
        answer = await self.fetch(url, max_bytes=MAX_BODY)
        found = Checked(url, final_url=answer.final_url)
        if not answer.ok:
            found.health, found.why = _health(answer)
            return found
        body = answer.head(MAX_BODY)
        headers = {name: [value] for name, value in answer.headers.items()}
        kind = classify(answer.content_type, body, markdown_form=is_markdown_url(answer.final_url))
        if kind == "html":
            await self._html(found, answer, body, headers)
        elif kind in {"markdown", "text"}:
            await self._markdown(found, answer, body)
        if found.health == "fine" and (reason := opt_out(headers)):
            found.health, found.why = "opted-out", reason
        return found

    async def _markdown(self, found: Checked, answer: FetchResult, body: bytes) -> None:
        text = body.decode("utf-8", "replace")
        title = next((line[2:] for line in text.splitlines()[:20] if line.startswith("# ")), None)
        if (refusal := drop_reason(text, title, min_characters=1)) is not None:
            found.health, found.why = "dead", refusal.rule
            return
        if is_markdown_url(answer.final_url):
            if answer.content_type not in TEXT_TYPES:
                found.wrong_type = answer.content_type or "no type"
            await self._compare(found, text, _pages_of(answer.final_url))
        elif not answer.final_url.endswith(".txt"):
            vary = answer.headers.get("vary", "").lower()
            found.lacks_vary = "accept" not in {part.strip() for part in vary.split(",")} and vary != "*"

    async def _html(
        self, found: Checked, answer: FetchResult, body: bytes, headers: Mapping[str, list[str]]
    ) -> None:
        found.is_html = True
        if is_markdown_url(found.url):
            found.wrong_type = f"HTML ({answer.content_type})"
        try:
            page = await self.convert(body, answer.final_url, None)
        except ConversionError:
            return
        if (refusal := drop_reason(page.markdown, page.meta.title, min_characters=1)) is not None:
            found.health = "dead" if refusal.reason == "soft-404" else "fine"
            found.why = refusal.rule
            return
        if reason := opt_out(headers, page.meta.robots):
            found.health, found.why = "opted-out", reason
            return
        named = page.meta.markdown_alternate or _alternate(answer)
        found.named = bool(named)
        if is_markdown_url(found.url):
            return
        text = await self._read_markdown(found, named, answer.final_url)
        if text is not None and self._takes_pair():
            found.sides = missing(page.markdown, text)

    async def _read_markdown(self, found: Checked, named: str | None, url: str) -> str | None:
        """Find the Markdown of an HTML page: what it names, else the form that the site has for such addresses."""
        kind = shape(url)
        forms: list[Form | None] = [None] if named else []
        if kind is not None and not named and self._without[kind] < GIVE_UP_AFTER:
            forms = [self._forms[kind]] if kind in self._forms else list(FORMS[kind][:2])
        for form in forms:
            target = named if form is None else twin(url, form)
            if target is None:
                continue
            answer = await self.fetch(target, max_bytes=MAX_BODY)
            body = answer.head(MAX_BODY)
            if answer.ok and classify(answer.content_type, body, markdown_form=True) in {"markdown", "text"}:
                found.markdown = target
                if kind is not None and form is not None:
                    self._forms[kind] = form
                return body.decode("utf-8", "replace")
        if kind is not None and not named:
            self._without[kind] += 1
        return None

    async def _compare(self, found: Checked, text: str, pages: Iterable[str]) -> None:
        """Compare Markdown with its HTML page, where there is one."""
        if not self._takes_pair():
            return
        for url in pages:
            answer = await self.fetch(url, accept="text/html", max_bytes=MAX_BODY)
            if not answer.ok or answer.content_type not in HTML_TYPES:
                continue
            try:
                page = await self.convert(answer.head(MAX_BODY), answer.final_url, None)
            except ConversionError:
                return
            found.named = bool(page.meta.markdown_alternate or _alternate(answer))
            found.markdown = found.url
            found.sides = missing(page.markdown, text)
            return

    def _takes_pair(self) -> bool:
        self.limits.pairs -= 1
        return self.limits.pairs >= 0

    def _of_links(self, file: str, text: str) -> Iterator[Finding]:
        """Yield the findings of the links of one index, at their places."""
        groups: dict[tuple[str, str], list[str]] = {}
        where = places(text, file)
        for url, place in where.items():
            one = self.checked.get(url)
            if one is None:
                continue
            if one.health != "fine":
                rule = {"dead": "dead-link", "failing": "failing-link", "opted-out": "opted-out-link"}[
                    one.health
                ]
                yield finding(rule, file, f"{url}: {one.why}", place, [url])
                continue
            if one.final_url and identity(one.final_url) != identity(url):
                yield finding("redirected-link", file, f"{url} leads to {one.final_url}", place, [url])
            if one.sides is not None:
                yield from one.sides.findings(file, url, place)
            for rule, what in _said_of(one):
                groups.setdefault((rule, what), []).append(url)
        for (rule, what), urls in groups.items():
            yield finding(rule, file, f"{what}: {len(urls)}", where[urls[0]], urls)

    # --- what stands beside ---

    async def _start_page(self, discovery: Discovery) -> list[Finding]:
        start = discovery.start
        if not start.ok or start.content_type not in HTML_TYPES or discovery.main_file is None:
            return []
        try:
            page = await self.convert(start.head(MAX_BODY), start.final_url, None)
        except ConversionError:
            return []
        links = media_types.parse(start.headers.get("link", ""), start.final_url)
        if page.meta.describedby or any("describedby" in link.rel for link in links):
            return []
        return [finding("no-describedby", discovery.main_file.url, f"{start.final_url} does not name it")]

    def _beside(self, discovery: Discovery) -> Iterator[Finding]:
        main = discovery.files[0].url
        for one in discovery.tried:
            if one.outcome != "found" and one.url in discovery.linked_files:
                yield finding("unread-llms-file", main, f"{one.url}: {one.reason}", urls=[one.url])
        for url in discovery.broken:
            yield finding("unread-sitemap", main, f"{url} breaks off", urls=[url])
        listed = [seed for seed in discovery.seeds if seed.llms is not None]
        for full in discovery.full_texts:
            if full.report is None or not full.is_usable or not full.report.urls:
                continue
            held = {identity(_page(url)) for url in full.report.urls}
            lacking = [seed.url for seed in listed if identity(_page(seed.url)) not in held]
            lacking = [url for url in lacking if hosts.same_site(url, full.url)]
            if lacking and len(lacking) < len(listed):
                problem = f"{full.url} misses {len(lacking)} of {len(listed)} listed pages"
                yield finding("full-text-misses-pages", main, problem, urls=lacking)
        if discovery.sitemaps and listed:
            yield from self._against_sitemap(main, discovery)

    def _against_sitemap(self, main: str, discovery: Discovery) -> Iterator[Finding]:
        in_sitemap = {identity(_page(seed.url)) for seed in discovery.seeds if seed.in_sitemap}
        in_llms = {identity(_page(seed.url)) for seed in discovery.seeds if seed.llms is not None}
        start = identity(_page(discovery.start.final_url))
        in_sitemap |= {start} if discovery.start_in_sitemap else set()
        in_llms |= {start} if discovery.start_entry else set()
        outside = [
            seed.url
            for seed in discovery.seeds
            if seed.llms is not None
            and not is_llms_url(seed.url)
            and identity(_page(seed.url)) not in in_sitemap
            and hosts.same_site(seed.url, main)
        ]
        if outside:
            yield finding(
                "not-in-sitemap", main, f"listed pages that are in no sitemap: {len(outside)}", urls=outside
            )
        alone = [
            seed.url
            for seed in discovery.seeds
            if seed.in_sitemap and identity(_page(seed.url)) not in in_llms
        ]
        if alone:
            yield finding(
                "only-in-sitemap",
                main,
                f"pages of the sitemap that are in no llms.txt: {len(alone)}",
                urls=alone,
            )


def _said_of(one: Checked) -> Iterator[tuple[str, str]]:
    """Yield rule and words of what many links have in common."""
    if one.wrong_type is not None:
        yield "wrong-content-type", f"Markdown addresses served as {one.wrong_type}"
    if one.lacks_vary:
        yield "no-vary", "pages that are Markdown or HTML by the Accept header without `Vary: Accept`"
    if one.is_html and not is_markdown_url(one.url):
        if one.markdown is not None:
            yield "html-link", "links to HTML pages that have a Markdown version"
        else:
            yield "no-markdown", "links to HTML pages without a Markdown version"
    if one.markdown is not None and not one.named:
        yield "no-alternate", "pages that do not name their Markdown version"


def _health(answer: FetchResult) -> tuple[Health, str]:
    why = answer.message or answer.error or f"HTTP status {answer.status}"
    if answer.error == "not_found":
        return "dead", why
    if answer.error == "blocked" and "AI_OPTOUT" in why:
        return "opted-out", why.partition(" (LLMS")[0]
    return "failing", why


def _served_as(answer: FetchResult) -> Iterator[Finding]:
    if answer.content_type not in TEXT_TYPES:
        problem = f"the file is served as {answer.content_type or 'no type'}"
        yield finding("wrong-content-type", answer.final_url, problem)


def _alternate(answer: FetchResult) -> str | None:
    """The Markdown that the `Link` header of a page names."""
    for link in media_types.parse(answer.headers.get("link", ""), answer.final_url):
        if "alternate" in link.rel and link.type in MARKDOWN_TYPES and isinstance(link.url, str):
            return link.url
    return None


def _listed(discovery: Discovery) -> Iterator[str]:
    """The pages that indexes list, each once, without llms files."""
    seen: set[str] = set()
    for file in discovery.files:
        for entry in file.entries if file.kind == "index" else ():
            url = without_fragment(entry.url)
            if url not in seen and not is_llms_url(url):
                seen.add(url)
                yield url


def _page(url: str) -> str:
    """The address of the page of a Markdown address, near enough to compare lists."""
    for ending in (".html.md", ".md", ".mdx", ".markdown"):
        if url.endswith(ending):
            url = url[: -len(ending)]
            break
    else:
        url = url.removesuffix(".html")
    return url.removesuffix("/index").rstrip("/")


def _pages_of(url: str) -> list[str]:
    """Where the HTML page of a Markdown address may be."""
    stem = url.rpartition(".")[0]
    if stem.endswith((".html", ".htm")):
        return [stem]
    if stem.endswith("/index"):
        return [stem.removesuffix("index"), f"{stem}.html"]
    return [stem, f"{stem}.html", f"{stem}/"]
