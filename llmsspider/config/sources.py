"""Sources: what is crawled and how, said by the store of an earlier crawl, a profile, or a file of
many sources.

The arguments of a run are what the store keeps of the source, overridden by what is given.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from llmsspider.config.arguments import DocsArguments, check_arguments
from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError
from llmsspider.store import SourceRecord
from llmsspider.store.database import source_slug
from llmsspider.web.loading import SettingsLike, own_code, shipped_table
from llmsspider.web.urls import directory, host


def prepare(
    given: dict[str, Any],
    settings: SettingsLike,
    spider: type | None = None,
    *,
    plan_only: bool = False,
) -> tuple[Config, DocsArguments, SourceRecord | None]:
    """Put the settings of the profile in force, that of the source included; see
    `resolve_arguments` for the rest.

    `spider` is the class that is to crawl, `plan_only` whether discovery is all it does.

    Raises:
        ArgumentsError: an argument, the profile or a setting is wrong.
        StoreError: the store cannot be read.
    """
    profile = check_arguments(DocsArguments, given).profile
    if "profile" in given:
        put_in_force(load_profile(profile), settings)
    config = Config.from_settings(settings)
    arguments, record = resolve_arguments(given, config)
    if "profile" not in given:
        put_in_force(preset := load_profile(arguments.profile), settings)
        if any(name.startswith("LLMS_") for name in preset):
            config = Config.from_settings(settings)
    of_crawl = {
        "own_code": own_code(settings, spider),
        "plan_only": plan_only,
        "preset": preset_arguments(arguments),
    }
    return config.model_copy(update=of_crawl), arguments, record


def resolve_arguments(
    given: dict[str, Any], config: Config
) -> tuple[DocsArguments, SourceRecord | None]:
    """Return the arguments of a run, of what the user passed, and the source it belongs to, None
    for a new one.

    Raises:
        ArgumentsError: one line for each mistake; an unknown source without a URL is one.
        StoreError: the store cannot be read.
    """
    given = {name: value for name, value in given.items() if not name.startswith("_")}
    checked = check_arguments(DocsArguments, given)
    stores = config.stores
    record = (
        stores.find(checked.url or "") if checked.source is None else stores.get(checked.source)
    )
    kept = _kept(record) if record is not None else {}
    profile = str(given.get("profile") or kept.get("profile") or "default")
    arguments = check_arguments(DocsArguments, {**profile_arguments(profile), **kept, **given})
    if record is not None:
        return arguments.model_copy(update={"source": record.name}), record
    if arguments.url is None:
        names = [one.name for one in stores.list()]
        known = f"known are {', '.join(names[:10])}" if names else "none is stored yet"
        what = "is no source that was crawled, and no url is given"
        raise ArgumentsError([f"argument source={arguments.source!r} {what} ({known})"])
    return (
        arguments.model_copy(update={"source": arguments.source or default_name(arguments.url)}),
        None,
    )


def _kept(record: SourceRecord) -> dict[str, Any]:
    """Return the arguments that the store keeps of a source; without those of other versions of the
    project.
    """
    stored = {
        "url": record.url,
        "llms_txt": record.llms_txt,
        "scope": record.scope,
        **record.arguments,
    }
    known = DocsArguments.model_fields
    return {
        name: value for name, value in stored.items() if value not in (None, "") and name in known
    }


def default_name(url: str) -> str:
    """Return the name of a source without one: host and section path.

    >>> default_name("https://docs.example.com/guide/intro"), default_name("https://example.com/")
    ('docs.example.com/guide', 'example.com')
    """
    return (host(url) + directory(url)).rstrip("/")


# --- profiles: named pipeline configurations (TOML), each naming its filter, hash and export stages
# ---
# A profile stands above the settings of the project, below `-s`; what is a dictionary (pipelines,
# feeds) it adds to them. Those that ship are in the package `pipelines_config`; a user's own is
# picked by its path (docs/reference/profiles.md).

PACKAGE = "pipelines_config"
STAGES = {"filter": 100, "hash": 800, "export": 900}
"""The pipeline stages, with their order numbers."""

_SPIDER = 30
"""The priority of a profile's settings, as a number
(`scrapy.settings.SETTINGS_PRIORITIES["spider"]`).
"""

_KEYS = {"description", "stages", "settings", "arguments"}
_OF_A_SOURCE = {"url", "source", "llms_txt", "profile", "save"}
"""Arguments that say what is crawled; a profile says how."""


def profile_names() -> list[str]:
    """Return the names of the profiles that ship with the project."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in files(PACKAGE).iterdir()
        if entry.name.endswith(".toml")
    )


def load_profile(name: str) -> dict[str, Any]:
    """Return the Scrapy settings a profile stands for: one that ships, or a TOML file by its path
    (`….toml`).

    Raises:
        ArgumentsError: unknown profile, unreadable file or wrong content; one line each.
    """
    profile = _read(name)
    stages = {profile["stages"][stage]: order for stage, order in STAGES.items()}
    stages["llmsspider.pipelines.assets.AssetsPipeline"] = 850
    return {"ITEM_PIPELINES_BASE": stages, **deepcopy(profile.get("settings", {}))}


def put_in_force(profile: Mapping[str, Any], settings: SettingsLike) -> None:
    """Set the settings of a profile, above the project's and below those of the command line.

    What is a dictionary is added to what is set: of one key the value of the higher place counts.
    But the feeds of the command line (`-O`, `-s FEEDS`) take the place of the profile's, and its
    stages that of the project's.
    """
    for name, value in profile.items():
        given = settings.get(name)
        priority = settings.getpriority(name) or 0
        replaces = (
            name.endswith("_BASE")
            or not isinstance(value, Mapping)
            or not isinstance(given, Mapping)
        )
        if replaces:
            settings.set(name, value, priority="spider")
        elif priority <= _SPIDER:
            settings.set(name, {**given, **value}, priority="spider")
        elif name != "FEEDS":
            settings.set(name, {**value, **given}, priority=priority)


def profile_arguments(name: str) -> dict[str, str]:
    """Return the spider arguments of a profile; those that are given, or stored with the source,
    come before them.

    Raises:
        ArgumentsError: as `load_profile` does.
    """
    given = _read(name).get("arguments", {})
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
    }


def preset_arguments(arguments: DocsArguments) -> dict[str, Any]:
    """Return the arguments that the profile of a run gives, as JSON has them."""
    given = profile_arguments(arguments.profile)
    checked = check_arguments(DocsArguments, {"url": arguments.url, **given}) if given else None
    return checked.model_dump(mode="json", exclude_unset=True) if checked is not None else {}


def _read(name: str) -> dict[str, Any]:
    """Return the tables of a profile, checked; raises `ArgumentsError`."""
    return _read_file(name) if name.endswith(".toml") else _shipped(name)


def _read_file(name: str) -> dict[str, Any]:
    try:
        if name.endswith(".toml"):
            profile = tomllib.loads(Path(name).read_text(encoding="utf-8"))
        elif name in profile_names():
            profile = shipped_table(PACKAGE, name)
        else:
            accepted = f"accepted are {', '.join(profile_names())}, or the path of a .toml file"
            raise ArgumentsError([f"argument profile={name!r}: {accepted}"])
    except tomllib.TOMLDecodeError as error:
        raise ArgumentsError([f"argument profile={name!r}: not valid TOML ({error})"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError([f"argument profile={name!r}: cannot be read ({error})"]) from None
    problems = list(_problems(profile))
    if problems:
        raise ArgumentsError([f"argument profile={name!r}: {problem}" for problem in problems])
    return profile


_shipped = cache(_read_file)


def _problems(profile: dict[str, Any]) -> Iterator[str]:
    accepted = ", ".join(sorted(_KEYS))
    yield from (
        f"unknown key {key!r} (accepted: {accepted})" for key in profile if key not in _KEYS
    )
    tables = {table: profile.get(table, {}) for table in ("stages", "settings", "arguments")}
    wrong = [table for table, given in tables.items() if not isinstance(given, dict)]
    if wrong:
        yield from (f"[{table}] must be a table" for table in wrong)
        return
    for key in sorted(_OF_A_SOURCE & set(tables["arguments"])):
        yield f"argument {key!r} belongs to a source, not to a profile"
    yield from (f"[stages] lacks {stage!r}" for stage in STAGES if stage not in tables["stages"])
    for stage, path in tables["stages"].items():
        if stage not in STAGES:
            yield f"unknown stage {stage!r} (accepted: {', '.join(STAGES)})"
        if not _is_class_path(path):
            yield f"stage {stage} must be the path of a class"
    for key in tables["settings"]:
        if not key.isupper():
            yield f"setting {key!r} is not upper case"


def _is_class_path(path: object) -> bool:
    if not isinstance(path, str):
        return False
    names = path.split(".")
    return len(names) > 1 and all(map(str.isidentifier, names))


# --- the file of `sync`: each source with the arguments of the spider `docs` by name ---


@dataclass(slots=True, frozen=True)
class SourceEntry:
    """One source of the file: its name in the store, and its spider arguments as text."""

    name: str
    arguments: dict[str, str]

    @property
    def slug(self) -> str:
        """The name of its job, and of its log."""
        return source_slug(self.name)


def read_entries(path: Path, stored_name: Callable[[str], str | None]) -> list[SourceEntry]:
    """Return the sources of a file, in its order; raises `ArgumentsError` with one line for each
    mistake.

    `stored_name` gives the name of the source that was first crawled from a URL, None for a new
    one.
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


def parse_entries(
    content: dict[str, Any], stored_name: Callable[[str], str | None]
) -> list[SourceEntry]:
    """Return the sources of the file's content; see `read_entries`."""
    accepted = "(accepted: [defaults], [[sources]])"
    unknown = [
        f"{key} is unknown {accepted}" for key in content if key not in {"defaults", "sources"}
    ]
    tables = content.get("sources")
    if (
        not tables
        or not isinstance(tables, list)
        or not all(isinstance(one, dict) for one in tables)
    ):
        raise ArgumentsError(
            [*unknown, "it lists no source: write [[sources]] with url or source below it"]
        )
    defaults = content.get("defaults", {})
    if problems := [*unknown, *_problems_of_defaults(defaults)]:
        raise ArgumentsError(problems)
    found: dict[str, tuple[int, SourceEntry]] = {}
    for number, table in enumerate(tables, 1):
        named = table.get("source") or table.get("url") or "without url and source"
        where = f"source {number} ({named})"
        try:
            entry = _entry({**defaults, **table}, stored_name)
        except ArgumentsError as error:
            problems += [f"{where}: {problem}" for problem in error.problems]
            continue
        first, _ = found.setdefault(entry.name, (number, entry))
        if first != number:
            problems.append(
                f"{where}: the same source as {first}, {entry.name}; name it with source="
            )
    if problems:
        raise ArgumentsError(problems)
    return [entry for _, entry in found.values()]


def _problems_of_defaults(defaults: Any) -> list[str]:
    if not isinstance(defaults, dict):
        return ["[defaults] is a table of arguments"]
    own = [name for name in ("url", "source", "llms_txt") if name in defaults]
    if own:
        return [f"[defaults]: {name} belongs to one source" for name in own]
    try:
        check_arguments(DocsArguments, {**_spelled(defaults), "url": "https://docs.example.com/"})
    except ArgumentsError as error:
        return [f"[defaults]: {problem}" for problem in error.problems]
    return []


def _entry(table: dict[str, Any], stored_name: Callable[[str], str | None]) -> SourceEntry:
    given = _spelled(table)
    checked = check_arguments(DocsArguments, given)
    load_profile(checked.profile)
    url = checked.url or ""
    name = checked.source or stored_name(url) or default_name(url)
    return SourceEntry(name, {**given, "source": name})


def _spelled(table: dict[str, Any]) -> dict[str, str]:
    """The values as `-a` takes them; raises `ArgumentsError`."""
    spelled = {}
    problems = []
    for name, value in table.items():
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            spelled[name] = "\n".join(value)
        elif isinstance(value, bool):
            spelled[name] = str(value).lower()
        elif isinstance(value, str | int):
            spelled[name] = str(value)
        else:
            problems.append(
                f"argument {name}: text, a number, true, false or a list of texts is accepted"
            )
    if problems:
        raise ArgumentsError(problems)
    return spelled
