"""Command lines: of `scrapy` in the process of the test, of a program in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from forked import HANGS_SECS, ROOT, fork, run_module
from scrapy.cmdline import execute
from scrapy.settings import Settings


@dataclass
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def program(
    *words: str, cwd: Path, module: str = "llmsspider", given: bytes = b"", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m MODULE WORDS`, whose imports are made already.

    Args:
        words: of the command line.
        cwd: folder of the process, which is none of its PYTHONPATH.
        module: the program.
        given: what it reads from stdin.
        env: more environment.
    """
    with tempfile.TemporaryDirectory() as folder:
        stdin, stdout, stderr = (Path(folder, name) for name in ("stdin", "stdout", "stderr"))
        stdin.write_bytes(given)
        process = fork(
            run_module,
            module,
            *words,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        )
        code = process.wait(HANGS_SECS)
        return subprocess.CompletedProcess(words, code, stdout.read_bytes(), stderr.read_bytes())


def program_text(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program as `program` does, for what it writes as text."""
    done = program(*words, **options)
    return subprocess.CompletedProcess(
        words, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


@pytest.fixture
def scrapy(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """Run a scrapy command line in a project folder, with our commands and no other setting."""

    def run(folder: Path, *words: str, answer: str = "") -> Done:
        (folder / "scrapy.cfg").touch()
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", *words], Settings({"COMMANDS_MODULE": "llmsspider.commands"}))
        output = capfd.readouterr()
        return Done(int(ended.value.code or 0), output.out, output.err)

    return run
