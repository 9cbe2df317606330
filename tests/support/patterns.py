"""Every regular expression of the package: compiled ones by importing it, those in calls of `re` by reading it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llmsspider

ROOT = Path(llmsspider.__file__).parent
METHODS = {"match": "match", "fullmatch": "fullmatch", "search": "search"}
"""How a method goes over a text; all others go over the whole of it."""
NO_METHODS = {"pattern", "flags", "groups", "groupindex"}
"""What is read of a pattern without a text: one that is a part of another is tried in that."""

GUESTS = tuple(
    f"llmsspider.integrations.{name}" for name in ("haystack", "langchain", "llamaindex")
)
"""Modules that need packages which not every environment of the tests has (tests/integration/test_loaders.py)."""


@dataclass(frozen=True)
class Found:
    """One pattern: where it stands (`module.name`, or `module:line`), and the methods it is used with."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def modules() -> list[str]:
    """The names of all modules that can be imported here."""
    names = [info.name for info in pkgutil.walk_packages([str(ROOT)], "llmsspider.")]
    return [name for name in names if name not in GUESTS and not name.endswith("__main__")]


def compiled() -> Iterator[Found]:
    """Yield the compiled patterns that are attributes of modules and classes, containers included."""
    uses = _uses()
    seen: set[int] = set()
    for module_name in modules():
        module = importlib.import_module(module_name)
        for name, value in sorted(vars(module).items()):
            owned = [(name, value)]
            if isinstance(value, type) and value.__module__ == module_name:
                owned += [(f"{name}.{key}", part) for key, part in sorted(vars(value).items())]
            for key, part in owned:
                for index, pattern in _patterns(part):
                    if id(pattern) in seen or not _is_ours(module_name, name):
                        continue
                    seen.add(id(pattern))
                    methods = (
                        uses.get((module_name, key.rpartition(".")[2]), {"finditer"})
                        if not index
                        else {"finditer"}
                    )
                    yield Found(f"{module_name}.{key}{index}", pattern, frozenset(methods))


def _is_ours(module_name: str, name: str) -> bool:
    """Say whether a name is bound by the module itself (one that it imports is found where it is made)."""
    return name not in _imported(module_name)


@cache
def _imported(module_name: str) -> frozenset[str]:
    """The names that a module imports from others."""
    tree = _tree(ROOT.parent / (module_name.replace(".", "/") + ".py"))
    return frozenset(
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _patterns(value: Any, index: str = "") -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield index, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _patterns(part, f"{index}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for number, part in enumerate(value):
            yield from _patterns(part, f"{index}[{number}]")


@cache
def _tree(path: Path) -> ast.Module:
    path = path if path.exists() else path.with_suffix("") / "__init__.py"
    return ast.parse(path.read_text("utf-8"))


def _uses() -> dict[tuple[str, str], set[str]]:
    """Return how each name of a module is used there, and where it is imported: `NAME.match(…)`, or as a value."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in ROOT.rglob("*.py"):
        here, nodes = _module_of(path), list(ast.walk(_tree(path)))
        owners = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        called = set()
        for node in nodes:
            if isinstance(node, ast.Attribute) and (name := _name(node.value)):
                called.add(node.value)
                if node.attr in NO_METHODS:
                    continue
                owner = owners.get(name, (here, name))
                found.setdefault(owner, set()).add(METHODS.get(node.attr, "finditer"))
        for node in nodes:
            is_read = isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
            if is_read and node not in called and (name := _name(node)):
                found.setdefault(owners.get(name, (here, name)), set()).add("finditer")
    return found


def _name(node: ast.AST) -> str:
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def _module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def written_in_calls() -> list[tuple[str, Found | None]]:
    """Return each call of `re` in a function, with its pattern, or None where the pattern is no constant."""
    return list(_written_in_calls())


def _written_in_calls() -> Iterator[tuple[str, Found | None]]:
    for path in sorted(ROOT.rglob("*.py")):
        if "import re\n" not in path.read_text("utf-8"):
            continue
        tree = _tree(path)
        module = _module_of(path)
        for function in ast.walk(tree):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(function):
                if _is_call_of_re(node):
                    yield f"{module}.{function.name}", _found(module, node)


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr != "escape"
    )


def _found(module: str, node: Any) -> Found | None:
    if not isinstance(node.args[0], ast.Constant):
        return None
    flags = 0
    for extra in [
        *node.args[1:],
        *(keyword.value for keyword in node.keywords if keyword.arg == "flags"),
    ]:
        for part in ast.walk(extra):
            if isinstance(part, ast.Attribute) and isinstance(
                getattr(re, part.attr, None), re.RegexFlag
            ):
                flags |= getattr(re, part.attr)
    method = METHODS.get(node.func.attr, "finditer")
    pattern = re.compile(node.args[0].value, flags)
    return Found(f"{module}:{node.lineno}", pattern, frozenset({method}))


def every() -> list[Found]:
    """All patterns of the package."""
    return [*compiled(), *(found for _, found in written_in_calls() if found is not None)]
