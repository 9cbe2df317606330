"""Whether an answer to HEAD says that a page is as it was stored, and whether a host's HEAD can be believed. Pure.

RFC 9110, section 9.3.2: HEAD should send the header fields that GET would. Not every server does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BUSY_STATUSES = frozenset({429, 503})
"""Statuses that say "not now", whatever the method."""


@dataclass(frozen=True, slots=True)
class HeadAnswer:
    """The status of an answer, 0 where none came, and its validators as they were sent."""

    status: int
    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str]) -> HeadAnswer:
        """Read an answer; `headers` maps lower-case names to values."""
        return cls(status, headers.get("etag") or None, headers.get("last-modified") or None)

    @property
    def has_validators(self) -> bool:
        """True when there is something to compare."""
        return bool(self.etag or self.last_modified)

    def says_unchanged(self, sent: Mapping[str, str]) -> bool:
        """Say whether this answer to HEAD means that the page is as it was.

        Args:
            sent: the conditional request headers, `If-None-Match` and `If-Modified-Since`.
        """
        etag, date = sent.get("If-None-Match"), sent.get("If-Modified-Since")
        if self.status == 304:
            return not (etag and self.etag) or _weak(etag) == _weak(self.etag)
        if self.status != 200:
            return False
        if etag:
            return self.etag is not None and _weak(etag) == _weak(self.etag)
        return date is not None and date == self.last_modified


def disagreement(head: HeadAnswer, get: HeadAnswer) -> str | None:
    """Return what is wrong with an answer to HEAD that did not say "unchanged", by what GET says; else None."""
    if head.status in BUSY_STATUSES or get.status in BUSY_STATUSES:
        return None
    if head.status == 0:
        return "HEAD is not answered"
    if head.status not in {200, 304}:
        return f"HEAD answers {head.status}, GET {get.status}" if head.status != get.status else None
    if get.status not in {200, 304}:
        return f"HEAD answers {head.status}, GET {get.status}"
    if head.status == get.status == 200 and _same_validators(head, get):
        return None
    return "HEAD sends other validators than GET" if head.has_validators else "HEAD sends no validators"


def _same_validators(head: HeadAnswer, get: HeadAnswer) -> bool:
    if head.etag or get.etag:
        return _weak(head.etag) == _weak(get.etag)
    return head.last_modified == get.last_modified


def _weak(etag: str | None) -> str | None:
    """Return an entity tag for the weak comparison (RFC 9110, section 8.8.3.2)."""
    return etag.removeprefix("W/") if etag else None
