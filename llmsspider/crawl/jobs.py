"""The job a crawl runs in: Scrapyd, Scrapy Cloud, a JOBDIR, and large bodies on disk while it needs them."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from pathlib import Path

logger = logging.getLogger(__name__)


# Whether the crawl is a job of Scrapyd or Scrapy Cloud, by the environment, and whether anybody watches it.

CLOUD_VARIABLE = "SHUB_JOBKEY"
"""Set for every job of Scrapy Cloud, before the settings are read: project, spider and job number."""

JOB_VARIABLES = ("SCRAPY_JOB", CLOUD_VARIABLE, "SCRAPY_PROJECT_ID")
"""Set by Scrapyd and Scrapy Cloud, where nobody can open a page of the machine."""


def is_job() -> bool:
    """Say whether Scrapyd or Scrapy Cloud runs this process."""
    return any(os.environ.get(name) for name in JOB_VARIABLES)


def on_scrapy_cloud() -> bool:
    """Say whether Scrapy Cloud runs this process."""
    return bool(os.environ.get(CLOUD_VARIABLE))


def is_terminal(stream: object) -> bool:
    """Say whether a stream is a terminal; what Scrapy Cloud puts in the place of stderr has no `isatty`."""
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and bool(isatty())


# Whether a JOBDIR can be continued: one that was left by a crash, or by a finished crawl, is not.
# After a kill, Scrapy's own files resume to an empty queue and call it finished; after a finished crawl they say that
# every page was seen. A marker beside them says which it was.

MARKER = "llmsspider.json"
RESUMABLE = "shutdown"
"""The finish reason of a crawl that was stopped by its user and may be continued."""


def prepare(path: str | None) -> str | None:
    """Return the id of the run that the folder continues, None for a new crawl; discard what cannot be continued.

    Args:
        path: the JOBDIR setting.
    """
    if not path or not Path(path, "requests.seen").exists():
        return None
    state = _read(Path(path, MARKER))
    if state.get("outcome") == RESUMABLE and state.get("run"):
        return state["run"]
    if state.get("outcome") is None:
        logger.warning(
            "JOBDIR %s was left by a crawl that did not end cleanly: it is discarded, all is crawled", path
        )
    for name in ("requests.queue", "requests.seen", "spider.state", MARKER):
        target = Path(path, name)
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
    return None


def mark(path: str | None, run: str, outcome: str | None) -> None:
    """Write the marker: `outcome` None while the run goes on, else its finish reason."""
    if path and Path(path).is_dir():
        Path(path, MARKER).write_text(json.dumps({"run": run, "outcome": outcome}), encoding="utf-8")


def _read(path: Path) -> dict[str, str]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


# Large bodies on disk while a run needs them, instead of in memory.

MIN_BYTES = 4 * 1024 * 1024
"""Bodies below this stay in memory."""


class Spool:
    """A temporary folder, made with the first body that is put there and removed by `close`."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._count = 0

    def put(self, body: bytes) -> Path | None:
        """Write a body to a file of its own and return its path; None for a body that may stay in memory."""
        return None if len(body) < MIN_BYTES else self.keep(body)

    def keep(self, body: bytes) -> Path:
        """Write a body of any size to a file of its own and return its path; raises `OSError`."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="llmsspider-"))
        self._count += 1
        path = self._folder / str(self._count)
        path.write_bytes(body)
        return path

    def close(self) -> None:
        """Remove the files; idempotent."""
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
