"""The project's settings, read once from Scrapy's settings into one typed object."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import orjson

from llmsspider.chunkrows import Chunker, counter
from llmsspider.errors import ArgumentsError
from llmsspider.growth import MAX_GROWTH
from llmsspider.handlers import Handlers, checked
from llmsspider.ports import parse_ports
from llmsspider.safety import problems_of
from llmsspider.store import Retention, Store, Stores
from llmsspider.store.stores import DEFAULT_CLASS, store_class
from llmsspider.together.crew import url_problem
from llmsspider.workers import automatic_workers

CONVERTERS = ("native", "html-to-markdown", "markdownify")


WITHOUT_DEFAULT = frozenset({"LLMS_DATA_DIR", "LLMS_STORE_URL"})
"""The settings of the project that `llmsspider/settings.py` leaves to the user."""


class SettingsLike(Protocol):
    """The part of `scrapy.settings.BaseSettings` that is used."""

    def __iter__(self) -> Iterator[Any]: ...
    def get(self, name: Any, default: Any = None) -> Any: ...  # noqa: D102
    def getbool(self, name: Any, default: bool = False) -> bool: ...  # noqa: D102


@dataclass(slots=True, frozen=True)
class Config:
    """See docs/settings.md for the meaning of each setting."""

    discovery_enabled: bool = True
    discovery_timeout_secs: float = 20.0
    link_depth: int = 1
    max_linked_files: int = 50
    full_text: bool = True
    max_look_alikes: int = 1000
    max_failed_share: float = 0.1
    confirm_runs: int = 2
    revalidate_method: str = "GET"
    full_check_runs: int = 14
    history: Retention = field(default_factory=Retention)
    stores: Stores = field(default_factory=Stores)
    converter: str = "native"
    handlers: Handlers = field(default_factory=Handlers)
    redis_url: str | None = None
    convert_workers: int = 0
    convert_timeout_secs: float = 60.0
    min_characters: int = 1
    csv_formulas: bool = False
    """Whether cells of CSV that a spreadsheet would calculate stay as they are."""
    keep_hidden: bool = False
    keep_shared: bool = True
    max_growth: int = MAX_GROWTH
    obey_ai_optout: bool = True
    obey_noindex: bool = False
    plan_only: bool = False
    mirror_dir: str | None = None
    mirror_links: str = "relative"
    chunker: Chunker = field(default_factory=Chunker)

    @property
    def made_with(self) -> str:
        """What makes Markdown of pages: content made with anything else is made again."""
        return self.converter + self.handlers.mark + ("+hidden" if self.keep_hidden else "")

    @classmethod
    def from_settings(cls, settings: SettingsLike) -> Config:
        """Read and check every `LLMS_` setting of the crawl.

        Raises:
            ArgumentsError: one line for each setting that is wrong.
        """
        problems = unknown_settings(settings)
        workers = settings.get("LLMS_CONVERT_WORKERS")
        config = cls(
            discovery_enabled=_boolean(settings, "LLMS_DISCOVERY_ENABLED", True, problems),
            discovery_timeout_secs=_number(settings, "LLMS_DISCOVERY_TIMEOUT", 20, problems),
            link_depth=int(_number(settings, "LLMS_LINK_DEPTH", 1, problems)),
            max_linked_files=int(_number(settings, "LLMS_MAX_LINKED_FILES", 50, problems)),
            full_text=_choice(settings, "LLMS_FULL_TEXT", ("auto", "off"), problems) == "auto",
            confirm_runs=int(_number(settings, "LLMS_CONFIRM_RUNS", 2, problems)),
            full_check_runs=int(_number(settings, "LLMS_FULL_CHECK", 14, problems)),
            max_failed_share=_number(settings, "LLMS_MAX_FAILED_SHARE", 0.1, problems),
            revalidate_method=_choice(settings, "LLMS_REVALIDATE_METHOD", ("GET", "HEAD"), problems),
            max_look_alikes=int(_number(settings, "LLMS_MAX_LOOK_ALIKES", 1000, problems)),
            history=_history(settings, problems),
            stores=_stores(settings, problems),
            redis_url=_redis_url(settings, problems),
            converter=_choice(settings, "LLMS_CONVERTER", CONVERTERS, problems),
            handlers=_handlers(settings, problems),
            convert_workers=automatic_workers()
            if workers in {None, "", "auto"}
            else int(_number(settings, "LLMS_CONVERT_WORKERS", 0, problems)),
            convert_timeout_secs=_number(settings, "LLMS_CONVERT_TIMEOUT", 60, problems),
            min_characters=int(_number(settings, "LLMS_MIN_CHARACTERS", 1, problems)),
            csv_formulas=_choice(settings, "LLMS_CSV_FORMULAS", ("escape", "keep"), problems) == "keep",
            keep_hidden=_choice(settings, "LLMS_HIDDEN_TEXT", ("drop", "keep"), problems) == "keep",
            keep_shared=_choice(settings, "LLMS_SHARED_TEXT", ("keep", "drop"), problems) == "keep",
            max_growth=int(_number(settings, "LLMS_MAX_GROWTH", MAX_GROWTH, problems)),
            obey_ai_optout=_boolean(settings, "LLMS_OBEY_AI_OPTOUT", True, problems),
            obey_noindex=_boolean(settings, "LLMS_OBEY_NOINDEX", False, problems),
            mirror_dir=str(settings.get("LLMS_MIRROR_DIR") or "") or None,
            mirror_links=_choice(settings, "LLMS_MIRROR_LINKS", ("relative", "absolute"), problems),
            chunker=_chunker(settings, problems),
            plan_only=_boolean(settings, "LLMS_PLAN_ONLY", False, problems),
        )
        _choice(settings, "LLMS_PROGRESS", ("auto", "plain"), problems)
        _choice(settings, "LLMS_SEARCH_INDEX", ("auto", "on", "off"), problems)
        _ports(settings, problems)
        _number(settings, "LLMS_MAX_WAIT", 120, problems)
        _number(settings, "LLMS_MAX_RATE", 0, problems)
        problems += problems_of(settings)
        if problems:
            raise ArgumentsError(problems)
        return config


def unknown_settings(settings: SettingsLike) -> list[str]:
    """Return one line for each name that begins with `LLMS_` and is no setting, with the nearest one that is."""
    known = {name for name in dir(import_module("llmsspider.settings")) if name.startswith("LLMS_")}
    known |= WITHOUT_DEFAULT
    unknown = sorted(
        name for name in map(str, settings) if name.upper().startswith("LLMS_") and name not in known
    )
    return [f"setting {name} is unknown{_nearest(name, known)}" for name in unknown]


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.upper(), sorted(known), n=1)
    return f"; did you mean {close[0]}?" if close else " (docs/settings.md lists all)"


def _handlers(settings: SettingsLike, problems: list[str]) -> Handlers:
    given = settings.get("LLMS_CONTENT_HANDLERS") or {}
    try:
        given = orjson.loads(given) if isinstance(given, str) else given
        return checked(dict(given))
    except (TypeError, ValueError):
        problems.append(
            f"setting LLMS_CONTENT_HANDLERS={given!r}: a dict of class paths by media type is accepted"
        )
    except ArgumentsError as error:
        problems += error.problems
    return Handlers()


def _history(settings: SettingsLike, problems: list[str]) -> Retention:
    value = settings.get("LLMS_HISTORY", Retention().versions)
    try:
        return Retention.parse(value)
    except ValueError:
        problems.append(
            f"setting LLMS_HISTORY={value!r}: a number of versions, or of days such as '90 days', is accepted"
        )
        return Retention()


def _stores(settings: SettingsLike, problems: list[str]) -> Stores:
    kind, data_dir = Store, settings.get("LLMS_DATA_DIR")
    try:
        kind = store_class(settings.get("LLMS_STORE_CLASS") or DEFAULT_CLASS)
    except ArgumentsError as error:
        problems += error.problems
    return Stores(settings.get("LLMS_STORE_URL") or None, Path(data_dir) if data_dir else None, kind)


def _redis_url(settings: SettingsLike, problems: list[str]) -> str | None:
    url = str(settings.get("LLMS_REDIS_URL") or os.environ.get("LLMS_REDIS_URL") or "") or None
    problem = url_problem(url) if url else None
    if problem:
        problems.append(problem)
    return url


def _chunker(settings: SettingsLike, problems: list[str]) -> Chunker:
    size = int(_number(settings, "LLMS_CHUNK_SIZE", 2000, problems))
    if size < 1:
        problems.append(f"setting LLMS_CHUNK_SIZE={size}: a number of 1 or more is accepted")
    try:
        return Chunker(size, counter(str(settings.get("LLMS_CHUNK_UNIT") or "characters")))
    except ArgumentsError as error:
        problems += error.problems
        return Chunker()


def _number(settings: SettingsLike, name: str, default: float, problems: list[str]) -> float:
    value = settings.get(name, default)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        problems.append(f"setting {name}={value!r}: a number of 0 or more is accepted")
        return default
    return number


def _ports(settings: SettingsLike, problems: list[str]) -> None:
    value = settings.get("LLMS_STATUS_PORT")
    try:
        parse_ports(str(value))
    except ValueError:
        problems.append(
            f"setting LLMS_STATUS_PORT={value!r}: accepted are auto, off, a port, and a range such as 8000-8019"
        )


def _choice(settings: SettingsLike, name: str, choices: tuple[str, ...], problems: list[str]) -> str:
    value = settings.get(name, choices[0])
    if value not in choices:
        problems.append(f"setting {name}={value!r}: accepted are {', '.join(choices)}")
        return choices[0]
    return str(value)


def _boolean(settings: SettingsLike, name: str, default: bool, problems: list[str]) -> bool:
    try:
        return settings.getbool(name, default)
    except ValueError:
        problems.append(f"setting {name}={settings.get(name)!r}: True or False is accepted")
        return default
