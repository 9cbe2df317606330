"""Processes that are started with a group of their own, stopped as Ctrl-C stops them, and killed
with all that they started: on Linux, macOS and Windows.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any, Protocol


class Child(Protocol):
    """A process that was started: of `subprocess` or of `asyncio`."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal."""


if sys.platform == "win32":
    OWN_GROUP: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    INTERRUPT = signal.CTRL_BREAK_EVENT
else:
    OWN_GROUP: dict[str, Any] = {"start_new_session": True}
    """Options of `Popen` with which Ctrl-C in a terminal does not reach the process."""
    INTERRUPT = signal.SIGINT


def interrupt(process: Child) -> None:
    """Ask a process of `OWN_GROUP` to stop, as Ctrl-C does; nothing where it has ended."""
    with suppress(ProcessLookupError):
        process.send_signal(INTERRUPT)


def kill_group(pid: int) -> None:
    """Kill a process of `OWN_GROUP` with all that it started; nothing where it has ended."""
    if sys.platform == "win32":
        tree = ["taskkill", "/F", "/T", "/PID", str(pid)]
        subprocess.run(tree, check=False, capture_output=True)  # noqa: S603  # of Windows
        return
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
