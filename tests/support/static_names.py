"""The project's resolver over made-up names: `STATIC_NAMES` in the environment maps each to its address."""

from __future__ import annotations

import json
import os

from twisted.internet._resolver import HostResolution
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

from llmsspider.downloadermiddlewares.address_guard import AddressGuardResolver


@implementer(IHostnameResolver)
class StaticNames:
    """Answers with the address in the table, or with nothing."""

    def __init__(self) -> None:
        self.names = json.loads(os.environ["STATIC_NAMES"])

    def resolveHostName(self, receiver, hostName, portNumber=0, addressTypes=None, transportSemantics="TCP"):
        resolution = HostResolution(hostName)
        receiver.resolutionBegan(resolution)
        if hostName in self.names:
            receiver.addressResolved(IPv4Address("TCP", self.names[hostName], portNumber))
        receiver.resolutionComplete()
        return resolution


class StaticNamesResolver(AddressGuardResolver):
    """For `TWISTED_DNS_RESOLVER`."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.original_resolver = StaticNames()
