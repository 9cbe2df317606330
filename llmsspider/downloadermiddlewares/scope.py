"""Redirects out of scope, and requests beyond a limit, are filtered; of files the headers alone are
downloaded.
"""

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response

from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.learn import Learners
from llmsspider.crawler.progress import Coverage, PageLimit, Progress
from llmsspider.crawler.requests import META, FilteredRequest, RunComponent
from llmsspider.crawler.run import Run
from llmsspider.crawler.settle import WaitingPage
from llmsspider.web.page_forms import media_type
from llmsspider.web.urls import page_key


class ScopeMiddleware(RunComponent):
    """Filter pages that were redirected out of scope, and queued ones beyond a limit.

    The limits are `max_pages`, `max_requests`, whose requests are counted here, and look-alikes.
    Links and seeds are checked before their requests exist; a page is known by where it ended.
    """

    bounds: Bounds
    coverage: Coverage
    learned: Learners
    limit: PageLimit
    progress: Progress

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        crawler.signals.connect(self.request_reached_downloader, signals.request_reached_downloader)
        crawler.signals.connect(self.response_downloaded, signals.response_downloaded)
        crawler.signals.connect(self.headers_received, signals.headers_received)

    def request_reached_downloader(self, request: Request) -> None:
        """Count a request that is sent for a page: its Markdown form, HTML, redirects and retries."""
        page = request.meta.get(META, {})
        self.progress.requests += 1
        if page and not any(page.get(key) for key in ("asset", "discovery", "verify")):
            self.limit.requests += 1

    def response_downloaded(self, response: Response) -> None:
        """Count the bytes of an answer, before it is decompressed."""
        self.progress.received += len(response.body)

    def headers_received(self, headers: Headers, request: Request) -> None:
        """Stop the download of a page that is a file, by its name and headers."""
        page = request.meta.get(META, {})
        if "by" not in page:
            return
        content_type = (headers.get("Content-Type") or b"").decode("latin-1")
        mime_type = media_type(content_type, request.url)
        names = self.learned.file_names
        listed = page.get("listed", False)
        if names.is_file(request.url, mime_type, listed=listed):
            raise StopDownload(fail=False)

    def process_request(self, request: Request) -> None:
        """Raise `FilteredRequest` for a request that may not be followed."""
        run = self.run
        page = request.meta.get(META, {})
        if self.bounds.scope is None or not page:
            return
        if any(page.get(key) for key in ("nested", "synthetic", "verify", "source")):
            return
        if self.limit.reached:
            self.coverage.incomplete(self.limit.why)
            raise FilteredRequest(self.limit.refusal)
        why = None
        if request.meta.get("redirect_times"):
            why = self.bounds.scope.refusal(request.url, listed=page.get("listed", False))
        elif alike := page.get("alike"):
            why = self.bounds.crowded(request.url, listed=alike == "listed")
            self.coverage.unseen.update({"trap"} if why else ())
        if why is not None or self._waits(run, request):
            raise FilteredRequest(why)

    def _waits(self, run: Run, request: Request) -> bool:
        """Keep a request whose address has a shape that was no page here; say whether it waits."""
        page = request.meta[META]
        learned = run.bounds.learned
        if "by" not in page or any(
            page.get(key) for key in ("start", "listed", "asked", "canonical", "late", "held")
        ):
            return False
        if request.meta.get("redirect_times") or run.known.state(page_key(request.url)) is not None:
            return False
        return learned.waits(request.url) and run.waiting.keep(WaitingPage("shape", request))
