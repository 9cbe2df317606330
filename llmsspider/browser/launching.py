"""How Chromium is started: which program, with which flags. Nothing here imports Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names of an installed browser, best first; without one Playwright's own download is used."""

QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--disable-features=OptimizationHints,MediaRouter,Translate,CertificateTransparencyComponentUpdater",
)
"""Flags that stop Chromium from calling home."""

FENCED = (
    "--disable-quic",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
"""Flags that leave it no way around the proxy: no QUIC, no WebRTC over UDP, no look-ups of its own."""


def find_program(which: Callable[[str], str | None] = shutil.which) -> str | None:
    """Return the path of the installed browser, None where there is none."""
    return next((path for path in map(which, PROGRAMS) if path), None)


def launch_options(
    given: Mapping[str, Any], proxy: Mapping[str, str], program: str | None, *, sandbox: bool | None = None
) -> dict[str, Any]:
    """Return the arguments of Playwright's `launch`.

    Args:
        given: `PLAYWRIGHT_LAUNCH_OPTIONS`; it may choose the program, the sandbox and add flags, never the proxy.
        proxy: the filtering proxy: `server`, `username`, `password`.
        program: path of the installed browser, None for Playwright's own.
        sandbox: use Chromium's sandbox; None is "unless we are root", who cannot.
    """
    if sandbox is None:
        sandbox = not hasattr(os, "geteuid") or os.geteuid() != 0
    options: dict[str, Any] = {"headless": True, "chromium_sandbox": sandbox, **given}
    if program and "executable_path" not in options and "channel" not in options:
        options["executable_path"] = program
    options["args"] = [*given.get("args", ()), *QUIET, *FENCED]
    options["proxy"] = {**proxy, "bypass": "<-loopback>"}
    return options
