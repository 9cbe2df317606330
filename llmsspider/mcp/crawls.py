"""Crawls that an MCP client starts (`--allow-crawl`).

`scrapy crawl docs` in a process of its own, one for a source at a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from llmsspider.api import CRAWL, options_for_pipe
from llmsspider.errors import SearchError
from llmsspider.retrieval.library import Library
from llmsspider.sources import default_name
from llmsspider.store import Store
from llmsspider.web.urls import require_http_url

MOST_CRAWLS = 4
"""Crawls that go at the same time."""


class Crawls:
    """The crawls of one server; those that still go are stopped with it.

    Args:
        settings: settings of the project, above those of settings.py.
    """

    def __init__(self, settings: Mapping[str, object]):
        self._settings = settings
        self._going: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}

    def add(self, library: Library, url: str, name: str | None, max_pages: int | None) -> str:
        """Start the first crawl of a site; returns the name of its source.

        Raises:
            InvalidUrlError: the URL is no http(s) URL.
            SearchError: a crawl of the source is going, or too many are.
        """
        source = name or default_name(require_http_url(url))
        arguments = {"url": url, "source": source}
        if max_pages is not None:
            arguments["max_pages"] = str(max_pages)
        if source in library.names():
            raise SearchError(f"source {source!r} is there already; use recrawl_source")
        self._start(source, arguments)
        return source

    def recrawl(self, library: Library, source: str) -> str:
        """Start the next crawl of a source; returns its full name."""
        name = library.open(source).name
        self._start(name, {"source": name})
        return name

    def status(self, library: Library, source: str) -> dict[str, Any]:
        """The progress of the crawl of a source, or how the last one ended."""
        going = self._is_going(source)
        if source not in library.names():
            if source in self._going:
                return {
                    "source": source,
                    "going": going,
                    "status": "PENDING" if going else "ERROR",
                    "said": self._said(source),
                }
            library.open(source)  # says what there is
        record = next(one for one in library.stores.list() if one.name == source)
        with library.stores.open(source, create=False) as store:
            return {
                "source": source,
                "going": going,
                "status": record.status,
                "pages": record.pages,
                **_last(store),
            } | ({} if going else {"said": self._said(source)})

    def cancel(self, source: str) -> bool:
        """Stop the crawl of a source as Ctrl-C does.

        What was fetched is kept; returns whether one was going.
        """
        if not self._is_going(source):
            return False
        self._going[source][0].send_signal(signal.SIGINT)
        return True

    def close(self) -> None:
        """Stop the crawls that are going and wait for them."""
        for source, (process, log) in self._going.items():
            if self.cancel(source):
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            log.close()

    def _start(self, source: str, arguments: Mapping[str, str]) -> None:
        if self._is_going(source):
            raise SearchError(f"a crawl of {source!r} is running; crawl_status returns its progress")
        if sum(self._is_going(one) for one in self._going) >= MOST_CRAWLS:
            raise SearchError(f"{MOST_CRAWLS} crawls are going; wait for one of them")
        package = str(Path(__file__).resolve().parent.parent.parent)
        environment = {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": os.environ.get("SCRAPY_SETTINGS_MODULE", "llmsspider.settings"),
            "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")])),
        }
        log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        process = subprocess.Popen(  # noqa: S603  # our own interpreter, no shell
            CRAWL, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
        settings = {"LLMS_PROGRESS": "plain", "LLMS_STATUS_PORT": "off", **self._settings}
        with suppress(BrokenPipeError), process.stdin or nullcontext() as pipe:  # its log says why it ended
            if pipe is not None:
                pipe.write(options_for_pipe(arguments, settings))
        if source in self._going:
            self._going[source][1].close()
        self._going[source] = process, log

    def _is_going(self, source: str) -> bool:
        return source in self._going and self._going[source][0].poll() is None

    def _said(self, source: str) -> str | None:
        """The last lines of a crawl that this server started."""
        if source not in self._going:
            return None
        log = self._going[source][1]
        log.seek(max(0, log.seek(0, os.SEEK_END) - 4000))
        return "\n".join(log.read().decode("utf-8", "replace").splitlines()[-8:])


def _last(store: Store) -> dict[str, Any]:
    runs = store.runs()
    if not runs:
        return {}
    last = runs[-1]
    done = last.counts.get("documents")
    return {
        "run": last.id,
        "documents": done if isinstance(done, int) else None,
        "complete": last.complete if last.finished_at else None,
        "outcome": last.outcome,
        "why": last.why,
    }
