"""The run of the spider `page`: what the components ask of a `Run`, without a store and without bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from llmsspider.arguments import DocsArguments, PageArguments
from llmsspider.run import Run
from llmsspider.sources import default_name

if TYPE_CHECKING:
    from llmsspider.config import Config
    from llmsspider.items import Change
    from llmsspider.stats import Stat
    from llmsspider.store import PageRecord


class PageRun(Run):
    """One page, wherever it leads; nothing is remembered."""

    discovers = False

    def __init__(self, arguments: PageArguments, config: Config, count: Callable[[Stat, int], None]):
        as_docs = DocsArguments(
            url=arguments.url,
            source=default_name(arguments.url),
            render=arguments.render,
            profile=arguments.profile,
        )
        super().__init__(as_docs, None, config, count)
        self.progress.crawl_type = "page"

    def open(self) -> None:
        """Start the conversion."""
        self.workers.open()

    @property
    def watched(self) -> bool:
        """False: one page is soon done."""
        return False

    def record(self, record: PageRecord, *, confirmed: bool) -> tuple[Change, int | None]:
        """Return what every page of such a run is: new, and no change of a stored source."""
        return "new", None
