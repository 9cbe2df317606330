"""Sources: a site that was crawled before keeps its name, start page, llms.txt and scope.

The arguments of a run are what the store keeps of the source, overridden by what is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmsspider import profiles
from llmsspider.arguments import DocsArguments, check_arguments
from llmsspider.errors import ArgumentsError
from llmsspider.store import SourceRecord
from llmsspider.urls import directory, host

if TYPE_CHECKING:
    from llmsspider.config import Config

KEPT = ("allow", "block", "language", "versions", "follow", "optional", "render")
"""Arguments that say what the source is: kept by its first crawl, beside url, llms_txt and scope."""

NEVER_SAVED = {
    "url",
    "source",
    "llms_txt",
    "scope",
    "mode",
    "full",
    "emit",
    "save",
    "retry",
    "confirm_deletions",
}
"""Arguments that `save=true` does not keep: they belong to a run, or have a place of their own."""


def resolve_arguments(given: dict[str, Any], config: Config) -> tuple[DocsArguments, SourceRecord | None]:
    """Return the arguments of a run and the source it belongs to, None for a new one.

    Args:
        given: the spider arguments as the user passed them.
        config: where the store is.

    Raises:
        ArgumentsError: one line for each mistake; an unknown source without a URL is one.
        StoreError: the store cannot be read.
    """
    given = {name: value for name, value in given.items() if not name.startswith("_")}
    arguments = check_arguments(DocsArguments, given)
    preset = profiles.arguments(arguments.profile)
    arguments = check_arguments(DocsArguments, {**preset, **given})
    record = _stored(arguments, config)
    if record is None:
        if arguments.url is None:
            raise ArgumentsError([_unknown(arguments.source or "", config)])
        return arguments.model_copy(update={"source": arguments.source or default_name(arguments.url)}), None
    stored = {"url": record.url, "llms_txt": record.llms_txt, "scope": record.scope, **record.arguments}
    kept = {
        name: value
        for name, value in stored.items()
        if value is not None and value != "" and name in DocsArguments.model_fields
    }
    return check_arguments(DocsArguments, {**preset, **kept, **given, "source": record.name}), record


def _stored(arguments: DocsArguments, config: Config) -> SourceRecord | None:
    if arguments.source is not None:
        return config.stores.named(arguments.source)
    return config.stores.find(arguments.url or "")


def _unknown(name: str, config: Config) -> str:
    names = [record.name for record in config.stores.list()]
    known = f"known are {', '.join(names[:10])}" if names else "none is stored yet"
    return f"argument source={name!r} is no source that was crawled, and no url is given ({known})"


def updated_record(
    arguments: DocsArguments, record: SourceRecord | None, *, forms: dict[str, object], extractor_version: str
) -> SourceRecord:
    """Return what the store keeps of the source after this run: overrides are kept only with `save=true`."""
    given = arguments.model_dump(mode="json", exclude_unset=True)
    if record is None:
        record = SourceRecord(
            name=arguments.source or "",
            url=arguments.url or "",
            llms_txt=arguments.llms_txt,
            scope=arguments.scope,
            arguments={name: given[name] for name in KEPT if name in given},
        )
    if arguments.save:
        record.llms_txt, record.scope = arguments.llms_txt, arguments.scope
        record.arguments = {name: value for name, value in given.items() if name not in NEVER_SAVED}
    record.forms, record.extractor_version = forms, extractor_version
    return record


def default_name(url: str) -> str:
    """Return the name of a source nobody named: host and section path.

    >>> default_name("https://docs.example.com/guide/intro"), default_name("https://example.com/")
    ('docs.example.com/guide', 'example.com')
    """
    return (host(url) + directory(url)).rstrip("/")
