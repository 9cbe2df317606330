"""Lines and blocks of a full-text file that name a page: headings, labels, front matter, elements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

MAX_MARKS = 200_000
"""So many marks of one kind are remembered."""

MAX_HEADING_CHARS = 1000
"""A longer line that begins like a heading is none."""

HEADING = re.compile(r"(#{1,6})(?:[ \t]++((?:[#\s]*+[^#\s]++)*+))?+[#\s]*+$")
SEPARATOR = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$")
_TAG = re.compile(
    r"</?(?:a|abbr|b|badge|br|code|del|div|em|font|i|img|kbd|mark|p|s|small|span|strong|sub|sup|svg|u)(?:\s[^<>]*+|/)?>",
    re.IGNORECASE,
)
"""HTML in a heading; `List<String>` is none."""

FILES = r"(?:mdx?|markdown|rst|txt|html?|ipynb|adoc)"
"""Extensions of documentation sources."""


@dataclass(slots=True)
class Mark:
    """One boundary: the line where a page begins, what the mark says of it.

    `skip` holds the lines that belong to the mark and not to the page, `lead` a heading that stands for
    one of them, `end` the line after the page where the mark closes it. `sections` holds the leads of later marks of
    the same page, by their lines.
    """

    start: int
    url: str | None = None
    title: str | None = None
    skip: list[int] = field(default_factory=list)
    lead: str = ""
    end: int | None = None
    level: int = 0
    headed: bool = False
    sections: dict[int, str] = field(default_factory=dict)


def clean_title(text: str) -> str:
    """Return the words of a heading without links, emphasis and anchors."""
    text = re.sub(r"!?\[([^\[\]]*+)\]\([^()\[]*+\)", r"\1", text)
    text = _TAG.sub("", re.sub(r"\{#[^{}]*+\}\s*$", "", text))
    return " ".join(text.replace("`", "").replace("**", "").split())


FIRECRAWL = re.compile(r"\s*<\|firecrawl-page-\d+-l+mstxt\|>\s*$")
_DOC_PATH = re.compile(rf"`?(?:file\s*:\s*)?(\.{{0,2}}/?[\w@.-][\w@./ +-]*\.{FILES})`?$", re.IGNORECASE)
_ROOT_PATH = re.compile(r"(/[\w@.~%+-]+(?:/[\w@.~%+-]*)*)$")
_HEADING_URL = re.compile(r"<?(https?://[^\s<>]+?)>?$")
_HEADING_LINK = re.compile(
    r"(?:[^\[\]]{0,60}:\s*)?\[([^\[\]]+)\]\(((?:https?://|/|\./)[^\s()]+(?:\([^\s()]*\))?)\)$"
)
_SUFFIX = re.compile(r"[(\[<]((?:https?:)?/[^\s()<>\[\]]*)[)\]>]")


class Headings:
    """Headings that are a file, an address, or a title with one; grouped by level and form."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, int], list[Mark]] = {}

    def feed(self, number: int, line: str, heading: re.Match[str] | None) -> None:
        """Process one line."""
        if heading is None:
            path = _banner_path(line) if line[:1] in "=-#> " and len(line) < 400 else None
            if path is not None:
                self._add("banner", 0, Mark(number, path, None, [number]))
            return
        text = heading[2] or ""
        level = len(heading[1])
        if len(text) > 1000:
            return
        if found := _DOC_PATH.match(text):
            self._add("path", level, Mark(number, found[1], None, [number], level=level))
        elif found := _HEADING_URL.match(text) or _ROOT_PATH.match(text):
            self._add("url", level, Mark(number, found[1], None, [number], level=level))
        elif found := _HEADING_LINK.match(text):
            self._add("link", level, Mark(number, found[2], clean_title(found[1]), level=level))
        elif found := _SUFFIX.fullmatch(last := text.split()[-1] if text else ""):
            words = text[: -len(last)].rstrip()
            if words:
                lead = f"{heading[1]} {words}\n"
                self._add(
                    "suffix", level, Mark(number, found[1], clean_title(words), [number], lead, level=level)
                )

    def _add(self, form: str, level: int, mark: Mark) -> None:
        marks = self.groups.setdefault((form, level), [])
        if len(marks) < MAX_MARKS:
            marks.append(mark)


def _banner_path(line: str) -> str | None:
    """Return the path in `=== guide/a.md ===` or `--- file: guide/a.md ---`, None in any other line."""
    text = line.strip()
    opening, closing = len(text) - len(text.lstrip("=-#>")), len(text) - len(text.rstrip("=-#<"))
    found = (
        _DOC_PATH.match(text[opening : len(text) - closing].strip()) if min(opening, closing) > 1 else None
    )
    return found[1] if found else None


# Lines that name a page: `Source: URL`, `**URL:** /path`, `<!-- source: file.md -->`.
# They are looked for on raw text, code included: pages with unbalanced fences would hide those after them.

_LABELS = (
    "page url|page_url|source url|source_url|url source|canonical url|canonical|original url|permalink"
    "|url|source|source file|link|page|path|file|filepath|file path|doc|document"
)
_ADDRESS = rf"https?://[^\s<>]+?|/[^\s<>]*?|\.{{0,2}}[\w@.][\w@./ +-]*?\.{FILES}"
_STRONG = r"(?:\*\*|__|\*|_)?"
_LABEL = re.compile(
    rf"[ \t>*-]{{0,4}}{_STRONG}(?P<label>{_LABELS}){_STRONG}[ \t]*:{_STRONG}[ \t]*"
    rf"(?:[`<]?(?P<url>{_ADDRESS})[`>]?|\[[^\]]*\]\((?P<link>{_ADDRESS})\))[ \t]*+[.,]?+\s*+$",
    re.IGNORECASE,
)
_COMMENT = re.compile(rf"(?P<label>{_LABELS})\s*+[:=]\s*+[\"'<]?(?P<url>{_ADDRESS})[\"'>]?", re.IGNORECASE)
_GENERATED = re.compile(r"(?:content|body|markdown|meta(?:data)?)\s*+:(?:\s*+\{[^\n]*\})?\s*$", re.IGNORECASE)
"""Lines below a mark that head the text (`Content:`) or repeat its front matter (`meta: {"title": …}`)."""

_FIELD = re.compile(r"[*_]{0,2}[A-Z][\w -]{0,30}[*_]{0,2}\s*:[*_]{0,2}(?:\s|$)")
_TITLE_FIELD = re.compile(r"[*_]{0,2}title[*_]{0,2}\s*+:[*_]{0,2}\s*+(\S.*)$", re.IGNORECASE)

MAX_HEADER_LINES = 8
"""Lines of a header, labels among them, that belong to a page; what follows them is looked at by itself."""


class Labels:
    """`Source: URL`, `**URL:** /path`, `<!-- source: file.md -->`, grouped by label and form."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str], list[Mark]] = {}
        self._header: list[int] = []
        self._heading: tuple[int, int, str] | None = None
        self._title: str | None = None
        self._blank = 0
        self._last: Mark | None = None
        """The mark that only header lines and blanks have followed so far."""

    def feed(self, number: int, line: str, heading: re.Match[str] | None) -> None:
        """Process one line; `heading` is its match as an ATX heading."""
        self._blank = 0
        if self._last is not None and _GENERATED.match(line):
            self._last.skip.append(number)
            return
        text = line.strip() if len(line) < 3000 else ""
        is_comment = text.startswith("<!--") and text.endswith("-->")
        found = _COMMENT.fullmatch(text[4:-3].strip("- \t")) if is_comment else None
        form = "comment" if found else "label"
        if found is None and ":" in line[:40] and len(line) < 3000:
            found = _LABEL.match(line)
        if heading is not None:
            self._heading = (number, len(heading[1]), heading[2] or "")
            self._header = []
            self._title = None
            self._last = None
        elif found is not None:
            self._add(number, form, found)
        elif len(line) < 300 and len(self._header) < MAX_HEADER_LINES and _FIELD.match(line):
            title = _TITLE_FIELD.match(line)
            if title and self._heading is None:
                self._title = title[1].rstrip()
            self._header.append(number)
        else:
            self.text()

    def blank(self) -> None:
        """Note a blank line: a mark may stand below a title, but not far below."""
        self._blank += 1
        if self._blank > 2:
            self.text()

    def text(self) -> None:
        """Note a line of text: what follows does not stand below a title any more."""
        self._header, self._heading, self._title = [], None, None
        self._last = None

    def _add(self, number: int, form: str, found: re.Match[str]) -> None:
        groups = found.groupdict()
        label = " ".join(groups["label"].lower().replace("_", " ").split())
        marks = self.groups.setdefault((form, label), [])
        mark = Mark(number, groups["url"] or groups.get("link"), None, [number])
        if self._heading is not None:
            mark.start, mark.level, text = self._heading
            mark.title, mark.headed = clean_title(text) or None, True
        elif self._header:
            mark.start, mark.title, mark.skip = self._header[0], self._title, [*self._header, number]
        if len(marks) < MAX_MARKS:
            marks.append(mark)
            self._last = mark
        if len(self._header) < MAX_HEADER_LINES:
            self._header.append(number)


# Blocks that hold or head a page: YAML front matter, `<doc>`, `<page>`, `<document>` and `<file>` tags.

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
    "url", "source_url", "sourceurl", "page_url", "canonical_url", "canonical", "source", "permalink", "link", "href",
    "path", "slug",
)  # fmt: skip


class FrontMatter:
    """YAML between two `---` lines that names the page."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.start: int | None = None
        """Where front matter may have begun that is not closed yet."""
        self._block: list[str] = []

    def feed(self, number: int, line: str) -> None:
        """Process one line."""
        if line.rstrip() == "---":
            self._close(number)
        elif self.start is not None:
            first = not self._block
            is_yaml = _KEY.match(line) if first else _YAML_LINE.match(line)
            if len(self._block) > 80 or not is_yaml:
                self.start = None
            else:
                self._block.append(line)

    def _close(self, number: int) -> None:
        fields = front_matter("".join(self._block)) if self.start is not None and self._block else {}
        url, title = named_in(fields)
        if self.start is not None and (url or title):
            skip = list(range(self.start, number + 1))
            if len(self.marks) < MAX_MARKS:
                self.marks.append(Mark(self.start, url, title, skip))
            self.start = None
        else:
            self.start = number
        self._block = []


class Tags:
    """`<doc title="…">…</doc>`, `<page>…</page>`, `<document>` and `<file path="…">` blocks."""

    def __init__(self) -> None:
        self.groups: dict[str, list[Mark]] = {}
        self.opened: tuple[str, Mark] | None = None
        """The name and mark of a block that is not closed yet."""
        self._head: list[tuple[int, str]] = []
        self._last = (0, "")

    def feed(self, number: int, line: str) -> None:
        """Process one line."""
        if self.opened is None:
            found = _OPEN_TAG.match(line)
            if found:
                attributes = {name.lower(): (a or b).strip() for name, a, b in _ATTRIBUTE.findall(found[2])}
                keys = ("url", "href", "src", "source", "path", "link")
                named = next((attributes[key] for key in keys if attributes.get(key)), None)
                url, title = named_in({**attributes, "url": named})
                self.opened = (found[1].lower(), Mark(number, url, title, [number]))
                self._head = []
            return
        name, mark = self.opened
        closed = _CLOSE_TAG.match(line) if "</" in line else None
        if closed and closed[1].lower() == name:
            self._read_head(mark)
            mark.end = number
            if _INNER_BODY.match(self._last[1]):
                mark.skip.append(self._last[0])
            marks = self.groups.setdefault(name, [])
            if len(marks) < MAX_MARKS:
                marks.append(mark)
            self.opened = None
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
                if scanner.start is None and not scanner.marks:
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
    cleaned = clean_title(title) if isinstance(title, str) and title.strip() else None
    for key in _URL_KEYS:
        value = fields.get(key)
        if isinstance(value, dict):
            value = value.get("html") or value.get("md")
        address = value.strip() if isinstance(value, str) else ""
        if address.startswith(("http://", "https://")):
            is_address = bool(urlsplit(address).netloc)
        else:
            is_path = address.startswith("/") or key in {"url", "path", "permalink"}
            is_address = bool(address) and is_path and not re.search(r"\s", address)
        if is_address:
            return address, cleaned
    return None, cleaned
