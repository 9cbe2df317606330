"""Which documents of a crawl are one page under two addresses: their texts are equal, and the
addresses say that they may be. No Scrapy.

A page stands under names of an address and a text. Another one that has a name of it is the same
page; so is one whose address, with a version or a query less, makes one of its names. Neither
depends on which of the two is read first. Addresses are spellings of one by `urls.alike_key`; those
of one Markdown file, whose links may lead to several of them, where they end alike; those of one
directory where no list names the page (`/1-old-title`, `/1-new-title`); one that has a segment more
(`/print/guide`), and one with a query beside one without (`/view?id=7`).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from llmsspider.items import content_hash
from llmsspider.web.trees import axis_of, replaced, tree_of
from llmsspider.web.urls import alike_key, directory, host, loose_key

_DESTINATION = re.compile(r"\]\([^()\s]*+")
"""Where a link leads: relative links of one page differ by the spelling of its address."""

_LINK = re.compile(r"(?:^ *[-*+] +)?!?\[[^\[\]]*\]\(([^()\s]*+)[^()]*\)", re.MULTILINE)

_QUERY = re.compile("[?;]")
"""What a query begins with, or the parameters of a path."""

_BESIDE_PROSE = re.compile(r"^#.*$|!?\[[^\[\]]*\]\([^()]*\)|\s+", re.MULTILINE)
"""What differs in lists of one text, such as those that facets make: headings and links."""

ENDINGS = ("/index.html", "/index", ".html", ".htm", ".md", "/")
"""Ends of addresses in which spellings of one page differ."""

MIN_SAME_CHARACTERS = 200
"""Minimum length in characters of a text that two names have which are no spellings of one: notes
that something is to come are written often.
"""


class Text(NamedTuple):
    """A page as it is compared: its address, what it says, and where that came from."""

    url: str
    title: str | None
    content: str
    file: str | None = None
    """The Markdown file that it was read from, whose links may lead to several of its spellings."""
    is_listed: bool = False
    """Whether a list names the address: others of its directory are no copies of it."""

    @property
    def may_be_copy(self) -> bool:
        """Whether it may be a page whose address is no spelling of its own."""
        return len(self.content) >= MIN_SAME_CHARACTERS and not self.is_listed

    @property
    def said(self) -> str:
        """The text without links to the page itself, and to what may be a copy of it."""
        own = _path(self.url)

        def without_own(link: re.Match[str]) -> str:
            return "" if _are_alike(own, _path(link[1])) else link[0]

        return " ".join(_LINK.sub(without_own, self.content).split())


class SamePages:
    """The pages of one crawl, by their names; without `other_versions` addresses that differ by a
    version alone are compared, too.
    """

    def __init__(self, *, other_versions: bool):
        self._other_versions = other_versions
        self._first: dict[str, str] = {}

    def first(self, page: Text) -> str | None:
        """Return the address of the page that came first with this one's text, None for a page of
        its own.
        """
        bare = self._bare(page.url)
        same = _without_spelling(page, bare)
        words = content_hash(_DESTINATION.sub("](", page.content))
        own = _names(page, same, words)
        plainer = _plainer_names(page, bare, same, words)
        said = page.said
        if len(said) >= MIN_SAME_CHARACTERS and not page.is_listed:
            own.append(f"{alike_key(page.url)} {content_hash(said)}")
            shorter = map(alike_key, _with_segment_less(page.url))
            plainer += [f"{address} {content_hash(said)}" for address in shorter]
        of_host = f"{host(page.url)} {page.title} {words}"
        found = [self._first.setdefault(name, page.url) for name in own]
        if page.url == _path(page.url):
            self._first.setdefault(of_host, page.url)
            own.append(of_host)
        elif page.may_be_copy:
            plainer.append(of_host)
        found += [self._first.get(_beyond(name), page.url) for name in own]
        found += [self._first.get(name, page.url) for name in plainer]
        for name in plainer:
            self._first.setdefault(_beyond(name), page.url)
        return next((url for url in found if url != page.url), None)

    def _bare(self, url: str) -> str:
        """Return an address without its version, else without its query, as `loose_key` does."""
        version = None if self._other_versions else tree_of(url).get("version")
        return loose_key(replaced(url, version, None) if version else _path(url))


def _path(url: str) -> str:
    return _QUERY.split(url, maxsplit=1)[0]


def _beyond(name: str) -> str:
    return f"more than {name}"


def _without_spelling(page: Text, bare: str) -> str:
    """Return the hash of a text in which the page's own address is `bare`, however it is spelled:
    each spelling links to itself.
    """
    content = page.content
    address = loose_key(page.url)
    if address in content:
        for ending in ENDINGS:
            content = content.replace(f"{address}{ending}", address)
        content = content.replace(address, bare)
    return content_hash(content)


def _with_segment_less(url: str) -> Iterator[str]:
    """Yield an address without each of its segments but languages and versions.

    >>> list(_with_segment_less("https://e.com/en/print/a"))
    ['https://e.com/en/a', 'https://e.com/en/print']
    """
    parts = urlsplit(url)
    segments = parts.path.split("/")
    for place, segment in enumerate(segments):
        if segment and axis_of(segment) is None:
            path = "/".join([*segments[:place], *segments[place + 1 :]])
            yield urlunsplit(parts._replace(path=path))


def _are_alike(one: str, other: str) -> bool:
    """Say whether two addresses are one, or one of them has one segment more."""
    shorter, longer = sorted((one.rstrip("/"), other.rstrip("/")), key=len)
    is_longer = shorter.count("/") + 1 == longer.count("/")
    return shorter == longer or (is_longer and shorter in _with_segment_less(longer))


def _names(page: Text, same: str, words: str) -> list[str]:
    address = loose_key(page.url)
    names = [f"{address} {same}", f"{alike_key(page.url)} {words}"]
    if page.file is not None:
        names.append(f"{address.rpartition('/')[2]} {page.file}")
    if page.may_be_copy:
        names.append(f"{directory(page.url)}* {page.title} {words}")
        path = _path(page.url)
        prose = _BESIDE_PROSE.sub("", page.content) if path != page.url else ""
        if len(prose) >= MIN_SAME_CHARACTERS:
            names.append(f"{path}? {content_hash(prose)}")
    return names


def _plainer_names(page: Text, bare: str, same: str, words: str) -> list[str]:
    """Return the names of pages that this one may be with a version, a query, a segment, or a
    parameter, more.
    """
    plainer = list(_with_segment_less(page.url)) if page.may_be_copy else []
    place, _, query = page.url.partition("?")
    parameters = query.split("&")
    if len(parameters) > 1:
        others = ("&".join(part for part in parameters if part is not one) for one in parameters)
        plainer += [f"{place}?{other}" for other in others]
    names = [f"{alike_key(url)} {words}" for url in plainer]
    return names if bare == loose_key(page.url) else [f"{bare} {same}", *names]
