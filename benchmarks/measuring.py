"""What a command costs, with all processes it starts: CPU, wall time, memory.

The command runs below this file as a process of its own (`python measuring.py RESULT LOG SECONDS COMMAND…`), a
subreaper, so that processes which outlive the command are waited for and counted too, and none of the benchmark's
own are.

Memory is the largest sum of PSS seen over the process tree: a page shared by n processes counts 1/n for each, so the
sum is what the tree holds. It is read from /proc/PID/smaps_rollup some times a second; that costs the measured
processes nothing, and its own CPU is not counted. Linux only.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_SECS = 0.25
"""Time between two looks at the memory; longer where a look itself takes long."""

SERIES = 60
"""So many looks are told; of more, one in two is left out until they fit."""


IGNORED = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "SCRAPY_SETTINGS_MODULE"}
"""Variables of this process that a command does not get: without byte code each start would compile all modules."""

TIMED_OUT = -1000
"""Exit code of a command that was killed because it took too long."""


@dataclass(frozen=True)
class Cost:
    """One run of a command.

    Attributes:
        cpu_secs: user and system time of all its processes.
        wall_secs: from its start to the end of its main process.
        peak_mib: largest sum of PSS of its processes.
        started: time of the start, in seconds since 1970.
        exit_code: of its main process.
        memory: (seconds, MiB) of the looks at the memory, at most `SERIES` of them.
    """

    cpu_secs: float
    wall_secs: float
    peak_mib: float
    started: float
    exit_code: int
    memory: list[tuple[float, float]]


def measure(
    command: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    timeout_secs: float = 3600,
) -> Cost:
    """Run a command in `folder`, which gets its output as `log`; raises `SystemExit` when it fails.

    After `timeout_secs` all its processes are killed, and `exit_code` is `TIMED_OUT`.
    """
    with tempfile.TemporaryDirectory() as place:
        result = Path(place, "cost.json")
        subprocess.run(
            [
                sys.executable,
                __file__,
                str(result),
                str(folder / "log"),
                str(timeout_secs),
                *command,
            ],
            cwd=folder,
            env={
                **{name: value for name, value in os.environ.items() if name not in IGNORED},
                **(environment or {}),
            },
            check=True,
        )
        cost = Cost(**json.loads(result.read_text(encoding="utf-8")))
    if cost.exit_code not in {*accept, TIMED_OUT}:
        log = (folder / "log").read_text(encoding="utf-8", errors="replace")
        raise SystemExit(
            f"{' '.join(command)} failed with exit code {cost.exit_code}:\n{log[-3000:]}"
        )
    return cost


def run(command: Sequence[str], log: Path, timeout_secs: float) -> Cost:
    """Run a command and wait for the last of its processes; the calling process may have no other children."""
    if sys.platform != "linux" or ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit("measuring.py: needs Linux (PR_SET_CHILD_SUBREAPER)")
    memory = MemoryWatch()
    with log.open("wb") as output:
        started, clock = time.time(), time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        memory.start()
        try:
            exit_code = process.wait(timeout_secs)
        except subprocess.TimeoutExpired:
            exit_code = TIMED_OUT
            kill_descendants()
        wall_secs = time.perf_counter() - clock
    with contextlib.suppress(ChildProcessError):
        while True:  # those that the command left behind
            os.wait()
    memory.stop()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(
        cpu_secs=used.ru_utime + used.ru_stime,
        wall_secs=wall_secs,
        peak_mib=max((mib for _, mib in memory.looks), default=0.0),
        started=started,
        exit_code=exit_code,
        memory=memory.series(),
    )


class MemoryWatch:
    """Looks at the memory of all processes below this one, in a thread."""

    def __init__(self) -> None:
        self.looks: list[tuple[float, float]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    def series(self) -> list[tuple[float, float]]:
        """Return (seconds, MiB), thinned."""
        looks = self.looks
        while len(looks) > SERIES:
            looks = looks[::2]
        return looks

    def _watch(self) -> None:
        began, pause = time.perf_counter(), 0.02
        while not self._ended.wait(pause):
            clock = time.perf_counter()
            mib = sum(map(pss_kib, descendants(os.getpid()))) / 1024
            self.looks.append((round(clock - began, 2), round(mib, 1)))
            pause = max(SAMPLE_SECS, 20 * (time.perf_counter() - clock))


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below one."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text(encoding="ascii").split():
                found += [int(child), *descendants(int(child))]
    return found


def kill_descendants() -> None:
    """Kill all processes below this one."""
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def pss_kib(pid: int) -> int:
    """Return the proportional set size of a process, 0 when it has gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


if __name__ == "__main__":
    RESULT, LOG, TIMEOUT, *COMMAND = sys.argv[1:]
    COST = run(COMMAND, Path(LOG), float(TIMEOUT))
    Path(RESULT).write_text(json.dumps(asdict(COST)), encoding="utf-8")
