"""The record of a page, what the store keeps of it and what its `Document` is made of; which pages a run has recorded.

`page_record` makes every record; `Records` adds what only pages of a response, of a full-text file or an index have.
`RecordedPages` writes each page of a run to the store once, as a document or as a tombstone. No Scrapy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from llmsspider.content import markdown
from llmsspider.crawl.bot_walls import has_end
from llmsspider.crawl.pages import with_valid_urls
from llmsspider.items import EXTRACTOR_VERSION, content_hash, raw_hash
from llmsspider.store import PageRecord
from llmsspider.web.loading import own_mark
from llmsspider.web.urls import document_id, identity

if TYPE_CHECKING:
    from llmsspider.crawl.known_pages import KnownPages
    from llmsspider.crawl.pages import PageResponse, PageResult
    from llmsspider.items import Change, DiscoveredBy, LlmsEntry, Origin, Page
    from llmsspider.site.discovered import FullText, LlmsFile
    from llmsspider.store import PageState, Store


def page_record(
    source: str,
    url: str,
    page: Page,
    *,
    fetched_url: str,
    body_hash: str,
    origin: Origin,
    by: DiscoveredBy,
    extractor_version: str,
    now: str,
    entry: LlmsEntry | None = None,
    title: str | None = None,
) -> PageRecord:
    """Return what the store keeps of any page."""
    meta = page.meta
    return PageRecord(
        id=document_id(source, url),
        identity=identity(url),
        url=url,
        fetched_url=fetched_url,
        title=meta.title or title or (entry.title if entry else None) or title_from_url(url),
        description=meta.description or (entry.description if entry else None),
        language=meta.language,
        content=page.markdown,
        raw_hash=body_hash,
        origin=origin,
        discovered_by=by,
        llms=entry,
        links=page.links,
        follow=page.follow,
        extractor_version=extractor_version,
        fetched_at=now,
        digest=page.digest,
    )


@dataclass(frozen=True, slots=True)
class Records:
    """Makes the records of one crawl's pages.

    Args:
        source: name of the source.
        converter: fingerprint of the converter (`Config.converter_fingerprint`).
    """

    source: str
    converter: str

    @property
    def extractor_version(self) -> str:
        """What content of this crawl is made with; stored content of another version is made again."""
        return f"{EXTRACTOR_VERSION}:{self.converter}"

    def of_response(
        self,
        answered: PageResponse,
        result: PageResult,
        *,
        depth: int,
        by: DiscoveredBy,
        entry: LlmsEntry | None = None,
    ) -> PageRecord:
        """Return the record of a page that was fetched: its depth, its validators and what its headers say of it."""
        headers = answered.headers
        tokens = headers.get("x-markdown-tokens", "")
        record = page_record(
            self.source,
            answered.page_url,
            result.page,
            fetched_url=answered.fetched_url,
            body_hash=raw_hash(answered.body),
            origin=result.origin,
            by=by,
            extractor_version=self.extractor_version,
            now=answered.fetched_at,
            entry=entry,
        )
        language = record.language or headers.get("content-language", "").partition(",")[0].strip() or None
        record.language, record.depth = language, depth
        record.status, record.mime_type = answered.status, answered.mime_type
        if answered.is_whole:
            record.etag, record.last_modified = headers.get("etag"), headers.get("last-modified")
        record.validators_url, record.accept = answered.fetched_url, answered.accept
        record.markdown_tokens = int(tokens) if tokens.isdigit() else None
        if answered.is_form_of(result.origin):
            record.has_end_tag = has_end(answered.body, answered.kind())
        return record

    def of_part(self, record: PageRecord, after: str, page: Page) -> PageRecord:
        """Return the record of a document that was made of the same body as another page; `after` follows its URL."""
        url = record.url + after
        part = page_record(
            self.source,
            url,
            with_valid_urls(page),
            fetched_url=record.fetched_url,
            body_hash=raw_hash(page.markdown.encode("utf-8", "surrogatepass")),
            origin=record.origin,
            by=record.discovered_by,
            extractor_version=self.extractor_version,
            now=record.fetched_at,
            entry=record.llms,
        )
        return replace(
            part,
            description=page.meta.description,
            language=record.language,
            depth=record.depth,
            status=record.status,
            mime_type=record.mime_type,
            validators_url=url,
        )

    def of_full_text(
        self,
        page: Page,
        raw_hash: str,
        *,
        url: str,
        title: str | None,
        file: FullText,
        entry: LlmsEntry | None,
    ) -> PageRecord:
        """Return the record of a page that a full-text file holds; the file's validators are not the page's."""
        record = page_record(
            self.source,
            url,
            page,
            fetched_url=file.url,
            body_hash=raw_hash,
            origin="llms-full",
            by="llms-full.txt",
            extractor_version=self.extractor_version,
            now=utc_now(),
            entry=entry,
            title=title,
        )
        record.status, record.mime_type = file.answer.status, file.answer.content_type
        return record

    def of_index(self, file: LlmsFile) -> PageRecord:
        """Return the record of an llms.txt that is a document itself: `follow=llms`, or no page of the site came.

        Its links are not followed: they lead to pages that such a crawl does not fetch.
        """
        record = page_record(
            self.source,
            file.url,
            with_valid_urls(markdown.read(file.text, file.url)),
            fetched_url=file.url,
            body_hash=raw_hash(file.text.encode("utf-8", "surrogatepass")),
            origin="llms-txt",
            by="llms.txt",
            extractor_version=self.extractor_version,
            now=utc_now(),
        )
        title = file.title or record.title
        return replace(record, title=title, description=file.summary, language=None, follow=[], status=200)


def utc_now() -> str:
    """Return the time as `Document.fetched_at` has it: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def title_from_url(url: str) -> str:
    """Return the last path segment in words, or the host.

    >>> title_from_url("https://e.com/guide/getting-started.html"), title_from_url("https://e.com/")
    ('getting started', 'e.com')
    """
    parts = urlsplit(url)
    name = unquote(parts.path.rstrip("/").rpartition("/")[2])
    name = name.removesuffix(".html").removesuffix(".htm").removesuffix(".md")
    return name.replace("-", " ").replace("_", " ").strip() or parts.netloc


AT_ONCE = 16
"""Maximum number of stored pages that are expected, and of those that are in memory."""


class RecordedPages:
    """Writes the pages of one run to the store, and compares them with what is stored.

    Args:
        known: the pages that were stored before the run.
        store: where they are; None for a run that stores nothing.
        own_code: pipelines of the user may alter documents.
    """

    def __init__(self, known: KnownPages, store: Store | None = None, *, own_code: bool = False):
        self._known = known
        self._stored = store
        self._own_code = own_code
        self.keys: set[bytes] = set()
        """The pages that have a document or a tombstone in this run."""
        self._expected: dict[bytes, None] = {}
        self._read: dict[bytes, PageRecord | None] = {}

    @property
    def _store(self) -> Store:
        if self._stored is None:
            raise RuntimeError("the run is not open")
        return self._stored

    def is_first(self, record: PageRecord) -> bool:
        """Say whether the page has neither a document nor a tombstone in this run yet."""
        return record.key not in self.keys

    def expect(self, key: bytes) -> None:
        """Note that a stored page is being requested, so that its answer may say that it is unchanged."""
        self._expected[key] = None
        _keep_latest(self._expected)

    def forget(self, key: bytes) -> None:
        """Note that a stored page is not wanted: its answer is another."""
        self._expected.pop(key, None)
        self._read.pop(key, None)

    def load(self, key: bytes) -> PageRecord | None:
        """Return a stored page as this run left it, None where it is not stored; and read those expected with it.

        A SELECT for each page would cost more than what is done with the page.
        """
        if key not in self._read:
            keys = list({key: None, **self._expected})
            self._expected.clear()
            self._read.update(zip(keys, self._store.load_pages(keys), strict=True))
        record = self._read.pop(key)
        _keep_latest(self._read)
        return record if record is not None and self.is_first(record) else self._store.load_page(key)

    def is_stored(self, record: PageRecord) -> bool:
        """Say whether a page that was read anew has the text that is stored of it."""
        state = self._known.state(record.key)
        return state is not None and state.markdown_hash == bytes.fromhex(content_hash(record.content or ""))

    def delivered_before(self, record: PageRecord) -> PageRecord | None:
        """Return what is stored of a page whose source is as it was, where pipelines may make another document of it.

        None where the document is to be taken as it is: another source, other pipelines, or `full=true`.
        """
        state = self._known.states.get(record.key)
        is_same = (
            state is not None
            and self._own_code
            and self._known.trusted
            and state.markdown_hash == bytes.fromhex(record.source_hash or "")
            and state.extractor_version == record.extractor_version
        )
        return self._store.load_page(record.key) if is_same else None

    def confirm(self, key: bytes) -> None:
        """Confirm a stored page that has no document in this run, so that a run which continues this one has it."""
        state = self._known.state(key)
        record = self._store.load_page(state.key) if state is not None else None
        if record is not None and self.is_first(record):
            self.write(record, confirmed=True)

    def write(self, record: PageRecord, *, confirmed: bool) -> tuple[Change, int | None]:
        """Write a page to the store.

        Args:
            record: the page.
            confirmed: it is as it was stored: a 304, an equal body, or in place of a page that failed.

        Returns:
            Its change, and the number of the change; None for a page that did not change.

        Raises:
            RuntimeError: the page has a document in this run.
            StoreError: the store takes no more.
        """
        self._note_document(record)
        key = record.key
        if self._stored is None:
            return "new", None
        if confirmed:
            self._store.touch_page(record)
            return "unchanged", None
        state = self._known.states.get(key)
        is_same = state is not None and state.content_hash == bytes.fromhex(record.content_hash or "")
        if state is not None and is_same and not self._is_altered(record, state):
            self._store.save_page(record, "unchanged")
            return "unchanged", None
        change: Change = "new" if state is None else "changed"
        return change, self._store.save_page(record, change)

    def delete(self, record: PageRecord) -> int:
        """Make a page a tombstone in the store, and return the number of the change; raises as `write` does."""
        self._note_document(record)
        return self._store.delete_page(record.key, self._known.reasons.get(record.key, "deleted"))

    def _note_document(self, record: PageRecord) -> None:
        """Note that the page has its one document of this run; raises `RuntimeError` for a second one."""
        if not self.is_first(record):
            raise RuntimeError(f"{record.url} has a document in this run")
        self.keys.add(record.key)

    def _is_altered(self, record: PageRecord, state: PageState) -> bool:
        """Say whether pipelines made another document of a page whose content is the same."""
        if not self._own_code and not own_mark(state.extractor_version):
            return False
        stored = self._store.load_page(record.key)
        if stored is None or stored.extra != record.extra:
            return stored is not None
        with_others = state.extractor_version != record.extractor_version
        return with_others and (stored.title, stored.description) != (record.title, record.description)


def _keep_latest(pages: dict[bytes, None] | dict[bytes, PageRecord | None]) -> None:
    while len(pages) > AT_ONCE:
        del pages[next(iter(pages))]
