"""The arguments of the spiders, as pydantic models: types, choices, defaults and their help texts.

The `crawl` command checks them before anything starts; Scrapy Cloud reads their JSON Schema.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from llmsspider.errors import ArgumentsError, InvalidUrlError
from llmsspider.web.scope import ScopeKind, split_globs
from llmsspider.web.url_gate import InvalidUrl, parse, redacted
from llmsspider.web.urls import require_http_url


def _globs(value: object) -> object:
    return split_globs(value) if isinstance(value, str) else value


def _url(value: object) -> object:
    if isinstance(value, str):
        try:
            return require_http_url(value)
        except InvalidUrlError as error:
            raise ValueError(str(error)) from None
    return value


ModelT = TypeVar("ModelT", bound=BaseModel)

Url = Annotated[str, BeforeValidator(_url)]
Globs = Annotated[tuple[str, ...], BeforeValidator(_globs)]


class CommonArguments(BaseModel):
    """What both spiders take."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    render: Literal["auto", "never", "always"] = Field(
        default="auto",
        description="auto: pages without text of their own are rendered by a browser; never: none; always: all HTML.",
    )
    profile: str = Field(
        default="default", description="Name of a profile in pipelines_config/, or the path of a TOML file."
    )


class DocsArguments(CommonArguments):
    """What the spider `docs` takes."""

    url: Url | None = Field(
        default=None,
        description="Any page of the site, e.g. https://docs.example.com/; needless with a known source.",
    )
    source: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Name of the source in the store (default: host and section).",
    )
    llms_txt: Url | None = Field(
        default=None, description="URL of the llms.txt to read; nothing is probed then."
    )
    scope: ScopeKind = Field(default="auto", description="Which pages belong to the crawl.")
    allow: Globs = Field(
        default=(), description="Globs on the URL path; only matching pages are taken, e.g. /docs/**"
    )
    block: Globs = Field(default=(), description="Globs on the URL path to leave out, e.g. /docs/archive/**")
    language: str | None = Field(
        default=None,
        pattern=r"^(all|[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*)$",
        description="Language to keep, such as en or pt-BR, or all; that of the start page by default.",
    )
    versions: Literal["start", "all"] = Field(
        default="start", description="start: the version tree of the start page only; all: every version."
    )
    max_pages: int = Field(default=10_000, ge=0, description="Documents at most; 0 is no limit.")
    max_requests: int | None = Field(
        default=None,
        ge=0,
        description="Requests for pages at most, 10 a page of max_pages and 100 more by default; 0 is no limit.",
    )
    max_depth: int | None = Field(
        default=None, ge=0, description="Links from the seeds at most; no limit by default."
    )

    follow: Literal["links", "listed", "llms"] = Field(
        default="links",
        description="links: everything; listed: only pages that llms.txt and sitemaps list; llms: only the llms files.",
    )
    optional: Literal["include", "skip"] = Field(
        default="include", description="What to do with the entries of an llms.txt section named Optional."
    )
    listings: Literal["skip", "keep"] = Field(
        default="skip",
        description="What to do with pages that only list other pages, such as those of tags; links are followed.",
    )
    mode: Literal["crawl", "refresh"] = Field(
        default="crawl", description="refresh: revalidate the stored pages only; no discovery, no new pages."
    )
    retry: Literal["", "failed"] = Field(
        default="", description="failed: ask only for the pages that failed in the last run of the source."
    )
    full: bool = Field(
        default=False, description="Ignore stored hashes and validators; convert every page again."
    )
    emit: Literal["all", "changes"] = Field(
        default="all",
        description="all: the complete current set; changes: new, changed and deleted pages only.",
    )
    save: bool = Field(
        default=False, description="Keep this run's arguments for the next crawls of the source."
    )
    confirm_deletions: bool = Field(
        default=False,
        description="Delete even when more than 30% of the pages would go; use it after looking.",
    )

    @field_validator("max_depth", "max_requests", mode="before")
    @classmethod
    def _not_given(cls, value: object) -> object:
        return None if value == "" else value

    @model_validator(mode="after")
    def _url_or_source(self) -> DocsArguments:
        if self.url is None and self.source is None:
            raise PydanticCustomError("missing", "url")
        return self


class PageArguments(CommonArguments):
    """What the spider `page` takes."""

    url: Url = Field(description="The page, e.g. https://docs.example.com/guide/intro")


NO_URL = "http://synthetic.invalid/"
"""The URL of a spider that was made without arguments, by `scrapy shell` and `scrapy check`: it cannot crawl."""

NO_URL_GIVEN = "argument url is missing: pass `-a url=https://docs.example.com/`"

ARGUMENTS: dict[str, type[CommonArguments]] = {
    "llmsspider.spiders.docs.DocsSpider": DocsArguments,
    "llmsspider.spiders.page.PageSpider": PageArguments,
}
"""The arguments of each spider, by the path of its class."""


def given(arguments: dict[str, Any], own: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the arguments that are ours to check: none that begin with `_`, none that a spider of the user takes."""
    return {name: value for name, value in arguments.items() if not name.startswith("_") and name not in own}


def check_arguments(model: type[ModelT], arguments: dict[str, Any]) -> ModelT:
    """Return the arguments as `model`; names that begin with `_` are ignored (Scrapyd passes `_job`).

    Raises:
        ArgumentsError: with one line for each mistake: argument, value and what is accepted.
    """
    try:
        return model.model_validate(given(arguments))
    except ValidationError as error:
        raise ArgumentsError([_line(model, dict(problem)) for problem in error.errors()]) from None


def _line(model: type[BaseModel], problem: dict[str, Any]) -> str:
    location = problem["loc"]
    name = str(location[0]) if location else "url"
    if problem["type"] == "extra_forbidden":
        names = ", ".join(model.model_fields)
        close = difflib.get_close_matches(name, list(model.model_fields), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"argument {name}={_told(problem['input'])!r} is unknown{hint} (accepted: {names})"
    if problem["type"] == "missing":
        return f"argument {name} is missing: pass `-a {name}=https://docs.example.com/`"
    return f"argument {name}={_told(problem['input'])!r}: {_accepted(problem)}"


def _told(value: object) -> object:
    """Return a value without the user names and passwords of URLs in it."""
    if not isinstance(value, str):
        return value
    url = parse(value)
    return url.display if isinstance(url, InvalidUrl) and "@" in value else redacted(value)


def _accepted(problem: dict[str, Any]) -> str:
    message = str(problem["msg"])
    context = problem.get("ctx") or {}
    if problem["type"] == "literal_error":
        return f"accepted are {context['expected']}"
    if problem["type"] == "value_error":
        return str(context.get("error", message))
    return message[:1].lower() + message[1:]
