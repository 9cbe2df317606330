"""A Markdown body as a page: links made absolute in place, everything else as its author wrote it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from llmsspider.extraction.links import Joiner
from llmsspider.items import Link, Page, PageMeta
from llmsspider.markdown.banners import without_banners
from llmsspider.markdown.destinations import rewrite_destinations
from llmsspider.markdown.front_matter import split_front_matter

logging.getLogger("markdown_it").setLevel(logging.INFO)  # its DEBUG records are half the work of a parse
_PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
_PARSER.validateLink = lambda url: True  # type: ignore[method-assign]
_HTML_TAG = re.compile(r"<[A-Za-z/!][^<>]*>")
_HTML_HREF = re.compile(r"<(?:a|area)\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_MDX_HREF = re.compile(r"<[A-Z]\w*\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|\Z")
_SPACE = re.compile(r"\s+")
_HTTP = ("http://", "https://")


def read(text: str, url: str) -> Page:
    r"""Read one Markdown body.

    Args:
        text: the body, decoded.
        url: the URL it was fetched from, base of its links.

    The text stays as it is, but for: line ends as `\n`, no BOM, front matter moved to the metadata, banners
    for agents removed, relative destinations of links and images made absolute. Code, HTML and MDX blocks are
    not touched; links in them count as links to follow.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front, text = split_front_matter(text)
    text = without_banners(text)
    tokens = _PARSER.parse(text)
    joiner = Joiner(url)
    meta = _meta(front, tokens, joiner)
    links = [link for link in _links(tokens, joiner) if link.url.lower().startswith(_HTTP)]
    follow = dict.fromkeys(link.url.partition("#")[0] for link in [*links, *_html_links(tokens, joiner)])
    markdown = rewrite_destinations(text, tokens, lambda target: _target(target, joiner)).strip("\n")
    return Page(
        markdown=markdown + "\n" if markdown.strip() else "", links=links, follow=list(follow), meta=meta
    )


def _meta(front: dict[str, object], tokens: list[Token], joiner: Joiner) -> PageMeta:
    return PageMeta(
        title=_string(front.get("title")) or _first_heading(tokens),
        description=_string(front.get("description")),
        language=_string(front.get("lang") or front.get("language")),
        canonical=_url(front.get("canonical_url") or front.get("canonical"), joiner),
        front_matter=front,
    )


def _string(value: object) -> str | None:
    return _SPACE.sub(" ", value).strip() or None if isinstance(value, str) else None


def _url(value: object, joiner: Joiner) -> str | None:
    return joiner.join(value) if isinstance(value, str) and value else None


def _first_heading(tokens: list[Token]) -> str | None:
    for token, following in pairwise(tokens):
        if (
            token.type == "heading_open"
            and token.tag == "h1"
            and token.level == 0
            and (text := _text(following.children or []))
        ):
            return text
    return None


def _text(tokens: list[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in {"text", "code_inline"}:
            parts.append(token.content)
        elif token.type == "image":
            parts.append(_text(token.children or []))
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
    return _SPACE.sub(" ", "".join(parts)).strip()


def _links(tokens: list[Token], joiner: Joiner) -> Iterator[Link]:
    for token in tokens:
        if token.type == "inline" and token.children:
            yield from _inline_links(token.children, joiner)


def _inline_links(children: list[Token], joiner: Joiner) -> Iterator[Link]:
    start = None
    for index, token in enumerate(children):
        if token.type == "link_open":
            start = index
        elif token.type == "link_close" and start is not None:
            href = str(children[start].attrGet("href") or "")
            yield Link(_text(children[start + 1 : index]), joiner.join(href))
            start = None


def _html_links(tokens: list[Token], joiner: Joiner) -> Iterator[Link]:
    for token in tokens:
        for part in (token, *(token.children or ())):
            if part.type in {"html_block", "html_inline"}:
                for pattern in (_HTML_HREF, _MDX_HREF):
                    for found in pattern.findall(part.content):
                        link = Link("", joiner.join(found[0] or found[1]))
                        if link.url.lower().startswith(_HTTP):
                            yield link


def _target(target: str, joiner: Joiner) -> str:
    bare = target[1:-1] if target.startswith("<") else target
    if _ABSOLUTE.match(bare) or "{" in bare:
        return target
    url = joiner.join(bare)
    return f"<{url}>" if target.startswith("<") else url
