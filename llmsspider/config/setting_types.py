"""What the values of settings may be, as pydantic types.

Each check says what is accepted, and imports when it runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from llmsspider.errors import ArgumentsError

# The values of `LLMS_STATUS_PORT`.

AUTO_PORTS = range(7610, 7630)
"""Ports of which the first free one is taken."""


def parse_ports(value: str) -> range | None:
    """Return the ports to try, None for no page; 0 is any free port. Raises `ValueError`.

    >>> parse_ports("auto"), parse_ports("off"), parse_ports("8000"), parse_ports("8000-8002")
    (range(7610, 7630), None, range(8000, 8001), range(8000, 8003))
    """
    if value == "auto":
        return AUTO_PORTS
    if value in {"off", "None", "False", ""}:
        return None
    first, _, last = value.partition("-")
    ports = range(int(first), int(last or first) + 1)
    if not ports or ports[0] < 0 or ports[-1] > 65535:
        raise ValueError(value)
    return ports


def refused(accepted: str) -> PydanticCustomError:
    """Return the error to raise: `accepted` follows the name and value of the setting."""
    return PydanticCustomError("refused", "{accepted}", {"accepted": accepted})


def choice(**values: Any) -> BeforeValidator:
    """Accept these words; each stands for its value."""

    def check(value: Any) -> Any:
        if str(value) in values:
            return values[str(value)]
        raise refused(f"accepted are {', '.join(values)}")

    return BeforeValidator(check)


def by(
    reader: str,
    accepted: str | None = None,
    *,
    first: Callable[[Any], Any] = lambda value: value,
    only_checks: bool = False,
) -> BeforeValidator:
    """Accept what a function makes of the value, and None as it is; it is imported with the first
    value.

    Args:
        reader: the function, as `package.module:name`. An `ArgumentsError` of it is taken as it is.
        accepted: what is said where it raises anything else; its own words by default.
        first: what is made of the value before.
        only_checks: the value stays what it is.
    """

    def check(value: Any) -> Any:
        if value is None:
            return None
        module, _, name = reader.partition(":")
        try:
            value = first(value)
            if value == ():
                return value
            read = attrgetter(name)(import_module(module))(value)
            return value if only_checks else read
        except ArgumentsError as error:
            context = {"accepted": str(error), "lines": error.problems}
            raise PydanticCustomError("refused", "{accepted}", context) from None
        except Exception as error:  # whatever the user's module raises
            raise refused(
                (accepted or "{error}").format(error=error, kind=type(error).__name__)
            ) from None

    return BeforeValidator(check)


def _boolean(value: Any) -> bool:
    if str(value) in {"True", "true", "1"}:
        return True
    if str(value) in {"False", "false", "0"}:
        return False
    raise refused("True or False is accepted")


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not math.isfinite(number) or number < 0:
        raise refused("a number of 0 or more is accepted")
    return number


def _whole(value: Any) -> int:
    number = _number(value)
    if number != int(number):
        raise refused("a whole number of 0 or more is accepted")
    return int(number)


def _workers(value: Any) -> int:
    from llmsspider.content.conversion import automatic_workers  # noqa: PLC0415

    return automatic_workers() if value == "auto" else _whole(value)


def _paths(value: Any) -> tuple[Any, ...]:
    return tuple(value.split(",") if isinstance(value, str) else value)


REVISITS = {"always": 0, "proven": 50}
"""The words of `LLMS_REVISIT`, each with the number of crawls within which every page is requested.
"""


def _nights(value: Any) -> int:
    try:
        return REVISITS[str(value)] if str(value) in REVISITS else _whole(value)
    except PydanticCustomError:
        raise refused("accepted are always, proven, and a whole number of crawls") from None


CONVERTERS = (
    "accepted are native, markdownify, and the path of a class with convert(html) ({kind}: {error})"
)
PORTS = "accepted are auto, off, a port, and a range such as 8000-8019"
SIZES = "accepted are a number of 1 or more, and one with a unit: {error}"
VERSIONS = "a number of versions, or of days such as '90 days', is accepted"

Boolean = Annotated[bool, BeforeValidator(_boolean)]
Number = Annotated[float, BeforeValidator(_number)]
OptionalNumber = Annotated[
    float | None, BeforeValidator(lambda value: None if value is None else _number(value))
]
Whole = Annotated[int, BeforeValidator(_whole)]
Nights = Annotated[int, BeforeValidator(_nights)]
Text = Annotated[str | None, BeforeValidator(lambda value: None if value is None else str(value))]
Workers = Annotated[int, BeforeValidator(_workers)]
Ports = Annotated[str, by(f"{__name__}:parse_ports", PORTS, first=str, only_checks=True)]
Converter = Annotated[str, by("llmsspider.web.loading:check_converter", CONVERTERS)]
Generators = Annotated[
    tuple[str, ...],
    by("llmsspider.content.extraction.generators:own_generators", first=_paths, only_checks=True),
]
EmbedderPath = Annotated[Any, by("llmsspider.answers.embedding:check_embedder", only_checks=True)]
CookiesFile = Annotated[
    str | None, by("llmsspider.web.cookie_file:read_cookies", first=str, only_checks=True)
]
SignKey = Annotated[str | None, by("llmsspider.web.credentials:read_key", only_checks=True)]
WebUrl = Annotated[
    str | None, by("llmsspider.web.urls:require_http_url", "an http or https URL is accepted")
]
Contact = Annotated[str | None, by("llmsspider.web.credentials:check_contact", only_checks=True)]

if TYPE_CHECKING:
    from llmsspider.content.formats import Formats, Handlers
    from llmsspider.content.markdown.chunks import Chunker
    from llmsspider.site.providers import Provider
    from llmsspider.site.repositories import Kind
    from llmsspider.store import Retention, Store
    from llmsspider.web.addresses import AllowedAddresses
    from llmsspider.web.credentials import Credentials

    Addresses = AllowedAddresses
    ChunkSize = Chunker
    ContentHandlers = Handlers
    FormatModes = Formats
    History = Retention
    HttpAuth = Credentials
    Providers = list[Provider]
    RepositoryHosts = dict[str, Kind]
    StoreClass = type[Store]
else:  # what the checks return; a process that only reads settings need not import it
    Addresses = Annotated[Any, by("llmsspider.web.addresses:AllowedAddresses.from_setting")]
    ChunkSize = Annotated[Any, by("llmsspider.content.markdown.chunks:Chunker.parse", SIZES)]
    ContentHandlers = Annotated[
        Any,
        by(
            "llmsspider.content.formats:check_handlers",
            "a dict of class paths by media type is accepted",
            first=lambda value: dict(json.loads(value) if isinstance(value, str) else value),
        ),
    ]
    FormatModes = Annotated[Any, by("llmsspider.content.formats:Formats.parse")]
    History = Annotated[Any, by("llmsspider.store:Retention.parse", VERSIONS)]
    HttpAuth = Annotated[Any, by("llmsspider.web.credentials:Credentials.from_setting")]
    Providers = Annotated[Any, by("llmsspider.site.providers:load_providers", first=_paths)]
    RepositoryHosts = Annotated[Any, by("llmsspider.site.repositories:parse_hosts")]
    StoreClass = Annotated[Any, by("llmsspider.store.store:store_class")]
