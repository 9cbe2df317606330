"""What becomes of a page: it is published, dropped with a reason, or waits. Rules in their order;
where pages wait.

A rule gets what is known of the page (`ReadPage`) and of its site (`Site`), and gives a verdict, or
None where it has nothing to say: the next one decides then. `Learners.by_itself` judges a page by
what it says, `beside_stored` by what is stored of it, `Learners.among_others` by what the site's
other pages say. A page that waits is settled when what it waits for is known, at the latest at the
end of the crawl (`crawler/ending.py`): nothing waits then. So the order in which pages come decides
nothing.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from llmsspider.crawler.bot_walls import Suspect, Wall
from llmsspider.crawler.pages import PageResponse, PageResult, Spool
from llmsspider.errors import ErrorKind
from llmsspider.items import PageMeta
from llmsspider.store import PageRecord
from llmsspider.web.page_forms import is_markdown_url
from llmsspider.web.stats import Filtered, FilterReason
from llmsspider.web.trees import axis_of
from llmsspider.web.urls import host, identity, loose_key

Reason = Literal[
    "copy",  # it is not requested yet; its language or version may be a copy
    "shape",  # it is not requested yet; addresses like its were no pages
    "file",  # it is not requested yet; its name is that of a file
    "failed",  # the network or the server failed; an outage may be over at the end of the crawl
    "links",  # other pages show what the relative links of its Markdown are relative to
    "markdown",  # it is HTML, and it is not known yet how its host names its Markdown
    "tag",  # it is nothing but links, and another page may name it as its tag
    "stub",  # it is Markdown, and samples are to show whether it says what its HTML says
    "copy-of",  # it names another page as its address, or links to one, which may say the same
    "wall",  # its answer may be a bot wall, which other answers show
    "moved",  # it is new or has grown, and may be, or hold, a stored page that is gone
    "in-file",  # it is not found, and a full-text file that lags has it
]
"""Why a page waits."""


class Drop(NamedTuple):
    """The page is no document: the reason, the rule in words, and the page that takes its place,
    where one does.
    """

    reason: FilterReason
    rule: str
    target: str | None = None


class Ask(NamedTuple):
    """The Markdown that the page names is requested; its document stands for the page."""

    url: str


class Wait(NamedTuple):
    """The page waits until the crawl knows more."""

    reason: Reason


class Publish(NamedTuple):
    """The page is a document."""


Verdict = Drop | Ask | Wait | Publish


OfUrl = Callable[[str], bool]
"""A question about a URL."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """What the rules know of one page."""

    url: str  # the address that was requested
    meta: PageMeta = field(default_factory=PageMeta)  # what the page says of itself
    # filtered whatever it says: its type, or its publisher's opt-out
    refused: Filtered | None = None
    with_slash: str | None = None  # the address with a slash whose Markdown this is
    is_only_linked: bool = False  # nothing but links gives the page this spelling of its address
    # another page named this address as its own; what this one names is not followed
    is_named: bool = False
    markdown: str | None = None  # the URL of the Markdown that its HTML names
    without_query: str | None = None  # its address without the query, where that was requested
    is_wanted: bool = False  # it is a document even if it only lists others
    is_start: bool = False
    is_stored: bool = False  # it is as it was stored
    may_be_markdown: bool = False  # it is HTML whose Markdown can be requested again
    is_undecided: bool = False  # it is Markdown; samples are to show whether its HTML says more
    may_have_moved: Callable[[], bool] = bool  # whether it may be a stored page at a new address
    says_the_same: OfUrl = bool  # whether the page at an address has the same text
    # whether its own links spell its address otherwise
    is_spelled_otherwise: Callable[[], bool] = bool


class Site(NamedTuple):
    """What the rules ask about a page's site."""

    in_scope: OfUrl  # whether the scope allows it
    # the start page: in scope, and listed where only listed pages are published
    is_published: OfUrl
    leads_back: Callable[
        [str, str], bool
    ]  # whether the second, canonical, leads to the page or nowhere
    forms_are_open: OfUrl  # whether it is not known yet how its host names Markdown
    takes: OfUrl  # whether the run takes the page: `mode=refresh` takes no new ones
    wall: Callable[
        [Suspect], Wall | None
    ]  # the wall that a suspicious answer is, by all evidence so far
    can_wait: Callable[[Reason], bool]  # whether one more page can; never once the crawl is drained


Rule = Callable[[ReadPage, Site], Verdict | None]


# --- a page by itself ---


def refused(page: ReadPage, site: Site) -> Verdict | None:
    """Drop what is no documentation by its type, and pages whose publisher opts out."""
    return Drop(*page.refused) if page.refused is not None else None


def alias(page: ReadPage, site: Site) -> Verdict | None:
    """Replace a spelling without a slash that only links have by the one with a slash, whose
    Markdown it got.
    """
    if page.with_slash is None or not page.is_only_linked:
        return None
    return Drop("canonical", f"its Markdown is that of {page.with_slash}", page.with_slash)


def stub(page: ReadPage, site: Site) -> Verdict | None:
    """Replace a page that only leads on by the page that it leads to."""
    target = page.meta.refresh
    is_elsewhere = target and identity(target) != identity(page.url)
    return Drop("redirect", f"leads on to {target}", target) if is_elsewhere else None


def canonical(page: ReadPage, site: Site) -> Verdict | None:
    """Replace a page by the one that it names as its address, one hop."""
    named = page.meta.canonical
    url = page.url
    if (
        not named
        or identity(named) == identity(url)
        or page.is_named
        or site.leads_back(url, named)
    ):
        return None
    is_its_page = same_page_elsewhere(url, named) or _is_page_of_file(url, named)
    is_page = is_its_page and site.in_scope(named)
    return Drop("canonical", f"names {named} as its address", named) if is_page else None


def listing(page: ReadPage, site: Site) -> Verdict | None:
    """Drop a page that only lists others, by what it is."""
    why = page.meta.listing
    return Drop("listing", why) if why and not page.is_wanted else None


def other_form(page: ReadPage, site: Site) -> Verdict | None:
    """Request the Markdown that an HTML page names."""
    return Ask(page.markdown) if page.markdown is not None else None


# --- beside what is stored of it ---


def beside_stored(suspect: Suspect | None, site: Site) -> Wait | Wall | None:
    """Wait with an answer that may be a bot wall until all evidence is in; one that breaks off
    fails at once. None where nothing speaks against it.
    """
    if suspect is None:
        return None
    return Wait("wall") if not suspect.cut and site.can_wait("wall") else site.wall(suspect)


# --- among the site's other pages ---


def markdown_to_come(page: ReadPage, site: Site) -> Verdict | None:
    """Wait with HTML until it is known how its host names its Markdown."""
    waits = page.may_be_markdown and site.forms_are_open(page.url) and site.can_wait("markdown")
    return Wait("markdown") if waits else None


def undecided(page: ReadPage, site: Site) -> Verdict | None:
    """Wait with Markdown until samples of its form show whether it says what its HTML says."""
    return Wait("stub") if page.is_undecided and site.can_wait("stub") else None


def copy_of_named(page: ReadPage, site: Site) -> Verdict | None:
    """Wait with a page that names one of another name as its address, or is another with a query,
    and drop it where that has the same text: `/articles/1-old-title` beside
    `/articles/1-new-title`, `/a?highlight=b` beside `/a`.
    """
    named = page.meta.canonical or page.without_query
    if page.is_stored or page.is_start or not named or identity(named) == identity(page.url):
        return None
    if not (_is_another_of_host(page.url, named) and site.in_scope(named)):
        return None
    if site.can_wait("copy-of"):
        return Wait("copy-of")
    how = "which it names as its address" if page.meta.canonical else "without its query"
    why = f"has the text of {named}, {how}"
    return Drop("canonical", why, named) if page.says_the_same(named) else None


def spelled_otherwise(page: ReadPage, site: Site) -> Verdict | None:
    """Wait with a page whose own links spell its address otherwise: of two equal ones that is kept
    which comes first.
    """
    may_wait = not page.meta.canonical and site.can_wait("copy-of")
    return Wait("copy-of") if may_wait and page.is_spelled_otherwise() else None


def not_stored(page: ReadPage, site: Site) -> Verdict | None:
    """Drop new pages of a run that takes none."""
    return None if site.takes(page.url) else Drop("not-stored", "mode=refresh takes no new pages")


def start_outside(page: ReadPage, site: Site) -> Verdict | None:
    """Drop the start page, which is fetched in any case, where it is not in scope."""
    is_outside = page.is_start and not site.is_published(page.url)
    return (
        Drop("out-of-scope", "the start page itself is outside the scope") if is_outside else None
    )


def moved(page: ReadPage, site: Site) -> Verdict | None:
    """Wait with a page until it is known which stored pages are gone: it may be, or hold, one."""
    may_wait = not page.is_start and site.can_wait("moved")
    return Wait("moved") if may_wait and page.may_have_moved() else None


def settle(page: ReadPage, site: Site, rules: Sequence[Rule]) -> Verdict:
    """Return the verdict of the first rule that has one; `Publish` where none has."""
    verdicts = (rule(page, site) for rule in rules)
    return next((verdict for verdict in verdicts if verdict is not None), Publish())


def _is_page_of_file(url: str, named: str) -> bool:
    """Say whether a Markdown file names the page that it is of."""
    is_of_file = is_markdown_url(url) and not is_markdown_url(named)
    return is_of_file and _is_another_of_host(url, named)


def _is_another_of_host(url: str, named: str) -> bool:
    """Say whether an address is one of the same host, and not its home page, which some sites name
    on every page.
    """
    return host(url) == host(named) and urlsplit(named).path not in {"", "/"}


def same_page_elsewhere(url: str, canonical: str) -> bool:
    """Say whether a canonical address is plausible: same host and scheme, and the same last path
    segment.

    Sites that name their home page as the address of every page would lose all of them. The index
    of a version (or language) has its name as the last segment: there the others have to be the
    same.

    >>> same_page_elsewhere("https://e.com/v2/page.html", "https://e.com/v3/page")
    True
    >>> same_page_elsewhere("https://e.com/v2/page.html", "https://e.com/")
    False
    >>> same_page_elsewhere("https://e.com/tool/v2/index.html", "https://e.com/tool/v3/")
    True
    """
    here = urlsplit(loose_key(url))
    there = urlsplit(loose_key(canonical))
    if (here.scheme, here.netloc) != (there.scheme, there.netloc):
        return False
    (above, _, last), (other_above, _, other) = (
        here.path.rpartition("/"),
        there.path.rpartition("/"),
    )
    if last == other:
        return bool(last)
    axis = axis_of(last)
    return above == other_above and axis is not None and axis == axis_of(other)


# The one place where pages wait: read ones for what the site's other pages show, failed ones for a
# retry.


class Hold(NamedTuple):
    """How pages wait for one reason.

    Attributes:
        pages: maximum number of pages that wait in one run.
        room: `max_pages` has to allow more documents than this for one to wait.
        characters: maximum number of characters of the pages in memory.
        until: the phase that judges them again: when all pages are `read`, when it is known which
            are `gone`, or one that asks for them.
        again: a continued JOBDIR requests them again; else what is stored of them stays.
        failed: what is stored of them is confirmed at a stop.
        on_disk: their documents are kept on disk.
    """

    pages: float = inf
    room: int = -1
    characters: float = inf
    until: Literal["read", "gone", "asked"] = "asked"
    again: bool = True
    failed: bool = False
    on_disk: bool = False


HOLDS: Mapping[Reason, Hold] = {
    "copy": Hold(50_000),
    "shape": Hold(50_000, again=False),
    "file": Hold(50_000),
    "failed": Hold(200, failed=True),  # when more fail the site is down
    "links": Hold(16, 100, failed=True),
    "markdown": Hold(100, 100, until="read"),
    "tag": Hold(1000, 100, until="read"),
    "stub": Hold(1000, 100, until="read"),
    "copy-of": Hold(1000, 100, until="read"),
    "wall": Hold(again=False, failed=True, on_disk=True),
    "moved": Hold(1000, 1000, 20_000_000, until="gone"),
    "in-file": Hold(again=False),
}


def reasons_with(**wanted: object) -> tuple[Reason, ...]:
    """Return the reasons whose hold has these values.

    >>> reasons_with(until="read")
    ('markdown', 'tag', 'stub', 'copy-of')
    """
    holds = HOLDS.items()
    return tuple(reason for reason, hold in holds if wanted.items() <= hold._asdict().items())


PASSING = frozenset({"network", "rate_limited"})
"""Error kinds that may be over by the end of the crawl; so may answers without a page that are no
4xx.
"""


class Failure(NamedTuple):
    """The error that is reported if a retry fails too."""

    url: str
    kind: ErrorKind
    message: str
    status: int | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the page may answer later."""
        return self.kind in PASSING or (self.kind == "http" and (self.status or 0) < 400)


@dataclass(slots=True)
class WaitingPage:
    """A page that waits, and why."""

    reason: Reason
    # the request that it answered; of `copy`, `shape` and `failed` the one to send
    request: Any = None
    record: PageRecord | None = None  # the page as it was read; None where it was not
    facts: ReadPage | None = None  # what the rules know of it
    confirmed: bool = False  # it is as it was stored
    shows_pages: bool = False  # its HTML linked to pages that nothing had shown before
    answer: PageResponse | None = None  # of pages that are read again
    read: PageResult | None = None  # the page of small Markdown
    suspect: Suspect | None = None  # what speaks for a bot wall
    failure: Failure | None = None  # the error of a failed page

    @property
    def is_spelled_otherwise(self) -> bool:
        """Whether the page's own links spell its address otherwise."""
        return self.facts is not None and self.facts.is_spelled_otherwise()


class Waiting:
    """The pages of one run that wait. `closed` has the reasons for which none does: a stop would
    lose them.
    """

    def __init__(self, spool: Spool) -> None:
        self.closed: set[Reason] = set(reasons_with(until="gone"))
        self._pages: dict[Reason, dict[object, WaitingPage]] = {reason: {} for reason in HOLDS}
        self._kept: Counter[Reason] = Counter()
        self._characters: Counter[Reason] = Counter()
        self._spool = spool
        self._on_disk: dict[tuple[Reason, object], Path] = {}

    def can_keep(self, reason: Reason, room: int | None = None) -> bool:
        """Say whether one more page can wait, where `room` more documents are allowed (None: any
        number).
        """
        hold = HOLDS[reason]
        is_full = self._kept[reason] >= hold.pages or (room is not None and room <= hold.room)
        is_large = self._characters[reason] >= hold.characters
        return not (is_full or is_large or reason in self.closed)

    def keep(self, page: WaitingPage, *, room: int | None = None) -> bool:
        """Keep a page; return False where no more can wait."""
        reason = page.reason
        record = page.record
        if not self.can_keep(reason, room):
            return False
        hold = HOLDS[reason]
        self._kept[reason] += 1
        key: object = self._kept[reason]
        if record is not None and hold.until == "read":
            key = record.id
        if record is not None and hold.on_disk:
            self._on_disk[reason, key] = self._spool.keep(
                pickle.dumps(replace(record, digest=None))
            )
            page.record = None
        elif record is not None:
            self._characters[reason] += len(record.text)
        self._pages[reason][key] = page
        return True

    def number(self, *reasons: Reason) -> int:
        """Return how many pages wait."""
        return sum(len(self._pages[reason]) for reason in reasons)

    def pages(self, reason: Reason) -> list[WaitingPage]:
        """Return the pages that wait; they go on waiting."""
        return list(self._pages[reason].values())

    def pop(self, record: PageRecord) -> WaitingPage | None:
        """Return the page of this document that waited for other pages and waits no more; None
        where none did.
        """
        found = (self._pages[reason].pop(record.id, None) for reason in reasons_with(until="read"))
        return next((page for page in found if page is not None), None)

    def take(
        self,
        *reasons: Reason,
        most: int | None = None,
        where: Callable[[WaitingPage], bool] = lambda _page: True,
    ) -> Iterator[WaitingPage]:
        """Yield pages, which wait no more: those of one reason as they came, those of several by
        their addresses.
        """
        found = [
            (page.record.url if page.record is not None else "", reason, key)
            for reason in reasons
            for key, page in self._pages[reason].items()
            if where(page)
        ]
        if len(reasons) > 1:
            found.sort(key=itemgetter(0))
        for _, reason, key in found[:most]:
            page = self._pages[reason].pop(key, None)
            if page is None:
                continue
            if (path := self._on_disk.pop((reason, key), None)) is not None:
                page.record = pickle.loads(path.read_bytes())  # noqa: S301 - written by this process
                path.unlink()
            yield page
