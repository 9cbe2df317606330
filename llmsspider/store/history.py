"""Earlier contents of changed pages: how many are kept, and the SQL that keeps, deletes, reads and measures them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, func, insert, select

from llmsspider.items import decompress
from llmsspider.store.records import StoredPage
from llmsspider.store.schema import content, page, version

DEFAULT_VERSIONS = 5
DAY_SECS = 86_400
_DAYS = re.compile(r"(\d{1,5})\s*d(?:ays?)?", re.ASCII | re.IGNORECASE)


@dataclass(slots=True, frozen=True)
class Retention:
    """How many earlier contents of a page are kept: a number of them, or those that were current in the last `days`."""

    versions: int = DEFAULT_VERSIONS
    days: int | None = None

    @property
    def keeps(self) -> bool:
        """True when any are kept."""
        return bool(self.versions or self.days)

    @classmethod
    def parse(cls, value: object) -> Retention:
        """Read the setting: a number of versions, or days. Raises `ValueError` for anything else.

        >>> Retention.parse("3")
        Retention(versions=3, days=None)
        >>> Retention.parse("90 days")
        Retention(versions=0, days=90)
        """
        text = str(value).strip()
        if text.isascii() and text.isdigit() and len(text) < 6:
            return cls(int(text))
        if found := _DAYS.fullmatch(text):
            return cls(0, int(found[1]))
        raise ValueError(f"{value!r} is neither a number of versions nor of days")


@dataclass(slots=True, frozen=True)
class Version:
    """An earlier content of a page, and the change (`seq`) that it came with.

    `run` is the number of the run that stored it, `extractor_version` what made it, `content_hash` its SHA-256 in hex.
    """

    seq: int
    run: int
    title: str | None
    content: str
    content_hash: str | None
    extractor_version: str


@dataclass(slots=True, frozen=True)
class PageHistory:
    """A page that changed: as it is, whether its first change since made it; its earlier contents, oldest first."""

    now: StoredPage
    was_new: bool
    versions: tuple[Version, ...]


_COLUMNS = (
    page.c.id,
    page.c.seq,
    page.c.run,
    page.c.title,
    page.c.content_hash,
    page.c.extractor_version,
    bindparam("b_now", type_=version.c.replaced_at.type),
    content.c.data,
)

_KEEP = insert(version).from_select(
    ["page_id", "seq", "run", "title", "content_hash", "extractor_version", "replaced_at", "data"],
    select(*_COLUMNS)
    .join_from(page, content, content.c.page_id == page.c.id)
    .where(page.c.source_id == bindparam("b_source_id"), page.c.key.in_(bindparam("b_keys", expanding=True))),
)


def keep(connection: Connection, source_id: int, keys: Sequence[bytes]) -> None:
    """Keep the contents of the pages that are about to be replaced; compressed already, they are copied as they are."""
    connection.execute(_KEEP, {"b_source_id": source_id, "b_keys": list(keys), "b_now": time.time()})


def drop_old(connection: Connection, source_id: int, run_number: int, retention: Retention) -> None:
    """Delete what is beyond the retention: by number of the pages that the run changed, by age of all pages."""
    of_source = select(page.c.id).where(page.c.source_id == source_id)
    if not retention.keeps:
        condition: Any = version.c.page_id.in_(of_source)
    elif retention.days is not None:
        too_old = version.c.replaced_at < time.time() - retention.days * DAY_SECS
        condition = too_old & version.c.page_id.in_(of_source)
    else:
        later = version.alias("later")
        follows = (later.c.page_id == version.c.page_id) & (later.c.seq > version.c.seq)
        number = select(func.count()).select_from(later).where(follows).scalar_subquery()
        changed = of_source.where(page.c.run == run_number)
        condition = version.c.page_id.in_(changed) & (number >= retention.versions)
    connection.execute(delete(version).where(condition))


def drop_originals(connection: Connection, source_id: int, extractor_version: str) -> None:
    """Delete readings, and contents not made with `extractor_version`. Call in a write transaction."""
    of_source = select(page.c.id).where(page.c.source_id == source_id)
    others = version.c.extractor_version != extractor_version
    connection.execute(delete(version).where(others, version.c.page_id.in_(of_source)))
    drop_readings(connection, source_id)


def drop_readings(connection: Connection, source_id: int, *conditions: ColumnElement[bool]) -> None:
    """Delete what was read and is no document, of those that meet the conditions. Call in a write transaction."""
    readings = (page.c.source_id == source_id, page.c.seq == 0, *conditions)
    connection.execute(delete(content).where(content.c.page_id.in_(select(page.c.id).where(*readings))))
    connection.execute(delete(page).where(*readings))


def of_pages(connection: Connection, page_ids: Iterable[int]) -> dict[int, tuple[Version, ...]]:
    """The earlier contents of pages by their row ids, oldest first."""
    wanted = version.c.page_id.in_(list(page_ids))
    found = connection.execute(
        select(version).where(wanted).order_by(version.c.page_id, version.c.seq)
    ).mappings()
    return {
        page_id: tuple(_version(row) for row in rows)
        for page_id, rows in groupby(found, lambda row: row["page_id"])
    }


def _version(row: Any) -> Version:
    return Version(
        seq=row["seq"],
        run=row["run"],
        title=row["title"],
        content=decompress(row["data"]).decode("utf-8"),
        content_hash=row["content_hash"],
        extractor_version=row["extractor_version"],
    )


def size(connection: Connection, source_id: int) -> tuple[int, int]:
    """The number of earlier contents of a source, and their size in bytes as they are stored."""
    of_source = exists().where(page.c.id == version.c.page_id, page.c.source_id == source_id)
    measured = select(func.count(), func.coalesce(func.sum(func.length(version.c.data)), 0)).where(of_source)
    number, stored = connection.execute(measured).one()
    return int(number), int(stored)
