"""The settings of manners and safety, checked before anything is fetched."""

from __future__ import annotations

import os
from typing import Any, Protocol

from llmsspider.addresses import AllowedAddresses
from llmsspider.credentials import Credentials
from llmsspider.errors import ArgumentsError
from llmsspider.politeness import with_contact


class Settings(Protocol):
    """The part of Scrapy's settings that is used."""

    def get(self, name: Any, default: Any = None) -> Any: ...  # noqa: D102


def http_auth(settings: Settings) -> Credentials:
    """Read `LLMS_HTTP_AUTH` from the settings, else from the environment.

    Raises:
        ArgumentsError: it cannot be used. The text shows no secret.
    """
    return Credentials.from_setting(settings.get("LLMS_HTTP_AUTH") or os.environ.get("LLMS_HTTP_AUTH"))


def allowed_addresses(settings: Settings) -> AllowedAddresses:
    """Read `LLMS_ALLOW_PRIVATE_ADDRESSES`.

    Raises:
        ArgumentsError: it cannot be used.
    """
    return AllowedAddresses.from_setting(settings.get("LLMS_ALLOW_PRIVATE_ADDRESSES", False))


def problems_of(settings: Settings) -> list[str]:
    """Return one line for each of these settings that is wrong, none of them showing a secret."""
    problems: list[str] = []
    for read in (allowed_addresses, http_auth, _contact):
        try:
            read(settings)
        except ArgumentsError as error:
            problems += error.problems
    return problems


def _contact(settings: Settings) -> str:
    try:
        return with_contact("", settings.get("LLMS_CONTACT"))
    except ValueError as error:
        raise ArgumentsError([str(error)]) from None
