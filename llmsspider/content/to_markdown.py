"""`to_markdown`: one HTML page as Markdown, without Scrapy and the store; what a crawl writes of
the same page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from llmsspider.content.extraction import convert
from llmsspider.content.extraction.parts import Parts
from llmsspider.items import Link, Page, PageMeta

_METADATA = ("description", "canonical", "generator", "hreflang", "licences", "robots", "tags")
"""The fields of `PageMeta` that are metadata of a page."""


@dataclass(slots=True, frozen=True)
class Converted:
    """A page as Markdown.

    Attributes:
        text: the Markdown of the main content, with one line feed at its end; empty without any.
        title: the title of the page without the name of its site, or None.
        language: the language tag that the page declares, or None.
        links: the links of the main content in their order, absolute where a URL was given.
        metadata: what else the page says of itself: `description`, `canonical`, `generator`,
            `hreflang` (URL by language), `licences`, `robots`, `tags`, and its `front_matter` if it
            is Markdown. Only what it says is in it.
        unmatched: the selectors of `keep` and `drop` that matched nothing.
    """

    text: str
    title: str | None
    language: str | None
    links: tuple[Link, ...]
    metadata: dict[str, Any]
    unmatched: tuple[str, ...] = ()

    @classmethod
    def of(cls, page: Page, unmatched: Iterable[str] = ()) -> Converted:
        """Return what the converter made of a page."""
        return cls(
            page.markdown,
            page.meta.title,
            page.meta.language,
            tuple(page.links),
            _metadata(page.meta),
            tuple(unmatched),
        )


def _metadata(meta: PageMeta) -> dict[str, Any]:
    names = [field.name for field in fields(meta) if field.name in {*_METADATA, "front_matter"}]
    values = {name: getattr(meta, name) for name in names}
    values["robots"] = sorted(meta.robots)
    return {name: value for name, value in values.items() if value}


def to_markdown(
    html: str | bytes,
    url: str = "",
    *,
    keep: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    encoding: str | None = None,
) -> Converted:
    r"""Return an HTML page as Markdown.

    Args:
        html: the page, as text or as it was received.
        url: its address, the base of its links; without one, relative links stay relative.
        keep: CSS selectors of what is the content, all else is left out; without any, the main
            content is found. One that matches nothing keeps nothing from being found.
        drop: CSS selectors of what is left out before.
        encoding: charset of bytes, where an HTTP header names it; else the page's own.

    Raises:
        ArgumentsError: a selector cannot be read.
        TooLargePageError: the Markdown is many times as long as the page.

    >>> to_markdown("<main><h1>Install</h1><p>Run <code>make</code>.</p></main>").text
    '# Install\n\nRun `make`.\n'
    """
    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    parts = Parts.of(keep, drop)
    encoding = "utf-8" if isinstance(html, str) else encoding
    page = convert(body, url, encoding, parts=parts)
    return Converted.of(page, parts.unmatched)
