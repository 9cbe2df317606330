"""The project's resolver over names that the tests make up; no other name is looked up anywhere.

For `TWISTED_DNS_RESOLVER`. `STATIC_NAMES` in the environment maps names to addresses. With `FAULT_NAMES` all names that
end in `.example.com` are 127.0.0.1, but for those that it has, with commas: `gone.example.com` is never found,
`flaky.example.com*1` not the first time.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

from twisted.internet._resolver import HostResolution
from twisted.internet.abstract import isIPAddress
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

from llmsspider.downloadermiddlewares.resolver import AddressGuardResolver


@implementer(IHostnameResolver)
class _Names:
    def resolveHostName(
        self, receiver: Any, name: str, port: int = 0, *_args: Any, **_kwargs: Any
    ) -> Any:
        resolution = HostResolution(name)
        receiver.resolutionBegan(resolution)
        if (address := self.address(name)) is not None:
            receiver.addressResolved(IPv4Address("TCP", address, port))
        receiver.resolutionComplete()
        return resolution

    def address(self, name: str) -> str | None:
        raise NotImplementedError


class _Static(_Names):
    def __init__(self) -> None:
        self.address = json.loads(os.environ["STATIC_NAMES"]).get


class _Faulty(_Names):
    def __init__(self) -> None:
        failing = (
            name.partition("*") for name in os.environ.get("FAULT_NAMES", "").split(",") if name
        )
        self._failing = {name: int(times) if times else None for name, _, times in failing}
        self._asked: Counter[str] = Counter()

    def address(self, name: str) -> str | None:
        self._asked[name] += 1
        limit = self._failing.get(name, 0)
        is_down = limit is None or self._asked[name] <= limit
        here = "127.0.0.1" if name.endswith(".example.com") and not is_down else None
        return name if isIPAddress(name) else here


class StaticNames(AddressGuardResolver):
    """Has the addresses in the table."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.original_resolver = _Static()


class FaultNames(AddressGuardResolver):
    """Has the names of the fault tests, unless they are down."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.original_resolver = _Faulty()
