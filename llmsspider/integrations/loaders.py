"""What the loaders of other projects load: the pages of a crawl or of a store, as text and
metadata.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from llmsspider.api.crawls import acrawl, crawl
from llmsspider.api.stored import documents
from llmsspider.items import Document, added_fields

Page = TypeVar("Page")


class Pages(Generic[Page]):
    """The pages of a source, deleted ones left out: of a crawl for a URL, else what is stored, and
    nothing is fetched.

    Args:
        source: a URL, or a folder or source as `documents` takes it.
        given: the other arguments of `crawl`, or of `documents`; those that are None are left out.
        make: makes a page of its id, the same from crawl to crawl, its text, and metadata that stay
        while it does.
        address: what the metadata call its URL.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        given: Mapping[str, Any],
        make: Callable[[str, str, dict[str, Any]], Page],
        address: str = "url",
    ):
        self._source = source
        self._make = make
        self._address = address
        self._given: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        self._url = source if isinstance(source, str) and "://" in source else None
        if self._url:
            crawl(self._url, **self._given)  # says what is wrong of the arguments; nothing begins
        elif unknown := self._given.keys() - {"store"}:
            raise TypeError(
                f"{source} is no URL, and only a crawl takes {', '.join(sorted(unknown))}"
            )

    def __iter__(self) -> Generator[Page]:
        read = (
            crawl(self._url, **self._given) if self._url else documents(self._source, **self._given)
        )
        for document in read:
            if document.content:
                yield self._page(document)

    async def __aiter__(self) -> AsyncGenerator[Page]:
        if self._url is None:
            for page in self:
                yield page
            return
        async with aclosing(aiter(acrawl(self._url, **self._given))) as read:
            async for document in read:
                if document.content:
                    yield self._page(document)

    def _page(self, document: Document) -> Page:
        metadata = {
            self._address: document.url,
            "title": document.title,
            "description": document.description,
            "language": document.language,
            "section": document.llms and document.llms.section,
            **added_fields(document),
        }
        known = {name: value for name, value in metadata.items() if value is not None}
        return self._make(document.id, document.content or "", known)
