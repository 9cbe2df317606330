"""Processes forked from one that has imported the project: they start in milliseconds and share nothing else."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pkgutil
import resource
import runpy
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from scrapy import commands
from scrapy.settings import default_settings

ROOT = Path(__file__).resolve().parents[2]
HANGS_SECS = 300
"""What has not ended by then hangs, however busy the machine is."""


def _modules() -> list[str]:
    """The modules of the project but the settings, which read the environment, and the MCP server, which few need."""
    paths = sorted(
        path.relative_to(ROOT).with_suffix("") for path in (ROOT / "llmsspider").rglob("*.py")
    )
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    left_out = {"llmsspider.__main__", "llmsspider.settings"}
    return [name for name in names if name not in left_out and name != "llmsspider.answers.mcp"]


def _parts_of_scrapy() -> list[str]:
    """The modules that every crawl imports: of the components that Scrapy's own settings name, and of all commands."""
    named = (default_settings.EXTENSIONS_BASE, default_settings.DOWNLOADER_MIDDLEWARES_BASE)
    components = [path.rpartition(".")[0] for room in named for path in room]
    return [
        *components,
        *(info.name for info in pkgutil.iter_modules(commands.__path__, "scrapy.commands.")),
    ]


_CONTEXT = multiprocessing.get_context("forkserver")
_PRELOADED = [
    "scrapy.cmdline",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.squeues",
    "scrapy.pqueues",
    "scrapy.exporters",
    *_parts_of_scrapy(),
    "sqlalchemy.dialects.sqlite",
    "encodings.charmap",
    "pipelines_config",
    "machine",
    *_modules(),
    "engine_crawl",
    "warmed",
]


_STARTED: set[int] = set()
"""Process ids of the servers that this module has started."""


def _ensure_server() -> None:
    """Start the process that others are forked from, again where it was killed; it takes no `sys.path`, and passes over
    what it cannot import. One that a pool of workers of a test has started in this process has imported little, and
    each crawl would do the rest again: it is ended, as soon as it has no workers.
    """
    server = forkserver._forkserver
    if server._forkserver_pid not in (None, *_STARTED) and not multiprocessing.active_children():
        server._stop()
    found = server._forkserver_pid
    _CONTEXT.set_forkserver_preload(_PRELOADED)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "support")))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    if server._forkserver_pid != found:
        _STARTED.add(server._forkserver_pid)


T = TypeVar("T")


def run_module(name: str, *arguments: str) -> None:
    """Be `python -m NAME ARGUMENTS`."""
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__")


def set_constants(constants: dict[str, Any]) -> None:
    """Give constants of the project, by their paths, other values than usual."""
    for path, value in constants.items():
        module, _, constant = path.rpartition(".")
        assert hasattr(importlib.import_module(module), constant)
        setattr(sys.modules[module], constant, value)


def run_with(constants: dict[str, Any], name: str, *arguments: str) -> None:
    """Be `python -m NAME ARGUMENTS` with these constants."""
    set_constants(constants)
    run_module(name, *arguments)


class Forked:
    """A process that was started by `fork`; `log` is what it has written to stderr so far."""

    def __init__(self, process: BaseProcess, stdout: Path, stderr: Path):
        self._process = process
        self._stdout, self._stderr = stdout, stderr

    @property
    def log(self) -> str:
        return self._stderr.read_text() if self._stderr.exists() else ""

    @property
    def stdout(self) -> str:
        return self._stdout.read_text()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """What `multiprocessing.connection.wait` takes; ready when the process has ended."""
        return self._process.sentinel

    @property
    def exitcode(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.exitcode

    def wait(self, timeout: float = HANGS_SECS) -> int:
        """Wait for the end; returns the exit code.

        Raises:
            TimeoutError: it hangs; it has been killed.
        """
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            self.kill()
            raise TimeoutError(f"more than {timeout} s\n{self.log}")
        return code

    def wait_for_log(self, text: str) -> str:
        """Wait until the log has `text`; returns the log."""
        return self.wait_until(lambda: self.log if text in self.log else "")

    def wait_until(self, condition: Callable[[], T]) -> T:
        """Wait until `condition` gives something, while the process runs; returns that.

        Raises:
            AssertionError: the process has ended, or it hangs.
        """
        deadline = time.monotonic() + HANGS_SECS
        while not (found := condition()):
            assert self.exitcode is None or condition(), (
                f"it has ended with {self.exitcode}\n{self.log}"
            )
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)
        return found

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it with SIGKILL, if it has not ended."""
        self._process.kill()
        self._process.join()


def fork(
    target: Callable[..., None],
    *arguments: Any,
    cwd: Path,
    stdout: Path,
    stderr: Path,
    env: dict[str, str],
    stdin: Path = Path(os.devnull),
    bytes_a_file: int | None = None,
) -> Forked:
    """Call `target` in a process of its own.

    Args:
        target: a function of a module, and what it is called with.
        arguments: can be pickled.
        cwd: folder of the process.
        stdout: file or terminal for its output.
        stderr: the same for its errors.
        env: its whole environment; the folders of PYTHONPATH come first in `sys.path`.
        stdin: what it reads.
        bytes_a_file: how large a file may become, as on a disk that is full.
    """
    _ensure_server()
    process = _CONTEXT.Process(
        target=_execute,
        args=(
            target,
            arguments,
            str(cwd),
            env,
            str(stdin),
            str(stdout),
            str(stderr),
            bytes_a_file,
        ),
    )
    process.start()
    return Forked(process, stdout, stderr)


def _execute(
    target: Callable[..., None],
    arguments: tuple[Any, ...],
    cwd: str,
    environment: dict[str, str],
    stdin: str,
    stdout: str,
    stderr: str,
    bytes_a_file: int | None,
) -> None:
    """Be a fresh process: own folder, environment and output files."""
    # it has been, but where a pool of workers of this process began the one that is forked
    importlib.import_module("warmed")
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    written = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, name, way in ((0, stdin, os.O_RDONLY), (1, stdout, written), (2, stderr, written)):
        descriptor = os.open(name, way)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)
    if bytes_a_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, largest[1]))
    try:
        target(*arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, largest)  # its coverage is larger
