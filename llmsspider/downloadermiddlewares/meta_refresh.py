"""Start pages that refresh elsewhere."""

from html import escape

from scrapy import Request, Spider
from scrapy.downloadermiddlewares import redirect
from scrapy.http import HtmlResponse, Response

from llmsspider.crawler.pages import leads_on
from llmsspider.crawler.requests import RefusedRequest, info
from llmsspider.downloadermiddlewares.redirect import NoReferer


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
        if not info(request).get("discovery"):
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
