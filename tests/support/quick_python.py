"""A program that is called as Python is, for processes that the project starts: its imports are made already.

The server is forked from the process that has imported the project, and forks itself for each call. The program
hands it its arguments, folder, environment and files, sends signals on, and ends as the fork ends; when it is killed,
the fork is.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import socket
import struct
import sys
from collections.abc import Iterator
from multiprocessing import connection
from pathlib import Path
from typing import Any

import pytest
from forked import ROOT, fork, set_constants

from llmsspider.api.crawl_process import CRAWL
from llmsspider.api.crawls import CHILD
from llmsspider.commands.sync import PROCESS

LENGTH = struct.Struct("!Q")
CODE = struct.Struct("!i")
_FORK = multiprocessing.get_context("fork")

PROGRAM = """#!{python} -IS
import json, os, signal, socket, struct, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [struct.pack("!Q", len(call))], [0, 1, 2])
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _frame: server.send(bytes([number])))
server.sendall(call)
code, = struct.unpack("!i", server.recv(4, socket.MSG_WAITALL))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@pytest.fixture(scope="session")
def quick_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of the program; it knows `-c CODE` and `-m MODULE`."""
    folder = tmp_path_factory.mktemp("python")
    address, program = folder / "socket", folder / "python"
    server = fork(
        serve,
        str(address),
        children(str(program)),
        cwd=folder,
        stdout=folder / "stdout",
        stderr=folder / "stderr",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    server.wait_until(address.exists)
    program.write_text(PROGRAM.format(python=sys.executable, address=str(address)))
    program.chmod(0o755)
    yield str(program)
    server.kill()


def children(program: str) -> dict[str, Any]:
    """The constants of the project (`run_with`) where a program is what it starts crawls with."""
    return {
        "sys.executable": program,
        "llmsspider.api.crawls.CHILD": [program, *CHILD[1:]],
        "llmsspider.cli.crawl_processes.CRAWL": [program, *CRAWL[1:]],
        "llmsspider.commands.sync.PROCESS": (program, *PROCESS[1:]),
    }


@pytest.fixture(scope="session")
def quick_children(quick_python: str) -> dict[str, Any]:
    """The constants of the project where what it starts finds its imports made.

    For tests whose crawls are not killed: the fork ends a moment after the program.
    """
    return children(quick_python)


@pytest.fixture
def quick_crawls(monkeypatch: pytest.MonkeyPatch, quick_children: dict[str, Any]) -> None:
    """The crawls that this process starts find their imports made."""
    name = "llmsspider.api.crawls.CHILD"
    monkeypatch.setattr(name, quick_children[name])


def serve(address: str, constants: dict[str, Any]) -> None:
    """Fork for each call, until this process is killed; the constants are those of what the calls start."""
    set_constants(constants)
    listener = socket.socket(socket.AF_UNIX)
    beginning = f"{address}-"
    listener.bind(beginning)
    listener.listen()
    Path(beginning).rename(address)
    while True:
        caller, _ = listener.accept()
        multiprocessing.active_children()  # those that have ended are reaped
        _FORK.Process(target=_answer, args=(caller, listener)).start()
        caller.close()


def _answer(caller: socket.socket, listener: socket.socket) -> None:
    """Run what one caller wants in a process of its own, and tell the caller how it ended."""
    listener.close()
    length, files, _, _ = socket.recv_fds(caller, LENGTH.size, 3)
    (size,) = LENGTH.unpack(length)
    words, folder, environment = json.loads(caller.recv(size, socket.MSG_WAITALL))
    process = _FORK.Process(target=_be, args=(words, folder, environment, files, caller))
    process.start()
    for descriptor in files:
        os.close(descriptor)
    while process.sentinel not in connection.wait([process.sentinel, caller]):
        signals = caller.recv(16)
        if not signals:
            process.kill()
            break
        for number in signals:
            os.kill(process.pid, number)
    process.join()
    caller.send(CODE.pack(process.exitcode))


def _be(
    words: list[str],
    folder: str,
    environment: dict[str, str],
    files: list[int],
    caller: socket.socket,
) -> None:
    """Be Python with these words."""
    caller.close()
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [folder, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    kind, what, *rest = words
    sys.argv = [kind, *rest]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})
