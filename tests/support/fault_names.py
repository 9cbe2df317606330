"""Names that the fault tests resolve themselves: what ends in `.example.com` is 127.0.0.1, unless it is down.

For `TWISTED_DNS_RESOLVER`. `FAULT_NAMES` in the environment has the names that fail, with commas: `gone.example.com`
always, `flaky.example.com*1` the first time only. No other name is looked up anywhere.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from twisted.internet._resolver import HostResolution
from twisted.internet.abstract import isIPAddress
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

from llmsspider.downloadermiddlewares.address_guard import AddressGuardResolver


@implementer(IHostnameResolver)
class _Names:
    def __init__(self) -> None:
        failing = (name.partition("*") for name in os.environ.get("FAULT_NAMES", "").split(",") if name)
        self._failing = {name: int(times) if times else None for name, _, times in failing}
        self._asked: Counter[str] = Counter()

    def resolveHostName(self, receiver: Any, name: str, port: int = 0, *_args: Any, **_kwargs: Any) -> Any:
        self._asked[name] += 1
        limit = self._failing.get(name, 0)
        down = limit is None or self._asked[name] <= limit
        resolution = HostResolution(name)
        receiver.resolutionBegan(resolution)
        if isIPAddress(name):
            receiver.addressResolved(IPv4Address("TCP", name, port))
        elif name.endswith(".example.com") and not down:
            receiver.addressResolved(IPv4Address("TCP", "127.0.0.1", port))
        receiver.resolutionComplete()
        return resolution


class FaultNames(AddressGuardResolver):
    """The project's resolver over the names of the test."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.original_resolver = _Names()
