"""One pass over a Markdown text: its title, its links, its raw HTML, and where destinations stand."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from llmsspider.content.markdown import commonmark
from llmsspider.web.text import valid_text

# --- detecting HTML and Markdown by the first kilobytes ---

_HTML_START = re.compile(
    r"\s*+(?:<\?xml(?:(?!\?>).)*+\?>\s*+)?+(?:<!--(?:(?!-->).)*+-->\s*+)*+"
    r"<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    re.IGNORECASE | re.DOTALL,
)
"""How a page of HTML begins, behind an XML declaration, comments and white space."""
_HTML_PARTS = re.compile(r"<(?:head|title|meta|link|script|body|html)[\s>]", re.IGNORECASE)
_TAG_FIRST = re.compile(
    r"\s*<(?:head|title|meta|link|script|style|div|header|nav|main|table|center)[\s>]",
    re.IGNORECASE,
)
_MARKS = (
    re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE),
    re.compile(r"^(?:```|~~~)", re.MULTILINE),
    re.compile(r"\[[^\[\]\n]++\]\([^)\s]"),
    re.compile(r"^\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+", re.MULTILINE),
    re.compile(r"^[^\s#>*+-].*\n(?:={3,}|-{3,})[ \t]*$", re.MULTILINE),
    re.compile(r"^[ \t]{0,3}[-*+][ \t]+\S.*\n[ \t]{0,3}[-*+][ \t]+\S", re.MULTILINE),
    re.compile(r"(?<!\w)(?:\*\*|__)\S[^*_\n]*\S(?:\*\*|__)(?!\w)"),
)
_REST = re.compile(
    r"^\.\. [\w-]+::|^:\w+:`|`[^`<\n]+ <[^`>\n]+>`_|^[=~^*+#-]{3,}\n.+\n[=~^*+#-]{3,}$",
    re.MULTILINE,
)
_FRONT_MATTER = re.compile(r"\s*---\n(?:[\w.][\w.-]*+:.*\n|[ \t-].*\n)+---\n")
_WINDOW = 16_384


def looks_like_html(text: str | bytes) -> bool:
    """Return True if `text` is an HTML page (not Markdown that holds some HTML).

    >>> looks_like_html("<!DOCTYPE html><html>"), looks_like_html("# Title with <div>")
    (True, False)
    """
    if isinstance(text, bytes):
        text = text[:_WINDOW].decode("utf-8", "replace")
    text = text[:_WINDOW].lstrip("\ufeff")
    if _HTML_START.match(text):
        return True
    return bool(_TAG_FIRST.match(text)) and len(set(map(str.lower, _HTML_PARTS.findall(text)))) >= 2


def looks_like_markdown(text: str) -> bool:
    r"""Return True if a plain text is Markdown: it has headings, fences, links, tables or lists of
    Markdown.

    reStructuredText, robots.txt, JSON, XML and prose without any markup are not.

    >>> looks_like_markdown("# Title\n\ntext"), looks_like_markdown("User-agent: *")
    (True, False)
    """
    head = text[:_WINDOW].lstrip("\ufeff").replace("\r\n", "\n")
    text = head.lstrip()
    if not text or looks_like_html(head) or "\0" in head or text.startswith(("{", "<?xml")):
        return False
    if text[0] == "[" and not _MARKS[2].search(head):
        return False
    found = sum(mark.search(head) is not None for mark in _MARKS)
    return _FRONT_MATTER.match(head) is not None or found > (_REST.search(head) is not None)


# HTML in Markdown that no reader sees: comments, empty anchors, wrappers. Where it stands, and how
# it is cut out.

_ATTRIBUTES = r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|\{\{[^{}]*\}\}|\{[^{}]*\}|[^\s\"'<>{}`]+))?)*+\s*"
_OPENED = re.compile(
    rf"<(?:a|span)(?=[^<>]*\s(?:id|name)\s*=)(?![^<>]*\shref\s*=){_ATTRIBUTES}>", re.IGNORECASE
)
_CLOSED = re.compile(
    rf"<(?:a|span)(?=[^<>]*\s(?:id|name)\s*=)(?![^<>]*\shref\s*=){_ATTRIBUTES}/>", re.IGNORECASE
)
_END = re.compile(r"</(?:a|span)\s*>", re.IGNORECASE)
_WRAPPER = re.compile(
    rf"</(?:div|section|article|center)\s*>|<(?:div|section|article|center){_ATTRIBUTES}>",
    re.IGNORECASE,
)
_ANCHOR = re.compile(rf"{_OPENED.pattern}\s*{_END.pattern}|{_CLOSED.pattern}", re.IGNORECASE)
_ATTRIBUTE = r"""\s[\w:-]{1,30}(?:=(?:"[^"<>]{0,99}"|'[^'<>]{0,99}'))?"""
_HIDDEN = r"""\s(?:hidden(?=[\s>=])|aria-hidden="true"|style=["'][^"'<>]{0,99}display:\s?none)"""
_UNSEEN = re.compile(
    rf"\s{{0,9}}<(?:(script|style)\b|([a-z]{{1,10}})(?:{_ATTRIBUTE}){{0,9}}?{_HIDDEN})[^<>]{{0,400}}>",
    re.IGNORECASE,
)
"""How an element begins that no browser shows."""
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]")
_BLANK = re.compile(rb"(?:[ \t]*\n)+")
_PARTS = re.compile(r"\n{3,}")
_PLAIN = re.compile(r"(?!\d{1,9}[.)](?: |\Z)|[-+=:])[^\\`*_\[\]<>{}#|~&]*")
"""A line that Markdown reads as the text that it is."""
_LONGEST = 20_000
"""Characters of a block that is looked at."""


def shown_text(html: str) -> str | None:
    """Return the text that a block of HTML shows; None where it is more than plain text in
    wrappers.

    It is empty for comments, empty anchors, tags of wrappers only and a hidden element. A comment
    that names an include stands for what a generator omitted: it stays. Where Markdown would read
    the text as more than text, it stays: in MDX it is Markdown, elsewhere it is not.

    >>> [shown_text(html) for html in ("<!-- AUTO -->", "<div class='a'>simple text</div>", "<div>*a*</div>")]
    ['', 'simple text', None]
    """
    if len(html) > _LONGEST or (rest := _without_comments(html)) is None:
        return None
    if _is_unseen(rest):
        return ""
    text = _WRAPPER.sub("\n\n", _ANCHOR.sub("", rest))
    if not text.strip(" \t\n>"):
        return ""
    lines = [line.strip() for line in text.strip().split("\n")]
    return (
        _PARTS.sub("\n\n", "\n".join(lines)) or None if all(map(_PLAIN.fullmatch, lines)) else None
    )


def _is_unseen(html: str) -> bool:
    """Say whether HTML is one element that no browser shows."""
    found = _UNSEEN.match(html)
    if found is None:
        return False
    name = (found[1] or found[2]).lower()
    inside, end, after = html[found.end() :].lower().partition(f"</{name}>")
    return bool(end) and not after.strip() and f"<{name}" not in inside


def _without_comments(html: str) -> str | None:
    """Return HTML without its comments; None where one speaks of an include, or has no end."""
    pieces: list[str] = []
    position = 0
    while (start := html.find("<!--", position)) >= 0:
        end = html.find("-->", start + 4)
        if end < 0 or html.find("include", start, end) >= 0:
            return None
        pieces.append(html[position:start])
        position = end + 3
    return "".join([*pieces, html[position:]])


def cuts(source: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int, bytes]]:
    """Return the replacements (start, end, new text) that remove the unseen `spans`, and lines with
    nothing else.
    """
    found: list[tuple[int, int, bytes]] = []
    for start, end in _joined(source, spans):
        begin = source.rfind(b"\n", 0, start) + 1
        stop = (
            end if source[end - 1 : end] == b"\n" else (source.find(b"\n", end) + 1 or len(source))
        )
        before = source[begin:start]
        after = source[end:stop]
        if not before.strip() and not after.strip():
            blank = _BLANK.match(source, stop)
            behind = blank.end() if blank else stop
            if begin == 0 or source[begin - 2 : begin] == b"\n\n":
                found.append((begin, behind, b""))
            else:
                found.append((begin, stop, b"" if behind > stop or stop == len(source) else b"\n"))
        elif _WORD.search(before) or _WORD.search(after):
            is_last = not after.strip()
            spaces = len(before) - len(before.rstrip(b" ")) if is_last else 0
            is_between = not is_last and before[-1:] in {b"", b" "} and after[:1] == b" "
            found.append((start - spaces, end + is_between, b""))
    return found


def _joined(source: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + 8 and not source[joined[-1][1] : start].strip(b" "):
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


# One pass over a Markdown text: its title, its links, its raw HTML, and where the destinations
# stand in it.

_TEXT = frozenset({"Text", "Code"})
_BLOCKS = frozenset({"Paragraph", "Heading", "TableCell", "CodeBlock"})
_CONTAINERS = frozenset({"BlockQuote", "List"})
_STARTS = _CONTAINERS | {"HtmlBlock"}
"""What begins without attributes and means more than that words begin anew."""
_TARGETS = {"Link": len("["), "Image": len("![")}
_TITLE = {"Heading": "H1"}
_DESTINATION = re.compile(rb"[\s>]*\]\([ \t]*(?:\n[> \t]*)?(<[^<>\n]*>|[^\s<]\S*)")
_DEFINITION = re.compile(rb"\[(?:\\.|[^\]\\])+\]:[ \t]*(?:\n[> \t]*)?(<[^<>\n]*>|\S+)", re.DOTALL)

_IN_HTML = re.compile(
    rb"<(?:(?:img|source|video|audio)\b[^<>]*?\ssrc|(?:a|area)\b[^<>]*?\shref)\s*=\s*(?:\"([^\"<>]+)\"|'([^'<>]+)')",
    re.IGNORECASE,
)
_VERBATIM = re.compile(rb"\s*<(?:pre|script|style|textarea)\b", re.IGNORECASE)
"""How a block of HTML begins that holds code."""

_COMMENTS = frozenset({"//", "comment"})


@dataclass(slots=True)
class Scan:
    """What stands in a Markdown text.

    `source` is the text in UTF-8; `title` that of the first heading of level 1 that has one and
    stands in no list or quotation; `links` are pairs of text and URL, percent-encoded, in the order
    of their ends; `html` the HTML blocks and tags, as written; `destinations` the spans in `source`
    of the destinations of links, images, definitions, and HTML tags with `src` or `href`, in order;
    `pictures` those of them that are of images and of `<img>`;
    `unseen` the spans of HTML that renders nothing, `unwrapped` of text in wrappers, with the text.
    """

    source: bytes
    title: str | None = None
    links: list[tuple[str, str]] = field(default_factory=list)
    html: list[str] = field(default_factory=list)
    destinations: list[tuple[int, int]] = field(default_factory=list)
    pictures: set[tuple[int, int]] = field(default_factory=set)
    unseen: list[tuple[int, int]] = field(default_factory=list)
    unwrapped: list[tuple[int, int, bytes]] = field(default_factory=list)

    def written(self, span: tuple[int, int]) -> str:
        """Return the text of a span."""
        start, end = span
        return self.source[start:end].decode()

    def addresses(self) -> dict[str, bool]:
        """Return what the text links to and shows, as written, without fragments; each with whether
        it is shown, as a picture.
        """
        found: dict[str, bool] = {}
        for span in self.destinations:
            address = self.written(span).strip("<>").partition("#")[0]
            found[address] = found.get(address, False) or span in self.pictures
        return found

    def rewritten(self, change: Callable[[str], str]) -> str:
        """Return the text with `change` applied to each destination as written, without HTML that
        renders nothing.
        """
        replaced = [
            (*span, change(self.written(span)).encode("utf-8", "replace"))
            for span in self.destinations
        ]
        if self.unseen or self.unwrapped:
            replaced = sorted([*replaced, *cuts(self.source, self.unseen), *self.unwrapped])
        pieces: list[bytes] = []
        position = 0
        for start, end, instead in replaced:
            if start >= position:
                pieces += self.source[position:start], instead
                position = end
        return b"".join([*pieces, self.source[position:]]).decode()


def scan(text: str) -> Scan:
    r"""Scan a Markdown text with `\n` line ends; raises `ConversionError` where the parser itself
    fails.
    """
    text = valid_text(text)
    reading = _EventWalk(Scan(text.encode()))
    reading.take(commonmark.events_with_range(text))
    reading.take_definitions(commonmark.definitions(text))
    return reading.found


class _EventWalk:
    """What was met so far on the way through the events of a text."""

    def __init__(self, found: Scan):
        self.found = found
        self._depth = 0
        self._words: list[str] = []
        self._opened: list[tuple[dict[str, str], int]] = []
        """Links and images that are open: what the parser says of each, and how many words stood
        before it.
        """
        self._last = 0
        """Where the event before ended: at the end of a link, its destination follows."""
        self._tag = ("", 0, 0)
        """The inline tag met last, and its span."""

    def take(self, events: Iterable[tuple[Any, Any]]) -> None:
        """Take events: `{"Text": "a"}`, `{"Start": "Paragraph"}`, or a bare string such as
        `"SoftBreak"`.
        """
        words = self._words
        opened = self._opened
        for event, span in events:
            if isinstance(event, str):
                words.append(" ")
            else:
                kind, value = event.popitem()
                if kind in _TEXT:
                    words.append(value)
                elif kind == "Start":
                    if not isinstance(value, str) or value in _STARTS:
                        self._start(value, span["start"], span["end"])
                    elif value in _BLOCKS:
                        words.clear()
                    continue  # what is inside follows
                elif kind == "End":
                    if not isinstance(value, str) or value in _TARGETS:
                        self._end(value, span["end"])
                elif kind == "InlineHtml":
                    self._inline_html(value, span["start"], span["end"])
            if opened:
                self._last = span["end"]

    def _start(self, value: Any, start: int, end: int) -> None:
        name = value if isinstance(value, str) else next(iter(value))
        if name in _TARGETS:
            self._opened.append((value[name], len(self._words)))
            self._last = start + _TARGETS[name]
        elif name in _BLOCKS:
            self._words.clear()
        elif name in _CONTAINERS:
            self._depth += 1
        elif name == "HtmlBlock":
            source = self.found.source
            html = source[start:end].decode()
            self._read_html(html, start, end)
            text = shown_text(html)
            is_alone = source[start - 1 : start] in {b"", b"\n"}
            if text == "":
                self.found.unseen.append((start, end))
            elif text is not None and is_alone:  # else it stands in another block
                above = b"" if start == 0 or source[start - 2 : start] == b"\n\n" else b"\n"
                self.found.unwrapped.append((start, end, above + f"{text}\n".encode()))

    def _inline_html(self, tag: str, start: int, end: int) -> None:
        self._read_html(tag, start, end)
        before, begin, stop = self._tag
        if len(tag) <= _LONGEST and (_CLOSED.fullmatch(tag) or _without_comments(tag) == ""):
            self.found.unseen.append((start, end))
        elif (
            stop == start
            and len(before) <= _LONGEST
            and _END.fullmatch(tag)
            and _OPENED.fullmatch(before)
        ):
            self.found.unseen.append((begin, end))
        self._tag = tag, start, end

    def _read_html(self, html: str, start: int, end: int) -> None:
        source = self.found.source
        self.found.html.append(html)
        if not _VERBATIM.match(source, start, end):
            for found in _IN_HTML.finditer(source, start, end):
                destination = found.span(1) if found[1] is not None else found.span(2)
                self.found.destinations.append(destination)
                if found[0][:4].lower() == b"<img":
                    self.found.pictures.add(destination)

    def _end(self, value: Any, end: int) -> None:
        if isinstance(value, str):
            self._end_link(value, end)
        elif not _CONTAINERS.isdisjoint(value):
            self._depth -= 1
        elif value == _TITLE and not self._depth and self.found.title is None:
            self.found.title = one_line("".join(self._words)) or None

    def _end_link(self, value: str, end: int) -> None:
        data, begin = self._opened.pop()
        kind = data["link_type"]
        if value == "Link" and kind != "Email" and not data["id"].startswith("^"):
            text = one_line("".join(self._words[begin:]))
            self.found.links.append((text, commonmark.encoded(data["dest_url"])))
        if kind == "Inline" and (
            written := _DESTINATION.match(self.found.source, self._last, end - 1)
        ):
            self.found.destinations.append(written.span(1))
            if value == "Image":
                self.found.pictures.add(written.span(1))

    def take_definitions(self, definitions: dict[str, Any]) -> None:
        """Take the definitions of references, which are no events.

        One without destination is a comment.
        """
        for label, definition in definitions.items():
            if label in _COMMENTS or definition["dest"] in {"", "#"} or label.startswith("^"):
                continue
            span = definition["span"]
            if written := _DEFINITION.match(self.found.source, span["start"], span["end"]):
                self.found.destinations.append(written.span(1))
        self.found.destinations.sort()


def one_line(text: str) -> str:
    """Return the text with every run of white space as one blank."""
    return " ".join(text.split())
