"""A terminal (a real one, by pty) in which a crawl runs."""

from __future__ import annotations

import os
import pty
from collections.abc import Callable
from multiprocessing.connection import wait
from pathlib import Path

from forked import HANGS_SECS, Forked


def in_terminal(
    start: Callable[[Path], Forked], *, text: str = "", then: Callable[[Forked], None] | None = None
) -> tuple[int, str]:
    """Run a process in a terminal; returns its exit code and all that was shown.

    Args:
        start: starts the process, given the terminal's device.
        text: what is waited for, the first time it is shown.
        then: what is done then.
    """
    primary, secondary = pty.openpty()
    process = None
    try:
        process = start(Path(os.ttyname(secondary)))
        shown = b""
        while ready := wait([primary, process.sentinel], HANGS_SECS):
            if primary not in ready:
                break
            shown += os.read(primary, 65536)
            if then is not None and text.encode() in shown:
                then(process)
                then = None
        return process.wait(), shown.decode()
    finally:
        if process is not None:
            process.kill()
        os.close(secondary)
        os.close(primary)
