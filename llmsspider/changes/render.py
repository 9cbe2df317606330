"""Changes as text for a terminal, Markdown, JSON, one HTML page that loads nothing, and an Atom
feed.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import markupsafe
from lxml import etree

from llmsspider.changes.compare import Hunk, Words
from llmsspider.changes.source import Kind, PageChange, SourceChanges
from llmsspider.content.extraction.formats import escape
from llmsspider.content.markdown.commonmark import fence_for
from llmsspider.web.text import xml_text

MARKS: dict[Kind, str] = {"new": "+", "changed": "~", "moved": ">", "deleted": "-"}
MAX_FOLDED = 5  # folded lines that are shown by name
MAX_BLOCK = 400  # characters shown of a block of text that was added or removed


def headline(changes: SourceChanges) -> str:
    """How many pages changed in which way, on one line."""
    counts = [f"{count} {kind}" for kind in MARKS if (count := changes.count(kind))]
    line = ", ".join(counts) or "no changes"
    if changes.noise:
        line += (
            f"; {changes.noise} page{'s' * (changes.noise != 1)} with new dates and counters only"
        )
    return line


def in_words(page: PageChange) -> list[str]:
    """What a reader should know of a page, the most important first; each a few words."""
    if page.kind == "deleted":
        return [page.reason.replace("-", " ")] if page.reason else []
    found = [f"was {page.moved_from}"] if page.moved_from else []
    if page.title_before:
        found.append(f"title was {page.title_before}")
    if page.hunks and page.kind != "new":
        counts = Counter(hunk.change for hunk in page.hunks)
        found.append(", ".join(f"{counts[what]} {what}" for what in sorted(counts)))
    elif page.shifted:
        found.append(f"{page.shifted} blocks stand elsewhere")
    if page.unknown:
        found.append(page.unknown)
    if page.remade:
        found.append("made by another version of llmsspider: the site may have changed nothing")
    return found


def text(changes: SourceChanges, *, summary: bool = False) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"{changes.source}: {headline(changes)}"
    for section, pages in changes.by_section().items():
        yield f"\n{section}"
        for page in pages:
            yield f"  {MARKS[page.kind]} {page.title}  {page.url}"
            yield from (f"      {words}" for words in in_words(page))
    if changes.folded:
        yield f"\nfolded: {folded_in_words(changes)}"
    for page in changes.pages:
        if page.hunks and not summary:
            yield f"\n=== {page.title}  {page.url}"
            for hunk in page.hunks:
                yield from _hunk_text(hunk)


def folded_in_words(changes: SourceChanges) -> str:
    """The lines that change every time, the most frequent first, with the number of their pages."""
    lines = [f"{line[:100]!r} ({count})" for line, count in changes.folded.most_common(MAX_FOLDED)]
    more = len(changes.folded) - MAX_FOLDED
    return ", ".join(lines) + (f" and {more} more" if more > 0 else "")


def _hunk_text(hunk: Hunk) -> Iterator[str]:
    yield f"\n  {' > '.join(hunk.headings)}" if hunk.headings else ""
    if hunk.is_whole:
        yield from (f"    {line}" for line in lines_of(hunk))
    elif hunk.words:
        marks = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
        yield "  ~ " + "".join(piece.join(marks[op]) for op, piece in hunk.words)
    else:
        mark, block = ("+", hunk.after) if hunk.change == "added" else ("-", hunk.before)
        yield f"  {mark} {block if len(block) <= MAX_BLOCK else block[: MAX_BLOCK - 1] + '…'}"


def markdown(changes: SourceChanges, *, summary: bool = False) -> Iterator[str]:
    """Yield the lines of a Markdown document."""
    yield f"# Changes of {changes.source}\n\n{headline(changes)}."
    for section, pages in changes.by_section().items():
        yield f"\n## {section}\n"
        for page in pages:
            words = ": " + "; ".join(found) if (found := in_words(page)) else ""
            yield f"- **{page.kind}** [{escape(page.title)}]({page.url}){words}"
    if changes.folded:
        yield f"\nFolded, since it changes every time: {folded_in_words(changes)}"
    detailed = [] if summary else [page for page in changes.pages if page.hunks]
    if detailed:
        yield "\n## In detail"
    for page in detailed:
        yield f"\n### [{escape(page.title)}]({page.url})"
        for hunk in page.hunks:
            yield from _hunk_markdown(hunk)


def _hunk_markdown(hunk: Hunk) -> Iterator[str]:
    yield f"\n*{' › '.join(hunk.headings)}*\n" if hunk.headings else ""
    if hunk.is_whole:
        lines = lines_of(hunk)
        fence = fence_for("\n".join(lines))
        yield from (f"{fence}diff", *lines, fence)
    elif hunk.words:
        marks = {"equal": ("", ""), "delete": ("~~", "~~"), "insert": ("**", "**")}
        yield "".join(_marked(piece, *marks[op]) for op, piece in hunk.words)
    else:
        removed = f"Removed: {_marked(hunk.before, '~~', '~~')}"
        yield f"Added: {hunk.after}" if hunk.change == "added" else removed


def lines_of(hunk: Hunk) -> Sequence[str]:
    """The lines of a code block or table as a diff; every line of one that was added or removed."""
    mark = "+" if hunk.change == "added" else "-"
    return hunk.lines or [f"{mark}{line}" for line in (hunk.after or hunk.before).splitlines()]


def _marked(piece: str, begin: str, end: str) -> str:
    if not (text := piece.strip()):
        return piece
    lead, tail = piece.split(text, 1)
    return f"{lead}{begin}{text}{end}{tail}"


def as_dict(changes: SourceChanges) -> dict[str, Any]:
    """All of it, ready for JSON."""
    return {
        "source": changes.source,
        "since": changes.since,
        "until": changes.until,
        "counts": {kind: changes.count(kind) for kind in MARKS},
        "noise": {"pages": changes.noise, "lines": dict(changes.folded.most_common())},
        "pages": [
            {
                name: value
                for name, value in dataclasses.asdict(page).items()
                if name not in {"kind", "order"}
            }
            | {"change": page.kind, "in_words": in_words(page)}
            for page in changes.pages
        ],
    }


def html(changes: SourceChanges, *, summary: bool = False) -> str:
    """Return the page."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # for this format only

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["link"] = lambda url: url.startswith(("https://", "http://"))
    source = (
        files("llmsspider.changes").joinpath("assets", "diff.html.j2").read_text(encoding="utf-8")
    )
    return environment.from_string(source).render(
        changes=changes,
        summary=summary,
        headline=headline(changes),
        folded=folded_in_words(changes),
        in_words=in_words,
        lines=lines_of,
    )


# An Atom feed (RFC 4287): an entry for each page, the latest first.

ATOM = "http://www.w3.org/2005/Atom"
_ID = f"{{{ATOM}}}id"
MAX_ENTRIES = 300  # entries that the feed holds; the oldest give way
MAX_PER_RUN = 100  # pages of one run with an entry of their own; one entry counts the others
MAX_HUNKS = 30  # changes inside of a page that its entry shows
MAX_TEXT = 2_000  # characters shown of a block


class NotAFeedError(ValueError):
    """The file that is to be replaced is no feed of this source."""


def updated_feed(existing: bytes | None, changes: SourceChanges, url: str, now: datetime) -> bytes:
    """Return the feed with the changes in front of the entries that it has; those that it has
    already stay as they are.

    `existing` is the feed as it is, None makes a new one; `url` is where the source starts. Raises
    `NotAFeedError`
    for something else, or the feed of another source.
    """
    feed_id = f"urn:llmsspider:{quote(changes.source, safe='')}"
    at = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    feed = etree.Element(f"{{{ATOM}}}feed", nsmap={None: ATOM})
    _add(feed, "id", feed_id)
    _add(feed, "title", f"Changes of {changes.source}")
    _add(feed, "subtitle", headline(changes))
    _add(feed, "updated", at)
    _add(feed, "link", rel="alternate", href=url)
    _add(_add(feed, "author"), "name", changes.source)
    _add(feed, "generator", "llmsspider")
    earlier = _earlier(existing, feed_id) if existing else []
    known = {entry.findtext(_ID) for entry in earlier}
    entries = [entry for entry in _new(changes, feed_id, at) if entry.findtext(_ID) not in known]
    feed.extend([*entries, *earlier][:MAX_ENTRIES])
    etree.indent(feed)
    written: bytes = etree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return written


def _earlier(existing: bytes, feed_id: str) -> list[etree._Element]:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_blank_text=True
    )
    try:
        root = etree.fromstring(existing, parser)
    except etree.XMLSyntaxError as error:
        raise NotAFeedError(f"it is no XML ({error.msg})") from None
    if root.tag != f"{{{ATOM}}}feed":
        raise NotAFeedError("it is no Atom feed")
    if (found := root.findtext(_ID)) != feed_id:
        raise NotAFeedError(f"it is the feed {found!r}, not {feed_id!r}")
    entries: list[etree._Element] = root.findall(f"{{{ATOM}}}entry")
    return entries


def _new(changes: SourceChanges, feed_id: str, at: str) -> Iterator[etree._Element]:
    ordered = sorted(changes.pages, key=lambda page: page.kind == "new")  # new pages may be many
    for page in ordered[:MAX_PER_RUN]:
        entry = _entry(f"{feed_id}:{page.seq}", f"{page.kind.title()}: {page.title}", at)
        _add(entry, "link", rel="alternate", href=page.url)
        _add(entry, "category", term=page.kind)
        _add(entry, "category", term=page.section, label="section")
        if words := in_words(page):
            _add(entry, "summary", "; ".join(words))
        parts = [f"<p>{markupsafe.escape(one)}</p>" for one in words]
        parts += [piece for hunk in page.hunks[:MAX_HUNKS] for piece in _hunk_html(hunk)]
        if len(page.hunks) > MAX_HUNKS:
            parts.append(f"<p>{len(page.hunks) - MAX_HUNKS} more changes</p>")
        _add(entry, "content", "".join(parts) or f"<p>{page.kind}</p>", type="html")
        yield entry
    if (left := len(ordered) - MAX_PER_RUN) > 0:
        number = f"{changes.since}-{changes.until}:more"
        entry = _entry(f"{feed_id}:{number}", f"{left} more pages: {headline(changes)}", at)
        _add(entry, "content", "scrapy diff has all of them")
        yield entry


def _entry(name: str, title: str, at: str) -> etree._Element:
    entry = etree.Element(f"{{{ATOM}}}entry", nsmap={None: ATOM})
    _add(entry, "id", name)
    _add(entry, "title", title)
    _add(entry, "updated", at)
    return entry


def _hunk_html(hunk: Hunk) -> Iterator[str]:
    if hunk.headings:
        yield f"<h4>{markupsafe.escape(' › '.join(hunk.headings))}</h4>"
    if hunk.is_whole:
        yield f"<pre>{markupsafe.escape(chr(10).join(lines_of(hunk))[:MAX_TEXT])}</pre>"
        return
    tags = {"equal": ("", ""), "delete": ("<del>", "</del>"), "insert": ("<ins>", "</ins>")}
    block: Words = (("delete", hunk.before[:MAX_TEXT]), ("insert", hunk.after[:MAX_TEXT]))
    pieces = ((tags[op], piece) for op, piece in hunk.words or block if piece)
    yield (
        f"<p>{''.join(f'{begin}{markupsafe.escape(piece)}{end}' for (begin, end), piece in pieces)}</p>"
    )


def _add(
    parent: etree._Element, name: str, text: str | None = None, **attributes: str
) -> etree._Element:
    """Add an element, its texts without what XML has no form for."""
    given = {key: xml_text(value) for key, value in attributes.items()}
    made = etree.SubElement(parent, f"{{{ATOM}}}{name}", given)
    made.text = None if text is None else xml_text(text)
    return made
