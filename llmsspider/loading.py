"""What is imported by name: classes of users, the engines that write Markdown, and the extras that may be missing."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Literal, Protocol, cast

# --- classes and functions of users, by the dotted path that a setting names ---


def find(path: str) -> object:
    """Return the class or function at a path such as `package.module.Name`.

    Raises:
        ImportError: there is no such module, or nothing of that name in it. Importing can raise anything else.

    >>> find("llmsspider.markdown.chunks.tokens").__name__
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
    """Return the dotted path of a class, for another process to import; a path stays as it is.

    Raises:
        ImportError: another process could not import it.

    >>> path_of(dict), path_of("builtins.dict")
    ('builtins.dict', 'builtins.dict')
    """
    if not isinstance(value, type):
        return str(value)
    module, name = value.__module__, value.__qualname__
    if module == "__main__" or getattr(sys.modules.get(module), name, None) is not value:
        raise ImportError(f"{name} cannot be imported by another process: put it into a module of its own")
    return f"{module}.{name}"


# --- the engines that write Markdown, by the name that `LLMS_CONVERTER` gives ---

# `native` lets the walk write Markdown itself. Any other engine is given the plain HTML that the same walk writes:
# `markdownify`, or a class of the user's. docs/explanation/extraction.md has the measurements behind the default.

DEFAULT = "native"

FALLBACK = "markdownify"

NAMES = (DEFAULT, FALLBACK)

_FALLBACK_CLASS = "llmsspider.extraction.markdownified.MarkdownifyConverter"


class Converter(Protocol):
    """Plain HTML in, Markdown out. An instance is made without arguments, once a process."""

    def convert(self, html: str) -> str:
        """Return the Markdown of an HTML fragment; may raise anything: markdownify takes over for the page."""
        ...


def checked(given: object) -> str:
    """Return the name of an engine, or the path of the class that `given` is or names.

    Raises:
        ImportError: there is no such class. Importing a user's module can raise anything else.
        TypeError: it has no method `convert`.
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
    made: Any = find(_FALLBACK_CLASS if name == FALLBACK else name)
    return cast("Converter", made())


# --- the extras of the package: what a plain install omits ---


Extra = Literal["browser", "embeddings", "mcp", "parquet", "pdf", "postgresql", "redis", "s3"]

EXTRA_MODULES: dict[Extra, tuple[str, ...]] = {
    "browser": ("scrapy_playwright", "playwright"),
    "embeddings": ("numpy",),
    "mcp": ("mcp",),
    "parquet": ("pyarrow",),
    "pdf": ("pypdf",),
    "postgresql": ("psycopg",),
    "redis": ("redis", "scrapy_redis"),
    "s3": ("boto3",),
}
"""The modules that each extra of pyproject.toml brings."""


def missing_extra(extra: Extra) -> str | None:
    r"""Return how to get an extra that is not installed, to follow what needs it; None where it is.

    >>> missing_extra("mcp") in {None, "the extra \\"mcp\\" is missing: pip install 'llmsspider[mcp]'"}
    True
    """
    if all(map(_is_installed, EXTRA_MODULES[extra])):
        return None
    return f"the extra \"{extra}\" is missing: pip install 'llmsspider[{extra}]'"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # it was set aside in sys.modules
        return False
