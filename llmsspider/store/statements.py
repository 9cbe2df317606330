"""The SQL of the page store, for SQLite and PostgreSQL, built once and run many times.

Parameters that would clash with a column of the same name begin with `b_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, bindparam, case, delete, insert, select, update

from llmsspider.store.records import WHOLE, Parts
from llmsspider.store.schema import alias, change, content, link, page, resource, run, source

STATE = (
    page.c.key,
    page.c.url,
    page.c.fetched_url,
    page.c.validators_url,
    page.c.accept,
    page.c.etag,
    page.c.last_modified,
    page.c.raw_hash,
    page.c.content_hash,
    page.c.extractor_version,
    page.c.origin,
    page.c.depth,
    page.c.has_end_tag,
)
"""The columns of `rows.page_state`, in its order."""

_COLUMNS = {column.name for column in page.c}
_FIXED = {"id", "source_id", "key"}
_CHANGE = {"seq", "change", "reason", "run"}

_LATER_RUN = case((page.c.reached < bindparam("b_reached"), bindparam("b_reached")), else_=page.c.reached)
"""`reached` after a run reached the page: never set back by an earlier run going beside it."""


@dataclass(frozen=True)
class Writes:
    """The statements of a batch. Each takes a list of parameter dicts."""

    save: Any
    resave: Update
    contents: Any
    links: Any
    touch: Update
    touch_validators: Update
    reach: Update
    bury: Update
    aliases: Any
    resources: Any


def _upsert(is_sqlite: bool) -> Any:
    """Return the dialect's `insert`. Loading the other dialect would be a twentieth of a crawl's start."""
    if is_sqlite:
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415

        return sqlite.insert
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415

    return postgresql.insert


def writes(is_sqlite: bool) -> Writes:
    """The write statements in the dialect of the database."""
    upsert = _upsert(is_sqlite)
    saved = upsert(page)
    contents, links, aliases, resources = upsert(content), upsert(link), upsert(alias), upsert(resource)
    this_page = (page.c.source_id == bindparam("b_source_id"), page.c.key == bindparam("b_key"))
    alive = update(page).where(*this_page, page.c.gone.is_(False))
    touched = alive.values(
        depth=bindparam("b_depth"),
        discovered_by=bindparam("b_discovered_by"),
        llms=bindparam("b_llms"),
        status=bindparam("b_status"),
        fetched_at=bindparam("b_fetched_at"),
        reached=_LATER_RUN,
    )
    return Writes(
        save=saved.on_conflict_do_update(
            index_elements=["source_id", "key"],
            set_={
                **{name: saved.excluded[name] for name in _COLUMNS - _FIXED},
                "reached": case(
                    (page.c.reached > saved.excluded.reached, page.c.reached), else_=saved.excluded.reached
                ),
            },
        ),
        resave=alive.values(
            {
                **{name: bindparam(f"b_{name}") for name in _COLUMNS - _FIXED - _CHANGE},
                "reached": _LATER_RUN,
            }
        ),
        contents=contents.on_conflict_do_update(
            index_elements=["page_id"], set_={"data": contents.excluded.data}
        ),
        links=links.on_conflict_do_update(
            index_elements=["page_id"], set_={"links": links.excluded.links, "follow": links.excluded.follow}
        ),
        touch=touched,
        touch_validators=touched.values(
            etag=bindparam("b_etag"),
            last_modified=bindparam("b_last_modified"),
            validators_url=bindparam("b_validators_url"),
            accept=bindparam("b_accept"),
        ),
        reach=update(page)
        .where(*this_page, page.c.reached < bindparam("b_reached"))
        .values(reached=bindparam("b_reached")),
        bury=update(page)
        .where(*this_page)
        .values(
            gone=True,
            seq=bindparam("b_seq"),
            change="deleted",
            reason=bindparam("b_reason"),
            run=bindparam("b_run"),
        ),
        aliases=aliases.on_conflict_do_update(
            index_elements=["source_id", "key"],
            set_={"target": aliases.excluded.target, "url": aliases.excluded.url},
        ),
        resources=resources.on_conflict_do_update(
            index_elements=["source_id", "key"],
            set_={
                column.name: resources.excluded[column.name]
                for column in resource.c
                if not column.primary_key
            },
        ),
    )


def upsert_source(is_sqlite: bool, values: Mapping[str, Any]) -> Any:
    """Insert a source, or set `values` where one of its name is there (another process may be first)."""
    made = _upsert(is_sqlite)(source)
    return made.on_conflict_do_update(index_elements=["name"], set_=dict(values))


LIVING_STATES = select(*STATE).where(page.c.source_id == bindparam("b_source_id"), page.c.gone.is_(False))
"""The state of every living page of a source."""


def _pages(parts: Parts) -> Select[Any]:
    """Pages of a source with the id of the run that changed them last, and the parts asked for."""
    columns: list[Any] = [*page.c, run.c.id.label("run_id")]
    joined: Any = page.outerjoin(run, (run.c.source_id == page.c.source_id) & (run.c.number == page.c.run))
    if "content" in parts:
        columns.append(content.c.data)
        joined = joined.outerjoin(content, content.c.page_id == page.c.id)
    if "links" in parts:
        columns += [link.c.links, link.c.follow]
        joined = joined.outerjoin(link, link.c.page_id == page.c.id)
    return select(*columns).select_from(joined).where(page.c.source_id == bindparam("b_source_id"))


ONE_PAGE = _pages(WHOLE).where(page.c.key == bindparam("b_key"), page.c.gone.is_(False))
"""A living page by its key. Built once: building it took eight times as long as running it."""


@cache
def pages_by_id(parts: Parts) -> Select[Any]:
    """Pages by their row ids."""
    return _pages(parts).where(page.c.id.in_(bindparam("b_ids", expanding=True)))


@cache
def pages_by_key(parts: Parts) -> Select[Any]:
    """Living pages by their keys."""
    return _pages(parts).where(page.c.key.in_(bindparam("b_keys", expanding=True)), page.c.gone.is_(False))


KNOWN_PAGES = select(page.c.key, page.c.id, page.c.url, page.c.gone).where(
    page.c.source_id == bindparam("b_source_id"), page.c.key.in_(bindparam("b_keys", expanding=True))
)
"""Row id, URL and "is a tombstone" of pages by their keys."""


def first_change_after(source_id: int, since: int) -> Select[Any]:
    """Row id, and kind of the first change after `since`, of each page changed since; by last change."""
    first = (
        select(change.c.change)
        .where(change.c.page_id == page.c.id, change.c.seq > since)
        .order_by(change.c.seq)
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(page.c.id, first.label("first"))
        .where(page.c.source_id == source_id, page.c.seq > since)
        .order_by(page.c.seq)
    )


def locked_source(source_id: int) -> Select[Any]:
    """`next_seq` and `last_seq`, with the row locked where the database locks rows."""
    return select(source.c.next_seq, source.c.last_seq).where(source.c.id == source_id).with_for_update()


_THIS_RESOURCE = (resource.c.source_id == bindparam("b_source_id"), resource.c.key == bindparam("b_key"))

RESOURCE = select(resource).where(*_THIS_RESOURCE)
"""A resource by its key."""

RESOURCE_VALIDATORS = select(*(column for column in resource.c if column is not resource.c.data)).where(
    *_THIS_RESOURCE
)
"""The same without its body."""

USE_RESOURCE = update(resource).where(*_THIS_RESOURCE).values(run=bindparam("b_run"))
MOVED_FROM = (
    update(page)
    .where(page.c.source_id == bindparam("b_source_id"), page.c.key == bindparam("b_key"))
    .values(moved_from=bindparam("b_moved_from"))
)
"""Sets the former addresses of a page."""
INSERT_CHANGE = insert(change)
DELETE_CONTENT = delete(content).where(content.c.page_id == bindparam("b_page_id"))
DELETE_LINKS = delete(link).where(link.c.page_id == bindparam("b_page_id"))
