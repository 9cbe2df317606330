"""What a run delivers: feeds, the Markdown tree, the report, and whether they arrived. No Scrapy.

Pages are stored while the crawl goes, feeds are delivered when it has ended: an upload that fails, a full disk or a
kill in between leaves changes in the store that no reader of the feeds has seen. The run's counts keep that
(`delivered`), and the next run and `scrapy sources --json` say it (docs/explanation/incremental.md). Such changes can
be replayed by number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmsspider.errors import command

if TYPE_CHECKING:
    from pathlib import Path

    from llmsspider.config import Config
    from llmsspider.crawl.workers import Workers
    from llmsspider.output.mirror import MirrorReport


@dataclass(slots=True)
class Outputs:
    """The outputs of one run, and what became of them.

    Args:
        config: the project's settings.
        worker_group: the workers of the crawl; of several the leader writes what is written once.
    """

    config: Config
    worker_group: Workers
    delivered: bool | None = None
    """Whether the outputs were stored where they belong, once the run is closed; None where there are none."""
    undelivered: list[str] = field(default_factory=list)
    """What an output could not deliver, in words."""
    undelivered_since: int | None = None
    """The change to replay from, where an earlier run stored changes that it did not deliver."""
    mirror: MirrorReport | None = None
    """What was done to the Markdown tree, once all pages are through."""
    report: tuple[Path, str] | None = None
    """Where the HTML report was written, and its text."""
    chunks_before: dict[str, frozenset[str]] = field(default_factory=dict)
    """Ids of the chunks that changed and deleted documents had, by document id, where a feed asks for chunks."""

    @property
    def writes_mirror(self) -> bool:
        """True when this run brings the Markdown tree in step."""
        return self.config.mirror_dir is not None and self.worker_group.leads

    @property
    def writes_skill(self) -> bool:
        """True when this run brings the skill in step."""
        return self.config.skill_dir is not None and self.worker_group.leads


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
