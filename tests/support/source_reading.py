"""What the package's own source says it reads and counts, for the tests that hold the docs to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "llmsspider"
COUNTERS = {"count", "_count"}
"""Methods that put `llms/` before the name they are given."""

REASON = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of each module."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def nodes() -> Iterator[ast.AST]:
    """Every node of every module."""
    for tree in trees().values():
        yield from ast.walk(tree)


@cache
def strings() -> frozenset[str]:
    """Every string constant."""
    return frozenset(
        node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def imported_modules() -> set[str]:
    """The top-level names of every module imported anywhere."""
    names = {alias.name for node in nodes() if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module for node in nodes() if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    return {name.partition(".")[0] for name in names}


def settings_read() -> set[str]:
    """The names of `LLMS_` settings that some string of the source is."""
    return {text for text in strings() if re.fullmatch(r"LLMS_[A-Z0-9_]+", text)}


def stats() -> set[str]:
    """The stats counted, without `llms/`; the part of a name that is computed is `*`."""
    found = set()
    for call in (node for node in nodes() if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for argument in call.args:
            text = _text(argument)
            if text is None:
                continue
            if text.startswith("llms/"):
                found |= {text.removeprefix("llms/")} - {"*"}
            elif name in COUNTERS and argument is call.args[0] and _is_stat(text):
                found.add(text)
    families = {stat.partition("/")[0] for stat in found if "/" in stat}
    named = (text for text in strings() if text.partition("/")[0] in families)
    return found | {text for text in named if re.fullmatch(r"[a-z-]+/[a-z0-9-]+", text)}


def reasons() -> set[str]:
    """The reasons a URL is left out or refused for.

    They stand as keyword `reason=`, as second argument of `leave_out` and `Cut`, as what a variable `reason` is
    set to, as the first of a pair `(reason, rule)` that a function returns or `PageResult` takes, or come from a
    function named `_reason…`.
    """
    return {text for node in nodes() for part in _reason_parts(node) for text in _reasons_in(part)}


def _reason_parts(node: ast.AST) -> Iterator[ast.AST | None]:
    if isinstance(node, ast.keyword) and node.arg == "reason":
        yield node.value
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in {"leave_out", "Cut"} and len(node.args) > 1:
            yield node.args[1]
        elif name == "PageResult":
            yield from (argument for argument in node.args if isinstance(argument, ast.Tuple))
    elif isinstance(node, ast.Assign) and any(
        getattr(target, "id", "") == "reason" for target in node.targets
    ):
        yield node.value
    elif isinstance(node, ast.FunctionDef) and (_returns_pair(node) or node.name.startswith("_reason")):
        yield from (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return))


def _returns_pair(function: ast.FunctionDef) -> bool:
    return function.returns is not None and ast.unparse(function.returns) == "tuple[str, str] | None"


def _reasons_in(value: ast.AST | None) -> Iterator[str]:
    """The reasons in an expression: itself, the branches of a condition, the first of a tuple."""
    if isinstance(value, ast.IfExp):
        yield from _reasons_in(value.body)
        yield from _reasons_in(value.orelse)
    elif isinstance(value, ast.Tuple) and value.elts:
        yield from _reasons_in(value.elts[0])
    elif isinstance(value, ast.Constant) and isinstance(value.value, str) and REASON.fullmatch(value.value):
        yield value.value


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
    return None


def _is_stat(text: str) -> bool:
    return re.fullmatch(r"[a-z][a-z-]*(/[a-z0-9*-]+)*", text) is not None
