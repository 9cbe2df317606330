"""Between records and database rows: column types that make any value storable, and the rows of records.

What sites send is hostile: control characters in an ETag, NUL and lone surrogates in a title, numbers of fifty
digits. The types make all of it storable, so that one page cannot fail a batch.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import BigInteger, Dialect, Float, Integer, LargeBinary, Text, TypeDecorator

from llmsspider.items import Link, LlmsEntry, compress, decompress
from llmsspider.store.records import PageRecord, PageState, Reading, RunRecord, SourceRecord, StoredPage

Row = dict[str, Any]

_CONTROLS = dict.fromkeys([*range(32), 127])


def storable(text: str) -> str:
    """The text without NUL (PostgreSQL refuses it) and lone surrogates (UTF-8 has no form for them)."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def to_json(value: object) -> bytes:
    """JSON of a value made of dicts, lists, strings, numbers, dates; lone surrogates are replaced."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(value, default=str, ensure_ascii=False).encode("utf-8", "replace")


class CleanText(TypeDecorator[str]):
    """Text, as `storable` gives it."""

    impl, cache_ok = Text, True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:  # noqa: D102
        return None if value is None else storable(value)


class HeaderValue(TypeDecorator[str]):
    """A header value safe to send back: no control characters; NULL when nothing is left."""

    impl, cache_ok = Text, True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:  # noqa: D102
        return (storable(value.translate(_CONTROLS)).strip() or None) if value else None


class SmallNumber(TypeDecorator[int]):
    """A number of 32 bits; NULL in place of one that has more."""

    impl, cache_ok, limit = Integer, True, 2**31 - 1

    def process_bind_param(self, value: int | None, _dialect: Dialect) -> int | None:  # noqa: D102
        return value if value is not None and -self.limit <= value <= self.limit else None


class BigNumber(SmallNumber):
    """The same of 64 bits."""

    impl, cache_ok, limit = BigInteger, True, 2**63 - 1


class Sha256(TypeDecorator[str]):
    """A SHA-256 in hex, kept as 32 bytes."""

    impl, cache_ok = LargeBinary, True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> bytes | None:  # noqa: D102
        return bytes.fromhex(value) if value else None

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> str | None:  # noqa: D102
        return None if value is None else value.hex()


class Json(TypeDecorator[Any]):
    """A value that JSON can hold, kept as its text; an llms.txt entry, too."""

    impl, cache_ok = Text, True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> str | None:  # noqa: D102
        if isinstance(value, LlmsEntry):
            value = {name: getattr(value, name) for name in LlmsEntry.__slots__}
        return None if value is None else to_json(value).decode()

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Any:  # noqa: D102
        return None if value is None else orjson.loads(value)


class Packed(TypeDecorator[Any]):
    """A value that JSON can hold, kept as one zstd frame of its text."""

    impl, cache_ok = LargeBinary, True

    def process_bind_param(self, value: Any, _dialect: Dialect) -> bytes:  # noqa: D102
        return compress(to_json(value))

    def process_result_value(self, value: bytes | None, _dialect: Dialect) -> Any:  # noqa: D102
        return unpacked(value)


def unpacked(value: bytes | None) -> Any:
    """What `Packed` was given; of a long list only when it is wanted."""
    return None if value is None else orjson.loads(decompress(value))


class Time(TypeDecorator[datetime]):
    """A moment, kept as seconds since the epoch."""

    impl, cache_ok = Float, True

    def process_bind_param(self, value: datetime | float | None, _dialect: Dialect) -> float | None:  # noqa: D102
        return value.timestamp() if isinstance(value, datetime) else value

    def process_result_value(self, value: float | None, _dialect: Dialect) -> datetime | None:  # noqa: D102
        return None if value is None else datetime.fromtimestamp(value, UTC)


_PAGE = frozenset(one.name for one in fields(PageRecord)) - {"id", "content", "links", "follow", "digest"}
_SOURCE = frozenset(one.name for one in fields(SourceRecord)) - {"status", "pages", "undelivered_since"}
_RUN = frozenset(one.name for one in fields(RunRecord)) - {"source", "lost"}
"""The fields of records that are columns of the same name."""


def page_row(record: PageRecord) -> Row:
    """Columns of `page` for a document, without its change and run; what is NULL has the value of another column."""
    row = {name: getattr(record, name) for name in _PAGE}
    row["key"], row["document_id"], row["headers"] = record.key, record.id, None
    row["moved_from"], row["extra"] = record.moved_from or None, record.extra or None
    row["fetched_url"] = None if record.fetched_url == record.url else record.fetched_url
    if record.validators_url == record.fetched_url:
        row["validators_url"] = None
    if record.source_hash == record.content_hash:
        row["source_hash"] = None
    return row


def reading_row(reading: Reading) -> Row:
    """Columns of `page` for what is no document, without its run."""
    empty: Row = dict.fromkeys(_PAGE)
    return empty | {
        "key": reading.key,
        "identity": reading.url,
        "url": reading.url,
        "accept": reading.accept,
        "etag": reading.etag,
        "last_modified": reading.last_modified,
        "headers": dict(reading.headers),
        "extractor_version": reading.read_by,
        "reason": reading.why,
        "document_id": "",
        "origin": "",
        "discovered_by": "",
        "depth": 0,
        "fetched_at": "",
        "seq": 0,
        "change": "",
        "gone": True,
    }


def page_record(row: Any) -> PageRecord:
    """The record of a row of `page` joined with `content` and `link` (either may be missing)."""
    values = {name: row[name] for name in _PAGE}
    values["fetched_url"] = row["fetched_url"] or row["url"]
    values["validators_url"] = row["validators_url"] or values["fetched_url"]
    values["source_hash"] = row["source_hash"] or row["content_hash"]
    values["moved_from"], values["extra"] = row["moved_from"] or [], row["extra"] or {}
    values["llms"] = entry(row["llms"])
    data = row.get("data")
    return PageRecord(
        **values,
        id=row["document_id"],
        content=None if data is None else decompress(data).decode("utf-8"),
        links=[Link(text, url) for text, url in unpacked(row.get("links")) or ()],
        follow=unpacked(row.get("follow")) or [],
    )


def stored_page(row: Any) -> StoredPage:
    """The record and the last change of a row that also has `run_id` (and `replayed`: its net change)."""
    change = row.get("replayed", row["change"])
    return StoredPage(page_record(row), row["seq"], change, row["run_id"] or "", row["reason"])


def entry(value: Row | None) -> LlmsEntry | None:
    """The llms.txt entry of a column of that name."""
    return LlmsEntry(**value) if value else None


def page_state(row: Any) -> PageState:
    """The state of a page from the columns of `reader.STATE`, in that order."""
    (
        *(key, url, fetched_url, validators_url, accept, etag, modified, raw, digest, version, origin, depth),
        has_end_tag,
        source_hash,
    ) = row
    fetched_url = fetched_url or url
    return PageState(
        key=key,
        url=url,
        fetched_url=fetched_url,
        validators_url=validators_url or fetched_url,
        accept=_shared(accept),
        etag=etag,
        last_modified=_shared(modified),
        raw_hash=raw,
        content_hash=digest,
        extractor_version=sys.intern(version),
        origin=cast("Any", sys.intern(origin)),
        depth=depth,
        has_end_tag=bool(has_end_tag),
        source_hash=source_hash,
    )


def _shared(value: str | None) -> str | None:
    return None if value is None else sys.intern(value)


def source_row(record: SourceRecord) -> Row:
    """Columns of `source` that a run may set."""
    return {name: getattr(record, name) for name in _SOURCE - {"created_at"}}


def source_record(row: Any) -> SourceRecord:
    """The record of a row of `source`; `status` and `pages` are filled by the caller."""
    return SourceRecord(**{name: row[name] for name in _SOURCE})


def run_row(record: RunRecord) -> Row:
    """Columns of `run`, without its source and what it takes for reached."""
    return {name: getattr(record, name) for name in _RUN}


def run_record(row: Any, source: str, *, lost: bool) -> RunRecord:
    """The record of a row of `run`."""
    return RunRecord(**{name: row[name] for name in _RUN}, source=source, lost=lost)
