"""Where a source's store lies, and opening it, SQLite or PostgreSQL; its faults are `StoreError`."""

import atexit
import hashlib
import logging
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import (
    Connection,
    Dialect,
    Engine,
    QueuePool,
    Table,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import (
    ArgumentError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)

from llmsspider.errors import StoreError
from llmsspider.web.loading import missing_extra

logger = logging.getLogger(__name__)


# Where a source's store lies: the data directory, and the file name of a source.

SUFFIX = ".sqlite"
DATA_DIR_VARIABLE = "LLMS_DATA_DIR"
STORE_FOLDER = ".llmsspider"
"""Where the command `llmsspider` keeps the page store, inside the tree."""


def project_dir(start: Path) -> Path | None:
    """The closest directory at or above `start` that holds a scrapy.cfg, or None (as under
    Scrapyd).
    """
    start = start.absolute()
    return next(
        (folder for folder in (start, *start.parents) if (folder / "scrapy.cfg").is_file()), None
    )


def resolve_data_dir(setting: str | os.PathLike[str] | None = None) -> Path:
    """The directory of the store files; it need not exist yet.

    The `LLMS_DATA_DIR` setting, else the environment variable of that name, else
    `.scrapy/llmsspider` beside the project's scrapy.cfg, else the same below the working directory.
    A relative path given by the user is taken from the same place.
    """
    chosen = setting or os.environ.get(DATA_DIR_VARIABLE) or ".scrapy/llmsspider"
    return (project_dir(Path.cwd()) or Path.cwd()) / Path(chosen).expanduser()


def source_slug(name: str) -> str:
    """A file name for a source: a readable part, and a hash that keeps different names apart.

    >>> source_slug("docs.example.com/guide")
    'docs.example.com-guide-21e2ee9368'
    >>> source_slug("../../etc/passwd")
    'etc-passwd-3754d6cb3a'
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-._")[:80]
    return f"{readable}-{digest}" if readable else digest


def readable_name(source: str) -> str:
    """The readable part of a source's file name, which others may have as well; its hash where
    there is none.
    """
    slug = source_slug(source)
    return slug.rpartition("-")[0] or slug


def source_file(data_dir: Path, name: str) -> Path:
    """The SQLite file of a source; always directly inside `data_dir`."""
    return data_dir / (source_slug(name) + SUFFIX)


# Opening a database, SQLite or PostgreSQL, and turning its faults into `StoreError`.

T = TypeVar("T")

BUSY_TIMEOUT_SECS = 30
"""How long a statement waits for another process before it fails."""
RETRY_SECS = {"sqlite": (0.5, 2.0, 8.0), "postgresql": (0.1, 0.5, 1.0, 2.0, 4.0, *(8.0,) * 7)}
"""Pauses before a retry after a closed connection or a lock: a server may restart."""
POSTGRESQL_SCHEMA = "llmsspider"
"""The schema our tables live in, so that they can share a database with others."""
TURN_TABLE = (  # of no source, and not of the schema's version (downloadermiddlewares/turns.py)
    "turn"
)
MIGRATION_LOCK = 0x6C6C6D73  # of PostgreSQL: keeps two processes from making tables at once


class Database:
    """An engine with the kinds of connection the store uses; `label` names it in messages, without
    a password.
    """

    def __init__(self, engine: Engine, label: str, *, read_only: bool = False):
        self.engine = engine
        self.label = label
        self.read_only = read_only
        self.is_sqlite = engine.dialect.name == "sqlite"

    def insert(self, table: Table) -> Any:
        """The dialect's `insert`.

        Loading the other dialect would be a twentieth of a crawl's start.
        """
        return import_module(f"sqlalchemy.dialects.{self.engine.dialect.name}").insert(table)

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn any database error into a one-line `StoreError`."""
        try:
            yield
        except SQLAlchemyError as error:
            lines = str(getattr(error, "orig", None) or error).strip().splitlines() or [
                type(error).__name__
            ]
            why = "database or disk is full" if _is_full(error) else lines[0]
            raise StoreError(f"page store {self.label}: {why}") from error

    def with_retry(self, work: Callable[[], T]) -> T:
        """Do the work, again after a pause while the database is away; its faults are `StoreError`."""
        pauses = iter(RETRY_SECS[self.engine.dialect.name])
        while True:
            try:
                with self.faults():
                    return work()
            except StoreError as error:
                is_away = isinstance(error.__cause__, OperationalError | InterfaceError)
                if (
                    not is_away
                    or _is_full(error.__cause__)
                    or (pause := next(pauses, None)) is None
                ):
                    raise
                logger.warning("%s; trying again in %s s", error, pause)
                time.sleep(pause)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do the work in one write transaction, with retries: it may run more than once, and is
        committed once.
        """
        if self.read_only:
            raise StoreError(
                f"page store {self.label}: it cannot be written; choose another LLMS_DATA_DIR"
            )

        def attempt() -> T:
            with self.writing() as connection:
                return work(connection)

        return self.with_retry(attempt)

    def reader(self) -> Connection:
        """A connection on which every statement stands alone and sees the latest commit."""
        with self.faults():
            level: dict[str, Any] = (
                {"begin": None} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
            )
            return self.engine.connect().execution_options(**level)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database for as long as it is used."""
        level: Any = (
            {"begin": "DEFERRED"} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        )
        with self.faults(), ExitStack() as opened:

            def begin() -> Connection:
                connection = opened.enter_context(self.engine.connect().execution_options(**level))
                opened.enter_context(connection.begin())
                return connection

            yield self.with_retry(begin)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction: committed at the end, rolled back on an exception."""
        options: dict[str, Any] = {"begin": "IMMEDIATE"} if self.is_sqlite else {}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Return SQLite's log to the file (as far as other processes and the disk allow), close
        every connection.
        """
        if self.is_sqlite and not self.read_only:
            with suppress(StoreError), self.faults(), self.reader() as connection:
                # ms; then others have the log
                connection.exec_driver_sql("PRAGMA busy_timeout=1000").close()
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").close()
        self.engine.dispose()


def open_sqlite(path: Path) -> Database:
    """Open or create the SQLite file `path` (its directory too); only to be read where it cannot be
    written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        read_only = path.exists() and not all(
            os.access(one, os.W_OK) for one in (path, path.parent)
        )
        address = _read_only_uri(path) if read_only else str(path)
    except OSError as error:
        raise StoreError(
            f"page store {path}: {error.strerror}; choose another LLMS_DATA_DIR"
        ) from error
    dialect = _sqlite_dialect()
    connect: Any = partial(connect_sqlite, address, read_only=read_only)
    pool = QueuePool(connect, dialect=dialect)
    # `create_engine` would make a dialect and ask SQLite for its version, for each file
    engine = Engine(pool, dialect, make_url("sqlite://"))
    engine.update_execution_options(compiled_cache=_COMPILED)
    event.listen(engine, "begin", _begin_sqlite)
    return Database(engine, str(path), read_only=read_only)


_COMPILED: dict[Any, Any] = {}
"""Compiled statements of all SQLite files: compiling them for each took half of opening it."""


@cache
def _sqlite_dialect() -> Dialect:
    """The dialect that all files share, as statements are compiled for one."""
    engine = create_engine("sqlite://")
    engine.connect().close()  # it learns the version of SQLite
    engine.dispose()
    return engine.dialect


def delete_sqlite(path: Path) -> bool:
    """Delete a file with what SQLite keeps beside it; returns whether it was there.

    Raises `StoreError`.
    """
    is_there = path.exists()
    try:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: cannot be deleted: {error.strerror}") from error
    return is_there


def _read_only_uri(path: Path) -> str:
    """Say how SQLite opens a file that it cannot write: with the log of a killed or running
    process, which counts.

    Where that has no index, a copy of both is read.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if not log.exists() or (not log.stat().st_size and not index.exists()):
        query = "?mode=ro&immutable=1"
    elif index.exists():
        query = "?mode=ro"
    else:
        folder = Path(tempfile.mkdtemp(prefix="llmsspider-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for file in (path, log):
            shutil.copyfile(file, folder / file.name)
        path = folder / path.name
        query = ""
    return f"file:{quote(str(path.absolute()))}{query}"


def open_postgresql(url: str) -> Database:
    """Connect to PostgreSQL by URL (`postgresql://user:password@host/name`).

    Raises `StoreError`.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        use = "use postgresql://user:password@host/database"
        raise StoreError(f"LLMS_STORE_URL is not a URL; {use}") from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise StoreError(
            f"LLMS_STORE_URL: {parsed.drivername!r} is not supported; use postgresql://…"
        )
    try:
        engine = create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            connect_args={"connect_timeout": BUSY_TIMEOUT_SECS, "application_name": "llmsspider"},
            execution_options={"schema_translate_map": {None: POSTGRESQL_SCHEMA}},
        )
    except (ImportError, NoSuchModuleError) as error:
        raise StoreError(f"LLMS_STORE_URL: {missing_extra('postgresql') or error}") from error
    return Database(engine, parsed.render_as_string(hide_password=True))


def connect_sqlite(address: str, *, read_only: bool = False) -> sqlite3.Connection:
    """Open the SQLite file of a path, or of a URI if it is only to be read, in autocommit mode."""
    connection = sqlite3.connect(
        address,
        timeout=BUSY_TIMEOUT_SECS,
        isolation_level=None,
        check_same_thread=False,
        uri=read_only,
    )
    if not read_only:
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Set the modes of a new connection.

    While another makes the file SQLite refuses the first at once, whatever the busy timeout is.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_SECS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous=NORMAL")
    # what is deleted is gone; no slower where it was measured
    connection.execute("PRAGMA secure_delete=ON")


def _begin_sqlite(connection: Connection) -> None:
    """Begin as the connection's `begin` option says; sqlite3 itself would not begin before a
    SELECT.
    """
    if mode := connection.get_execution_options().get("begin", "DEFERRED"):
        connection.exec_driver_sql(f"BEGIN {mode}")


def _is_full(error: object) -> bool:
    """Return whether SQLite's disk is full: nobody makes room within seconds."""
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", None)
    return code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}


def batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the values in lists of the size, the last one shorter; each is taken when it is wanted."""
    remaining = iter(values)
    return iter(lambda: list(islice(remaining, size)), [])
