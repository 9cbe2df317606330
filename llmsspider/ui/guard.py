"""Who may use the page: the Host and Origin headers, a token, and what a browser may load."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src {};"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of each answer; `{}` is from where pictures come."""
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(slots=True, frozen=True)
class Guard:
    """Refuse requests for another Host, from another Origin, and without the token, if there is one.

    A browser sends the token as the password of HTTP basic authentication (RFC 7617), a program as
    `Authorization: Bearer` (RFC 6750).
    """

    app: ASGIApp
    hosts: frozenset[str]
    token: str | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421, 401 or 403."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        with_pictures = b"pictures=1" in scope["query_string"]

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                _protect(MutableHeaders(scope=message), with_pictures=with_pictures)
            await send(message)

        await (refusal or self.app)(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if host not in self.hosts:
            why = f"Host {host[:100]!r} is not answered; --allow-host names it\n"
            return PlainTextResponse(why, 421)
        if self.token and not self._has_token(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": 'Basic realm="llmsspider", charset="UTF-8"'}
            return PlainTextResponse("a token is needed, as password\n", 401, challenge)
        if method in {"GET", "HEAD"}:
            return None
        origin = headers.get("origin", "").partition("://")[2]
        is_form = headers.get("content-type", "").partition(";")[0].strip() == FORM_TYPE
        if origin != host or not is_form:
            return PlainTextResponse("only forms of this page are answered\n", 403)
        return None

    def _has_token(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                decoded = base64.b64decode(given, validate=True).decode()
            except ValueError:
                return False
            given = decoded.partition(":")[2]
        is_known = scheme.lower() in {"basic", "bearer"}
        return is_known and secrets.compare_digest(given.encode(), (self.token or "").encode())


def _protect(headers: MutableHeaders, *, with_pictures: bool) -> None:
    pictures = "'self' data: https: http:" if with_pictures else "'self' data:"
    headers["Content-Security-Policy"] = POLICY.format(pictures)
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers.setdefault("Cache-Control", "no-store")
