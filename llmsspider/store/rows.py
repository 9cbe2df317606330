"""Between records and database rows: columns, compression, JSON, text and numbers that a database can hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import orjson
from sqlalchemy import BigInteger, Column, Integer, Text

from llmsspider.items import Link, LlmsEntry, compress, decompress
from llmsspider.store.records import (
    FilteredUrl,
    Json,
    Outline,
    PageError,
    PageRecord,
    PageState,
    Resource,
    RunRecord,
    SourceRecord,
    StoredPage,
    Touch,
    Validators,
)
from llmsspider.store.schema import page

# Values that a database can hold, whatever a site sent: compression, JSON, hashes, text, numbers.
# What sites send is hostile: control characters in an ETag, NUL and lone surrogates in a title, numbers of fifty
# digits. All of it is made storable here, so that one page cannot fail a batch.

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
"""The largest numbers of the two kinds of integer columns."""
_CONTROLS = dict.fromkeys([*range(32), 127])


def storable(text: str) -> str:
    """The text without NUL (PostgreSQL refuses it) and lone surrogates (UTF-8 has no form for them)."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def validator(value: str | None) -> str | None:
    """A header value safe to send back: no control characters; None when nothing is left."""
    return (storable(value.translate(_CONTROLS)).strip() or None) if value else None


def dump(value: object) -> str:
    """JSON text of a value made of dicts, lists, strings, numbers, dates."""
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def load(value: str) -> Json:
    """The object that `dump` was given."""
    return cast("Json", orjson.loads(value))


def json_array(values: Sequence[Any]) -> bytes:
    """A JSON array of strings or pairs of strings; lone surrogates are replaced where there are any."""
    try:
        return orjson.dumps(values)
    except TypeError:
        clean = [
            storable(value) if isinstance(value, str) else tuple(map(storable, value)) for value in values
        ]
        return orjson.dumps(clean)


def storable_or_none(value: str | None) -> str | None:
    """The text as `storable` gives it; None stays None."""
    return None if value is None else storable(value)


def digest(value: str | None) -> bytes | None:
    """The 32 bytes of a SHA-256 in hex."""
    return bytes.fromhex(value) if value else None


def hex_digest(value: bytes | None) -> str | None:
    """The hex that `digest` was given."""
    return bytes(value).hex() if value is not None else None


def bounded(value: int | None, limit: int) -> int | None:
    """The number where a column holds it (`INT32_MAX`, `INT64_MAX`), else None."""
    return value if value is not None and -limit <= value <= limit else None


# --- records to rows and back ---

Row = dict[str, Any]

_CONVERTED = frozenset(
    {
        *(
            "id",
            "fetched_url",
            "content",
            "content_hash",
            "raw_hash",
            "source_hash",
            "llms",
            "links",
            "follow",
        ),
        *("etag", "last_modified", "validators_url", "moved_from", "extra", "digest"),
    }
)
"""Fields of a record that are stored in another form or not at all; every other field is a column of its name."""


def _copy_of(column: Column[Any]) -> Callable[[Any], Any]:
    """What makes a value of a field one that its column can hold."""
    if isinstance(column.type, Text):
        return storable_or_none
    if isinstance(column.type, Integer):
        return partial(bounded, limit=INT64_MAX if isinstance(column.type, BigInteger) else INT32_MAX)
    return _unchanged


def _unchanged(value: Any) -> Any:
    return value


_COPIED = {
    field.name: _copy_of(page.c[field.name]) for field in fields(PageRecord) if field.name not in _CONVERTED
}


def page_row(record: PageRecord) -> Row:
    """Columns of `page` for a record, without its change and run."""
    return {name: copy(getattr(record, name)) for name, copy in _COPIED.items()} | {
        "key": record.key,
        "document_id": record.id,
        "fetched_url": None if record.fetched_url == record.url else storable(record.fetched_url),
        "content_hash": digest(record.content_hash),
        "raw_hash": digest(record.raw_hash),
        "llms": _llms(record.llms),
        "etag": validator(record.etag),
        "last_modified": validator(record.last_modified),
        "validators_url": _validators_url(record.validators_url, record.fetched_url),
        "moved_from": moved_from_column(record.moved_from),
        "source_hash": None if record.source_hash == record.content_hash else digest(record.source_hash),
        "extra": storable(dump(record.extra)) if record.extra else None,
    }


def moved_from_column(urls: Sequence[str]) -> str | None:
    """The column of a page's former addresses."""
    return dump([storable(url) for url in urls]) if urls else None


def body_rows(record: PageRecord) -> tuple[bytes | None, bytes, bytes]:
    """Compressed content (None when there is none), links and followed URLs of a record."""
    links = [(link.text, link.url) for link in record.links]
    return record.frame, compress(json_array(links)), compress(json_array(record.follow))


def touch_row(touch: Touch) -> Row:
    """Parameters of the update for a page that did not change (`b_` sets them apart from columns)."""
    row: Row = {
        "b_depth": touch.depth,
        "b_discovered_by": touch.discovered_by,
        "b_llms": _llms(touch.llms),
        "b_status": bounded(touch.status, INT32_MAX),
        "b_fetched_at": touch.fetched_at,
    }
    return row | validators_row(touch.validators) if touch.validators else row


def validators_row(validators: Validators) -> Row:
    """Parameters of the same update for fresh validators."""
    return {
        "b_etag": validator(validators.etag),
        "b_last_modified": validator(validators.last_modified),
        "b_validators_url": storable(validators.url),
        "b_accept": storable_or_none(validators.accept),
    }


def page_record(row: Mapping[str, Any]) -> PageRecord:
    """The record of a row of `page` joined with `content` and `link` (either may be missing)."""
    fetched_url = row["fetched_url"] or row["url"]
    return PageRecord(
        **{name: row[name] for name in _COPIED},
        id=row["document_id"],
        fetched_url=fetched_url,
        content=None if row.get("data") is None else decompress(row["data"]).decode("utf-8"),
        content_hash=hex_digest(row["content_hash"]),
        raw_hash=hex_digest(row["raw_hash"]),
        llms=_entry(row["llms"]),
        links=_links(row.get("links")),
        follow=orjson.loads(decompress(row["follow"])) if row.get("follow") else [],
        etag=row["etag"],
        last_modified=row["last_modified"],
        validators_url=row["validators_url"] or fetched_url,
        moved_from=orjson.loads(row["moved_from"]) if row["moved_from"] else [],
        source_hash=hex_digest(row["source_hash"] or row["content_hash"]),
        extra=load(row["extra"]) if row["extra"] else {},
    )


def stored_page(row: Mapping[str, Any]) -> StoredPage:
    """The record and the last change of a row that also has `run_id` (and `replayed`: its net change)."""
    return StoredPage(
        page_record(row),
        seq=row["seq"],
        change=row.get("replayed", row["change"]),
        run=row["run_id"] or "",
        reason=row["reason"],
    )


def outline(row: Any) -> Outline:
    """The outline of a page from the columns of `queries.OUTLINES`, in that order."""
    key, title, description, llms = row
    return Outline(bytes(key), title, description, _entry(llms))


def page_state(row: Any) -> PageState:
    """The state of a page from the columns of `queries.STATE`, in that order."""
    (
        *(key, url, fetched_url, validators_url, accept, etag, modified, raw, digest, version, origin, depth),
        has_end_tag,
        source_hash,
    ) = row
    fetched_url = fetched_url or url
    return PageState(
        key=bytes(key),
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


def source_row(record: SourceRecord) -> Row:
    """Columns of `source` that a run may set."""
    return {
        "name": record.name,
        "url": storable(record.url),
        "llms_txt": storable_or_none(record.llms_txt),
        "scope": record.scope,
        "arguments": dump(record.arguments),
        "forms": dump(record.forms),
        "discovery": dump(record.discovery),
        "extractor_version": record.extractor_version,
    }


def source_record(row: Mapping[str, Any]) -> SourceRecord:
    """The record of a row of `source`; `status` and `pages` are filled by the caller."""
    return SourceRecord(
        name=row["name"],
        url=row["url"],
        llms_txt=row["llms_txt"],
        scope=row["scope"],
        arguments=load(row["arguments"]),
        forms=load(row["forms"]),
        discovery=load(row["discovery"]),
        extractor_version=row["extractor_version"],
        created_at=datetime.fromtimestamp(row["created_at"], UTC),
    )


def run_record(row: Mapping[str, Any], source: str, *, lost: bool) -> RunRecord:
    """The record of a row of `run`."""
    finished = row["finished_at"]
    return RunRecord(
        id=row["id"],
        number=row["number"],
        source=source,
        kind=row["kind"],
        arguments=load(row["arguments"]),
        pid=row["pid"],
        host=row["host"],
        started_at=datetime.fromtimestamp(row["started_at"], UTC),
        heartbeat_at=datetime.fromtimestamp(row["heartbeat_at"], UTC),
        seq_before=row["seq_before"],
        predecessor=row["predecessor"],
        predecessor_clean=row["predecessor_clean"],
        concurrent=row["concurrent"],
        finished_at=None if finished is None else datetime.fromtimestamp(finished, UTC),
        outcome=row["outcome"],
        complete=row["complete"],
        why=row["why"],
        counts=load(row["counts"]),
        filtered=cast("dict[str, int]", load(row["filtered"])),
        errors=cast("dict[str, int]", load(row["errors"])),
        lost=lost,
    )


def resource_row(resource: Resource) -> Row:
    """Columns of `resource`, without its run; the body is compressed here."""
    return {
        "key": resource.key,
        "url": storable(resource.url),
        "accept": storable_or_none(resource.accept),
        "etag": validator(resource.etag),
        "last_modified": validator(resource.last_modified),
        "headers": dump({name: storable(value) for name, value in resource.headers.items()}),
        "data": compress(resource.body),
    }


def resource_record(row: Mapping[str, Any]) -> Resource:
    """The resource of a row; without its body where `data` was not selected."""
    return Resource(
        url=row["url"],
        accept=row["accept"],
        etag=row["etag"],
        last_modified=row["last_modified"],
        headers=cast("dict[str, str]", load(row["headers"])),
        body=decompress(row["data"]) if "data" in row else b"",
    )


def error_row(page_error: PageError) -> Row:
    """Columns of `error`, without its run."""
    return {
        "url": storable(page_error.url),
        "kind": page_error.kind,
        "message": storable(page_error.message),
        "status": bounded(page_error.status, INT32_MAX),
    }


def filtered_row(one: FilteredUrl) -> Row:
    """Columns of `filtered`, without its run."""
    return {"url": storable(one.url), "reason": one.reason, "rule": storable_or_none(one.rule)}


def link_pairs(data: bytes) -> list[list[str]]:
    """Text and URL of each link of a row of `link`."""
    return cast("list[list[str]]", orjson.loads(decompress(data)))


def _shared(value: str | None) -> str | None:
    return None if value is None else sys.intern(value)


def _validators_url(url: str | None, fetched_url: str) -> str | None:
    return None if url is None or url == fetched_url else storable(url)


def _llms(entry: LlmsEntry | None) -> str | None:
    if entry is None:
        return None
    fields = {name: getattr(entry, name) for name in LlmsEntry.__slots__}
    return dump(
        {name: storable(value) if isinstance(value, str) else value for name, value in fields.items()}
    )


def _entry(llms: str | None) -> LlmsEntry | None:
    return LlmsEntry(**orjson.loads(llms)) if llms else None


def _links(data: bytes | None) -> list[Link]:
    return [Link(text, url) for text, url in link_pairs(data)] if data else []
