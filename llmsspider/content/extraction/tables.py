"""Tables as plain grids: spans filled, cells on one line, a header row; listings and layout recognised."""

from __future__ import annotations

import re

from lxml.etree import XPath, _Element

from llmsspider.content.extraction import code
from llmsspider.content.extraction.formats import Items
from llmsspider.content.extraction.rules import GRIDS, Kind
from llmsspider.content.extraction.tree import inner_text
from llmsspider.content.extraction.walk import BLOCK_KINDS, BLOCK_TAGS, Walk, converts

_ROWS = XPath("tr | thead/tr | tbody/tr | tfoot/tr", smart_strings=False)
_CELL_TAGS = frozenset({"td", "th"})
_HEAD_ROWS = XPath("count(thead/tr)")
_ALIGN = re.compile(
    r"text-align\s*:\s*(left|right|center)|(?:^|\s)(?:text-|has-text-align-|align-|halign-)(right|center)(?=\s|$)"
)
_LISTINGS = (
    "highlighttable",
    "rouge-table",
    "lntable",
    "codehilitetable",
    "hljs-ln",
    "js-file-line-container",
    "blob-wrapper",
    "linenodiv-table",
)
_SPACE = re.compile(r"\s+")
_MAX_SPAN = 50
MAX_SPREAD = 8
"""Places of a grid for each cell that fills it; a table that would need more is taken apart, cell by cell."""
_SMALL_GRID = 10_000
"""Places that a grid may have whatever fills them."""


@converts(BLOCK_TAGS, "table")
def table(walk: Walk, element: _Element) -> list[str]:
    """Return a `<table>` as blocks: a listing, unwrapped layout, or a table."""
    listing = _listing(element)
    if listing is not None:
        name = element.find(".//th")
        titled = name is not None and "filename" in (name.get("class") or "")
        title = [walk.format.paragraph([walk.line(name)])] if name is not None and titled else []
        return [*title, walk.code_block(listing, _language_holder(element))] if listing else []
    rows = _ROWS(element)
    classes = element.get("class") or ""
    if "memberdecls" in classes:
        return _members(walk, rows)
    if "colist" in (parent_class(element) or ""):
        return _callouts(walk, rows)
    if not rows or _is_layout(element, rows):
        return [block for cell in _layout_cells(element, rows) for block in walk.blocks(cell)]
    caption = element.find("caption")
    found = []
    if caption is not None and (line := walk.line(caption)):
        found.append(walk.format.paragraph([line]))
    grid = _expand(rows)
    if grid is None:
        return found + [block for cell in _layout_cells(element, rows) for block in walk.blocks(cell)]
    return found + _grid(walk, element, rows, grid)


@converts(BLOCK_KINDS, Kind.GRID)
def grid(walk: Walk, element: _Element) -> list[str]:
    """Return a table whose cells are the children of one `<div>`, the first row its header."""
    columns = next(GRIDS[name] for name in (element.get("class") or "").split() if name in GRIDS)
    cells = list(element)
    made = element.makeelement("table", {})
    for start in range(0, len(cells), columns):
        row = made.makeelement("tr", {})
        for cell in cells[start : start + columns]:
            cell.tag = "td" if start else "th"
            row.append(cell)
        made.append(row)
    return table(walk, made)


def _listing(element: _Element) -> str | None:
    """Return the code of a table that only sets line numbers beside code, or None."""
    classes = element.get("class") or ""
    marked = any(mark in classes for mark in _LISTINGS)
    pres = list(element.iter("pre"))
    if pres:
        rows = _ROWS(element)
        cells = _cells(rows[0]) if len(rows) == 1 else []
        beside = len(cells) == 2 and not any(letter.isalpha() for letter in inner_text(cells[0]))
        return code.code_text(pres[-1]) if marked or (beside and len(pres) <= 2) else None
    return code.code_text(element) if marked else None


def _language_holder(element: _Element) -> _Element:
    pres = list(element.iter("pre"))
    return pres[-1] if pres else element


def _is_layout(element: _Element, rows: list[_Element]) -> bool:
    if element.get("role") in {"presentation", "none"}:
        return True
    if next(element.iter("th"), None) is not None:
        return False
    widest = max(len(_cells(row)) for row in rows)
    return (
        widest <= 1
        or next(element.iterdescendants("table", "h1", "h2", "h3"), None) is not None
        or _is_columns_of_a_list(rows)
    )


def _is_columns_of_a_list(rows: list[_Element]) -> bool:
    """Return True for one row whose cells are lists: one long list, set in columns."""
    cells = [cell for cell in _cells(rows[0]) if len(cell)] if len(rows) == 1 else []
    return bool(cells) and all(part.tag in {"ul", "ol"} for cell in cells for part in cell)


def _cells(row: _Element) -> list[_Element]:
    return [cell for cell in row if cell.tag in _CELL_TAGS]


def _layout_cells(element: _Element, rows: list[_Element]) -> list[_Element]:
    return [cell for row in rows for cell in _cells(row)] if rows else [element]


def _grid(
    walk: Walk, element: _Element, rows: list[_Element], grid: list[list[_Element | None]]
) -> list[str]:
    header = int(_HEAD_ROWS(element)) > 0 or all(cell.tag == "th" for cell in _cells(rows[0]))
    width = max((len(row) for row in grid), default=0)
    if not width:
        return []
    texts = [[_cell(walk, cell) for cell in [*row, *[None] * (width - len(row))]] for row in grid]
    if not any(any(row) for row in texts):
        return []
    texts = [row for place, row in enumerate(texts) if any(row) or (header and not place)]
    if not header:
        texts.insert(0, [""] * width)
    used = [column for column in range(width) if any(row[column] for row in texts)]
    texts = [[row[column] for column in used] for row in texts]
    first = grid[0]
    align = [_align(first[column]) if column < len(first) else "" for column in used]
    return [walk.format.table(texts, align)]


def parent_class(element: _Element) -> str | None:
    """Return the class of the parent element."""
    parent = element.getparent()
    return None if parent is None else parent.get("class")


def _callouts(walk: Walk, rows: list[_Element]) -> list[str]:
    """Return AsciiDoc's callout list (a table of number and text) as a numbered list."""
    texts = [walk.format.paragraph([walk.line(cells[-1])]) for row in rows if (cells := _cells(row))]
    return (
        [walk.format.items(Items([[text] for text in texts], list(range(1, len(texts) + 1))))]
        if texts
        else []
    )


def _members(walk: Walk, rows: list[_Element]) -> list[str]:
    """Return Doxygen's table of member declarations: headings, and tables of type, member and brief description."""
    found: list[str] = []
    members: list[list[str]] = []
    template = ""
    for row in rows:
        cells = _cells(row)
        classes = " ".join(cell.get("class") or "" for cell in cells)
        texts = [_cell(walk, cell) for cell in cells]
        if next(row.iter("h2", "h3"), None) is not None:
            found += _member_table(walk, members) + walk.blocks(cells[0] if cells else row)
            members = []
        elif "memTemplParams" in classes:
            template = " ".join(texts)
        elif "memItem" in classes or "memTempl" in classes:
            kind, member = (["", *texts] if len(texts) < 2 else texts)[:2]
            members.append([kind, f"{template} {member}".strip(), ""])
            template = ""
        elif "mdescRight" in classes and members:
            members[-1][2] = texts[-1]
    return found + _member_table(walk, members)


def _member_table(walk: Walk, members: list[list[str]]) -> list[str]:
    """Return members as a table without its empty columns."""
    used = [column for column in range(3) if any(member[column] for member in members)]
    if not used:
        return []
    rows = [[""] * len(used), *([member[column] for column in used] for member in members)]
    return [walk.format.table(rows, [""] * len(used))]


def _cell(walk: Walk, cell: _Element | None) -> str:
    if cell is None:
        return ""
    line = walk.format.line(walk.run(cell))
    return _SPACE.sub(_line_break, line) if "\n" in line else line


def _line_break(space: re.Match[str]) -> str:
    return "\n" if "\n" in space[0] else space[0]


def _align(cell: _Element | None) -> str:
    if cell is None or not cell.attrib:
        return ""
    if (side := (cell.get("align") or "").lower()) in {"left", "right", "center"}:
        return side
    found = _ALIGN.search(f"{cell.get('style') or ''} {cell.get('class') or ''}")
    return (found.group(1) or found.group(2)) if found else ""


def _expand(rows: list[_Element]) -> list[list[_Element | None]] | None:
    """Return the rows with one entry per column: the cell where it starts, None where its span continues.

    Returns None if spans make the grid much larger than the number of cells (`MAX_SPREAD`).
    """
    most = max(_SMALL_GRID, MAX_SPREAD * sum(len(row) for row in rows))
    places = width_of_all = 0
    grid: list[list[_Element | None]] = []
    pending: dict[int, int] = {}
    for row in rows:
        cells: list[_Element | None] = []
        for cell in _cells(row):
            _skip_spanned(cells, pending)
            width, height = _span(cell, "colspan"), _span(cell, "rowspan")
            for offset in range(width):
                pending[len(cells) + offset] = height - 1
            cells += [cell, *[None] * (width - 1)]
            if places + len(cells) > most:
                return None
        _skip_spanned(cells, pending)
        if cells:
            grid.append(cells)
            places += len(cells)
            width_of_all = max(width_of_all, len(cells))
            if max(places, width_of_all * len(grid)) > most:
                return None
    return grid


def _skip_spanned(cells: list[_Element | None], pending: dict[int, int]) -> None:
    while pending.get(len(cells)):
        pending[len(cells)] -= 1
        cells.append(None)


def _span(cell: _Element, name: str) -> int:
    value = cell.get(name) or "1"
    return min(int(value), _MAX_SPAN) if value.isdigit() and int(value) > 0 else 1
