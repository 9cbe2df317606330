"""Changes as text for a terminal, as Markdown, and as JSON."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from llmsspider.content.extraction.formats import escape
from llmsspider.content.markdown.commonmark import fence_for
from llmsspider.diff.compare import Hunk
from llmsspider.diff.source import Kind, PageChange, SourceChanges
from llmsspider.items import THIRD_PARTY

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
    if changes.pages:
        yield THIRD_PARTY
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
    yield f"# Changes of {changes.source}\n\n{headline(changes)}.\n\n{THIRD_PARTY}"
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
