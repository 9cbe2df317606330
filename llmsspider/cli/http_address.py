"""The address that a command listens on (`--http`), and the hosts that it answers to."""

import ipaddress

from llmsspider.errors import ArgumentsError


def listening_at(given: str, default: str, remedy: str, is_safe: object) -> tuple[str, int]:
    """Return the host and port of `--http`, the port of `default` where none is named; raises
    `ArgumentsError`, also where others than this machine reach them and that is not safe.

    >>> listening_at("[::1]:9000", "127.0.0.1:8808", "", False)
    ('::1', 9000)
    >>> listening_at("10.0.0.5", "127.0.0.1:8808", "", True)
    ('10.0.0.5', 8808)
    """
    host, mark, port = given.rpartition(":")
    host, port = (host.strip("[]"), port) if mark else (given, default.rpartition(":")[2])
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ArgumentsError([f"--http {given!r}: HOST:PORT is accepted, e.g. {default}"])
    if not (is_safe or is_loopback(host)):
        why = f"--http {given}: whoever reaches this port could use it. {remedy}"
        others = "--allow-host HOST:PORT names the Host header that other machines send"
        raise ArgumentsError([f"{why}; {others}"])
    return host, int(port)


def host_and_port(host: str, port: int) -> str:
    """The authority of a URL, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address to listen on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def answered_hosts(host: str, port: int) -> list[str]:
    """The values of the Host header that are answered in any case; a wildcard address is none of
    them.

    >>> answered_hosts("0.0.0.0", 8808), answered_hosts("10.0.0.5", 8808)
    (['localhost:8808', '127.0.0.1:8808', '[::1]:8808'], ['10.0.0.5:8808'])
    """
    own = [f"{name}:{port}" for name in ("localhost", "127.0.0.1", "[::1]")]
    if host in {"0.0.0.0", "::"}:  # noqa: S104
        return own
    return list(dict.fromkeys([host_and_port(host, port), *(own if is_loopback(host) else [])]))
