"""What was known of a site before this run, and what became of it: the rules of a recrawl. No Scrapy here."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from llmsspider.crawl.bot_walls import breaks_off
from llmsspider.items import content_hash
from llmsspider.store import PageState, Reading
from llmsspider.web.addresses import hostname
from llmsspider.web.page_forms import HTML_TYPES
from llmsspider.web.urls import host

if TYPE_CHECKING:
    from llmsspider.store import PageRecord, Store


# Fetches without validators now and then, and the hosts whose 304 was false. Pure.
# A server may say 304 for a page that has changed: a constant `Last-Modified`, an ETag made of the size. A false 304
# looks like a true one, so each run fetches a share of the pages whole. A host that answers one of
# them with another text under validators that say "unchanged" is not believed any more: no validators are sent to it.


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


# What was known of a site before this run, and what became of it: the rules of a recrawl. No Scrapy here.
# A page is requested again with its validators; a body that is the same is not converted again. What was stored but not
# reached is decided on at the end, and nothing is deleted in doubt (docs/explanation/incremental.md).

PageOutcome = Literal["gone", "moved", "failed", "dropped", "kept", "unlinked"]
"""What became of a stored page that this run did not confirm: `gone` 404 or 410, `moved` redirected elsewhere,
`failed` failed this time, `dropped` answers, but is no documentation any more, `kept` could not be verified,
`unlinked` answers, but nothing links to it."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def clean_validator(value: str | None) -> str | None:
    """Return a stored validator as it may be sent: without control characters, None when nothing is left."""
    cleaned = _CONTROL.sub("", value or "").strip()
    return cleaned or None


def validators(etag: str | None, last_modified: str | None) -> dict[str, str]:
    """Return the request headers that ask for a body only if it is another one (RFC 9110, section 13.1).

    A date in the future says nothing of what has changed since, so none is sent.
    """
    headers = {
        "If-None-Match": clean_validator(etag),
        "If-Modified-Since": _past(clean_validator(last_modified)),
    }
    return {name: value for name, value in headers.items() if value}


def _past(date: str | None) -> str | None:
    """Return an HTTP date unless it lies in the future; what is no date is left to the server that sent it."""
    moment = _moment(date) if date else None
    return None if moment is not None and moment > time.time() else date


@lru_cache(maxsize=256)
def _moment(date: str) -> float | None:
    """Return the seconds since 1970 of an HTTP date, which many pages of a site share; None for what is no date."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


KEPT_HEADERS = (
    "content-type",
    "content-language",
    "link",
    "x-robots-tag",
    "tdm-reservation",
    "content-signal",
    "x-markdown-tokens",
)
"""Headers of a response that describe its body; no others are stored."""

_TEXT_FILES = ("text/plain", "text/markdown")
"""Types of llms files; other formats say themselves that they are not whole."""


@dataclass(slots=True)
class KnownPages:
    """The stored pages of a source, by key, and what this run learned of those it did not confirm.

    What is no document (llms files, sitemaps, robots.txt, pages that were filtered or read for their links) is looked
    up in the store, by URL, representation (`Accept`), and what read it.

    Args:
        states: the compact state of each stored page.
        aliases: key of another spelling to the key of its page.
        extractor_version: what stored content must be made with to be used again.
        trusted: False ignores hashes and validators (`full=true`).
        full_check: to which URLs validators are sent in this run.
        store: where what is no document is kept; None keeps none.
    """

    states: dict[bytes, PageState] = field(default_factory=dict)
    aliases: dict[bytes, bytes] = field(default_factory=dict)
    extractor_version: str = ""
    trusted: bool = True
    full_check: FullCheck = field(default_factory=FullCheck)
    store: Store | None = None
    outcomes: dict[bytes, PageOutcome] = field(default_factory=dict)
    reasons: dict[bytes, str] = field(default_factory=dict)
    targets: dict[bytes, bytes] = field(default_factory=dict)
    """Where pages moved to, by key."""
    elsewhere_for_now: set[bytes] = field(default_factory=set)
    """Those of them whose redirect was not one for good."""
    moved_from: dict[bytes, list[str]] = field(default_factory=dict)
    """The former addresses of pages, by key: as stored, and as this run learns them."""
    _by_url: dict[str, bytes] | None = None
    _hosts: frozenset[str | None] | None = None

    def state(self, key: bytes) -> PageState | None:
        """Return the state of a stored page, by its key or the key of another spelling."""
        return self.states.get(self.aliases.get(key, key))

    def may_hold(self, url: str) -> bool:
        """Say whether the page at a URL may be stored, by its host alone: the key of a link to another site costs more.

        Other spellings are known by their keys only, so where there are some any page may be stored.
        """
        if self.aliases or not self.states:
            return bool(self.states)
        if self._hosts is None:
            self._hosts = frozenset(hostname(state.url) for state in self.states.values())
        return hostname(url) in self._hosts

    def conditional_headers(
        self, url: str, accept: str | None, *, read_by: str | None = None
    ) -> dict[str, str]:
        """Return `If-None-Match` and `If-Modified-Since` for exactly this URL and representation; often empty.

        A 304 brings no body, so what is stored has to be of use as it is: a document that the extractor of this run
        made, or what was read of a URL that is no document, in the same way.

        Args:
            url: the URL of the request.
            accept: its `Accept` header.
            read_by: how what is no document is read (`store.Reading.read_by`), "" for an answer that is wanted as it
                came; None where only a document is of use.
        """
        if not self.trusted or not self.full_check.sends_validators(url):
            return {}
        found: PageState | Reading | None = self.validated(url) if read_by != "" else None
        if isinstance(found, PageState):
            is_made = found.content_hash is not None and found.extractor_version == self.extractor_version
            is_of_use = is_made and (found.accept is None or accept is None or found.accept == accept)
            return validators(found.etag, found.last_modified) if is_of_use else {}
        if read_by is not None and self.store is not None:
            found = self.store.reading(Reading(url, accept, read_by=read_by).key, with_body=False)
        return validators(found.etag, found.last_modified) if found else {}

    def is_false(self, record: PageRecord, headers: Mapping[str, str]) -> bool:
        """Say whether a page has another text than stored under validators that say it has not.

        Args:
            record: the page as it is now.
            headers: those of its answer, with lower-case names.
        """
        state = self.state(record.key)
        return (
            state is not None
            and state.raw_hash is not None
            and state.validators_url == record.fetched_url
            and state.accept == record.accept
            and state.extractor_version == record.extractor_version
            and state.raw_hash != bytes.fromhex(record.raw_hash or "")
            and state.markdown_hash != bytes.fromhex(content_hash(record.content or ""))
            and says_unchanged(state.etag, state.last_modified, headers)
        )

    def validated(self, url: str) -> PageState | None:
        """Return the page whose validators were sent to this URL: what a 304 stands for."""
        return self.states.get(self._keys().get(url, b""))

    def same_body(self, key: bytes, fetched_url: str, raw_hash: str) -> bool:
        """Say whether a body is the one the stored content was made from, by the same extractor."""
        state = self.state(key)
        return (
            self.trusted
            and state is not None
            and state.content_hash is not None
            and state.raw_hash == bytes.fromhex(raw_hash)
            and state.fetched_url == fetched_url
            and state.extractor_version == self.extractor_version
        )

    def moved(self, key: bytes, target: bytes, *, for_good: bool = True) -> None:
        """Note that a stored page is now the one with the key `target`, by a redirect for good or for now."""
        self.record_outcome(key, "moved")
        key, target = self.aliases.get(key, key), self.aliases.get(target, target)
        if key in self.states and not for_good:
            self.elsewhere_for_now.add(key)
        if key in self.states and key != target:
            self.targets[key] = target
            former = self.moved_from.setdefault(target, [])
            former += [
                url for url in (*self.moved_from.get(key, ()), self.states[key].url) if url not in former
            ]

    def stays(self, key: bytes, reason: str) -> None:
        """Record that a stored page is kept after all, wherever it redirects to."""
        self.record_outcome(key, "kept", reason)
        if (target := self.targets.get(key)) is not None:
            self.moved_from[target].remove(self.states[key].url)

    def record_outcome(self, key: bytes, outcome: PageOutcome, reason: str = "") -> None:
        """Record what became of a stored page; pages that are not stored are ignored."""
        key = self.aliases.get(key, key)
        if key in self.states:
            self.outcomes[key] = outcome
            self.reasons[key] = reason or outcome

    def _keys(self) -> dict[str, bytes]:
        if self._by_url is None:
            self._by_url = {
                state.validators_url: key for key, state in self.states.items() if state.origin != "llms-full"
            }
        return self._by_url

    # What is no document

    def reading(self, url: str, accept: str | None, *, read_by: str = "") -> Reading | None:
        """Return what was read of a URL that is no document, which a 304 stands for, or None."""
        if self.store is None:
            return None
        found = self.store.reading(Reading(url, accept, read_by=read_by).key)
        if found is not None:
            self.store.use_reading(found.key)
        return found

    def keep_reading(self, reading: Reading) -> None:
        """Store what is no document, when it has validators to ask with again; what was read of it in any case."""
        etag, modified = (clean_validator(reading.headers.get(name)) for name in ("etag", "last-modified"))
        if self.store is not None and (etag or modified or reading.read_by):
            kept = {name: reading.headers[name] for name in KEPT_HEADERS if name in reading.headers}
            self.store.save_reading(replace(reading, etag=etag, last_modified=modified, headers=kept))

    def is_false_answer(self, answer: Reading) -> bool:
        """Say whether an answer is another one than stored under validators that say it is not.

        HTML is not compared: what a page shows besides its text may be new each time.
        """
        if self.store is None or answer.media_type in HTML_TYPES:
            return False
        found = self.store.reading(answer.key)
        return (
            found is not None
            and found.body != answer.body
            and says_unchanged(found.etag, found.last_modified, answer.headers)
        )

    def breaks_off(self, answer: Reading) -> bool:
        """Say whether a text file ends where the stored one went on, though it came as a whole one."""
        if self.store is None or answer.media_type not in _TEXT_FILES:
            return False
        found = self.store.reading(answer.key)
        if found is None or len(answer.body) >= len(found.body):
            return False
        before, now = found.body.decode("utf-8", "replace"), answer.body.decode("utf-8", "replace")
        return (before.endswith("\n") and not now.endswith("\n")) or breaks_off(before, now)
