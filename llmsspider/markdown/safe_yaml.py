"""YAML from strangers: no objects, no aliases (a short file could expand without end), dates kept as written."""

from __future__ import annotations

import yaml


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(text: str) -> object:
    """Return what a YAML text holds.

    Raises `ValueError` where it is none; `!!bool x` is a KeyError, a thousand brackets are a RecursionError.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
