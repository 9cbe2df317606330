"""The start page of earlier runs: one that redirects elsewhere for a single run changes no scope. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from llmsspider.discovery.files import section_url
from llmsspider.discovery.model import Discovery, FetchResult
from llmsspider.items import Section
from llmsspider.web.urls import directory, host

PERMANENT = frozenset({301, 308})


@dataclass(frozen=True, slots=True)
class StartHistory:
    """What is remembered of a start page; empty strings are unknown.

    `url` is the address requested, `page` where it redirected, `section` the address whose directory is its section,
    `led_to` a redirect of the last run that was not accepted yet. `told` is the section that the page itself names,
    with the reason.
    """

    url: str = ""
    page: str = ""
    section: str = ""
    led_to: str = ""
    told: tuple[str, str] | None = None

    @classmethod
    def from_json(cls, found: Any) -> StartHistory:
        """Read what `to_json` wrote; anything else is nothing."""
        if not isinstance(found, dict):
            return cls()
        url, page, section, led_to = (
            str(found.get(name) or "") for name in ("url", "page", "section", "led_to")
        )
        match found.get("told"):
            case [path, why]:
                return cls(url, page, section, led_to, (str(path), str(why)))
        return cls(url, page, section, led_to)

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps."""
        return asdict(self)

    def led_elsewhere(self, answer: FetchResult, statuses: Sequence[object]) -> str | None:
        """Return the page to which a start page redirects for the first time, None where it is accepted.

        A temporary redirect to another page than before, and any to another section of the same host, is accepted in
        the second run in a row.

        Args:
            answer: of the start page.
            statuses: of its redirects.
        """
        page = answer.final_url
        if answer.url != self.url or not answer.ok or page == answer.url:
            return None
        if _place(page) in {_place(self.page), _place(self.led_to)}:
            return None
        now = section_url(answer.url, answer)
        is_temporary = not all(status in PERMANENT for status in statuses)
        is_other = directory(now) != directory(self.section) and host(now) == host(self.section)
        return page if is_temporary or is_other else None

    def section_of(self, discovery: Discovery) -> str:
        """Return the address whose directory is the section: that of earlier runs where the start page failed."""
        same = discovery.start.url == self.url and self.section
        return self.section if same and discovery.start.error else discovery.start_url

    def after(self, discovery: Discovery, named: Section | None, led_to: str) -> StartHistory:
        """Return what is remembered after a run.

        Args:
            discovery: what it found.
            named: the section that the start page names, None also where it cannot be read.
            led_to: `led_elsewhere` of this run.
        """
        if discovery.start.error:
            return replace(self, led_to=led_to)
        known = self.told if discovery.start.url == self.url else None
        return StartHistory(
            discovery.start.url,
            discovery.start.final_url,
            discovery.start_url,
            told=(named.path, named.why) if named is not None else known,
        )


def _place(url: str) -> tuple[str, str]:
    return host(url), urlsplit(url).path
