"""A provider for the servers of the tests, as a user would write one."""

from __future__ import annotations

from llmsspider.site.providers import Source


class LocalWiki:
    """Knows pages below /wiki/."""

    def sources(self, url: str) -> list[Source]:
        return [Source(f"{url}?raw", url)] if "/wiki/" in url else []

    def markdown(self, text: str) -> str:
        return text
