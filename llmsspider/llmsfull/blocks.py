"""Blocks that hold or head a page: YAML front matter, `<doc>`, `<page>`, `<document>` and `<file>` tags."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from llmsspider.llmsfull.marks import MAX_MARKS, Mark, clean_title

_OPEN_TAG = re.compile(r"<(doc|page|document|file|article)((?:\s[^>]*)?)>\s*$", re.IGNORECASE)
_CLOSE_TAG = re.compile(r"\s*</(doc|page|document|file|article)>\s*$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(?<![\w:-])([\w:-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")
_INNER_URL = re.compile(
    r"\s*<(?:source|url|link|loc)>\s*(\S+?)\s*</(?:source|url|link|loc)>\s*$", re.IGNORECASE
)
_INNER_BODY = re.compile(r"\s*</?(?:document_contents?|contents?|markdown|body)>\s*$", re.IGNORECASE)
_KEY = re.compile(r"[A-Za-z_][\w -]*+\s*+:(?:\s|$)")
_YAML_LINE = re.compile(r"\s*$|\s*#|\s*-\s|\s+\S|[A-Za-z_][\w .-]*+\s*+:(?:\s|$)|[\]})]")
MAX_BRACKETS = 100
"""YAML with more brackets than this is no front matter."""

_URL_KEYS = (
    "url",
    "source_url",
    "sourceurl",
    "page_url",
    "canonical_url",
    "canonical",
    "source",
    "permalink",
    "link",
    "href",
    "path",
    "slug",
)


class FrontMatter:
    """YAML between two `---` lines that names the page."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self._start: int | None = None
        self._block: list[str] = []

    @property
    def is_open(self) -> bool:
        """Whether the last lines may be front matter that is not closed yet."""
        return self._start is not None

    def feed(self, number: int, line: str) -> None:
        """Look at one line."""
        if line.rstrip() == "---":
            self._close(number)
        elif self._start is not None:
            first = not self._block
            is_yaml = _KEY.match(line) if first else _YAML_LINE.match(line)
            if len(self._block) > 80 or not is_yaml:
                self._start = None
            else:
                self._block.append(line)

    def _close(self, number: int) -> None:
        fields = front_matter("".join(self._block)) if self._start is not None and self._block else {}
        url, title = named_in(fields)
        if self._start is not None and (url or title):
            skip = list(range(self._start, number + 1))
            if len(self.marks) < MAX_MARKS:
                self.marks.append(Mark(self._start, url, title, skip))
            self._start = None
        else:
            self._start = number
        self._block = []


class Tags:
    """`<doc title="…">…</doc>`, `<page>…</page>`, `<document>` and `<file path="…">` blocks."""

    def __init__(self) -> None:
        self.groups: dict[str, list[Mark]] = {}
        self._open: tuple[str, Mark] | None = None
        self._head: list[tuple[int, str]] = []
        self._last = (0, "")

    @property
    def is_open(self) -> bool:
        """Whether a block is not closed yet."""
        return self._open is not None

    def feed(self, number: int, line: str) -> None:
        """Look at one line."""
        if self._open is None:
            found = _OPEN_TAG.match(line)
            if found:
                attributes = {name.lower(): (a or b).strip() for name, a, b in _ATTRIBUTE.findall(found[2])}
                url, title = named_in(
                    {**attributes, "url": _first(attributes, "url", "href", "src", "source", "path", "link")}
                )
                self._open = (found[1].lower(), Mark(number, url, title, [number]))
                self._head = []
            return
        name, mark = self._open
        closed = _CLOSE_TAG.match(line) if "</" in line else None
        if closed and closed[1].lower() == name:
            self._read_head(mark)
            mark.end = number
            if _INNER_BODY.match(self._last[1]):
                mark.skip.append(self._last[0])
            marks = self.groups.setdefault(name, [])
            if len(marks) < MAX_MARKS:
                marks.append(mark)
            self._open = None
            return
        if line.strip():
            self._last = (number, line)
        if len(self._head) < 40:
            self._head.append((number, line))

    def _read_head(self, mark: Mark) -> None:
        """Take address and title from front matter or elements at the top of the block."""
        scanner = FrontMatter()
        for number, line in self._head:
            found = _INNER_URL.match(line)
            if found or _INNER_BODY.match(line):
                mark.skip.append(number)
                mark.url = mark.url or (found[1] if found else None)
            elif line.strip() and not scanner.marks:
                scanner.feed(number, line)
                if scanner._start is None and not scanner.marks:
                    break
        for inner in scanner.marks[:1]:
            mark.url, mark.title = mark.url or inner.url, mark.title or inner.title
            mark.skip += inner.skip


def front_matter(block: str) -> dict[str, object]:
    """Return the fields of a YAML block, keys lower-case; nothing where it is no mapping."""
    if block.count("[") + block.count("{") > MAX_BRACKETS:
        return {}
    import yaml  # noqa: PLC0415  # most sites have no full text

    try:
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return {str(key).lower(): value for key, value in fields.items()} if isinstance(fields, dict) else {}


def named_in(fields: dict[str, object]) -> tuple[str | None, str | None]:
    """Return the address and the title that front matter fields or attributes name."""
    title = fields.get("title")
    named = clean_title(title) if isinstance(title, str) and title.strip() else None
    for key in _URL_KEYS:
        value = fields.get(key)
        if isinstance(value, dict):
            value = value.get("html") or value.get("md")
        if isinstance(value, str) and _is_address(value.strip(), key):
            return value.strip(), named
    return None, named


def _is_address(value: str, key: str) -> bool:
    if value.startswith(("http://", "https://")):
        return bool(urlsplit(value).netloc)
    return (
        bool(value)
        and not re.search(r"\s", value)
        and (value.startswith("/") or key in {"url", "path", "permalink"})
    )


def _first(attributes: dict[str, str], *names: str) -> str | None:
    return next((attributes[name] for name in names if attributes.get(name)), None)
