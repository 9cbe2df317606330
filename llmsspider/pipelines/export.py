"""Third stage: decide and count what goes out to the feeds; keep the Markdown tree in step."""

import asyncio
import logging
from typing import Any

from llmsspider.crawler.parts import (
    Assets,
    Config,
    Coverage,
    DocsArguments,
    KnownPages,
    Outputs,
    Progress,
)
from llmsspider.crawler.requests import RunComponent
from llmsspider.errors import MirrorError, StoreError
from llmsspider.items import Document
from llmsspider.output.mirror import MirrorReport, folder_for, sync, sync_skill
from llmsspider.pipelines import CountedDrop
from llmsspider.web import stats

logger = logging.getLogger(__name__)


class ExportPipeline(RunComponent):
    """Count each document by origin and change; with `emit=changes`, keep unchanged ones from the
    feeds.

    When every page is through, tree and skill are brought in step with the store, in a thread:
    heartbeats go on.
    """

    arguments: DocsArguments
    assets: Assets
    config: Config
    coverage: Coverage
    known: KnownPages
    outputs: Outputs
    progress: Progress

    def process_item(self, item: Any) -> Any:
        """Return the document, or raise `CountedDrop`; an item of yours is counted, and left as it
        is.
        """
        if not isinstance(item, Document):
            self.report.count("items")
            return item
        self.report.count(stats.change(item.change))
        if item.change == "deleted":
            self.progress.changes["deleted"] += 1
            return item
        self.progress.document(item.origin, item.change)
        self.progress.add_recent(item.url, item.origin, item.status, len(item.content or ""))
        self.report.count("documents")
        self.report.count(stats.origin(item.origin))
        if item.change == "unchanged" and self.arguments.emit == "changes":
            raise CountedDrop(f"{item.url}: unchanged (emit=changes)")
        return item

    async def close_spider(self) -> None:
        """Write the Markdown tree and the skill, where they are configured."""
        if self.config.plan_only or not self.records.run_id:
            return
        try:
            self._end_assets()
            self.known.flush()
        except StoreError:  # `Run.end` meets it again, and says it
            return
        for kind, setting in (("skill", self.config.skill_dir), ("mirror", self.config.mirror_dir)):
            if setting is None:
                continue
            try:
                report = await asyncio.to_thread(
                    _sync, kind, setting, self.config, self.records.source
                )
            except (MirrorError, StoreError, OSError) as error:  # OSError: a full disk
                what = "skill" if kind == "skill" else "Markdown tree"
                logger.error(
                    "the %(what)s was not written: %(error)s", {"what": what, "error": error}
                )
                self.report.count("skill/failed" if kind == "skill" else "mirror/failed")
            else:
                if kind == "skill":
                    self.report.note(f"skill {report.describe()}")
                else:
                    self.outputs.mirror = report.describe()
                    self.report.count("mirror/written", len(report.written))
                    self.report.count("mirror/removed", len(report.removed))

    def _end_assets(self) -> None:
        if self.arguments.assets == "none":
            return
        if self.coverage.complete:
            self.assets.end()
        kept = len(self.assets.paths)
        too_many = len(self.assets.too_many)
        self.report.count("assets/kept", kept)
        self.report.count("assets/too-many", too_many)
        self.report.note(
            f"{kept} files are kept beside the pages, {too_many} more are not requested"
        )


def _sync(kind: str, setting: str, config: Config, source: str) -> MirrorReport:
    with config.stores.open(source, create=False) as store:
        return (sync_skill if kind == "skill" else sync)(store, folder_for(setting, source))
