"""All pages in one Markdown file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

from llmsspider.chunking import Count, tokens
from llmsspider.exports.sitetree import Order, SiteTree
from llmsspider.store import CONTENT, PageRecord, Store


@dataclass(slots=True, frozen=True)
class Flattened:
    """How many pages were written and left out, and the size of the whole by the counter used."""

    written: int
    left_out: int
    size: int


def write_flat(
    store: Store, out: BinaryIO, *, order: Order = "breadth", budget: int | None = None, count: Count = tokens
) -> Flattened:
    """Write what the source says of itself, then page after page, each with a `Source:` line below its title.

    The page that would exceed `budget` and those after it are left out.
    """
    source = store.source_record()
    introduction = source.introduction if source else ""
    written, size = 0, count(introduction) if introduction else 0
    if budget is not None and size > budget:
        introduction, size = "", 0
    out.write(introduction.encode("utf-8", "replace"))
    tree = SiteTree(store)
    for _, _, record in tree.pages(order, CONTENT):
        text = page_text(record)
        needed = count(text)
        if budget is not None and size + needed > budget:
            break
        out.write(text.encode("utf-8", "replace"))
        written, size = written + 1, size + needed
    return Flattened(written, len(tree) - written, size)


def page_text(record: PageRecord) -> str:
    """A page in the file: its own title or, where the text has none, that of the document; then `Source:`."""
    content = (record.content or "").strip("\n")
    first, _, rest = content.partition("\n")
    if not first.startswith("# "):
        first, rest = f"# {' '.join((record.title or record.url).split())}", content
    return f"{first}\n\nSource: {record.url}\n\n{rest.strip(chr(10))}\n\n"
