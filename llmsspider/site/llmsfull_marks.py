"""Lines and blocks of a full-text file that name a page: headings, labels, front matter, elements."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from llmsspider.web.text import valid_text

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

    `in_code` says that it stands in a fence. `skip` holds the lines that belong to the mark and not
    to the page, `lead` a heading that stands
    for one of them, `end` the line after the page where the mark closes it. `sections` holds the
    leads of later marks of the same page, by their lines.
    """

    start: int
    url: str | None = None
    title: str | None = None
    skip: list[int] = field(default_factory=list)
    lead: str = ""
    end: int | None = None
    level: int = 0
    sections: dict[int, str] = field(default_factory=dict)
    in_code: bool = False


def clean_title(text: str) -> str:
    """Return the words of a heading without links, emphasis and anchors."""
    text = re.sub(r"!?\[([^\[\]]*+)\]\([^()\[]*+\)", r"\1", text)
    text = _TAG.sub("", re.sub(r"\{#[^{}]*+\}\s*$", "", text))
    return " ".join(valid_text(text).replace("`", "").replace("**", "").split())


_FIRECRAWL = re.compile(r"\s*<\|firecrawl-page-\d+-l+mstxt\|>\s*$")
_DOC_PATH = re.compile(
    rf"`?(?:file\s*:\s*)?(\.{{0,2}}/?[\w@.-][\w@./ +-]*\.{FILES})`?$", re.IGNORECASE
)
_ROOT_PATH = re.compile(r"(/[\w@.~%+-]+(?:/[\w@.~%+-]*)*)$")
_HEADING_URL = re.compile(r"<?(https?://[^\s<>]+?)>?$")
_HEADING_LINK = re.compile(
    r"(?:[^\[\]]{0,60}:\s*)?\[([^\[\]]+)\]\(((?:https?://|/|\./)[^\s()]+(?:\([^\s()]*\))?)\)$"
)
_SUFFIX = re.compile(r"(?<!\S)[(\[<]((?:https?:)?/[^\s()<>\[\]]*)[)\]>]$")


class Headings:
    """Headings that are a file, an address, or a title with one, banners and page markers; by rule
    and level.
    """

    def __init__(self) -> None:
        self.groups: defaultdict[tuple[str, int], list[Mark]] = defaultdict(list)
        self._untitled: Mark | None = None
        """A page marker whose page has no heading yet."""

    def feed(self, number: int, line: str, heading: re.Match[str] | None) -> None:
        """Process one line."""
        if heading is None:
            if _FIRECRAWL.match(line):
                self._untitled = Mark(number, skip=[number])
                self._add("firecrawl", self._untitled)
            elif line[0] in "=-#> " and len(line) < 400 and (path := _banner_path(line)):
                self._add("banner", Mark(number, path, skip=[number]))
            return
        text = heading[2] or ""
        level = len(heading[1])
        if self._untitled is not None:
            self._untitled.title = clean_title(text)
            self._untitled = None
        if found := _DOC_PATH.match(text):
            self._add("heading-path", Mark(number, found[1], skip=[number], level=level))
        elif found := _HEADING_URL.match(text) or _ROOT_PATH.match(text):
            self._add("heading-url", Mark(number, found[1], skip=[number], level=level))
        elif found := _HEADING_LINK.match(text):
            self._add("heading-link", Mark(number, found[2], clean_title(found[1]), level=level))
        elif (found := _SUFFIX.search(text)) and (words := text[: found.start()].rstrip()):
            lead = f"{heading[1]} {words}\n"
            title = clean_title(words)
            self._add("heading-suffix", Mark(number, found[1], title, [number], lead, level=level))

    def _add(self, rule: str, mark: Mark) -> None:
        marks = self.groups[rule, mark.level]
        if len(marks) < MAX_MARKS:
            marks.append(mark)


def _banner_path(line: str) -> str | None:
    """Return the path in `=== guide/a.md ===` or `--- file: guide/a.md ---`, None in any other
    line.
    """
    text = line.strip()
    opened = text.lstrip("=-#>")
    inner = opened.rstrip("=-#<")
    is_banner = len(text) - len(opened) > 1 and len(opened) - len(inner) > 1
    found = _DOC_PATH.match(inner.strip()) if is_banner else None
    return found[1] if found else None


# Lines that name a page: `Source: URL`, `**URL:** /path`, `<!-- source: file.md -->`.
# They are looked for on raw text, code included: pages with unbalanced fences would hide those
# after them.

_LABELS = (
    "page url|page_url|source url|source_url|url source|canonical url|canonical|original"
    " url|permalink|url|source|source file|link|page|path|file|filepath|file path|doc|document"
)
_ADDRESS = rf"https?://[^\s<>]+?|/[^\s<>]*?|\.{{0,2}}[\w@.][\w@./ +-]*?\.{FILES}"
_STRONG = r"(?:\*\*|__|\*|_)?"
_LABEL = re.compile(
    rf"[ \t>*-]{{0,4}}{_STRONG}(?P<label>{_LABELS}){_STRONG}[ \t]*:{_STRONG}[ \t]*"
    rf"(?:[`<]?(?P<url>{_ADDRESS})[`>]?|\[[^\]]*\]\((?P<link>{_ADDRESS})\))[ \t]*+[.,]?+\s*+$",
    re.IGNORECASE,
)
_COMMENT = re.compile(
    rf"(?P<label>{_LABELS})\s*+[:=]\s*+[\"'<]?(?P<url>{_ADDRESS})[\"'>]?", re.IGNORECASE
)
_GENERATED = re.compile(
    r"(?:content|body|markdown|meta(?:data)?)\s*+:(?:\s*+\{[^\n]*\})?\s*$", re.IGNORECASE
)
"""Lines below a mark that head the text (`Content:`) or repeat its front matter (`meta: {"title":
…}`).
"""

_FIELD = re.compile(r"[*_]{0,2}[A-Z][\w -]{0,30}[*_]{0,2}\s*:[*_]{0,2}(?:\s|$)")
_TITLE_FIELD = re.compile(r"[*_]{0,2}title[*_]{0,2}\s*+:[*_]{0,2}\s*+(\S.*)$", re.IGNORECASE)

MAX_HEADER_LINES = 8
"""Lines of a header, labels among them, that belong to a page; what follows them is looked at by
itself.
"""


def _label_of(line: str) -> tuple[str, re.Match[str] | None]:
    """Return the form of a line that names a page, a comment or a label, and its match."""
    text = line.strip() if len(line) < 3000 else ""
    if text.startswith("<!--") and text.endswith("-->"):
        found = _COMMENT.fullmatch(text[4:-3].strip("- \t"))
        if found is not None:
            return "comment", found
    return "label", _LABEL.match(line) if text and ":" in line[:40] else None


class Labels:
    """`Source: URL`, `**URL:** /path`, `<!-- source: file.md -->`, grouped by label and form."""

    def __init__(self) -> None:
        self.groups: defaultdict[tuple[str, str], list[Mark]] = defaultdict(list)
        self._header: list[int] = []
        self._heading: tuple[int, int, str] | None = None
        self._title: str | None = None
        self._blank = 0
        self._last: Mark | None = None
        """The mark that only header lines and blanks have followed so far."""

    def feed(
        self, number: int, line: str, heading: re.Match[str] | None, *, in_code: bool = False
    ) -> None:
        """Process one line, which stands in a fence or not."""
        beside = None if self._blank else self._last
        self._blank = 0
        if self._last is not None and _GENERATED.match(line):
            self._last.skip.append(number)
            return
        form, found = _label_of(line)
        is_field = len(line) < 300 and _FIELD.match(line) is not None
        if heading is not None:
            self.text()
            self._heading = (number, len(heading[1]), heading[2] or "")
        elif found is not None:
            self._add(number, form, found, in_code=in_code)
        elif is_field and beside is not None:
            beside.skip.append(number)  # what the file says of the page besides
        elif is_field and len(self._header) < MAX_HEADER_LINES:
            self._header.append(number)
            self._name_by(line)
        else:
            self.text()

    def _name_by(self, field: str) -> None:
        """Take the title of a page that has no heading yet from a line `Title: …`."""
        title = _TITLE_FIELD.match(field)
        if title and self._heading is None:
            self._title = title[1].rstrip()

    def blank(self) -> None:
        """Note a blank line: a mark may stand below a title, but not far below."""
        self._blank += 1
        if self._blank > 2:
            self.text()

    def text(self) -> None:
        """Note a line of text: what follows does not stand below a title any more."""
        self._header = []
        self._heading = None
        self._title = None
        self._last = None

    def _add(self, number: int, form: str, found: re.Match[str], *, in_code: bool) -> None:
        groups = found.groupdict()
        label = " ".join(groups["label"].lower().replace("_", " ").split())
        url = groups["url"] or groups.get("link")
        mark = Mark(number, url, skip=[number], in_code=in_code)
        if self._heading is not None:
            mark.start, mark.level, text = self._heading
            mark.title = clean_title(text) or None
        elif self._header:
            mark.start = self._header[0]
            mark.title = self._title
            mark.skip = [*self._header, number]
        marks = self.groups[form, label]
        if len(marks) < MAX_MARKS:
            marks.append(mark)
            self._last = mark
        if len(self._header) < MAX_HEADER_LINES:
            self._header.append(number)


# Blocks that hold or head a page: YAML front matter, `<doc>`, `<page>`, `<document>` and `<file>`
# tags.

_OPEN_TAG = re.compile(r"<(doc|page|document|file|article)((?:\s[^>]*)?)>\s*$", re.IGNORECASE)
_CLOSE_TAG = re.compile(r"\s*</(doc|page|document|file|article)>\s*$", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(?<![\w:-])([\w:-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")
_INNER_URL = re.compile(
    r"\s*<(?:source|url|link|loc)>\s*(\S+?)\s*</(?:source|url|link|loc)>\s*$", re.IGNORECASE
)
_INNER_BODY = re.compile(
    r"\s*</?(?:document_contents?|contents?|markdown|body)>\s*$", re.IGNORECASE
)
_KEY = re.compile(r"[A-Za-z_][\w -]*+\s*+:(?:\s|$)")
_YAML_LINE = re.compile(r"\s*$|\s*#|\s*-\s|\s+\S|[A-Za-z_][\w .-]*+\s*+:(?:\s|$)|[\]})]")
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
            url, title = _named_in(_front_matter("".join(self._block)))
            if self.start is not None and (url or title):
                if len(self.marks) < MAX_MARKS:
                    self.marks.append(
                        Mark(self.start, url, title, list(range(self.start, number + 1)))
                    )
                self.start = None
            else:
                self.start = number
            self._block = []
        elif self.start is not None:
            is_yaml = _YAML_LINE.match(line) if self._block else _KEY.match(line)
            if len(self._block) > 80 or not is_yaml:
                self.start = None
                self._block = []
            else:
                self._block.append(line)


class Tags:
    """`<doc title="…">…</doc>`, `<page>…</page>`, `<document>` and `<file path="…">` blocks."""

    def __init__(self) -> None:
        self.groups: defaultdict[str, list[Mark]] = defaultdict(list)
        self.opened: tuple[str, Mark] | None = None
        """The name and mark of a block that is not closed yet."""
        self._head: list[tuple[int, str]] = []
        self._last = (0, "")

    def feed(self, number: int, line: str) -> None:
        """Process one line."""
        if self.opened is None:
            if found := _OPEN_TAG.match(line):
                attributes = {
                    name.lower(): (a or b).strip() for name, a, b in _ATTRIBUTE.findall(found[2])
                }
                keys = ("url", "href", "src", "source", "path", "link")
                named = next((attributes[key] for key in keys if attributes.get(key)), None)
                url, title = _named_in({**attributes, "url": named})
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
            if len(self.groups[name]) < MAX_MARKS:
                self.groups[name].append(mark)
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
            mark.url = mark.url or inner.url
            mark.title = mark.title or inner.title
            mark.skip += inner.skip


def _front_matter(block: str) -> dict[str, object]:
    """Return the fields of a YAML block, keys lower-case; nothing where it is no mapping."""
    if not block or block.count("[") + block.count("{") > 100:
        return {}
    import yaml  # noqa: PLC0415  # most sites have no full text

    try:
        fields = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return (
        {str(key).lower(): value for key, value in fields.items()}
        if isinstance(fields, dict)
        else {}
    )


def _named_in(fields: dict[str, object]) -> tuple[str | None, str | None]:
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


# Headings, at which a file that names no addresses is cut where an llms.txt knows them as page
# titles.

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(slots=True)
class Heading:
    """A heading outside code; `separated` says that a separator stands above it."""

    line: int
    level: int
    title: str
    separated: bool
    is_empty: bool = True


class Titles:
    """Remembers the headings outside code and, for each, whether text follows before the next.

    A fence that another one with a language follows, or that never ends, was not closed by its
    author: the headings behind it count after all.
    """

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self._in_fence: list[Heading] = []
        self._fence: str | None = None
        self._separated = False

    @property
    def in_fence(self) -> bool:
        """Whether the next line stands in a fence."""
        return self._fence is not None

    def text(self) -> None:
        """Note a line of text."""
        if headings := self._in_fence or self.headings:
            headings[-1].is_empty = False
        self._separated = False

    def feed(
        self, number: int, line: str, heading: re.Match[str] | None, *, is_separator: bool
    ) -> None:
        """Process one line; `heading` is its match as an ATX heading."""
        if fence := _FENCE.match(line):
            if self._fence is None:
                self._fence = fence[1]
            elif fence[1].startswith(self._fence):
                closes = not fence[2].strip()
                self.headings += [] if closes else self._in_fence
                self._in_fence = []
                self._fence = None if closes else fence[1]
        if heading is not None:
            headings = self.headings if self._fence is None else self._in_fence
            if len(headings) < MAX_MARKS:
                title = clean_title(heading[2] or "")
                headings.append(Heading(number, len(heading[1]), title, self._separated))
        elif not is_separator:
            self.text()
        self._separated = is_separator

    def end(self) -> None:
        """Note the end of the file."""
        self.headings += self._in_fence
        self._in_fence = []
        self._fence = None
