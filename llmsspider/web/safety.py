"""The settings of safety, as the components that obey them read them."""

from __future__ import annotations

from typing import Any, Protocol

from llmsspider.web.addresses import AllowedAddresses
from llmsspider.web.credentials import Credentials


class Settings(Protocol):
    """The part of Scrapy's settings that is used."""

    def get(self, name: Any, default: Any = None) -> Any: ...  # noqa: D102


def http_auth(settings: Settings) -> Credentials:
    """Read `LLMS_HTTP_AUTH`.

    Raises:
        ArgumentsError: it cannot be used. The text shows no secret.
    """
    return Credentials.from_setting(settings.get("LLMS_HTTP_AUTH"))


def allowed_addresses(settings: Settings) -> AllowedAddresses:
    """Read `LLMS_ALLOW_PRIVATE_ADDRESSES`.

    Raises:
        ArgumentsError: it cannot be used.
    """
    return AllowedAddresses.from_setting(settings.get("LLMS_ALLOW_PRIVATE_ADDRESSES", False))
