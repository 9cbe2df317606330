"""Known documentation generators: how each is recognised and which element holds its content.

`generators.toml` has them, commonest first. What many share is in `rules`, `code` and `components`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from cssselect import HTMLTranslator

from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import find, shipped_table


@dataclass(frozen=True)
class Generator:
    """One generator. A page belongs to it when any of `marks` is in its bytes and a `main` selector
    matches.

    `meta` is the beginning of its `<meta name="generator">`, lower case; such entries are tried
    first. `drop` is a list of the small selectors of `rules`, separated by spaces, of what is no
    content. `unlabelled` is the language class that it puts on code without a language.
    `definitions` is `list` where its own Markdown writes definition lists as bullets. `title` is
    the first element that is the page's title without being an `<h1>`, as `tag.class`. `results` is
    the id of the element that a search page puts its results into.
    """

    name: str
    marks: tuple[str, ...]
    main: tuple[str, ...]
    drop: str = ""
    unlabelled: str = ""
    definitions: Literal["lines", "list"] = "lines"
    title: str = ""
    meta: str = ""
    results: str = ""


UNKNOWN = Generator("generic", (), ())
"""Stands for a page of no known generator."""


def _generator(entry: Mapping[str, Any]) -> Generator:
    fields: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in entry.items()
    }
    return Generator(**fields)


GENERATORS = tuple(
    map(_generator, shipped_table("llmsspider.content.extraction", "generators")["generator"])
)


@lru_cache(maxsize=8)
def own_generators(paths: tuple[str, ...]) -> tuple[Generator, ...]:
    """Return the generators at the paths of `LLMS_GENERATORS`; raises `ArgumentsError`, a line for
    each bad one.
    """
    found: list[Generator] = []
    problems: list[str] = []
    for path in paths:
        try:
            one = find(path)
            if not isinstance(one, Generator):
                raise TypeError("it is no llmsspider.content.extraction.generators.Generator")
            if not one.marks or not one.main:
                raise ValueError("it has no marks, or no main")
            for selector in one.main:
                HTMLTranslator().css_to_xpath(selector)
            found.append(one)
        except Exception as error:  # whatever the user's module raises
            why = f"{type(error).__name__}: {error}"
            accepted = f"the path of a Generator is accepted, see docs/how-to/extending.md ({why})"
            problems.append(f"setting LLMS_GENERATORS, {path!r}: {accepted}")
    if problems:
        raise ArgumentsError(problems)
    return tuple(found)


def fingerprint_of(generators: Iterable[Generator]) -> str:
    """Return a hash of these generators, a part of the converter's fingerprint; empty without
    generators.
    """
    rules = repr(tuple(generators))
    return "" if rules == "()" else f"+rules-{hashlib.sha256(rules.encode()).hexdigest()[:8]}"
