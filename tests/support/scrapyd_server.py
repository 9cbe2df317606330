"""A real Scrapyd for the tests: in a temporary folder, on a free port of 127.0.0.1, fed with a real egg.

Its jobs know nothing of this checkout: their code comes out of the egg.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from forked import HANGS_SECS
from services import need

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "llmsspider"
NOT_COPIED = (".*", "__pycache__", "build", "dist", "*.egg-info", "venv")
CONFIGURATION = """\
[scrapyd]
http_port = {port}
poll_interval = 0.2
max_proc = 2
items_dir = {items_dir}
"""


@dataclass
class Job:
    """One finished job: its log file, its items, and what it said outside of the log."""

    id: str
    log: str
    items: list[dict[str, Any]]
    server_log: str


@dataclass
class Scrapyd:
    """A running Scrapyd; `folder` is its working directory."""

    url: str
    folder: Path
    pid: int = 0

    def get(self, service: str, **parameters: str) -> dict[str, Any]:
        """Ask a service of the API; raises when its answer is not "ok"."""
        return self._ok(
            requests.get(f"{self.url}/{service}.json", params=parameters, timeout=HANGS_SECS)
        )

    def add_version(self, egg: Path) -> dict[str, Any]:
        """Upload an egg under the version that scrapyd-deploy would give it."""
        with egg.open("rb") as file:
            data = {"project": PROJECT, "version": str(int(time.time()))}
            return self._ok(
                requests.post(
                    f"{self.url}/addversion.json",
                    data=data,
                    files={"egg": file},
                    timeout=HANGS_SECS,
                )
            )

    def post(self, service: str, **parameters: str) -> dict[str, Any]:
        """Tell a service of the API; raises when its answer is not "ok"."""
        return self._ok(
            requests.post(f"{self.url}/{service}.json", data=parameters, timeout=HANGS_SECS)
        )

    def schedule(self, spider: str, arguments: dict[str, str], settings: dict[str, Any]) -> str:
        """Schedule a job; returns its id."""
        data = [("project", PROJECT), ("spider", spider), *arguments.items()]
        data += [("setting", f"{name}={value}") for name, value in settings.items()]
        return self._ok(requests.post(f"{self.url}/schedule.json", data=data, timeout=HANGS_SECS))[
            "jobid"
        ]

    def jobs(self, state: str) -> dict[str, dict[str, Any]]:
        """The jobs that are pending, running or finished, by id."""
        return {job["id"]: job for job in self.get("listjobs", project=PROJECT)[state]}

    def wait(
        self, job: str, state: str = "finished", timeout_secs: float = HANGS_SECS
    ) -> dict[str, Any]:
        """Wait until a job is finished, or in another state; returns what Scrapyd says of it."""
        deadline = time.monotonic() + timeout_secs
        while job not in self.jobs(state):
            assert time.monotonic() < deadline, f"job {job} is not {state}\n{self.server_log}"
            time.sleep(0.2)
        return self.jobs(state)[job]

    def run(
        self,
        spider: str,
        arguments: dict[str, str],
        settings: dict[str, Any],
        timeout_secs: float = HANGS_SECS,
    ) -> Job:
        """Schedule a job, wait until it is finished and read what it left."""
        return self.finished(spider, self.schedule(spider, arguments, settings), timeout_secs)

    def finished(self, spider: str, job: str, timeout_secs: float = HANGS_SECS) -> Job:
        """Wait until a job is finished and read what it left."""
        self.wait(job, timeout_secs=timeout_secs)
        items = self.folder / "items" / PROJECT / spider / f"{job}.jl"
        log = self.folder / "logs" / PROJECT / spider / f"{job}.log"
        return Job(
            job,
            log.read_text(encoding="utf-8") if log.exists() else "",
            [json.loads(line) for line in items.read_text(encoding="utf-8").splitlines()]
            if items.exists()
            else [],
            self.server_log,
        )

    @property
    def server_log(self) -> str:
        """What Scrapyd itself logged, stdout and stderr of its jobs included; without its access log."""
        lines = (self.folder / "scrapyd.log").read_text(encoding="utf-8").splitlines()
        return "\n".join(line for line in lines if "twisted.python.log#info" not in line)

    @staticmethod
    def _ok(response: requests.Response) -> dict[str, Any]:
        answer: dict[str, Any] = response.json()
        assert answer["status"] == "ok", answer
        return answer


def build_egg(folder: Path) -> Path:
    """Build the egg with scrapyd-deploy from a copy of this checkout; returns its path."""
    egg = folder / "llmsspider.egg"
    scrapyd_deploy(copy_checkout(folder), "--build-egg", str(egg))
    return egg


def copy_checkout(folder: Path) -> Path:
    """Copy what a fresh clone has; returns the folder `checkout`."""
    copy = folder / "checkout"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
    return copy


def scrapyd_deploy(checkout: Path, *options: str) -> str:
    """Run scrapyd-deploy there; returns its stdout."""
    done = subprocess.run(
        [Path(sys.executable).with_name("scrapyd-deploy"), *options],
        cwd=checkout,
        env=_environment(),
        check=False,
        capture_output=True,
        text=True,
        timeout=HANGS_SECS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextlib.contextmanager
def running_scrapyd(folder: Path, items_dir: str = "items") -> Iterator[Scrapyd]:
    """Run Scrapyd in `folder` until the block ends; `items_dir` empty is Scrapyd's own default."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "scrapyd.conf").write_text(CONFIGURATION.format(port=port, items_dir=items_dir))
    with (folder / "scrapyd.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapyd"],
            cwd=folder,
            env=_environment(),
            stdout=log,
            stderr=log,
        )
    server = Scrapyd(f"http://127.0.0.1:{port}", folder, process.pid)
    try:
        _wait_until_up(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=HANGS_SECS)


def _wait_until_up(
    server: Scrapyd, process: subprocess.Popen[bytes], timeout_secs: float = HANGS_SECS
) -> None:
    deadline = time.monotonic() + timeout_secs
    while True:
        with contextlib.suppress(requests.ConnectionError):
            server.get("daemonstatus")
            return
        assert process.poll() is None, server.server_log
        assert time.monotonic() < deadline, server.server_log
        time.sleep(0.1)


def _environment() -> dict[str, str]:
    """The environment of a server: nothing that points to this checkout or to its coverage run."""
    ours = ("COVERAGE_", "PYTHON", "SCRAPY_", "LLMS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="session")
def egg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's egg."""
    need("Scrapyd")
    return build_egg(tmp_path_factory.mktemp("egg"))


@pytest.fixture(scope="session")
def scrapyd(tmp_path_factory: pytest.TempPathFactory, egg: Path) -> Iterator[Scrapyd]:
    """A Scrapyd to which the project was deployed."""
    with running_scrapyd(tmp_path_factory.mktemp("scrapyd")) as server:
        server.add_version(egg)
        yield server
