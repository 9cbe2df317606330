"""Changes as text for a terminal, Markdown, JSON, and one HTML page that loads nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from llmsspider.changes.compare import Hunk
from llmsspider.changes.source import PageChange, SourceChanges
from llmsspider.content.extraction.formats import escape
from llmsspider.content.markdown.commonmark import fence_for

if TYPE_CHECKING:
    from jinja2 import Template

MARKS = {"new": "+", "changed": "~", "moved": ">", "deleted": "-"}
MAX_FOLDED = 5
"""Folded lines that are shown by name."""
MAX_BLOCK = 400
"""Characters shown of a block of text that was added or removed."""


def headline(changes: SourceChanges) -> str:
    """How many pages changed in which way, on one line."""
    counts = [
        f"{changes.count(kind)} {kind}"
        for kind in ("new", "changed", "moved", "deleted")
        if changes.count(kind)
    ]
    line = ", ".join(counts) or "no changes"
    if changes.noise:
        line += f"; {changes.noise} page{'s' * (changes.noise != 1)} with new dates and counters only"
    return line


def in_words(page: PageChange) -> list[str]:
    """What a reader should know of a page, the most important first; each a few words."""
    found = []
    if page.kind == "deleted":
        return [page.reason.replace("-", " ")] if page.reason else []
    if page.moved_from:
        found.append(f"was {page.moved_from}")
    found += [f"deprecated: {sentence}" for sentence in page.names.deprecated[:2]]
    for label, names in (("new", page.names.appeared), ("gone", page.names.vanished)):
        if names:
            more = f" and {len(names) - 6} more" if len(names) > 6 else ""
            found.append(f"{label}: {', '.join(f'`{name}`' for name in names[:6])}{more}")
    if page.title_before:
        found.append(f"title was {page.title_before}")
    if page.hunks and page.kind != "new":
        found.append(blocks_in_words(page.hunks))
    elif page.shifted:
        found.append(f"{page.shifted} blocks stand elsewhere")
    if page.unknown:
        found.append(page.unknown)
    if page.remade:
        found.append("made by another version of llmsspider: the site may have changed nothing")
    return found


def blocks_in_words(hunks: Iterable[Hunk]) -> str:
    """How many blocks came, went and changed."""
    counts = dict.fromkeys(("added", "changed", "removed"), 0)
    for hunk in hunks:
        counts[hunk.change] += 1
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def text(changes: SourceChanges, *, summary: bool = False) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"{changes.source}: {headline(changes)}"
    for section, pages in changes.by_section().items():
        yield ""
        yield section
        for page in pages:
            yield f"  {MARKS[page.kind]} {page.title}  {page.url}"
            yield from (f"      {words}" for words in in_words(page))
    if changes.folded:
        yield ""
        yield f"folded: {folded_in_words(changes)}"
    if summary:
        return
    for page in changes.pages:
        if page.hunks:
            yield ""
            yield f"=== {page.title}  {page.url}"
            for hunk in page.hunks:
                yield from _hunk_text(hunk)


def folded_in_words(changes: SourceChanges) -> str:
    """The lines that change every time, the most frequent first, with the number of their pages."""
    lines = [f"{line[:100]!r} ({count})" for line, count in changes.folded.most_common(MAX_FOLDED)]
    more = len(changes.folded) - MAX_FOLDED
    return ", ".join(lines) + (f" and {more} more" if more > 0 else "")


def _hunk_text(hunk: Hunk) -> Iterator[str]:
    yield ""
    if hunk.headings:
        yield f"  {' > '.join(hunk.headings)}"
    if hunk.is_whole:
        yield from (f"    {line}" for line in lines_of(hunk))
    elif hunk.words:
        yield "  ~ " + "".join(
            {"equal": piece, "delete": f"[-{piece}-]", "insert": f"{{+{piece}+}}"}[op]
            for op, piece in hunk.words
        )
    else:
        mark, block = ("+", hunk.after) if hunk.change == "added" else ("-", hunk.before)
        yield f"  {mark} {_cut(block)}"


def _cut(block: str) -> str:
    return block if len(block) <= MAX_BLOCK else block[: MAX_BLOCK - 1] + "…"


def markdown(changes: SourceChanges, *, summary: bool = False) -> Iterator[str]:
    """Yield the lines of a Markdown document."""
    yield f"# Changes of {changes.source}"
    yield ""
    yield f"{headline(changes)}."
    for section, pages in changes.by_section().items():
        yield ""
        yield f"## {section}"
        yield ""
        for page in pages:
            words = in_words(page)
            yield f"- **{page.kind}** [{escape(page.title)}]({page.url})" + (
                f": {'; '.join(words)}" if words else ""
            )
    if changes.folded:
        yield ""
        yield f"Folded, since it changes every time: {folded_in_words(changes)}"
    detailed = [] if summary else [page for page in changes.pages if page.hunks]
    yield from ["", "## In detail"] if detailed else []
    for page in detailed:
        yield ""
        yield f"### [{escape(page.title)}]({page.url})"
        for hunk in page.hunks:
            yield ""
            yield from _hunk_markdown(hunk)


def _hunk_markdown(hunk: Hunk) -> Iterator[str]:
    if hunk.headings:
        yield f"*{' › '.join(hunk.headings)}*"
        yield ""
    if hunk.is_whole:
        lines = lines_of(hunk)
        fence = fence_for("\n".join(lines))
        yield f"{fence}diff"
        yield from lines
        yield fence
    elif hunk.words:
        marks = {"equal": ("", ""), "delete": ("~~", "~~"), "insert": ("**", "**")}
        yield "".join(_marked(piece, *marks[op]) for op, piece in hunk.words)
    elif hunk.change == "added":
        yield f"Added: {hunk.after}"
    else:
        yield f"Removed: {_marked(hunk.before, '~~', '~~')}"


def lines_of(hunk: Hunk) -> Sequence[str]:
    """The lines of a code block or table as a diff; every line of one that was added or removed."""
    mark = "+" if hunk.change == "added" else "-"
    return hunk.lines or [f"{mark}{line}" for line in (hunk.after or hunk.before).splitlines()]


def _marked(piece: str, begin: str, end: str) -> str:
    """Return a piece with its emphasis inside of the white space at its ends."""
    stripped = piece.strip()
    if not begin or not stripped:
        return piece
    lead = piece[: len(piece) - len(piece.lstrip())]
    return f"{lead}{begin}{stripped}{end}{piece[len(piece.rstrip()) :]}"


def as_dict(changes: SourceChanges) -> dict[str, Any]:
    """All of it, ready for JSON."""
    return {
        "source": changes.source,
        "since": changes.since,
        "until": changes.until,
        "counts": {kind: changes.count(kind) for kind in MARKS},  # type: ignore[arg-type]
        "noise": {"pages": changes.noise, "lines": dict(changes.folded.most_common())},
        "pages": [page_dict(page) for page in changes.pages],
    }


def page_dict(page: PageChange) -> dict[str, Any]:
    """One page, ready for JSON."""
    found = dataclasses.asdict(page)
    found["change"] = found.pop("kind")
    found.pop("order")
    found["in_words"] = in_words(page)
    return found


def html(changes: SourceChanges, *, summary: bool = False) -> str:
    """Return the page."""
    return _template().render(
        changes=changes,
        summary=summary,
        headline=headline(changes),
        folded=folded_in_words(changes),
        in_words=in_words,
        lines=lines_of,
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415  # for this format only

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["link"] = lambda url: url.startswith(("https://", "http://"))
    source = files("llmsspider.changes").joinpath("assets", "diff.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)
