"""Command lines of `scrapy` in the process of the test."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings


@dataclass
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


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
