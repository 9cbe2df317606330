"""The resolver without a network: what it passes on, and whose rule it follows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from twisted.internet._resolver import HostResolution
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer

from llmsspider.downloadermiddlewares.resolver import AddressGuardResolver
from llmsspider.web.addresses import AllowedAddresses


@implementer(IHostnameResolver)
class Answers:
    """Answers every name with the same addresses."""

    def __init__(self, *addresses: str):
        self.addresses = addresses
        self.asked: list[str] = []

    def resolveHostName(
        self, receiver, hostName, portNumber=0, addressTypes=None, transportSemantics="TCP"
    ):
        self.asked.append(hostName)
        resolution = HostResolution(hostName)
        receiver.resolutionBegan(resolution)
        for ip in self.addresses:
            receiver.addressResolved(
                (IPv6Address if ":" in ip else IPv4Address)("TCP", ip, portNumber)
            )
        receiver.resolutionComplete()
        return resolution


@implementer(IResolutionReceiver)
class Received:
    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.complete = False

    def resolutionBegan(self, resolution) -> None:
        self.name = resolution.name

    def addressResolved(self, address) -> None:
        self.addresses.append(address.host)

    def resolutionComplete(self) -> None:
        self.complete = True


def resolver(*addresses: str, allowed: object = False) -> AddressGuardResolver:
    reactor = SimpleNamespace(nameResolver=Answers(*addresses))
    return AddressGuardResolver(reactor, 0, AllowedAddresses.from_setting(allowed))


def resolved(guard: AddressGuardResolver, name: str = "docs.example", port: int = 80) -> list[str]:
    received = Received()
    guard.resolveHostName(received, name, port)
    assert received.complete
    return received.addresses


def test_only_permitted_addresses_are_passed_on():
    guard = resolver("10.0.0.1", "93.184.215.14", "::1", "2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    assert resolved(guard) == ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
    assert guard.refusal("docs.example", 80) is None


def test_a_name_with_refused_addresses_only_is_remembered_until_it_changes():
    guard = resolver("10.0.0.1", "10.0.0.1")
    assert resolved(guard, "Docs.example") == []
    assert "resolves to 10.0.0.1, which" in guard.refusal("docs.example", 80)
    guard.original_resolver.addresses = ("93.184.215.14",)
    assert resolved(guard) == ["93.184.215.14"]
    assert guard.refusal("docs.example", 80) is None


def test_a_name_that_does_not_exist_is_no_refusal():
    guard = resolver()
    assert resolved(guard) == []
    assert guard.refusal("docs.example", 80) is None


@pytest.mark.parametrize("name", ["a..example", "a" * 64 + ".example", ""])
def test_names_that_getaddrinfo_chokes_on_are_answered_with_nothing(name):
    guard = resolver("93.184.215.14")
    assert resolved(guard, name) == []
    assert guard.original_resolver.asked == []


def test_a_proxy_may_be_anywhere():
    guard = resolver("10.0.0.1")
    guard.proxies.add("proxy.example")
    assert resolved(guard, "Proxy.example") == ["10.0.0.1"]
    assert resolved(guard, "docs.example") == []


def test_crawls_that_share_a_process_have_to_agree():
    guard = resolver("10.0.0.1", allowed=True)
    assert resolved(guard) == ["10.0.0.1"]
    guard.crawls[1] = AllowedAddresses.from_setting("10.0.0.0/8")
    assert resolved(guard) == ["10.0.0.1"]
    guard.crawls[2] = AllowedAddresses.from_setting(False)
    assert resolved(guard) == []
    del guard.crawls[2]
    assert resolved(guard) == ["10.0.0.1"]


def test_installed_over_itself_it_asks_the_first_resolver():
    first = resolver("93.184.215.14")
    again = AddressGuardResolver(SimpleNamespace(nameResolver=first), 0, AllowedAddresses())
    assert again.original_resolver is first.original_resolver


def test_an_entry_with_a_port_opens_that_port_only():
    guard = resolver("10.0.0.1", allowed="docs.example:80, 10.0.0.1:8080")
    assert resolved(guard, port=80) == ["10.0.0.1"]
    assert resolved(guard, port=22) == []
    assert guard.refusal("docs.example", 22)
    assert guard.refusal("docs.example", 80) is None
    assert resolved(guard, "other.example", port=80) == []
    assert resolved(guard, "other.example", port=8080) == ["10.0.0.1"]
