"""The one meta key of the project's requests, how they are made, and the download of nested ones.

`meta["llms"]` holds plain values only, so that requests survive a JOBDIR:

    by        how the page was found (`Document.discovered_by`)
    listed    an llms.txt or sitemap names the page
    start     it is the start page
    alike     its URL has numbers or a query, a link led to it, and it is not stored: "listed" where the link is on a
              page without them, else "linked"
    alternate its HTML named the Markdown of `md`; requested in this way once
    canonical URL of the page that named this one as its address, or its own; what it names itself is not followed
    data      URLs of the data that the browser loaded for the page it rendered
    dead      URL of its Markdown, which was not found; other pages it may belong to are tried
    failed    what failed to load in the browser: why, by URL
    held      came as HTML; its Markdown is requested once more at the end of the crawl
    late      requested once more at the end of the crawl
    md        URL of its Markdown, where a file names it outright
    nested    part of another page's download, or of discovery; left alone by the Markdown negotiation
    page      URL of the page that it is requested in place of; robots.txt has to allow both
    discovery requested by discovery
    source    fetched for its links only
    unchanged the document of the page is as it was stored
    spelled   the address as this run's link or list spells it, where the store spells it otherwise
    uncounted why the page that named this one as its address is filtered; counted once this one is answered
    verify    the stored page with this key (hex) is verified
    whole     no validators are sent: what a 304 would stand for is not enough
    synthetic answered by the project itself, never sent
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from scrapy import Request

from llmsspider.crawl.download_errors import NestedDownloadError
from llmsspider.items import DiscoveredBy

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

META = "llms"
ALLOWED_STATUSES = [304]
"""Statuses besides 200 that reach the callback."""

CARRIED = ("proxy", "cookiejar")
"""Keys of Scrapy's that go along where one request takes the place of another."""

HTML_ACCEPT = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"


class RequestMeta(TypedDict, total=False):
    """The values of `meta["llms"]`."""

    by: DiscoveredBy
    listed: bool
    start: bool
    alike: Literal["listed", "linked"]
    alternate: bool
    canonical: str
    data: list[str]
    dead: str
    failed: dict[str, str]
    held: bool
    late: bool
    md: str
    nested: bool
    page: str
    discovery: bool
    source: bool
    unchanged: bool
    spelled: str
    uncounted: str
    verify: str
    whole: bool
    synthetic: bool


def info(request: Request) -> RequestMeta:
    """Return the request's `meta["llms"]`, empty for requests of others (robots.txt)."""
    return cast("RequestMeta", request.meta.get(META, {}))


def is_plain(request: Request) -> bool:
    """Return whether a request is for a page at its own address; the start page and other forms of a page are not."""
    page = info(request)
    return "by" in page and not (page.get("start") or page.get("alternate") or page.get("held"))


def nested_request(
    url: str,
    parent: Request | None = None,
    *,
    discovery: bool = False,
    page: str | None = None,
    meta: dict[str, Any] | None = None,
    **options: Any,
) -> Request:
    """Return a request that belongs to another page's download; it passes the downloader middlewares only."""
    own: RequestMeta = {"nested": True, "discovery": True} if discovery else {"nested": True}
    if page is not None:
        own["page"] = page
    meta = {META: own, **(meta or {})}
    if parent is not None:
        meta.update({key: parent.meta[key] for key in CARRIED if key in parent.meta})
    return Request(url, meta=meta, dont_filter=True, **options)


async def download_nested(crawler: Crawler, url: str, parent: Request, **options: Any) -> Response:
    """Download a file that belongs to another page.

    Args:
        crawler: the crawler whose engine downloads it; middlewares apply, the scheduler does not.
        url: the URL of the file, of any form: one that cannot be requested is an error too.
        parent: the request of the page, see `nested_request`.
        options: further arguments of `nested_request`.

    Raises:
        NestedDownloadError: there is no response, whatever the reason; its `__cause__` is the exception.
    """
    try:
        return await crawler.engine.download_async(nested_request(url, parent, **options))
    except Exception as error:  # a page has to be made without the file, whatever its download raised
        raise NestedDownloadError(error) from error


def synthetic_request(callback: Callable[..., Any]) -> Request:
    """Return a request that is never sent: its callback yields what the crawl knows already."""
    meta = {META: {"synthetic": True}}
    return Request("http://synthetic.invalid/", callback=callback, meta=meta, dont_filter=True, priority=1)


def is_permanent(request: Request) -> bool:
    """Return whether every redirect of a request is one for good (301, 308)."""
    return all(reason in {301, 308} for reason in request.meta.get("redirect_reasons", ()))
