"""What a run changed, for a feed and a webhook."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from llmsspider.crawler.parts import Config, DocsArguments, Outputs
from llmsspider.crawler.requests import RunExtension
from llmsspider.errors import StoreError
from llmsspider.output.exports import staged
from llmsspider.output.mirror import path_for

if TYPE_CHECKING:
    from llmsspider.diff.source import SourceChanges

CHANNELS = ("feed", "webhook")
UNPUBLISHED = "untold"
"""Key of the source's record that holds, for feed and webhook, the last change that was published
there.
"""


class ChangeNews(RunExtension):
    """Write the feed and call the webhook at `engine_stopped`, when the run is in the store.

    What could not be delivered to one of them is published again by the next run.
    """

    arguments: DocsArguments
    config: Config
    outputs: Outputs

    log = logging.getLogger(__name__)

    def is_wanted(self) -> bool:
        """Return whether a feed or a webhook is configured."""
        return self.is_reported and bool(self.config.changes_feed or self.config.webhook_url)

    async def engine_stopped(self) -> None:
        """Publish what changed; an error is logged and never fails the crawl."""
        if not self.records.run_id:
            return  # it did not begin
        try:
            changes = await asyncio.to_thread(self._changes)
            published = {
                "feed": await asyncio.to_thread(self._write_feed, changes["feed"]),
                "webhook": await self._call(changes["webhook"]),
            }
            await asyncio.to_thread(self._note, changes, published)
        except StoreError as error:
            self._fail("changes could not be read", error)

    def _changes(self) -> dict[str, SourceChanges]:
        """Return what to publish in each of the two: what this run changed, and what it did not
        take before.
        """
        # crawls without news do without
        from llmsspider.diff.source import changes_since  # noqa: PLC0415

        run = self.run
        with self.config.stores.open(self.records.source, create=False) as store:
            unpublished = store.memory().get(UNPUBLISHED, {})
            since = {
                one: min(run.seq_before, unpublished.get(one, run.seq_before)) for one in CHANNELS
            }
            found = {
                start: changes_since(store, self.records.source, start)
                for start in set(since.values())
            }
            return {channel: found[start] for channel, start in since.items()}

    def _write_feed(self, changes: SourceChanges) -> bool:
        """Update the feed; returns whether it is up to date."""
        from llmsspider.diff.atom import (  # noqa: PLC0415
            NotAFeedError,
            is_of_another,
            updated_feed,
        )

        setting = self.config.changes_feed
        if not setting:
            return True
        source = self.records.source
        try:
            path = path_for(setting, source, partial(is_of_another, source))
            existing = path.read_bytes() if path.exists() else None
            if existing is not None and not changes.pages:
                return True
            body = updated_feed(existing, changes, self.arguments.url or "", datetime.now(UTC))
            path.parent.mkdir(parents=True, exist_ok=True)
            with staged(path) as out:
                out.write(body)
        except (OSError, NotAFeedError) as error:
            self.outputs.delivered = False  # for the exit code
            self._fail(f"the feed {setting} was not written", error)
            return False
        return True

    async def _call(self, changes: SourceChanges) -> bool:
        """Call the webhook, where anything changed; returns whether it took it."""
        config = self.config
        if not config.webhook_url or not changes.pages:
            return True
        from llmsspider.diff import webhook  # noqa: PLC0415

        body = webhook.payload(changes, self.arguments.url or "", self.records.run_id)
        message = f"{self.records.run_id}-{changes.since}"
        headers = webhook.signed_headers(body, message, int(time.time()), config.webhook_secret)
        try:
            await webhook.send(config.webhook_url, body, headers, config.allowed_addresses)
        except webhook.WebhookError as error:
            self._fail("the webhook did not take what changed; the next run sends it again", error)
            return False
        return True

    def _note(self, changes: dict[str, SourceChanges], published: dict[str, bool]) -> None:
        unpublished = {
            channel: changes[channel].since for channel in CHANNELS if not published[channel]
        }
        with self.config.stores.open(self.records.source, create=False) as store:
            if store.memory().get(UNPUBLISHED, {}) != unpublished:
                store.remember({UNPUBLISHED: unpublished})

    def _fail(self, what: str, error: Exception) -> None:
        self.log_line(logging.ERROR, f"{what}: {getattr(error, 'strerror', None) or error}")
