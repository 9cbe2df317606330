"""Semantic search, where the user supplies a class that embeds text as vectors (`LLMS_EMBEDDER`).

Vectors are stored by the hash of the embedded text, so that of a changed page only the changed passages are
embedded again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from llmsspider.errors import ArgumentsError, SearchError
from llmsspider.web.loading import find, missing_extra

BATCH = 64
"""Texts that are embedded in one call."""


@runtime_checkable
class Embedder(Protocol):
    """What `LLMS_EMBEDDER` names: a class without arguments.

    `model` (optional) names what makes the vectors; when it changes, every text is embedded again.
    """

    def embed(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, all of one length."""
        ...


def check_embedder(path: object) -> None:
    """Raise `ArgumentsError` if `LLMS_EMBEDDER` names no usable class; no object is made: that may load a model."""
    try:
        found = path if callable(path) else find(str(path))
        if not callable(getattr(found, "embed", None)):
            raise TypeError("it has no method embed")
    except Exception as error:  # whatever the user's module raises
        raise _refused(path, error) from None


def embedder_of(path: object) -> Embedder | None:
    """An object of the class that `LLMS_EMBEDDER` names; None where the setting is empty.

    Raises:
        ArgumentsError: there is no such class, its constructor fails, or numpy is missing; one line.
    """
    if not path:
        return None
    if lack := missing_extra("embeddings"):
        raise ArgumentsError([f"setting LLMS_EMBEDDER: {lack}"])
    try:
        made = (path if callable(path) else cast("type", find(str(path))))()
        if not isinstance(made, Embedder):
            raise TypeError("it has no method embed")
    except Exception as error:  # whatever the user's module raises
        raise _refused(path, error) from None
    return made


def _refused(path: object, error: Exception) -> ArgumentsError:
    accepted = f"the path of a class with embed(texts) is accepted ({type(error).__name__}: {error})"
    return ArgumentsError([f"setting LLMS_EMBEDDER={path!r}: {accepted}"])


class VectorIndex:
    """The vectors of a source, in one SQLite file; unit vectors of 32-bit floats."""

    def __init__(self, path: Path, embedder: Embedder):
        self._embedder = embedder
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        model = str(
            getattr(embedder, "model", "") or f"{type(embedder).__module__}.{type(embedder).__qualname__}"
        )
        self._connection.executescript(
            "PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS meta (model TEXT);"
            "CREATE TABLE IF NOT EXISTS vector (hash BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;"
        )
        if self._connection.execute("SELECT model FROM meta").fetchone() != (model,):
            self._connection.executescript("DELETE FROM meta; DELETE FROM vector;")
            self._connection.execute("INSERT INTO meta VALUES (?)", (model,))

    def missing(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those of the digests that have no vector yet."""
        return set(digests) - {
            bytes(digest) for (digest,) in self._connection.execute("SELECT hash FROM vector")
        }

    def add(self, texts: Iterable[tuple[bytes, str]], until: Callable[[], bool] = lambda: False) -> bool:
        """Embed texts, each with its digest; returns whether all were embedded."""
        remaining = iter(texts)
        while batch := list(islice(remaining, BATCH)):
            vectors = self._vectors([text for _, text in batch])
            rows = [(digest, data) for (digest, _), data in zip(batch, vectors, strict=True)]
            self._connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
            if until():
                return False
        return True

    def nearest(self, text: str, digests: Sequence[bytes], most: int) -> list[tuple[int, float]]:
        """Return the digests nearest to a text, best first: their positions and cosine similarities."""
        import numpy  # noqa: PLC0415

        known = dict(self._connection.execute("SELECT hash, data FROM vector"))
        places = [place for place, key in enumerate(digests) if key in known]
        if not places:
            return []
        matrix = numpy.frombuffer(b"".join(known[digests[place]] for place in places), dtype="<f4").reshape(
            len(places), -1
        )
        cosines = matrix @ numpy.frombuffer(self._vectors([text])[0], dtype="<f4")
        best = numpy.argsort(-cosines)[:most]
        return [(places[row], float(cosines[row])) for row in best]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _vectors(self, texts: list[str]) -> list[bytes]:
        import numpy  # noqa: PLC0415

        try:
            made: Any = numpy.asarray(self._embedder.embed(texts), dtype="<f4")
        except Exception as error:  # whatever the user's class raises
            raise SearchError(f"LLMS_EMBEDDER failed: {type(error).__name__}: {error}") from error
        if made.ndim != 2 or len(made) != len(texts):
            raise SearchError(
                f"LLMS_EMBEDDER gave an array of shape {made.shape} for {len(texts)} texts; one vector each is wanted"
            )
        lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
        return [row.tobytes() for row in made / numpy.where(lengths == 0, 1, lengths)]
