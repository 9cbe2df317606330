"""`scrapy diff SOURCE`: what changed in the documentation of a source, in words."""

import argparse
import sys
from pathlib import Path

from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import choice_problems, flag, one_source, option
from llmsspider.cli.printing import as_json
from llmsspider.errors import ArgumentsError

FORMATS = ("text", "markdown", "json", "html")


class Command(OneLineCommand):
    """Compares what the store holds with what it held; nothing is fetched."""

    usage = "[options] SOURCE"
    options = (
        option(
            "--since",
            "what changed after a run, a date, an age (7d) or a change (default: what the last run"
            " changed)",
            metavar="RUN|DATE|AGE|SEQ",
        ),
        option("--format", f"one of: {', '.join(FORMATS)} (default: text)", default="text"),
        flag("--summary", "omit the changes inside of pages"),
        flag("--noise", "show dates and counters that change every time, too"),
        option("-o --output", "replace FILE once all is written", metavar="FILE"),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments, compare, and write."""
        source = one_source(args)
        if problems := choice_problems(("--format", opts.format, FORMATS)):
            raise ArgumentsError(problems)
        from llmsspider.diff.render import as_dict, markdown, text
        from llmsspider.diff.source import NothingBeforeError, changes_since, since
        from llmsspider.output import printable
        from llmsspider.output.exports import staged

        with self.stores().open(source, create=False) as store:
            try:
                before = since(store, source, opts.since)
                changes = changes_since(store, source, before, keep_noise=opts.noise)
            except NothingBeforeError as error:
                self.fail(str(error), 1)
                return
        if opts.format == "json":
            found = as_dict(changes)
            for page in found["pages"] if opts.summary else ():
                page["hunks"], page["folded"] = len(page["hunks"]), len(page["folded"])
            whole = as_json(found)
        elif opts.format == "html":
            from llmsspider.ui.report import night_page

            whole = night_page(changes, summary=opts.summary)
        else:
            lines = {"text": text, "markdown": markdown}[opts.format](changes, summary=opts.summary)
            whole = "".join(f"{line}\n" for line in lines)
        if opts.format == "text":
            whole = printable(whole)
        if opts.output is None:
            sys.stdout.write(whole)
            return
        with staged(Path(opts.output)) as out:
            out.write(whole.encode("utf-8", "replace"))
