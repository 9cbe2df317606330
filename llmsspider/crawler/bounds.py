"""Which URLs belong to a crawl: by its scope, its languages and versions, and because they do not
lead on without end.

The rules for endless spaces (calendars, session ids, paths that repeat themselves) look at one URL
and are cautious: URLs that documentation has (deep reference trees, dated posts, `a/b/a/b`) pass.
`crawler/shapes.py` bounds what no single URL shows, such as a page counter without end.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby, pairwise
from operator import eq
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from w3lib.url import url_query_cleaner

from llmsspider.config.arguments import DocsArguments
from llmsspider.crawler.second_requests import SeenLinks
from llmsspider.crawler.shapes import MAX_LOOK_ALIKES, LearnedShapes, LookAlikes, query_of, shape_of
from llmsspider.crawler.site import SiteKnowledge
from llmsspider.diff.compare import most_similar, word_counts
from llmsspider.items import Page, Section
from llmsspider.site.discovered import Discovery
from llmsspider.site.llmstxt import is_llms_url
from llmsspider.store import PageRecord, PageState
from llmsspider.web.page_forms import shown_page
from llmsspider.web.scope import Scope, build_scope, unlocalized
from llmsspider.web.stats import Filtered, FilterReason
from llmsspider.web.trees import (
    Axis,
    Trees,
    directory_above,
    language_parameter,
    language_segments,
    same_language,
)
from llmsspider.web.urls import INDEX_FILES, directory, host, identity, last_segment, usable

MAX_URL_LENGTH = 2083  # characters; Scrapy's `URLLENGTH_LIMIT`
MAX_PATH_DEPTH = 25  # segments. The deepest of 22,500 URLs of real documentation sites has 17

MIN_REPETITIONS = 4
MIN_REPEATED_SEGMENTS = 8
"""A path repeats itself when a run of segments comes this often in a row and fills this many
segments.
"""

MAX_SAME_SEGMENT = 8
"""How often one segment may come anywhere in a path."""

MAX_QUERY_PARAMETERS = 12
MAX_SAME_PARAMETER = 4
MAX_NESTED_URLS = 2
"""URLs inside the URL: `?next=/login?next=…` grows by one each time."""

_ACTIONS = (
    "edit editsource history raw info delete protect watch unwatch submit diff revisions recent"
    " backlink login logout register subscribe purge rename attachfile index media export_pdf"
    " export_raw export_xhtml export_code print likepages localsitemap fullsearch titlesearch search"
    " format recall refresh revert rollback spellcheck renderasdocbook"
    " inline export attach rdiff oops save preview manage"
)
WIKI_ACTIONS = frozenset(_ACTIONS.split())
"""What wikis do by `action=` or `do=` (MediaWiki, DokuWiki, MoinMoin, Trac), or below `/bin/`
(TWiki, Foswiki, XWiki).
"""
_ORDER = re.compile(r"C=[NMSD][;&]O=[AD]")
"""How Apache is asked for the files of a directory in an order."""
_APART = re.compile(r"(?:Special|User|(?:\w+_)?[Tt]alk):")
"""How MediaWiki names the pages that it makes of others, and those of people and discussions."""
_PRINT = r"(?:print|printable|printer[-_]?friendly|print[-_]?view)"
_OF_WIKI = re.compile(
    rf"""
    (?:action|do|veaction)=(?:{"|".join(WIKI_ACTIONS)})  # it is edited, compared, listed
    |(?:oldid|diff|redlink|difftype|rev2\[\])=.*         # shown as it was
    |rev=\d{{9,10}}                                       # at a time, in seconds since 1970
    |idx=(?!\d+\Z).*                                     # among the pages of a namespace
    |title={_APART.pattern}.*
    |{_PRINT}=(?!(?:0|false|no|off)\Z).*
    |(?:view|format|mode|layout|output|cover)={_PRINT}
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""A parameter by which a wiki does something with a page, or a site shows it for print."""
OF_TWIKI = re.compile(r"/bin/view(?:auth)?(?:\.\w+)?/")
"""Where TWiki, Foswiki and XWiki show a page; with a query in another form, or as it was."""
OF_CDN = "/cdn-cgi/"
"""Where Cloudflare has its own addresses, on any host."""

SESSION_PARAMETERS = re.compile(
    r"j?sessionid|phpsessid|aspsessionid|asp\.net_sessionid|session_id|sessid|sid|cfid|cftoken|oscsid|zenid",
    re.IGNORECASE,
)
"""Query parameters that name a visitor, not a page; `sid` and its like only with a long value."""

CALENDAR = ({"month", "year"}, {"week", "year"})
DATE_PARAMETERS = frozenset(
    {"date", "day", "month", "week", "start_date", "end_date", "tribe-bar-date"}
)
"""Query parameters that together, or with a whole date, name a part of a calendar; those in paths
are look-alikes.
"""

MOST_BELOW = 2 / 3
"""Minimum share of a page's links that lead below it where a host moved to it, not to its host."""

_SESSION_VALUE = re.compile(r"[A-Za-z0-9_.!-]{12,}\Z")
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid|sessionid)=[^/?#;]*", re.IGNORECASE)
_ASP_SESSION = re.compile(r"/\((?:S|X\(1\)S)\([a-z0-9]{20,}\)\)(?=/)", re.IGNORECASE)
_DATE = re.compile(r"(?:19|20)\d\d[-_.]?\d\d?[-_.]?\d\d?\Z")


def _evidence(discovery: Discovery, start_page: Page) -> list[Section]:
    """Return the sections that a start page, its sitemaps and its move to another host speak for."""
    start = discovery.start_url
    found = [start_page.meta.section] if start_page.meta.section is not None else []
    # a sitemap is for pages below it (https://www.sitemaps.org/protocol.html#location)
    found += [
        Section(directory(sitemap), "its sitemap lies there")
        for sitemap in discovery.sitemaps
        if host(sitemap) == host(start) and directory(sitemap) != "/"
    ]
    links = usable(start_page.follow)
    frames = (link for link in links if link != start and shown_page(link) == start)
    found += [Section(directory(link), "a frame set there shows it") for link in frames]
    if host(discovery.start.url) != host(discovery.start.final_url):
        found = _sections_moved_to(start, links, found)
    return found or _section_of_index(start, links)


def _section_of_index(page: str, links: list[str]) -> list[Section]:
    """Return the topmost directory, but for the root, to whose index file a page links from below."""
    indexes = (link for link in links if last_segment(link) in INDEX_FILES)
    paths = [directory(link) for link in indexes if host(link) == host(page)]
    above = [path for path in paths if path != "/" and directory(page).startswith(path)]
    return [Section(path, "the index above it to which it links") for path in sorted(above)[:1]]


def _sections_moved_to(page: str, links: list[str], found: list[Section]) -> list[Section]:
    """Return the sections that speak for a page to which the start page of another host redirects:
    those found, and the directory above where its links lead there rather than below itself; not
    the whole host where most lead below.
    """
    own = directory(page)
    above = own.rstrip("/").rpartition("/")[0] + "/"
    paths = {urlsplit(url).path for url in links if host(url) == host(page)} - {own}
    below = sum(path.startswith(own) for path in paths)
    beside = sum(path.startswith(above) for path in paths) - below
    if beside > below and above != "/":
        return [*found, Section(above, "the pages beside its start page")]
    is_own = below >= MOST_BELOW * len(paths)
    return [one for one in found if not (is_own and one.path == "/")]


def trap_reason(url: str) -> str | None:
    """Return why an absolute URL looks endless, None for an ordinary one, and for one that cannot
    be read.

    >>> trap_reason("https://example.com/schedule?month=5&year=2031")
    'calendar'
    >>> trap_reason("https://example.com/blog/2024/05/12/release") is None
    True
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    segments = [segment for segment in parts.path.split("/") if segment]
    parameters = parse_qsl(query_of(parts), keep_blank_values=True)
    rules: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("path-depth", lambda: len(segments) > MAX_PATH_DEPTH),
        ("path-repetition", lambda: _repeats(segments)),
        ("session-id", lambda: without_session_id(url) != url),
        ("calendar", lambda: _is_calendar(parameters)),
        ("form of a wiki", lambda: bool(parameters) and bool(OF_TWIKI.search(parts.path))),
        ("action of a wiki", lambda: _is_of_wiki(segments, parameters)),
        ("order of a directory", lambda: bool(_ORDER.fullmatch(parts.query))),
        ("query", lambda: _is_exploding(parts.query, parameters)),
    )
    return next((reason for reason, holds in rules if holds()), None)


def _repeats(segments: list[str]) -> bool:
    if len(segments) < MIN_REPEATED_SEGMENTS:
        return False
    if max(Counter(segments).values()) > MAX_SAME_SEGMENT:
        return True
    for period in range(1, len(segments) // MIN_REPETITIONS + 1):
        same = map(eq, segments, segments[period:])
        longest = max((len(list(run)) for equal, run in groupby(same) if equal), default=0)
        if longest + period >= max(MIN_REPEATED_SEGMENTS, MIN_REPETITIONS * period):
            return True
    return False


def _is_of_wiki(segments: list[str], parameters: list[tuple[str, str]]) -> bool:
    """Return whether a wiki does something with its page here: it is edited, compared, printed,
    listed, discussed, or shown as it was at a time (`rev=1700000000`).
    """
    scripts = pairwise(segments[:-1])
    if any(place == "bin" and script in WIKI_ACTIONS for place, script in scripts):
        return True
    is_in_wiki = any("wiki" in segment.lower() for segment in segments)
    return any(map(_APART.match, segments)) or any(
        _OF_WIKI.fullmatch(f"{name}={value}")
        or (is_in_wiki and name == "version" and value.isdecimal())
        for name, value in parameters
    )


def _is_calendar(parameters: list[tuple[str, str]]) -> bool:
    numbered = {name.lower() for name, value in parameters if value.isdecimal()}
    dated = {name.lower() for name, value in parameters if _DATE.match(value)}
    return any(names <= numbered for names in CALENDAR) or not dated.isdisjoint(DATE_PARAMETERS)


def _is_exploding(query: str, parameters: list[tuple[str, str]]) -> bool:
    same = Counter(name for name, _ in parameters)
    for _ in range(3):
        query = unquote(query)
    return (
        len(parameters) > MAX_QUERY_PARAMETERS
        or any(count > MAX_SAME_PARAMETER for count in same.values())
        or len(re.findall(r"https?://|(?<==)/[^&=]*\?", query)) > MAX_NESTED_URLS
    )


def without_session_id(url: str) -> str:
    """Return a URL without the parts that name a visitor.

    >>> without_session_id("https://example.com/a;jsessionid=0123456789ABCDEF?b=1")
    'https://example.com/a?b=1'
    """
    if "?" not in url and ";" not in url and "(" not in url:
        return url
    cleaned = _ASP_SESSION.sub("", _SESSION_IN_PATH.sub("", url))
    names = [
        name
        for name, value in parse_qsl(urlsplit(cleaned).query)
        if SESSION_PARAMETERS.fullmatch(name) and _SESSION_VALUE.match(value)
    ]
    if not names:
        return cleaned
    return url_query_cleaner(cleaned, names, remove=True, unique=False, keep_fragments=True)


def _is_copy_of(page: Page, other: PageRecord | None, axis: Axis) -> bool:
    """Return whether a page is another one in another language or version.

    The same declared language is no other language, another text no other version of the text.
    """
    if other is None:
        return True
    if axis == "language":
        here = page.meta.language
        return not (here and other.language and same_language(other.language, here))
    content = other.content or ""
    others = [(True, word_counts(content, other.url))]
    return content == page.markdown or bool(most_similar(word_counts(page.markdown, ""), others))


def _other_copy(axis: Axis, segment: str) -> Filtered:
    wider = "versions=all" if axis == "version" else f"language={segment} or all"
    return Filtered(axis, f"the {axis} {segment} (wider: -a {wider})")


class Bounds:
    """Which URLs belong to a crawl. Before `discovered` or `stored` is called there is no scope,
    and all are allowed.

    `requested` says whether a page was requested in this run, `is_read` whether there is a document
    of it, of this run or an earlier one; `texts` is `stored` of `LookAlikes`, `stored` that of
    `LearnedShapes`.
    """

    def __init__(
        self,
        arguments: DocsArguments,
        site: SiteKnowledge,
        *,
        requested: Callable[[str], bool],
        is_read: Callable[[str], bool],
        texts: Callable[[str], Iterable[str]] = lambda _shape: (),
        stored: Callable[[], Iterable[str]] = tuple,
    ):
        self._arguments = arguments
        self._site = site
        self._is_known: Callable[[str], bool] = lambda url: site.is_evident(url) or requested(url)
        self._is_read = is_read
        self.scope: Scope | None = None
        self.look_alikes = LookAlikes(MAX_LOOK_ALIKES, texts)
        self.learned = LearnedShapes(stored)
        self.links = SeenLinks()  # the links seen in this run, exactly as they are written
        self.trees = self._trees("")  # the languages and versions of the documentation
        # what the user named, whatever its host
        self._start_directory = ""
        self._named = frozenset[str]()
        self._only_listed = arguments.scope == "listed"

    # --- how they are fixed ---

    def discovered(self, discovery: Discovery, start_page: Page) -> None:
        """Fix the bounds by what discovery found; `start_page` has the start page's links."""
        start = discovery.start_url
        covering = (
            discovery.discovered_file if discovery.discovered_file_type == "llms.txt" else None
        )
        listed = [seed.url for seed in discovery.seeds if seed.llms]
        self._only_listed = self._only_listed or discovery.discovered_file_type in {
            "repository",
            "list",
        }
        if discovery.discovered_file_type == "list":
            self._named = frozenset(identity(seed.url) for seed in discovery.seeds)
        asked = discovery.start.url
        scope = self._build(start, covering, listed, _evidence(discovery, start_page))
        self.scope = replace(scope, unlocalized=unlocalized(asked, start))
        self._start_directory = urljoin(start, ".")
        alternates = [
            (tag, url) for seed in discovery.seeds for tag, url in seed.alternates.items()
        ]
        meta = start_page.meta
        self.trees = self._trees(start, [*meta.hreflang.items(), *alternates])
        self.trees.home_language = meta.language
        self.trees.learn_translations(start, meta.language, meta.hreflang)
        if identity(asked) != identity(discovery.start.final_url):
            self.trees.redirected(asked, discovery.start.final_url)

    def stored(self, urls: Iterable[str], start: str | None = None) -> None:
        """Fix the bounds of a run without discovery, by its stored pages; `start` stands in for
        `url`.
        """
        self.scope = self._build(start or self._arguments.url or "", None, list(urls), ())

    def _trees(self, start_url: str, translations: Iterable[tuple[str, str]] = ()) -> Trees:
        translations = list(translations)
        return Trees(
            start_url,
            self._arguments.language,
            self._arguments.versions == "all",
            self._is_known,
            self._is_read,
            language_segments(translations),
            language_parameter(start_url, translations),
        )

    def _build(
        self, start_url: str, covering: str | None, listed: list[str], evidence: Iterable[Section]
    ) -> Scope:
        arguments = self._arguments
        values = {"language": arguments.language, "version": arguments.versions}
        return build_scope(
            "listed" if self._only_listed else arguments.scope,
            start_url,
            covering,
            listed,
            allow=arguments.allow,
            block=arguments.block,
            above=directory_above(
                start_url, [axis for axis, value in values.items() if value == "all"]
            ),
            evidence=evidence,
        )

    # --- what is in scope ---

    def refusal(self, url: str, *, listed: bool = False) -> Filtered | None:
        """Return why a URL is out of scope, or None: llms files are no pages, else the scope
        decides.
        """
        if is_llms_url(url):
            return Filtered("llms-file", "llms files are read, not exported")
        if urlsplit(url).path.startswith(OF_CDN):
            return Filtered("out-of-scope", f"{OF_CDN} is the CDN's")
        if len(url) > MAX_URL_LENGTH:
            return Filtered("url-length", f"longer than {MAX_URL_LENGTH} characters")
        if identity(url) in self._named:
            return None
        if not self._is_named(url) and (foreign := self.trees.foreign(url)) is not None:
            return _other_copy(*foreign)
        return self.scope.refusal(url, listed=listed) if self.scope else None

    def refusal_by_page(self, url: str, page: Page) -> Filtered | None:
        """Return why a page that was read is filtered: it declares another language, its query
        names one, as was learned since, or it links to pages of another language or version; else
        None.
        """
        if self._is_named(url):
            return None
        foreign = (
            self.trees.foreign_by_name(url)
            or self.trees.declared_foreign(url, page.meta.language, page.meta.hreflang)
            or self.trees.shown_as_copy(url, usable(page.follow))
        )
        return _other_copy(*foreign) if foreign is not None else None

    def refusal_by_sample(
        self, url: str, page: Page, same: Callable[[str], PageRecord | None]
    ) -> Filtered | None:
        """Return why a page that was read is filtered, where it shows that its tree is a copy; else
        None. `same` returns the document at an address.
        """
        suspect = self.trees.suspect_of(url)
        if suspect is None:
            return None
        is_copy = _is_copy_of(page, same(suspect.same), suspect.axis)
        self.trees.judge(suspect, is_copy=is_copy)
        return _other_copy(suspect.axis, suspect.segment) if is_copy else None

    def is_undecided(self, url: str) -> bool:
        """Say whether a page may belong to another language or version, which depends on the rest
        of the site.
        """
        return not self._is_named(url) and self.trees.is_undecided(url)

    def _is_named(self, url: str) -> bool:
        """Say whether an llms.txt lists the page, and not the same page in the wanted language."""
        entries = self._site.entries
        if identity(url) not in entries:
            return False
        return entries.keys().isdisjoint(map(identity, self.trees.in_wanted_language(url)))

    def allowed(self, url: str) -> bool:
        """Say whether the page is in scope."""
        return self.refusal(url, listed=self.is_listed(url)) is None

    def is_listed(self, url: str) -> bool:
        """Say whether an llms.txt or a repository names the page; with scope=listed a sitemap, too."""
        return self._site.is_described(url) or (self._only_listed and self._site.is_listed(url))

    def covers(self, state: PageState) -> bool:
        """Say whether a stored page lies inside the bounds, so that this run may decide whether it
        is deleted; so does one of a version that the site has left for another.
        """
        limit = self._arguments.max_depth
        if limit is not None and state.depth > limit:
            return False
        # an llms file that is stored as a document: its pages failed, or follow=llms
        if is_llms_url(state.url) or self.trees.is_left(state.url):
            return self.scope is None or self.scope.refusal(state.url, listed=True) is None
        return self.refusal(state.url, listed=True) is None

    # --- what became of pages with such addresses ---

    def learn(self, url: str, text: str) -> None:
        """Note the text of a document that was not stored before."""
        self.look_alikes.learn(url, text)
        self.learned.answered(url)

    def wasted(self, url: str, reason: FilterReason | None = None) -> None:
        """Note that a page which was not stored before is no document: filtered for a reason, or
        not found.
        """
        self.look_alikes.wasted(url)
        if reason is not None:
            self.learned.answered(url, reason)

    # --- endless links ---

    def trap(self, url: str) -> Filtered | None:
        """Return why a link looks like one of endlessly many, or None."""
        reason = trap_reason(url)
        return Filtered("trap", f"{reason}: looks endless") if reason else None

    def crowded(self, url: str, *, listed: bool) -> Filtered | None:
        """Return why a page is filtered as one of too many look-alikes, or None; see
        `LookAlikes.admits`.
        """
        if self.look_alikes.admits(url, listed=listed):
            return None
        return Filtered("trap", f"URLs like {shape_of(url)} brought nothing new")

    def is_alike(self, url: str) -> bool:
        """Say whether a URL has numbers or a query below the start page's directory, version aside."""
        below = url.removeprefix(self._start_directory)
        return shape_of(url if below == url else f"https://x/{below}") is not None
