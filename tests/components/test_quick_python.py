"""The program that finds its imports made ends, and is ended, as Python is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

WAITS = "import signal; print('waits', flush=True); signal.pause()"


def begun(program: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([program, "-c", WAITS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    return process


def test_words_folder_environment_files_and_exit_code(quick_python: str, tmp_path: Path) -> None:
    code = (
        "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['OWN'], sys.stdin.read());"
        "sys.exit('a reason')"
    )
    done = subprocess.run(
        [quick_python, "-c", code, "a", "--b"],
        cwd=tmp_path, env={**os.environ, "OWN": "value"}, input="given",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "a reason\n")
    assert done.stdout == f"['a', '--b'] {tmp_path} value given\n"


def test_a_module_is_run_by_its_name(quick_python: str) -> None:
    words = ["-m", "llmsspider", "--version"]
    quick, usual = (
        subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
        for program in (quick_python, sys.executable)
    )
    assert quick == usual != ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_its_fork(quick_python: str, number: signal.Signals) -> None:
    with begun(quick_python) as process:
        process.send_signal(number)
        assert process.stdout is not None
        assert process.stdout.read() == "", "read to its end, when nobody can write any more"
        assert process.wait() == -number
