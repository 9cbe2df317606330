"""What became of a request: bot walls, the one classification of responses into error kinds, what
asks for a 304.
"""

import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache

from ahocorasick_rs import BytesAhoCorasick

from llmsspider.errors import ErrorKind
from llmsspider.web.loading import shipped_table

# Bot walls: answers that are a test for the visitor in place of the page requested. `walls.toml`
# has their marks.


_WALLS = shipped_table("llmsspider.web", "walls")
_TITLES = frozenset(_WALLS["titles"])

MAX_WALL_TEXT = 1500
"""Characters of visible text above which a page is a page. The walls looked at show 30 to 700."""

MAX_WALL_LINKS = 50
"""Links above which a page is a page; counting them costs next to nothing. Walls have up to ten."""

_SCRIPTS = [
    (name, text.encode(), re.compile("".join(pattern).encode()))
    for name, marks in _WALLS["scripts"].items()
    for text, *pattern in marks
]  # all texts are found in one pass (Aho-Corasick), before any pattern
_SCRIPT_TEXTS = BytesAhoCorasick([text for _, text, _ in _SCRIPTS])
_UNSEEN = re.compile(rb"(?:script|style|svg|template)\b|!--", re.IGNORECASE)
"""How a tag begins, behind its `<`, whose content is not seen."""
_INITIALS = frozenset([b"s", b"S", b"t", b"T", b"!"])


def challenge_of(status: int, headers: Mapping[str, str], body_prefix: bytes = b"") -> str | None:
    """Return the name of the bot wall that sent an answer, None for any other answer.

    `headers` maps lower-case names to values. `body_prefix` is the start of the decompressed body,
    64 KiB are plenty. Walls come with any status, 200 among them; `status` only recognises answers
    without body (204,
    304) apart.

    >>> challenge_of(403, {"cf-mitigated": "challenge"})
    'Cloudflare'
    >>> challenge_of(200, {}, b"<html><title>Captchas</title><p>How to add a captcha</p></html>") is None
    True
    """
    if (by_header := _by_header(headers)) is not None:
        return by_header
    is_page = body_prefix.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"
    if status in {204, 304} or not is_page or body_prefix.count(b"<a ") > MAX_WALL_LINKS:
        return None
    markup = body_prefix.lower()
    by_title = "unnamed" if _title(body_prefix, markup) in _TITLES else None
    has_marks = bool(_SCRIPT_TEXTS.find_matches_as_indexes(markup))
    if not (by_title or has_marks) or _shows_more_than(MAX_WALL_TEXT, body_prefix):
        return None
    by_script = (
        name for name, text, pattern in _SCRIPTS if text in markup and pattern.search(markup)
    )
    return next(by_script, by_title)


def _by_header(headers: Mapping[str, str]) -> str | None:
    for header, (name, *values) in _WALLS["headers"].items():
        value = headers.get(header, "").strip().lower()
        if value and (not values or value in values):
            return str(name)
    return None


def _shows_more_than(limit: int, body: bytes) -> bool:
    """Return whether a page has more bytes of visible text, white space collapsed; reads no further
    than that.
    """
    seen = 0
    closing = b""
    for piece in _pieces(body):
        if not closing and piece[:1] in _INITIALS and (unseen := _UNSEEN.match(piece)):
            closing = b"-->" if unseen[0] == b"!--" else b"/" + unseen[0].lower()
        if closing == b"-->" and closing in piece:
            text = piece.partition(closing)[2]
            closing = b""
        elif not closing or piece[:9].lower().startswith(closing):
            text = piece[piece.find(b">") + 1 :]
            closing = b""
        else:
            continue
        if text and not text.isspace():
            seen += len(b" ".join(text.split())) + 1
            if seen > limit:
                return True
    return False


def _pieces(body: bytes) -> Iterator[bytes]:
    while body:
        pieces = body.split(b"<", 256)
        body = pieces.pop() if len(pieces) > 256 else b""
        yield from pieces


def _title(body: bytes, lowered: bytes) -> str:
    opening = lowered.find(b"<title")
    start = lowered.find(b">", opening) + 1
    end = lowered.find(b"</title>", start) if opening >= 0 else -1
    text = (
        body[start:end].decode("utf-8", "replace") if start <= end <= start + MAX_WALL_TEXT else ""
    )
    return " ".join(
        text.replace("&#39;", "'").replace("&#x27;", "'").replace("’", "'").split()
    ).lower()


# What became of a request: the one classification of responses into error kinds.
#     not_found     404, 410
#     auth          401, 403
#     challenge     a bot wall, whatever its status (`llmsspider.web.outcomes`)
#     rate_limited  429, after the retries
# http          other 4xx, redirects that lead nowhere or never end, and 2xx without a whole page
# (202, 204, 206)
#     network       5xx, timeout, DNS, TLS, connection
#     invalid_url   text that is not an absolute http(s) URL
#     blocked       refused on our side: robots.txt, address guard, opt-out, size limit
#     parse         anything that failed while the answer was read
# Only `not_found` says that a page is gone. No Scrapy here: `llmsspider.crawler.requests`
# classifies
# exceptions.

KIND_OF_STATUS: dict[int, ErrorKind | None] = dict.fromkeys((200, 203, 304)) | {
    404: "not_found", 410: "not_found", 401: "auth", 403: "auth", 429: "rate_limited"
}  # fmt: skip
"""Statuses with a kind of their own, None for a whole page; no range is requested, so 206 is a part
of one.
"""

MISSING = frozenset({404, 410})
"""Statuses that say that a page is not there."""

OUTAGES: frozenset[ErrorKind] = frozenset(
    {"auth", "challenge", "rate_limited", "http", "network", "parse"}
)
"""Kinds that say nothing of the page: it may be back tomorrow.

A run that meets many of them saw half of the site.
"""

_FAULTS = shipped_table("llmsspider.web", "faults")
"""What failures of the network mean, and what to do about them and about other errors of the start
page.
"""


def kind_of_response(
    status: int, headers: Mapping[str, str], body_prefix: bytes = b""
) -> ErrorKind | None:
    """Return the error kind of an answer, None where it is a page (200, 203) or says nothing
    changed (304).

    `headers` have lower-case names; without `body_prefix` only bot walls that show in the headers
    are found.
    """
    if challenge_of(status, headers, body_prefix[: 64 * 1024]):
        return "challenge"
    return KIND_OF_STATUS.get(status, "network" if 500 <= status < 600 else "http")


def explained(exception: BaseException) -> str:
    """Return what an exception of a download means and what to do about it, in one line; its own
    text where unknown.

    >>> explained(ConnectionRefusedError(111, "Connection refused")).partition(":")[0]
    'the connection was refused'
    """
    text = f"{' '.join(cls.__name__ for cls in type(exception).__mro__)} {exception}"
    for fault in _FAULTS["faults"]:
        if re.search(fault["pattern"], text):
            return f"{fault['what']}; {fault['remedy']}"
    return str(exception) or type(exception).__name__


def remedied(kind: ErrorKind, message: str) -> str:
    """Return why the start page failed and what to do about it, in one line.

    >>> remedied("not_found", "HTTP status 404")
    'HTTP status 404; check the address in a browser'
    """
    remedy = _FAULTS["remedies"].get(kind)
    return f"{message}; {remedy}" if remedy and "; " not in message else message


# Validators: what asks for a 304, and whether a server would have answered with one.


def says_unchanged(etag: str | None, last_modified: str | None, headers: Mapping[str, str]) -> bool:
    """Say whether the validators of an answer are such that a conditional request would have got a
    304.

    RFC 9110, section 13.2.2: ETags are compared weakly, and dates only where no ETag was sent.
    `etag` and `last_modified` are those stored from an earlier answer, `headers` those of the new
    one, with lower-case names.

    >>> says_unchanged('W/"1"', None, {"etag": '"1"'}), says_unchanged('"1"', None, {"etag": '"2"'})
    (True, False)
    """
    if etag:
        return etag.strip().removeprefix("W/") == headers.get("etag", "").strip().removeprefix("W/")
    date = headers.get("last-modified")
    if not last_modified or not date:
        return False
    before = _moment(last_modified)
    now = _moment(date)
    return date == last_modified if before is None or now is None else now <= before


def clean_validator(value: str | None) -> str | None:
    """Return a stored validator as it may be sent: without control characters, None when nothing is
    left.
    """
    return re.sub(r"[\x00-\x1f\x7f]", "", value or "").strip() or None


def validators(etag: str | None, last_modified: str | None) -> dict[str, str]:
    """Return the request headers that ask for a body only if it is another one (RFC 9110, section
    13.1).

    A date in the future says nothing of what has changed since: none is sent. What is no date is
    left to the server.
    """
    etag = clean_validator(etag)
    date = clean_validator(last_modified)
    headers = {"If-None-Match": etag} if etag else {}
    if date and (_moment(date) or 0) <= time.time():
        headers["If-Modified-Since"] = date
    return headers


@lru_cache(maxsize=256)
def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
