"""First stage: drop what is no documentation, each with a reason that is counted."""

from typing import Any

from llmsspider.crawler.pages import FAILED_TITLE, drop_reason
from llmsspider.crawler.parts import (
    Bounds,
    Coverage,
    DocsArguments,
    KnownPages,
    PageLimit,
    SiteKnowledge,
)
from llmsspider.crawler.requests import RunComponent
from llmsspider.items import Document, content_hash
from llmsspider.pipelines import CountedDrop
from llmsspider.pipelines.same_pages import SamePages, Text
from llmsspider.store import PageItem
from llmsspider.web.stats import Filtered
from llmsspider.web.urls import loose_key, page_key, shown_url


class FilterPipeline(RunComponent):
    """Drop documents that are empty, soft 404s or a page already exported (`SamePages`)."""

    arguments: DocsArguments
    bounds: Bounds
    coverage: Coverage
    known: KnownPages
    limit: PageLimit
    site: SiteKnowledge

    min_characters = 1
    """Documents with fewer characters are left out as empty; a subclass, which a profile names, may
    want more.
    """

    def set_up(self) -> None:
        """Make what it needs besides the run."""
        self._pages = SamePages(other_versions=self.arguments.versions != "start")

    def process_item(self, item: Any) -> Any:
        """Return the document, or raise `DropItem`; an item of yours is left as it is."""
        if not isinstance(item, Document) or item.change == "deleted" or item.content is None:
            return item
        of_source = item.record.source_hash if isinstance(item, PageItem) else None
        key = page_key(_address(item))
        reason = self._reason(item, of_source or content_hash(item.content))
        if reason is None:
            if self.known.state(key) is None:
                self.bounds.learn(item.url, item.content)
            return item
        self.report.filtered(item.url, *reason)
        if reason.reason != "max-pages":
            self.known.record_outcome(key, "dropped", reason.reason)
        raise CountedDrop(f"{item.url}: {reason.rule}")

    def _reason(self, item: Document, source_hash: str) -> Filtered | None:
        if item.change != "unchanged":  # an unchanged page passed these rules when it was stored
            reason = drop_reason(item.content or "", item.title)
            if reason is not None and not (reason.reason == "soft-404" and self._is_there(item)):
                return reason
            if len(item.content or "") < self.min_characters:
                return Filtered("empty", f"fewer than {self.min_characters} characters")
            if item.discovered_by != "start" and source_hash in self.site.soft404_hashes:
                return Filtered(
                    "soft-404", "the same text the site shows for files it does not have"
                )
        duplicate = self._duplicate(item)
        if duplicate is None and self.limit.left == 0:
            self.coverage.incomplete("max_pages")
            return Filtered("max-pages", self.limit.refusal.rule)
        return duplicate

    def _is_there(self, item: Document) -> bool:
        """Say whether a page that is titled as missing is there: the site answers others with 404,
        it was no other. What a program draws says nothing of what the server answers.
        """
        url = item.url
        if item.origin == "rendered" or FAILED_TITLE.search(item.title or ""):
            return False
        state = self.known.state(page_key(url))
        before = self.known.load(state.key) if state is not None else None
        is_as_before = before is None or before.title == item.title
        return self.site.answers_404 and is_as_before and not loose_key(url).endswith("/404")

    def _duplicate(self, item: Document) -> Filtered | None:
        url = _address(item)
        file = item.fetched_url if item.origin == "markdown" else None
        listed = self.site.is_listed(url)
        text = Text(url, item.title, item.content or "", file, listed)
        first = self._pages.first(text)
        if first is None:
            return None
        if self.known.store is not None:
            self.known.store.add_alias(page_key(url), page_key(first), item.url)
        return Filtered("duplicate", f"the same page as {shown_url(first)}")


def _address(item: Document) -> str:
    """Return a page's URL, by which a route that is written like a place is not that place."""
    return item.record.identity if isinstance(item, PageItem) and "#" in item.url else item.url
