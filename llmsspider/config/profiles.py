"""Profiles: named pipeline configurations (TOML), each naming its filter, hash and export stages.

A profile stands above the project's settings and below `-s`; what is a dictionary (pipelines, feeds, handlers) it adds
to them. Those that ship are in the package `pipelines_config`; a user's own is picked by its path
(docs/reference/profiles.md).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from llmsspider.config.settings import SettingsLike
from llmsspider.errors import ArgumentsError

PACKAGE = "pipelines_config"
STAGES = {"filter": 100, "hash": 800, "export": 900}
"""The pipeline stages, with their order numbers."""

_SPIDER = 30
"""The priority of a profile's settings, as a number (`scrapy.settings.SETTINGS_PRIORITIES["spider"]`)."""

_KEYS = {"description", "stages", "settings", "arguments"}
_OF_A_SOURCE = {"url", "source", "llms_txt", "profile", "save"}
"""Arguments that say what is crawled; a profile says how."""


def names() -> list[str]:
    """Return the names of the profiles that ship with the project."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in files(PACKAGE).iterdir() if entry.name.endswith(".toml")
    )


def load(name: str) -> dict[str, Any]:
    """Return the Scrapy settings a profile stands for.

    Args:
        name: the name of a profile that ships, or the path of a TOML file (it ends in `.toml`).

    Raises:
        ArgumentsError: unknown profile, unreadable file or wrong content; one line each.
    """
    profile = _read(name)
    stages = {profile["stages"][stage]: order for stage, order in STAGES.items()}
    return {"ITEM_PIPELINES_BASE": stages, **profile.get("settings", {})}


def put_in_force(profile: Mapping[str, Any], settings: SettingsLike) -> None:
    """Set the settings of a profile, above the project's and below those of the command line.

    What is a dictionary is added to what is set: of one key the value of the higher place counts. But the feeds of the
    command line (`-O`, `-s FEEDS`) take the place of the profile's, and its stages that of the project's.
    """
    for name, value in profile.items():
        given, priority = settings.get(name), settings.getpriority(name) or 0
        replaces = name.endswith("_BASE") or not isinstance(value, Mapping) or not isinstance(given, Mapping)
        if replaces:
            settings.set(name, value, priority="spider")
        elif priority <= _SPIDER:
            settings.set(name, {**given, **value}, priority="spider")
        elif name != "FEEDS":
            settings.set(name, {**value, **given}, priority=priority)


def arguments(name: str) -> dict[str, str]:
    """Return the spider arguments of a profile; those that are given, or stored with the source, come before them.

    Raises:
        ArgumentsError: as `load` does.
    """
    given = _read(name).get("arguments", {})
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()
    }


def _read(name: str) -> dict[str, Any]:
    """Return the tables of a profile, checked; raises `ArgumentsError`."""
    try:
        if name.endswith(".toml"):
            profile = tomllib.loads(Path(name).read_text(encoding="utf-8"))
        elif name in names():
            profile = tomllib.loads(files(PACKAGE).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        else:
            accepted = f"accepted are {', '.join(names())}, or the path of a .toml file"
            raise ArgumentsError([f"argument profile={name!r}: {accepted}"])
    except tomllib.TOMLDecodeError as error:
        raise ArgumentsError([f"argument profile={name!r}: not valid TOML ({error})"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError([f"argument profile={name!r}: cannot be read ({error})"]) from None
    problems = list(_problems(profile))
    if problems:
        raise ArgumentsError([f"argument profile={name!r}: {problem}" for problem in problems])
    return profile


def _problems(profile: dict[str, Any]) -> Iterator[str]:
    accepted = ", ".join(sorted(_KEYS))
    yield from (f"unknown key {key!r} (accepted: {accepted})" for key in profile if key not in _KEYS)
    tables = ("stages", "settings", "arguments")
    stages, settings, given = (profile.get(table, {}) for table in tables)
    wrong = [f"[{table}] must be a table" for table in tables if not isinstance(profile.get(table, {}), dict)]
    if wrong:
        yield from wrong
        return
    for key in sorted(_OF_A_SOURCE & set(given)):
        yield f"argument {key!r} belongs to a source, not to a profile"
    yield from (f"[stages] lacks {stage!r}" for stage in STAGES if stage not in stages)
    for stage, path in stages.items():
        if stage not in STAGES:
            yield f"unknown stage {stage!r} (accepted: {', '.join(STAGES)})"
        if not (isinstance(path, str) and "." in path and all(map(str.isidentifier, path.split(".")))):
            yield f"stage {stage} must be the path of a class"
    yield from (f"setting {key!r} is not upper case" for key in settings if not key.isupper())
