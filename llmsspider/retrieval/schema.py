"""The tables of a search index, the same in SQLite and PostgreSQL.

The words themselves are in tables of `fts5` and `tsvector`.

One database holds one source (SQLite) or many (PostgreSQL). Nothing here is the only copy of anything: tables of
another version are left alone, and the index is made again from the page store.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, Table, Text

VERSION = 1
"""Of the tables and of what is written into them."""

PREFIX = f"search{VERSION}_"

metadata = MetaData()
RowId = BigInteger().with_variant(Integer, "sqlite")

source = Table(
    f"{PREFIX}source",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("store", Text, nullable=False),  # tells the store from another one of the same name
    Column("seq", BigInteger, nullable=False),  # the last change that is indexed
    Column("run", Text, nullable=False),  # the last run whose outlines are indexed
    Column("next_id", BigInteger, nullable=False),  # of a page, passage or row of words; never used twice
    Column("dead", BigInteger, nullable=False),  # passages whose words are still in the index
)

page = Table(
    f"{PREFIX}page",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=False),
    Column("source_id", Integer, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),  # of the content that was indexed
    Column("document", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("target", BigInteger, nullable=False),  # `pages.target_of` its URL
    Column("passages", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("own", Text, nullable=False),  # what llms.txt and the page say of it
    Column("hints", Text, nullable=False),  # the same with the texts of links to it, as indexed
    Column("headings", Text, nullable=False),
    Column("optional", Boolean, nullable=False),
    Column("words", BigInteger),  # its row of words; null until hints are indexed
    Index(f"{PREFIX}page_key", "source_id", "key", unique=True),
    Index(f"{PREFIX}page_target", "source_id", "target"),
    Index(f"{PREFIX}page_document", "document"),
    Index(f"{PREFIX}page_words", "words"),
)

passage = Table(
    f"{PREFIX}passage",
    metadata,
    Column("id", RowId, primary_key=True, autoincrement=False),
    Column("source_id", Integer, nullable=False),
    Column("page_id", BigInteger, nullable=False),
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("headings", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Index(f"{PREFIX}passage_page", "page_id"),
)

link = Table(
    f"{PREFIX}link",
    metadata,
    Column("source_id", Integer, nullable=False),
    Column("page_id", BigInteger, nullable=False),
    Column("target", BigInteger, nullable=False),  # `pages.target_of` the URL without its fragment
    Column("fragment", Text, nullable=False),
    Column("text", Text, nullable=False),
    Index(f"{PREFIX}link_page", "page_id"),
    Index(f"{PREFIX}link_target", "source_id", "target"),
)

touched = Table(
    f"{PREFIX}touched",
    metadata,
    Column("source_id", Integer, primary_key=True, autoincrement=False),
    Column("target", BigInteger, primary_key=True, autoincrement=False),
)
