"""`LLMSSpiderReader`: a documentation site for LlamaIndex, and for `refresh_ref_docs` of its
indexes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Unpack

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from llmsspider.api.crawls import Place, Settings
from llmsspider.config.arguments import CrawlArguments
from llmsspider.integrations.loaders import Pages


class LLMSSpiderReader(BaseReader):
    """The pages of a site, or what is stored of one: metadata are `url`, `title`, `description` and
    more.
    """

    def lazy_load_data(
        self,
        source: str | os.PathLike[str],
        /,
        *,
        store: Place | None = None,
        settings: Settings | None = None,
        **arguments: Unpack[CrawlArguments],
    ) -> Iterator[Document]:
        """Yield the pages as they are published; `load_data` returns a list of them.

        Args:
            source: a URL, which is crawled, or a folder or source as `llmsspider.documents` takes
            it.
            store: of the crawl (docs/how-to/python.md), or where the source is looked for.
            settings: of the crawl.
            arguments: of the crawl (docs/reference/arguments.md).
        """
        return iter(Pages(source, {"store": store, "settings": settings, **arguments}, _made))


def _made(name: str, text: str, metadata: dict[str, Any]) -> Document:
    return Document(id_=name, text=text, metadata=metadata)
