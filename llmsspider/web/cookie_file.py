"""The cookies of a session, from a file as browsers and their tools export it.

Netscape's format (https://curl.se/docs/http-cookies.html), or JSON: a list of cookies, or an
object that holds one as `cookies` (Playwright's storage state).
"""

import json
from collections.abc import Mapping
from http.cookiejar import Cookie, CookieJar
from pathlib import Path
from time import time
from urllib.request import Request

from llmsspider.errors import ArgumentsError

_FIELDS = 7  # of a line: domain, with hosts below it, path, over https only, expiry, name, value
_HTTP_ONLY = "#HttpOnly_"


def read_cookies(path: str) -> CookieJar:
    """Return the cookies of a file that have not expired.

    Raises:
        ArgumentsError: it cannot be read, or holds none; the line shows no cookie.
    """
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
        is_json = text.lstrip().startswith(("[", "{"))
        cookies = _of_json(json.loads(text)) if is_json else _of_lines(text)
    except (OSError, ValueError, TypeError, LookupError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has neither format"
        raise ArgumentsError([f"LLMS_COOKIES_FILE={path!r}: {why}; {EXPECTED}"]) from None
    jar = CookieJar()
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


def _of_lines(text: str) -> list[Cookie]:
    found = []
    for line in text.splitlines():
        # pasted through an editor, tabs are spaces
        fields = line.removeprefix(_HTTP_ONLY).split("\t" if "\t" in line else None)
        if len(fields) != _FIELDS or (line.startswith("#") and not line.startswith(_HTTP_ONLY)):
            continue
        domain, below, path, is_secure, expires, name, value = fields
        wide = below.upper() == "TRUE"
        secure = is_secure.upper() == "TRUE"
        found.append(_cookie(domain, path, name, value, wide, secure, float(expires or 0)))
    return found


def _of_json(found: object) -> list[Cookie]:
    rows = found.get("cookies") if isinstance(found, Mapping) else found
    if not isinstance(rows, list):
        raise TypeError("no list of cookies")
    return [
        _cookie(
            row["domain"],
            row.get("path") or "/",
            row["name"],
            row["value"],
            not row.get("hostOnly", not row["domain"].startswith(".")),
            bool(row.get("secure")),
            float(row.get("expirationDate") or row.get("expires") or 0),
        )
        for row in rows
    ]


def _cookie(  # noqa: PLR0917
    domain: str, path: str, name: str, value: str, wide: bool, secure: bool, expires: float
) -> Cookie:
    host = domain.lstrip(".")
    return Cookie(
        version=0,
        name=name,
        value=value,
        port=None,
        port_specified=False,
        domain=f".{host}" if wide else host,
        domain_specified=wide,
        domain_initial_dot=wide,
        path=path,
        path_specified=True,
        secure=secure,
        expires=int(expires) if expires > 0 else None,
        discard=expires <= 0,
        comment=None,
        comment_url=None,
        rest={},
    )
