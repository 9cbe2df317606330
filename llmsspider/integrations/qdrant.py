"""The chunks of sources in Qdrant: `ITEM_PIPELINES =
{"llmsspider.integrations.qdrant.QdrantPipeline": 950}`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from llmsspider.content.markdown.chunks import ChunkRow
from llmsspider.integrations.vectors import Vector, VectorStorePipeline, payload, place

AT_ONCE = 256
"""Points of one request."""


class QdrantPipeline(VectorStorePipeline):
    """A collection of a Qdrant server (`http://localhost:6333#docs`), or of a folder without one
    (`vectors#docs`).

    The environment variable `QDRANT_API_KEY` is sent to a server. Points have the UUID of source
    and chunk id, and the fields of the chunk as payload; distances are cosines. How far a source
    is, stands in the collection `NAME-state`.
    """

    extra = "qdrant"

    def connect(self, target: str) -> None:
        """Open the client; a collection is made with the first vector."""
        from qdrant_client import QdrantClient  # noqa: PLC0415  # an extra

        address, self._name = place(target)
        if address.startswith(("http://", "https://")):
            self._client = QdrantClient(url=address, api_key=os.environ.get("QDRANT_API_KEY"))
        else:
            self._client = QdrantClient(path=address)

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def state(self, source: str) -> Mapping[str, Any]:
        """The payload of the source's one point."""
        name = f"{self._name}-state"
        if not self._client.collection_exists(name):
            return {}
        found = self._client.retrieve(name, [_id(source, "")])
        return (found[0].payload or {}) if found else {}

    def keep_state(self, source: str, state: Mapping[str, Any]) -> None:
        """Write that point; it needs a vector, of one number."""
        self._upsert(f"{self._name}-state", 1, [(_id(source, ""), [1.0], dict(state))])

    def vectors(self, source: str, pages: Sequence[str]) -> Mapping[str, Vector]:
        """Scroll over the points of the pages."""
        return {point.payload["id"]: point.vector for point in self._points(source, pages)}

    def write(self, rows: Sequence[tuple[ChunkRow, Vector]]) -> None:
        """Upsert points."""
        points = [(_id(row.source, str(row.id)), vector, payload(row)) for row, vector in rows]
        self._upsert(self._name, len(rows[0][1]), points)

    def remove(self, source: str, ids: Sequence[str] | None) -> None:
        """Delete points by id, or by source."""
        from qdrant_client import models  # noqa: PLC0415

        if self._client.collection_exists(self._name):
            if ids is None:
                chosen: Any = models.FilterSelector(filter=_where(source))
            else:
                chosen = models.PointIdsList(points=[_id(source, one) for one in ids])
            self._client.delete(self._name, chosen)

    def _points(self, source: str, pages: Sequence[str]) -> Iterator[Any]:
        offset: Any = None
        if not self._client.collection_exists(self._name):
            return
        while True:
            where = _where(source, pages)
            found, offset = self._client.scroll(
                self._name, where, limit=AT_ONCE, offset=offset, with_vectors=True
            )
            yield from found
            if offset is None:
                return

    def _upsert(
        self, name: str, size: int, points: Sequence[tuple[str, Vector, dict[str, Any]]]
    ) -> None:
        from qdrant_client import models  # noqa: PLC0415

        if not self._client.collection_exists(name):
            parameters = models.VectorParams(size=size, distance=models.Distance.COSINE)
            self._client.create_collection(name, vectors_config=parameters)
        for start in range(0, len(points), AT_ONCE):
            part = points[start : start + AT_ONCE]
            made = [
                models.PointStruct(id=one, vector=list(vector), payload=data)
                for one, vector, data in part
            ]
            self._client.upsert(name, made, wait=True)


def _id(source: str, chunk: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"{source} {chunk}"))


def _where(source: str, pages: Sequence[str] | None = None) -> Any:
    from qdrant_client import models  # noqa: PLC0415

    must: list[Any] = [models.FieldCondition(key="source", match=models.MatchValue(value=source))]
    if pages is not None:
        must.append(models.FieldCondition(key="page", match=models.MatchAny(any=list(pages))))
    return models.Filter(must=must)
