"""Front matter: the YAML (`---`) or TOML (`+++`) head of a Markdown file."""

from __future__ import annotations

import re
import tomllib

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LIMIT = 65_536
"""Characters of front matter read; a longer head is text."""
MAX_LEVELS = 100
"""Levels of tables that one key of TOML may name; a head with more is text."""
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What the parsers raise on what others write."""


def split_front_matter(text: str) -> tuple[dict[str, object], str]:
    r"""Return `(front matter, rest of the text)`; an unreadable head is left in the text.

    >>> split_front_matter("---\ntitle: A\n---\n# B\n")
    ({'title': 'A'}, '# B\n')
    """
    for match, load in ((_YAML.match, _load_yaml), (_TOML.match, _load_toml)):
        found = match(text, 0, 2 * _LIMIT)
        if found and len(found.group(1)) <= _LIMIT:
            values = load(found.group(1))
            if values is not None:
                return values, text[found.end() :].lstrip("\n")
    return {}, text


def _load_yaml(head: str) -> dict[str, object] | None:
    if not head.strip():
        return {}
    from llmsspider.markdown.safe_yaml import load  # noqa: PLC0415  # most pages have no front matter

    try:
        values = load(head)
    except _UNREADABLE:
        return _lines(head)
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else None


def _lines(head: str) -> dict[str, object] | None:
    """Read `key: value` lines of a head that is not valid YAML (an unquoted colon in a title)."""
    values: dict[str, object] = {}
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if colon and re.fullmatch(r"[\w.-]+", key):
            values[key] = value.strip().strip("\"'")
    return values or None


def _load_toml(head: str) -> dict[str, object] | None:
    if any(line.partition("=")[0].count(".") > MAX_LEVELS for line in head.splitlines()):
        return None
    try:
        return dict(tomllib.loads(head))
    except _UNREADABLE:
        return None
