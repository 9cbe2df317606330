"""`scrapy delete SOURCE`: forget a source and everything stored of it."""

import argparse
import sys

from llmsspider.answers import delete_index
from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import flag, one_source
from llmsspider.store.database import resolve_data_dir, source_slug


class Command(OneLineCommand):
    """Deletes a source after a confirmation; exit code 1 without it."""

    usage = "[options] SOURCE"
    options = (flag("--yes", "do not ask for confirmation"),)

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Confirm, delete, say what was deleted."""
        from llmsspider.extensions.console import LOGS

        source = one_source(args)
        stores = self.stores()
        stores.open(source, create=False).close()
        if not opts.yes:
            everything = "all its pages, runs and history, and its search index"
            sys.stderr.write(f"Delete source {source!r} with {everything}? [y/N] ")
            sys.stderr.flush()
            if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
                self.fail("nothing was deleted", 1)
                return
        stores.delete(source)
        removed = ["pages, runs and history", *delete_index(stores, source)]
        log = resolve_data_dir(stores.data_dir) / LOGS / f"{source_slug(source)}.log"
        if log.exists():
            log.unlink()
            removed.append("log")
        sys.stdout.write(f"deleted {source}: {', '.join(removed)}\n")
