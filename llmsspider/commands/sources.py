"""`scrapy sources`: what has been crawled."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import flag
from llmsspider.cli.printing import aligned, as_json
from llmsspider.errors import ArgumentsError

if TYPE_CHECKING:
    from llmsspider.store import SourceRecord


class Command(OneLineCommand):
    """Lists sources with status and number of pages; one line for each that cannot be read, and
    exit code 1.
    """

    usage = "[options]"
    options = (flag("--json", "print a JSON array"),)

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the list, and a line for each source that cannot be read."""
        if args:
            raise ArgumentsError([f"unexpected argument {args[0]!r}"])
        found, problems = self.stores().list_sources()
        if opts.json:
            sys.stdout.write(as_json(as_rows(found)))
        elif found or not problems:
            sys.stdout.write(as_table(found))
        for problem in problems:
            self.fail(problem, 1)


def as_rows(found: list[SourceRecord]) -> list[dict[str, Any]]:
    """The sources as JSON objects."""
    return [{**dataclasses.asdict(record), **record.header} for record in found]


def as_table(found: list[SourceRecord]) -> str:
    """The sources as aligned columns; one line that says so when there are none."""
    from llmsspider.output import printable

    if not found:
        return "no sources yet\n"
    titles = [" ".join((record.header["title"] or "").split())[:60] for record in found]
    rows = [("SOURCE", "STATUS", "PAGES", "URL", "TITLE" if any(titles) else "")]
    rows += [
        (record.name, record.status, str(record.pages), record.url, title)
        for record, title in zip(found, titles, strict=True)
    ]
    return "".join(f"{printable(line)}\n" for line in aligned(rows))
