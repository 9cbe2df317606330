"""Every library is pinned, with hashes of all that it brings, and its licence is known."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from itertools import chain
from pathlib import Path

import licences
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from llmsspider.web.loading import EXTRAS

PINS = dict(
    re.findall(
        r"^([\w.-]+)(?:\[\w+\])?==([^\s;#]+)",
        (licences.ROOT / "requirements.txt").read_text(),
        re.MULTILINE,
    )
)
HEAVY = dict(
    re.findall(
        r'^([\w.-]+)==(\S+) # extra "',
        (licences.ROOT / "locks/requirements-dev.txt").read_text(),
        re.MULTILINE,
    )
)
"""Extras that requirements.txt leaves out."""

PARTS = ("locks/requirements-base", "locks/requirements-server")
"""Locks of a part of locks/requirements.lock: what a plain install and the container hold."""

BROUGHT = {"pydantic-core", "cryptography"}
"""What is imported of packages that bring it in the one version they work with."""

GUESTS = {"langchain_core", "llama_index", "haystack"}
"""What a loader of `integrations` is for: who imports that module has it."""

OTHERS = (
    "locks/requirements-dev",
    "locks/requirements-cloud",
    "locks/requirements-llamaindex",
    "locks/orchestrators",
)


def imported_modules() -> set[str]:
    """The top-level names of every module imported anywhere."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in (licences.ROOT / "llmsspider").rglob("*.py")
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    return {name.partition(".")[0] for name in names}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: Path) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)(?:\[\w+\])?==([^\s;#]+)", file.read_text(), re.MULTILINE)
    return {normalised(name): version for name, version in found}


def test_the_lock_holds_what_requirements_txt_pins():
    locked = licences.locked()
    assert {name: locked.get(normalised(name)) for name in PINS} == {
        name: (pinned,) for name, pinned in PINS.items()
    }


@pytest.mark.parametrize("name", ["locks/requirements", *PARTS, *OTHERS, "locks/lowest"])
def test_every_package_of_a_lock_has_hashes_and_nothing_says_where_it_comes_from(name):
    lock = (licences.ROOT / f"{name}.lock").read_text()
    entries = re.split(r"(?m)^(?=[a-z])", lock)[1:]
    assert len(entries) > 50
    assert [entry.partition(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"(?i)index-url|find-links|://|\.org|trusted-host", lock)


@pytest.mark.parametrize("name", PARTS)
def test_a_lock_of_a_part_has_the_versions_of_the_whole(name):
    whole, part = licences.locked(), pins(licences.ROOT / f"{name}.lock")
    assert {
        package: whole[package]
        for package, version in part.items()
        if version not in whole[package]
    } == {}
    project = tomllib.loads((licences.ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = ["mcp", "postgresql"] if name == "locks/requirements-server" else []
    wanted = [
        *project["dependencies"],
        *(line for extra in extras for line in project["optional-dependencies"][extra]),
    ]
    assert {normalised(re.split(r"[^\w.-]", line)[0]) for line in wanted} <= part.keys(), (
        "run: make lock"
    )
    assert part.keys().isdisjoint({"playwright", "pyarrow", "boto3", "numpy"})
    assert ("mcp" in part, "psycopg" in part) == ((name == "locks/requirements-server"),) * 2


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_locks_hold_what_their_files_pin(name):
    pinned = pins(licences.ROOT / f"{name}.txt")
    locked = pins(licences.ROOT / f"{name}.lock")
    assert pinned
    assert pinned.items() <= locked.items()


def declared() -> dict[str, SpecifierSet]:
    """The ranges that pyproject.toml declares, those of the extras among them."""
    project = tomllib.loads((licences.ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    lines = [
        *project["dependencies"],
        *chain.from_iterable(project["optional-dependencies"].values()),
    ]
    found = map(Requirement, lines)
    return {normalised(requirement.name): requirement.specifier for requirement in found}


def test_pyproject_declares_ranges_and_the_newest_of_them_is_pinned():
    pinned = {normalised(name): version for name, version in {**PINS, **HEAVY}.items()}
    assert pinned.keys() == declared().keys()
    assert {name: spec for name, spec in declared().items() if pinned[name] not in spec} == {}
    assert [
        name
        for name, spec in declared().items()
        if {"==", "==="} & {part.operator for part in spec}
    ] == []


def test_the_lowest_versions_that_are_declared_are_those_that_are_tested():
    lowest = pins(licences.ROOT / "locks" / "lowest.lock")
    least = {
        name: next(part.version for part in spec if part.operator == ">=")
        for name, spec in declared().items()
    }
    assert {name: Version(lowest[name]) for name in least} == {
        name: Version(version) for name, version in least.items()
    }


def test_the_tests_of_the_lowest_versions_exist():
    makefile = (licences.ROOT / "Makefile").read_text(encoding="utf-8")
    groups = re.findall(r"^LOWEST_(SCRAPY|STORES|TEXT) := (.*)", makefile, re.MULTILINE)
    folders = {"SCRAPY": "components", "STORES": "components", "TEXT": "unit"}
    named = [
        f"tests/{folders[group]}/test_{name}.py"
        for group, names in groups
        for name in names.split()
    ]
    named += re.findall(r"tests/\w+/\w+\.py(?=[:\s])", makefile)
    assert len(named) > 20
    assert [name for name in named if not (licences.ROOT / name).is_file()] == []


def test_tests_and_crawls_agree_on_versions():
    ours, dev = licences.locked(), pins(licences.ROOT / "locks/requirements-dev.lock")
    assert {
        name: dev[name] for name in dev.keys() & ours.keys() if dev[name] not in ours[name]
    } == {}


def test_what_is_installed_has_hashes():
    makefile = (licences.ROOT / "Makefile").read_text()
    installs = re.findall(r"pip install (.*(?:\\\n.*)?)", makefile)
    assert [
        line for line in installs if "--require-hashes" not in line and "uv==" not in line
    ] == []


def test_the_tests_run_with_the_versions_of_the_lock():
    installed = {}
    for name, versions in licences.locked().items():
        if name not in licences.ELSEWHERE:
            installed[name] = version(name) in versions
    assert [name for name, same in installed.items() if not same] == []


def test_what_is_imported_is_pinned_itself():
    pinned = {normalised(name) for name in (*PINS, *HEAVY)} | BROUGHT
    providers = packages_distributions()
    ours = set(sys.stdlib_module_names) | {"llmsspider", "compression"} | GUESTS
    if sys.version_info >= (3, 14):
        ours.add("backports")  # of the Zstandard that is in the standard library now
    unpinned = {
        module
        for module in imported_modules() - ours
        if not {normalised(provider) for provider in providers.get(module, [])} & pinned
    }
    assert unpinned == set()


def test_the_list_of_licences_is_that_of_the_lock():
    page = licences.ROOT / "docs" / "reference" / "licences.md"
    assert page.read_text(encoding="utf-8") == licences.table(), "run: make licences"


def test_no_package_is_without_a_licence_or_under_the_gpl():
    for name in licences.locked():
        licence = licences.licence_of(name)
        assert licence != "none given"
        free = licence.replace("Lesser General Public", "").replace("LGPL", "")
        assert not re.search(r"\b(A?GPL|General Public)", free)


def test_a_bench_without_nginx_is_one_line(tmp_path: Path) -> None:
    """Of programs that are missing; nginx in /usr/sbin is found with any PATH."""
    environment = {**os.environ, "PATH": str(tmp_path)}
    program = [sys.executable, str(licences.ROOT / "benchmarks" / "compare.py"), "start"]
    done = subprocess.run(
        program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("make bench needs git, ")
    assert line.endswith(": apt-get install git nginx-light wget")


def test_what_a_missing_extra_names_is_what_it_brings() -> None:
    extras = tomllib.loads((licences.ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]["optional-dependencies"]
    assert {extra: list(packages.values()) for extra, packages in EXTRAS.items()} == dict(
        sorted(extras.items())
    )


def test_the_check_runs_on_three_systems_with_every_python_that_is_declared():
    text = (licences.ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    project = tomllib.loads((licences.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = set(re.findall(r"Python :: (3\.\d+)", str(project["project"]["classifiers"])))
    for job in jobs.values():
        assert declared <= set(job["strategy"]["matrix"]["python"])
    systems = {jobs["linux"]["runs-on"], *jobs["elsewhere"]["strategy"]["matrix"]["system"]}
    assert {system.partition("-")[0] for system in systems} == {"ubuntu", "macos", "windows"}
    named = re.findall(r"\b(?:tests|locks)/[\w./-]+", text)
    assert named
    assert all((licences.ROOT / name).exists() for name in named)
