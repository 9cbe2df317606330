"""The code of a user that documents pass before the store: item pipelines, and a spider derived from one of ours.

Documents that passed other code are made again. No Scrapy here.
"""

from __future__ import annotations

import hashlib
import inspect
from contextlib import suppress
from dataclasses import dataclass
from inspect import Parameter
from types import FunctionType
from typing import Any, Protocol

from llmsspider.loading import find

FILTER = "llmsspider.pipelines.filter.FilterPipeline"
OURS = "llmsspider."
OWN_MARK = "+own-"
STORE = "llmsspider.pipelines.hash.HashPipeline"


class SettingsOfPipelines(Protocol):
    """The part of `scrapy.settings.BaseSettings` that is used."""

    def get(self, name: Any, default: Any = None) -> Any: ...  # noqa: D102


@dataclass(slots=True, frozen=True)
class OwnCode:
    """The spider's class and the pipelines before the store that are not of this project, by path, in their order."""

    paths: tuple[str, ...] = ()
    mark: str = ""
    """Fingerprint of the code: its order, and the source of its modules."""

    def __bool__(self) -> bool:
        return bool(self.paths)


def own_mark(extractor_version: str) -> str:
    """Return the mark of the users' code that documents of this version have passed; empty where there was none."""
    return extractor_version.partition(OWN_MARK)[2]


def own_code(settings: SettingsOfPipelines, spider: type | None = None) -> OwnCode:
    """Return the code of the user that documents pass before they are stored.

    Args:
        settings: name the pipelines; none of them counts where no pipeline writes the store.
        spider: the class of the spider; one counts that is derived from ours and has methods of its own.
    """
    found = [*_spiders(spider), *_pipelines(settings)]
    if not found:
        return OwnCode()
    known = [(_path(one), source_of(one)) for one in found]
    mark = hashlib.sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:8]
    return OwnCode(tuple(path for path, _ in known), OWN_MARK + mark)


def own_arguments(spider: type) -> frozenset[str]:
    """Return the names of the spider arguments that a class derived from ours takes by name in its `__init__`."""
    names: set[str] = set()
    for kind in _derived(spider):
        made = vars(kind).get("__init__")
        if made is not None:
            by_name = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
            parameters = list(inspect.signature(made).parameters.values())[1:]
            names.update(one.name for one in parameters if one.kind in by_name)
    return frozenset(names)


def _derived(spider: type | None) -> list[type]:
    """Return the classes of a spider that are not of this project, above the first that is."""
    found: list[type] = []
    for kind in spider.__mro__ if spider is not None else ():
        if kind.__module__.startswith(OURS):
            break
        found.append(kind)
    return found


def _spiders(spider: type | None) -> list[type]:
    functions = (FunctionType, classmethod, staticmethod, property)
    return [
        kind for kind in _derived(spider) if any(isinstance(one, functions) for one in vars(kind).values())
    ]


def _pipelines(settings: SettingsOfPipelines) -> list[object]:
    configured = {
        **dict(settings.get("ITEM_PIPELINES_BASE") or {}),
        **dict(settings.get("ITEM_PIPELINES") or {}),
    }
    enabled = sorted(((order, one) for one, order in configured.items() if order is not None), key=_order)
    own: list[object] = []
    for _, one in enabled:
        found = _found(one)
        if _is_store(found):
            return own
        if _path(found) != FILTER:
            own.append(found)
    return []


def _order(entry: tuple[Any, Any]) -> Any:
    return entry[0]


def _path(one: object) -> str:
    return one if isinstance(one, str) else f"{one.__module__}.{getattr(one, '__qualname__', one)}"


def _found(one: object) -> object:
    if not isinstance(one, str):
        return one
    with suppress(Exception):  # whatever the user's module raises; `check_components` says it
        return find(one)
    return one


def _is_store(found: object) -> bool:
    return isinstance(found, type) and any(
        f"{kind.__module__}.{kind.__qualname__}" == STORE for kind in found.__mro__
    )


def source_of(found: object) -> str:
    """Return the source of the module of a class; empty where there is none to read."""
    with suppress(OSError, TypeError):
        module = inspect.getmodule(found)
        return inspect.getsource(module) if module is not None else ""
    return ""
