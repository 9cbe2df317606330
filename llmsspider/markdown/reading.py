"""A Markdown body as a page: links made absolute in place, everything else as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from llmsspider.growth import MAX_GROWTH, Growth
from llmsspider.invisible import take_invisible
from llmsspider.items import Link, Page, PageMeta
from llmsspider.joiner import HTTP, Joiner
from llmsspider.markdown.banners import without_banners
from llmsspider.markdown.front_matter import split_front_matter
from llmsspider.markdown.scan import Scan, one_line, scan
from llmsspider.urlgate import without_fragment

_HTML_HREF = re.compile(r"<(?:a|area)\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_MDX_HREF = re.compile(r"<[A-Z]\w*\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|\Z")


@dataclass(slots=True)
class Draft:
    """A Markdown body that was read, its links as they are written: what they mean, others may have to say.

    `front` is the front matter, `found` what stands in the text behind it.
    """

    front: dict[str, object]
    found: Scan

    @property
    def hrefs(self) -> set[str]:
        """The destinations of links, images and definitions, as they are written, each once."""
        source = self.found.source
        return {source[start:end].decode().strip("<>") for start, end in self.found.destinations}

    def page(
        self, join: Callable[[str], str], *, keep_hidden: bool = False, max_growth: int = MAX_GROWTH
    ) -> Page:
        """Return the page, each href as `join` makes it absolute.

        Args:
            join: gives the absolute URL of an href, fragment kept, or what is no web address as it is.
            keep_hidden: keep what no reader sees: Unicode tags, runs of zero width, comments, anchors and wrappers.
            max_growth: characters that one byte of the body may become, over and above a million.

        Raises:
            TooLargePageError: a long base made the links longer than that.
        """
        found = self.found
        join = Growth(2 * len(found.source), max_growth).counted(join)
        links = [Link(text, join(href)) for text, href in found.links]
        links = [link for link in links if link.url.lower().startswith(HTTP)]
        linked = [*(link.url for link in links), *_html_links(found.html, join)]
        markdown = found.rewritten(lambda target: _target(target, join), keep_unseen=keep_hidden).strip("\n")
        page = Page(
            markdown=markdown + "\n" if markdown.strip() else "",
            links=links,
            follow=list(dict.fromkeys(without_fragment(url) for url in linked)),
            meta=_meta(self.front, found.title, join),
        )
        if not keep_hidden:
            take_invisible(page)
        return page


def draft(text: str) -> Draft:
    r"""Read one Markdown body, its links apart.

    The text stays as it is, but for: line ends as `\n`, no BOM, front matter moved to the metadata, banners
    for agents removed, relative destinations of links and images made absolute, HTML comments, empty anchors
    and tags of wrappers left out. Code, other HTML and MDX blocks are not touched; links in them count as links
    to follow.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front, text = split_front_matter(text)
    return Draft(front, scan(without_banners(text)))


def read(text: str, url: str, *, keep_hidden: bool = False) -> Page:
    """Return a Markdown body as a page, its links relative to `url`; see `draft`."""
    return draft(text).page(Joiner(url).join, keep_hidden=keep_hidden)


def _meta(front: dict[str, object], heading: str | None, join: Callable[[str], str]) -> PageMeta:
    return PageMeta(
        title=_string(front.get("title")) or heading,
        description=_string(front.get("description")),
        language=_string(front.get("lang") or front.get("language")),
        canonical=_url(front.get("canonical_url") or front.get("canonical"), join),
        front_matter=front,
    )


def _string(value: object) -> str | None:
    return one_line(value) or None if isinstance(value, str) else None


def _url(value: object, join: Callable[[str], str]) -> str | None:
    return join(value) if isinstance(value, str) and value else None


def _html_links(pieces: list[str], join: Callable[[str], str]) -> Iterator[str]:
    for piece in pieces:
        for pattern in (_HTML_HREF, _MDX_HREF):
            for quoted, apostrophed in pattern.findall(piece):
                url = join(quoted or apostrophed)
                if url.lower().startswith(HTTP):
                    yield url


def _target(target: str, join: Callable[[str], str]) -> str:
    bare = target[1:-1] if target.startswith("<") else target
    if _ABSOLUTE.match(bare) or "{" in bare:
        return target
    url = join(bare)
    return f"<{url}>" if target.startswith("<") else url
