"""Which tests go to which process of a run: long ones first, and together only what shares something costly."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from xdist.scheduler import LoadScopeScheduling

TOGETHER = {
    "test_faults.py": "the five crawls of the matrix",
    "test_crash_safety.py": "a PostgreSQL that is stopped",
    "test_scrapy_cloud.py": "what was deployed",
    "test_scrapyd.py": "a Scrapyd and its egg",
    "test_sync_scrapyd.py": "the egg",
    "test_packaging.py": "the wheel",
    "test_linear_patterns.py": "the patterns of the package, found once",
    "test_gone.py": "the first nights of a site",
    "test_moves.py": "the first nights of a site",
    "test_overwrites.py": "the first nights of a site",
    "test_walls.py": "the first nights of a site",
    "test_witnesses.py": "the first nights of a site",
}
"""Files whose tests go to one process, and what they share."""

ORDER = ("e2e", "integration", "components")


def part_of(nodeid: str) -> str:
    """The folder of a test below tests/."""
    parts = PurePosixPath(nodeid.partition("::")[0]).parts
    return parts[1] if len(parts) > 2 else ""


class ByCost(LoadScopeScheduling):
    """Whole crawls one by one, the quick tests of the other folders by file."""

    def __init__(self, config: Any, log: Any):
        config.option.loadscopereorder = False  # the collection is ordered already
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        name = PurePosixPath(file).name
        if name in {"test_scrapyd.py", "test_sync_scrapyd.py"}:
            return "scrapyd"
        return nodeid if part_of(nodeid) in ORDER and name not in TOGETHER else file

    def remove_node(self, node: Any) -> str | None:
        """Take the tests of a process that has ended; returns the one that killed it, which is not tried again.

        pytest-xdist 3.8 hands out what is done already (its issues 1323 and 1378), and the run hangs.
        """
        given = self.assigned_work.pop(node)
        left = {
            scope: {test: False for test, done in tests.items() if not done}
            for scope, tests in given.items()
        }
        pending = [(scope, test) for scope, tests in left.items() for test in tests]
        if not pending:
            return None
        scope, killed = pending[0]
        del left[scope][killed]
        self.workqueue.update({scope: tests for scope, tests in left.items() if tests})
        self._share()
        return killed

    def schedule(self) -> None:
        """Give every process tests: twice, as one that is new waits for a second test before it runs its first."""
        if self.collection is None:
            super().schedule()
        else:
            self._share()
            self._share()

    def _share(self) -> None:
        """Give a portion to each process that has collected the tests and is almost through."""
        for node in self.nodes:
            if node in self.registered_collections:
                self._reschedule(node)


def order(nodeid: str) -> tuple[bool, int]:
    """Sorts tests: what one process runs for long begins, what computes beside what waits; then the dearest folder."""
    part = part_of(nodeid)
    name = PurePosixPath(nodeid.partition("::")[0]).name
    return name not in TOGETHER, ORDER.index(part) if part in ORDER else len(ORDER)
