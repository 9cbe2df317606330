"""Code that is imported by name: classes of users, the engines that write Markdown, and the extras
that may be missing.

Documents that passed other code of the user before the store are made again: `own_code` is its
fingerprint. No Scrapy.
"""

import hashlib
import importlib
import inspect
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from inspect import Parameter
from itertools import takewhile
from pkgutil import get_data
from types import FunctionType
from typing import Any, Literal, Protocol, cast

# --- classes and functions of users, by the dotted path that a setting names ---


def find(path: str) -> object:
    """Return the class or function at a path such as `package.module.Name`.

    Raises `ImportError` where there is no such module, or nothing of that name in it; importing can
    raise anything.

    >>> find("llmsspider.content.markdown.chunks.tokens").__name__
    'tokens'
    """
    module, _, name = path.rpartition(".")
    if not module:
        raise ImportError("a dotted path such as package.module.Name is needed")
    found = importlib.import_module(module)
    if not hasattr(found, name):
        raise ImportError(f"module {module!r} has no {name!r}")
    return getattr(found, name)


def path_of(value: object) -> str:
    """Return the dotted path of a class, for another process to import, else `ImportError`; a path
    stays as it is.

    >>> path_of(dict), path_of("builtins.dict")
    ('builtins.dict', 'builtins.dict')
    """
    if not isinstance(value, type):
        return str(value)
    module = value.__module__
    name = value.__qualname__
    if module == "__main__" or getattr(sys.modules.get(module), name, None) is not value:
        raise ImportError(
            f"{name} cannot be imported by another process: put it into a module of its own"
        )
    return f"{module}.{name}"


# The engines that write Markdown, by the name that `LLMS_CONVERTER` gives. `native` lets the walk
# write Markdown; any other engine is given the plain HTML that the same walk writes: `markdownify`,
# or a class of the user's. docs/explanation/extraction.md has the measurements behind the default.

DEFAULT = "native"
FALLBACK = "markdownify"
NAMES = (DEFAULT, FALLBACK)


class Converter(Protocol):
    """Plain HTML in, Markdown out. An instance is made without arguments, once a process."""

    def convert(self, html: str) -> str:
        """Return the Markdown of an HTML fragment; may raise anything: markdownify takes over for
        the page.
        """
        ...


def check_converter(given: object) -> str:
    """Return the name of an engine, or the path of the class that `given` is or names; else raises,
    as `find` does.
    """
    if given in NAMES:
        return str(given)
    path = path_of(given)
    if not callable(getattr(find(path), "convert", None)):
        raise TypeError("it has no method convert(html)")
    return path


@lru_cache(maxsize=4)
def converter_named(name: str) -> Converter:
    """Return the engine of this name or class path; raises what importing it raises."""
    ours = "llmsspider.content.extraction.html_format.MarkdownifyConverter"
    made: Any = find(ours if name == FALLBACK else name)
    return cast("Converter", made())


def shipped_table(package: str, name: str) -> dict[str, Any]:
    """Return what a TOML file of a package of ours holds, by its name without ending."""
    return tomllib.loads(cast("bytes", get_data(package, f"{name}.toml")).decode())


# --- the extras of the package: what a plain install omits ---


Extra = Literal[
    "browser",
    "documents",
    "embeddings",
    "lancedb",
    "mcp",
    "parquet",
    "postgresql",
    "qdrant",
    "s3",
    "sign",
]

EXTRAS = cast("dict[Extra, dict[str, str]]", shipped_table("llmsspider.web", "extras"))
"""The modules that each extra of pyproject.toml brings, and what pip is asked for."""


def missing_extra(extra: Extra) -> str | None:
    r"""Return how to get an extra that is not installed, to follow what needs it; None where it is.

    The packages themselves are named: this one is in no index, and works from a checkout that is
    not installed.

    >>> missing_extra("s3") in {None, f"the extra \"s3\" is missing: {sys.executable} -m pip install 'boto3>=1.35'"}
    True
    """
    packages = EXTRAS[extra]
    with suppress(ValueError):  # one that was set aside in sys.modules
        if all(map(find_spec, packages)):
            return None
    install = shlex.join([sys.executable, "-m", "pip", "install", *packages.values()])
    return f'the extra "{extra}" is missing: {install}'


# --- the code of a user that documents pass before the store: item pipelines, a spider derived from
# one of ours ---

FILTER_PIPELINE = "llmsspider.pipelines.filter.FilterPipeline"
OURS = "llmsspider."
OWN_MARK = "+own-"
STORE_PIPELINE = "llmsspider.pipelines.hash.HashPipeline"
"""The pipeline that writes the store; what stands before it may change documents."""


class SettingsLike(Protocol):
    """The part of `scrapy.settings.BaseSettings` that is used."""

    def __iter__(self) -> Iterator[Any]: ...
    def get(self, name: Any, default: Any = None) -> Any: ...  # noqa: D102
    def getpriority(self, name: Any) -> int | None: ...  # noqa: D102
    def set(self, name: Any, value: Any, priority: Any = "project") -> None: ...  # noqa: D102


def own_mark(extractor_version: str) -> str:
    """Return the mark of the users' code that documents of this version have passed; empty where
    there was none.
    """
    return extractor_version.partition(OWN_MARK)[2]


def own_code(settings: SettingsLike, spider: type | None = None) -> str:
    """Return the fingerprint of the code of the user that documents pass before they are stored;
    empty without any.

    It covers the pipelines before the store, and the methods of a `spider` class derived from ours.
    """
    methods = (FunctionType, classmethod, staticmethod, property)
    derived = {kind: vars(kind).values() for kind in _derived(spider)}
    spiders = [
        kind for kind, own in derived.items() if any(isinstance(one, methods) for one in own)
    ]
    known = [(_path(one), source_of(one)) for one in [*spiders, *_pipelines(settings)]]
    return (
        OWN_MARK + hashlib.sha256(repr(known).encode("utf-8", "replace")).hexdigest()[:8]
        if known
        else ""
    )


def own_arguments(spider: type) -> frozenset[str]:
    """Return the names of the spider arguments that a class derived from ours takes by name in its
    `__init__`.
    """
    by_name = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
    made = [vars(kind)["__init__"] for kind in _derived(spider) if "__init__" in vars(kind)]
    taken = [list(inspect.signature(one).parameters.values())[1:] for one in made]
    return frozenset(one.name for parameters in taken for one in parameters if one.kind in by_name)


def _derived(spider: type | None) -> Iterator[type]:
    kinds = spider.__mro__ if spider is not None else ()
    return takewhile(lambda kind: not kind.__module__.startswith(OURS), kinds)


def _pipelines(settings: SettingsLike) -> list[object]:
    """Return the pipelines of the user before the one that writes the store, as far as they can be
    imported.
    """
    configured = {
        **(settings.get("ITEM_PIPELINES_BASE") or {}),
        **(settings.get("ITEM_PIPELINES") or {}),
    }
    enabled = {found: order for found, order in configured.items() if order is not None}
    own: list[object] = []
    for found in sorted(enabled, key=lambda name: enabled[name]):
        with suppress(Exception):  # whatever the user's module raises; `check_components` says it
            found = find(found) if isinstance(found, str) else found  # noqa: PLW2901
        if STORE_PIPELINE in map(_path, getattr(found, "__mro__", ())):
            return own
        if _path(found) != FILTER_PIPELINE:
            own.append(found)
    return []


def _path(one: object) -> str:
    return one if isinstance(one, str) else f"{one.__module__}.{getattr(one, '__qualname__', one)}"


def source_of(found: object) -> str:
    """Return the source of the module of a class; empty where there is none to read."""
    with suppress(OSError, TypeError):
        module = inspect.getmodule(found)
        return inspect.getsource(module) if module is not None else ""
    return ""
