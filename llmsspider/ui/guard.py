"""What the page may be asked by forms, and what a browser may load for it."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from llmsspider.web.http_guard import HttpGuard
from llmsspider.web.page_forms import bare_type

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src {};"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of each answer; `{}` is from where pictures come."""
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(slots=True, frozen=True)
class Guard(HttpGuard):
    """Refuse what `HttpGuard` refuses, and what is sent by anything but a form of the page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421, 401 or 403; with headers that protect the page."""
        with_pictures = b"pictures=1" in scope.get("query_string", b"")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                _protect(MutableHeaders(scope=message), with_pictures=with_pictures)
            await send(message)

        await HttpGuard.__call__(self, scope, receive, send_guarded)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused."""
        refused = HttpGuard.refusal(self, scope)
        if refused is not None or scope["method"] in {"GET", "HEAD"}:
            return refused
        headers = Headers(scope=scope)
        origin = headers.get("origin", "").partition("://")[2]
        is_form = bare_type(headers.get("content-type")) == FORM_TYPE
        if origin != headers.get("host") or not is_form:
            return PlainTextResponse("only forms of this page are answered\n", 403)
        return None


def _protect(headers: MutableHeaders, *, with_pictures: bool) -> None:
    pictures = "'self' data: https: http:" if with_pictures else "'self' data:"
    headers["Content-Security-Policy"] = POLICY.format(pictures)
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "same-origin"  # with no-referrer a form has no Origin
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers.setdefault("Cache-Control", "no-store")
