"""The values of Scrapy's own settings, which Scrapy reads one by one while it starts."""

from __future__ import annotations

import codecs
import json
import logging
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, default_settings
from scrapy.utils.misc import load_object

from llmsspider.config.components import SCRAPY_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings


FRACTIONS = {"DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT"}
"""Settings that may be fractions though their default is a whole number."""

CONCURRENCY = {"CONCURRENT_ITEMS", "CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN"}
"""Settings with which nothing is fetched when they are 0."""

CLASS_PATH = re.compile(r"(?:scrapy|twisted)(?:\.\w+)+\Z")


def _check_folder(value: Any) -> None:
    if not Path(value).parent.is_dir():
        raise FileNotFoundError(value)


def _check_boolean(value: Any) -> None:
    if str(value) not in {"0", "1", "True", "False", "true", "false"}:
        raise ValueError(value)


Check = Callable[[Any], object]
"""Raises anything for a value that Scrapy could not use."""

LEVELS = logging.getLevelNamesMapping()
LEVEL: tuple[Check, str] = (
    lambda value: isinstance(value, int) or str(value).isdecimal() or LEVELS[str(value).upper()],
    "CRITICAL, ERROR, WARNING, INFO or DEBUG is accepted",
)
CODES: tuple[Check, str] = (
    lambda value: list(map(int, value.split(",") if isinstance(value, str) else value)),
    "status codes, separated by commas, are accepted",
)
ENCODING: tuple[Check, str] = (codecs.lookup, "the name of an encoding, such as utf-8, is accepted")
BOOLEAN: tuple[Check, str] = (_check_boolean, "True or False is accepted")
DICT: tuple[Check, str] = (
    lambda value: dict(json.loads(value) if isinstance(value, str) else value),
    "a dict is accepted, on the command line as JSON",
)
BY_NAME: dict[str, tuple[Check, str]] = {
    **dict.fromkeys(("LOG_LEVEL", "DEFAULT_DROPITEM_LOG_LEVEL", "RETRY_GIVE_UP_LOG_LEVEL"), LEVEL),
    **dict.fromkeys(
        ("RETRY_HTTP_CODES", "HTTPERROR_ALLOWED_CODES", "HTTPCACHE_IGNORE_HTTP_CODES"), CODES
    ),
    **dict.fromkeys(("FEED_EXPORT_ENCODING", "LOG_ENCODING"), ENCODING),
    "LOG_FILE": (_check_folder, "a file in a folder that exists is accepted"),
    "REFERRER_POLICY": (str, "a policy is accepted"),
    "TELNETCONSOLE_ENABLED": BOOLEAN,
}


def _by_default(name: str, default: Any) -> tuple[Check, str] | None:
    """Return the check of a setting and what it accepts, by the type of Scrapy's default; None for
    any text.
    """
    if isinstance(default, bool):
        return BOOLEAN
    if isinstance(default, dict):
        return DICT
    if isinstance(default, str) and CLASS_PATH.match(default):
        return load_object, "the path of a class is accepted"
    if not isinstance(default, int | float):
        return None
    whole = isinstance(default, int) and name not in FRACTIONS
    least = 1 if name in CONCURRENCY else -math.inf if "PRIORITY" in name else 0

    def check(value: Any) -> None:
        number = int(value) if whole else float(value)
        if not math.isfinite(number) or number < least:
            raise ValueError(value)

    from_least = f" of {least} or more" if least >= 0 else ""
    return check, f"a {'whole ' if whole else ''}number{from_least} is accepted"


def value_problem(name: str, value: Any) -> str | None:
    """Return what is wrong with the value of a setting of Scrapy, None where nothing is.

    >>> value_problem("DOWNLOAD_DELAY", "abc")
    "setting DOWNLOAD_DELAY='abc': a number of 0 or more is accepted"
    >>> value_problem("DOWNLOAD_DELAY", "0.5"), value_problem("SHELVES", "abc")
    (None, None)
    """
    if name not in SCRAPY_SETTINGS or value is None:
        return None
    check, accepted = (
        BY_NAME.get(name) or _by_default(name, getattr(default_settings, name)) or (str, "")
    )
    try:
        check(value)
    except Exception as error:  # a module of the user's may raise anything
        why = f" ({type(error).__name__}: {error})" if check is load_object else ""
        return f"setting {name}={value!r}: {accepted}{why}"
    return None


def value_problems(settings: BaseSettings) -> list[str]:
    """Return one line for each setting of Scrapy that a project, profile or command line gives a
    wrong value.
    """
    given = ((name, settings.getpriority(name) or 0) for name in SCRAPY_SETTINGS)
    ours = (name for name, priority in given if priority >= SETTINGS_PRIORITIES["project"])
    return [problem for name in ours if (problem := value_problem(name, settings[name]))]


def pair_problems(pairs: Iterable[str]) -> list[str]:
    """Return one line for each `NAME=VALUE` of the command line that Scrapy would not even put into
    its settings.
    """
    parted = (pair.partition("=") for pair in pairs)
    return [
        problem
        for name, _, value in parted
        if isinstance(getattr(default_settings, name, None), dict)
        and (problem := value_problem(name, value))
    ]
