"""YAML from strangers: no objects, no aliases (a short file could expand without end), dates kept as written.

Nor is it deep: each level costs a look at every one above it, 1,000 brackets more than a second. A module of its own,
loaded by the first front matter: importing PyYAML takes a twentieth of a second that most crawls need not pay.
"""

from __future__ import annotations

import yaml

_DEEPEST = 100
"""Levels of lists and mappings that are read."""


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str):
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise yaml.YAMLError(f"more than {_DEEPEST} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(text: str) -> object:
    """Return what a YAML text holds.

    Raises `ValueError` where it is none or too deep; `!!bool x` is a KeyError.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
