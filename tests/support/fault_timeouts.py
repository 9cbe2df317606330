"""Downloads that may take one second only, as their answers never come; all others have as long as they need.

For Scrapy's `ADDONS`. `FAULT_TIMEOUTS` in the environment has the paths, and how many downloads of each never end.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

SHORT_SECS, LONG_SECS = 1.0, 120.0


def cut_short(never: dict[str, int | None]) -> dict[str, Any]:
    """Options of `crawl`: of these paths so many downloads, None for all, may take one second only."""
    return {
        "settings": {"ADDONS": '{"fault_timeouts.FaultTimeouts": 0}'},
        "env": {"FAULT_TIMEOUTS": json.dumps(never)},
    }


class FaultTimeouts:
    """The add-on, and the middleware next to the downloader that it adds."""

    def __init__(self) -> None:
        self._never: dict[str, int | None] = json.loads(os.environ["FAULT_TIMEOUTS"])
        self._asked: Counter[str] = Counter()

    def update_settings(self, settings: Any) -> None:
        settings["DOWNLOADER_MIDDLEWARES"][type(self)] = 2000

    def process_request(self, request: Any) -> None:
        path = urlsplit(request.url).path
        never = self._never.get(path, 0)
        request.meta["download_timeout"] = (
            SHORT_SECS if never is None or self._asked[path] < never else LONG_SECS
        )
        self._asked[path] += 1
