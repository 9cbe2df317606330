"""The chunks of sources in LanceDB: `ITEM_PIPELINES =
{"llmsspider.integrations.lancedb.LanceDBPipeline": 950}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llmsspider.content.markdown.chunks import ChunkRow
from llmsspider.integrations.vectors import Vector, VectorStorePipeline, payload, place


class LanceDBPipeline(VectorStorePipeline):
    """A table of LanceDB in a folder (`vectors#docs`) or bucket (`s3://bucket/vectors#docs`).

    Columns are `vector` and the fields of the chunk. How far a source is, stands in the table
    `NAME-state`.
    """

    extra = "lancedb"

    def connect(self, target: str) -> None:
        """Open the database; a table is made with its first row."""
        import lancedb  # noqa: PLC0415  # an extra

        address, self._name = place(target)
        self._database: Any = lancedb.connect(address)
        self._is_changed = False

    def close(self) -> None:
        """Merge the small files that a delivery leaves."""
        if self._is_changed:
            self._table(self._name).optimize()

    def state(self, source: str) -> Mapping[str, Any]:
        """The JSON in the source's row."""
        table = self._table(f"{self._name}-state")
        found = (
            table.search().where(f"source = {_text(source)}").to_list() if table is not None else []
        )
        return json.loads(found[0]["state"]) if found else {}

    def keep_state(self, source: str, state: Mapping[str, Any]) -> None:
        """Write that row."""
        self._merge(
            f"{self._name}-state", ["source"], [{"source": source, "state": json.dumps(state)}]
        )

    def vectors(self, source: str, pages: Sequence[str]) -> Mapping[str, Vector]:
        """Read the rows of the pages."""
        table = self._table(self._name)
        if table is None:
            return {}
        where = f"source = {_text(source)} AND page IN ({', '.join(map(_text, pages))})"
        found = table.search().where(where).select(["id", "vector"]).to_list()
        return {row["id"]: row["vector"] for row in found}

    def write(self, rows: Sequence[tuple[ChunkRow, Vector]]) -> None:
        """Merge rows by source and id."""
        self._is_changed = True
        made = [{**payload(row), "vector": vector} for row, vector in rows]
        self._merge(self._name, ["source", "id"], made)

    def remove(self, source: str, ids: Sequence[str] | None) -> None:
        """Delete rows."""
        table = self._table(self._name)
        if table is not None:
            self._is_changed = True
            chosen = "" if ids is None else f" AND id IN ({', '.join(map(_text, ids))})"
            table.delete(f"source = {_text(source)}{chosen}")

    def _table(self, name: str) -> Any:
        try:
            return self._database.open_table(name)
        except ValueError:  # how LanceDB says it
            return None

    def _merge(self, name: str, keys: list[str], rows: list[dict[str, Any]]) -> None:
        import pyarrow  # noqa: PLC0415  # LanceDB brings it

        texts = pyarrow.list_(pyarrow.string())
        types = {"heading_path": texts, "code_languages": texts, "size": pyarrow.int64()}
        if "vector" in rows[0]:
            types["vector"] = pyarrow.list_(pyarrow.float32(), len(rows[0]["vector"]))
        schema = pyarrow.schema(
            [(column, types.get(column, pyarrow.string())) for column in rows[0]]
        )
        data = pyarrow.Table.from_pylist(rows, schema)
        table = self._table(name)
        if table is None:
            self._database.create_table(name, data)
        else:
            table.merge_insert(
                keys
            ).when_matched_update_all().when_not_matched_insert_all().execute(data)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
