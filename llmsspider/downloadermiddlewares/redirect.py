"""Redirects: followed without a Referer; one to a login, or in a circle, is an error."""

import re
from contextlib import suppress
from typing import Self
from urllib.parse import urljoin

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import redirect
from scrapy.http import Response
from scrapy.settings import BaseSettings

from llmsspider.crawler.bot_walls import leads_to_login, names_itself
from llmsspider.crawler.parts import Addresses
from llmsspider.crawler.requests import (
    REDIRECTED,
    RefusedRequest,
    download_nested,
    info,
    part_of,
)
from llmsspider.downloadermiddlewares.decompression import ENCODINGS, decompress
from llmsspider.web import stats
from llmsspider.web.addresses import same_site
from llmsspider.web.urls import INVALID_URL, fault, host, identity, page_key

VALIDATORS = ("If-None-Match", "If-Modified-Since")
"""Conditional headers: each belongs to one URL (RFC 9110, section 13.1)."""


MAX_COOKIES = 20
"""Cookies of one answer that are kept."""
COOKIES = "llms_cookies"
"""Where a redirected request keeps the cookies that were set on its way."""
SENT_BACK = "llms_sent_back"
"""Where a request that is sent again with cookies keeps the size of the answer that set them."""
LIKE = 0.05
"""Share of that size by which the answer of the same page may differ from it."""
FEW_LINKS = 3
"""Links of a page from which it leads on."""
MAX_PAGE = 10 * 1024 * 1024
"""Size of the largest such page that is looked into, in bytes."""
_HREF = re.compile(rb"<a\s[^<>]{0,500}?\bhref\s*=\s*([^\s<>]+)", re.IGNORECASE)
_TITLE = re.compile(rb"<(?:title|h1)\b[^<>]{0,500}>([^<]{0,200})", re.IGNORECASE)
_OF_REDIRECTS = frozenset({COOKIES, *REDIRECTED})
_REFRESH = re.compile(r"\s*[0-5](?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)


class NoReferer(redirect.BaseRedirectMiddleware):
    """The project sends no Referer, so a redirect has none to keep, nor the validators of the URL
    before; what its target must not be is refused here.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware without Scrapy's search for a RefererMiddleware, which warns where
        there is none.
        """
        middleware = cls(crawler.settings)
        middleware.crawler = crawler
        return middleware

    def handle_referer(self, request: Request, response: Response) -> None:
        """Remove the Referer, and refuse an address that the gate refuses: Scrapy logs it next,
        password included.
        """
        request.headers.pop("Referer", None)
        for name in VALIDATORS:
            request.headers.pop(name, None)
        why = fault(request.url)
        if why is not None:
            raise _refused(why)


class RedirectMiddleware(NoReferer, redirect.RedirectMiddleware):
    """Scrapy's, which sends no Referer; a redirect in a circle, to a login, or to what the gate
    refuses is an error.

    One to the page that named the redirecting address as its own passes the duplicate filter. One
    from a stored page to another spelling of its address is answered as that page: it did not move.
    A `Refresh` header redirects, too. Cookies that the site sets with a redirect go with the
    request that it leads to. A circle on which it sets some is entered once more with them, and
    pages of that host are requested with them from then on; so is the first page of a host that
    sets cookies, where it leads nowhere or asks something first.
    """

    def __init__(self, settings: BaseSettings):
        super().__init__(settings)
        self._cookies: dict[str, str] = {}
        """The Cookie header of each host that wanted one, in this run."""

    def process_request(self, request: Request) -> None:
        """Send the cookies that the host wanted before."""
        if cookies := self._cookies.get(host(request.url)):
            request.headers.setdefault("Cookie", cookies)

    async def process_response(  # type: ignore[override]  # Scrapy awaits it
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the redirected request, or the response; raises `RefusedRequest`."""
        try:
            answer = super().process_response(request, _as_redirect(response))
        except ValueError:  # by `urljoin` and `safe_url_string`; what they say may hold a password
            raise _refused("its address cannot be read") from None
        if not isinstance(answer, Request):
            return self._sent_back(request, response) or response
        if (again := self._with_cookies(request, response, answer)) is not None:
            return again
        if leads_to_login(request.url, answer.url):
            raise RefusedRequest(f"redirects to a login: {answer.url}", reason="login", kind="auth")
        if answer.url in request.meta.get("redirect_urls", ()):
            stats.count(self.crawler.stats, stats.blocked("redirect-loop"))
            why = f"redirects in a circle over {answer.url}"
            raise RefusedRequest(why, reason="redirect-loop", kind="http")
        addresses = part_of(self.crawler, Addresses)
        return answer if addresses is None else await self._of_site(request, answer, addresses)

    async def _of_site(
        self, request: Request, answer: Request, addresses: Addresses
    ) -> Request | Response:
        """Learn from the redirect of a page; return the redirected request, or the page where that
        is the stored one in another spelling.
        """
        is_page = "by" in info(request)
        if is_page and addresses.is_respelled(request.url, answer.url):
            page = await download_nested(self.crawler, answer.url, request)
            return page.replace(request=request)
        if is_page and page_key(request.url) != page_key(answer.url):
            addresses.count_as(request.url, answer.url)
        named = info(request).get("canonical")
        is_named = bool(named and identity(named) == identity(answer.url))
        addresses.learn_redirect(request.url, answer.url, is_named=is_named)
        return answer.replace(dont_filter=True) if is_named else answer  # it is the document

    def _sent_back(self, request: Request, response: Response) -> Request | None:
        """Return the request for the first page of a host that sets cookies again, with them, where
        it may stand before another one; None for any other page. They are kept where it did.
        """
        place = host(request.url)
        size = request.meta.get(SENT_BACK)
        if size is not None and abs(len(response.body) - size) <= LIKE * size:
            self._cookies[place] = ""
        is_page = response.status == 200 and b"html" in (
            response.headers.get("Content-Type") or b""
        )
        cookies = _cookies_of(response) if is_page and "Cookie" not in request.headers else {}
        if not cookies or place in self._cookies:
            return None
        if _leads_on(response):
            self._cookies[place] = ""
            return None
        self._keep(place, cookies)
        meta = {**request.meta, SENT_BACK: len(response.body)}
        return request.replace(meta=meta, dont_filter=True)

    def _keep(self, place: str, cookies: dict[str, str]) -> None:
        """Request the pages of a host with cookies from now on."""
        self._cookies[place] = _header(cookies)

    def _with_cookies(
        self, request: Request, response: Response, answer: Request
    ) -> Request | None:
        """Return the request for the page at the end of a circle with the cookies that were set on
        its way; None for any other redirect, and where it was sent cookies before.
        """
        before = request.meta.get(COOKIES, {})
        fresh = _cookies_of(response) if same_site(response.url, answer.url) else {}
        cookies = {**before, **fresh}
        answer.meta[COOKIES] = cookies
        was_sent_all = "Cookie" in request.headers and not before
        is_circle = answer.url in answer.meta.get("redirect_urls", ())
        if was_sent_all or not (cookies and is_circle):
            if fresh:
                answer.headers.setdefault("Cookie", _header(fresh))
            return None
        self._keep(host(answer.url), cookies)
        kept = {name: value for name, value in answer.meta.items() if name not in _OF_REDIRECTS}
        return answer.replace(meta=kept, dont_filter=True)


def _as_redirect(response: Response) -> Response:
    """Return the redirect that a `Refresh` header asks for at once, or that several choices prefer
    (status 300); else the answer itself. A backslash in its address is a slash, as in links.
    """
    location = response.headers.get("Location") or b""
    if b"\\" in location:
        response.headers["Location"] = location.replace(b"\\", b"/")
    if response.status == 300 and "Location" in response.headers:
        return response.replace(status=302)
    found = _REFRESH.match((response.headers.get("Refresh") or b"").decode("latin-1"))
    if response.status != 200 or found is None:
        return response
    if identity(urljoin(response.url, found[1])) == identity(response.url):
        return response
    return response.replace(status=302, headers={**response.headers, "Location": found[1]})


def _cookies_of(response: Response) -> dict[str, str]:
    """Return the cookies that an answer sets, by name."""
    set_cookies = response.headers.getlist("Set-Cookie")[:MAX_COOKIES]
    pairs = (one.decode("latin-1").partition(";")[0].partition("=") for one in set_cookies)
    return {name.strip(): value.strip() for name, _, value in pairs if value.strip()}


def _header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def _leads_on(response: Response) -> bool:
    """Return whether a page has links, and does not say that it stands before another."""
    body = response.body
    encoding = (response.headers.get("Content-Encoding") or b"").decode("latin-1").strip().lower()
    if encoding in ENCODINGS:
        with suppress(ValueError):
            body = decompress(body, encoding, MAX_PAGE)
    titles = [title.decode("utf-8", "replace").strip() for title in _TITLE.findall(body)]
    asks = any(names_itself("", title, body) for title in titles)
    return len(set(_HREF.findall(body))) >= FEW_LINKS and not asks


def _refused(why: str) -> RefusedRequest:
    return RefusedRequest(
        f"redirects to an invalid URL: {why}", reason=INVALID_URL, kind="invalid_url"
    )
