"""The Atom feed (RFC 4287) of the changes of a source: an entry for each page, the latest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

from lxml import etree
from markupsafe import escape

from llmsspider.changes.compare import Hunk
from llmsspider.changes.render import headline, in_words, lines_of
from llmsspider.changes.source import PageChange, SourceChanges

ATOM = "http://www.w3.org/2005/Atom"
MAX_ENTRIES = 300
"""Entries that the feed holds; the oldest give way."""
MAX_PER_RUN = 100
"""Pages of one run with an entry of their own; one entry counts the others."""
MAX_HUNKS = 30
"""Changes inside of a page that its entry shows."""
MAX_TEXT = 2_000
"""Characters shown of a block."""

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {"new": "New", "changed": "Changed", "moved": "Moved", "deleted": "Deleted"}


class NotAFeedError(ValueError):
    """The file that is to be replaced is no feed of this source."""


def updated_feed(existing: bytes | None, changes: SourceChanges, url: str, now: datetime) -> bytes:
    """Return the feed with the changes in front of the entries that it has; those that it has already stay as they are.

    Args:
        existing: the feed as it is; None makes a new one.
        changes: what changed.
        url: where the source starts.
        now: the time of the changes.

    Raises:
        NotAFeedError: `existing` is something else, or the feed of another source.
    """
    feed_id = f"urn:llmsspider:{quote(changes.source, safe='')}"
    feed = _element("feed")
    _add(feed, "id", feed_id)
    _add(feed, "title", f"Changes of {changes.source}")
    _add(feed, "subtitle", headline(changes))
    _add(feed, "updated", _time(now))
    _add(feed, "link", rel="alternate", href=_text(url))
    _add(_add(feed, "author"), "name", changes.source)
    _add(feed, "generator", "llmsspider")
    earlier = _entries(existing, feed_id) if existing else []
    known = {entry.findtext(f"{{{ATOM}}}id") for entry in earlier}
    entries = [entry for entry in _new(changes, feed_id, now) if entry.findtext(f"{{{ATOM}}}id") not in known]
    feed.extend([*entries, *earlier][:MAX_ENTRIES])
    etree.indent(feed)
    written: bytes = etree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return written


def _entries(existing: bytes, feed_id: str) -> list[etree._Element]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_blank_text=True)
    try:
        root = etree.fromstring(existing, parser)
    except etree.XMLSyntaxError as error:
        raise NotAFeedError(f"it is no XML ({error.msg})") from None
    if root.tag != f"{{{ATOM}}}feed":
        raise NotAFeedError("it is no Atom feed")
    if (found := root.findtext(f"{{{ATOM}}}id")) != feed_id:
        raise NotAFeedError(f"it is the feed {found!r}, not {feed_id!r}")
    entries: list[etree._Element] = root.findall(f"{{{ATOM}}}entry")
    return entries


def _new(changes: SourceChanges, feed_id: str, now: datetime) -> Iterator[etree._Element]:
    ordered = sorted(changes.pages, key=lambda page: page.kind == "new")  # new pages may be many
    for page in ordered[:MAX_PER_RUN]:
        yield _entry(page, feed_id, now)
    if left := len(ordered) - MAX_PER_RUN:
        if left < 0:
            return
        entry = _element("entry")
        _add(entry, "id", f"{feed_id}:{changes.since}-{changes.until}:more")
        _add(entry, "title", f"{left} more pages: {headline(changes)}")
        _add(entry, "updated", _time(now))
        _add(entry, "content", "scrapy diff has all of them")
        yield entry


def _entry(page: PageChange, feed_id: str, now: datetime) -> etree._Element:
    entry = _element("entry")
    _add(entry, "id", f"{feed_id}:{page.seq}")
    _add(entry, "title", f"{_WORDS[page.kind]}: {page.title}")
    _add(entry, "updated", _time(now))
    _add(entry, "link", rel="alternate", href=_text(page.url))
    _add(entry, "category", term=page.kind)
    _add(entry, "category", term=_text(page.section), label="section")
    words = in_words(page)
    if words:
        _add(entry, "summary", "; ".join(words))
    _add(entry, "content", _html(page), type="html")
    return entry


def _html(page: PageChange) -> str:
    parts = [f"<p>{escape(words)}</p>" for words in in_words(page)]
    parts += [piece for hunk in page.hunks[:MAX_HUNKS] for piece in _hunk(hunk)]
    if len(page.hunks) > MAX_HUNKS:
        parts.append(f"<p>{len(page.hunks) - MAX_HUNKS} more changes</p>")
    return "".join(parts) or f"<p>{escape(page.kind)}</p>"


def _hunk(hunk: Hunk) -> Iterator[str]:
    if hunk.headings:
        yield f"<h4>{escape(' › '.join(hunk.headings))}</h4>"
    if hunk.is_whole:
        yield f"<pre>{escape(chr(10).join(lines_of(hunk))[:MAX_TEXT])}</pre>"
    elif hunk.words:
        tags = {"equal": ("", ""), "delete": ("<del>", "</del>"), "insert": ("<ins>", "</ins>")}
        pieces = (f"{tags[op][0]}{escape(piece)}{tags[op][1]}" for op, piece in hunk.words)
        yield f"<p>{''.join(pieces)}</p>"
    elif hunk.change == "added":
        yield f"<p><ins>{escape(hunk.after[:MAX_TEXT])}</ins></p>"
    else:
        yield f"<p><del>{escape(hunk.before[:MAX_TEXT])}</del></p>"


def _element(name: str) -> etree._Element:
    return etree.Element(f"{{{ATOM}}}{name}", nsmap={None: ATOM})


def _add(parent: etree._Element, name: str, text: str | None = None, **attributes: str) -> etree._Element:
    made = etree.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
    made.text = None if text is None else _text(text)
    return made


def _text(text: str) -> str:
    """The text without what XML has no form for."""
    return _NO_XML.sub("", text)


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
