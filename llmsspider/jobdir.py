"""Whether a JOBDIR can be continued: one that was left by a crash, or by a finished crawl, is not.

After a kill, Scrapy's own files resume to an empty queue and call it finished; after a finished crawl they say that
every page was seen. A marker beside them tells which it was.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

logger = logging.getLogger(__name__)

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
