"""`scrapy status`: what is happening, and what happened."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import orjson

from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import flag
from llmsspider.cli.printing import as_json
from llmsspider.errors import ArgumentsError

if TYPE_CHECKING:
    from llmsspider.output.status import SourceStatus

WATCH_SECS = 2.0
"""Time between two looks of `--watch`."""

GOING = {"CRAWLING", "UPDATING"}
CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class Command(OneLineCommand):
    """Shows sources with their last or current run, from the store; the crawl may be in any
    process.
    """

    usage = "[options] [source]"
    options = (
        flag("--json", "print JSON; with --watch one line each time"),
        flag("--watch", "look again every two seconds, until no run is going"),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the state of one source or of all."""
        if len(args) > 1:
            raise ArgumentsError([f"unexpected argument {args[1]!r}"])
        name = args[0] if args else None
        try:
            while True:
                found = list(self._read(name))
                if found or not self.exitcode:
                    sys.stdout.write(_shown(found, name, opts))
                    sys.stdout.flush()
                if not opts.watch or not any(status.status in GOING for status in found):
                    return
                time.sleep(WATCH_SECS)
        except KeyboardInterrupt:
            return

    def _read(self, name: str | None) -> Iterator[SourceStatus]:
        from llmsspider.output.status import read_status
        from llmsspider.store.runs import unknown_source

        stores = self.stores()
        records, problems = stores.list_sources()
        for problem in problems:
            self.fail(problem, 1)
        chosen = [record for record in records if name in {None, record.name}]
        if name is not None and not chosen:
            if problems:  # it may be one of those
                return
            raise unknown_source(name)
        for record in chosen:
            with closing(stores.open(record.name, create=False)) as store:
                yield read_status(store, record)


def _shown(found: list[SourceStatus], name: str | None, opts: argparse.Namespace) -> str:
    from llmsspider.output import printable
    from llmsspider.output.status import status_lines

    if opts.json:
        value = found[0] if name is not None else found
        return (
            orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()
            if opts.watch
            else as_json(value)
        )
    blocks = ["".join(f"{printable(line)}\n" for line in status_lines(status)) for status in found]
    text = "\n".join(blocks) if blocks else "no sources yet\n"
    return f"{CLEAR}{text}" if opts.watch and sys.stdout.isatty() else text
