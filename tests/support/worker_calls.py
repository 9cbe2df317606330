"""What the tests let other processes do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def wait_once(marker: str) -> int:
    """Write the id of the process to the file and wait for ever; where the file exists, return the id."""
    place = Path(marker)
    if place.exists():
        return os.getpid()
    place.with_suffix(".new").write_text(str(os.getpid()))
    place.with_suffix(".new").rename(place)
    time.sleep(3600)
    return 0


def noted(marker: str, answer: str) -> str:
    """Add the id of the process to the file; once there is a file that ends in `.go`, return the answer."""
    with Path(marker).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    while not Path(f"{marker}.go").exists():
        time.sleep(0.01)
    return answer


def missing(modules: list[str]) -> list[str]:
    """Return which of the modules are not imported here."""
    return [name for name in modules if name not in sys.modules]


def leave_once(marker: str) -> None:
    """End the process, unless the file exists."""
    if not Path(marker).exists():
        Path(marker).touch()
        os._exit(5)


def spin(secs: float) -> int:
    """Use so many seconds of CPU time, whatever happens; returns the id of the process."""
    end = time.process_time() + secs
    while time.process_time() < end:
        try:
            sum(range(1000))
        except Exception:  # as code does that tries another way
            continue
    return os.getpid()


def take_turns(file: str, number: int) -> list[float]:
    """Take so many turns, all at the same moment."""
    from llmsspider.downloadermiddlewares.turns import Turns

    turns = Turns(Path(file))
    taken = [turns.reserve("e.com", 1.0, 100.0) for _ in range(number)]
    turns.close()
    return taken
