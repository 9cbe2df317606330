"""Change the code a little, and see whether a test fails: `python benchmarks/mutations.py llmsspider/crawler/learn`.

Each mutation is one change of one module: a comparison, `and`, `not`, a number or a truth turned into its neighbour, a
returned value into None, a statement left out. The tests are those of tests/unit and tests/components that name the
module, or `--tests`. Prints each mutation that lives, and the share of them; `--sample` takes so many of each module, the
same ones for the same `--seed`. Exit code 1 where a larger share than `--most` lives. Linux only: tests run in forks of this process.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import lxml.html  # noqa: F401  # once, for all forks
import markdown_it  # noqa: F401
import pytest
import scrapy.crawler  # noqa: F401
import sqlalchemy  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "llmsspider"
TIMES = 5
"""So many times the time of its tests, a mutation that takes longer has been noticed."""
SECS = 120
"""The least of such times."""
BASE_SECS = 1200
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
SKIPPED = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Pass,
)
"""Statements that are not left out."""


def changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the changes of one node: what it is in words, and what takes its place, or its operator."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        other = SWAPPED[type(node.ops[0])]
        yield other.__name__, ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators)  # type: ignore[list-item]
    elif isinstance(node, ast.BoolOp):
        other = SWAPPED[type(node.op)]
        yield other.__name__, ast.BoolOp(other(), node.values)  # type: ignore[arg-type]
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        other = SWAPPED[type(node.op)]
        yield other.__name__, ast.BinOp(node.left, other(), node.right)  # type: ignore[arg-type]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "no not", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value), ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield str(node.value + 1), ast.Constant(node.value + 1)
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield "return None", ast.Return(ast.Constant(None))
    elif isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)) and not _is_text(node):
        yield "left out", ast.Pass()


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def mutations(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, change and source of each mutation of the functions of a module."""
    inside = [
        (number, node)
        for number, node in enumerate(ast.walk(tree))
        if isinstance(node, (ast.expr, ast.stmt)) and not isinstance(node, SKIPPED)
    ]
    functions = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    bodies = {
        id(one)
        for function in functions
        for statement in function.body
        for one in ast.walk(statement)
    }
    for number, node in inside:
        if id(node) not in bodies:
            continue
        for what, made in changes(node):
            mutated = copy.deepcopy(tree)
            _replace(mutated, list(ast.walk(mutated))[number], made)  # type: ignore[arg-type]
            yield node.lineno, what, ast.unparse(ast.fix_missing_locations(mutated))


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list) and any(one is old for one in value):
                value[next(at for at, one in enumerate(value) if one is old)] = new


def tests_of(module: Path) -> list[str]:
    """Return the tests that name a module: by its path in dots, or its name beside that of its package."""
    dotted = ".".join(module.with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = dotted.rpartition(".")
    found = []
    for folder in ("tests/unit", "tests/components"):
        for path in sorted((ROOT / folder).glob("test_*.py")):
            if path.name.startswith("test_linear"):  # of times alone
                continue
            text = path.read_text("utf-8")
            if dotted in text or (f"from {parent} import" in text and name in text):
                found.append(str(path.relative_to(ROOT)))
    return found


def run(folder: Path, tests: list[str], secs: float) -> bool:
    """Run tests in a fork of this process, with the package of a folder; return whether they passed in time."""
    child = os.fork()
    if child == 0:
        code: int = 2
        try:
            os.chdir(folder)
            sys.path[:0] = [str(folder)]
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            code = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests])
        finally:
            os._exit(int(code != 0))
    ends = time.monotonic() + secs
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    """Mutate modules, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "paths", nargs="*", default=[PACKAGE], help="modules and folders, from the project's root"
    )
    parser.add_argument("--sample", type=int, default=0, help="mutations of each module; 0 is all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=0.1, help="share that may live")
    parser.add_argument("--tests", nargs="*", default=[], help="more tests, for each module")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    given = [Path(path) for path in options.paths]
    modules = [
        module
        for path in given
        for module in ([path] if path.is_file() else sorted(path.rglob("*.py")))
    ]
    lived = tried = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
        for other in ("tests", "pyproject.toml", "scrapy.cfg", "docs", "README.md"):
            if (ROOT / other).exists():
                (folder / other).symlink_to(ROOT / other)
        for module in modules:
            tests = [*tests_of(module), *options.tests]
            source = module.read_text("utf-8")
            found = list(mutations(ast.parse(source)))
            chosen = random.Random(options.seed).sample(
                found, min(options.sample or len(found), len(found))
            )
            began = time.monotonic()
            if not tests or not run(folder, tests, BASE_SECS):
                print(
                    f"{module}: {'its tests fail as it is' if tests else 'no test names it'}",
                    flush=True,
                )
                continue
            secs = max(SECS, TIMES * (time.monotonic() - began))
            alive = []
            for line, what, text in sorted(chosen):
                (folder / module).write_text(text, "utf-8")
                if run(folder, tests, secs):
                    alive.append(
                        f"  {module}:{line} {what}: {source.splitlines()[line - 1].strip()}"
                    )
            (folder / module).write_text(source, "utf-8")
            lived += len(alive)
            tried += len(chosen)
            print(
                "\n".join(
                    [f"{module}: {len(alive)} of {len(chosen)} live ({', '.join(tests)})", *alive]
                ),
                flush=True,
            )
    share = lived / max(tried, 1)
    print(f"{lived} of {tried} mutations live: {share:.0%}")
    raise SystemExit(share > options.most)


if __name__ == "__main__":
    main()
