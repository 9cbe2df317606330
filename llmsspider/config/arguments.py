"""The arguments of the spiders, as pydantic models: types, choices, defaults and their help texts.

The `crawl` command checks them before anything starts; Scrapy Cloud reads their JSON Schema.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar

from pydantic import (
    AfterValidator,
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
from llmsspider.web.addresses import FILE
from llmsspider.web.scope import ScopeKind, split_globs
from llmsspider.web.urls import InvalidUrl, parse, redacted, require_http_url, start_url


def _checked_by(check: Callable[[str], str]) -> BeforeValidator:
    def checked(value: object) -> object:
        try:
            return check(value) if isinstance(value, str) else value
        except InvalidUrlError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(checked)


def listed_urls(path: str) -> list[str]:
    """Return the URLs that a text file lists, one a line, each once; raises `ValueError` with what
    is wrong.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the file cannot be read: {error}") from None
    urls: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            try:
                urls[require_http_url(line)] = None
            except InvalidUrlError as error:
                raise ValueError(f"line {number}: {error}") from None
    if not urls:
        raise ValueError("the file lists no URL: write one a line")
    return list(urls)


ModelT = TypeVar("ModelT", bound=BaseModel)


def argument(default: Any, description: str, accepted: str | None = None, **limits: Any) -> Any:
    """Return the field of an argument; `accepted` is what the docs say it accepts, where its type
    does not.
    """
    extra: Any = {"accepted": accepted} if accepted else None
    return Field(default=default, description=description, json_schema_extra=extra, **limits)


URL = "an http(s) URL"
NUMBER = "0 or more"
GLOBS = "globs, separated by commas or new lines"

PLACE = "an http(s) URL, or a local folder: file:///path/ or ./path"
Url = Annotated[str, _checked_by(require_http_url)]
Place = Annotated[str, _checked_by(start_url)]
SELECTORS = "CSS selectors, separated by commas or new lines"


def _selectors(value: object) -> object:
    """Return selectors one by one; an invalid one is a `ValueError` that names it."""
    from llmsspider.content.extraction.parts import separate  # noqa: PLC0415  # loads lxml

    return separate(value) if isinstance(value, str) and value.strip() else value or ()


Selectors = Annotated[tuple[str, ...], BeforeValidator(_selectors)]
Globs = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: split_globs(value) if isinstance(value, str) else value),
]


class CommonArguments(BaseModel):
    """What both spiders take."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: Selectors = argument(
        (), "What of HTML pages is their content; it is found without any.", SELECTORS
    )
    drop: Selectors = argument((), "What of HTML pages is left out.", SELECTORS)

    render: Literal["auto", "never", "always"] = argument(
        "auto",
        "auto: the browser renders a page without text of its own; never: none; always: all HTML.",
    )
    profile: str = argument(
        "default",
        "The pipeline configuration.",
        "a name in pipelines_config/, or the path of a TOML file",
    )


class DocsArguments(CommonArguments):
    """What the spider `docs` takes."""

    url: Place | None = argument(
        None, "Any page of the site; needless with the source of an earlier crawl.", PLACE
    )
    source: str | None = argument(
        None,
        "Name of the source in the page store.",
        "up to 200 characters",
        min_length=1,
        max_length=200,
    )
    urls_file: Annotated[str, AfterValidator(lambda path: listed_urls(path) and path)] | None = (
        argument(
            None,
            "Only the pages that a file lists, one URL a line; the first one is the url by"
            " default.",
            "a path",
        )
    )
    llms_txt: Url | None = argument(None, "The llms.txt to read; nothing is probed then.", URL)
    scope: ScopeKind = argument("auto", "Which pages belong to the crawl.")
    allow: Globs = argument(
        (),
        "Only pages whose path matches one are taken, e.g. /docs/**; replaces the section.",
        GLOBS,
    )
    block: Globs = argument(
        (),
        "Pages whose path matches one are filtered, e.g. /docs/archive/**; wins over allow.",
        GLOBS,
    )
    language: str | None = argument(
        None,
        "The language tree to keep; that of the start page by default.",
        "all, or a language tag such as en or pt-BR",
        pattern=r"^(all|[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*)$",
    )
    versions: Literal["start", "all"] = argument(
        "start", "start: the version tree of the start page alone; all: every version."
    )
    assets: Literal["none", "images", "files"] = argument(
        "none",
        "Which files of the site are kept beside its pages: images: the pictures in them; files:"
        " linked PDF files, archives and the like, too.",
    )
    max_pages: int = argument(10_000, "Documents at most; 0 is no limit.", NUMBER, ge=0)
    max_requests: int | None = argument(
        None,
        "Requests for pages at most, 10 a page of max_pages and 100 more by default; 0 is no"
        " limit.",
        NUMBER,
        ge=0,
    )
    max_depth: int | None = argument(
        None,
        "Links from the nearest seed at most, which has depth 0; no limit by default.",
        NUMBER,
        ge=0,
    )

    follow: Literal["links", "listed", "llms"] = argument(
        "links",
        "links: all pages; listed: those that llms.txt and sitemaps list; llms: the llms files"
        " themselves.",
    )
    optional: Literal["include", "skip"] = argument(
        "include", "What becomes of the entries of an llms.txt section named Optional."
    )
    listings: Literal["skip", "keep"] = argument(
        "skip",
        "What becomes of pages that only list others, such as those of tags; their links are"
        " followed.",
    )
    mode: Literal["crawl", "refresh"] = argument(
        "crawl", "refresh: request the stored pages only; no discovery, no new pages."
    )
    retry: Literal["", "failed"] = argument(
        "", "failed: request only the pages that failed in the last run of the source."
    )
    full: bool = argument(
        False, "Ignore stored hashes and validators: get and convert every page again."
    )
    emit: Literal["all", "changes"] = argument(
        "all", "all: the complete current set; changes: new, changed and deleted pages alone."
    )
    save: bool = argument(False, "Keep this run's arguments for the next crawls of the source.")
    confirm_deletions: bool = argument(
        False, "Delete even when more than 30% of the stored pages would go."
    )

    @field_validator("max_depth", "max_requests", mode="before")
    @classmethod
    def _not_given(cls, value: object) -> object:
        return None if value == "" else value

    @property
    def follows_links(self) -> bool:
        """True when links of pages lead to further pages."""
        return self.mode == "crawl" and self.follow == "links" and not self.retry

    @property
    def reads_folder(self) -> bool:
        """True where a local folder is named in place of a site."""
        return (self.url or "").startswith(FILE)

    @model_validator(mode="after")
    def _url_or_source(self) -> DocsArguments:
        if self.url is None and self.urls_file is not None:
            return self.model_copy(update={"url": listed_urls(self.urls_file)[0]})
        if self.url is None and self.source is None:
            raise PydanticCustomError("missing", "url")
        return self


class CrawlArguments(TypedDict, total=False):
    """The same for `llmsspider.crawl`, which takes the URL by itself: globs as text or as a list."""

    source: str
    urls_file: str
    llms_txt: str
    scope: ScopeKind
    allow: str | Sequence[str]
    block: str | Sequence[str]
    language: str
    versions: Literal["start", "all"]
    assets: Literal["none", "images", "files"]
    max_pages: int
    max_requests: int
    max_depth: int
    follow: Literal["links", "listed", "llms"]
    optional: Literal["include", "skip"]
    listings: Literal["skip", "keep"]
    keep: str | Sequence[str]
    drop: str | Sequence[str]
    mode: Literal["crawl", "refresh"]
    retry: Literal["", "failed"]
    full: bool
    emit: Literal["all", "changes"]
    save: bool
    confirm_deletions: bool
    render: Literal["auto", "never", "always"]
    profile: str


class PageArguments(CommonArguments):
    """What the spider `page` takes."""

    url: Place = argument(..., "The page.", PLACE.replace("folder", "file"))


PLAN_ONLY = "_plan"
"""The argument that `scrapy plan` gives the spider: stop after discovery and store nothing."""

NO_URL = "http://synthetic.invalid/"
"""The URL of a spider that was made without arguments, by `scrapy shell` and `scrapy check`: it
cannot crawl.
"""

NO_URL_GIVEN = "argument url is missing: pass `-a url=https://docs.example.com/`"

ARGUMENTS: dict[str, type[CommonArguments]] = {
    "llmsspider.spiders.docs.DocsSpider": DocsArguments,
    "llmsspider.spiders.page.PageSpider": PageArguments,
}
"""The arguments of each spider, by the path of its class."""


def given(arguments: dict[str, Any], own: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the arguments that are ours to check: none that begin with `_`, none that a spider of
    the user takes.
    """
    return {
        name: value
        for name, value in arguments.items()
        if not name.startswith("_") and name not in own
    }


def check_arguments(model: type[ModelT], arguments: dict[str, Any]) -> ModelT:
    """Return the arguments as `model`; names that begin with `_` are ignored (Scrapyd passes
    `_job`).

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
    context = problem.get("ctx") or {}
    accepted = str(problem["msg"])
    if problem["type"] == "literal_error":
        accepted = f"accepted are {context['expected']}"
    elif problem["type"] == "value_error":
        accepted = str(context.get("error", accepted))
    else:
        accepted = accepted[:1].lower() + accepted[1:]
    return f"argument {name}={_told(problem['input'])!r}: {accepted}"


def _told(value: object) -> object:
    """Return a value without the user names and passwords of URLs in it."""
    if not isinstance(value, str):
        return value
    url = parse(value)
    return url.display if isinstance(url, InvalidUrl) and "@" in value else redacted(value)
