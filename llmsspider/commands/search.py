"""`scrapy search SOURCE QUERY`: the passages of the crawled documentation that answer a query."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import textwrap
from typing import TYPE_CHECKING

import orjson

from llmsspider import errors
from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import flag, number, option
from llmsspider.errors import ArgumentsError

if TYPE_CHECKING:
    from llmsspider.answers.ranking import SearchResult

SHOWN_LINES = 6
"""Lines of a passage that are printed; `--json` has them all."""


class Command(OneLineCommand):
    """Searches what the store holds; nothing is fetched."""

    usage = "[options] SOURCE QUERY"
    options = (
        option("--limit", "pages at most (default 8)", metavar="N"),
        option("--section", "a section of llms.txt, else a directory, or a part of its name"),
        flag("--json", "print one result a line, best first"),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Search and print."""
        from llmsspider.answers.embedding import embedder_of
        from llmsspider.answers.library import DEFAULT_LIMIT, MAX_RESULTS, Library
        from llmsspider.items import THIRD_PARTY
        from llmsspider.output import printable

        if len(args) < 2:
            raise ArgumentsError(
                [f"name a source and what to look for: {errors.called()} search SOURCE QUERY"]
            )
        limit = DEFAULT_LIMIT if opts.limit is None else number(opts.limit)
        if not limit or limit > MAX_RESULTS:
            raise ArgumentsError(
                [f"--limit {opts.limit!r}: a number from 1 to {MAX_RESULTS} is accepted"]
            )
        embedder = embedder_of(self.settings.get("LLMS_EMBEDDER"))
        with Library(self.stores(), embedder, warn=_note) as library:
            found = library.search(" ".join(args[1:]), args[0], section=opts.section, limit=limit)
        if found.note:
            _note(found.note)
        if not found.results:
            self.exitcode = 1
        elif not opts.json:
            sys.stdout.write(f"{THIRD_PARTY}\n\n")
        for place, result in enumerate(found.results, 1):
            if opts.json:
                row = {
                    name: getattr(result, name)
                    for name in ("url", "title", "heading_path", "text", "score")
                }
                row |= dataclasses.asdict(result)
                sys.stdout.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE).decode())
            else:
                sys.stdout.write(printable(_shown(place, result)))


def _note(line: str) -> None:
    sys.stderr.write(f"{errors.called()} search: {line}\n")


def _shown(place: int, result: SearchResult) -> str:
    lines = [line for line in result.text.splitlines() if line.strip()]
    text = "\n".join(lines[:SHOWN_LINES] + (["…"] if len(lines) > SHOWN_LINES else []))
    head = f"{place}. {result.heading}\n   {result.url}\n"
    return head + textwrap.indent(text, "   ") + "\n\n"
