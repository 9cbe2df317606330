"""llmsspider: a documentation site as clean, current Markdown, with Scrapy and llms.txt."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from llmsspider.api.crawls import acrawl, crawl, page, resolve
    from llmsspider.api.stored import changes, documents, search
    from llmsspider.content.to_markdown import Converted, to_markdown
    from llmsspider.crawler.spiderrun import Addon
    from llmsspider.items import Document

__all__ = [
    "Addon",
    "Converted",
    "Document",
    "acrawl",
    "changes",
    "crawl",
    "documents",
    "page",
    "resolve",
    "search",
    "to_markdown",
]  # see `__getattr__`

_MODULES = {
    "Addon": "llmsspider.crawler.spiderrun",
    "Converted": "llmsspider.content.to_markdown",
    "Document": "llmsspider.items",
    "changes": "llmsspider.api.stored",
    "documents": "llmsspider.api.stored",
    "search": "llmsspider.api.stored",
    "resolve": "llmsspider.api.crawls",
    "acrawl": "llmsspider.api.crawls",
    "crawl": "llmsspider.api.crawls",
    "page": "llmsspider.api.crawls",
    "to_markdown": "llmsspider.content.to_markdown",
}


def __getattr__(name: str) -> object:
    """What `__all__` names, imported at its first use: it brings the store along."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
