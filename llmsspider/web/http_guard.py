"""Who may use what is served over HTTP: the Host and Origin headers, and a token.

Starlette comes with the extra `mcp`, which serving needs.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from llmsspider.web.addresses import foreign_header

CHALLENGE = 'Basic realm="llmsspider", charset="UTF-8"'


@dataclass(slots=True, frozen=True)
class HttpGuard:
    """Refuse requests for another Host, from another Origin, or without the token, if there is one.

    `hosts` are values of the Host header; `NAME:*` is a name with any port. A browser sends the
    token as the password of HTTP basic authentication (RFC 7617), a program as
    `Authorization: Bearer` (RFC 6750).
    """

    app: ASGIApp
    hosts: frozenset[str]
    token: str | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 421, 403 or 401."""
        refusal = self.refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is refused."""
        headers = Headers(scope=scope)
        foreign = foreign_header(headers, self.hosts)
        if foreign is not None:
            why = f"{foreign.title()} {headers.get(foreign, '')[:100]!r} is not answered"
            if foreign == "origin":
                return PlainTextResponse(f"{why}\n", 403)
            return PlainTextResponse(
                f"{why}; start the server with --allow-host and that name\n", 421
            )
        if self.token and not self._has_token(headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": CHALLENGE}
            return PlainTextResponse("a token is needed: bearer, or as password\n", 401, challenge)
        return None

    def _has_token(self, authorization: str) -> bool:
        scheme, _, credentials = authorization.partition(" ")
        given = credentials.strip().encode("latin-1")
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except ValueError:
                return False
        is_known = scheme.lower() in {"basic", "bearer"}
        return is_known and secrets.compare_digest(given, (self.token or "").encode())
