"""`scrapy export SOURCE`: the stored documents, all or what changed since a sequence number, in one of many forms."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError
from llmsspider.launch.storecommand import OneLineCommand, choice_problems, one_source
from llmsspider.output import graph
from llmsspider.output.exports import (
    documents,
    staged,
    write_chunks,
    write_csv,
    write_flat,
    write_jsonl,
    write_parquet,
)
from llmsspider.output.mirror import sync, sync_skill
from llmsspider.store import Store
from llmsspider.web.loading import own_mark

ROWS = ("jsonl", "csv", "parquet", "chunks")
"""Formats of one document or chunk a row; `--since` is for these."""

FORMATS = (*ROWS, "flat", "tree", "skill", "graph")
FOLDERS = ("tree", "skill")


def _graph_page(store: Store, out: BinaryIO) -> None:
    from llmsspider.output.report import write_graph  # few exports are pages

    write_graph(store, out)


GRAPHS: dict[str, Callable[[Store, BinaryIO], None]] = {
    "json": graph.write_json,
    "ascii": graph.write_ascii,
    "svg": graph.write_svg,
    "html": _graph_page,
}


class Command(OneLineCommand):
    """Writes what the store holds; nothing is fetched."""

    usage = "[options] SOURCE"
    summary = "Export the stored documents of a source"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the format, what belongs to each, and where it goes."""
        super().add_options(parser)
        parser.add_argument("--since", metavar="N", help="only what changed after sequence number N")
        parser.add_argument(
            "--format", default="jsonl", help=f"one of: {', '.join(FORMATS)} (default: jsonl)"
        )
        parser.add_argument(
            "--as", dest="form", default="json", help=f"graph: {', '.join(GRAPHS)} (default: json)"
        )
        parser.add_argument("--order", default="breadth", help="flat: breadth (default) or depth first")
        parser.add_argument(
            "--max-tokens", metavar="N", help="flat, skill: omit the pages that would exceed N tokens"
        )
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            help="replace FILE once all is written (.gz: compressed); tree, skill: a folder",
        )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments and write."""
        source = one_source(args)
        _check(opts)
        with self.stores().open(source, create=False) as store:
            if opts.format in FOLDERS:
                self._folder(store, opts)
            else:
                self._file(store, source, opts)

    def _folder(self, store: Store, opts: argparse.Namespace) -> None:
        folder = Path(opts.output)
        if opts.format == "skill":
            report = sync_skill(store, folder, budget=_number("--max-tokens", opts.max_tokens))
        else:
            report = sync(store, folder)
        sys.stderr.write(report.describe() + "\n")

    def _file(self, store: Store, source: str, opts: argparse.Namespace) -> None:
        since = _number("--since", opts.since)
        if since is None and store.count_pages() == 0:
            runs = store.runs()
            ended = f"; its last run ended with {runs[-1].outcome or 'no result'}" if runs else ""
            self.fail(f"source {source!r} has no pages{ended}", 1)
            return
        with _target(opts.output) as out:
            if opts.format == "flat":
                budget = _number("--max-tokens", opts.max_tokens)
                done = write_flat(store, out, order=opts.order, budget=budget)
                omitted = f", {done.omitted} omitted by --max-tokens" if done.omitted else ""
                sys.stderr.write(f"{done.written} pages, about {done.size} tokens{omitted}\n")
                if not done.written:
                    self.fail(f"--max-tokens {budget} omits every page: the first one needs more", 1)
            elif opts.format == "graph":
                GRAPHS[opts.form](store, out)
            else:
                write = self._writer(opts.format, store, replay=since is not None)
                write(documents(store, source, since), out)
        if since is not None:
            store.note_replayed(since)

    def _writer(self, name: str, store: Store, *, replay: bool) -> Callable[..., object]:
        if name == "chunks":
            chunker = Config.from_settings(self.settings).chunker
            return partial(write_chunks, chunker=chunker, replay=replay)
        if name == "jsonl":
            return write_jsonl
        record = store.source_record()
        with_extra = record is not None and bool(own_mark(record.extractor_version))
        if name == "csv":
            return partial(write_csv, with_extra=with_extra)
        return partial(write_parquet, with_extra=with_extra)


def _check(opts: argparse.Namespace) -> None:
    problems = choice_problems(
        ("--format", opts.format, FORMATS),
        ("--as", opts.form, GRAPHS),
        ("--order", opts.order, ("breadth", "depth")),
    )
    if opts.since is not None and opts.format not in ROWS:
        problems.append(f"--since is for the formats {', '.join(ROWS)}")
    if opts.format in FOLDERS and opts.output is None:
        problems.append(f"--format {opts.format} needs a folder: -o DIR")
    if problems:
        raise ArgumentsError(problems)
    _number("--since", opts.since)
    _number("--max-tokens", opts.max_tokens)


def _number(option: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        what = "a sequence number, 0 or more," if option == "--since" else "a number of 0 or more"
        raise ArgumentsError([f"{option} {value!r}: {what} is accepted"])
    return int(value)


@contextlib.contextmanager
def _target(output: str | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with staged(Path(output)) as out:
        if not output.endswith(".gz"):
            yield out
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed:
            yield packed  # type: ignore[misc]  # a BinaryIO as far as writers go
