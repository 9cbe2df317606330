"""Semantic search, where the user supplies a class that embeds text as vectors (`LLMS_EMBEDDER`).

Vectors are stored by the hash of the embedded text, so that of a changed page only the changed
passages are embedded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from llmsspider.answers.index import IndexFile, SourceIndex
from llmsspider.answers.ranking import Hit
from llmsspider.errors import ArgumentsError, SearchError
from llmsspider.store import CONTENT, Store
from llmsspider.store.database import batches
from llmsspider.web.loading import find, missing_extra

MAX_NEAREST = 60
BATCH = 64
"""Maximum number of passages that are found by meaning; texts that are embedded in one call."""


class Embedder(Protocol):
    """What `LLMS_EMBEDDER` names: a class without arguments.

    `model` (optional) names what makes the vectors; when it changes, every text is embedded again.
    """

    def embed(self, texts: list[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, all of one length."""
        ...


def check_embedder(path: object) -> None:
    """Raise `ArgumentsError` if `LLMS_EMBEDDER` names no usable class; no object is made: that may
    load a model.
    """
    _made(path, lambda found: found)


def embedder_of(path: object) -> Embedder | None:
    """An object of the class that `LLMS_EMBEDDER` names; None where the setting is empty.

    Raises `ArgumentsError`, one line: there is no such class, its constructor fails, or numpy is
    missing.
    """
    if not path:
        return None
    if lack := missing_extra("embeddings"):
        raise ArgumentsError([f"setting LLMS_EMBEDDER: {lack}"])
    made: Embedder = _made(path, lambda found: found())
    return made


def _made(path: object, make: Callable[[Any], Any]) -> Any:
    try:
        made = make(path if callable(path) else find(str(path)))
        if not callable(getattr(made, "embed", None)):
            raise TypeError("it has no method embed")
    except Exception as error:  # whatever the user's module raises
        accepted = (
            f"the path of a class with embed(texts) is accepted ({type(error).__name__}: {error})"
        )
        raise ArgumentsError([f"setting LLMS_EMBEDDER={path!r}: {accepted}"]) from None
    return made


def model_of(embedder: Embedder) -> str:
    """The name of what makes the vectors: the attribute `model`, else the path of the class."""
    kind = type(embedder)
    return str(getattr(embedder, "model", "") or f"{kind.__module__}.{kind.__qualname__}")


class VectorIndex(IndexFile):
    """The vectors of a source, in one SQLite file; unit vectors of 32-bit floats."""

    def __init__(self, path: Path, embedder: Embedder):
        super().__init__(path)
        self._embedder = embedder
        model = model_of(embedder)
        with self._writing() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS meta (model TEXT)")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vector (hash BLOB PRIMARY KEY, data BLOB NOT NULL)"
                " WITHOUT ROWID"
            )
            if self._all("SELECT model FROM meta") != [(model,)]:
                connection.execute("DELETE FROM meta")
                connection.execute("DELETE FROM vector")
                connection.execute("INSERT INTO meta VALUES (?)", (model,))

    def sync(
        self, index: SourceIndex, store: Store, until: Callable[[], bool] = lambda: False
    ) -> bool:
        """Embed the passages of an index that have no vector yet; returns whether all have one."""
        known = {digest for (digest,) in self._all("SELECT hash FROM vector")}
        lacking: dict[bytes, list[Hit]] = {}  # by page, each text once
        for hit in index.hits_where("TRUE"):
            if hit.digest not in known:
                known.add(hit.digest)
                lacking.setdefault(hit.page, []).append(hit)
        records = store.load_pages(lacking, CONTENT)
        texts = (
            (hit.digest, "\n".join((record.title or "", *hit.heading_path, text)))
            for record, hits in zip(records, lacking.values(), strict=True)
            for hit in hits
            if record is not None and (text := hit.text_in(record))
        )
        for batch in batches(texts, BATCH):
            vectors = embedded(self._embedder, [text for _, text in batch])
            rows = [
                (digest, vector.tobytes())
                for (digest, _), vector in zip(batch, vectors, strict=True)
            ]
            with self._writing() as connection:
                connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
            if until():
                return False
        return True

    def nearest(self, index: SourceIndex, text: str) -> list[Hit]:
        """The passages of an index nearest to a text, scored by cosine similarity."""
        import numpy  # noqa: PLC0415

        known = dict(self._all("SELECT hash, data FROM vector"))
        hits = index.hits_where("TRUE")
        found = [(hit.id, known[hit.digest]) for hit in hits if hit.digest in known]
        if not found:
            return []
        matrix = numpy.frombuffer(b"".join(data for _, data in found), dtype="<f4").reshape(
            len(found), -1
        )
        cosines = matrix @ embedded(self._embedder, [text])[0]
        best = numpy.argsort(-cosines)[:MAX_NEAREST]
        return index.hits({found[row][0]: max(float(cosines[row]), 0.0) for row in best})


def embedded(embedder: Embedder, texts: list[str]) -> Any:
    """The vectors of texts, as an array of 32-bit floats with a row of length 1 for each.

    Raises `SearchError`, one line: the user's class failed, or gave something else.
    """
    import numpy  # noqa: PLC0415

    try:
        made: Any = numpy.asarray(embedder.embed(texts), dtype="<f4")
    except Exception as error:  # whatever the user's class raises
        raise SearchError(f"LLMS_EMBEDDER failed: {type(error).__name__}: {error}") from error
    if made.ndim != 2 or len(made) != len(texts):
        raise SearchError(
            f"LLMS_EMBEDDER gave an array of shape {made.shape} for {len(texts)} texts; one vector"
            " each is wanted"
        )
    lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
    return made / numpy.where(lengths == 0, 1, lengths)
