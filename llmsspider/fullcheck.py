"""Fetches without validators now and then, and the hosts whose 304 was false. Pure.

A server may say 304 for a page that has changed: a constant `Last-Modified`, an ETag made of the size. Such an answer
cannot be told from a true one, so each run fetches a share of the pages whole. A host that answers one of them with
another text under validators that say "unchanged" is not believed any more: no validators are sent to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from llmsspider.urls import host


@dataclass(slots=True)
class FullCheck:
    """Says to which URLs validators are sent in one run.

    Args:
        runs: every URL is fetched without validators in one of so many runs; 0 for never.
        number: number of the run.
        unbelieved: hosts whose 304 was false.
    """

    runs: int = 0
    number: int = 0
    unbelieved: set[str] = field(default_factory=set)

    def sends_validators(self, url: str) -> bool:
        """Say whether validators are sent to this URL in this run.

        >>> checks = [FullCheck(runs=3, number=number) for number in range(3)]
        >>> sum(check.sends_validators("https://e.com/a") for check in checks)
        2
        """
        return host(url) not in self.unbelieved and not self._is_due(url)

    def found_false(self, url: str) -> bool:
        """Note that a 304 for this URL would have been false; return whether its host was believed until now."""
        name = host(url)
        is_news = name not in self.unbelieved
        self.unbelieved.add(name)
        return is_news

    def remember(self, hosts: object) -> None:
        """Take over the hosts that earlier runs found."""
        if isinstance(hosts, Iterable) and not isinstance(hosts, str | bytes):
            self.unbelieved.update(name for name in hosts if isinstance(name, str))

    def _is_due(self, url: str) -> bool:
        if not self.runs:
            return False
        parts = urlsplit(url)
        digest = hashlib.sha256(f"{parts.path}?{parts.query}".encode("utf-8", "surrogatepass")).digest()
        return (int.from_bytes(digest[:4]) + self.number) % self.runs == 0


def says_unchanged(etag: str | None, last_modified: str | None, headers: Mapping[str, str]) -> bool:
    """Say whether the validators of an answer are such that a conditional request would have got a 304.

    RFC 9110, section 13.2.2: ETags are compared weakly, and dates only where no ETag was sent.

    Args:
        etag: as stored from an earlier answer.
        last_modified: the same.
        headers: of the new answer, with lower-case names.

    >>> says_unchanged('W/"1"', None, {"etag": '"1"'}), says_unchanged('"1"', None, {"etag": '"2"'})
    (True, False)
    """
    if etag:
        return _opaque(etag) == _opaque(headers.get("etag", ""))
    before, now = last_modified, headers.get("last-modified")
    if not before or not now:
        return False
    try:
        return parsedate_to_datetime(now) <= parsedate_to_datetime(before)
    except (ValueError, TypeError, IndexError, OverflowError):
        return now == before


def _opaque(etag: str) -> str:
    return etag.strip().removeprefix("W/")
