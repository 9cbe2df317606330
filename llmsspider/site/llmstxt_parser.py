"""Read an llms.txt: its title, its summary and every page it lists, by a CommonMark parser with
tables.

Links anywhere count, bare addresses too; what stands in code, comments or HTML attributes is text
and never a page.
"""

import re
import textwrap
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from llmsspider.content import markdown
from llmsspider.content.markdown import commonmark
from llmsspider.errors import ConversionError
from llmsspider.site.llmstxt_links import (
    INVISIBLE,
    InlineRun,
    Piece,
    absolute_url,
    described_links,
    has_link,
    plain,
)
from llmsspider.web.text import valid_text
from llmsspider.web.urls import InvalidUrl

FRONT_MATTER = re.compile(
    r"\A(---|\+\+\+)[ \t]*\n((?:[^\n]*\n){1,200}?)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)"
)
_FIELD = re.compile(r"^(title|description)[ \t]*+[:=][ \t]*+(.+)$", re.MULTILINE)
_YAML_LINE = re.compile(r"\s*$|\s*#|\s*-\s|\s+\S|[\w.-]+\s*[:=]|[\]})]")
_NO_MEANING = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\u0085\v\f]")
_RAW_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|pre|code|textarea)\b.*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_NEW_BLOCK = re.compile(r"\s*(?:$|[-*+]\s|\d{1,9}[.)]\s|\||#)")
_RUN = re.compile(r"(([^\w\s]{1,3})\2{30})\2*")
MAX_PARAGRAPH_CHARS = 8192  # what is longer is read in parts
MAX_WRAPPED_CHARS = 16 * MAX_PARAGRAPH_CHARS  # longer lines are cut there, be it in a word

MAX_ENTRIES = 100_000
"""Maximum number of pages that are read from one file, in 2 s of CPU; the longest of 145 real files
lists 878.
"""

_PLAIN_ENTRY = re.compile(
    r"(?!(?:url|source|path|file|slug|link|page|permalink):)"
    r"(?:(?P<name>[^:/\n]++):[ \t]++(?P<path>/[^\s:]*+)(?:[ \t]++[-–—:][ \t]++(?P<text>\S.*+))?+"
    r"|(?P<first>/[^\s:]++):[ \t]++(?P<title>\S.*+))",
    re.IGNORECASE,
)
_FILE_SYSTEM = re.compile(r"/(?:usr|etc|var|home|opt|tmp|bin|dev|proc|sys|mnt|root)(?:/|\Z)")
MAX_NOTES_CHARS = 4000  # longer notes are cut at a paragraph
MAX_NOTES_LINES = 200  # notes are looked for in so many lines

_LISTED = re.compile(r"[ \t]{0,8}(?:[-*+]|\d{1,9}[.)])[ \t].*(?:\]\(|://)|[ \t]*\|")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_INLINE = frozenset({"Emphasis", "Strong"})
_ROWS = frozenset({"TableHead", "TableRow"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One page an llms.txt lists.

    `url` is absolute and has no fragment; `section` is the heading above with those before it
    (`Guides > First steps`), `order` the 0-based position in the file, `optional` whether the
    section is called "Optional".
    """

    url: str
    title: str | None
    description: str | None
    section: str | None
    order: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class LlmsTxt:
    """What one llms.txt says. `entries` holds each URL once, in the order of the file, `invalid`
    what is no URL.

    `notes` is the Markdown between summary and first section, its links absolute. Discovery adds
    the `kind`, decided by the content, and for an index the `text` of the file as it came.
    """

    url: str
    title: str | None
    summary: str | None
    entries: tuple[Entry, ...] = field(repr=False)
    warnings: tuple[str, ...] = ()
    invalid: tuple[InvalidUrl, ...] = ()
    notes: str | None = None
    kind: Literal["index", "full"] = "index"
    text: str = field(default="", repr=False)

    @property
    def is_called_full(self) -> bool:
        """Whether its name is one of full text, whatever it contains."""
        return is_full_name(self.url)


def is_full_name(url: str) -> bool:
    """Return whether the name of an llms file is one of full text."""
    return "full" in urlsplit(url).path.rpartition("/")[2].lower()


def parse(text: str, url: str) -> LlmsTxt:
    """Parse the text of an llms.txt fetched from `url`; never raises: `warnings` says what was
    strange about it.
    """
    text = _LINE_ENDS.sub("\n", _NO_MEANING.sub("", valid_text(text)))
    fields, text = _front_matter(text)
    if text.startswith((" ", "\t", "\n")):
        text = textwrap.dedent(text)
    text = _bounded(text) if len(text) > MAX_PARAGRAPH_CHARS else text
    reader = _Reader(url)
    try:
        reader.read(text)
        reader.add_rest(commonmark.definitions(text))
    except ConversionError as error:
        reader.warnings.append(str(error))
    if reader.has_html or re.search(r"<script\b", text, re.IGNORECASE):
        reader.warnings.append("holds HTML, which is read as text")
    return LlmsTxt(
        url=url,
        title=reader.title or fields.get("title"),
        summary=reader.summary or fields.get("description"),
        entries=tuple(
            replace(entry, order=order) for order, entry in enumerate(reader.entries.values())
        ),
        warnings=tuple(reader.warnings),
        invalid=tuple(reader.invalid),
        notes=_notes(text, url),
    )


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return title and description of the front matter, and the text below it."""
    found = FRONT_MATTER.match(text)
    if not found or not all(map(_YAML_LINE.match, found[2].splitlines())):
        return {}, text
    fields = {name: value.rstrip(" \t").strip("'\"") for name, value in _FIELD.findall(found[2])}
    return fields, text[found.end() :]


def _notes(text: str, url: str) -> str | None:
    """Return what stands between title or summary and the first heading or list of links; None
    where nothing does.
    """
    lines = text.split("\n", MAX_NOTES_LINES)
    begin = next((number for number, line in enumerate(lines) if line.startswith("# ")), -1) + 1
    while begin < len(lines) and (
        not lines[begin].strip() or lines[begin].lstrip().startswith(">")
    ):
        begin += 1
    end = begin
    in_code = False
    for line in lines[begin:MAX_NOTES_LINES]:
        in_code ^= line.lstrip().startswith(("```", "~~~"))
        if not in_code and (line.startswith("#") or _LISTED.match(line[:MAX_NOTES_CHARS])):
            break
        end += 1
    notes = "\n".join(lines[begin:end]).strip()
    if len(notes) > MAX_NOTES_CHARS:
        notes = notes[:MAX_NOTES_CHARS].rpartition("\n\n")[0]
    return markdown.read(notes, url).markdown.strip() or None if notes else None


def _bounded(text: str) -> str:
    """Break paragraphs longer than any is and runs of one sign: the parser's time grows out of
    bounds with both.
    """
    text = _RUN.sub(r"\1", text)
    lines: list[str] = []
    length = 0
    for line in text.split("\n"):
        # `textwrap` copies the rest of a word for each part
        starts = range(0, len(line), MAX_WRAPPED_CHARS)
        pieces = [line[start : start + MAX_WRAPPED_CHARS] for start in starts]
        wrapped = (part for piece in pieces for part in textwrap.wrap(piece, MAX_PARAGRAPH_CHARS))
        for part in wrapped if len(line) > MAX_PARAGRAPH_CHARS else [line]:
            length = len(part) if _NEW_BLOCK.match(part) else length + len(part)
            if length > MAX_PARAGRAPH_CHARS:
                lines.append("")
                length = len(part)
            lines.append(part)
    return "\n".join(lines)


class _Reader:
    """Walks through one file and collects what it says."""

    def __init__(self, url: str):
        self.url = url
        self.title: str | None = None
        self.summary: str | None = None
        self.entries: dict[str, Entry] = {}
        self.plain: list[Entry] = []
        self.invalid: dict[InvalidUrl, None] = {}
        self.warnings: list[str] = []
        self.has_html = False
        self._headings: list[tuple[int, str]] = []
        self._heading: int | None = None
        self._quotes = 0
        self._items = 0
        self._listed: set[str] = set()
        self._cells: list[list[Piece]] | None = None
        self._html: list[str] | None = None
        self._images = 0
        self._is_code = False
        self._is_footnote = False  # which is of no section, wherever it stands
        self._run = InlineRun()

    def read(self, text: str, *, skip_html: bool = False) -> None:
        """Read Markdown; table rows are taken whole."""
        for event in commonmark.events(text):
            if len(self.entries) >= MAX_ENTRIES:
                self.warnings.append(
                    f"lists more than {MAX_ENTRIES:,} pages; further ones are not read"
                )
                return
            match event:
                case "SoftBreak" | "HardBreak":
                    self._run.verbatim("" if self._images else "\n")
                case {"Start": str() as name}:
                    self._start(name, {})
                case {"Start": tag}:
                    self._start(*next(iter(tag.items())))
                case {"End": tag}:
                    self._end(tag if isinstance(tag, str) else next(iter(tag)), skip_html=skip_html)
                case _ if self._html is not None:
                    self._html += event.values()
                case _ if self._is_code:
                    pass
                case {"Text": value} if not self._images:
                    self._run.text(value)
                case {"Text": value} | {"Code": value}:
                    self._run.verbatim(value)
                case {"InlineHtml": value}:
                    self.has_html = True
                    self._run.verbatim(" " if value.lower().startswith("<br") else "")

    def _start(self, name: str, data: Any) -> None:
        if name == "Link":
            self._run.open_link(
                "mailto:" * (data["link_type"] == "Email") + _destination(data["dest_url"])
            )
        elif name == "Image":
            self._images += 1
        elif name in _INLINE:
            self._run.verbatim("")
        else:
            self._end_of_run()
            self._quotes += name == "BlockQuote"
            self._items += name == "Item"
            self._is_code = self._is_code or name == "CodeBlock"
            if name == "Heading":
                self._heading = int(data["level"][1])
            elif name in _ROWS:
                self._cells = []
            elif name == "HtmlBlock":
                self._html = []
            elif name == "FootnoteDefinition":
                self._is_footnote = True

    def _end(self, name: str, *, skip_html: bool) -> None:
        if name == "Link":
            self._run.close_link()
        elif name == "Image":
            self._images -= 1
        elif name in _INLINE:
            self._run.verbatim("")
        else:
            self._end_of_run()
            self._quotes -= name == "BlockQuote"
            self._items -= name == "Item"
            self._is_code = self._is_code and name != "CodeBlock"
            if name == "Heading":
                self._heading = None
            elif name == "FootnoteDefinition":
                self._is_footnote = False
            elif name in _ROWS:
                cells = self._cells or []
                self._cells = None
                besides = filter(None, (plain(cell) for cell in cells if not has_link(cell)))
                # cells without a link describe those with one
                description = " ".join(besides) or None
                for cell in cells:
                    self._add_pieces(cell, description)
            elif name == "HtmlBlock":
                html = "".join(self._html or ())
                self._html = None
                if not skip_html:
                    self._read_html(html)

    def _end_of_run(self) -> None:
        pieces = self._run.take()
        if not pieces:
            return
        if self._heading:
            self._open_section(self._heading, plain(pieces))
        elif self._quotes and self.summary is None and not self._headings:
            self.summary = plain(pieces) or None
        if self._cells is not None:
            self._cells.append(pieces)
        else:
            self._add_pieces(pieces)

    def _open_section(self, level: int, name: str) -> None:
        if level == 1 and self.title is None:
            self.title = name or None
            self._headings = []
            return
        lowest = 1 if level > 2 else 0
        self._headings = [kept for kept in self._headings if lowest < kept[0] < level]
        self._headings += [(level, name)] if name else []

    def _read_html(self, html: str) -> None:
        """Read Markdown that stands inside HTML blocks such as `<details>`; the HTML itself is
        inert.
        """
        if html.lstrip().startswith("<!--") and html.rstrip().endswith("-->"):
            return
        self.has_html = True
        inner = _TAG.sub("", _RAW_HTML.sub("", html))
        if "](" in inner or "://" in inner:
            self.read(textwrap.dedent(inner), skip_html=True)

    def _add_pieces(self, pieces: list[Piece], description: str | None = None) -> None:
        if pieces and not has_link(pieces):
            self._add_plain("".join(map(str, pieces)), description)
        for title, href, described in described_links(pieces):
            if (target := self._resolved(href)) is not None:
                self._add(self._entry(target, title, described or description))

    def _resolved(self, href: str) -> str | None:
        target = absolute_url(href, self.url)
        if isinstance(target, InvalidUrl):
            self.invalid[target] = None
            return None
        return target

    def _entry(self, url: str, title: str | None, description: str | None) -> Entry:
        names = [name for _, name in self._headings if not self._is_footnote]
        optional = any(name.strip(" :.").casefold() == "optional" for name in names)
        return Entry(url, title, description, " > ".join(names) or None, 0, optional)

    def _add_plain(self, text: str, description: str | None) -> None:
        """Keep `Name: /path` lines; whether they are a list of pages is decided by the whole file."""
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        found = [_PLAIN_ENTRY.fullmatch(line) if len(line) < 600 else None for line in lines]
        for match in found if all(found) else ():
            path = (match["path"] or match["first"]) if match else ""
            target = None if _FILE_SYSTEM.match(path) else absolute_url(path, self.url)
            if match and isinstance(target, str):
                title = (match["name"] or match["title"]).strip("*_ ")
                self.plain.append(self._entry(target, title or None, match["text"] or description))

    def add_rest(self, definitions: dict[str, Any]) -> None:
        """Add what no link uses: `[name]: url` definitions, some files are lists of these, and
        `Name: /path` lines.
        """
        for definition in definitions.values():
            target = self._resolved(_destination(definition["dest"]))
            if target is not None and target not in self.entries:
                self._add(Entry(target, definition["title"] or None, None, None, 0))
        if len(self.plain) >= 3 or not self.entries:
            for entry in self.plain:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        """Keep the first mention of a URL, in a list before one in prose, and what others know
        better.
        """
        known = self.entries.setdefault(entry.url, entry)
        is_listed = self._items > 0
        if known is not entry:
            best = entry if is_listed and entry.url not in self._listed else known
            self.entries[entry.url] = replace(
                best,
                title=best.title or known.title or entry.title,
                description=best.description or known.description or entry.description,
                section=best.section or known.section or entry.section,
                optional=known.optional and entry.optional,
            )
        if is_listed:
            self._listed.add(entry.url)


def _destination(written: str) -> str:
    return commonmark.encoded(INVISIBLE.sub("", written).strip())
