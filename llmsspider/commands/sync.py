"""`scrapy sync sources.toml`: crawl many sources, here or on several Scrapyd nodes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w3lib.url import canonicalize_url

from llmsspider import errors
from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import flag, option
from llmsspider.cli.printing import aligned, as_json
from llmsspider.commands.crawl import INCOMPLETE
from llmsspider.config.settings import Config
from llmsspider.config.sources import read_entries
from llmsspider.crawler.progress import duration
from llmsspider.errors import ArgumentsError
from llmsspider.extensions.console import LOGS
from llmsspider.store import Stores, resolve_data_dir
from llmsspider.web.urls import parse, printable_url, without_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmsspider.config.sources import SourceEntry
    from llmsspider.sync.nightly import Place
    from llmsspider.sync.results import Result

# names of variables
USER = "SCRAPYD_USERNAME"
PASSWORD = "SCRAPYD_PASSWORD"  # noqa: S105
"""Environment variables for nodes that require a password."""

PROCESS = (sys.executable, "-c", "from llmsspider.commands.crawl import crawl_each; crawl_each()")
"""How a process is started that crawls source after source."""


class Command(OneLineCommand):
    """Crawls every source of a file once: exit code 0 all went well, 1 one failed, 2 bad file, 3
    one is incomplete.
    """

    usage = "[options] <sources.toml>"
    options = (
        option("--jobs", "crawls at a time, on each node (default: cores)", type=int, metavar="N"),
        option("--scrapyd", "addresses of Scrapyd nodes", nargs="+", default=[], metavar="URL"),
        option("--project", "name of the project on the nodes", default="llmsspider"),
        flag("--json", "print the summary as JSON"),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check everything, then crawl and print the summary."""
        from llmsspider.sync.lock import one_at_a_time

        # `--scrapyd URL … FILE` takes it for a node
        if not args and "".join(opts.scrapyd[-1:]).endswith(".toml"):
            args = [opts.scrapyd.pop()]
        if len(args) != 1:
            raise ArgumentsError([f"name one file, e.g. {errors.called()} sync sources.toml"])
        self._check(opts)
        stores = self.stores()
        folder = resolve_data_dir(stores.data_dir)
        entries = _entries(Path(args[0]), stores)
        places = self._places(opts, folder)
        began = time.monotonic()
        with one_at_a_time(folder):
            try:
                results = asyncio.run(_sync(places, stores, entries))
            except (asyncio.CancelledError, KeyboardInterrupt):
                self.fail("stopped: crawls on this machine were ended, jobs on nodes go on", 1)
                return
        secs = time.monotonic() - began
        if opts.json:
            sys.stdout.write(as_json(report(results, secs)))
        else:
            sys.stdout.writelines(f"{line}\n" for line in table(results, secs))
        states = {result.state for result in results}
        self.exitcode = 1 if "failed" in states else INCOMPLETE if "incomplete" in states else 0

    def _check(self, opts: argparse.Namespace) -> None:
        """Raise `ArgumentsError` for settings that no crawl would accept, and for nodes without a
        common store.
        """
        from llmsspider.cli.scrapy_values import value_problems

        config = Config.from_settings(self.settings)
        problems = value_problems(self.settings)
        if opts.jobs is not None and opts.jobs < 1:
            problems.append(f"--jobs {opts.jobs}: 1 or more is accepted")
        for node in opts.scrapyd:
            found = parse(without_user(node))
            if not isinstance(found, str):
                display = printable_url(node) if found is None else found.display
                problems.append(f"--scrapyd {display}: the address of a node, http://host:6800")
        if opts.scrapyd and not config.stores.url:
            problems.append(
                "--scrapyd needs LLMS_STORE_URL: nodes and this command meet in one PostgreSQL"
            )
        if problems:
            raise ArgumentsError(problems)

    def _places(self, opts: argparse.Namespace, folder: Path) -> Sequence[Place]:
        from llmsspider.sync.local import LocalProcesses
        from llmsspider.sync.node import Node

        given = dict(pair.split("=", 1) for pair in opts.set)
        slots = opts.jobs or os.cpu_count() or 1
        if not opts.scrapyd:
            return [LocalProcesses(slots, given, folder / LOGS, PROCESS)]
        user = os.environ.get(USER)
        auth = (user, os.environ.get(PASSWORD, "")) if user else None
        job = time.strftime("%Y%m%dT%H%M%S")
        return [Node(node, slots, opts.project, given, auth=auth, job=job) for node in opts.scrapyd]


def _entries(path: Path, stores: Stores) -> list[SourceEntry]:
    """Return what a file lists; raises `ArgumentsError` for a source that has no URL yet."""
    stored = stores.list()
    names = {canonicalize_url(record.url): record.name for record in reversed(stored)}
    entries = read_entries(path, lambda start: names.get(canonicalize_url(start)))
    known = {record.name for record in stored}
    unknown = [one.name for one in entries if "url" not in one.arguments and one.name not in known]
    if unknown:
        raise ArgumentsError(
            [f"source {name!r} was never crawled: give its url" for name in unknown]
        )
    return entries


async def _sync(
    places: Sequence[Place], stores: Stores, entries: list[SourceEntry]
) -> list[Result]:
    """Crawl; SIGTERM stops it as Ctrl-C does: local crawls end cleanly, jobs of nodes go on."""
    from llmsspider.sync.local import LocalProcesses
    from llmsspider.sync.nightly import Nightly

    task = asyncio.current_task()
    assert task is not None  # noqa: S101  # a coroutine that runs has one
    with contextlib.suppress(NotImplementedError):  # Windows has none
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await Nightly(places, stores, partial(print, file=sys.stderr, flush=True)).sync(
            entries
        )
    finally:
        for place in places:
            if isinstance(place, LocalProcesses):
                await place.close()


def report(results: Iterable[Result], elapsed_secs: float) -> dict[str, Any]:
    """Return the whole of a sync, ready for JSON."""
    found = list(results)
    states = Counter(result.state for result in found)
    return {
        "elapsed_secs": round(elapsed_secs, 1),
        **{state: states[state] for state in ("ok", "incomplete", "failed", "skipped")},
        "documents": sum(result.as_dict()["documents"] for result in found),
        "sources": [result.as_dict() for result in found],
    }


HEAD = (
    "SOURCE",
    "RESULT",
    "DOCUMENTS",
    "NEW",
    "CHANGED",
    "DELETED",
    "ERRORS",
    "TIME",
    "WHERE",
    "NOTE",
)


def table(results: Iterable[Result], elapsed_secs: float) -> Iterator[str]:
    """Yield the lines of the summary."""
    found = list(results)
    yield from aligned([HEAD, *(_row(result) for result in found)])
    total = report(found, elapsed_secs)
    partly = f", {total['incomplete']} incomplete" if total["incomplete"] else ""
    yield (
        f"{len(found)} sources: {total['ok']} ok, {total['failed']} failed, {total['skipped']}"
        f" skipped{partly}; {total['documents']} documents, {duration(elapsed_secs)}"
    )


def _row(result: Result) -> tuple[str, ...]:
    data = result.as_dict()
    changes = data["changes"]
    note = result.reason
    if not note and result.run is not None and not result.run.complete:
        note = f"incomplete: {result.run.why or result.run.outcome}"
    changed = [changes.get(kind, 0) for kind in ("new", "changed", "deleted")]
    numbers = [data["documents"], *changed, data["errors"]]
    shown = map(str, numbers) if result.run is not None else ["-"] * len(numbers)
    return (result.source, result.state, *shown, duration(result.secs), result.where, note)
