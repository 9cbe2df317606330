"""A real PostgreSQL for the tests: Debian's, in a temporary directory, on a free port of 127.0.0.1.

`postgresql_url` gives the URL of a fresh, empty database of the one server of the run.
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
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from forked import HANGS_SECS
from services import Shared, need, postgresql_programs
from sqlalchemy import create_engine

_databases = itertools.count(1)


def _as_server_user(words: list[str]) -> None:
    """Run a command as a user PostgreSQL agrees to run as: it refuses root."""
    if os.geteuid() == 0:
        words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    done = subprocess.run(
        words,
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
        timeout=HANGS_SECS,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}\n{done.stdout}")


@dataclass(frozen=True)
class Server:
    """A running server: its URL without a database name, and the words that stop and start it."""

    url: str
    control: list[str]
    options: list[str]

    def stop(self) -> None:
        """End it as a power failure would: no checkpoint, every connection cut."""
        _as_server_user([*self.control, "-m", "immediate", "stop"])

    def start(self) -> None:
        """Start it (again), on the same port."""
        _as_server_user([*self.control, *self.options, "start"])


def start_server(folder: Path) -> Server:
    """Start a server with superuser `test` and password `secret`, all of whose files are in `folder`."""
    programs = postgresql_programs()
    assert programs is not None
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    password = folder / "password"
    password.write_text("secret\n")
    password.chmod(0o644)
    data, log = folder / "data", folder / "log"
    rules = ["-U", "test", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--no-sync"]
    _as_server_user([str(programs / "initdb"), "-D", str(data), *rules])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    )
    # it goes round all the databases of a run, which live for seconds
    options += " -c autovacuum=off"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w", "-t", "300"]
    server = Server(
        f"postgresql://test:secret@127.0.0.1:{port}", control, ["-l", str(log), "-o", options]
    )
    server.start()
    return server


@pytest.fixture(scope="session")
def postgresql_server(shared: Shared) -> str:
    """URL of the server of all tests of the run, without a database name."""
    need("PostgreSQL")
    return shared.get("postgresql", lambda folder: asdict(start_server(folder)))["url"]


def stop_shared(shared: Shared) -> None:
    """End the server of the run."""
    if known := shared.started("postgresql"):
        Server(**known).stop()


def new_database(server: str) -> str:
    """Make an empty database; returns its URL."""
    name = f"store_{os.getpid()}_{next(_databases)}"
    engine = create_engine(
        f"{server.replace('postgresql://', 'postgresql+psycopg://')}/postgres",
        isolation_level="AUTOCOMMIT",
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    engine.dispose()
    return f"{server}/{name}"


@pytest.fixture
def postgresql_url(postgresql_server: str) -> str:
    """URL of a database of its own, empty."""
    return new_database(postgresql_server)


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """A server of its own until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="llmsspider-pg-"))
    try:
        server = start_server(folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def own_postgresql() -> Iterator[Server]:
    """A server that a test may stop."""
    need("PostgreSQL")
    with running_server() as server:
        yield server
