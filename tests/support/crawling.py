"""Run the project's commands in a subprocess, as a user would, and read what they wrote."""

from __future__ import annotations

import ast
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forked import HANGS_SECS, ROOT, Forked, fork, run_with


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
        return ast.literal_eval(
            re.sub(r"datetime\.datetime\([^()]*\)|tzinfo=[\w.]+", "None", dump[1])
        )

    @property
    def lines(self) -> list[str]:
        """The closing summary and other lines of the project's own loggers, without their prefix."""
        return re.findall(r"\[llmsspider[\w.]*\] \w+: (.*)", self.log)

    def by_path(self, base: str) -> dict[str, dict[str, Any]]:
        """The documents by path; `base` is the site's address."""
        return {document["url"].removeprefix(base): document for document in self.documents}


def recipes(heading: str) -> list[str]:
    """The blocks of Python below a heading of docs/how-to/recipes.md."""
    text = (ROOT / "docs" / "how-to" / "recipes.md").read_text(encoding="utf-8")
    below = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", below, re.DOTALL)


def begin(
    *arguments: str,
    cwd: Path,
    stdout: Path,
    stderr: Path,
    env: dict[str, str] | None = None,
    constants: dict[str, Any] | None = None,
    **limits: int,
) -> Forked:
    """Start `scrapy ARGUMENTS` with the project's settings.

    Args:
        arguments: of the command line.
        cwd: folder of the process.
        stdout: file for its output.
        stderr: file for its log, or a terminal.
        env: more environment; without it, pages are converted in the process of the crawl.
        constants: values of the project, such as `llmsspider.browser.page_load.IDLE_TIMEOUT_SECS`, other than usual.
        limits: those of `fork`.
    """
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "llmsspider.settings",
        "PYTHONPATH": str(ROOT),
        "LLMS_CONVERT_WORKERS": "0",
        **(env or {}),
    }
    return fork(
        run_with,
        constants or {},
        "scrapy",
        *arguments,
        cwd=cwd,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        **limits,
    )


def command(*arguments: str, cwd: Path, timeout: float = HANGS_SECS, **options: Any) -> Outcome:
    """Run `scrapy ARGUMENTS` in a process of its own and wait for it; `options` are those of `begin`."""
    with tempfile.TemporaryDirectory() as folder:
        stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
        process = begin(*arguments, cwd=cwd, stdout=stdout, stderr=stderr, **options)
        code = process.wait(timeout)
        return Outcome(code, process.stdout, process.log)


def crawl_words(
    url: str,
    folder: Path,
    settings: dict[str, Any] | None = None,
    arguments: dict[str, Any] | None = None,
    spider: str = "docs",
) -> list[str]:
    """The words of `scrapy crawl` of a site on 127.0.0.1, all of whose files are in `folder`."""
    given = {"url": url, **(arguments or {})}
    chosen = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": folder / "store",
        "LLMS_CONVERT_WORKERS": 0,
        **(settings or {}),
    }
    return [
        *("crawl", spider),
        *(
            part
            for name, value in given.items()
            if value is not None
            for part in ("-a", f"{name}={value}")
        ),
        *(part for name, value in chosen.items() for part in ("-s", f"{name}={value}")),
        *("-O", str(folder / "documents.jsonl")),
    ]


NO_FULL_CHECK = {"llmsspider.crawler.known_pages.FULL_CHECK_RUNS": 0}
"""The constants of a crawl in which every page is revalidated, whatever the number of the run is."""


def begin_crawl(
    url: str,
    folder: Path,
    *,
    settings: dict[str, Any] | None = None,
    spider: str = "docs",
    words: tuple[str, ...] = (),
    stderr: Path | None = None,
    **options: Any,
) -> Forked:
    """Start a crawl of `url` into `folder`, where its log is `log.txt`, unless `stderr` is a terminal.

    `words` are more of the command line; `options` are those of `begin`.
    """
    given = [*crawl_words(url, folder, settings, spider=spider), *words]
    log = stderr or folder / "log.txt"
    options["constants"] = NO_FULL_CHECK | options.get("constants", {})
    return begin(*given, cwd=folder, stdout=folder / "stdout.txt", stderr=log, **options)


def crawl(
    url: str,
    folder: Path,
    *,
    arguments: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    spider: str = "docs",
    options: tuple[str, ...] = (),
    **more: Any,
) -> Outcome:
    """Crawl `url` into `folder`; the store is in the folder too, so a second call is a recrawl.

    `options` are more words of the command line; `more` are the options of `command`.
    """
    output = folder / "documents.jsonl"
    words = crawl_words(url, folder, settings, arguments, spider)
    more["constants"] = NO_FULL_CHECK | more.get("constants", {})
    outcome = command(*words, *options, cwd=folder, **more)
    if output.exists():
        outcome.documents = [
            json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()
        ]
    return outcome
