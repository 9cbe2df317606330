"""One URL by the standard library, for what is no crawl: only public addresses, bounded in size and
time.
"""

import socket
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urljoin, urlsplit

from llmsspider.errors import FetchError
from llmsspider.web.addresses import DEFAULT_PORTS, AllowedAddresses

MAX_REDIRECTS = 10
MAX_BYTES = 32 * 1024 * 1024
"""Maximum size of a body, as in a crawl."""
TIMEOUT_SECS = 30.0
"""Seconds to wait for a connection, and for each part of an answer."""
ACCEPT = "text/markdown, text/html;q=0.9, */*;q=0.8"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(slots=True, frozen=True)
class Answer:
    """A body, the URL after redirects, its media type in lower case and its charset, or None."""

    body: bytes
    url: str
    mime_type: str | None
    encoding: str | None


class _Guarded(HTTPConnection):
    """A connection to the allowed ones of a host's addresses."""

    allowed = AllowedAddresses()

    def connect(self) -> None:
        """Connect to the first address that answers; raises `FetchError` where none is allowed."""
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        addresses = [str(one[4][0]) for one in found]
        public = [one for one in addresses if self.allowed.permits(one, self.host, self.port)]
        if not public:
            raise FetchError(f"{self.host} has no public address")
        for address in public[:-1]:
            try:
                self.sock = socket.create_connection((address, self.port), self.timeout)
            except OSError:
                continue
            return
        self.sock = socket.create_connection((public[-1], self.port), self.timeout)


class _GuardedTls(HTTPSConnection, _Guarded):
    """The same by TLS: `HTTPSConnection` connects by the class behind it."""


def fetch(url: str, user_agent: str, allowed: AllowedAddresses) -> Answer:
    """Return what a URL answers; redirects are followed, each checked as the first.

    Raises:
        FetchError: it cannot be fetched; the message is one line.
    """
    for _ in range(MAX_REDIRECTS + 1):
        if refusal := allowed.refusal(url):
            raise FetchError(f"{url}: {refusal}")
        try:
            answer, target = _request(url, user_agent, allowed)
        except (OSError, HTTPException, ValueError) as error:
            raise FetchError(f"{url}: {error or type(error).__name__}") from None
        if answer is not None:
            return answer
        url = urljoin(url, target)
    raise FetchError(f"{url}: more than {MAX_REDIRECTS} redirects")


def _request(url: str, user_agent: str, allowed: AllowedAddresses) -> tuple[Answer | None, str]:
    """Return the answer, or the target of a redirect in its place."""
    parts = urlsplit(url)
    kind = _GuardedTls if parts.scheme == "https" else _Guarded
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    with closing(kind(parts.hostname or "", port, timeout=TIMEOUT_SECS)) as connection:
        connection.allowed = allowed
        path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        headers = {"User-Agent": user_agent, "Accept": ACCEPT, "Accept-Encoding": "identity"}
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        if response.status in _REDIRECTS and (target := response.getheader("Location")):
            return None, target
        if response.status != 200:
            raise FetchError(f"{url}: HTTP {response.status} {response.reason}".rstrip())
        body = response.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise FetchError(f"{url}: more than {MAX_BYTES // 1024**2} MB")
    named = response.headers.get("Content-Type")
    mime_type = response.headers.get_content_type() if named else None
    return Answer(body, url, mime_type, response.headers.get_content_charset()), ""
