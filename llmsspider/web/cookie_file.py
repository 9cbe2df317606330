"""The cookies of a session, from a file as browsers and their tools export it.

Netscape's format (https://curl.se/docs/http-cookies.html), or JSON: a list of cookies, or an
object that holds one as `cookies` (Playwright's storage state); with the names of Cookie Quick
Manager, too.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from pathlib import Path
from time import time
from typing import Any
from urllib.request import Request

from llmsspider.errors import ArgumentsError

_ONLY_OWN_HOST = DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain)
"""Cookies of one host go to none below it."""
_FIELDS = ("domain", "below", "path", "secure", "expires", "name", "value")
"""Those of a line: `below` says whether hosts below the domain get the cookie, too."""
_HTTP_ONLY = "#HttpOnly_"
_QUICK_MANAGER = {
    "Host raw": "domain",
    "Path raw": "path",
    "Name raw": "name",
    "Content raw": "value",
    "Expires raw": "expires",
    "This domain only raw": "hostOnly",
    "Send for raw": "secure",
}
"""Its names of what others call otherwise; it writes words for true and false."""


def read_cookies(path: str) -> CookieJar:
    """Return the cookies of a file that have not expired.

    Raises:
        ArgumentsError: it cannot be read, or holds none; the line shows no cookie.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
        is_json = text.lstrip().startswith(("[", "{"))
        rows = _of_json(json.loads(text)) if is_json else _of_lines(text)
        cookies = [_cookie(row) for row in rows]
    except (OSError, ValueError, TypeError, LookupError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has neither format"
        raise ArgumentsError([f"LLMS_COOKIES_FILE={path!r}: {why}; {EXPECTED}"]) from None
    jar = CookieJar(_ONLY_OWN_HOST)
    for cookie in cookies:
        if not cookie.is_expired(int(time())):
            jar.set_cookie(cookie)
    if not len(jar):
        what = "all of its cookies have expired" if cookies else "it holds no cookies"
        raise ArgumentsError([f"LLMS_COOKIES_FILE={path!r}: {what}; {EXPECTED}"])
    return jar


EXPECTED = "export cookies.txt (Netscape) or JSON from the browser that is signed in"


def cookies_for(jar: CookieJar, url: str) -> str:
    """Return the Cookie header for a request, by domain, path and scheme; empty for none."""
    request = Request(url)  # noqa: S310  # it is not opened
    jar.add_cookie_header(request)
    return request.get_header("Cookie") or ""


def _of_lines(text: str) -> list[dict[str, Any]]:
    found = []
    for line in text.splitlines():
        # pasted through an editor, tabs are spaces
        fields = line.removeprefix(_HTTP_ONLY).split("\t" if "\t" in line else None)
        is_comment = line.startswith("#") and not line.startswith(_HTTP_ONLY)
        if len(fields) == len(_FIELDS) and not is_comment:
            found.append(dict(zip(_FIELDS, fields, strict=True)))
    return found


def _of_json(found: object) -> list[dict[str, Any]]:
    rows = found.get("cookies") if isinstance(found, Mapping) else found
    if not isinstance(rows, list):
        raise TypeError("no list of cookies")
    return [
        {_QUICK_MANAGER.get(key, key): value for key, value in dict(row).items()} for row in rows
    ]


def _cookie(row: Mapping[str, Any]) -> Cookie:
    domain = str(row["domain"]).rpartition("://")[2].rstrip("/")
    is_own = _is_true(row.get("hostOnly", not _is_true(row.get("below"))))
    wide = domain.startswith(".") or not is_own
    host = domain.lstrip(".")
    if "." not in host:
        host += ".local"  # so the jar calls a host of one label
    expires = _seconds(row.get("expirationDate") or row.get("expires") or 0)
    return Cookie(
        version=0,
        name=row["name"],
        value=row["value"],
        port=None,
        port_specified=False,
        domain=f".{host}" if wide else host,
        domain_specified=wide,
        domain_initial_dot=wide,
        path=row.get("path") or "/",
        path_specified=True,
        secure=_is_true(row.get("secure")),
        expires=int(expires) if expires > 0 else None,
        discard=expires <= 0,
        comment=None,
        comment_url=None,
        rest={},
    )


def _is_true(value: object) -> bool:
    return str(value).lower() == "true"


def _seconds(expires: str | float) -> float:
    """Return when a cookie expires in seconds since 1970; it is given so, or as a date in ISO 8601.

    >>> _seconds("1970-01-02T00:00:00.000Z"), _seconds("12.5"), _seconds(0)
    (86400.0, 12.5, 0.0)
    """
    with suppress(ValueError):
        return float(expires)
    return datetime.fromisoformat(str(expires)).timestamp()
