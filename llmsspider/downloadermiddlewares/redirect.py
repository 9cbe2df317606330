"""Redirects: followed without a Referer; one to a login, or in a circle, is an error."""

from typing import Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import redirect
from scrapy.http import Response

from llmsspider.crawl.bot_walls import leads_to_login
from llmsspider.crawl.requests import META, RefusedRequest, download_nested, run_of
from llmsspider.crawl.run import Run
from llmsspider.web import stats
from llmsspider.web.urls import INVALID_URL, fault, identity, loose_key, page_key

VALIDATORS = ("If-None-Match", "If-Modified-Since")
"""Conditional headers: each belongs to one URL (RFC 9110, section 13.1)."""


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
    """

    async def process_response(  # type: ignore[override]  # Scrapy awaits it
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the redirected request, or the response; raises `RefusedRequest`."""
        try:
            answer = super().process_response(request, response)
        except ValueError:  # by `urljoin` and `safe_url_string`; what they say may hold a password
            raise _refused("its address cannot be read") from None
        if not isinstance(answer, Request):
            return answer
        if leads_to_login(request.url, answer.url):
            raise RefusedRequest(f"redirects to a login: {answer.url}", reason="login", kind="auth")
        if answer.url in request.meta.get("redirect_urls", ()):
            stats.count(self.crawler.stats, stats.blocked("redirect-loop"))
            why = f"redirects in a circle over {answer.url}"
            raise RefusedRequest(why, reason="redirect-loop", kind="http")
        run = run_of(self.crawler)
        if run is not None:
            if is_respelled(run, request, answer.url):
                page = await download_nested(self.crawler, answer.url, request)
                return page.replace(request=request)
            if "by" in request.meta.get(META, {}) and page_key(request.url) != page_key(answer.url):
                run.counts_as[page_key(request.url)] = page_key(answer.url), "", 0
            page = request.meta.get(META, {}).get("canonical")
            is_named = bool(page and identity(page) == identity(answer.url))
            if run.site.learn_redirect(
                request.url, answer.url, is_named=is_named
            ):  # it is the document
                return answer.replace(dont_filter=True)
        return answer


def is_respelled(run: Run, request: Request, target: str) -> bool:
    """Return whether a stored page is to be had at another spelling of its address, which is not
    stored.
    """
    known = run.known
    return (
        "by" in request.meta.get(META, {})
        and loose_key(request.url) == loose_key(target)
        and known.state(page_key(request.url)) is not None
        and known.state(page_key(target)) is None
    )


def _refused(why: str) -> RefusedRequest:
    return RefusedRequest(
        f"redirects to an invalid URL: {why}", reason=INVALID_URL, kind="invalid_url"
    )
