"""How the files of a site spell the addresses of its pages, and where they say that the Markdown of
each is. No Scrapy.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from llmsspider.web.page_forms import is_markdown_url, twins
from llmsspider.web.urls import identity, loose_key


class Spellings:
    """The addresses that llms.txt, sitemaps and full-text files name, and the page of each."""

    def __init__(self) -> None:
        self._twin: tuple[str, ...] = ()
        """How addresses begin of the host with or without `www.` that is one with the start page's;
        and how those of that begin.
        """
        self._home = ""
        self._by_markdown: dict[str, str] = {}
        """The page of each Markdown URL that a file names, by its identity."""
        self._markdown_of: dict[str, str] = {}
        """The Markdown URL that a file names for a page, by the page's identity."""
        self._listed: dict[str, str] = {}
        """How an llms.txt, or else a sitemap, spells the address of a page, where that is not its
        identity.
        """
        self._whole: dict[str, str] = {}
        """The pages of full-text files, by `loose_key`: as lists, the start page or else the files
        spell them.
        """

    def learn_home(self, start: str, others: Iterable[str]) -> None:
        """Learn the host of the start page; `others` are further addresses of it, the one that was
        typed and the canonical one.
        """
        self._twin, self._home = _twin_host(start, others)

    def learn_full_texts(self, pages: Mapping[str, str], shown: Iterable[str]) -> None:
        """Learn the `pages` of full-text files by the addresses that those name; lists and the
        start page have `shown` some.
        """
        spelled = {loose_key(url): url for url in shown if not is_markdown_url(url)}
        found = {loose_key(url): page for url, page in pages.items()}
        self._whole = {key: spelled.get(key, page) for key, page in found.items()}

    def learn_markdown(self, url: str, page: str) -> None:
        """Learn that a file names this Markdown of a page; the first that names either counts."""
        page = self._by_markdown.setdefault(identity(url), page)
        self._markdown_of.setdefault(identity(page), url)

    def learn_listed(self, page: str, url: str) -> None:
        """Learn how a list spells the address of a page, which is given by its identity."""
        if page != url and not is_markdown_url(url):
            self._listed[page] = self.at_home(url)

    def at_home(self, url: str) -> str:
        """Return an address of the host with or without `www.` as one of the start page's host."""
        if not self._twin or not url.startswith(self._twin):
            return url
        return self._home + url.partition("//")[2].partition("/")[2]

    def markdown_of(self, url: str) -> str | None:
        """Return the Markdown URL that an llms.txt or sitemap names for a page, or None."""
        return self._markdown_of.get(identity(url))

    def in_full_text(self, url: str) -> str | None:
        """Return the page of a full-text file that has this address, None where none has."""
        return self._whole.get(loose_key(url)) if self._whole else None

    def page_of(self, url: str) -> str:
        """Return the page of an address that is no Markdown, by full-text files, Markdown URLs and
        lists.
        """
        page = self.in_full_text(url)
        if page is None and self._by_markdown:
            found = (self._by_markdown.get(identity(markdown)) for markdown in twins(url))
            page = next(filter(None, found), None)
        return page or (self._listed.get(identity(url), url) if self._listed else url)


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
