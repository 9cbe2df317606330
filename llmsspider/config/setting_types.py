"""What the values of settings may be, as pydantic types. Each check says what is accepted, and imports when it runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

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


REFUSED = "refused"
"""The type of the pydantic errors raised here; `lines` of its context are whole lines, in place of `accepted`."""


def refused(accepted: str) -> PydanticCustomError:
    """Return the error to raise: `accepted` follows the name and value of the setting."""
    return PydanticCustomError(REFUSED, "{accepted}", {"accepted": accepted})


def lines_of(error: ArgumentsError) -> PydanticCustomError:
    """Return the error to raise for a check that makes whole lines of its own."""
    return PydanticCustomError(REFUSED, "{accepted}", {"accepted": str(error), "lines": error.problems})


def choice(**values: Any) -> BeforeValidator:
    """Accept these words; each stands for its value."""

    def check(value: Any) -> Any:
        if str(value) in values:
            return values[str(value)]
        raise refused(f"accepted are {', '.join(values)}")

    return BeforeValidator(check)


def one_of(*words: str) -> BeforeValidator:
    """Accept these words."""
    return choice(**{word: word for word in words})


def _boolean(value: Any) -> bool:
    """Read a boolean as Scrapy does."""
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


def _optional_number(value: Any) -> float | None:
    return None if value is None else _number(value)


def _whole(value: Any) -> int:
    number = _number(value)
    if number != int(number):
        raise refused("a whole number of 0 or more is accepted")
    return int(number)


def _positive(value: Any) -> int:
    number = _whole(value)
    if number < 1:
        raise refused("a number of 1 or more is accepted")
    return number


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _workers(value: Any) -> int:
    if value == "auto":
        from llmsspider.content.conversion.workers import automatic_workers  # noqa: PLC0415

        return automatic_workers()
    return _whole(value)


def _ports(value: Any) -> Any:

    try:
        parse_ports(str(value))
    except ValueError:
        raise refused("accepted are auto, off, a port, and a range such as 8000-8019") from None
    return str(value)


def _converter(value: Any) -> str:
    from llmsspider.web import loading  # noqa: PLC0415

    try:
        return loading.check_converter(value)
    except Exception as error:  # whatever the user's module raises
        accepted = f"accepted are {', '.join(loading.NAMES)}, and the path of a class with convert(html)"
        raise refused(f"{accepted} ({type(error).__name__}: {error})") from None


def _history(value: Any) -> Any:
    from llmsspider.store import Retention  # noqa: PLC0415

    try:
        return Retention.parse(value)
    except ValueError:
        raise refused("a number of versions, or of days such as '90 days', is accepted") from None


def _formats(value: Any) -> Any:
    from llmsspider.content.formats import Formats  # noqa: PLC0415

    try:
        return Formats.parse(value)
    except ValueError as error:
        raise refused(str(error)) from None


def _handlers(value: Any) -> Any:
    from llmsspider.content.conversion.handlers import check_handlers  # noqa: PLC0415

    try:
        given = json.loads(value) if isinstance(value, str) else value
        return check_handlers(dict(given))
    except (TypeError, ValueError):
        raise refused("a dict of class paths by media type is accepted") from None
    except ArgumentsError as error:
        raise lines_of(error) from None


def _store_class(value: Any) -> Any:
    from llmsspider.store.store import store_class  # noqa: PLC0415

    return _by(store_class, value)


def _chunk_unit(value: Any) -> Any:
    from llmsspider.content.markdown.chunks import counter  # noqa: PLC0415

    return _by(counter, str(value))


def _providers(value: Any) -> Any:
    from llmsspider.site.providers import load_providers  # noqa: PLC0415

    return _by(load_providers, value.split(",") if isinstance(value, str) else list(value))


def _repository_hosts(value: Any) -> Any:
    from llmsspider.site.repositories import parse_hosts  # noqa: PLC0415

    try:
        return parse_hosts(value)
    except ValueError as error:
        raise refused(str(error)) from None


def _generators(value: Any) -> tuple[str, ...]:
    paths = tuple(value.split(",") if isinstance(value, str) else value)
    if paths:
        from llmsspider.content.extraction.generators import own_generators  # noqa: PLC0415

        _by(own_generators, paths)
    return paths


def _embedder(value: Any) -> Any:
    if value is not None:
        from llmsspider.answers.embedding import check_embedder  # noqa: PLC0415

        _by(check_embedder, value)
    return value


def _addresses(value: Any) -> Any:
    from llmsspider.web.addresses import AllowedAddresses  # noqa: PLC0415

    return _by(AllowedAddresses.from_setting, value)


def _http_auth(value: Any) -> Any:
    from llmsspider.web.credentials import Credentials  # noqa: PLC0415

    return _by(Credentials.from_setting, value)


def _contact(value: Any) -> str | None:
    from llmsspider.web.politeness import with_contact  # noqa: PLC0415

    try:
        with_contact("", value)
    except ValueError as error:
        raise lines_of(ArgumentsError([str(error)])) from None
    return _text(value)


def _web_url(value: Any) -> str | None:
    from llmsspider.errors import InvalidUrlError  # noqa: PLC0415
    from llmsspider.web.urls import require_http_url  # noqa: PLC0415

    if value is None or value == "":
        return None
    try:
        return require_http_url(str(value))
    except InvalidUrlError:
        raise refused("an http or https URL is accepted") from None


def _by(read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except ArgumentsError as error:
        raise lines_of(error) from None


OpenApiDocuments = Literal["file", "tag", "operation"]
Boolean = Annotated[bool, BeforeValidator(_boolean)]
Number = Annotated[float, BeforeValidator(_number)]
OptionalNumber = Annotated[float | None, BeforeValidator(_optional_number)]
Whole = Annotated[int, BeforeValidator(_whole)]
Positive = Annotated[int, BeforeValidator(_positive)]
Text = Annotated[str | None, BeforeValidator(_text)]
Workers = Annotated[int, BeforeValidator(_workers)]
Ports = Annotated[str, BeforeValidator(_ports)]
Converter = Annotated[str, BeforeValidator(_converter)]
Generators = Annotated[tuple[str, ...], BeforeValidator(_generators)]
EmbedderPath = Annotated[Any, BeforeValidator(_embedder)]
WebUrl = Annotated[str | None, BeforeValidator(_web_url)]
Contact = Annotated[str | None, BeforeValidator(_contact)]

if TYPE_CHECKING:
    from llmsspider.content.conversion.handlers import Handlers
    from llmsspider.content.formats import Formats
    from llmsspider.content.markdown.chunks import Count
    from llmsspider.site.providers import Provider
    from llmsspider.site.repositories import Kind as RepositoryKind
    from llmsspider.store import Retention, Store
    from llmsspider.web.addresses import AllowedAddresses
    from llmsspider.web.credentials import Credentials

    Addresses = AllowedAddresses
    ChunkUnit = Count
    ContentHandlers = Handlers
    FormatModes = Formats
    History = Retention
    HttpAuth = Credentials
    Providers = list[Provider]
    RepositoryHosts = dict[str, RepositoryKind]
    StoreClass = type[Store]
else:  # what the checks return; a process that only reads settings need not import it
    Addresses = Annotated[Any, BeforeValidator(_addresses)]
    ChunkUnit = Annotated[Any, BeforeValidator(_chunk_unit)]
    ContentHandlers = Annotated[Any, BeforeValidator(_handlers)]
    FormatModes = Annotated[Any, BeforeValidator(_formats)]
    History = Annotated[Any, BeforeValidator(_history)]
    HttpAuth = Annotated[Any, BeforeValidator(_http_auth)]
    Providers = Annotated[Any, BeforeValidator(_providers)]
    RepositoryHosts = Annotated[Any, BeforeValidator(_repository_hosts)]
    StoreClass = Annotated[Any, BeforeValidator(_store_class)]


def problems_of(error: Mapping[str, Any], shown: str) -> list[str]:
    """Return the lines for one pydantic error; `shown` is what the setting is called in them, with its value."""
    context = error.get("ctx") or {}
    return context.get("lines") or [f"{shown}: {context.get('accepted') or error['msg']}"]
