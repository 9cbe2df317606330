"""What a start page said of itself in earlier runs: an odd night changes neither start nor section."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from llmsspider.crawler.learn.base import End, Learner
from llmsspider.items import Section
from llmsspider.site.discovered import Discovery, FetchResult
from llmsspider.web.urls import directory, host


@dataclass(frozen=True, slots=True)
class StartHistory:
    """What is remembered of a start page; empty strings are unknown.

    `page` is where `url` redirected, `section` the address whose directory is its section,
    `declared` the section that the page itself names, with the reason; the store keeps it as
    `told`.
    """

    url: str = ""
    page: str = ""
    section: str = ""
    declared: tuple[str, str] | None = None

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Read what `to_json` wrote; anything else is nothing."""
        values = found if isinstance(found, dict) else {}
        url, page, section = (str(values.get(name) or "") for name in ("url", "page", "section"))
        match values.get("told"):
            case [path, why]:
                return cls(url, page, section, (str(path), str(why)))
        return cls(url, page, section)

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps."""
        return {"url": self.url, "page": self.page, "section": self.section, "told": self.declared}

    def led_elsewhere(self, answer: FetchResult, statuses: Sequence[object]) -> str | None:
        """Return the page to which a start page redirects unlike before, None where that changes
        nothing.

        That is a temporary redirect (`statuses`) to another page than before, and any to another
        section of the host.
        """
        page = answer.final_url
        if (
            answer.url != self.url
            or not answer.ok
            or page == answer.url
            or place_of(page) == place_of(self.page)
        ):
            return None
        now = answer.section_url
        is_temporary = not {301, 308}.issuperset(statuses)
        is_other = directory(now) != directory(self.section) and host(now) == host(self.section)
        return page if is_temporary or is_other else None

    def section_of(self, discovery: Discovery) -> str:
        """Return the address whose directory is the section: that of earlier runs where the start
        page failed.
        """
        same = discovery.start.url == self.url and self.section
        return self.section if same and discovery.start.error else discovery.start_url

    def after(self, discovery: Discovery, named: Section | None) -> "StartHistory":
        """Return what is remembered after a run; `named` is the section that the start page names,
        if it was read.
        """
        start = discovery.start
        if start.error:
            return self
        declared = self.declared if start.url == self.url else None
        declared = (named.path, named.why) if named is not None else declared
        return StartHistory(start.url, start.final_url, discovery.start_url, declared)


def place_of(url: str) -> tuple[str, str]:
    """Return the host and the path of a page."""
    return host(url), urlsplit(url).path


class StartPage(Learner):
    """The history of the start page: that of earlier runs, of this run after discovery."""

    name = "start"

    def __init__(self) -> None:
        self.history = StartHistory()

    def remember(self, kept: Any) -> None:
        """Take over the history of earlier runs."""
        self.history = StartHistory.from_json(kept)

    def keep(self, end: End) -> dict[str, Any]:
        """Return the history."""
        return self.history.to_json()

    def learn(self, discovery: Discovery, named: Section | None) -> None:
        """Take in what discovery found; `named` is the section that the start page names."""
        self.history = self.history.after(discovery, named)
