"""What this run learned about the site itself: what is listed, and how each host names its pages
and Markdown.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, filterfalse
from typing import Any

from llmsspider.crawler.file_sites import FileSites
from llmsspider.crawler.second_requests import Form, FormSamples, Judged
from llmsspider.crawler.spellings import Spellings
from llmsspider.items import LlmsEntry
from llmsspider.site.discovered import Discovery, FetchResult, Seed
from llmsspider.web.host_forms import MAX_MISSED, UNNAMED, HostForms
from llmsspider.web.page_forms import (
    MARKDOWN_TYPES,
    converter,
    is_markdown_url,
    shown_page,
)
from llmsspider.web.urls import (
    directory,
    host,
    identity,
    single_slashes,
    split_route,
    without_tracking,
)

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
        # by where such pages lie, and how many had it
        self._shells: dict[str, tuple[bytes, int]] = {}
        self.discovery: Discovery | None = None
        self.robots_txt: Callable[[str], Awaitable[str | None]] | None = None
        """Returns the robots.txt of a URL's host, None where it failed; set by what obeys it."""
        self.answers_404 = False  # whether a file that discovery looked for was answered so
        """Content hashes of what the site answers for files it does not have."""
        self.listed: set[str] = set()  # the pages that an llms.txt or sitemap lists, by identity
        self.section_roots: set[str] = set()  # those that open a section of the documentation
        self.file_sites = FileSites()
        self.spellings = Spellings()
        # those that the start page links to or a list names, by identity
        self.pages: frozenset[str] = frozenset()
        self._forms: dict[str, HostForms] = {}
        self.judged = Judged()
        self._start = ""
        self._sections: dict[str, str] = {}  # what `section_of` returns for the pages of a folder

    def discovered(
        self, discovery: Discovery, start_links: Iterable[str], canonical: str | None = None
    ) -> None:
        """Learn from the outcome of discovery; `start_links` is every URL that the start page links
        to, `canonical` the address that it names as its own.
        """
        self.discovery = discovery
        start = discovery.start
        spellings = self.spellings
        spellings.learn_home(start.final_url, (start.url, canonical or ""))
        self.file_sites.learn_docsify(start.body, start.final_url)
        usable = [text.report for text in discovery.full_texts if text.is_usable and text.report]
        in_files = [url for report in usable for url in report.urls]
        listed = [spellings.at_home(seed.url) for seed in discovery.seeds]
        links = dict.fromkeys(map(spellings.at_home, start_links))
        self._start = identity(start.final_url)
        self._sections = {}
        self._learn_addresses(start, links, listed, in_files)
        if not discovery.files:
            self._leave_guesses(start.final_url, links)
        if discovery.start_entry is not None:
            self.entries[self._start] = discovery.start_entry
        if discovery.start_listed:
            self.listed.add(self._start)
        for seed in discovery.seeds:
            self.enter(seed)

    def _leave_guesses(self, start: str, links: Iterable[str]) -> None:
        """Leave few guesses at the Markdown of a host where no link leads to some."""
        if host(start) not in map(host, filter(is_markdown_url, links)):
            self.forms_of(start).leave(UNNAMED)

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
        spellings = self.spellings
        spellings.learn_full_texts({url: self.page_of(url) for url in in_files}, [*links, *listed])
        for url in filter(is_markdown_url, urls):
            spellings.learn_markdown(url, self.page_of(url))

    def _learn_forms(self, start: FetchResult, urls: Iterable[str]) -> None:
        """Learn the forms of hosts by the answer of the start page, and by what is listed."""
        if start.content_type in MARKDOWN_TYPES and not is_markdown_url(start.final_url):
            forms = self.forms_of(start.final_url)
            forms.negotiates = converter(start.headers) is None
            forms.leave(MAX_MISSED)  # one page's, where it was made on the way
        by_host: defaultdict[str, list[str]] = defaultdict(list)
        for url in urls:
            by_host[host(url)].append(url)
        for name, on_host in by_host.items():
            self.forms(name).learn_from_listed(on_host, self.pages)

    def enter(self, seed: Seed) -> None:
        """Count a seed's page as listed; the first entry that names a page is the one kept."""
        page = identity(self.page_of(seed.url))
        if page not in self.listed:
            self.spellings.learn_listed(page, seed.url)
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

    def page_of(self, url: str) -> str:
        """Return the page a URL stands for: itself, or for a Markdown or source URL the page it
        belongs to.

        A route is a page where its site is known to have them, else a place on the page. `/a` and
        `/a.html` are one where `/a.md` is listed, `/a` and `/a/` where `/a/index.md` is.
        """
        url = single_slashes(self.spellings.at_home(url))
        url = without_tracking(url) if "?" in url else url
        url = shown_page(url) if ".html?" in url or "/llms.mdx/" in url else url
        if "#" in url:
            return url if self.file_sites.has_routes(url) else split_route(url)[0]
        page = self.file_sites.page_of(url)
        if page is None and (is_markdown_url(url) or "/_sources/" in url):
            url = self.forms_of(url).page_of(url, self.pages) or url
            return self.spellings.in_full_text(url) or url
        return page or self.spellings.page_of(url)

    def remember(self, kept: Mapping[str, Any]) -> None:
        """Take over what an earlier run kept."""
        hosts = {
            name: data for name, data in kept.get("forms", {}).items() if isinstance(data, dict)
        }
        self._forms = {name: HostForms.from_dict(data) for name, data in hosts.items()}
        self.judged = Judged(kept.get("judged"))
        self.file_sites.remember(kept)

    def keep(self) -> dict[str, Any]:
        """Return what the next run needs, by name."""
        return {
            "forms": {name: forms.as_dict() for name, forms in self._forms.items()},
            "judged": self.judged.to_keep(),
            **self.file_sites.keep(),
        }
