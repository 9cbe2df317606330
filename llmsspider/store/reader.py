"""The connection that single pages and numbers are read on."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Executable

from llmsspider.errors import StoreError
from llmsspider.store.database import Database
from llmsspider.store.rows import Row


class Reader:
    """One connection, open until it is closed; each statement sees the latest commit."""

    def __init__(self, database: Database):
        self._database = database
        self._connection: Connection | None = database.reader()

    @property
    def closed(self) -> bool:
        """True once `close` was called."""
        return self._connection is None

    def read(self, statement: Executable, parameters: Row | None = None) -> Any:
        """Run a SELECT, patiently: on a new connection if the server dropped this one."""

        def attempt() -> Any:
            connection = self._open()
            if connection.invalidated:
                self._connection = self._database.reader()
                connection.close()
                connection = self._connection
            return connection.execute(statement, parameters)

        return self._database.patiently(attempt)

    def check(self) -> None:
        """Raise `StoreError` when it is closed."""
        self._open()

    def _open(self) -> Connection:
        if self._connection is None:
            raise StoreError(f"page store {self._database.label} is closed")
        return self._connection

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
