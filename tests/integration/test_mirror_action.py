"""The script of the GitHub action: a mirror of documentation in a git repository, committed when it changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forked import HANGS_SECS, ROOT
from site_server import Site
from sites import PLAIN, html

SCRIPT = ROOT / ".github" / "actions" / "mirror" / "mirror.sh"


def git(folder: Path, *words: str) -> str:
    given = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    return subprocess.run(
        ["git", *given, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone with one commit, of a bare repository that takes pushes."""
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "origin.git")
    git(tmp_path, "clone", "--quiet", "origin.git", "work")
    (tmp_path / "work/README.md").write_text("# Mine\n")
    git(tmp_path / "work", "add", "README.md")
    git(tmp_path / "work", "commit", "--quiet", "-m", "First")
    git(tmp_path / "work", "push", "--quiet", "origin", "HEAD:main")
    git(tmp_path / "work", "branch", "--quiet", "-M", "main")
    git(tmp_path / "work", "branch", "--quiet", "--set-upstream-to=origin/main")
    return tmp_path / "work"


@pytest.fixture
def action(repository: Path, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the script; its exit code, outputs and summary."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "llmsspider").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m llmsspider "$@"\n', encoding="utf-8"
    )
    (programs / "llmsspider").chmod(0o755)

    def run(url: str, **more: str) -> tuple[int, str, str]:
        outputs, summary = tmp_path / "outputs", tmp_path / "summary"
        for file in (outputs, summary):
            file.write_text("")
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{programs}:{os.environ['PATH']}", "URL": url,
            "OUTPUT": "docs", "ARGUMENTS": "-s\nLLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1\n",
            "LLMS_CONVERT_WORKERS": "0", "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary), **more,
        }  # fmt: skip
        done = subprocess.run(
            ["bash", str(SCRIPT)], cwd=repository, env=environment, capture_output=True, check=False,
            timeout=HANGS_SECS,
        )  # fmt: skip
        return done.returncode, outputs.read_text(), summary.read_text()

    return run


def test_what_changed_is_committed_pushed_and_told(
    serve: Callable[[dict[str, Any]], Site],
    action: Callable[..., tuple[int, str, str]],
    repository: Path,
) -> None:
    site = serve(dict(PLAIN))
    code, outputs, summary = action(f"{site.url}/")
    assert (code, outputs) == (0, "changed=true\n")
    assert f"- 4 pages of {site.url.removeprefix('http://')} (new 4)" in summary
    assert "| 5 | 0 | 0 |" in summary  # index.md too
    assert git(repository, "log", "--format=%s", "origin/main").splitlines() == [
        f"Documentation of {site.url}/: 5 added, 0 changed, 0 removed",
        "First",
    ]
    names = git(repository, "ls-files", "docs").splitlines()
    assert "docs/guide/intro.md" in names and not any(".sqlite" in name for name in names)

    code, outputs, summary = action(f"{site.url}/")
    assert (code, outputs) == (0, "changed=false\n")
    assert "Nothing changed." in summary
    assert len(git(repository, "log", "--format=%s").splitlines()) == 2

    site.pages["/guide/deep.html"] = html("Deep", "<p>Deeper ```still```.</p>")
    code, outputs, summary = action(f"{site.url}/", COMMIT="false")
    assert (code, outputs) == (0, "changed=true\n")
    assert "| 0 | 1 | 0 |" in summary
    assert "+Deeper " in summary
    assert len(git(repository, "log", "--format=%s").splitlines()) == 2


def test_a_site_that_is_away_fails_and_commits_nothing(
    serve: Callable[[dict[str, Any]], Site],
    action: Callable[..., tuple[int, str, str]],
    repository: Path,
) -> None:
    site = serve({})
    code, outputs, _ = action(f"{site.url}/")
    assert (code, outputs) == (1, "")
    assert git(repository, "log", "--format=%s").splitlines() == ["First"]
