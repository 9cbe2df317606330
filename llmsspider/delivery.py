"""Whether what a run stored was also handed over. What was not can be replayed by number. No Scrapy here.

Pages are stored while the crawl goes, feeds are delivered when it has ended: an upload that fails, a full disk or
a kill in between leaves changes in the store that no reader of the feeds has seen. The run's counts keep that
(`delivered`), the next run and `scrapy sources --json` say it (docs/incremental.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmsspider.program import command


def delivered(
    stats: Mapping[str, Any], *, feeds: bool, active: bool, undelivered: Sequence[str] = ()
) -> bool | None:
    """Say whether every output was delivered; None where none is configured.

    Args:
        stats: Scrapy's stats, with those of the feed exports.
        feeds: an output is configured.
        active: Scrapy's feed exporter is working; it switches itself off where a feed is misconfigured.
        undelivered: what an output said that it did not deliver.
    """
    if not feeds:
        return None
    failed = any(name.startswith("feedexport/failed_count/") and number for name, number in stats.items())
    return active and not failed and not undelivered


def replay_command(source: str, since: int) -> str:
    """Return the command that gives everything changed after `since`.

    >>> replay_command("docs.example.com/guide", 17)
    'scrapy export docs.example.com/guide --since 17'
    """
    return command("export", source, "--since", str(since))
