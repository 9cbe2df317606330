"""The values of `LLMS_STATUS_PORT`."""

from __future__ import annotations

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
