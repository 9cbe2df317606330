"""Jupyter notebooks as Markdown: text as it is, code in fences, outputs as far as they are text and not too long.

The format is nbformat 4 (https://nbformat.readthedocs.io/); worksheets of version 3 are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from llmsspider.content.markdown.commonmark import code_block

MAX_OUTPUT = 2_000
"""Maximum number of characters of one output."""
MAX_OUTPUTS = 200_000
"""Maximum number of characters of all outputs of a notebook."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EMBEDDED = re.compile(r"!\[[^\]\[\n!]{0,300}\]\((?:attachment:|data:)[^)\n!\[]*\)")


class NotANotebookError(ValueError):
    """The body is no notebook."""


class NotebookHandler:
    """Converts a notebook to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; raises `NotANotebookError`."""
        try:
            notebook = orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError as error:
            raise NotANotebookError(f"it is no JSON ({error})") from None
        notebook = notebook if isinstance(notebook, dict) else {}
        cells = notebook.get("cells")
        if not isinstance(cells, list):
            if not isinstance(sheets := notebook.get("worksheets"), list):
                raise NotANotebookError("it has no cells")
            cells = [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or []]
        return "\n\n".join(_parts(cells, _language(notebook))) + "\n"


def _language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    for place, name in (("language_info", "name"), ("kernelspec", "language")):
        found = about.get(place)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name]).split()[0].lower() if found[name].strip() else ""
    return "python"


def _parts(cells: list[Any], language: str) -> Iterator[str]:
    """Yield the Markdown of each cell and of its outputs."""
    room = MAX_OUTPUTS
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = _text(cell.get("source", cell.get("input")))
        kind = cell.get("cell_type")
        if kind == "markdown":
            yield _EMBEDDED.sub("", source).strip("\n")
        elif kind == "heading":  # version 3
            level = cell.get("level")
            yield f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 1)} {source.strip()}"
        elif kind == "code":
            if source.strip():
                yield code_block(source.strip("\n"), language)
            for output in cell.get("outputs") or []:
                if not isinstance(output, dict) or room <= 0:
                    continue
                text, is_markdown = _shown(output)
                text = _ESCAPES.sub("", text).strip("\n")
                if not text.strip():
                    continue
                if left := max(len(text) - MAX_OUTPUT, 0):
                    text = f"{text[:MAX_OUTPUT]}\n… ({left} more characters)"
                room -= len(text)
                yield text if is_markdown and not left else code_block(text, "")


def _shown(output: dict[str, Any]) -> tuple[str, bool]:
    """Return the text of an output, and whether it is Markdown; empty for images and HTML."""
    kind = output.get("output_type")
    if kind in {"error", "pyerr"}:
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}", False
    if kind == "stream":
        return _text(output.get("text")), False
    data = output.get("data")
    data = data if isinstance(data, dict) else output
    if "text/markdown" in data:
        return _EMBEDDED.sub("", _text(data["text/markdown"])), True
    pictures = any(name.startswith("image/") for name in data)
    return ("" if pictures else _text(data.get("text/plain", data.get("text")))), False


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
