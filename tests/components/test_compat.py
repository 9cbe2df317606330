"""Private names of others stand in three modules, and are there in what is installed."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from patterns import modules
from private_names import PRIVATE_NAMES
from scrapy.utils.misc import load_object

import llmsspider

PACKAGE = Path(llmsspider.__file__).parent
PLACES = {"downloadermiddlewares/downloader.py", "browser/page_load.py", "answers/mcp.py"}
FRAMEWORKS = {"scrapy", "twisted", "scrapy_playwright", "scrapy_dotpersistence", "sh_scrapy"}
DOCUMENTED = {"_exit", "_replace", "_asdict", "_mapping", "_Element", "_Decompress"}
"""Public for all their underscore: of os, named tuples, SQLAlchemy's rows, and the types of lxml and zlib."""


@pytest.mark.parametrize(("path", "name", "parameters"), PRIVATE_NAMES)
def test_a_private_name_is_what_it_was(path, name, parameters):
    owner = load_object(path)
    if parameters is None:
        assert name in owner.__init__.__code__.co_names, f"{path}.{name} is gone"
        return
    assert hasattr(owner, name), f"{path}.{name} is gone"
    assert tuple(inspect.signature(getattr(owner, name)).parameters) == parameters


def test_private_names_of_others_are_touched_in_three_modules():
    touched = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).as_posix() not in PLACES
        for name in private_names(path) - DOCUMENTED
    }
    assert touched == set()


def test_private_methods_of_others_are_overridden_in_two_modules():
    overridden = {
        f"{cls.__module__}.{cls.__name__}.{name} of {base.__name__}"
        for cls in our_classes()
        if f"{cls.__module__.partition('.')[2].replace('.', '/')}.py" not in PLACES
        for name, value in vars(cls).items()
        if name.startswith("_") and not name.startswith("__") and inspect.isroutine(value)
        for base in cls.__mro__
        if base.__module__.partition(".")[0] in FRAMEWORKS and name in vars(base)
    }
    assert overridden == set()


def private_names(path: Path) -> set[str]:
    """The private attributes that a module touches and that neither it nor what it imports from us defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    known = defined(tree)
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("llmsspider"):
            for name in [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]:
                known |= defined_by(name)
    found = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    found |= {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("llmsspider")
        for alias in node.names
    }
    return {name for name in found - known if name.startswith("_") and not name.startswith("__")}


def defined(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


@cache
def defined_by(module: str) -> set[str]:
    place = PACKAGE.parent.joinpath(*module.split("."))
    files = [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
    return {name for file in files for name in defined(ast.parse(file.read_text(encoding="utf-8")))}


def our_classes() -> Iterator[type]:
    for name in modules():
        found = vars(importlib.import_module(name)).values()
        yield from (
            value for value in found if isinstance(value, type) and value.__module__ == name
        )
