"""Sources: a site that was crawled before keeps its name, start page, llms.txt and scope.

The arguments of a run are what the store keeps of the source, overridden by what is given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llmsspider.config import profiles
from llmsspider.config.arguments import DocsArguments, check_arguments
from llmsspider.config.settings import Config, SettingsLike
from llmsspider.errors import ArgumentsError
from llmsspider.store import SourceRecord
from llmsspider.web.loading import own_code
from llmsspider.web.urls import directory, host

OF_ONE_RUN = frozenset({"mode", "retry", "full", "emit", "save", "confirm_deletions"})
"""Arguments of one run, never kept (docs/reference/arguments.md); all others say what the source is."""

_FIELDS = frozenset({"url", "source", "llms_txt", "scope"})
"""Arguments that have a place of their own in `SourceRecord`."""


def prepare(
    given: dict[str, Any], settings: SettingsLike, spider: type | None = None, *, plan_only: bool = False
) -> tuple[Config, DocsArguments, SourceRecord | None]:
    """Put the settings of the profile in force, that of the source included; see `resolve_arguments` for the rest.

    `spider` is the class that is to crawl, `plan_only` whether discovery is all it does.

    Raises:
        ArgumentsError: an argument, the profile or a setting is wrong.
        StoreError: the store cannot be read.
    """
    profile = check_arguments(DocsArguments, given).profile
    if "profile" in given:
        profiles.put_in_force(profiles.load(profile), settings)
    config = Config.from_settings(settings)
    arguments, record = resolve_arguments(given, config)
    if "profile" not in given:
        profiles.put_in_force(profiles.load(arguments.profile), settings)
        config = Config.from_settings(settings)
    of_crawl = {"own_code": own_code(settings, spider), "plan_only": plan_only}
    return config.model_copy(update=of_crawl), arguments, record


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
    checked = check_arguments(DocsArguments, given)
    stores = config.stores
    record = stores.find(checked.url or "") if checked.source is None else stores.get(checked.source)
    kept = _kept(record) if record is not None else {}
    profile = str(given.get("profile") or kept.get("profile") or "default")
    arguments = check_arguments(DocsArguments, {**profiles.arguments(profile), **kept, **given})
    if record is not None:
        return arguments.model_copy(update={"source": record.name}), record
    if arguments.url is None:
        names = [one.name for one in stores.list()]
        known = f"known are {', '.join(names[:10])}" if names else "none is stored yet"
        what = "is no source that was crawled, and no url is given"
        raise ArgumentsError([f"argument source={arguments.source!r} {what} ({known})"])
    return arguments.model_copy(update={"source": arguments.source or default_name(arguments.url)}), None


def _kept(record: SourceRecord) -> dict[str, Any]:
    """Return the arguments that the store keeps of a source; without those of other versions of the project."""
    stored = {"url": record.url, "llms_txt": record.llms_txt, "scope": record.scope, **record.arguments}
    return {
        name: value
        for name, value in stored.items()
        if value is not None and value != "" and name in DocsArguments.model_fields
    }


def updated_record(
    arguments: DocsArguments, record: SourceRecord | None, *, forms: dict[str, object], extractor_version: str
) -> SourceRecord:
    """Return what the store keeps of the source after this run.

    The first crawl keeps its arguments; later ones override them for themselves, and keep theirs with `save=true`.
    """
    if record is None:
        record = SourceRecord(name=arguments.source or "", url=arguments.url or "")
        keeps = True
    else:
        keeps = arguments.save
    if keeps:
        record.llms_txt, record.scope = arguments.llms_txt, arguments.scope
        record.arguments = _to_keep(arguments)
    record.forms, record.extractor_version = forms, extractor_version
    return record


def _to_keep(arguments: DocsArguments) -> dict[str, Any]:
    """Return the arguments that say what the source is; a profile is kept by its name, not by what it presets."""
    given = arguments.model_dump(mode="json", exclude_unset=True)
    preset = check_arguments(
        DocsArguments, {"url": arguments.url, **profiles.arguments(arguments.profile)}
    ).model_dump(mode="json", exclude_unset=True)
    kept = {
        name: value
        for name, value in given.items()
        if value is not None
        and name not in OF_ONE_RUN | _FIELDS
        and not (name in preset and preset[name] == value)
    }
    if arguments.profile.endswith(".toml"):
        kept["profile"] = str(Path(arguments.profile).absolute())
    return kept


def kept_line(arguments: DocsArguments, record: SourceRecord) -> str | None:
    """Return one line on the arguments in force that the store keeps of the source, None where there are none."""
    given = arguments.model_dump(mode="json", exclude_unset=True)
    kept = {name: value for name, value in record.arguments.items() if given.get(name) == value}
    if not kept:
        return None
    shown = {name: ",".join(value) if isinstance(value, list) else value for name, value in kept.items()}
    listed = ", ".join(f"{name}={value}" for name, value in shown.items())
    return f"kept with the source: {listed} (-a overrides it for this run, -a save=true for good)"


def default_name(url: str) -> str:
    """Return the name of a source without one: host and section path.

    >>> default_name("https://docs.example.com/guide/intro"), default_name("https://example.com/")
    ('docs.example.com/guide', 'example.com')
    """
    return (host(url) + directory(url)).rstrip("/")
