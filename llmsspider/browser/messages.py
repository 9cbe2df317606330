"""The heads of HTTP/1.1 messages, as far as a proxy has to understand them (RFC 9112). No network here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

Pairs = tuple[tuple[str, str], ...]

HOP_BY_HOP = frozenset(
    {"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade"}
)
"""Headers that belong to one connection and are not passed on (RFC 9110, section 7.6.1)."""


class Destination(NamedTuple):
    """Where a request to a proxy leads. `path` is empty for CONNECT."""

    scheme: str
    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of a message in its three parts, and its headers in order."""

    start: tuple[str, str, str]
    headers: Pairs = ()

    @classmethod
    def parse(cls, head: bytes) -> Head:
        r"""Read a head, blank line included.

        >>> Head.parse(b"GET / HTTP/1.1\r\nHost: e.com\r\n\r\n").get("host")
        'e.com'

        Raises:
            ValueError: it is not HTTP.
        """
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        parts = [*first.split(" ", 2), ""]
        if len(parts) < 3 or any(line[:1] in {" ", "\t", ":"} or ":" not in line for line in lines):
            raise ValueError("not HTTP")
        pairs = (line.partition(":") for line in lines)
        return cls(
            (parts[0], parts[1], parts[2]), tuple((name.strip(), value.strip()) for name, _, value in pairs)
        )

    def get(self, name: str) -> str | None:
        """Return the first value of a header, by its lower-case name."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def passed_on(self, start: tuple[str, str, str] | None = None, more: Pairs = ()) -> bytes:
        """Return the head for the other side, which is told that the connection ends with this message."""
        kept = [pair for pair in self.headers if pair[0].lower() not in HOP_BY_HOP]
        fields = [f"{name}: {value}" for name, value in [*kept, *more, ("Connection", "close")]]
        return ("\r\n".join([" ".join(start or self.start).rstrip(), *fields]) + "\r\n\r\n").encode("latin-1")

    @property
    def destination(self) -> Destination:
        """Where a request to a proxy leads; raises `ValueError` for what is no such request."""
        method, target, _ = self.start
        if method == "CONNECT":
            parts = urlsplit(f"//{target}")
            if not parts.hostname or not parts.port:
                raise ValueError("CONNECT names no host and port")
            return Destination("https", parts.hostname, parts.port, "")
        parts = urlsplit(target)
        if parts.scheme != "http" or not parts.hostname or parts.username is not None:
            raise ValueError("not a request to a proxy")
        path = "/" + target.partition("://")[2].partition("/")[2]
        return Destination("http", parts.hostname, parts.port or 80, path)

    @property
    def body_length(self) -> int:
        """The length of a request's body; raises `ValueError` for one of unknown length."""
        if self.get("transfer-encoding"):
            raise ValueError("a request body of unknown length")
        return int(self.get("content-length") or 0)
