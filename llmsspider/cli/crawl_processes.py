"""The crawls that clients of a server start: `scrapy crawl docs` in a process of its own each, one
for a source at a time.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from llmsspider.answers.library import Library
from llmsspider.answers.ranking import choose_source
from llmsspider.api.crawl_process import CRAWL, options_for_pipe
from llmsspider.config.sources import default_name
from llmsspider.errors import SearchError
from llmsspider.store.records import RunRecord
from llmsspider.web.child_processes import OWN_GROUP, interrupt
from llmsspider.web.urls import require_http_url

Answer = tuple[dict[str, Any], str]  # of a tool, as in `answers.mcp`

MAX_CRAWLS = 4  # at the same time
GOING = "a crawl of {!r} is running; crawl_status returns its progress"


class CrawlProcesses:
    """The crawls that the clients of one server started, and the tools for that; `close` stops
    those that run.
    """

    def __init__(self, library: Library, settings: Mapping[str, object]):
        self._library = library
        self._settings = settings
        self._started: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        self.tools = (
            self.add_source,
            self.recrawl_source,
            self.remove_source,
            self.crawl_status,
            self.cancel,
        )

    # The docstrings of tools are for clients.

    def add_source(self, url: str, name: str | None = None, max_pages: int | None = None) -> Answer:
        """Crawl a documentation site in the background.

        Url: any page of it. name: of the source (name@version for a version).
        """
        url = require_http_url(url)  # a folder of this machine is for its user to name
        source = name or default_name(url)
        if source in self._library.names():
            raise SearchError(f"source {source!r} is there already; use recrawl_source")
        limit = {} if max_pages is None else {"max_pages": str(max_pages)}
        return self._start({"url": url, "source": source, **limit})

    def recrawl_source(self, source: str) -> Answer:
        """Fetch what changed on a source's site, in the background."""
        name = self._library.open(source).name
        with self._library.store(name) as store:
            if any(run.is_going for run in store.runs()):
                raise SearchError(GOING.format(source))
        return self._start({"source": name})

    def remove_source(self, source: str) -> Answer:
        """Delete a source and everything stored of it."""
        if self._is_running(source):
            raise SearchError(f"a crawl of {source!r} is running; cancel it first")
        self._library.delete(source)
        return {"source": source, "removed": True}, f"{source} is removed."

    def crawl_status(self, source: str) -> Answer:
        """Return the progress of the crawl of a source, or how it ended."""
        running = self._is_running(source)
        status: dict[str, Any] = {"source": source, "going": running}
        if source not in (names := self._library.names()) and source in self._started:
            status |= {"status": "PENDING" if running else "ERROR"}
        else:
            name = choose_source(source, names)  # or says what there is
            record = next(one for one in self._library.records() if one.name == name)
            with self._library.store(name) as store:
                status |= {"status": record.status, "pages": record.pages}
                for last in store.runs()[-1:]:
                    status |= _ending(last)
        if not running and (error := self._error(source)):
            status["error"] = {"kind": _kind(error), "message": error}
        return status, "\n".join(
            f"{name}: {value}" for name, value in status.items() if value is not None
        )

    def cancel(self, source: str) -> Answer:
        """Stop the crawl of a source, whoever started it."""
        running = self._stop(source) or self._request_stop(source)
        outcome = "is stopping; what was fetched is kept" if running else "has ended"
        return {"source": source, "stopping": running}, f"The crawl of {source} {outcome}."

    def _stop(self, source: str) -> bool:
        running = self._is_running(source)
        if running:
            interrupt(self._started[source][0])
        return running

    def _request_stop(self, source: str) -> bool:
        """Ask what crawls a source in another process to stop."""
        names = self._library.names()
        if source in self._started and source not in names:
            return False
        with self._library.store(choose_source(source, names)) as store:
            return store.request_stop()

    def close(self) -> None:
        """Stop the crawls that are running and wait for them."""
        for source, (process, log) in self._started.items():
            if self._stop(source):
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            log.close()

    def _start(self, arguments: Mapping[str, str]) -> Answer:
        source = arguments["source"]
        if self._is_running(source):
            raise SearchError(GOING.format(source))
        if sum(self._is_running(one) for one in self._started) >= MAX_CRAWLS:
            raise SearchError(f"{MAX_CRAWLS} crawls are running; wait for one of them")
        package = str(Path(__file__).resolve().parent.parent.parent)
        paths = filter(None, [package, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        process = subprocess.Popen(  # noqa: S603  # our own interpreter, no shell
            CRAWL,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            **OWN_GROUP,
        )
        settings = {"LLMS_STATUS_PORT": "off", **self._settings}
        with (
            suppress(BrokenPipeError),
            process.stdin or nullcontext() as pipe,
        ):  # its log says why it ended
            if pipe is not None:
                pipe.write(options_for_pipe(arguments, settings))
        if source in self._started:
            self._started[source][1].close()
        self._started[source] = process, log
        text = f"Crawling {source}; crawl_status returns its progress."
        return {"source": source, "started": True}, text

    def _is_running(self, source: str) -> bool:
        return source in self._started and self._started[source][0].poll() is None

    def _error(self, source: str) -> str | None:
        """What a crawl that this server started says of its failure: its last line of that kind,
        without its time.
        """
        if source not in self._started or not self._started[source][0].returncode:
            return None
        log = self._started[source][1]
        log.seek(max(0, log.seek(0, os.SEEK_END) - 16_000))
        lines = log.read().decode("utf-8", "replace").splitlines()
        said = [
            line.partition(" ERROR: ")[2] or line for line in lines if " ERROR: " in line
        ] or lines[-1:]
        return said[-1][:500] if said else None


def _kind(error: str) -> str:
    kind, colon, _ = error.partition(":")
    return kind if colon and kind.isidentifier() else "failed"


def _ending(run: RunRecord) -> dict[str, Any]:
    """What a client is told of a run: how far it came, and how it ended."""
    done = run.counts.get("documents")
    return {
        "run": run.id,
        "documents": done if isinstance(done, int) else None,
        "errors": run.errors,
        "filtered": run.filtered,
        "complete": run.complete if run.finished_at else None,
        "outcome": run.outcome,
        "why": run.why,
    }
