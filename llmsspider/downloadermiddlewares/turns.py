"""One budget a host over all crawls: whoever sends a request to a host takes the next turn.

`scrapy sync --jobs 4` with four sources on one host would be four times as fast as its Crawl-delay
says. Crawls of one user on one machine share a small SQLite file; those of a page store in
PostgreSQL have their turns there, wherever they run.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import sqlite3
import stat
import tempfile
from collections.abc import MutableMapping
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from llmsspider.errors import StoreError
from llmsspider.store.database import MIGRATION_LOCK, open_postgresql

if TYPE_CHECKING:
    from psycopg import AsyncConnection  # of an extra

logger = logging.getLogger(__name__)

FARTHEST_SECS = 3600.0
"""A turn farther away than this was taken before the machine was started anew: the clock began
again.
"""

BUSY_SECS = 5.0
"""How long another process may hold the file."""

ANSWER_SECS = 5.0
AWAY_SECS = 30.0
"""How long PostgreSQL may take to answer, and how long it is left alone where it did not."""
SLOW_SECS = 1.0
"""An answer that takes longer comes late: its turn may be that of another machine by now."""

UNCERTAIN = 2
"""So many times the distance is kept while PostgreSQL does not answer, and for as long after it did
again, or was slow: it may be away from this machine alone, and another machine goes on.
"""

_TABLE = "CREATE TABLE IF NOT EXISTS turns (host TEXT PRIMARY KEY, next REAL NOT NULL)"
_TAKE = """
INSERT INTO turns (host, next) VALUES (:host, :earliest + :distance)
ON CONFLICT (host) DO UPDATE SET next = :distance + CASE
    WHEN next BETWEEN :earliest AND :earliest + :farthest THEN next ELSE :earliest END
RETURNING next - :distance
"""


class Turns:
    """Turns to send a request, by host, on the clock of `time.monotonic`, which all processes of a
    machine share.

    `file` is the SQLite file; its folder is made. One that cannot be used is said once; the crawl
    then keeps its own pace only.
    """

    def __init__(self, file: Path):
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._failed = False

    def reserve(self, host: str, distance_secs: float, earliest: float) -> float:
        """Take the next turn, at `earliest` or later; the one after it is `distance_secs` later.
        Returns when it is.

        A distance of 0 is a pause for all: nobody gets a turn before `earliest`.
        """
        if self._failed:
            return earliest
        values = {
            "host": host,
            "earliest": earliest,
            "distance": distance_secs,
            "farthest": FARTHEST_SECS,
        }
        try:
            return float(self._opened().execute(_TAKE, values).fetchall()[0][0])
        except (OSError, sqlite3.Error) as error:
            self._failed = True
            self.close()
            logger.warning(
                "%(file)s: %(error)s; crawls of one host at the same time do not share its pace",
                {"file": self._file, "error": error},
            )
            return earliest

    def close(self) -> None:
        """Close the file; idempotent."""
        connection = self._connection
        self._connection = None
        if connection is not None:
            connection.close()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            folder = self._file.parent
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            state = folder.lstat()
            is_ours = stat.S_ISDIR(state.st_mode) and not state.st_mode & 0o022
            if hasattr(os, "getuid") and not (is_ours and state.st_uid == os.getuid()):
                raise PermissionError(f"{folder} belongs to somebody else")
            self._connection = sqlite3.connect(self._file, timeout=BUSY_SECS, isolation_level=None)
            # what a power failure takes is of no use after it
            self._connection.execute("PRAGMA synchronous=OFF")
            self._connection.execute(_TABLE)
        return self._connection


_SHARED_TABLE = """
SELECT pg_advisory_xact_lock({lock});
DO $$ BEGIN IF to_regnamespace('llmsspider') IS NULL THEN CREATE SCHEMA llmsspider; END IF; END $$;
CREATE UNLOGGED TABLE IF NOT EXISTS llmsspider.turn (host text PRIMARY KEY, next timestamptz NOT NULL)
"""
_TAKE_SHARED = """
INSERT INTO llmsspider.turn (host, next) VALUES (%(host)s, clock_timestamp() + %(wait)s + %(distance)s)
ON CONFLICT (host) DO UPDATE SET next = %(distance)s + CASE
    WHEN turn.next < clock_timestamp() + %(wait)s + %(farthest)s
    THEN greatest(turn.next, clock_timestamp() + %(wait)s) ELSE clock_timestamp() + %(wait)s END
RETURNING next - %(distance)s - clock_timestamp()
"""


class SharedTurns:
    """Turns in PostgreSQL, on its clock, for crawls on any number of machines; without `url` those
    of the file.

    The file is used, too, while the database cannot be: that is said once, and never stops a crawl.
    """

    def __init__(self, file: Turns, url: str | None = None):
        self._file = file
        self._url = url
        self._options: MutableMapping[str, Any] = {}
        self._connection: AsyncConnection[Any] | None = None
        self._lock = asyncio.Lock()
        self._away_until = -AWAY_SECS
        self._failed = False
        self._last: dict[str, float] = {}
        """The last turns that PostgreSQL gave, by host."""

    async def reserve(self, host: str, distance_secs: float, earliest: float) -> float:
        """Take the next turn, as `Turns.reserve` does."""
        slower = distance_secs * UNCERTAIN if self._url else distance_secs
        is_sure = monotonic() >= self._away_until + AWAY_SECS
        kept = distance_secs if is_sure else slower
        secs = await self._ask(host, kept, earliest - monotonic())
        if secs is not None:
            self._last[host] = monotonic() + secs
            return self._last[host]
        following = self._last.get(host, earliest - slower) + slower
        return self._file.reserve(
            host, slower, max(earliest, min(following, monotonic() + FARTHEST_SECS))
        )

    async def close(self) -> None:
        """Close file and connection; idempotent."""
        self._file.close()
        self._url = None
        await self._disconnect()

    async def _disconnect(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None:
            await connection.close()

    async def _ask(self, host: str, distance_secs: float, wait_secs: float) -> float | None:
        """Return the seconds until a turn, None where PostgreSQL is not to be asked."""
        async with self._lock:
            if not self._url or monotonic() < self._away_until:
                return None
            spans = {"distance": distance_secs, "wait": wait_secs, "farthest": FARTHEST_SECS}
            values = {name: timedelta(seconds=secs) for name, secs in spans.items()}
            began = monotonic()
            asking = asyncio.ensure_future(self._answer(self._url, {"host": host, **values}))
            try:
                if (await asyncio.wait([asking], timeout=ANSWER_SECS))[0]:
                    if monotonic() - began > SLOW_SECS:
                        self._away_until = monotonic()
                    return asking.result()
                raise StoreError(f"no answer in {ANSWER_SECS:g} s")
            except StoreError as error:
                # before `cancel`, which would have the database confirm it
                await self._disconnect()
                asking.cancel()
                self._away_until = monotonic() + AWAY_SECS
                if not self._failed:
                    left = "until it answers the pace of hosts is shared on this machine only"
                    logger.warning(
                        "LLMS_STORE_URL: %(why)s; %(left)s", {"why": error, "left": left}
                    )
                self._failed = True
                return None

    async def _answer(self, url: str, values: dict[str, object]) -> float:
        if not self._options:
            engine = open_postgresql(url).engine
            self._options = engine.dialect.create_connect_args(engine.url)[1]
        from psycopg import AsyncConnection, Error, errors  # noqa: PLC0415  # of an extra

        is_old = self._connection is not None
        try:
            if self._connection is None:
                self._connection = await AsyncConnection.connect(**self._options, autocommit=True)
            try:
                cursor = await self._connection.execute(_TAKE_SHARED, values)
            except errors.UndefinedTable:
                await self._connection.execute(_SHARED_TABLE.format(lock=MIGRATION_LOCK))
                cursor = await self._connection.execute(_TAKE_SHARED, values)
            ((wait,),) = await cursor.fetchall()
        except Error as error:
            if is_old:  # it may have been cut while nobody asked
                await self._disconnect()
                return await self._answer(url, values)
            raise StoreError(str(error).partition("\n")[0]) from error
        return float(wait.total_seconds())


def shared_file() -> Path:
    """Return where the crawls of this user on this machine keep their turns."""
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"llmsspider-{user}" / "turns.sqlite"
