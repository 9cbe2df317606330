"""Redirects out of scope, and requests beyond a limit, are filtered; of files the headers alone are
downloaded.
"""

from scrapy import Request, signals
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response

from llmsspider.crawler.parts import (
    Addresses,
    Bounds,
    Coverage,
    KnownPages,
    Learners,
    PageLimit,
    Progress,
    SiteKnowledge,
    Waiting,
)
from llmsspider.crawler.requests import FilteredRequest, RunComponent, has_any, info
from llmsspider.crawler.settle import WaitingPage
from llmsspider.web.page_forms import media_type
from llmsspider.web.scope import Scope
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import host, identity


class ScopeMiddleware(RunComponent):
    """Filter pages that were redirected out of scope, and queued ones beyond a limit.

    The limits are `max_pages`, `max_requests`, whose requests are counted here, and look-alikes.
    Links and seeds are checked before their requests exist; a page is known by where it ended.
    """

    addresses: Addresses
    bounds: Bounds
    coverage: Coverage
    known: KnownPages
    learned: Learners
    limit: PageLimit
    progress: Progress
    site: SiteKnowledge
    waiting: Waiting

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self.crawler.signals.connect(
            self.request_reached_downloader, signals.request_reached_downloader
        )
        self.crawler.signals.connect(self.response_downloaded, signals.response_downloaded)
        self.crawler.signals.connect(self.headers_received, signals.headers_received)

    def request_reached_downloader(self, request: Request) -> None:
        """Count a request that is sent for a page: its Markdown form, HTML, redirects and retries."""
        page = info(request)
        self.progress.requests += 1
        if page and not has_any(request, "asset", "discovery", "verify"):
            self.limit.requests += 1

    def response_downloaded(self, response: Response) -> None:
        """Count the bytes of an answer, before it is decompressed; learn of a page that is to be
        had without a slash alone.
        """
        self.progress.received += len(response.body)
        if response.status == 200 and identity(response.url) in self.addresses.respelled:
            self.site.with_slash.pop(host(response.url), None)

    def headers_received(self, headers: Headers, request: Request) -> None:
        """Stop the download of a page that is a file, by its name and headers."""
        page = info(request)
        if "by" not in page:
            return
        content_type = (headers.get("Content-Type") or b"").decode("latin-1")
        mime_type = media_type(content_type, request.url)
        names = self.learned.file_names
        listed = page.get("listed", False)
        if names.is_file(request.url, mime_type, listed=listed):
            raise StopDownload(fail=False)

    def process_request(self, request: Request) -> Response | None:
        """Return the redirect that the host is sure to answer with; raises `FilteredRequest` for a
        request that may not be followed.
        """
        page = info(request)
        if self.bounds.scope is None or not page:
            return None
        if has_any(request, "nested", "synthetic", "verify", "source"):
            return None
        if self.limit.reached:
            self.coverage.incomplete(self.limit.why)
            raise FilteredRequest(self.limit.refusal)
        why = self._refusal(request, self.bounds.scope)
        if why is not None or self._waits(request):
            raise FilteredRequest(why)
        is_new = "by" in page and self.known.at(request.url) is None
        if not is_new or not self.addresses.adds_slash(request.url):
            return None
        page["spelled"] = request.url
        headers = {"Location": f"{request.url}/"}
        return Response(request.url, 301, headers=headers, request=request)

    def _refusal(self, request: Request, scope: Scope) -> Filtered | None:
        """Return why a redirect, or one of too many look-alikes, is not followed."""
        page = info(request)
        if request.meta.get("redirect_times"):
            return scope.refusal(request.url, listed=page.get("listed", False))
        alike = page.get("alike")
        why = self.bounds.crowded(request.url, listed=alike == "listed") if alike else None
        if why is not None:
            self.coverage.unseen.add("trap")
        return why

    def _waits(self, request: Request) -> bool:
        """Keep a request whose address has a shape that was no page here; say whether it waits."""
        page = info(request)
        learned = self.bounds.learned
        if "by" not in page or has_any(
            request, "start", "listed", "asked", "canonical", "late", "held"
        ):
            return False
        if request.meta.get("redirect_times") or self.known.at(request.url) is not None:
            return False
        return learned.waits(request.url) and self.waiting.keep(WaitingPage("shape", request))
