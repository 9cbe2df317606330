"""A run of tests in several processes ends, and fails, when some of them are killed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from forked import HANGS_SECS

HOOK = """
def pytest_xdist_make_scheduler(config, log):
    from distribution import ByCost
    return ByCost(config, log)
"""
KILLED = "import os, signal\ndef test_killed():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
FILES = {
    "components/test_a.py": "def test_first():\n    pass\n" + KILLED,
    "unit/test_b.py": "def test_before():\n    pass\n" + KILLED + "def test_after():\n    pass\n",
    "unit/test_c.py": KILLED,
    "unit/test_d.py": "def test_last():\n    pass\n",
}
SUPPORT = Path(__file__).resolve().parents[1] / "support"


def test_a_killed_process_fails_its_test_and_all_others_are_run(tmp_path):
    (tmp_path / "conftest.py").write_text(HOOK)
    for name, text in FILES.items():
        place = tmp_path / "tests" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    given = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SUPPORT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    words = [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "2", "-q", "tests"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_SECS,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    failed = re.findall(r"^FAILED tests/(\S+)::test_killed", done.stdout, re.MULTILINE)
    assert sorted(failed) == [name for name, text in FILES.items() if KILLED in text], done.stdout
    assert "3 failed, 4 passed" in done.stdout
