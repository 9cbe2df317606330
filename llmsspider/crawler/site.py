"""What this run learned about the site itself: what is listed, and how each host names its pages
and Markdown.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain, filterfalse
from typing import Any
from urllib.parse import urlsplit

from llmsspider.crawler.second_requests import Form, FormSamples, Judged
from llmsspider.items import LlmsEntry
from llmsspider.site.discovered import Discovery, FetchResult, Seed
from llmsspider.site.providers import Docsify, find_docsify
from llmsspider.site.repositories import Repository
from llmsspider.web.host_forms import HostForms
from llmsspider.web.page_forms import (
    MARKDOWN_TYPES,
    converter,
    is_markdown_url,
    shown_page,
    twins,
)
from llmsspider.web.urls import (
    directory,
    host,
    identity,
    loose_key,
    single_slashes,
    split_route,
    without_tracking,
)

# maximum number of Docsify sites, and of other pages with routes, that one crawl knows
MAX_DOCSIFY = 50
FEW_SLASHES = 3
"""Redirects to an address with a slash after which a host is asked for that."""
MAX_SECTIONS = 10_000  # maximum number of folders whose section is remembered


class SiteKnowledge:
    """Listed pages, their llms.txt entries, and the Markdown forms of each host."""

    def __init__(self) -> None:
        self.entries: dict[str, LlmsEntry] = {}  # what llms.txt says of a page, by identity
        self.soft404_hashes: set[str] = set()
        self.with_slash = Counter[str]()
        """How often each host redirected a page to its address with a slash, or linked to that in
        place of the one that it lists, since it last did not.
        """
        self._shells: dict[
            str, tuple[bytes, int]
        ] = {}  # by where such pages lie, and how many had it
        self.discovery: Discovery | None = None
        self.robots_txt: Callable[[str], Awaitable[str | None]] | None = None
        """Returns the robots.txt of a URL's host, None where it failed; set by what obeys it."""
        self.answers_404 = False  # whether a file that discovery looked for was answered so
        """Content hashes of what the site answers for files it does not have."""
        self.listed: set[str] = set()  # the pages that an llms.txt or sitemap lists, by identity
        self.section_roots: set[str] = set()  # those that open a section of the documentation
        self._docsify: list[Docsify] = []
        self.repository: Repository | None = None  # the repository whose files are the pages
        # pages, by identity, whose routes a browser renders as pages
        self._routed: set[str] = set()
        # those that the start page links to or a list names, by identity
        self.pages: frozenset[str] = frozenset()
        self._forms: dict[str, HostForms] = {}
        self.judged = Judged()
        self._start = ""
        self._twin: tuple[str, ...] = ()
        """How addresses begin of the host with or without `www.` that is one with the start page's;
        and how those of that begin.
        """
        self._home = ""
        self._sections: dict[str, str] = {}  # what `section_of` returns for the pages of a folder
        self._by_markdown: dict[str, str] = {}
        """The page of each Markdown URL that a file names, by its identity."""
        self._spellings: dict[str, str] = {}
        """How an llms.txt, or else a sitemap, spells the address of a page, where that is not its
        identity.
        """
        self._whole: dict[str, str] = {}
        """The pages of full-text files, by `loose_key`: as lists, the start page or else the files
        spell them.
        """
        self._markdown_of: dict[str, str] = {}
        """The Markdown URL that a file names for a page, by the page's identity."""

    def discovered(
        self, discovery: Discovery, start_links: Iterable[str], canonical: str | None = None
    ) -> None:
        """Learn from the outcome of discovery; `start_links` is every URL that the start page links
        to, `canonical` the address that it names as its own.
        """
        self.discovery = discovery
        start = discovery.start
        self._twin, self._home = _twin_host(start.final_url, (start.url, canonical or ""))
        self.learn_docsify(start.body, start.final_url)
        usable = [text.report for text in discovery.full_texts if text.is_usable and text.report]
        in_files = [url for report in usable for url in report.urls]
        listed = [self.at_home(seed.url) for seed in discovery.seeds]
        links = dict.fromkeys(map(self.at_home, start_links))
        self._start = identity(start.final_url)
        self._sections = {}
        self._learn_addresses(start, links, listed, in_files)
        if discovery.start_entry is not None:
            self.entries[self._start] = discovery.start_entry
        if discovery.start_listed:
            self.listed.add(self._start)
        for seed in discovery.seeds:
            self.enter(seed)

    def _learn_addresses(
        self,
        start: FetchResult,
        links: Collection[str],
        listed: list[str],
        in_files: list[str],
    ) -> None:
        """Learn how hosts and lists spell the addresses of pages and their Markdown, by what the
        start page links to, lists name, and full-text files hold.
        """
        self.with_slash.update(host(url) for url in listed if f"{url}/" in links)
        urls = [*listed, *in_files]
        named = filterfalse(is_markdown_url, urls)
        self.pages = frozenset(map(identity, (start.final_url, *links, *named)))
        self._learn_forms(start, urls)
        spelled = {loose_key(url): url for url in filterfalse(is_markdown_url, (*links, *listed))}
        pages = {loose_key(url): self.page_of(url) for url in in_files}
        self._whole = {key: spelled.get(key, page) for key, page in pages.items()}
        for url in filter(is_markdown_url, urls):
            page = self._by_markdown.setdefault(identity(url), self.page_of(url))
            self._markdown_of.setdefault(identity(page), url)

    def _learn_forms(self, start: FetchResult, urls: Iterable[str]) -> None:
        """Learn the forms of hosts by the answer of the start page, and by what is listed."""
        if start.content_type in MARKDOWN_TYPES and not is_markdown_url(start.final_url):
            is_converted = bool(converter(start.headers))
            self.forms_of(start.final_url).answers_markdown(is_converted=is_converted)
        by_host: defaultdict[str, list[str]] = defaultdict(list)
        for url in urls:
            by_host[host(url)].append(url)
        for name, on_host in by_host.items():
            self.forms(name).learn_from_listed(on_host, self.pages)

    def enter(self, seed: Seed) -> None:
        """Count a seed's page as listed; the first entry that names a page is the one kept."""
        page = identity(self.page_of(seed.url))
        if page not in self.listed and page != seed.url and not is_markdown_url(seed.url):
            self._spellings[page] = self.at_home(seed.url)
        self.listed.add(page)
        if seed.llms is None or page in self.entries:
            return
        last = next(reversed(self.entries), None)
        opens_section = last is None or self.entries[last].section != seed.llms.section
        self.entries[page] = seed.llms
        if opens_section or page.endswith("/"):
            self.section_roots.add(page)

    def is_described(self, url: str) -> bool:
        """Say whether an llms.txt lists the page."""
        return identity(url) in self.entries

    def is_listed(self, url: str) -> bool:
        """Say whether an llms.txt or sitemap lists the page."""
        return identity(url) in self.listed

    def is_seed(self, url: str) -> bool:
        """Say whether the page is the start page or listed: it enters at depth 0, whatever links to
        it.
        """
        page = identity(url)
        return page == self._start or page in self.listed

    def is_evident(self, url: str) -> bool:
        """Say whether the start page links to the page, or an llms.txt or sitemap lists it."""
        page = identity(url)
        return page in self.pages or page in self.listed

    def known_pages(self) -> Iterator[str]:
        """Return the pages that the start page links to or a file lists, by identity."""
        return chain(self.pages, self.listed)

    def forms(self, name: str) -> HostForms:
        """Return what is known of the host `name` (see `urls.host`)."""
        return self._forms.setdefault(name, HostForms())

    def forms_of(self, url: str) -> HostForms:
        """Return what is known of the host of `url`."""
        return self.forms(host(url))

    def samples_of(self, url: str, form: Form) -> FormSamples:
        """Return what samples of a form of Markdown have shown, on the host of `url` and in its
        section.
        """
        return self.judged.of(form, host(url), self.section_of(url))

    def section_of(self, url: str) -> str:
        """Return the path of the first folder that not all pages below the start page share; ""
        outside of any.
        """
        plain = url.partition("?")[0].rstrip("/")
        place = plain.rpartition("/")[0]
        if place not in self._sections:
            if len(self._sections) >= MAX_SECTIONS:
                self._sections.clear()
            path = directory(plain)
            start = directory(self._start)
            own = start if host(url) == host(self._start) and path.startswith(start) else "/"
            folder, slash, _ = path[len(own) :].partition("/")
            self._sections[place] = f"{own}{folder}/" if slash else ""
        return self._sections[place]

    def learn_docsify(self, body: bytes, url: str, script: str = "") -> Docsify | None:
        """Return the Docsify site that an HTML page, or its `script`, configures, and remember it;
        None for others.
        """
        site = find_docsify(body, url, script) if b"docsify" in body else None
        if site is not None and not site.is_configured:
            site = next((other for other in self._docsify if other.page == site.page), site)
        if site is not None and site not in self._docsify and len(self._docsify) < MAX_DOCSIFY:
            self._docsify = [*(other for other in self._docsify if other.page != site.page), site]
        return site

    def learn_shell(self, root: str, body: bytes) -> bool:
        """Remember the HTML of a page below `root` that is drawn from data of its own; say whether
        it is the first.
        """
        is_first = root not in self._shells
        known, number = self._shells.get(root, (body, 0))
        self._shells[root] = (body, number + 1 if known == body else 0)
        self.forms_of(root).negotiates = True  # its pages are data: no Markdown is guessed
        return is_first

    def shell_of(self, url: str) -> bytes | None:
        """Return the HTML that all pages there have, which are drawn from their data; None where it
        is not known.
        """
        if not self._shells or url.endswith("/") != (host(url) in self.with_slash):
            return None
        shells = self._shells.items()
        return next(
            (body for root, (body, number) in shells if number > 1 and url.startswith(root)), None
        )

    def docsify_of(self, url: str) -> Docsify | None:
        """Return the Docsify site that a URL is a route of, or the page; None for any other URL."""
        return (
            next((site for site in self._docsify if site.has_page(url)), None)
            if self._docsify
            else None
        )

    def repository_of(self, url: str) -> Repository | None:
        """Return the repository that a URL is a file of, as its host shows it; None for any other
        URL.
        """
        return (
            self.repository
            if self.repository is not None and self.repository.has_page(url)
            else None
        )

    def learn_routes(self, url: str) -> None:
        """Remember that the routes of a page are pages: a browser rendered it, and it links to
        several of them.
        """
        if len(self._routed) < MAX_DOCSIFY:
            self._routed.add(identity(split_route(url)[0]))

    def at_home(self, url: str) -> str:
        """Return an address of the host with or without `www.` as one of the start page's host."""
        if not self._twin or not url.startswith(self._twin):
            return url
        return self._home + url.partition("//")[2].partition("/")[2]

    def page_of(self, url: str) -> str:
        """Return the page a URL stands for: itself, or for a Markdown or source URL the page it
        belongs to.

        A route is a page where its site is known to have them, else a place on the page. `/a` and
        `/a.html` are one where `/a.md` is listed, `/a` and `/a/` where `/a/index.md` is.
        """
        url = single_slashes(self.at_home(url))
        url = without_tracking(url) if "?" in url else url
        url = shown_page(url) if ".html?" in url or "/llms.mdx/" in url else url
        if "#" in url:
            page = split_route(url)[0]
            has_routes = self.docsify_of(url) is not None or identity(page) in self._routed
            return url if has_routes else page
        if (shown := self._page_of_file(url)) is not None:
            return shown
        if is_markdown_url(url) or "/_sources/" in url:
            url = self.forms_of(url).page_of(url, self.pages) or url
            return self._whole.get(loose_key(url), url) if self._whole else url
        return self._named_page(url) or url

    def _page_of_file(self, url: str) -> str | None:
        """Return the page that a file of a Docsify site or of the repository is."""
        for site in self._docsify:
            if page := site.page_of(url):
                return page
        return self.repository.page_of(url) if self.repository is not None else None

    def _named_page(self, url: str) -> str | None:
        """Return the page of an address that is no Markdown, by full-text files, Markdown URLs and
        spellings of lists.
        """
        if self._whole and (page := self._whole.get(loose_key(url))):
            return page
        if self._by_markdown:
            for markdown_url in twins(url):
                if page := self._by_markdown.get(identity(markdown_url)):
                    return page
        return self._spellings.get(identity(url)) if self._spellings else None

    def markdown_of(self, url: str) -> str | None:
        """Return the Markdown URL that an llms.txt or sitemap names for a page, or None."""
        return self._markdown_of.get(identity(url))

    def remember(self, kept: Mapping[str, Any]) -> None:
        """Take over what an earlier run kept."""
        hosts = {
            name: data for name, data in kept.get("forms", {}).items() if isinstance(data, dict)
        }
        self._forms = {name: HostForms.from_dict(data) for name, data in hosts.items()}
        self.judged = Judged(kept.get("judged"))
        self._docsify = Docsify.from_list(kept.get("docsify"))
        self.repository = Repository.from_dict(kept.get("repository"))
        self._routed = {url for url in kept.get("routed", ()) if isinstance(url, str)}

    def keep(self) -> dict[str, Any]:
        """Return what the next run needs, by name."""
        return {
            "forms": {name: forms.as_dict() for name, forms in self._forms.items()},
            "judged": self.judged.to_keep(),
            "docsify": [asdict(site) for site in self._docsify],
            "routed": sorted(self._routed),
            "repository": self.repository and asdict(self.repository),
        }


def _twin_host(start: str, others: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return how the addresses of the host begin that is the same site with or without `www.`, and
    how those of the start page do.

    One of `others`, the address that was typed or the canonical one, shows it.

    >>> _twin_host("https://www.e.com/docs/", ["http://e.com/docs/"])
    (('http://e.com/', 'https://e.com/'), 'https://www.e.com/')
    >>> _twin_host("https://e.com/", ["https://docs.e.com/"])
    ((), 'https://e.com/')
    """
    parts = urlsplit(start)
    home = f"{parts.scheme}://{parts.netloc}/"
    bare = parts.netloc.removeprefix("www.")
    twin = bare if parts.netloc != bare else f"www.{bare}"
    is_shown = any(urlsplit(other).netloc == twin for other in others)
    return ((f"http://{twin}/", f"https://{twin}/") if is_shown else (), home)
