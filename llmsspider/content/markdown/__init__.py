"""A Markdown body as a page: front matter read, banners off, links absolute, everything else as its
author wrote it.
"""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from llmsspider.content.links import Growth, Joiner
from llmsspider.content.markdown.commonmark import take_invisible, with_line_feeds
from llmsspider.content.markdown.scan import (
    Scan,
    looks_like_html,
    looks_like_markdown,
    one_line,
    scan,
)
from llmsspider.items import Link, Page, PageMeta
from llmsspider.web.addresses import begins
from llmsspider.web.text import valid, valid_text
from llmsspider.web.urls import without_fragment

__all__ = ["Draft", "draft", "looks_like_html", "looks_like_markdown", "read"]

# Front matter: the YAML (`---`), TOML (`+++`) or JSON (`{`, `;;;`) head of a Markdown file.

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_JSON = re.compile(r";;;[ \t]*\n(.*?)^;;;[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"^([\w.-]+):(.*)", re.MULTILINE)
_LIMIT = 65_536
"""Characters of front matter read; a longer head is text."""
MAX_LEVELS = 100
"""Levels of lists and mappings of YAML, of tables that one key of TOML may name; a head with more
is text.
"""
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What the parsers raise on what others write."""


def split_front_matter(text: str) -> tuple[dict[str, object], str]:
    r"""Return `(front matter, rest of the text)`; an unreadable head is left in the text.

    >>> split_front_matter("---\ntitle: A\n---\n# B\n")
    ({'title': 'A'}, '# B\n')
    >>> split_front_matter(';;;\n"title": "A"\n;;;\n# B\n')
    ({'title': 'A'}, '# B\n')
    """
    forms = (_YAML.match, _load_yaml), (_TOML.match, _load_toml), (_JSON.match, _load_json)
    for match, load in forms:
        found = match(text, 0, 2 * _LIMIT)
        if found and len(found[1]) <= _LIMIT and (values := load(found[1])) is not None:
            values = {valid_text(name): valid(value) for name, value in values.items()}
            return values, text[found.end() :].lstrip("\n")
    return _split_json(text) or ({}, text)


def _split_json(text: str) -> tuple[dict[str, object], str] | None:
    if not text.startswith("{"):
        return None
    try:
        found, end = json.JSONDecoder().raw_decode(text[:_LIMIT])
    except _UNREADABLE:
        return None
    rest = text[end:]
    values = valid(found)
    is_head = values and rest.startswith("\n") and rest.strip()
    return (values, rest.lstrip("\n")) if is_head and isinstance(values, dict) else None


@cache
def _yaml_reader() -> Callable[[str], object]:
    """Return what reads YAML from strangers: no objects, no aliases, no deep levels.

    It is made when first needed.
    """
    import yaml  # noqa: PLC0415

    class Loader(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            self.depth += 1
            if self.depth > MAX_LEVELS or self.check_event(yaml.AliasEvent):
                raise ValueError("an alias, or too many levels")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    Loader.yaml_implicit_resolvers = {
        first: [
            (tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def read(text: str) -> object:
        try:
            return yaml.load(text, Loader)  # noqa: S506  # a SafeLoader
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error

    return read


def _load_yaml(head: str) -> dict[str, object] | None:
    if not head.strip():
        return {}
    try:
        values = _yaml_reader()(head)
    except _UNREADABLE:  # an unquoted colon in a title: the lines `key: value`
        return {found[1]: found[2].strip().strip("\"'") for found in _PAIR.finditer(head)} or None
    return {str(key): value for key, value in values.items()} if isinstance(values, dict) else None


def _load_toml(head: str) -> dict[str, object] | None:
    if any(line.partition("=")[0].count(".") > MAX_LEVELS for line in head.splitlines()):
        return None
    try:
        return dict(tomllib.loads(head))
    except _UNREADABLE:
        return None


def _load_json(head: str) -> dict[str, object] | None:
    """Return the fields between lines of `;;;`, which need no braces."""
    head = head.strip()
    try:
        values = json.loads(head if head.startswith("{") else f"{{{head}}}")
    except _UNREADABLE:
        return None
    return values if isinstance(values, dict) else None


# Banners for agents at the head or foot of a Markdown page: text about the site's llms.txt, not
# about the page.

_ABOUT_INDEX = re.compile(
    r"documentation index|complete (?:documentation )?index|discover all available"
    r" pages|llms(?:-full)?\.txt|"
    r"append(?:ing)? [`'\"]?\.md|markdown versions? of",
    re.IGNORECASE,
)
_LLMS_URL = re.compile(r"llms(?:-[\w.]+)?\.(?:txt|md)\b", re.IGNORECASE)
_TO_AGENTS = re.compile(
    r"\b(?:fetch|for (?:the |a )?(?:complete|full|clean)|use this file|documentation index|are"
    r" available|available as|"
    r"see the|LLMs?|AI (?:agents?|tools?|assistants?)|agents?)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(r"\bfetch\b|documentation index|complete index", re.IGNORECASE)
_INDEX_HEADING = re.compile(
    r"\A(?:>[ \t]*)?#{1,6}[ \t]+documentation index[ \t]*#*\Z", re.IGNORECASE
)
_AGENT_BLOCK = re.compile(
    r"(?:<AgentInstructions>.*?</AgentInstructions>"
    r"|<!--(?=[^>]*+(?<=--)>)(?=[^>]*(?:llms\.txt|AI agent))[^>]*+>)[ \t]*+\n*+",
    re.DOTALL | re.IGNORECASE,
)
_HEADING_LINE = re.compile(r"^#{1,6} [^\n]*", re.MULTILINE)
_AGENT_HEADING = re.compile(r"#{1,6} agent instructions\b", re.IGNORECASE)
_BLOCK = re.compile(r"\n*+((?:[^\n]++\n?)++)\n*+")
_HEADING = re.compile(r"\A#[ \t]|\A[^\n]+\n=+[ \t]*\n?\Z")
_LONGEST = 700
"""Characters: a longer block is text, whatever it names."""
_MOST = 50
"""Maximum number of banners at the head, and of sections at the end, that are removed."""


def without_banners(text: str) -> str:
    """Return `text` without banners for agents: one that names llms.txt, "Agent Instructions" at
    the end.
    """
    text = _strip_leading(text)
    block = _BLOCK.match(text)
    if block and _HEADING.match(block[1]) and "\n" not in block[1].rstrip("\n").replace("\n=", ""):
        text = text[: block.end()] + _strip_leading(text[block.end() :])
    # sections at the end that are instructions for agents go, with the rule above them
    for _ in range(_MOST):
        heading = _last_heading(text)
        if not _AGENT_HEADING.match(heading):
            break
        before = text[: text.rindex(heading)].rstrip("\n")
        if before.endswith("\n---"):
            before = before[:-3].rstrip("\n")
        if not before or before == "---" or before.count("```") % 2:
            break
        text = f"{before}\n"
    return text


def _last_heading(text: str) -> str:
    begin = len(text)
    while begin > 0:
        begin = text.rfind("\n#", 0, begin) + 1
        if found := _HEADING_LINE.match(text, begin):
            return found[0]
    return ""


def _strip_leading(text: str) -> str:
    for _ in range(_MOST):
        if agent := _AGENT_BLOCK.match(text):
            text = text[agent.end() :]
            continue
        block = _BLOCK.match(text)
        if block and _INDEX_HEADING.match(block[1].rstrip("\n")):
            block = _BLOCK.match(text, block.end())
        if block is None or not _is_banner(block[1].rstrip("\n")):
            return text
        text = text[block.end() :]
    return text


def _is_banner(block: str) -> bool:
    if len(block) > _LONGEST or block.startswith(("```", "    ", "|", "- ", "* ")):
        return False
    is_set_off = block.startswith((">", "<", "*", "_")) or _OFFER.search(block)
    return bool(
        is_set_off and all(one.search(block) for one in (_LLMS_URL, _ABOUT_INDEX, _TO_AGENTS))
    )


# A Markdown body as a page: links made absolute in place, everything else as its author wrote it.

_HTML_HREF = re.compile(
    r"<(?:a|area)\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE
)
_MDX_HREF = re.compile(r"<[A-Z]\w*\b[^<>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|\Z")


@dataclass(slots=True)
class Draft:
    """A parsed Markdown body: front matter, and what stands behind it, with links as they are
    written.
    """

    front: dict[str, object]
    found: Scan

    @property
    def hrefs(self) -> set[str]:
        """The destinations of links, images and definitions, as they are written, each once."""
        source = self.found.source
        return {source[start:end].decode().strip("<>") for start, end in self.found.destinations}

    def page(self, join: Callable[[str], str]) -> Page:
        """Return the page, each href as `join` makes it absolute; raises `TooLargePageError` for a
        long base.
        """
        found = self.found
        front = self.front
        names = ["canonical_url", "canonical", "permalink", "url", "source_url"]
        if str(front.get("slug")).startswith("/"):  # else a name
            names.append("slug")
        canonical = next((value for name in names if (value := front.get(name))), None)
        join = Growth(2 * len(found.source)).counted(join)
        links = [Link(text, join(href)) for text, href in found.links]
        own = begins(join(""))
        links = [link for link in links if link.url.lower().startswith(own)]
        pairs = [
            pair
            for html in found.html
            for one in (_HTML_HREF, _MDX_HREF)
            for pair in one.findall(html)
        ]
        in_html = [join(quoted or apostrophed) for quoted, apostrophed in pairs]
        linked = [
            *(link.url for link in links),
            *(url for url in in_html if url.lower().startswith(own)),
        ]
        markdown = found.rewritten(lambda target: _target(target, join)).strip("\n")
        page = Page(
            markdown=markdown + "\n" if markdown.strip() else "",
            links=links,
            follow=list(dict.fromkeys(without_fragment(url) for url in linked)),
            meta=PageMeta(
                title=_string(front.get("title")) or found.title,
                description=_string(front.get("description")),
                language=_string(front.get("lang") or front.get("language")),
                canonical=join(canonical) if isinstance(canonical, str) else None,
                front_matter=front,
            ),
        )
        take_invisible(page)
        return page


def draft(text: str) -> Draft:
    """Parse a Markdown body; what renders nothing, and banners, go.

    Links are resolved later, code stays.
    """
    text = with_line_feeds(text.removeprefix("\ufeff"))
    front, text = split_front_matter(text)
    return Draft(front, scan(without_banners(text)))


def read(text: str, url: str) -> Page:
    """Return a Markdown body as a page, its links relative to `url`; see `draft`."""
    return draft(text).page(Joiner(url).join)


def _string(value: object) -> str | None:
    return one_line(value) or None if isinstance(value, str) else None


def _target(target: str, join: Callable[[str], str]) -> str:
    if target.startswith("<"):
        return f"<{_target(target[1:-1], join)}>"
    target = target.replace("\\.", ".")  # an escape, and no backslash of a Windows path
    return target if _ABSOLUTE.match(target) or "{" in target else join(target)
