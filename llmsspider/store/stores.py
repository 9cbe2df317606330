"""The stores of a project: where they are, and the class that opens, lists and deletes them (`LLMS_STORE_CLASS`)."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from w3lib.url import canonicalize_url

from llmsspider.errors import ArgumentsError, UnknownSourceError
from llmsspider.loading import find
from llmsspider.store.records import SourceRecord
from llmsspider.store.store import Store

logger = logging.getLogger(__name__)

DEFAULT_CLASS = "llmsspider.store.Store"

METHODS = tuple(sorted(name for name in dir(Store) if not name.startswith("_")))
"""The methods that a store class needs."""


@dataclass(slots=True, frozen=True)
class Stores:
    """`url` is that of a PostgreSQL database, None for one SQLite file a source in `data_dir`."""

    url: str | None = None
    data_dir: Path | None = None
    kind: type[Store] = Store

    def open(self, source: str, *, create: bool = True) -> Store:
        """The open store of a source; see `Store.open`."""
        return self.kind.open(self.url, self.data_dir, source, create=create)

    def list_sources(self) -> tuple[list[SourceRecord], list[str]]:
        """Every source, and a line for each that cannot be read; see `Store.list_sources`."""
        return self.kind.list_sources(self.url, self.data_dir)

    def list(self) -> list[SourceRecord]:
        """Every source that can be read, by name; what cannot is a warning in the log."""
        found, problems = self.list_sources()
        for problem in problems:
            logger.warning("%s", problem)
        return found

    def get(self, source: str) -> SourceRecord | None:
        """The source of this name as it is stored, its status not filled; None when it is not known.

        Reads this source only, since there may be thousands.
        """
        try:
            with closing(self.open(source, create=False)) as store:
                return store.source_record()
        except UnknownSourceError:
            return None

    def find(self, start_url: str) -> SourceRecord | None:
        """The source first crawled from `start_url` (fragment and order of parameters aside), or None."""
        wanted = canonicalize_url(start_url)
        return next((record for record in self.list() if canonicalize_url(record.url) == wanted), None)

    def delete(self, source: str) -> None:
        """Delete a source with everything stored of it; see `Store.delete`."""
        self.kind.delete(self.url, self.data_dir, source)


def store_class(given: object) -> type[Store]:
    """The class that `LLMS_STORE_CLASS` names.

    Raises:
        ArgumentsError: there is no such class, or it lacks methods; one line.
    """
    try:
        found = given if isinstance(given, type) else find(str(given))
        missing = [name for name in METHODS if not callable(getattr(found, name, None))]
        if not isinstance(found, type):
            raise TypeError("it is no class")
        if missing:
            raise TypeError(f"it lacks {', '.join(missing)}")
    except Exception as error:  # whatever the user's module raises
        accepted = "the path of a store class is accepted, see docs/explanation/store.md"
        said = f"{type(error).__name__}: {error}"
        raise ArgumentsError([f"setting LLMS_STORE_CLASS={given!r}: {accepted} ({said})"]) from None
    return found
