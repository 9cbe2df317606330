"""The project as a wheel, and an environment in which it is installed; what it depends on is that of the tests."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

from forked import HANGS_SECS, ROOT

NOT_COPIED = (".*", "__pycache__", "build", "dist", "*.egg-info", "venv")
PIP = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet")


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    """Run a command that sees nothing of the checkout, with more environment; its stdout."""
    ours = ("COVERAGE_", "PYTHON", "SCRAPY_", "LLMS_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings", **more}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_SECS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build the wheel, by pip from a copy of the checkout with the setuptools of the test environment."""
    shutil.copytree(ROOT, folder / "checkout", ignore=shutil.ignore_patterns(*NOT_COPIED))
    words = ("wheel", *PIP, "--no-build-isolation", "--wheel-dir", folder, folder / "checkout")
    run(sys.executable, "-m", "pip", *words, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


def install(wheel: Path, folder: Path) -> Path:
    """Make an environment in `folder` with the wheel in it, as pip does; returns its folder of programs."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=wheel.parent)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", *PIP, wheel, cwd=wheel.parent)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return folder / "bin"
