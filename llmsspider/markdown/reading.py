"""A Markdown body as a page: links made absolute in place, everything else as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llmsspider.invisible import take_invisible
from llmsspider.items import Link, Page, PageMeta
from llmsspider.joiner import HTTP, Joiner
from llmsspider.markdown.banners import without_banners
from llmsspider.markdown.front_matter import split_front_matter
from llmsspider.markdown.scan import one_line, scan

_HTML_HREF = re.compile(r"<(?:a|area)\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_MDX_HREF = re.compile(r"<[A-Z]\w*\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|\Z")


def read(text: str, url: str, *, keep_hidden: bool = False) -> Page:
    r"""Read one Markdown body.

    Args:
        text: the body, decoded.
        url: the URL it was fetched from, base of its links.
        keep_hidden: keep characters that no reader sees (Unicode tags, runs of zero width).

    The text stays as it is, but for: line ends as `\n`, no BOM, front matter moved to the metadata, banners
    for agents removed, relative destinations of links and images made absolute. Code, HTML and MDX blocks are
    not touched; links in them count as links to follow.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front, text = split_front_matter(text)
    text = without_banners(text)
    found = scan(text)
    joiner = Joiner(url)
    links = [Link(text, joiner.join(href)) for text, href in found.links]
    links = [link for link in links if link.url.lower().startswith(HTTP)]
    linked = [*(link.url for link in links), *_html_links(found.html, joiner)]
    markdown = found.rewritten(lambda target: _target(target, joiner)).strip("\n")
    page = Page(
        markdown=markdown + "\n" if markdown.strip() else "",
        links=links,
        follow=list(dict.fromkeys(url.partition("#")[0] for url in linked)),
        meta=_meta(front, found.title, joiner),
    )
    if not keep_hidden:
        take_invisible(page)
    return page


def _meta(front: dict[str, object], heading: str | None, joiner: Joiner) -> PageMeta:
    return PageMeta(
        title=_string(front.get("title")) or heading,
        description=_string(front.get("description")),
        language=_string(front.get("lang") or front.get("language")),
        canonical=_url(front.get("canonical_url") or front.get("canonical"), joiner),
        front_matter=front,
    )


def _string(value: object) -> str | None:
    return one_line(value) or None if isinstance(value, str) else None


def _url(value: object, joiner: Joiner) -> str | None:
    return joiner.join(value) if isinstance(value, str) and value else None


def _html_links(pieces: list[str], joiner: Joiner) -> Iterator[str]:
    for piece in pieces:
        for pattern in (_HTML_HREF, _MDX_HREF):
            for quoted, apostrophed in pattern.findall(piece):
                url = joiner.join(quoted or apostrophed)
                if url.lower().startswith(HTTP):
                    yield url


def _target(target: str, joiner: Joiner) -> str:
    bare = target[1:-1] if target.startswith("<") else target
    if _ABSOLUTE.match(bare) or "{" in bare:
        return target
    url = joiner.join(bare)
    return f"<{url}>" if target.startswith("<") else url
