"""Whether a JOBDIR can be continued: one that was left by a crash, or by a finished crawl, is not.

After a kill, Scrapy's own files resume to an empty queue and call it finished; after a finished
crawl they say that every page was seen. A marker beside them says which it was. No Scrapy.
"""

import contextlib
import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

MARKER = "llmsspider.json"
RESUMABLE = "shutdown"
"""The finish reason of a crawl that was stopped by its user and may be continued."""


@dataclass(frozen=True)
class Job:
    """The runs of a JOBDIR that did not come to their end, oldest first.

    `path` is the folder, None without a JOBDIR. `resumes` is the id of the run that is continued,
    None where all is crawled; `earlier` are the ids of all, whose rows a feed may hold.
    """

    path: str | None = None
    resumes: str | None = None
    earlier: tuple[str, ...] = ()

    def mark(self, run: str, outcome: str | None) -> None:
        """Write the marker: the id of the run that goes on now, `outcome` None until it has ended,
        then its finish reason.
        """
        if self.path and Path(self.path).is_dir():
            state = {"run": run, "earlier": self.earlier, "outcome": outcome}
            Path(self.path, MARKER).write_text(json.dumps(state), encoding="utf-8")


def left_job(path: str | None) -> Job:
    """Return what a JOBDIR was left with; discard what cannot be continued."""
    if not path or not Path(path, "requests.seen").exists():
        return Job(path)
    state = {}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(Path(path, MARKER).read_text(encoding="utf-8"))
        state = found if isinstance(found, dict) else {}
    outcome = state.get("outcome")
    earlier = tuple(filter(None, [*state.get("earlier", ()), state.get("run")]))
    if outcome == RESUMABLE and state.get("run"):
        return Job(path, state["run"], earlier)
    if outcome is None:
        why = "was left by a crawl that did not end cleanly: it is discarded, all is crawled"
        logger.warning("JOBDIR %s %s", path, why)
    for name in ("requests.queue", "requests.seen", "spider.state", MARKER):
        target = Path(path, name)
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
    return Job(path, earlier=earlier if outcome is None else ())
