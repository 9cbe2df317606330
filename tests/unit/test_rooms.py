"""The house: which names stand on the package's top level, and no circle of files."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from licences import ROOT

PACKAGE = ROOT / "llmsspider"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, anywhere in it, for type checks as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("llmsspider"):
            yield from (
                name if (name := f"{node.module}.{one.name}") in FILES else str(node.module)
                for one in node.names
            )
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in FILES)


def test_no_files_import_each_other_in_a_circle():
    lazily = {
        "llmsspider": set()
    }  # `llmsspider.resolve` and `search` are imported at their first use
    tree = {name: set(imported(path)) - {name} for name, path in FILES.items()} | lazily
    try:
        TopologicalSorter(tree).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_the_top_level_explains_itself():
    names = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    drawn = (ROOT / "docs/pictures/rooms.svg").read_text(encoding="utf-8")
    rows = re.findall(r'<text x="22" [^>]*>([^<]+)', drawn)
    layers = [re.findall(r"\w+", row) for row in rows]
    (contract,) = [one for one in CONTRACTS if one["type"] == "layers"]
    held = [re.findall(r"llmsspider\.(\w+)", layer) for layer in contract["layers"]]
    shown = [sorted(layer) for layer in layers]
    assert shown == [*(sorted(layer) for layer in held[:-2]), ["errors", "items"]]
    rooms = {name for name in names if (PACKAGE / name).is_dir()}
    assert {name for layer in layers for name in layer} - {"items", "errors"} == rooms
