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
        cells = _cells(notebook)
        if cells is None:
            raise NotANotebookError("it has no cells")
        return "\n\n".join(_Writing(_language(notebook)).parts(cells)) + "\n"


def _cells(notebook: object) -> list[Any] | None:
    if not isinstance(notebook, dict):
        return None
    if isinstance(notebook.get("cells"), list):
        return list(notebook["cells"])
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells") or []]


def _language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    for place, name in (("language_info", "name"), ("kernelspec", "language")):
        found = about.get(place)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name]).split()[0].lower() if found[name].strip() else ""
    return "python"


class _Writing:
    """The state of converting the cells of one notebook to Markdown."""

    def __init__(self, language: str):
        self._language = language
        self._room = MAX_OUTPUTS

    def parts(self, cells: list[Any]) -> Iterator[str]:
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
                    yield code_block(source.strip("\n"), self._language)
                for output in cell.get("outputs") or []:
                    yield from self._output(output)

    def _output(self, output: Any) -> Iterator[str]:
        if not isinstance(output, dict) or self._room <= 0:
            return
        text, is_markdown = _shown(output)
        text = _ESCAPES.sub("", text).strip("\n")
        if not text.strip():
            return
        left = len(text) - MAX_OUTPUT
        if left > 0:
            text = f"{text[:MAX_OUTPUT]}\n… ({left} more characters)"
        self._room -= len(text)
        yield text if is_markdown and left <= 0 else code_block(text, "")


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
