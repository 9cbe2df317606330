"""Files in which a site says what its pages hold: search indexes and lists of hashes, found and
read by their shape.

Generators publish them for the search of the site. One request says which pages there are, and by a
digest of what the file holds of each page whether a page is another one than last time.
"""

import asyncio
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import orjson

from llmsspider.web import foreign
from llmsspider.web.addresses import same_site
from llmsspider.web.foreign import UnreadableError, json_value
from llmsspider.web.loading import shipped_table
from llmsspider.web.text import valid_text
from llmsspider.web.urls import identity, loose_key, parse

MAX_BYTES = 32 * 1024 * 1024  # the largest file that is read, in bytes
MAX_PAGES = 100_000  # maximum number of pages that a file may name
MAX_PLACES = 3  # maximum number of places that are requested for one landing page
MAX_PAGE_BYTES = 2 * 1024 * 1024  # how much of a landing page is searched for places, in bytes

_HINTS = re.compile(rb"""(?:src|href|data-[a-z-]{1,60})\s{0,9}=\s{0,9}["']?([^"'\s>]{1,500})""")
_FILE = re.compile(
    r"(?:^|/)(?:[\w.~-]{0,80}search[-_]?(?:index|data)[\w.~-]{0,80}\.js(?:on)?|search\.json|hashmap\.json"
    r"|pagefind-entry\.json)$",
    re.IGNORECASE,
)
_QUOTED_FILE = re.compile(
    rb"""["']([^"'\s<>]{0,200}search[-_]?(?:index|data)[\w.~-]{0,80}\.js(?:on)?)["'?]"""
)
_TAG = re.compile(rb"""\bname=["']?docusaurus_tag["']? content=["']?([\w.-]{1,80})""")
_LOCALE = re.compile(rb'"locale":"([\w-]{2,20})"')
_FOLDERS = frozenset(
    {"search", "dist", "js", "javascripts", "assets", "static", "_static", "pagefind", "data"}
)
"""Folders that hold the file, below the one that its addresses are relative to."""

SIGNS = shipped_table("llmsspider.site", "signs")

ADDRESSES = (
    "location",
    "href",
    "url",
    "permalink",
    "relpermalink",
    "uri",
    "u",
    "sectionRoute",
    "path",
    "ref",
    "link",
)
"""Names that the address of a page has in a record of a search index; the first of them that a
record has counts.
"""

_LUNR = frozenset({"index", "invertedIndex", "fieldVectors", "documentStore", "pipeline"})
"""The inverted index that stands beside the records of a search index."""

MAX_READ_PAGES = 200
"""Maximum number of pages of which the words are kept."""

_WORD = re.compile(r"[^\W\d_]{4,}")
_STEM = 4  # so many letters of a word are kept: indexes cut its ending

_BESIDE = frozenset({"id", "objectID", "crumbs", "breadcrumbs", "b", "pos", "level", "priority"})
"""What a record says of the place of a page among others."""

_Words = dict[str, set[str]]  # the stems of pages, by URL

MOMENT = len("2026-01-31T10:00:00")
"""So much of what is said of a page stands on it: pages have other time zones."""

DAY = len("2026-01-31")

INVENTORY = b"# Sphinx inventory version 2"
_ENTRY = re.compile(r" [^\s:]++:\S++ -?+\d++ (\S*+) ")  # its role, priority and address

_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*+")|([{,])([A-Za-z_$][\w$]*+|\d++)(?=:)')


class Place(NamedTuple):
    """Where a file may be, and the folder that the addresses in it are relative to."""

    url: str
    root: str


BY_LASTMOD = "lastmod of sitemaps"
BY_DEPLOY = "Last-Modified of all pages"
BY_BUILD = "the build that all pages name"
BY_HASHES = "the hashes of a repository"
NOT_OF_A_FILE = frozenset({BY_LASTMOD, BY_DEPLOY, BY_BUILD, BY_HASHES})
"""Names of the witnesses that are no files which pages name."""

SHARED_DATES = 0.95
"""The share of pages that have one and the same `Last-Modified` on a host that dates all files by
the deploy.
"""


def stems(text: str) -> set[str]:
    """Return the beginnings of the words of a text.

    >>> sorted(stems("Installing `kit_tools` takes a while"))
    ['inst', 'take', 'tool', 'whil']
    """
    return {word[:_STEM] for word in _WORD.findall(text.lower())}


def stamp_of(body: bytes) -> str:
    """Return what stands for a whole file."""
    return blake2b(body, digest_size=8).hexdigest()


@dataclass(slots=True, frozen=True)
class Witness:
    """What a file says of the pages of a site; `name` stays the same where the address has a hash
    of each build.

    `pages` has a digest for each page, by `key_of` of its address; it is empty where the `stamp` of
    a file, taken of `page`, speaks for all pages below `root`. `urls` are the addresses of the
    pages, where the file says them. `words` are the stems that it has of some pages, by key;
    `hashes_pages` says that it is a hash of all that pages hold, `is_on_pages` that what it says of
    a page made by a generator stands on the page, too.
    """

    name: str
    stamp: str
    pages: Mapping[str, str] = field(default_factory=dict, repr=False)
    urls: tuple[str, ...] = field(default=(), repr=False)
    root: str = ""
    page: str = ""
    words: Mapping[str, set[str]] = field(default_factory=dict, repr=False)
    hashes_pages: bool = False
    is_on_pages: bool = False
    is_flat: bool = False  # names of pages have `_` in place of `/`, from `root` on (VitePress)

    @property
    def holds_links(self) -> bool:
        """Whether it names a page where nothing changed but the targets of its links."""
        return self.hashes_pages or self.name in NOT_OF_A_FILE

    def key_of(self, url: str) -> str:
        """Return what stands for a page in `pages`."""
        key = loose_key(url)
        if not self.is_flat:
            return key
        return key[len(self.root) :].strip("/").replace("/", "_").lower() or "index"

    def of(self, url: str) -> str | None:
        """Return the digest of a page, None where the witness says nothing of it."""
        if self.pages:
            return self.pages.get(self.key_of(url))
        return self.stamp if url.startswith(self.root) else None

    def stands_in(self, body: bytes, url: str, modified: str) -> bool:
        """Say whether a page carries what is said of it: the name of its build, or the time when it
        was modified; or its `Last-Modified` is of that day.
        """
        said = self.of(url)
        if said is None:
            return False
        is_its_day = self.name == BY_LASTMOD and said[:DAY] == _day_of(modified)
        return is_its_day or (self.is_on_pages and said[:MOMENT].encode() in body)

    def whole(self) -> "Witness":
        """Return the same file as one that speaks for all pages, by whether it is as it was."""
        return Witness(f"{self.name} as a whole", self.stamp, root=self.root)

    def unlisted(self, listed: Iterable[str]) -> list[str]:
        """Return the pages that are not listed.

        None where most of those that both name are spelled otherwise here: they would be taken for
        others.
        """
        known = {loose_key(url): identity(url) for url in listed}
        spelled = [
            identity(url) == known[key] for url in self.urls if (key := loose_key(url)) in known
        ]
        is_alike = 2 * sum(spelled) > len(spelled)
        return [identity(url) for url in self.urls if is_alike and loose_key(url) not in known]


def _hints(body: bytes, pattern: re.Pattern[bytes] = _HINTS) -> list[str]:
    found = (
        valid_text(match.group(1).decode("utf-8", "replace"))
        for match in pattern.finditer(body[:MAX_PAGE_BYTES])
    )
    return list(dict.fromkeys(found))


def links(body: bytes, url: str) -> list[str]:
    """Return where a page links to, roughly."""
    return [link for one in _hints(body) if isinstance(link := parse(one, url), str)]


def places(body: bytes, url: str) -> list[Place]:
    """Return where a landing page's own scripts, styles and links say that such a file is, the
    likeliest first.
    """
    hints = _hints(body)
    quoted = _hints(body, _QUOTED_FILE)
    found = [
        _place(urljoin(url, hint))
        for hint in [*hints, *quoted]
        if _FILE.search(hint.partition("?")[0])
    ]
    roots = _roots(hints, body, url)
    found += [
        Place(urljoin(root, name), root)
        for path, root in roots.items()
        for name in _variants(path, body)
    ]
    usable = (one for one in found if isinstance(parse(one.url), str) and same_site(one.url, url))
    return list({one.url: one for one in usable}.values())[:MAX_PLACES]


def _roots(hints: list[str], body: bytes, url: str) -> dict[str, str]:
    """Return the paths of files that signs in a landing page stand for, each with its root."""
    roots = {"index.json": urljoin(url, ".")} if b'content="Hugo ' in body else {}
    for sign, (path, *needed) in SIGNS.items():
        if not all(one.encode() in body for one in needed):
            continue
        before = [hint.partition(sign)[0] for hint in hints if sign in hint]
        root = next((one for one in before if not one or one.endswith("/")), None)
        if root is not None:
            roots.setdefault(path, urljoin(url, root or "."))
    return roots


def _variants(path: str, body: bytes) -> list[str]:
    """Return the names that a file may have: of the language of a page, of its part of a site."""
    name, _, ending = path.rpartition(".")
    tags = [f"{name}-{tag.decode()}.{ending}" for tag in _TAG.findall(body)]
    locale = _LOCALE.search(body)
    return [path.replace("en-US", locale[1].decode()) if locale else path, *tags]


def _place(url: str) -> Place:
    """Return the place of a file that a page names itself: addresses are relative to the folder
    that holds its own.
    """
    url = url.partition("#")[0].partition("?")[0]
    root = urljoin(url, ".")
    while root.rstrip("/").rpartition("/")[2] in _FOLDERS:
        root = urljoin(root, "..")
    return Place(url, root)


async def find(
    get: Callable[[str, int], Awaitable[Any]], body: bytes, url: str
) -> AsyncIterator[tuple[str, Witness | str]]:
    """Request the files that a landing page is set up with; yield each URL, and what it says or why
    it is of no use. After the first one of use only others of its folder: a site may have several.
    """
    folder = None
    for place in places(body, url):
        if folder not in {None, urljoin(place.url, ".")}:
            continue
        answer = await get(place.url, MAX_BYTES)
        if answer.ok and place.url.endswith(".html"):  # it names the file
            named = places(answer.head(MAX_PAGE_BYTES), answer.final_url)[:1]
            answer = await get(named[0].url, MAX_BYTES) if named else answer
        if answer.ok:
            found = Place(answer.final_url, place.root)
            try:
                body_read = answer.head(-1)
                said = await asyncio.to_thread(foreign.read, read, body_read, found, body)
                yield answer.final_url, said
                folder = urljoin(place.url, ".")
            except UnreadableError as error:
                yield answer.final_url, str(error)


def read(body: bytes, place: Place, hrefs: bytes = b"") -> Witness:
    """Read a file; `hrefs` is a page whose links show how addresses are spelled.

    Raises `UnreadableError`.
    """
    if len(body) > MAX_BYTES:
        raise UnreadableError(f"larger than {MAX_BYTES // 1024 // 1024} MB")
    name = re.sub(r"[-._][0-9A-Fa-f]{6,64}(?=\.)", "", urlsplit(place.url).path.rpartition("/")[2])
    stamp = stamp_of(body)
    data = _data(body)
    fields = data if isinstance(data, dict) else {}
    if isinstance(fields.get("languages"), dict) and "version" in fields:
        # Pagefind: a hash of each language
        return Witness(name, stamp, root=place.root, hashes_pages=True)
    if name == "hashmap.json":
        hashes = _hashes(fields)
        return Witness(name, stamp, hashes, root=place.root, hashes_pages=True, is_flat=True)
    words: _Words = {}
    ending: str | None = ""
    if isinstance(fields.get("docnames"), list):
        ending = _ending(fields["docnames"], hrefs)
        found = _sphinx(fields, place.root, ending or "", words)
    else:
        found = _digests(_records(data), place.root, words)
    if not found:
        raise UnreadableError("it names no pages")
    pages = {loose_key(url): digest for url, digest in found.items()}
    urls = () if ending is None else tuple(found)
    words = {loose_key(url): said for url, said in words.items()}
    return Witness(name, stamp, pages, urls, root=place.root, words=words)


def _hashes(fields: dict[str, Any]) -> dict[str, str]:
    """Return the hashes of a hashmap.json of VitePress, by the name of the page."""
    hashes = {
        key.removesuffix(".md").lower().removesuffix("_index"): one
        for key, one in fields.items()
        if isinstance(one, str)
    }
    if not hashes:
        raise UnreadableError("it has no hashes")
    return hashes


def _data(body: bytes) -> Any:
    """Return the JSON of a file, of a call or assignment in a script too; keys may be bare there.
    Of an inventory, its records.
    """
    if body.startswith(INVENTORY):
        return _inventory(body)
    starts = [at for at in (body.find(b"{"), body.find(b"[")) if at >= 0]
    start = min(starts, default=0)
    end = max(body.rfind(b"}"), body.rfind(b"]")) + 1
    if not starts or b"<" in body[:start] or start > 1000:
        raise UnreadableError("it is no JSON")
    text = body[start:end]
    if body[:start].rstrip().endswith((b"JSON.parse('", b'JSON.parse("')):
        text = re.sub(rb"\\(['\"\\])", rb"\1", text)
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(text)
    bare = text.decode("utf-8", "replace")
    return json_value(_BARE_KEY.sub(lambda key: key[1] or f'{key[2]}"{key[3]}"', bare))


def _inventory(body: bytes) -> list[dict[str, str]]:
    """Return the records of an `objects.inv` of Sphinx: what each address is the place of."""
    unpacking = zlib.decompressobj()
    with suppress(zlib.error):
        unpacked = unpacking.decompress(body.split(b"\n", 4)[-1], MAX_BYTES)
    if not unpacking.eof:
        raise UnreadableError("it is no whole inventory")
    lines = unpacked.decode("utf-8", "replace").splitlines()
    found = ((line, _ENTRY.search(line)) for line in lines)
    return [
        {"uri": at[1].removesuffix("$"), "what": line[: at.start()], "title": line[at.end() :]}
        for line, at in found
        if at
    ]


def _records(data: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of a search index, each with the address in it, in the order of the file."""
    if isinstance(data, dict) and isinstance(data.get("doc_urls"), list):
        yield from _records_of_mdbook(data)
        return
    stack = [data]
    while stack:
        here = stack.pop()
        records = _records_at(here) if isinstance(here, dict) else []
        yield from records
        if isinstance(here, dict):
            here = [child for name, child in here.items() if name not in _LUNR]
        if not records:
            stack += reversed([child for child in here if isinstance(child, (dict, list))])


def _records_at(fields: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the records that an object is: one, several, or none."""
    address = next((fields[name] for name in ADDRESSES if isinstance(fields.get(name), str)), None)
    if address is not None and len(fields) > 1:
        return [(address, fields)]
    if all(name.startswith("/") for name in fields):  # Nextra: texts by address and heading
        return [(name, {"": [page]}) for name, page in fields.items()]
    return []


def _records_of_mdbook(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    with suppress(AttributeError, KeyError, TypeError):
        docs = data["index"]["documentStore"]["docs"]
        for number, url in enumerate(data["doc_urls"]):
            yield f"{url}", {**docs[str(number)]}


def _digests(
    records: Iterable[tuple[str, dict[str, Any]]], root: str, words: _Words
) -> dict[str, str]:
    hashes: dict[str, Any] = {}
    for address, record in records:
        url = parse(address.partition("#")[0] or ".", root)
        if not isinstance(url, str) or not same_site(url, root):
            continue
        if url not in hashes and len(hashes) >= MAX_PAGES:
            raise UnreadableError(f"it names more than {MAX_PAGES:,} pages")
        said = _said(record)
        digest = hashes.setdefault(url, blake2b(digest_size=8))
        digest.update(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))
        if url in words or len(words) < MAX_READ_PAGES:
            text = str([*said.values()]).replace("\\n", " ")
            words.setdefault(url, set()).update(stems(text))
    return {url: digest.hexdigest() for url, digest in hashes.items()}


def _said(record: dict[str, Any]) -> dict[str, str | list[Any]]:
    """Return what a record says of its page."""
    said = ((name, one) for name, one in record.items() if name not in _BESIDE)
    return {name: one for name, one in said if isinstance(one, (str, list))}


def by_lastmod(dates: Mapping[str, str], today: str) -> Witness | None:
    """Return what sitemaps say of pages by `lastmod`, by URL.

    A day without a time counts from the second day on, as ISO 8601 has it: until then the page
    may be edited once more on it.
    """
    yesterday = f"{date.fromisoformat(today) - timedelta(days=1)}"
    pages = {
        loose_key(url): said
        for url, said in dates.items()
        if "T" in said or (len(said) == len(yesterday) and said < yesterday)
    }
    if len(pages) < 2:
        return None
    are_times = all("T" in said for said in pages.values())
    return _by_digests(BY_LASTMOD, pages, is_on_pages=are_times)


def by_hashes(hashes: Mapping[str, str]) -> Witness:
    """Return what the listing of a repository says of its files: hashes of what they hold, by the
    URL of their pages.
    """
    pages = {loose_key(url): one for url, one in hashes.items()}
    return _by_digests(BY_HASHES, pages, hashes_pages=True)


def _day_of(modified: str) -> str:
    """Return the day of a `Last-Modified`; "" where it is no date."""
    with suppress(TypeError, ValueError):
        return f"{parsedate_to_datetime(modified):%Y-%m-%d}"
    return ""


def _by_digests(
    name: str, pages: dict[str, str], *, hashes_pages: bool = False, is_on_pages: bool = False
) -> Witness:
    stamp = stamp_of(orjson.dumps(pages, option=orjson.OPT_SORT_KEYS))
    return Witness(name, stamp, pages, hashes_pages=hashes_pages, is_on_pages=is_on_pages)


def by_deploy(url: str, modified: str | None, stored: Collection[str | None]) -> Witness | None:
    """Return what the `Last-Modified` of the start page says, where stored pages share theirs: that
    of a deploy.
    """
    most = max(Counter(stored).values(), default=0)
    if modified is None or None in stored or not most >= SHARED_DATES * len(stored) > 1:
        return None
    return Witness(BY_DEPLOY, modified, root=urljoin(url, "."), page=url)


_META_BUILD = r"(?:git-?)?(?:commit|sha|build-?(?:id|hash|sha|number|time))"
_BUILDS = (
    r"""["'](?P<root>[^"'\s<>]{0,200}/)assets/js/runtime~main\.(?P<hash>[0-9a-f]{6,64})\.js""",
    r"""["'](?P<root>[^"'\s<>]{0,200}/)_next/static/(?P<name>[\w-]{8,64})/_buildManifest\.js""",
    r"""\bbuildId["']?:["'](?P<name>[\w-]{8,64})["']""",
    rf"""<meta name=["']?{_META_BUILD}["']? content=["']?(?P<commit>[\w:.+-]{{6,80}})""",
)
"""How pages name the build that they are of. The name that Docusaurus gives it is a hash of what
all pages say, made of the hashes of its chunks; pages that carry a commit are made anew with each.
The builds of Next.js and Nuxt are those of an application: its pages may change meanwhile.
"""


def by_build(body: bytes, url: str) -> Witness | None:
    """Return what the build that a start page names says: pages are as they were while it is."""
    text = body.decode("utf-8", "replace")
    for pattern in _BUILDS:
        if (found := re.search(pattern, text, re.ASCII)) is not None:
            named = found.groupdict()
            root = urljoin(url, named.get("root", "."))
            return Witness(
                BY_BUILD,
                named.get("hash") or named.get("commit") or named["name"],
                root=root,
                page=url,
                hashes_pages="hash" in named,
                is_on_pages="commit" in named,
            )
    return None


# Sphinx: the words of all pages, each with the numbers of the pages that have it.


def _sphinx(data: dict[str, Any], root: str, ending: str, words: _Words) -> dict[str, str]:
    names = [name for name in data["docnames"] if isinstance(name, str)]
    if len(names) != len(data["docnames"]) or len(names) > MAX_PAGES:
        raise UnreadableError("its pages have no names, or there are too many")
    sums = Counter[int]()
    read: defaultdict[int, set[str]] = defaultdict(set)
    for part, word, numbers in _sphinx_words(data):
        said = f"{part} {word}".encode("utf-8", "replace")
        value = int.from_bytes(blake2b(said, digest_size=8).digest())
        found = stems(word)
        for number in filter(range(len(names)).__contains__, numbers):
            sums[number] += value
            if number < MAX_READ_PAGES:
                read[number] |= found
    digests: dict[str, str] = {}
    for number, name in enumerate(names):
        is_index = ending == "/" and (name == "index" or name.endswith("/index"))
        url = parse((name[:-5] or ".") if is_index else name + ending, root)
        if isinstance(url, str):
            digests[url] = f"{sums[number] % 2**64:016x}"
            if number < MAX_READ_PAGES:
                words[url] = read[number]
    return digests


def _sphinx_words(data: dict[str, Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield each word with its part of the index, and the numbers of the pages that have it."""
    for part in ("terms", "titleterms", "alltitles", "indexentries"):
        entries = data.get(part)
        for word, pages in entries.items() if isinstance(entries, dict) else ():
            several = pages if isinstance(pages, list) else [pages]
            yield (
                part,
                word,
                [page[0] if isinstance(page, list) and page else page for page in several],
            )
    titles = data.get("titles")
    for number, title in enumerate(titles if isinstance(titles, list) else ()):
        yield "title", f"{title}", [number]


def _ending(names: list[object], hrefs: bytes) -> str | None:
    """Return what addresses have after the name of their page, as the links of a page show it; None
    where none does.
    """
    linked = {unquote(hint).partition("#")[0] for hint in _hints(hrefs)}
    named = {f"{name}" for name in names[:MAX_PAGES] if name != "index"}
    endings = (".html", "/", ".htm", "")
    return next((one for one in endings if any(f"{name}{one}" in linked for name in named)), None)
