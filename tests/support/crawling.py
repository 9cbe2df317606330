"""Run the project's commands in a subprocess, as a user would, and read what they wrote."""

from __future__ import annotations

import ast
import json
import multiprocessing
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Outcome:
    """What a command left behind."""

    exit_code: int
    stdout: str
    log: str
    documents: list[dict[str, Any]] = field(default_factory=list)

    @property
    def stats(self) -> dict[str, Any]:
        """Scrapy's stats, from the log."""
        dump = re.search(r"Dumping Scrapy stats:\n(\{.*?\})\n\d{4}-", self.log, re.DOTALL)
        assert dump, self.log
        return ast.literal_eval(re.sub(r"datetime\.datetime\([^()]*\)|tzinfo=[\w.]+", "None", dump[1]))

    @property
    def lines(self) -> list[str]:
        """The closing summary and other lines of the project's own loggers, without their prefix."""
        return re.findall(r"\[llmsspider[\w.]*\] \w+: (.*)", self.log)

    def by_path(self, base: str) -> dict[str, dict[str, Any]]:
        """The documents by path; `base` is the site's address."""
        return {document["url"].removeprefix(base): document for document in self.documents}


def _modules() -> list[str]:
    """The modules of the project but the settings, which read the environment."""
    paths = sorted(path.relative_to(ROOT).with_suffix("") for path in (ROOT / "llmsspider").rglob("*.py"))
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    return [name for name in names if name not in {"llmsspider.__main__", "llmsspider.settings"}]


_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "scrapy.cmdline",
        "scrapy.commands.parse",
        "scrapy.commands.shell",
        "scrapy.core.downloader.handlers.http11",
        "scrapy.squeues",
        "scrapy.exporters",
        "scrapy.extensions.telnet",
        "sqlalchemy.dialects.sqlite",
        *_modules(),
    ]
)


def _execute(arguments: list[str], cwd: str, environment: dict[str, str], stdout: str, stderr: str) -> None:
    """Be a fresh `scrapy` process: own folder, environment and output files."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    for number, name in ((1, stdout), (2, stderr)):
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    from scrapy.cmdline import execute

    try:
        execute(["scrapy", *arguments])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def begin(*arguments: str, cwd: Path, stdout: Path, stderr: Path, env: dict[str, str] | None = None) -> Any:
    """Start `scrapy ARGUMENTS` with the project's settings in the folder `cwd`; returns the process.

    The process is forked from one that has imported Scrapy already, which saves seconds a test.
    """
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "llmsspider.settings", "PYTHONPATH": str(ROOT)}
    environment.update(env or {})
    process = _CONTEXT.Process(
        target=_execute, args=(list(arguments), str(cwd), environment, str(stdout), str(stderr))
    )
    process.start()
    return process


def command(*arguments: str, cwd: Path, timeout: float = 120, env: dict[str, str] | None = None) -> Outcome:
    """Run `scrapy ARGUMENTS` in a process of its own, see `begin`, and wait for it."""
    with tempfile.TemporaryDirectory() as folder:
        stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
        process = begin(*arguments, cwd=cwd, stdout=stdout, stderr=stderr, env=env)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"scrapy {' '.join(arguments)}: more than {timeout} s\n{stderr.read_text()}")
        return Outcome(process.exitcode, stdout.read_text(), stderr.read_text())


def crawl(
    url: str,
    folder: Path,
    *,
    arguments: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    spider: str = "docs",
    options: tuple[str, ...] = (),
    timeout: float = 120,
    env: dict[str, str] | None = None,
) -> Outcome:
    """Crawl `url` into `folder`; the store is in the folder too, so a second call is a recrawl."""
    output = folder / "documents.jsonl"
    given = {"url": url, **(arguments or {})}
    chosen = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": str(folder / "store"),
        "LLMS_CONVERT_WORKERS": 0,
        **(settings or {}),
    }
    outcome = command(
        "crawl",
        spider,
        *(part for name, value in given.items() if value is not None for part in ("-a", f"{name}={value}")),
        *(part for name, value in chosen.items() for part in ("-s", f"{name}={value}")),
        "-O",
        str(output),
        *options,
        cwd=folder,
        timeout=timeout,
        env=env,
    )
    if output.exists():
        outcome.documents = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    return outcome
