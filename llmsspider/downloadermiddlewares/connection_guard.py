"""Last before a connection: names that resolve to refused addresses only, and the operator's proxy."""

from urllib.parse import urlsplit
from urllib.request import getproxies

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.url import add_http_if_no_scheme

from llmsspider.downloadermiddlewares.address_guard import AddressGuardMiddleware
from llmsspider.downloadermiddlewares.resolver import guarded_resolver
from llmsspider.web.addresses import DEFAULT_PORTS, AllowedAddresses


class ConnectionGuardMiddleware(AddressGuardMiddleware):
    """Last before the download handler: other middlewares may have replaced the URL.

    Turns a name that resolves to refused addresses only into `RefusedRequest`, before
    `RetryMiddleware` would try it again. The operator's proxy is let through; it resolves names, so
    that only the text of the URL is checked then.
    """

    def __init__(self, crawler: Crawler, allowed: AllowedAddresses):
        super().__init__(crawler, allowed)
        named = getproxies()  # also holds "no", the hosts that are no proxies
        self._proxies = {_proxy_host(named[scheme]) for scheme in DEFAULT_PORTS if scheme in named}

    def spider_opened(self) -> None:
        """Leave the resolver to `AddressGuardMiddleware`."""

    def process_request(self, request: Request) -> None:
        """Raise `RefusedRequest` for a URL that may not be fetched, the proxy itself among them."""
        super().process_request(request)
        proxy = request.meta.get("proxy")
        if proxy:
            host = _proxy_host(proxy)
            self._proxies.add(host)
            guarded_resolver(self.crawler).proxies.add(host)
        elif urlparse_cached(request).hostname in self._proxies and not self.allowed.everything:
            raise self.refused(request, "this host is the outbound proxy")

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raise `RefusedRequest` in place of the failed look-up of a refused name."""
        if isinstance(exception, CannotResolveHostError) and (
            refusal := self.refusal_of_resolver(request)
        ):
            raise self.refused(request, refusal) from exception


def _proxy_host(url: str) -> str:
    return (urlsplit(add_http_if_no_scheme(url)).hostname or "").lower()
