"""Secrets of the sites a crawl may read: which headers go to which host, and keeping them out of sight."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.web.addresses import DEFAULT_PORTS

Origin = tuple[str, str, int]
"""Scheme, host in lower case, port."""

REDACTED = "[redacted]"
"""What stands in a log where a secret was."""

EXPECTED = (
    'expected {"docs.example.com": {"Authorization": "Bearer …"}} or {"docs.example.com": "user:password"}'
)

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]+\Z")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Headers to send, by origin. Printing one shows no header."""

    by_origin: Mapping[Origin, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_setting(cls, value: object) -> Credentials:
        """Read `LLMS_HTTP_AUTH`: a dict, or the same as JSON text; empty for None and "".

        Keys are `host`, `host:port`, or an origin such as `http://host:port`. Without a scheme the secret
        is sent over https only. A value is a dict of headers, or `user:password` for basic authentication.
        `ArgumentsError` has a line for each entry that cannot be used. No line shows a secret.
        """
        if not value:
            return cls()
        try:
            table = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            raise ArgumentsError([f"LLMS_HTTP_AUTH: not JSON; {EXPECTED}"]) from None
        if not isinstance(table, Mapping):
            raise ArgumentsError([f"LLMS_HTTP_AUTH: {EXPECTED}"])
        by_origin: dict[Origin, Mapping[str, str]] = {}
        problems: list[str] = []
        for key, entry in table.items():
            try:
                parts = urlsplit(key if "://" in str(key) else f"https://{key}")
                origin = origin_of(parts.geturl())
                if (
                    not origin
                    or "@" in parts.netloc
                    or parts.path.strip("/")
                    or parts.query
                    or parts.fragment
                ):
                    raise ValueError("the key is not a host")
                by_origin[origin] = _headers(entry)
            except ValueError as error:
                shown = str(key).rpartition("@")[2]  # what stands before an @ may be a password
                problems.append(f"LLMS_HTTP_AUTH for {shown}: {error}; {EXPECTED}")
        if problems:
            raise ArgumentsError(problems)
        return cls(by_origin)

    def headers_for(self, url: str) -> Mapping[str, str]:
        """Return the headers to send with a request for `url`, empty for a host that is not listed."""
        origin = origin_of(url)
        return self.by_origin.get(origin, {}) if origin else {}

    def secrets(self) -> frozenset[str]:
        """Return every text that must not be shown: header values and the parts that stand on their own."""
        found: set[str] = set()
        for value in (value for headers in self.by_origin.values() for value in headers.values()):
            found.update({value, *re.split(r"[;\s]\s*", value)})
            found.update(part.partition("=")[2] for part in value.split(";"))
            scheme, _, encoded = value.partition(" ")
            with contextlib.suppress(ValueError):
                decoded = (
                    base64.b64decode(encoded, validate=True).decode() if scheme.lower() == "basic" else ""
                )
                found.update({decoded, decoded.partition(":")[2]})
        return frozenset(text for text in found if len(text) >= 6)

    def __bool__(self) -> bool:
        return bool(self.by_origin)


class SecretsFilter(logging.Filter):
    """Put `REDACTED` in place of every secret in the log records of a handler."""

    def __init__(self, credentials: Credentials):
        super().__init__()
        longest_first = sorted(credentials.secrets(), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the message, and the traceback; keep every record."""
        message = record.getMessage()
        if self._pattern.search(message):
            record.msg, record.args = self._pattern.sub(REDACTED, message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self._pattern.sub(REDACTED, record.exc_text)
        return True


def origin_of(url: str) -> Origin | None:
    """Return scheme, host and port of an http(s) URL, None for anything else.

    >>> origin_of("https://Docs.example.com/a")
    ('https', 'docs.example.com', 443)
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname.removesuffix("."), port or DEFAULT_PORTS[parts.scheme]


def _headers(entry: object) -> Mapping[str, str]:
    if isinstance(entry, str):
        if ":" not in entry:
            raise ValueError("the value is not user:password")
        return {"Authorization": "Basic " + base64.b64encode(entry.encode()).decode("ascii")}
    if not isinstance(entry, Mapping) or not entry:
        raise ValueError("the value is neither headers nor user:password")
    for name, value in entry.items():
        if not isinstance(name, str) or not _HEADER_NAME.match(name):
            raise ValueError("a header name has characters that headers cannot have")
        if not isinstance(value, str) or not _HEADER_VALUE.match(value):
            raise ValueError(f"the value of header {name} is not one line of text")
    return {str(name): str(value) for name, value in entry.items()}
