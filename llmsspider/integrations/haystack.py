"""`LLMSSpiderFetcher`: a documentation site for a pipeline of Haystack, and for its document
stores.
"""

from __future__ import annotations

from typing import Any

from haystack import Document, component

from llmsspider.integrations.loaders import Pages


@component
class LLMSSpiderFetcher:
    """The pages of a site, or what is stored of one: `meta` has `url`, `title`, `description` and
    more.

    Args:
        store: of the crawl (docs/how-to/python.md), or where the source is looked for.
        settings: of the crawl.
        arguments: of the spider (docs/reference/arguments.md).
    """

    def __init__(
        self,
        store: str | None = None,
        settings: dict[str, Any] | None = None,
        arguments: dict[str, Any] | None = None,
    ):
        self.store = store
        self.settings = settings
        self.arguments = arguments

    @component.output_types(documents=list[Document])
    def run(self, source: str) -> dict[str, list[Document]]:
        """Crawl a URL, or read a folder or source as `llmsspider.documents` takes it."""
        given = {**(self.arguments or {}), "store": self.store, "settings": self.settings}
        return {"documents": list(Pages(source, given, _made))}


def _made(name: str, text: str, metadata: dict[str, Any]) -> Document:
    return Document(name, text, meta=metadata)
