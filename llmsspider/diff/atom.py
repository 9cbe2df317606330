"""Changes as an Atom feed (RFC 4287): an entry for each page, the latest first."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import markupsafe
from lxml import etree

from llmsspider.diff.compare import Hunk, Words
from llmsspider.diff.render import headline, in_words, lines_of
from llmsspider.diff.source import SourceChanges
from llmsspider.items import THIRD_PARTY
from llmsspider.web.text import xml_text

ATOM = "http://www.w3.org/2005/Atom"
_ID = f"{{{ATOM}}}id"
MAX_ENTRIES = 300  # entries that the feed holds; the oldest give way
MAX_PER_RUN = 100  # pages of one run with an entry of their own; one entry counts the others
MAX_HUNKS = 30  # changes inside of a page that its entry shows
MAX_TEXT = 2_000  # characters shown of a block


class NotAFeedError(ValueError):
    """The file that is to be replaced is no feed of this source."""


def id_of(source: str) -> str:
    """Return the id of the feed of a source."""
    return f"urn:llmsspider:{quote(source, safe='')}"


def is_of_another(source: str, file: Path) -> bool:
    """Whether a file is the feed of another source."""
    body = file.read_bytes() if file.is_file() else b""
    return b"<id>urn:llmsspider:" in body and f"<id>{id_of(source)}</id>".encode() not in body


def updated_feed(existing: bytes | None, changes: SourceChanges, url: str, now: datetime) -> bytes:
    """Return the feed with the changes in front of the entries that it has; those that it has
    already stay as they are.

    `existing` is the feed as it is, None makes a new one; `url` is where the source starts. Raises
    `NotAFeedError` for something else, or the feed of another source.
    """
    feed_id = id_of(changes.source)
    at = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    feed = etree.Element(f"{{{ATOM}}}feed", nsmap={None: ATOM})
    _add(feed, "id", feed_id)
    _add(feed, "title", f"Changes of {changes.source}")
    _add(feed, "subtitle", f"{headline(changes)}. {THIRD_PARTY}")
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
