"""Profiles: named pipeline configurations (TOML), each naming its filter, hash and export stages.

A profile stands above the project's settings and below `-s`; what is a dictionary (pipelines, feeds, handlers) it adds
to them. Those that ship are in the package `pipelines_config`; a user's own is picked by its path
(docs/reference/profiles.md).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from llmsspider.errors import ArgumentsError

PACKAGE = "pipelines_config"
STAGES = {"filter": 100, "hash": 800, "export": 900}
"""The pipeline stages, with their order numbers."""

_SPIDER = 30
"""The priority of a profile's settings, as a number (`scrapy.settings.SETTINGS_PRIORITIES["spider"]`)."""

_KEYS = {"description", "stages", "settings", "arguments"}
_OF_A_SOURCE = {"url", "source", "llms_txt", "profile", "save"}
"""Arguments that say what is crawled; a profile says how."""


class MutableSettings(Protocol):
    """The part of `scrapy.settings.BaseSettings` that takes a profile."""

    def get(self, name: Any, default: Any = None) -> Any: ...  # noqa: D102
    def getpriority(self, name: Any) -> int | None: ...  # noqa: D102
    def set(self, name: Any, value: Any, priority: Any = "project") -> None: ...  # noqa: D102


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
    return _settings(name, _parse(name, _read(name)))


def put_in_force(profile: Mapping[str, Any], settings: MutableSettings) -> None:
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
    profile = _parse(name, _read(name))
    _settings(name, profile)
    return {key: _spelled(value) for key, value in profile.get("arguments", {}).items()}


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(name: str) -> str:
    try:
        if name.endswith(".toml"):
            return Path(name).read_text(encoding="utf-8")
        if name in names():
            return files(PACKAGE).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError([f"argument profile={name!r}: cannot be read ({error})"]) from None
    raise ArgumentsError(
        [f"argument profile={name!r}: accepted are {', '.join(names())}, or the path of a .toml file"]
    )


def _parse(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentsError([f"argument profile={name!r}: not valid TOML ({error})"]) from None


def _settings(name: str, profile: dict[str, Any]) -> dict[str, Any]:
    problems = [
        f"unknown key {key!r} (accepted: {', '.join(sorted(_KEYS))})" for key in profile if key not in _KEYS
    ]
    stages = profile.get("stages", {})
    settings = profile.get("settings", {})
    if not isinstance(stages, dict) or not isinstance(settings, dict):
        problems.append("[stages] and [settings] must be tables")
        stages, settings = {}, {}
    given = profile.get("arguments", {})
    if not isinstance(given, dict):
        problems.append("[arguments] must be a table")
    else:
        problems += [
            f"argument {key!r} belongs to a source, not to a profile"
            for key in sorted(_OF_A_SOURCE & set(given))
        ]
    problems += [f"[stages] lacks {stage!r}" for stage in STAGES if stage not in stages]
    problems += [
        f"unknown stage {stage!r} (accepted: {', '.join(STAGES)})" for stage in stages if stage not in STAGES
    ]
    problems += [
        f"stage {stage} must be the path of a class" for stage, path in stages.items() if not _dotted(path)
    ]
    problems += [f"setting {key!r} is not upper case" for key in settings if not key.isupper()]
    if problems:
        raise ArgumentsError([f"argument profile={name!r}: {problem}" for problem in problems])
    return {"ITEM_PIPELINES_BASE": {stages[stage]: order for stage, order in STAGES.items()}, **settings}


def _dotted(path: object) -> bool:
    return isinstance(path, str) and "." in path and all(part.isidentifier() for part in path.split("."))
