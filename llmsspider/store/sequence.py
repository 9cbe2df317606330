"""Sequence numbers of changes: given out at once, reserved in the database in blocks.

A number is reserved before it is used, so a number that left in a document and was lost with a killed run
is never given to another change.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from llmsspider.store.database import Database
from llmsspider.store.schema import source

BLOCK = 1000


class Sequence:
    """The numbers one run may give out; growing, with gaps after a kill or beside another run."""

    def __init__(self, database: Database, source_id: int):
        self._database = database
        self._source_id = source_id
        self._next = 0
        self._end = 0

    def take(self) -> int:
        """The next number. Touches the database once in `BLOCK` calls."""
        if self._next == self._end:
            self._reserve()
        self._next += 1
        return self._next - 1

    def give_back(self) -> None:
        """Return what is left of the block, unless another run has reserved numbers after it."""
        unused = (source.c.id == self._source_id) & (source.c.next_seq == self._end)
        if self._next < self._end:
            returned = update(source).where(unused).values(next_seq=self._next)
            self._database.write(lambda connection: connection.execute(returned))
            self._next = self._end = 0

    def _reserve(self) -> None:
        mine = source.c.id == self._source_id

        def reserve(connection: Connection) -> int:
            first: int = connection.execute(
                select(source.c.next_seq).where(mine).with_for_update()
            ).scalar_one()
            connection.execute(update(source).where(mine).values(next_seq=first + BLOCK))
            return first

        self._next = self._database.write(reserve)
        self._end = self._next + BLOCK
