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


def order(nodeid: str) -> tuple[int, bool]:
    """Sorts tests by what they cost, the dearest first."""
    part = part_of(nodeid)
    name = PurePosixPath(nodeid.partition("::")[0]).name
    return ORDER.index(part) if part in ORDER else len(ORDER), name not in TOGETHER
