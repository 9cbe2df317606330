"""A real PostgreSQL for the tests: Debian's, in a temporary directory, on a free port of 127.0.0.1.

`postgresql_url` gives the URL of a fresh, empty database. Without a PostgreSQL on the machine its tests are
skipped; with LLMSSPIDER_REQUIRE_SERVICES=1 (as in CI) they fail.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import create_engine

_databases = itertools.count(1)


def missing_service(what: str) -> None:
    """Skip the test, or fail it where services are required."""
    if os.environ.get("LLMSSPIDER_REQUIRE_SERVICES") == "1":
        pytest.fail(f"{what}, and LLMSSPIDER_REQUIRE_SERVICES=1")
    pytest.skip(what)


def _programs() -> Path | None:
    """The directory of initdb and pg_ctl: the newest of Debian's, else the one on the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if debian:
        return debian[-1]
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _as_server_user(command: list[str | Path]) -> None:
    """Run a command as a user PostgreSQL agrees to run as: it refuses root."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, env=environment, cwd="/", timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}\n{done.stdout}")


@dataclass(frozen=True)
class Server:
    """A running server: its URL without a database name, and the words that stop and start it."""

    url: str
    control: list[str | Path]
    options: list[str | Path]

    def stop(self) -> None:
        """End it as a power failure would: no checkpoint, every connection cut."""
        _as_server_user([*self.control, "-m", "immediate", "stop"])

    def start(self) -> None:
        """Start it (again), on the same port."""
        _as_server_user([*self.control, *self.options, "start"])


@contextlib.contextmanager
def running_server(programs: Path) -> Iterator[Server]:
    """A server with superuser `test` and password `secret`."""
    folder = Path(tempfile.mkdtemp(prefix="llmsspider-pg-"))
    try:
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        password = folder / "password"
        password.write_text("secret\n")
        password.chmod(0o644)
        data, log = folder / "data", folder / "log"
        rules = ["-U", "test", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--no-sync"]
        _as_server_user([programs / "initdb", "-D", data, *rules])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        control = [programs / "pg_ctl", "-D", data, "-w", "-t", "60"]
        server = Server(f"postgresql://test:secret@127.0.0.1:{port}", control, ["-l", log, "-o", options])
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server, shared by the tests of a process."""
    programs = _programs()
    if programs is None:
        missing_service("no PostgreSQL server is installed (apt-get install postgresql)")
        raise AssertionError
    with running_server(programs) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server(postgresql: Server) -> str:
    """URL of a server, without a database name."""
    return postgresql.url


@pytest.fixture
def postgresql_url(postgresql_server: str) -> str:
    """URL of a database of its own, empty."""
    name = f"store_{os.getpid()}_{next(_databases)}"
    server = postgresql_server.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    engine.dispose()
    return f"{postgresql_server}/{name}"
