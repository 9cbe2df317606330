"""`LLMSSpiderLoader`: a documentation site for LangChain, and for the record manager of its
`index`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any, Unpack

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from llmsspider.api.crawls import Place, Settings
from llmsspider.config.arguments import CrawlArguments
from llmsspider.integrations.loaders import Pages


class LLMSSpiderLoader(BaseLoader):
    """The pages of a site, or what is stored of one: metadata are `source` (the URL), `title`,
    `description` and more.

    Args:
        source: a URL, which is crawled each time, or a folder or source as `llmsspider.documents`
        takes it.
        store: of the crawl (docs/how-to/python.md), or where the source is looked for.
        settings: of the crawl.
        arguments: of the crawl (docs/reference/arguments.md).
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        /,
        *,
        store: Place | None = None,
        settings: Settings | None = None,
        **arguments: Unpack[CrawlArguments],
    ):
        given = {"store": store, "settings": settings, **arguments}
        self.pages = Pages(source, given, _made, "source")

    def lazy_load(self) -> Iterator[Document]:
        """Yield the pages as they are published."""
        return iter(self.pages)

    def alazy_load(self) -> AsyncIterator[Document]:
        """Yield them in an event loop."""
        return aiter(self.pages)


def _made(name: str, text: str, metadata: dict[str, Any]) -> Document:
    return Document(text, id=name, metadata=metadata)
