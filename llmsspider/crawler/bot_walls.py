"""Answers with status 200 that are not the page: bot walls, logins, denials. Pure."""

import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from llmsspider.crawler.overwrites import Overwrite, Overwrites, Rewriting, rewriting
from llmsspider.crawler.pages import breaks_off, drop_reason
from llmsspider.errors import ErrorKind
from llmsspider.items import MARKDOWN_ORIGINS, content_hash
from llmsspider.store import PageRecord, PageState
from llmsspider.web.outcomes import MAX_WALL_TEXT

# least number of pages that differed before and have one text now for that text to be a wall
SAME_TEXT = 3
SHRUNK = 0.1  # least share of its former length that a page must have to be accepted at once

KEPT_WORDS = 0.3
"""Least share of all words, old and new, that both texts must have in common to be editions of one
page.
"""
SHORT = 150
"""Characters of a text below which it is rewritten by its words alone."""
MAX_MOVED_TO_ONE = 3
"""Pages that may redirect to a new page; more of them look like a login or an error page, and so do
two that redirect
for now."""
MIN_LINKS = 3  # least number of links that a page had for the loss of all of them to be suspicious
CONFIRM_RUNS = 2  # runs in a row after which odd answers are accepted

ACCEPTED_RUNS = 7
"""Runs in a row after which a page is what it answers, unless that is a login or a challenge."""
MAX_NEW_TEXT = 2 * MAX_WALL_TEXT
"""Characters of Markdown up to which a new page of a known site may be a wall."""

_PASSWORD = re.compile(rb"<input\b[^<>]{0,500}?\btype\s*=\s*[\"']?password", re.IGNORECASE)
_FORM = re.compile(rb"<(?:form|input)\b", re.IGNORECASE)
_NOTICE = re.compile(
    r"\W*(?:access (?:is )?(?:denied|restricted)|forbidden|unauthori[sz]ed|(?:please"
    r" )?(?:sign|log)[- ]?in\b.{0,40}"
    r"|(?:authentication|login) (?:is )?required|before you continue\b.{0,60}"
    r"|(?:(?:site|we.?re|is|currently|down for|under|scheduled) )*maintenance(?: mode)?"
    r"|(?:we.?ll )?be (?:right )?back.{0,20}|(?:service |site |page )?(?:temporarily )?unavailable"
    r"|(?:are you|verify (?:that )?you are) .{0,20}(?:human|robot).{0,20}|(?:enter the"
    r" )?captcha)\W*\Z",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"/(?:log[-_]?in|logon|sign[-_]?in|authenticate|sso|saml|oauth2?)(?:/|\Z)", re.IGNORECASE
)
_VARYING = re.compile(r"(?<!\S)[^\s\d/]*+[\d/]\S*")
"""Words that differ in each response of one wall: numbers, ids of the request, the requested
address.
"""


def is_rewritten(before: str, now: str) -> bool:
    """Say whether two texts have too little in common to be editions of one page.

    >>> is_rewritten("How to install it.", "How to install it now."), is_rewritten("How to install it.", "Sign in")
    (False, True)
    """
    old = set(before.split())
    new = set(now.split())
    return len(old & new) < KEPT_WORDS * len(old | new)


def is_login_url(url: str) -> bool:
    """Say whether an address is that of a login, by a segment of its path.

    >>> is_login_url("https://e.com/auth/login?next=/guide"), is_login_url("https://e.com/guide/login-page.html")
    (True, False)
    """
    return _LOGIN.search(urlsplit(url).path) is not None


def leads_to_login(asked: str, final: str) -> bool:
    """Say whether a redirect sent a visitor to a login."""
    return is_login_url(final) and not is_login_url(asked)


def names_itself(now: str, title: str | None, body: bytes) -> ErrorKind | None:
    """Return the error kind of an answer whose title says that it is a login, and that has one, or
    that it stands before the page; None for any other.
    """
    if len(now) > MAX_WALL_TEXT or not _NOTICE.match(title or ""):
        return None
    if _PASSWORD.search(body):
        return "auth"
    return "http" if "before you continue" in (title or "").lower() else None


def own_evidence(before: str, now: str, title: str | None, body: bytes) -> ErrorKind | None:
    """Return the error kind that an answer shows by itself, without other pages, or None.

    `before` is the stored text, of which the new one is no edition, see `is_rewritten`; empty for a
    new page.
    """
    if len(now) > MAX_WALL_TEXT:
        return None
    if _PASSWORD.search(body):
        return "auth"
    if _NOTICE.match(title or "") or (is_shrunk(before, now) and _FORM.search(body)):
        return "http"
    return None


def is_shrunk(before: str, now: str) -> bool:
    """Say whether so little is left of a text that a wall may stand in its place."""
    return len(now) <= min(SHRUNK * len(before), MAX_WALL_TEXT)


def has_lost_links(before: Iterable[str], now: Iterable[str]) -> bool:
    """Say whether a page had links, to the site's other pages most of them, and has none of them
    any more.

    >>> has_lost_links(["/a", "/b", "/c"], ["/login"]), has_lost_links(["/a", "/b", "/c"], ["/c"])
    (True, False)
    """
    had = set(before)
    return len(had) >= MIN_LINKS and had.isdisjoint(now)


def wall_fingerprint(text: str) -> str:
    """Return what two answers of one wall have in common.

    >>> wall_fingerprint("Denied. Reference 18.2f3a") == wall_fingerprint("Denied.  Reference 77.0a")
    True
    """
    return content_hash(" ".join(_VARYING.sub("", text).split()))[:32]


@dataclass(slots=True)
class Suspect:
    """An answer that may be a wall.

    `before` is the hash of the stored content, None for a page that is not stored.
    """

    key: bytes
    text: str
    before: bytes | None
    # the error kind that the answer shows by itself, see `own_evidence`
    kind: ErrorKind | None = None
    bare: bool = False  # a tenth of the stored text is left, or less; or none of the stored links
    blank: bool = False  # a tenth of the stored text is left, or less, and there is no link at all
    cut: bool = False  # it ends where the stored text went on
    start: bool = False
    edited: bool = False  # it has enough words of the stored text to be an edition of it
    redirected: bool = False  # it was reached by a redirect, and nothing links to it
    false_304: bool = False
    rewriting: Rewriting | None = None


def suspect_of_new(record: PageRecord, body: bytes) -> Suspect:
    """Return the suspect of a short page that is not stored."""
    text = record.text
    kind = own_evidence("", text, record.title, body)
    return Suspect(record.key, wall_fingerprint(text), None, kind)


def suspect_of_changed(
    record: PageRecord,
    body: bytes,
    state: PageState,
    stored: PageRecord,
    missing: Container[str],
) -> Suspect | None:
    """Return the suspect of a page whose text is another than stored; None where it is an edition
    of it, or says that the page is missing, as the texts with the hashes `missing` do.
    """
    text = record.text
    before = stored.text
    suspect = Suspect(state.key, wall_fingerprint(text), state.content_hash)
    dropped = drop_reason(text, record.title)
    if dropped is None:  # one without text is seen twice anyway
        suspect.rewriting = rewriting(state.key, before, text, stored.title)
    suspect.cut = not record.has_end_tag and breaks_off(before, text)
    if suspect.cut:
        return suspect
    if content_hash(text) in missing or (dropped is not None and dropped.reason == "soft-404"):
        return None
    if not is_rewritten(before, text):
        suspect.text = content_hash(text)  # its words that vary are its own
        suspect.edited = True
        return None if suspect.rewriting is None or len(before) < SHORT else suspect
    suspect.kind = own_evidence(before, text, record.title, body)
    if dropped is None:
        shrunk = is_shrunk(before, text)
        # Markdown of a page that came as HTML has no navigation
        is_less = record.origin in MARKDOWN_ORIGINS and state.origin == "html"
        has_lost = not is_less and has_lost_links(stored.follow, record.follow)
        suspect.bare = shrunk or has_lost
        suspect.blank = shrunk and not record.follow
    return suspect


class Wall(NamedTuple):
    """A wall in place of a page: the page's error, and the runs in a row after which it is
    accepted; 0 for never.
    """

    kind: ErrorKind
    message: str
    accepted_runs: int


@dataclass(slots=True)
class _SameText:
    """What the stored pages that answered with one text show together."""

    before: set[bytes] = field(default_factory=set)  # the contents that they had before
    kind: ErrorKind | None = None
    bare: bool = False  # little is left of one of them
    blank: bool = False  # so little that it is accepted after `ACCEPTED_RUNS` only


_OVERWRITTEN: dict[Overwrite, str] = {
    "gone": "another text, and nothing of what the page said",
    "alike": "nearly the same text in place of several pages",
    "exchanged": "the text that another page had",
    "odd": "its headings or half of its text are gone, like those of other pages",
    "many": "another text, like many pages of this night",
}


@dataclass(slots=True)
class Suspects:
    """What speaks for bot walls in one run; `pages` is the number of stored pages."""

    pages: int = 0
    overwrites: Overwrites = field(default_factory=Overwrites)
    _texts: dict[str, _SameText] = field(default_factory=dict)
    _redirects: Counter[bytes] = field(default_factory=Counter)
    _redirects_for_now: Counter[bytes] = field(default_factory=Counter)

    def see(self, suspect: Suspect) -> None:
        """Take an answer in as evidence."""
        if suspect.before is None:
            return
        if suspect.rewriting is not None:
            self.overwrites.see(suspect.rewriting)
        if suspect.cut:
            return
        same = self._texts.setdefault(suspect.text, _SameText())
        same.before.add(suspect.before)
        same.bare |= suspect.bare
        same.blank |= suspect.blank or (suspect.bare and suspect.start)
        if same.kind != "auth":
            same.kind = suspect.kind or same.kind

    def see_redirect(self, target: bytes, for_now: bool) -> None:
        """Count a page that redirects to another one, for good or for now."""
        self._redirects[target] += 1
        self._redirects_for_now[target] += for_now

    def evidence(self, suspect: Suspect) -> Wall | None:
        """Return the wall that an answer is by the evidence so far, or None."""
        if suspect.cut:
            return Wall("network", "the page breaks off where it went on before", CONFIRM_RUNS)
        same = self._texts.get(suspect.text, _SameText())
        kind = suspect.kind or same.kind
        if kind is not None:
            what = "a login" if kind == "auth" else "a notice or a form"
            is_alone = suspect.before is None and same.kind is None  # a new page may really be one
            alone, together = (
                (CONFIRM_RUNS, ACCEPTED_RUNS) if kind == "http" else (ACCEPTED_RUNS, 0)
            )
            message = f"{what} in place of the page, with status 200"
            return Wall(kind, message, alone if is_alone else together)
        redirects = self._redirects[suspect.key]
        for_now = self._redirects_for_now[suspect.key]
        if len(same.before) >= SAME_TEXT:
            message = f"the same text in place of {len(same.before)} pages, with status 200"
            return Wall("http", message, ACCEPTED_RUNS)
        if suspect.redirected and (redirects > MAX_MOVED_TO_ONE or for_now > 1):
            return Wall(
                "http", f"{redirects} pages redirect here, and nothing links here", ACCEPTED_RUNS
            )
        if not same.bare:
            return self._overwritten(suspect)
        message = "next to nothing is left of its text, or of its links, with status 200"
        return Wall("http", message, ACCEPTED_RUNS if same.blank else CONFIRM_RUNS)

    def _overwritten(self, suspect: Suspect) -> Wall | None:
        page = suspect.rewriting
        what = self.overwrites.of(page, self.pages) if page is not None else None
        if what is None:
            return None
        runs = ACCEPTED_RUNS if what == "alike" else CONFIRM_RUNS
        return Wall("http", f"{_OVERWRITTEN[what]}: the next nights decide", runs)
