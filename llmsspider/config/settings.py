"""The settings of the project, as one pydantic model: name, default, unit, meaning and check of
each.

`llmsspider/settings.py` takes the defaults from here, docs/reference/settings.md the table;
`Config.from_settings` reads them.
"""

from __future__ import annotations

import difflib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llmsspider.config import setting_types as types
from llmsspider.config.setting_types import choice
from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import SettingsLike

if TYPE_CHECKING:
    from llmsspider.store import Stores

ENVIRONMENT_PRIORITY = 35
"""Environment variables stand above profiles and spiders' settings (30), below the command line
(40).
"""

SECRET = frozenset({"LLMS_HTTP_AUTH", "LLMS_STORE_URL", "LLMS_WEBHOOK_SECRET", "LLMS_WEBHOOK_URL"})
"""Settings whose value is shown nowhere."""


def setting(name: str, default: Any, meaning: str, *, unit: str | None = None) -> Any:
    """Return the field of a setting: `default` as a user would write it, None where it is not set."""
    return Field(
        default=default,
        alias=name,
        description=meaning,
        json_schema_extra={"unit": unit} if unit else None,
        validate_default=True,
    )


class Config(BaseModel):
    """Every setting of the project; docs/reference/settings.md explains them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # --- discovery ---
    discovery_enabled: types.Boolean = setting(
        "LLMS_DISCOVERY_ENABLED",
        True,
        "Look for llms.txt, llms-full.txt and sitemaps before the first page.",
    )
    link_depth: types.Whole = setting(
        "LLMS_LINK_DEPTH",
        1,
        "Levels of linked llms.txt files to read; 0 reads the first file only.",
        unit="levels",
    )
    max_linked_files: types.Whole = setting(
        "LLMS_MAX_LINKED_FILES",
        200,
        "Most llms.txt files that are followed from the first one; the rest is counted.",
        unit="files",
    )
    full_text: Annotated[bool, choice(auto=True, off=False)] = setting(
        "LLMS_FULL_TEXT", "auto", "Use llms-full.txt where there is one; `off` ignores it."
    )

    # --- pages ---
    history: types.History = setting(
        "LLMS_HISTORY",
        5,
        'Earlier contents of each page that the store keeps, or days of them ("90 days"); 0 keeps'
        " none.",
        unit="versions or days",
    )
    revalidate_method: Annotated[str, choice(GET="GET", HEAD="HEAD")] = setting(
        "LLMS_REVALIDATE_METHOD", "GET", "Method of revalidation requests."
    )
    revisit: types.Nights = setting(
        "LLMS_REVISIT",
        "proven",
        "Every page in each crawl (`always`), or those that a proven file of the site names, and"
        " each within 50 crawls (`proven`) or so many.",
        unit="crawls",
    )

    # --- output ---
    skill_dir: types.Text = setting(
        "LLMS_SKILL_DIR",
        None,
        "Folder of a skill for coding agents that is kept in step; `%(source)s` in it is the"
        " source.",
    )
    mirror_dir: types.Text = setting(
        "LLMS_MIRROR_DIR",
        None,
        "Folder of a Markdown tree that is kept in step; `%(source)s` in it is the source.",
    )
    chunker: types.ChunkSize = setting(
        "LLMS_CHUNK_SIZE",
        2000,
        'Maximum size of a chunk, where code and tables allow: characters, "800 tokens", or "800'
        ' package.function".',
        unit="characters",
    )
    embedder: types.EmbedderPath = setting(
        "LLMS_EMBEDDER",
        None,
        "Path of a class that turns texts into vectors, for search by meaning.",
    )
    vector_store: types.Text = setting(
        "LLMS_VECTOR_STORE",
        None,
        "Where the pipeline of a vector store writes chunks: an address or folder, and `#` with the"
        " collection.",
    )

    # --- conversion ---
    converter: types.Converter = setting(
        "LLMS_CONVERTER",
        "native",
        "Engine that writes Markdown from HTML; or `markdownify`, or the path of a class of your"
        " own.",
    )
    convert_workers: types.Workers = setting(
        "LLMS_CONVERT_WORKERS",
        "auto",
        "Processes that convert HTML; 0 converts in the crawling process.",
        unit="processes",
    )
    formats: types.FormatModes = setting(
        "LLMS_FORMATS",
        {},
        "By format (openapi, notebook, pdf, word, powerpoint, excel, epub): off, listed (files"
        " that are listed are pages) or linked.",
    )
    handlers: types.ContentHandlers = setting(
        "LLMS_CONTENT_HANDLERS", {}, "By media type, the class that makes Markdown of such answers."
    )
    generators: types.Generators = setting(
        "LLMS_GENERATORS",
        [],
        "Paths of rules for documentation generators, tried before those that ship.",
    )

    # --- the page store ---
    data_dir: types.Text = setting(
        "LLMS_DATA_DIR", None, "Folder of the store, one SQLite file for each source."
    )
    store_url: types.Text = setting(
        "LLMS_STORE_URL", None, "PostgreSQL database in place of the files."
    )
    store_class: types.StoreClass = setting(
        "LLMS_STORE_CLASS", "llmsspider.store.Store", "Path of the class that keeps the pages."
    )

    # --- progress ---
    status_port: types.Ports = setting(
        "LLMS_STATUS_PORT",
        "auto",
        "Port of the live page on 127.0.0.1, a range, or `off`; `auto` serves one where stderr is a"
        " terminal.",
    )
    report: types.Text = setting(
        "LLMS_REPORT",
        None,
        "HTML file, or folder, for the report of a run, its run.json and run.prom.",
    )

    repository_hosts: types.RepositoryHosts = setting(
        "LLMS_REPOSITORY_HOSTS",
        {},
        "By host, `github` or `gitlab`: where repositories lie besides github.com and gitlab.com;"
        " `off` crawls pages.",
    )

    # --- one page ---
    providers: types.Providers = setting(
        "LLMS_PAGE_PROVIDERS",
        ["llmsspider.site.providers.GitHub"],
        "Paths of classes that know where a page's Markdown is by its URL alone.",
    )

    # --- changes ---
    changes_feed: types.Text = setting(
        "LLMS_CHANGES_FEED",
        None,
        "File of an Atom feed of changes; `%(source)s` in it is the source.",
    )
    webhook_url: types.WebUrl = setting(
        "LLMS_WEBHOOK_URL", None, "Address that receives what a crawl changed, as JSON."
    )
    webhook_secret: types.Text = setting(
        "LLMS_WEBHOOK_SECRET", None, "Secret that the calls of the webhook are signed with."
    )

    # --- manners and safety ---
    contact: types.Contact = setting(
        "LLMS_CONTACT",
        None,
        "E-mail address or URL of whoever runs the crawl, added to the user agent.",
    )
    sign_key: types.SignKey = setting(
        "LLMS_SIGN_KEY",
        None,
        "File of an Ed25519 private key, JWK or PEM, that every request is signed with.",
    )
    sign_agent: types.WebUrl = setting(
        "LLMS_SIGN_AGENT", None, "URL of the directory that the public half of that key is in."
    )
    max_rate: types.OptionalNumber = setting(
        "LLMS_MAX_RATE",
        None,
        "Maximum rate for one host; not set, 5 to public hosts; 0 is no limit.",
        unit="requests per second",
    )
    obey_ai_optout: types.Boolean = setting(
        "LLMS_OBEY_AI_OPTOUT", True, "Leave out pages whose publisher opted out of AI use."
    )
    obey_noindex: types.Boolean = setting(
        "LLMS_OBEY_NOINDEX", False, "Leave out pages marked `noindex` as well."
    )
    allowed_addresses: types.Addresses = setting(
        "LLMS_ALLOW_PRIVATE_ADDRESSES",
        False,
        "Addresses that are fetched though they are not public: True, or hosts and networks.",
    )
    http_auth: types.HttpAuth = setting(
        "LLMS_HTTP_AUTH", None, "Headers for private documentation, by host; a dict, or JSON."
    )
    cookies_file: types.CookiesFile = setting(
        "LLMS_COOKIES_FILE",
        None,
        "File with the cookies of a session, as a browser exports it: cookies.txt or JSON.",
        unit="path",
    )

    # --- of one crawl, set by no setting ---
    # the fingerprint of the code of the user that documents pass before the store
    own_code: str = ""
    # whether the crawl is a plan: it stops after discovery and stores nothing
    plan_only: bool = False
    preset: dict[str, Any] = {}  # the arguments that its profile gives, as JSON has them

    @cached_property
    def stores(self) -> Stores:
        """Where the page stores are."""
        from llmsspider.store import Stores  # noqa: PLC0415

        return Stores(
            self.store_url, Path(self.data_dir) if self.data_dir else None, self.store_class
        )

    @property
    def converter_fingerprint(self) -> str:
        """What makes Markdown of pages: content made with anything else is made again."""
        rules = ""
        if self.generators:
            from llmsspider.content.extraction.generators import (  # noqa: PLC0415
                fingerprint_of,
                own_generators,
            )

            rules = fingerprint_of(own_generators(self.generators))
        return f"{self.converter}{self.handlers.fingerprint}{self.formats.fingerprint}{rules}{self.own_code}"

    @classmethod
    def from_settings(cls, settings: SettingsLike) -> Config:
        """Read and check every `LLMS_` setting; what the environment sets is put into `settings`
        first.

        None and the empty text are the default.

        Raises:
            ArgumentsError: one line for each setting that is wrong.
        """
        problems = take_environment(settings)
        given = {
            name: value for name in DEFAULTS if (value := settings.get(name)) not in (None, "")
        }
        try:
            config = cls.model_validate(given)
        except ValidationError as error:
            for problem in error.errors():
                name = str(problem["loc"][0])
                is_variable = settings.getpriority(name) == ENVIRONMENT_PRIORITY
                shown = name if name in SECRET else f"{name}={given.get(name)!r}"
                where = "environment variable" if is_variable else "setting"
                context = problem.get("ctx") or {}
                accepted = context.get("accepted") or problem["msg"]
                problems += context.get("lines") or [f"{where} {shown}: {accepted}"]
        if problems:
            raise ArgumentsError(problems)
        return config


DEFAULTS: dict[str, Any] = {
    str(field.alias): field.default for field in Config.model_fields.values() if field.alias
}
"""The default of each setting by its name; None for those that are not set."""


def take_environment(settings: SettingsLike) -> list[str]:
    """Put the `LLMS_` environment variables into `settings`; returns a line for each name that is
    no setting.

    The command line comes before the environment, the environment before profiles and settings.py.
    A variable of another program that only begins with `LLMS_` is left alone, one that looks like a
    misspelt setting is not.
    """
    given = sorted(name for name in map(str, settings) if name.upper().startswith("LLMS_"))
    problems = [_unknown_setting(name) for name in given if name not in DEFAULTS]
    for name, value in from_environment().items():
        if (settings.getpriority(name) or 0) < ENVIRONMENT_PRIORITY:
            settings.set(name, value, priority=ENVIRONMENT_PRIORITY)
    problems.extend(
        f"environment variable {name} is no setting; did you mean {close}?"
        for name in sorted(os.environ)
        if name.startswith("LLMS_") and name not in DEFAULTS and (close := _nearest(name, 0.9))
    )
    return problems


def _unknown_setting(name: str) -> str:
    if near := _nearest(name):
        return f"setting {name} is unknown; did you mean {near}?"
    return f"setting {name} is unknown (docs/reference/settings.md lists all)"


def from_environment() -> dict[str, str]:
    """Return the settings that the environment has a value for."""
    return {name: value for name in DEFAULTS if (value := os.environ.get(name))}


def _nearest(name: str, cutoff: float = 0.6) -> str | None:
    return next(
        iter(difflib.get_close_matches(name.upper(), sorted(DEFAULTS), n=1, cutoff=cutoff)), None
    )
