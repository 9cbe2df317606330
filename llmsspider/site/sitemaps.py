"""Sitemaps (https://www.sitemaps.org/protocol.html) read as a stream: XML, text, gzip, and indexes
followed.
"""

import asyncio
import re
import zlib
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO, NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml import etree
from protego import Protego

from llmsspider.site import llmstxt
from llmsspider.site.discovered import (
    Discovery,
    FetchResult,
    FilteredLink,
    Probe,
    SeedList,
    Session,
)
from llmsspider.web import foreign
from llmsspider.web.addresses import same_site
from llmsspider.web.encodings import by_mark, decode
from llmsspider.web.foreign import UnreadableError, bounded_robots
from llmsspider.web.stats import FilterReason
from llmsspider.web.text import valid_text
from llmsspider.web.trees import VERSION_NAMES, axis_of, directory_of, tree_of
from llmsspider.web.urls import InvalidUrl, parse

# A sitemap may hold 50 MB and 50,000 pages, and comes from strangers: nothing but the page at hand
# is kept, decompression is bounded, and a document that declares entities is refused.

# the largest sitemap, decompressed, in bytes (the protocol allows 50 MB)
MAX_BYTES = 64 * 1024 * 1024
MAX_TAG_BYTES = 1024 * 1024  # the longest run without a `>`, in bytes

MAX_ENTRY_ELEMENTS = 20_000
"""The most elements of one entry, or between two (a page may have 1,000 images, each with five
elements).
"""

_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_CHUNK = 64 * 1024
_ENTRY = frozenset({"url", "sitemap", "item", "entry"})
_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "rdf"})
"""Sitemaps and indexes of them, and feeds: https://www.sitemaps.org/protocol.html#otherformats"""
_URL_LINE = re.compile(r"https?://\S+", re.IGNORECASE)


class SitemapError(UnreadableError):
    """The document is no sitemap or is refused; the message says why."""


class SitemapCutError(SitemapError):
    """The document breaks off: what it listed before was yielded, what follows is not known."""


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One `<url>`: absolute URL, `lastmod` as written, `alternates` by hreflang tag; or one
    `<sitemap>` of an index.
    """

    url: str
    lastmod: str | None = None
    alternates: dict[str, str] = field(default_factory=dict)
    is_sitemap: bool = False


def read(source: BinaryIO, url: str) -> Iterator[SitemapEntry | InvalidUrl]:
    """Yield what a sitemap lists, in order, and what the gate refuses; other schemes are omitted.

    `source` is the body as it came, gzipped or not. Raises `SitemapCutError` where it breaks off in
    the middle, and `SitemapError` where it is something else, declares entities, or is larger than
    `MAX_BYTES`.
    """
    chunks = _decompressed(source)
    first = next(chunks, b"")
    start = decode(first).lstrip().lstrip("\0")
    if not start:
        raise SitemapError("empty")
    if start.startswith("<"):
        yield from _read_xml(first, chunks, url)
    else:
        yield from _read_text(first, chunks)


def _decompressed(source: BinaryIO) -> Iterator[bytes]:
    """Yield the body in chunks, gunzipped where it begins like gzip, never more than `MAX_BYTES`."""
    data = source.read(_CHUNK)
    gunzip = zlib.decompressobj(wbits=31) if data.startswith(b"\x1f\x8b") else None
    total = 0
    while data:
        try:
            chunk = gunzip.decompress(data, _CHUNK) if gunzip else data
        except zlib.error as error:
            raise SitemapError(f"broken gzip: {error}") from None
        total += len(chunk)
        if total > MAX_BYTES:
            raise SitemapError(f"larger than {MAX_BYTES // 1024 // 1024} MB")
        if chunk:
            yield chunk
        if gunzip and gunzip.eof:
            return
        data = (gunzip.unconsumed_tail if gunzip else b"") or source.read(_CHUNK)


def _read_xml(  # noqa: C901, PLR0912 - one loop over one stream
    first: bytes, chunks: Iterator[bytes], base: str
) -> Iterator[SitemapEntry | InvalidUrl]:
    parser = etree.XMLPullParser(  # no network and no DTD are its defaults
        events=("start", "end"),
        resolve_entities=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    if b"<!ENTITY" in first.replace(b"\0", b""):
        raise SitemapError("declares entities")
    root: etree._Element | None = None
    broken = ended = False
    held = 0
    for chunk in _repaired(first, chunks):
        try:
            parser.feed(chunk)
        except etree.XMLSyntaxError:
            broken = True
        for event, element in parser.read_events():
            if not isinstance(element, etree._Element):
                continue
            held += event == "start"
            if held > MAX_ENTRY_ELEMENTS:
                raise SitemapCutError(f"has more than {MAX_ENTRY_ELEMENTS:,} elements in one entry")
            if root is None:
                root = element
                _check_root(root)
            elif event == "end" and element is root:
                ended = True
            elif event == "end" and (parent := _list_of(element, root)) is not None:
                yield from _entry(element, base)
                element.clear()
                while element.getprevious() is not None:
                    del parent[0]
                held = 0
        if broken:
            break
    if root is None:
        raise SitemapError("not XML")
    if not ended:
        raise SitemapCutError("breaks off in the middle")


def _check_root(root: etree._Element) -> None:
    """Raise `SitemapError` for a document that is no sitemap, or declares entities."""
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and list(dtd.entities()):
        raise SitemapError("declares entities")
    name = _name(root)[1]
    if name in {"html", "head", "body"}:
        raise SitemapError("an HTML page")
    if name not in _ROOTS:
        raise SitemapError(f"<{name[:40]}> is no sitemap")


def _list_of(element: etree._Element, root: etree._Element) -> etree._Element | None:
    """Return what an entry is in: the root or the channel of a feed; None for what is no entry."""
    parent = element.getparent()
    if parent is None or _name(element)[1] not in _ENTRY:
        return None
    return parent if parent is root or _name(parent)[1] == "channel" else None


def _repaired(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks with lone ampersands escaped: the parser would end the document at the
    first.
    """
    if b"\0" in first[:4]:  # UTF-16
        yield first
        yield from chunks
        return
    rest = first.lstrip()
    for chunk in chunks:
        cut = rest.rfind(b">") + 1
        yield _escaped(rest[:cut])
        rest = rest[cut:] + chunk
        if len(rest) > MAX_TAG_BYTES:
            raise SitemapError("no sitemap")
    yield _escaped(rest)


def _escaped(text: bytes) -> bytes:
    pieces: list[bytes] = []
    position = 0
    while (start := text.find(b"<![CDATA[", position)) >= 0:
        end = text.find(b"]]>", start)
        if end < 0:
            break
        pieces += _AMPERSAND.sub(b"&amp;", text[position:start]), text[start : end + 3]
        position = end + 3
    return b"".join([*pieces, _AMPERSAND.sub(b"&amp;", text[position:])])


def _entry(element: etree._Element, base: str) -> Iterator[SitemapEntry | InvalidUrl]:
    """Yield the page or sitemap one element names; extensions such as `image:loc` are not its own."""
    kind = _name(element)[1]
    own = _fields(element)
    within = parse(element.base or "", base)
    if isinstance(within, str):
        base = within
    alternates = _alternates(element, base) if kind != "entry" else {}
    yield from (one for one in alternates.values() if isinstance(one, InvalidUrl))
    named = {tag: one for tag, one in alternates.items() if isinstance(one, str)}
    url = parse(own.get("loc") or (own.get("link", "") if kind == "item" else ""), base)
    if not isinstance(url, str):
        if url is not None:
            yield url
        return
    lastmod = (own.get("lastmod") or own.get("updated", ""))[:40] or None
    yield SitemapEntry(url, lastmod, named, kind == "sitemap")


def _fields(element: etree._Element) -> dict[str, str]:
    """Return what the elements of an entry say, by name; the address of an Atom entry as `loc`."""
    namespace, kind = _name(element)
    own: dict[str, str] = {}
    for child in element:
        space, name = _name(child)
        if kind == "entry" and name == "link" and child.get("rel", "alternate") == "alternate":
            own.setdefault("loc", child.get("href") or "")
        elif space == namespace:
            said = valid_text("".join(map(str, child.itertext())))
            own.setdefault(name, " ".join(said.split()))
    return own


def _alternates(element: etree._Element, base: str) -> dict[str, str | InvalidUrl | None]:
    """Return the translations that an entry names, by hreflang tag."""
    links = (child for child in element if _name(child)[1] == "link")
    return {
        valid_text(tag).strip().lower(): parse(link.get("href") or "", base)
        for link in links
        if (tag := link.get("hreflang"))
    }


def _read_text(first: bytes, chunks: Iterator[bytes]) -> Iterator[SitemapEntry | InvalidUrl]:
    """Read a text sitemap, one URL a line; a document without any is refused."""
    body, encoding = by_mark(first)
    decoder = getincrementaldecoder(encoding or "utf-8")("replace")
    rest = ""
    has_urls = False
    for chunk in chain((body,), chunks, (None,)):
        rest += "\n" if chunk is None else decoder.decode(chunk).replace("\r", "\n")
        *lines, rest = rest.split("\n")
        if len(rest) > _CHUNK:
            raise SitemapError("no list of URLs")
        for line in map(str.strip, lines):
            url = parse(line) if _URL_LINE.fullmatch(line) else None
            if url is not None:
                has_urls = True
                yield SitemapEntry(url) if isinstance(url, str) else url
    if not has_urls:
        raise SitemapError("no list of URLs")


def _name(element: etree._Element) -> tuple[str, str]:
    namespace, _, name = (
        element.tag.rpartition("}") if isinstance(element.tag, str) else ("", "", "")
    )
    return namespace, name.lower()


# Files that list the pages of their site at other addresses.


class Alias(NamedTuple):
    """Pages under two addresses: a file of the site that is at `kept` lists them below `listed`,
    both URLs.
    """

    listed: str
    kept: str

    def of(self, url: str) -> str:
        """Return the address below `kept` of a page below `listed`, any other as it is."""
        return self.kept + url.removeprefix(self.listed) if url.startswith(self.listed) else url


_OF_TEMPLATE = re.compile(
    r"https?://(?:localhost|127\.0\.0\.1|(?:[\w-]+\.)*example(?:\.(?:com|net|org))?)(?::\d+)?/",
    re.IGNORECASE,
)
"""Where templates have a site, and where it is built."""


def alias_of(place: str, urls: list[str]) -> Alias | None:
    """Return what a file lists in place of its own addresses: nothing but those of a template, or a
    version in the directory of another one; or None.

    A site that is built as `/2.1/` and served as `/latest/`, too, lists `/2.1/` in both. So every
    version listed beside that of the file is the same one, and one of the two has a name that
    stands for a version.

    >>> alias_of("https://e.com/latest/llms.txt", ["https://e.com/2.1/", "https://e.com/2.1/a", "https://e.com/blog"])
    Alias(listed='https://e.com/2.1/', kept='https://e.com/latest/')
    >>> alias_of("https://e.com/latest/llms.txt", ["https://e.com/2.1/a", "https://e.com/latest/b"])
    >>> alias_of("https://e.com/llms.txt", ["https://your-site.example.com/a", "https://your-site.example.com/b"])
    Alias(listed='https://your-site.example.com/', kept='https://e.com/')
    """
    template = _OF_TEMPLATE.match(next(iter(urls), ""))
    if template and not same_site(template[0], place):
        if all(url.startswith(template[0]) for url in urls):
            return Alias(template[0], urljoin(place, "/"))
        return None
    segment = tree_of(place).get("version")
    if segment is None:
        return None
    kept = urljoin(place, directory_of(place, segment))
    above = urljoin(kept, "..")
    listed = {url[len(above) :].partition("/")[0] for url in urls if url.startswith(above)}
    others = [*filter(lambda name: axis_of(name) == "version", listed)]
    if (
        len(others) != 1
        or others == [segment]
        or not {segment.lower(), others[0].lower()} & VERSION_NAMES
    ):
        return None
    return Alias(f"{above}{others[0]}/", kept)


# The sitemap level of the cascade: what robots.txt names, else `/sitemap.xml`, and what indexes
# lead to.

MAX_SITEMAPS = 500
"""So many sitemaps are read for one site; what is more is counted as cut."""


class SitemapStep:
    """Reads the sitemaps of one site into its seeds."""

    def __init__(self, session: Session, found: Discovery, seeds: SeedList, page_url: str):
        self._session = session
        self._found = found
        self._seeds = seeds
        self._page_url = page_url
        self._seen: set[str] = set()

    async def run(self, room: int) -> None:
        """Read every sitemap that robots.txt or the start page names, else of usual places, with
        `room` requests.
        """
        named = dict.fromkeys(link.url for link in self._found.start.links("sitemap"))
        on_page = [url for url in named if isinstance(url, str)]
        await self._read_all([*await self._named_in_robots(), *on_page[:2]])
        root = urljoin(self._page_url, "/")
        directory = llmstxt.directory_url(self._page_url)
        section = llmstxt.directory_url(self._found.start_url)
        # on a shared host
        project = urljoin(root, urlsplit(directory).path[1:].partition("/")[0] + "/")
        for place in list(dict.fromkeys((root, section, project, directory)))[: max(room - 1, 0)]:
            if self._found.sitemaps:
                return
            await self._read_all([urljoin(place, "sitemap.xml")])

    async def _named_in_robots(self) -> list[str]:
        url = urljoin(self._page_url, "/robots.txt")
        if self._session.is_unresponsive(url):
            return []
        answer = await self._session.get(url, 512 * 1024)
        if not answer.ok or not same_site(url, answer.final_url):
            return []
        text = bounded_robots(answer.text[: 512 * 1024], agent="")
        lines = dict.fromkeys(Protego.parse(text).sitemaps)
        named = [parse(line, answer.final_url) for line in lines]
        self._found.cut += [
            FilteredLink.invalid(url) for url in named if isinstance(url, InvalidUrl)
        ]
        return [url for url in named if isinstance(url, str)]

    async def _read_all(self, urls: list[str]) -> None:
        queue = deque((url, 0) for url in urls)
        sites = [self._page_url, *urls]  # robots.txt may name sitemaps that lie elsewhere
        while queue:
            url, depth = queue.popleft()
            if url in self._seen:
                continue
            reason: FilterReason | None = None
            if not any(same_site(url, site) for site in sites):
                reason = "sitemap-other-site"
            elif depth > 3:
                reason = "sitemap-too-deep"
            elif len(self._seen) >= MAX_SITEMAPS:
                reason = "too-many-sitemaps"
            if reason is not None:
                self._found.cut.append(FilteredLink(url, reason))
                continue
            self._seen.add(url)
            if self._session.is_unresponsive(url):
                return
            answer = await self._session.get(url, MAX_BYTES)
            inner = await asyncio.to_thread(self._read_one, url, answer)
            self._session.forget(url)
            queue.extendleft((sub, depth + 1) for sub in reversed(inner))

    def _read_one(self, url: str, answer: FetchResult) -> list[str]:
        """Add the pages of one sitemap to the seeds; return the sitemaps it names."""
        inner: list[str] = []
        if not answer.ok:
            reason = answer.message or answer.error or f"status {answer.status}"
            self._found.tried.append(Probe(url, "failed", reason))
            self._found.note_unreadable(answer)
            return inner
        try:
            foreign.read(self._take, url, answer, inner)
        except SitemapCutError as error:
            self._found.broken.append(answer.final_url)
            self._found.warnings.append(f"{answer.final_url} {error}")
        except UnreadableError as error:
            self._found.tried.append(Probe(url, "rejected", str(error)))
            self._found.note_unreadable(answer)
            return inner
        self._found.tried.append(Probe(url, "found"))
        self._found.sitemaps.append(answer.final_url)
        return inner

    def _take(self, url: str, answer: FetchResult, inner: list[str]) -> None:
        if not same_site(url, answer.final_url):
            raise SitemapError("redirected to another site")
        alias = self._alias(answer)
        with answer.open() as body:
            for entry in read(body, answer.final_url):
                if isinstance(entry, InvalidUrl):
                    self._found.cut.append(FilteredLink.invalid(entry))
                    continue
                place = entry.url if alias is None else alias.of(entry.url)
                if entry.is_sitemap:
                    inner.append(place)
                elif same_site(place, self._page_url):
                    self._seeds.add_page(place, entry.lastmod, entry.alternates)

    def _alias(self, answer: FetchResult) -> Alias | None:
        """Return in place of what a sitemap lists addresses; None of most."""
        with answer.open() as body, suppress(SitemapError):
            entries = read(body, answer.final_url)
            listed = (entry.url for entry in entries if isinstance(entry, SitemapEntry))
            first = next(listed, self._page_url)
            if "version" in tree_of(answer.final_url) or not same_site(first, self._page_url):
                return alias_of(answer.final_url, [first, *listed])
        return None
