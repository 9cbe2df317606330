"""Redirects without a Referer header and without loops; meta refresh only where nobody else reads the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares import redirect

from llmsspider import stats
from llmsspider.refusal import RefusedRequest
from llmsspider.requests import info
from llmsspider.urlgate import INVALID_URL, fault
from llmsspider.walls import leads_to_login

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's; the project sends no Referer, so there is none to keep.

    A redirect back to an address of its own chain is an error: the duplicate filter would drop it without a word.
    So is one to what the gate refuses, and one to a login, which is not asked.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the redirected request, or the response; raises `RefusedRequest`."""
        try:
            return super().process_response(request, response)
        except ValueError:  # by `urljoin` and `safe_url_string`; what they say may hold a password
            raise _refused("its address cannot be read") from None

    def _redirect(self, redirected: Request, request: Request, reason: Any) -> Request:
        why = fault(redirected.url)
        if why is not None:
            raise _refused(why)
        if leads_to_login(request.url, redirected.url):
            raise RefusedRequest(f"redirects to a login: {redirected.url}", reason="login", kind="auth")
        if redirected.url in request.meta.get("redirect_urls", ()):
            stats.count(self.crawler.stats, stats.blocked("redirect-loop"))
            raise RefusedRequest(
                f"redirects in a circle over {redirected.url}", reason="redirect-loop", kind="http"
            )
        return super()._redirect(redirected, request, reason)

    def handle_referer(self, request: Request, response: Response) -> None:
        """Remove the Referer."""
        request.headers.pop("Referer", None)

    def _engine_started(self) -> None:
        """Look for no RefererMiddleware."""


class MetaRefreshMiddleware(redirect.MetaRefreshMiddleware):
    """Scrapy's, for the requests of discovery: pages are read for it in the worker, without decoding them here."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the redirect of a start page that refreshes elsewhere; an invalid one is no redirect."""
        if not info(request).get("discovery"):
            return response
        try:
            return super().process_response(request, response)
        except ValueError:  # by `urljoin`, `safe_url_string` and `_redirect`
            return response

    def _redirect(self, redirected: Request, request: Request, reason: Any) -> Request:
        if fault(redirected.url) is not None:
            raise ValueError("refreshes to an invalid URL")
        return super()._redirect(redirected, request, reason)

    def handle_referer(self, request: Request, response: Response) -> None:
        """Remove the Referer."""
        request.headers.pop("Referer", None)

    def _engine_started(self) -> None:
        """Look for no RefererMiddleware."""


def _refused(why: str) -> RefusedRequest:
    return RefusedRequest(f"redirects to an invalid URL: {why}", reason=INVALID_URL, kind="invalid_url")
