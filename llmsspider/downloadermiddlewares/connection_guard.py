"""The downloader-side half of the address guard: what only shows when the connection is made."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.url import add_http_if_no_scheme

from llmsspider.addresses import AllowedAddresses
from llmsspider.downloadermiddlewares.address_guard import AddressGuardMiddleware, host_and_port
from llmsspider.resolver import guarded_resolver


class ConnectionGuardMiddleware(AddressGuardMiddleware):
    """Last before the download handler.

    Looks at the URL once more, since other middlewares may have replaced it; lets the resolver through to
    the proxy the operator named (`HttpProxyMiddleware`, `meta["proxy"]`); and turns a name that resolves
    to nothing but refused addresses into `RefusedRequest`, before `RetryMiddleware` would try it again.
    Behind a proxy the proxy resolves names, so only the text of the URL is judged here.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        super().__init__(crawler, allowed)
        environment = getproxies()  # also holds "no", the hosts that are no proxies
        self._proxies = {
            _proxy_host(environment[scheme]) for scheme in ("http", "https") if scheme in environment
        }

    def spider_opened(self) -> None:
        """Leave the resolver to `AddressGuardMiddleware`."""

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched, the proxy itself among them."""
        super().process_request(request)
        proxy = request.meta.get("proxy")
        if proxy:
            host = _proxy_host(proxy)
            self._proxies.add(host)
            guarded_resolver(self.crawler).trust_proxy(host)
        elif urlparse_cached(request).hostname in self._proxies and not self.allowed.everything:
            raise self.refused(request, "this host is the outbound proxy")

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raise `RefusedRequest` in place of the failed look-up of a refused name."""
        if not isinstance(exception, CannotResolveHostError):
            return
        refusal = guarded_resolver(self.crawler).refusal(*host_and_port(request))
        if refusal:
            raise self.refused(request, refusal) from exception


def _proxy_host(url: str) -> str:
    return (urlsplit(add_http_if_no_scheme(url)).hostname or "").lower()
