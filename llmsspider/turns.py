"""One budget a host over all crawls of this machine: whoever sends a request to a host takes the next turn.

`scrapy sync --jobs 4` with four sources on one host would ask it four times as fast as its Crawl-delay says. The turns
are kept in a small SQLite file that the crawls of one user share. No Scrapy here.
"""

from __future__ import annotations

import getpass
import logging
import os
import sqlite3
import stat
import tempfile
from pathlib import Path

logger = logging.getLogger(__name__)

FARTHEST_SECS = 3600.0
"""A turn farther away than this was taken before the machine was started anew: the clock began again."""

BUSY_SECS = 5.0
"""How long another process may hold the file."""

_TAKE = """
INSERT INTO turns (host, next) VALUES (:host, :now + :distance)
ON CONFLICT (host) DO UPDATE SET next = :distance + CASE
    WHEN next BETWEEN :now AND :now + :farthest THEN next ELSE :now END
RETURNING next - :distance
"""
_POSTPONE = """
INSERT INTO turns (host, next) VALUES (:host, :until)
ON CONFLICT (host) DO UPDATE SET next = CASE
    WHEN next BETWEEN :until AND :until + :farthest THEN next ELSE :until END
"""


class Turns:
    """Turns to send a request, by host, on the clock of `time.monotonic`, which all processes of a machine share.

    A file that cannot be used is said once; the crawl then keeps its own pace only.

    Args:
        file: the SQLite file; its folder is made.
    """

    def __init__(self, file: Path):
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._failed = False

    def take(self, host: str, distance_secs: float, now: float) -> float:
        """Take the next turn, at least `distance_secs` after the one before it; returns when it is, `now` or later."""
        values = {"host": host, "now": now, "distance": distance_secs, "farthest": FARTHEST_SECS}
        rows = self._execute(_TAKE, values)
        return float(rows[0][0]) if rows else now

    def postpone(self, host: str, until: float) -> None:
        """Let nobody send a request to the host before `until`."""
        self._execute(_POSTPONE, {"host": host, "until": until, "farthest": FARTHEST_SECS})

    def close(self) -> None:
        """Close the file; idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _execute(self, statement: str, values: dict[str, object]) -> list[tuple[float]]:
        if self._failed:
            return []
        try:
            if self._connection is None:
                self._connection = _opened(self._file)
            return self._connection.execute(statement, values).fetchall()
        except (OSError, sqlite3.Error) as error:
            self._failed = True
            self.close()
            logger.warning(
                "%(file)s: %(error)s; crawls of one host at the same time do not share its pace",
                {"file": self._file, "error": error},
            )
            return []


def shared_file() -> Path:
    """Return where the crawls of this user on this machine keep their turns."""
    user = str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"llmsspider-{user}" / "turns.sqlite"


def _opened(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid") and not _is_ours(file.parent):
        raise PermissionError(f"{file.parent} belongs to somebody else")
    connection = sqlite3.connect(file, timeout=BUSY_SECS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")  # what is lost with the machine is of no use after it
        connection.execute("CREATE TABLE IF NOT EXISTS turns (host TEXT PRIMARY KEY, next REAL NOT NULL)")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_ours(folder: Path) -> bool:
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022
