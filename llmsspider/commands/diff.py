"""`scrapy diff SOURCE`: what changed in the documentation of a source, in words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from llmsspider.errors import ArgumentsError
from llmsspider.launch.storecommand import OneLineCommand, as_json, choice_problems, one_source

if TYPE_CHECKING:
    from llmsspider.changes.source import SourceChanges

FORMATS = ("text", "markdown", "json", "html")


class Command(OneLineCommand):
    """Compares what the store holds with what it held; nothing is fetched."""

    usage = "[options] SOURCE"
    summary = "Show what changed in the documentation of a source"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add since when, and in which form."""
        super().add_options(parser)
        parser.add_argument(
            "--since",
            metavar="RUN|DATE|AGE|SEQ",
            help="what changed after a run, a date, an age (7d) or a change (default: what the last run changed)",
        )
        parser.add_argument("--format", default="text", help=f"one of: {', '.join(FORMATS)} (default: text)")
        parser.add_argument("--summary", action="store_true", help="omit the changes inside of pages")
        parser.add_argument(
            "--noise", action="store_true", help="show dates and counters that change every time, too"
        )
        parser.add_argument("-o", "--output", metavar="FILE", help="replace FILE once all is written")

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments, compare, and write."""
        source = one_source(args)
        if problems := choice_problems(("--format", opts.format, FORMATS)):
            raise ArgumentsError(problems)
        changes = self._changes(source, opts)
        if changes is None:
            return
        from llmsspider.changes.render import html, markdown, text

        writers: dict[str, Callable[..., str | Iterable[str]]] = {
            "text": text,
            "markdown": markdown,
            "json": _json,
            "html": html,
        }
        self._write(writers[opts.format](changes, summary=opts.summary), opts)

    def _changes(self, source: str, opts: argparse.Namespace) -> SourceChanges | None:
        """Return what changed; None where nothing came before, which is said."""
        from llmsspider.changes.source import NothingBeforeError, changes_since, since

        with self.stores().open(source, create=False) as store:
            try:
                return changes_since(store, source, since(store, source, opts.since), keep_noise=opts.noise)
            except NothingBeforeError as error:
                self.fail(str(error), 1)
                return None

    def _write(self, output: str | Iterable[str], opts: argparse.Namespace) -> None:
        from llmsspider.output import printable
        from llmsspider.output.exports import staged

        whole = output if isinstance(output, str) else "".join(f"{line}\n" for line in output)
        if opts.format == "text":
            whole = printable(whole)
        if opts.output is None:
            sys.stdout.write(whole)
            return
        with staged(Path(opts.output)) as out:
            out.write(whole.encode("utf-8", "replace"))


def _json(changes: SourceChanges, *, summary: bool) -> str:
    from llmsspider.changes.render import as_dict

    found = as_dict(changes)
    if summary:
        for page in found["pages"]:
            page["hunks"], page["folded"] = len(page["hunks"]), len(page["folded"])
    return as_json(found)
