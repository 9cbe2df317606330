"""The stored pages of a source: what was known before this run, and what this run writes of them.
No Scrapy.

A page is requested again with its validators; a body that is the same is not converted again. What
was stored but not reached is decided on at the end, and nothing is deleted in doubt
(docs/explanation/incremental.md).
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit

from llmsspider.content.links import without_built_names, without_own_versions
from llmsspider.crawler.pages import breaks_off
from llmsspider.diff.kinds import change_kinds
from llmsspider.diff.noise import without_stamps
from llmsspider.errors import ConversionError
from llmsspider.items import Change, ChangeKind
from llmsspider.store import LINKS, PageRecord, PageState, Reading, Store
from llmsspider.web.addresses import hostname
from llmsspider.web.loading import own_mark
from llmsspider.web.outcomes import clean_validator, says_unchanged, validators
from llmsspider.web.page_forms import HTML_TYPES
from llmsspider.web.urls import host, page_key

FULL_CHECK_RUNS = 14
"""Runs in which every page is fetched once without validators, 0 for never: two weeks of nights.

A server may say 304 for a page that has changed: a constant `Last-Modified`, an ETag made of the
size. So each run fetches a share of the pages whole. A host that answers one of them with another
text under validators that say "unchanged" is not believed any more: no validators are sent to it.
"""

PageOutcome = Literal["gone", "moved", "failed", "dropped", "kept", "unlinked"]
"""What became of a stored page that this run did not confirm: `gone` 404 or 410, `moved` redirected
elsewhere,
`failed` failed this time, `dropped` answers, but is no documentation any more, `kept` could not be
verified,
`unlinked` answers, but nothing links to it."""


KEPT_HEADERS = (
    "content-type", "content-language", "link", "x-robots-tag", "tdm-reservation", "tdm-policy", "content-signal",
    "content-usage", "x-markdown-tokens",
)  # fmt: skip
"""Headers of a response that describe its body; no others are stored."""


@dataclass
class KnownPages:
    """The stored pages of a source, by key, and what this run learned of those it did not confirm.

    What is no document is looked up in the store, by URL, representation (`Accept`), and what read
    it.
    """

    # the compact state of each stored page
    states: dict[bytes, PageState] = field(default_factory=dict)
    # key of another spelling to that of its page
    aliases: dict[bytes, bytes] = field(default_factory=dict)
    extractor_version: str = ""  # what stored content must be made with to be used again
    trusted: bool = True  # False ignores hashes and validators (`full=true`)
    number: int = 0  # of the run
    unbelieved: set[str] = field(default_factory=set)  # hosts whose 304 was false
    store: Store | None = None  # None before it is open, and once it is closed
    keeps_readings: bool = True  # whether what is no document is kept there
    outcomes: dict[bytes, PageOutcome] = field(default_factory=dict)
    reasons: dict[bytes, str] = field(default_factory=dict)
    targets: dict[bytes, bytes] = field(default_factory=dict)  # where pages moved to, by key
    arrivals: set[bytes] = field(default_factory=set)
    """The keys of pages that others moved to, in this run or, in doubt, in the one before."""
    elsewhere_for_now: set[bytes] = field(default_factory=set)
    """Those of them whose redirect was not one for good."""
    has_its_text: set[bytes] = field(default_factory=set)
    """Those of them whose text is in the page that they moved to."""
    canonical_elsewhere: set[bytes] = field(default_factory=set)
    """Those of them that answer as ever, and name another address as theirs."""
    moved_from: dict[bytes, list[str]] = field(default_factory=dict)
    """The former addresses of pages, by key: as stored, and as this run learns them."""

    def open(self, store: Store, number: int, *, keeps_readings: bool) -> None:
        """Take over what is stored, in the run of this number; what is no document is looked up
        and kept where the store may have it.
        """
        self.states = store.page_states()
        self.aliases = store.aliases()
        self.moved_from = store.moved_from()
        self.number = number
        self.store = store
        self.keeps_readings = keeps_readings

    @property
    def stored(self) -> Store:
        """The open store."""
        if self.store is None:
            raise RuntimeError("the run is not open")
        return self.store

    def flush(self) -> None:
        """Commit all that was written so far, so that another connection to the store sees it."""
        if self.store is not None:
            self.store.flush()

    def load(self, key: bytes) -> PageRecord | None:
        """Return a document that is stored, of this run too, None where there is none."""
        return self.store.load_page(key) if self.store is not None else None

    def linking(self, to: Collection[bytes]) -> set[bytes]:
        """Return the keys of the stored pages whose text links to one of others."""
        pages = self.store.load_pages([*self.states], LINKS) if self.store and to else ()
        return {
            page.key
            for page in pages
            if page is not None and any(page_key(link.url) in to for link in page.links)
        }

    def title(self, key: bytes) -> str:
        """Return the title of a page as it was stored before this run, or an empty text."""
        return (self.store.title(key) if self.store is not None else None) or ""

    def state(self, key: bytes) -> PageState | None:
        """Return the state of a stored page, by its key or the key of another spelling."""
        return self.states.get(self.aliases.get(key, key))

    def at(self, url: str) -> PageState | None:
        """Return the state of the stored page at an address."""
        return self.state(page_key(url))

    def may_hold(self, url: str) -> bool:
        """Say whether the page at a URL may be stored, by its host alone: the key of a link
        elsewhere costs more.
        """
        if self.aliases or not self.states:
            return bool(self.states)
        return hostname(url) in self._hosts

    @cached_property
    def _hosts(self) -> frozenset[str | None]:
        return frozenset(hostname(state.url) for state in self.states.values())

    @cached_property
    def _by_url(self) -> dict[str, bytes]:
        states = self.states.items()
        return {state.validators_url: key for key, state in states if state.origin != "llms-full"}

    def sends_validators(self, url: str, *, is_page: bool = True) -> bool:
        """Say whether validators are sent to this URL in this run (`FULL_CHECK_RUNS`).

        Lists and full-text files are large, and few: they are not fetched whole again in the first
        runs, in which pages show whether the host's 304 is true.
        """
        parts = urlsplit(url)
        digest = hashlib.sha256(
            f"{parts.path}?{parts.query}".encode("utf-8", "surrogatepass")
        ).digest()
        is_due = (
            FULL_CHECK_RUNS
            and (is_page or self.number > FULL_CHECK_RUNS)
            and (int.from_bytes(digest[:4]) + self.number) % FULL_CHECK_RUNS == 0
        )
        return not is_due and not (self.unbelieved and host(url) in self.unbelieved)

    def conditional_headers(
        self, url: str, accept: str | None, *, read_by: str | None = None
    ) -> dict[str, str]:
        """Return `If-None-Match` and `If-Modified-Since` for exactly this URL and representation;
        often empty.

        None are sent where the stored document cannot be used: a 304 has no body. `read_by` says
        what is wanted of a URL that is no document (`store.Reading`): "" for an answer as it came,
        None where only a document is of use.
        """
        sends = self.sends_validators(url, is_page=read_by != "")
        if not self.trusted or self.number == 1 or not sends:
            return {}
        page = self.validated(url) if read_by != "" else None
        if page is not None:
            is_form = page.accept is None or accept is None or page.accept == accept
            return (
                validators(page.etag, page.last_modified)
                if is_form and self.is_usable(page)
                else {}
            )
        if read_by is None:
            return {}
        found = self._stored(Reading(url, accept, read_by=read_by), with_body=False)
        return validators(found.etag, found.last_modified) if found else {}

    def is_usable(self, state: PageState) -> bool:
        """Say whether a stored page is a document of the extractor of this run."""
        return state.content_hash is not None and state.extractor_version == self.extractor_version

    def has_reading(self, url: str, accept: str | None, read_by: str) -> bool:
        """Say whether what was read of a URL that is no document is stored."""
        return self._stored(Reading(url, accept, read_by=read_by), with_body=False) is not None

    def is_false(self, record: PageRecord, headers: Mapping[str, str]) -> bool:
        """Say whether a page has another text than stored under validators (`headers` of its
        answer) that deny it.
        """
        state = self.state(record.key)
        return (
            state is not None
            and state.raw_hash is not None
            and state.validators_url == record.fetched_url
            and state.accept == record.accept
            and state.extractor_version == record.extractor_version
            and state.raw_hash != bytes.fromhex(record.raw_hash or "")
            and not self.has_text(record)
            and says_unchanged(state.etag, state.last_modified, headers)
        )

    def has_text(self, record: PageRecord) -> bool:
        """Say whether the text of a page that was read is the stored one."""
        state = self.state(record.key)
        return state is not None and state.markdown_hash == bytes.fromhex(record.hash_of_content)

    def validated(self, url: str) -> PageState | None:
        """Return the page whose validators were sent to this URL: what a 304 stands for."""
        return self.states.get(self._by_url.get(url, b""))

    def same_body(self, key: bytes, fetched_url: str, raw_hash: str) -> bool:
        """Say whether a body is the one the stored content was made from, by the same extractor."""
        state = self.state(key)
        return (
            self.trusted
            and state is not None
            and self.is_usable(state)
            and state.raw_hash == bytes.fromhex(raw_hash)
            and state.fetched_url == fetched_url
        )

    def moved(self, key: bytes, target: bytes, *, for_good: bool = True) -> None:
        """Note that a stored page is now the one with the key `target`, by a redirect for good or
        for now.
        """
        self.record_outcome(key, "moved")
        key = self.aliases.get(key, key)
        target = self.aliases.get(target, target)
        if key in self.states and not for_good:
            self.elsewhere_for_now.add(key)
        if key in self.states and key != target:
            self.targets[key] = target
            self.arrivals.add(target)
            self._keep_former(target, [*self.moved_from.get(key, ()), self.states[key].url])

    def _keep_former(self, key: bytes, urls: Iterable[str]) -> None:
        former = self.moved_from.setdefault(key, [])
        former += [url for url in urls if url not in former]

    def is_lost(self, key: bytes) -> bool:
        """Say whether a stored page is gone, or nothing links to it any more."""
        return self.outcomes.get(key) in {"gone", "unlinked"}

    def follow_redirects(self, final: Callable[[bytes], bytes]) -> None:
        """Take pages to have moved where the address that they name redirects in the end."""
        for key, target in self.targets.items():
            end = final(target)
            if end in {target, key}:
                continue
            self.targets[key] = end
            self._keep_former(end, self.moved_from.pop(target, ()))

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

    # What is no document

    def _stored(self, wanted: Reading, *, with_body: bool = True) -> Reading | None:
        """Return what is stored of a reading by an earlier run; the first has none."""
        if self.store is None or not self.keeps_readings or self.number == 1:
            return None
        return self.store.reading(wanted.key, with_body=with_body)

    def reading(self, url: str, accept: str | None, *, read_by: str = "") -> Reading | None:
        """Return what was read of a URL that is no document, which a 304 stands for, or None."""
        found = self._stored(Reading(url, accept, read_by=read_by))
        if found is not None and self.store is not None:
            self.store.use_reading(found.key)
        return found

    def keep_reading(self, reading: Reading) -> None:
        """Store what is no document, when it has validators to ask with again; what was read of it
        in any case.
        """
        etag, modified = map(clean_validator, map(reading.headers.get, ("etag", "last-modified")))
        if self.store is not None and self.keeps_readings and (etag or modified or reading.read_by):
            kept = {name: reading.headers[name] for name in KEPT_HEADERS if name in reading.headers}
            self.store.save_reading(
                replace(reading, etag=etag, last_modified=modified, headers=kept)
            )

    def is_false_answer(self, answer: Reading) -> bool:
        """Say whether an answer, that is no HTML, is another one than stored under validators that
        say it is not.
        """
        found = self._stored(answer) if answer.media_type not in HTML_TYPES else None
        return (
            found is not None
            and found.body != answer.body
            and says_unchanged(found.etag, found.last_modified, answer.headers)
        )

    def breaks_off(self, answer: Reading) -> bool:
        """Say whether a text file ends where the stored one went on, though it came as a whole one."""
        if answer.media_type not in {"text/plain", "text/markdown"}:
            return False  # other formats show that they are not whole
        found = self._stored(answer)
        if found is None or len(answer.body) >= len(found.body):
            return False
        before = found.body.decode("utf-8", "replace")
        now = answer.body.decode("utf-8", "replace")
        if now == before.rstrip():  # all that it lacks is the end of its last line
            return False
        return not now.endswith("\n") and (before.endswith("\n") or breaks_off(before, now))


class RecordedPages:
    """Writes the pages of one run to the store, each once, and compares them with what is stored.

    Without a store nothing is written. `own_code` says that pipelines of the user may alter
    documents.
    """

    def __init__(self, known: KnownPages, *, own_code: bool = False):
        self._known = known
        self._own_code = own_code
        self.writes = False  # whether pages are stored
        self.keys: set[bytes] = set()  # the pages that have a document or a tombstone in this run
        # pages that say the same in a better form: that is no change
        self.said_before: set[bytes] = set()
        self.written: dict[bytes, tuple[str, Change, list[ChangeKind]]] = {}
        """The URLs of those that are new or changed, and of which kinds the changes are."""

    @property
    def only_links(self) -> set[bytes]:
        """The keys of the pages where nothing changed but the targets of links."""
        return {key for key, (*_, kinds) in self.written.items() if kinds == ["addresses"]}

    def is_first(self, record: PageRecord) -> bool:
        """Say whether the page has neither a document nor a tombstone in this run yet."""
        return record.key not in self.keys

    def delivered_before(self, record: PageRecord) -> PageRecord | None:
        """Return what is stored of a page whose source is as it was, where pipelines may make
        another document of it.

        None where the document is to be taken as it is: another source, other pipelines, or
        `full=true`.
        """
        state = self._known.states.get(record.key)
        is_same = (
            state is not None
            and self._own_code
            and self._known.trusted
            and state.markdown_hash == bytes.fromhex(record.source_hash or "")
            and state.extractor_version == record.extractor_version
        )
        return self._known.load(record.key) if is_same else None

    def confirm(self, key: bytes) -> None:
        """Confirm a stored page that has no document in this run, so that a run which continues
        this one has it.
        """
        state = self._known.state(key)
        record = self._known.load(state.key) if state is not None else None
        if record is not None and self.is_first(record):
            self.write(record, confirmed=True)

    def write(self, record: PageRecord, *, confirmed: bool) -> tuple[Change, int | None]:
        """Write a page to the store; return its change, and the number of that, None for a page
        that did not change.

        It is `confirmed` where it is as it was stored. `change_kinds` of one that changed is set.
        Raises `StoreError`.
        """
        self._note_document(record)
        if not self.writes:
            return "new", None
        store = self._known.stored
        if confirmed:
            store.touch_page(record)
            return "unchanged", None
        state = self._known.states.get(record.key)
        change: Change = "new"
        if state is not None:
            change = "changed"
            before = self._compared(record, state)
            if before is None:
                store.save_page(record, "unchanged")
                return "unchanged", None
            with suppress(ConversionError):  # the parser failed
                record.change_kinds = change_kinds(before.text, record.text)
        if record.origin != "llms-full":
            self.written[record.key] = record.url, change, record.change_kinds
        return change, store.save_page(record, change)

    def delete(self, record: PageRecord) -> int:
        """Make a page a tombstone in the store, and return the number of the change; raises as
        `write` does.
        """
        self._note_document(record)
        reason = self._known.reasons.get(record.key, "deleted")
        return self._known.stored.delete_page(record.key, reason)

    def _note_document(self, record: PageRecord) -> None:
        """Note that the page has its one document of this run; raises `RuntimeError` for a second
        one.
        """
        if not self.is_first(record):
            raise RuntimeError(f"{record.url} has a document in this run")
        self.keys.add(record.key)

    def _compared(self, record: PageRecord, state: PageState) -> PageRecord | None:
        """Return what is stored of a page that changed; None for one that did not.

        It did not where its content is the same, names of built files aside, unless pipelines made
        another document.
        """
        is_same = record.key in self.said_before or state.content_hash == bytes.fromhex(
            record.content_hash or ""
        )
        if is_same and not (self._own_code or own_mark(state.extractor_version)):
            return None
        stored = self._known.load(record.key)
        if stored is None:
            return (
                None
                if is_same
                else PageRecord(record.id, record.identity, record.url, record.fetched_url)
            )
        own = host(record.url)
        before, now = (
            without_stamps(without_own_versions(without_built_names(one.content), own))
            for one in (stored, record)
        )
        if not is_same and before != now:
            return stored
        is_other = state.extractor_version != record.extractor_version
        retitled = is_other and (stored.title, stored.description) != (
            record.title,
            record.description,
        )
        return stored if retitled or stored.extra != record.extra else None
