"""What the MCP server answers: tools over a library, without the SDK (docs/how-to/mcp.md).

Text of pages is third-party data: it stands behind a line that says so, and nothing in it is read
by this program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from pydantic import Field

from llmsspider.answers.fragments import slug
from llmsspider.answers.library import Library
from llmsspider.answers.ranking import GAP, SearchResults, excerpt, licences_of, section_of
from llmsspider.answers.words import parse_query
from llmsspider.content.markdown.sections import Block
from llmsspider.errors import SearchError
from llmsspider.items import THIRD_PARTY
from llmsspider.store import OUTLINE, PageRecord, Store
from llmsspider.web.trees import tree_of

MAX_READ = 50_000
MAX_LINES = 200
"""Maximum number of characters of a page, and of pages of an outline and of changes, in one answer.
"""

MIN_SHOWN = 300  # characters of a passage that are shown however few tokens are left
CHARS_A_TOKEN = 4  # characters of English text and code that a token of a model stands for, about

_HEADING = re.compile(r"^#{1,3} (.*)$", re.MULTILINE)
Answer = tuple[
    Any, str
]  # an answer of a tool: a value for programs, and the same as text for a model
Tool = Callable[..., Answer]  # what a tool does; clients see its name, parameters and docstring
Limit = Annotated[int, Field(ge=1, le=50)]
Offset = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1, le=MAX_READ)]
Tokens = Annotated[int, Field(ge=200, le=20_000)]


@dataclass(slots=True, frozen=True)
class Tools:
    """The tools that read; their docstrings are for clients."""

    library: Library

    def list_sources(self) -> Answer:
        """List the crawled documentation: name, address, number of pages, when it was crawled."""
        found: list[dict[str, Any]] = [
            {
                "name": one.name,
                "url": one.url,
                "pages": one.pages,
                "status": one.status,
                "version": _version(one.name, one.url),
                "crawled_at": one.crawled_at and one.crawled_at.isoformat(timespec="seconds"),
            }
            for one in self.library.records()
        ]
        lines = [
            f"{one['name']}{_of_version(one['version'])}: {one['pages']} pages of {one['url']} "
            f"({one['status']}, crawled {one['crawled_at'] or 'never'})"
            for one in found
        ]
        lines += self.library.problems
        return {"sources": found}, "\n".join(lines) or "Nothing has been crawled yet."

    def search(  # noqa: PLR0917  # clients give them by name
        self,
        query: str,
        source: str | None = None,
        section: str | None = None,
        kind: Literal["code"] | None = None,
        limit: Limit = 5,
        max_tokens: Tokens = 6000,
    ) -> Answer:
        """Find passages that answer a question or name an identifier, best page first.

        query: words, "exact phrases", identifiers. source: of list_sources (name@3.1 or name@>=3 <4
            for a version), default all.
        section: of the outline. kind: "code" for code alone. max_tokens: of all passages together.
        """
        found = self.library.search(query, source, section=section, kind=kind, limit=limit)
        return self._shown(found, max_tokens)

    def similar(self, page: str, limit: Limit = 5) -> Answer:
        """Find the pages of its source that are most like a page, named by its url or page_id."""
        source, record = self.library.page(page)
        query = " ".join(
            [record.title or "", record.description or "", *_HEADING.findall(record.content or "")]
        )
        found = self.library.search(query, source, limit=min(limit + 1, 50))
        others = [one for one in found.results if one.page_id != record.id][:limit]
        return self._shown(replace(found, results=others, note=None), 200 * limit)

    def _shown(self, found: SearchResults, max_tokens: int) -> Answer:
        """The results as far as the tokens reach; a passage that is cut says where to read on."""
        room = max_tokens * CHARS_A_TOKEN
        results = []
        for result in found.results:
            size = max(room, MIN_SHOWN)
            begin = 0
            text = result.text
            if len(text) > size:
                begin, _, text = excerpt(text, 0, len(text), parse_query(found.query), size)
            begin = 0 if GAP in result.text else begin
            results.append(replace(result, text=text, offset=result.offset + begin))
            room -= len(text)
        data = {"query": found.query, "note": found.note, "results": results}
        if not results:
            return data, found.note or "Nothing found."
        parts = [THIRD_PARTY if found.note is None else f"Note: {found.note}.\n{THIRD_PARTY}"]
        for place, result in enumerate(results, 1):
            lines = [
                f"[{place}] {result.heading}",
                (
                    f"{result.url}"
                    f" ({_origin(result.source, result.url, result.fetched_at, result.licences)})"
                ),
                f"read on: read_page(page={result.page_id!r}, offset={result.offset})",
                *([f"also on this page: {'; '.join(result.more)}"] if result.more else []),
                *([f"the same text: {', '.join(result.also[:3])}"] if result.also else []),
                "",
            ]
            parts.append("\n".join([*lines, *(f"> {line}" for line in result.text.splitlines())]))
        return data, "\n\n".join(parts)

    def content(self, page: str) -> str:
        """The Markdown of a page, whole."""
        return self.library.page(page)[1].content or ""

    def read_page(
        self,
        page: str,
        heading: str | None = None,
        offset: Offset = 0,
        max_chars: Size = 8000,
    ) -> Answer:
        """Read a page as Markdown. page: its url (with #fragment: that section) or page_id.

        heading: the section to read. offset: the character to begin at (see next_offset).
        """
        source, record = self.library.page(page)
        content = record.content or ""
        fragment = "" if "#" in record.url else page.partition("#")[2]
        wanted = unquote(heading or fragment.partition(":~:")[0]).strip()
        first = 0
        last = len(content)
        if wanted:
            first, last = _section(self.library.headings(source, record), wanted, last)
        start = max(first, min(offset, last))
        end = min(start + max_chars, last)
        if end < last:  # at the end of a line in the last quarter, if it can
            end = content.rfind("\n", start + max_chars * 3 // 4, end) + 1 or end
        following = end if end < last else None
        licences = licences_of(record, self.library.at_hand(source).record)
        data = {
            "url": record.url,
            "title": record.title or record.url,
            "source": source,
            "page_id": record.id,
            "fetched_at": record.fetched_at,
            "licences": licences,
            "offset": start,
            "end": end,
            "total": len(content),
            "next_offset": following,
            "content": content[start:end],
        }
        read_on = f"; read on with offset={following}" if following is not None else ""
        head = (
            f"{data['title']}\n{record.url}"
            f" ({_origin(source, record.url, record.fetched_at, licences)})\ncharacters {start} to"
            f" {end} of {len(content)}{read_on}\n{THIRD_PARTY}\n\n"
        )
        return data, head + content[start:end]

    def outline(self, source: str, section: str | None = None, offset: Offset = 0) -> Answer:
        """List the pages of a source, or of a section of it, by section, in the site's own order."""
        opened = self.library.open(source)
        records = [one.record for one in opened.store.iter_pages("url", OUTLINE)]
        records.sort(key=lambda one: one.llms.order if one.llms else math.inf)
        every = [_entry(record) for record in records]
        wanted = (section or "").casefold()
        entries = [entry for entry in every if wanted in entry["section"].casefold()]
        data, following = _listing(opened.name, entries, offset)
        version = _version(opened.name, records[0].url) if records else None
        lines = [f"{len(entries)} pages of {opened.name}{_of_version(version)}", THIRD_PARTY]
        for named, of_section in groupby(data["entries"], lambda entry: entry["section"]):
            lines += [f"\n{named}", *map(_line, of_section)]
        if not entries:
            there = dict.fromkeys(entry["section"] for entry in every)
            lines += [f"sections: {'; '.join([*there][:MAX_LINES])}"]
        return data, "\n".join([*lines, *(f"\n{line}" for line in following)])

    def changes(self, source: str | None = None, since: str = "last", offset: Offset = 0) -> Answer:
        """List pages new, changed or deleted since a change number, a date (2026-11-01), or "last"
        (the last crawl).

        source: default all.
        """
        sources = self.library.opened(source)
        names = [opened.name for opened in sources]
        found = []
        for opened in sources:
            found += [
                {
                    "seq": one.seq,
                    "change": one.change,
                    "title": one.record.title or one.record.url,
                    "url": one.record.url,
                    "source": opened.name,
                }
                for one in opened.store.changes_since(_since(opened.store, since.strip()))
            ]
        data, following = _listing(source and names[0], found, offset)
        lines = [
            f"{one['seq']} {one['change']}: {one['title']} {one['url']}" for one in data["entries"]
        ]
        head = f"{len(found)} changes of {', '.join(names)} since {since}"
        return data, "\n".join([head, THIRD_PARTY, *lines, *following])


READING = ("list_sources", "search", "similar", "read_page", "outline", "changes")
"""The names of the tools."""


def _since(store: Store, since: str) -> int:
    """The number of the last change before a number, date or run; raises `SearchError`."""
    if since.isascii() and since.isdigit() and len(since) < 19:
        return int(since)
    runs = store.runs()
    if since == "last":
        return runs[-1].seq_before if runs else 0
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        accepted = "accepted are a change number, a date such as 2026-11-01, and 'last'"
        raise SearchError(f"since={since[:50]!r}: {accepted}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return next((run.seq_before for run in runs if run.started_at >= moment), store.last_seq())


def _line(entry: Mapping[str, Any]) -> str:
    about = f" ({entry['description']})" if entry["description"] else ""
    return f"- {entry['title']}: {entry['url']}{about}"


def _entry(record: PageRecord) -> dict[str, Any]:
    """The entry of an outline for a page."""
    noted = record.llms
    about = (noted and noted.description) or record.description
    return {
        "section": section_of(record),
        "title": record.title or record.url,
        "url": record.url,
        "page_id": record.id,
        "description": about and about[:160],
    }


def _listing(
    source: str | None, entries: Sequence[dict[str, Any]], offset: int
) -> tuple[dict[str, Any], list[str]]:
    start = offset
    end = offset + MAX_LINES
    following = end if end < len(entries) else None
    data = {
        "source": source,
        "entries": entries[start:end],
        "total": len(entries),
        "next_offset": following,
    }
    return data, [f"read on with offset={following}"] if following is not None else []


def _section(
    headings: Sequence[tuple[Block, str | None]], wanted: str, end: int
) -> tuple[int, int]:
    """Where the section of a heading, named by its fragment or its text, begins and ends.

    Raises `SearchError`, with the headings that there are, for one that there is not.
    """
    name = slug(wanted.rpartition(" > ")[2])
    equal = (
        lambda head, fragment: fragment == wanted,
        lambda head, _: head.text == wanted,
        lambda head, _: slug(head.text) == name,
    )
    for is_equal in equal:
        for place, (head, fragment) in enumerate(headings):
            if is_equal(head, fragment):
                later = (one.start for one, _ in headings[place + 1 :] if one.level <= head.level)
                return head.start, next(later, end)
    nearest = sorted((head for head, _ in headings), key=lambda head: name not in slug(head.text))
    there = "; ".join(head.text for head in nearest[:20]) or "none"
    raise SearchError(f"the page has no heading {wanted[:100]!r}; it has: {there}")


def _version(source: str, url: str) -> str | None:
    return source.partition("@")[2] or tree_of(url).get("version")


def _of_version(version: str | None) -> str:
    return f", version {version}" if version else ""


def _origin(source: str, url: str, fetched_at: str, licences: Sequence[str]) -> str:
    """What an agent may want to know of a page: its source and version, when it was checked, its
    licences.
    """
    with suppress(ValueError):
        days = (datetime.now(UTC) - datetime.fromisoformat(fetched_at)).days
        fetched_at += ", today" if days < 1 else f", {days} days ago" if days > 1 else ", a day ago"
    version = _version(source, url)
    parts = [
        f"source {source}",
        *([f"version {version}"] if version else []),
        f"checked {fetched_at}",
    ]
    return ", ".join([*parts, *([f"licence {' and '.join(licences)}"] if licences else [])])
