"""Pages that the network lost, kept for the end of the crawl, where each is asked for once more. Pure.

What is retried at once meets the same outage: a server that restarts, a limit on connections, a name that does not
resolve for a minute. At the end the site has had time, and is asked gently.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from llmsspider.errors import ErrorKind

MAX_PAGES = 200
"""So many pages are kept; when more fail the site is down, and the rest are errors at once."""

MAX_SECS = 300.0
"""So long may the second round take, in seconds; what was not asked by then is an error."""

AT_ONCE = 2
"""Pages that are asked for at the same time."""

KINDS = frozenset({"network", "rate_limited"})
"""Error kinds that may be over by the end of the crawl; so may answers without a page that are no 4xx."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A page that could not be had: how to ask for it again, and what it is reported with if that fails too."""

    request: Any
    url: str
    kind: ErrorKind
    message: str
    status: int | None = None


@dataclass(slots=True)
class SecondChance:
    """The pages of one run that get one; `enabled` is False where nothing is to be asked again."""

    enabled: bool = True
    waiting: list[Lost] = field(default_factory=list)
    kept: int = 0

    def keep(self, lost: Lost) -> bool:
        """Take a page in, unless it is not that kind of failure or there are too many."""
        passing = lost.kind in KINDS or (lost.kind == "http" and (lost.status or 0) < 400)
        if not self.enabled or not passing or self.kept >= MAX_PAGES:
            return False
        self.kept += 1
        self.waiting.append(lost)
        return True

    def take(self, number: int) -> list[Lost]:
        """Return the next pages to ask for, the oldest first."""
        taken, self.waiting = self.waiting[:number], self.waiting[number:]
        return taken
