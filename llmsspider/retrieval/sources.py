"""Which source is meant by a name.

`name`, or `name@version` where a version of it was crawled as a source of its own.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from llmsspider.errors import UnknownSourceError
from llmsspider.retrieval.ranking import version_key


def choose_source(asked: str, known: Sequence[str]) -> str:
    """Return the name of the source that is meant; a version that is not there is never answered from another.

    Args:
        asked: a name, with `@version` or without: then the source of just this name, else its newest version.
        known: the names of all sources.

    Raises:
        UnknownSourceError: there is none; the message names what there is.

    >>> choose_source("flask", ["flask@2.3", "flask@3.0"])
    'flask@3.0'
    """
    asked = asked.strip()
    if asked in known:
        return asked
    name, _, version = asked.partition("@")
    versions = sorted(
        (one.partition("@")[2] for one in known if one.partition("@")[0] == name and "@" in one),
        key=version_key,
    )
    if version and (versions or name in known):
        there = ", ".join(f"{name}@{one}" for one in versions) or f"{name}, of no named version"
        raise UnknownSourceError(f"source {name!r} has no version {version!r}; there is {there}")
    if versions:
        return f"{name}@{versions[-1]}"
    raise UnknownSourceError(f"source {asked!r} is not known; {_there_is(asked, known)}")


def nearest(asked: str, known: Sequence[str], most: int = 5) -> list[str]:
    """The names most like the one asked for, best first."""
    name = asked.partition("@")[0].casefold()
    within = [one for one in known if name in one.casefold()]
    like = difflib.get_close_matches(
        name, {one.partition("@")[0].casefold() for one in known}, n=most, cutoff=0.5
    )
    alike = [one for close in like for one in sorted(known) if one.partition("@")[0].casefold() == close]
    return list(dict.fromkeys([*within, *alike]))[:most]


def _there_is(asked: str, known: Sequence[str]) -> str:
    if not known:
        return "nothing has been crawled yet"
    near = nearest(asked, known)
    return f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(sorted(known)[:10])}"
