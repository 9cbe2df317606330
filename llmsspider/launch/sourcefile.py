"""`sources.toml`: the sources to crawl, each with the arguments of the spider `docs` by name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmsspider.config import profiles
from llmsspider.config.arguments import DocsArguments, check_arguments
from llmsspider.config.sources import default_name
from llmsspider.errors import ArgumentsError

if TYPE_CHECKING:
    from pathlib import Path

_KEYS = {"defaults", "sources"}
_ANY_URL = "https://docs.example.com/"


@dataclass(slots=True, frozen=True)
class SourceEntry:
    """One source of the file: its name in the store, and its spider arguments as text."""

    name: str
    arguments: dict[str, str]


def read_entries(path: Path, stored_name: Callable[[str], str | None]) -> list[SourceEntry]:
    """Return the sources of a file, in its order.

    Args:
        path: the file.
        stored_name: gives the name of the source that was first crawled from a URL, None for a new one.

    Raises:
        ArgumentsError: one line for each mistake.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError([f"{path}: {getattr(error, 'strerror', None) or error}"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ArgumentsError([f"{path}: {error}"]) from None
    try:
        return parse_entries(content, stored_name)
    except ArgumentsError as error:
        raise ArgumentsError([f"{path}: {problem}" for problem in error.problems]) from None


def parse_entries(content: dict[str, Any], stored_name: Callable[[str], str | None]) -> list[SourceEntry]:
    """Return the sources of the file's content; see `read_entries`."""
    problems = [
        f"{key} is unknown (accepted: [defaults], [[sources]])" for key in content if key not in _KEYS
    ]
    tables = content.get("sources")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ArgumentsError([*problems, "it lists no source: write [[sources]] with url or source below it"])
    defaults = content.get("defaults", {})
    problems += _problems_of_defaults(defaults)
    if problems:
        raise ArgumentsError(problems)
    entries: dict[str, int] = {}
    found = []
    for number, table in enumerate(tables, 1):
        where = f"source {number} ({table.get('source') or table.get('url') or 'without url and source'})"
        try:
            entry = _entry({**defaults, **table}, stored_name)
        except ArgumentsError as error:
            problems += [f"{where}: {problem}" for problem in error.problems]
            continue
        first = entries.setdefault(entry.name, number)
        if first != number:
            problems.append(f"{where}: the same source as {first}, {entry.name}; name it with source=")
        found.append(entry)
    if problems:
        raise ArgumentsError(problems)
    return found


def _problems_of_defaults(defaults: object) -> list[str]:
    if not isinstance(defaults, dict):
        return ["[defaults] is a table of arguments"]
    own = [name for name in ("url", "source", "llms_txt") if name in defaults]
    if own:
        return [f"[defaults]: {name} belongs to one source" for name in own]
    try:
        check_arguments(DocsArguments, {**_spelled(defaults), "url": _ANY_URL})
    except ArgumentsError as error:
        return [f"[defaults]: {problem}" for problem in error.problems]
    return []


def _entry(table: dict[str, Any], stored_name: Callable[[str], str | None]) -> SourceEntry:
    given = _spelled(table)
    checked = check_arguments(DocsArguments, given)
    profiles.load(checked.profile)
    url = checked.url or ""
    name = checked.source or stored_name(url) or default_name(url)
    return SourceEntry(name, {**given, "source": name})


def _spelled(table: dict[str, Any]) -> dict[str, str]:
    """The values as `-a` takes them; raises `ArgumentsError`."""
    spelled, problems = {}, []
    for name, value in table.items():
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            spelled[name] = "\n".join(value)
        elif isinstance(value, bool):
            spelled[name] = str(value).lower()
        elif isinstance(value, str | int):
            spelled[name] = str(value)
        else:
            problems.append(f"argument {name}: text, a number, true, false or a list of texts is accepted")
    if problems:
        raise ArgumentsError(problems)
    return spelled
