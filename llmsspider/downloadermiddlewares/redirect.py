"""Where requests lead: our own are answered here, redirects followed, and both held to the scope of
the crawl.
"""

from html import escape
from typing import Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import redirect
from scrapy.http import HtmlResponse, Response

from llmsspider.crawl.bot_walls import leads_to_login
from llmsspider.crawl.pages import leads_on
from llmsspider.crawl.requests import META, FilteredRequest, RefusedRequest, RunComponent, run_of
from llmsspider.crawl.run import Run
from llmsspider.crawl.settle import WaitingPage
from llmsspider.web import stats
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import INVALID_URL, fault, identity, page_key


class SyntheticMiddleware:
    """Answer requests whose `meta["llms"]["synthetic"]` is set with an empty response; nothing is
    sent.

    `process_start` cannot yield items: what the crawl knows by itself leaves it through the
    callback of such a request.
    """

    def process_request(self, request: Request) -> Response | None:
        """Return the answer of a synthetic request."""
        is_synthetic = request.meta.get(META, {}).get("synthetic")
        return Response(request.url, request=request) if is_synthetic else None


class NoReferer(redirect.BaseRedirectMiddleware):
    """The project sends no Referer, so a redirect has none to keep; what its target must not be is
    refused here.
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
        why = fault(request.url)
        if why is not None:
            raise _refused(why)


class RedirectMiddleware(NoReferer, redirect.RedirectMiddleware):
    """Scrapy's, which sends no Referer; a redirect in a circle, to a login, or to what the gate
    refuses is an error.

    One to the page that named the redirecting address as its own passes the duplicate filter.
    """

    def process_response(
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
            if "by" in request.meta.get(META, {}) and page_key(request.url) != page_key(answer.url):
                run.counts_as[page_key(request.url)] = page_key(answer.url), "", 0
            page = request.meta.get(META, {}).get("canonical")
            is_named = bool(page and identity(page) == identity(answer.url))
            if run.site.learn_redirect(
                request.url, answer.url, is_named=is_named
            ):  # it is the document
                return answer.replace(dont_filter=True)
        return answer


class MetaRefreshMiddleware(NoReferer, redirect.MetaRefreshMiddleware):
    """Scrapy's, for the requests of discovery: pages are read for it in the worker, without
    decoding them here.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the redirect of a start page that refreshes elsewhere; an invalid one is no
        redirect.
        """
        if not request.meta.get(META, {}).get("discovery"):
            return response
        try:
            answer = super().process_response(request, response)
            if (
                answer is not response
                or not response.body
                or not isinstance(response, HtmlResponse)
            ):
                return answer
            target = leads_on(response.body, response.url, response.encoding)
            if target:
                refresh = f'<meta http-equiv="refresh" content="0; url={escape(target)}">'
                page = response.replace(
                    body=refresh.encode("ascii", "xmlcharrefreplace"), encoding="ascii"
                )
                answer = super().process_response(request, page)
            return answer if isinstance(answer, Request) else response
        except (
            ValueError,
            RefusedRequest,
        ):  # by `urljoin` and `safe_url_string`, or `handle_referer`
            return response


def _refused(why: str) -> RefusedRequest:
    return RefusedRequest(
        f"redirects to an invalid URL: {why}", reason=INVALID_URL, kind="invalid_url"
    )


class ScopeMiddleware(RunComponent):
    """Filter pages that were redirected out of scope, and queued ones beyond a limit.

    The limits are `max_pages`, `max_requests`, whose requests are counted here, and look-alikes.
    Links and seeds are
    checked before their requests exist; a page is known by where it ended.
    """

    def __init__(self, crawler: Crawler, run: Run):
        super().__init__(crawler, run)
        crawler.signals.connect(self.request_reached_downloader, signals.request_reached_downloader)
        crawler.signals.connect(self.response_downloaded, signals.response_downloaded)

    def request_reached_downloader(self, request: Request) -> None:
        """Count a request that is sent for a page: its Markdown form, HTML, redirects and retries."""
        page = request.meta.get(META, {})
        self.run.progress.requests += 1
        if page and not page.get("discovery") and not page.get("verify"):
            self.run.limit.requests += 1

    def response_downloaded(self, response: Response) -> None:
        """Count the bytes of an answer, before it is decompressed."""
        self.run.progress.received += len(response.body)

    def process_request(self, request: Request) -> None:
        """Raise `FilteredRequest` for a request that may not be followed."""
        run = self.run
        page = request.meta.get(META, {})
        if run.bounds.scope is None or not page:
            return
        if any(page.get(key) for key in ("nested", "synthetic", "verify", "source")):
            return
        if run.limit.reached:
            run.coverage.incomplete(run.limit.why)
            raise FilteredRequest(run.limit.refusal)
        why = None
        if request.meta.get("redirect_times"):
            why = run.bounds.scope.refusal(request.url, listed=page.get("listed", False))
            if why is None and run.section.job and run.section.leaves(request.url):
                run.hand_over(run.page_of(request.url), int(request.meta.get("depth", 0)))
                why = Filtered("other-section", "another section has it")
        elif alike := page.get("alike"):
            why = run.bounds.crowded(request.url, listed=alike == "listed")
            run.coverage.unseen.update({"trap"} if why else ())
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
