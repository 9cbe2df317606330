"""`scrapy export SOURCE`: the stored documents, all or what changed since a sequence number, in one
of many forms.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

from llmsspider.cli.command import OneLineCommand
from llmsspider.cli.options import FAILED, choice_problems, number, one_source, option
from llmsspider.config.settings import Config
from llmsspider.errors import ArgumentsError, LlmsspiderError
from llmsspider.output import graph
from llmsspider.output.exports import (
    documents,
    staged,
    write_chunks,
    write_csv,
    write_flat,
    write_jsonl,
)
from llmsspider.output.feeds import write_parquet
from llmsspider.output.mirror import sync, sync_skill
from llmsspider.store import Store
from llmsspider.web.loading import find, own_mark

ROWS = ("jsonl", "csv", "parquet", "chunks")
"""Formats of one document or chunk a row; `--since` is for these."""

FORMATS = (*ROWS, "flat", "tree", "skill", "graph")
FOLDERS = ("tree", "skill")

VECTOR_STORES = {
    "qdrant": "llmsspider.integrations.qdrant.QdrantPipeline",
    "lancedb": "llmsspider.integrations.lancedb.LanceDBPipeline",
}

GRAPHS = {"json": graph.write_json, "ascii": graph.write_ascii}
"""Forms of a graph."""


class Command(OneLineCommand):
    """Writes what the store holds; nothing is fetched."""

    usage = "[options] SOURCE"
    options = (
        option("--since", "only what changed after sequence number N", metavar="N"),
        option("--format", f"one of: {', '.join(FORMATS)} (default: jsonl)", default="jsonl"),
        option("--as", f"graph: {', '.join(GRAPHS)} (default: json)", dest="form", default="json"),
        option("--order", "flat: breadth (default) or depth first", default="breadth"),
        option(
            "--max-tokens", "flat, skill: omit the pages that would exceed N tokens", metavar="N"
        ),
        option(
            "-o --output",
            "replace FILE once all is written (.gz: compressed); tree, skill: a folder",
            metavar="FILE",
        ),
        option(
            "--to", "a vector store to bring in step: qdrant://HOST:PORT#NAME, lancedb:FOLDER#NAME"
        ),
    )

    def work(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments and write."""
        source = one_source(args)
        problems = choice_problems(
            ("--format", opts.format, FORMATS),
            ("--as", opts.form, tuple(GRAPHS)),
            ("--order", opts.order, ("breadth", "depth")),
        )
        if opts.since is not None and opts.format not in ROWS:
            problems.append(f"--since is for the formats {', '.join(ROWS)}")
        if opts.format in FOLDERS and opts.output is None:
            problems.append(f"--format {opts.format} needs a folder: -o DIR")
        if opts.to is not None and opts.to.partition(":")[0] not in VECTOR_STORES:
            problems.append(
                f"--to {opts.to!r}: qdrant://HOST:PORT, qdrant:FOLDER or lancedb:FOLDER is accepted"
            )
        if problems:
            raise ArgumentsError(problems)
        if opts.to is not None:
            self._deliver(source, opts.to)
            return
        since = _number("--since", opts.since, "a sequence number, 0 or more,")
        budget = _number("--max-tokens", opts.max_tokens, "a number of 0 or more")
        with self.stores().open(source, create=False) as store:
            if opts.format not in FOLDERS:
                self._file(store, source, opts, since, budget)
                return
            folder = Path(opts.output)
            kept = (
                sync(store, folder)
                if opts.format == "tree"
                else sync_skill(store, folder, budget=budget)
            )
            sys.stderr.write(kept.describe() + "\n")

    def _deliver(self, source: str, to: str) -> None:
        kind, _, place = to.partition(":")
        self.settings.set(
            "LLMS_VECTOR_STORE", f"http:{place}" if place.startswith("//") else place, "cmdline"
        )
        # what a pipeline asks them for outside of a crawl
        crawler = SimpleNamespace(settings=self.settings)
        run = SimpleNamespace(config=Config.from_settings(self.settings))
        pipeline: Any = find(VECTOR_STORES[kind])
        try:
            written, removed = pipeline(crawler, run).bring(self.stores(), source)
        except LlmsspiderError:
            raise
        except Exception as error:  # whatever the client of a vector store raises
            reason = str(error).strip().partition("\n")[0]
            self.fail(f"--to {to}: {type(error).__name__}: {reason}", FAILED)
        else:
            sys.stderr.write(f"{written} chunks written, {removed} removed\n")

    def _file(
        self,
        store: Store,
        source: str,
        opts: argparse.Namespace,
        since: int | None,
        budget: int | None,
    ) -> None:
        if since is None and store.count_pages() == 0:
            runs = store.runs()
            ended = f"; its last run ended with {runs[-1].outcome or 'no result'}" if runs else ""
            self.fail(f"source {source!r} has no pages{ended}", 1)
            return
        with _target(opts.output) as out:
            if opts.format == "flat":
                done = write_flat(store, out, order=opts.order, budget=budget)
                omitted = f", {done.omitted} omitted by --max-tokens" if done.omitted else ""
                sys.stderr.write(f"{done.written} pages, about {done.size} tokens{omitted}\n")
                if not done.written:
                    self.fail(
                        f"--max-tokens {budget} omits every page: the first one needs more", 1
                    )
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
        return partial(write_csv if name == "csv" else write_parquet, with_extra=with_extra)


def _number(option: str, value: str | None, accepted: str) -> int | None:
    found = number(value or "")
    if value is not None and found is None:
        raise ArgumentsError([f"{option} {value!r}: {accepted} is accepted"])
    return found


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
