"""First stage: drop what is no documentation, each with a reason that is counted."""

import re
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
from llmsspider.store import PageItem
from llmsspider.web.stats import Filtered
from llmsspider.web.trees import replaced, tree_of
from llmsspider.web.urls import alike_key, directory, loose_key, page_key, shown_url

_DESTINATION = re.compile(r"\]\([^()\s]*+")
"""Where a link leads: relative links of one page differ by the spelling of its address."""

ENDINGS = ("/index.html", "/index", ".html", ".htm", ".md", "/")
"""Ends of addresses in which spellings of one page differ."""


MIN_SAME_CHARACTERS = 200
"""Minimum length in characters of a text that two names in one directory have: notes that something
is to come are written often.
"""


class FilterPipeline(RunComponent):
    """Drop documents that are empty, soft 404s or a looser spelling of a page already exported.

    Two pages are joined for equal content, where their addresses are spellings of one
    (`urls.alike_key`) or one has a version or query more; and for one Markdown file, whose links
    may lead to different spellings, where they end alike. A page that no list names is one with
    another of its directory that has its text (`/1-old-title`, `/1-new-title`).
    """

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
        self._spellings: dict[str, str] = {}

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
        duplicate = self._duplicate(item, source_hash)
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

    def _duplicate(self, item: Document, source_hash: str) -> Filtered | None:
        url = _address(item)
        address = loose_key(url)
        same = source_hash
        version = tree_of(url).get("version") if self.arguments.versions == "start" else None
        bare = loose_key(replaced(url, version, None) if version else url.partition("?")[0])
        words = content_hash(_DESTINATION.sub("](", item.content or ""))
        keys = [f"{address} {source_hash}", f"{alike_key(url)} {words}"]
        if item.origin == "markdown":
            keys.append(f"{address.rpartition('/')[2]} {item.fetched_url}")
        if len(item.content or "") >= MIN_SAME_CHARACTERS and not self.site.is_listed(url):
            keys.append(f"{directory(url)}* {item.title} {words}")
        if address in (content := item.content or ""):  # each spelling links to itself
            for ending in ENDINGS:
                content = content.replace(f"{address}{ending}", address)
            same = content_hash(content.replace(address, bare))
            keys.append(f"{address} {same}")
        pages = [self._spellings.setdefault(key, url) for key in keys]
        copy = f"copy of {bare} {same}"
        if bare != address:
            pages.append(self._spellings.get(f"{bare} {same}", url))
            self._spellings.setdefault(copy, url)
        else:
            pages.append(self._spellings.get(copy, url))
        pages.append(self._spellings.get(f"more than {alike_key(url)} {words}", url))
        for fewer in _with_fewer_parameters(url):
            pages.append(self._spellings.get(f"{alike_key(fewer)} {words}", url))
            self._spellings.setdefault(f"more than {alike_key(fewer)} {words}", url)
        first = next((page for page in pages if page != url), None)
        if first is None:
            return None
        if self.known.store is not None:
            self.known.store.add_alias(page_key(url), page_key(first), item.url)
        return Filtered("duplicate", f"the same page as {shown_url(first)}")


def _address(item: Document) -> str:
    """Return a page's URL, by which a route that is written like a place is not that place."""
    return item.record.identity if isinstance(item, PageItem) and "#" in item.url else item.url


def _with_fewer_parameters(url: str) -> list[str]:
    """Return the addresses with one parameter of the query less, of which one may say the same."""
    place, _, query = url.partition("?")
    parameters = query.split("&")
    if len(parameters) < 2:
        return []
    return [
        f"{place}?{'&'.join(other for other in parameters if other is not one)}"
        for one in parameters
    ]
