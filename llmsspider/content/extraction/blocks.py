"""Block elements of HTML: headings, code, quotes, thematic breaks, `<details>`, forms; tables as
plain grids.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from itertools import chain, islice, pairwise
from urllib.parse import unquote

from lxml.etree import XPath, _Element

from llmsspider.content.extraction import code
from llmsspider.content.extraction.formats import Items
from llmsspider.content.extraction.rules import CONTENTS_NAMES, GRIDS, Kind, holds_title
from llmsspider.content.extraction.tree import (
    CONTROLS,
    FLATTENED,
    HEADINGS,
    IS_FRAME,
    class_names,
    collapsed,
    empty,
    holds,
    inner_text,
    letters_outside_links,
    plain_text,
    remove_elements,
    settable,
)
from llmsspider.content.extraction.walk import (
    BLOCK_KINDS,
    BLOCK_TAGS,
    BlockConverter,
    Walk,
    converts,
)

_NO_QUOTES = frozenset({"SVInsetFlow", "SInsetFlow", "SubFlow"})
"""Classes of `<blockquote>` that only set text in (Scribble)."""
_MUCH = 400
"""Letters of a `<noscript>` that says more than that scripts are needed, of a form that is more
than a form.
"""
_BADGE = re.compile(r"(?:^|[\s_-])(?:badge|label|pill|chip)(?:$|[\s_-])", re.IGNORECASE)
"""Class of a word that its style draws in a box of its own."""
_TITLE_BAR = re.compile(r"title|caption|file-?name|header", re.IGNORECASE)
_LABELS = frozenset({"doc-labels", "tsd-tag", "tsd-flag"})
"""Classes of what a heading of API documentation says of a member beside its name."""


@converts(BLOCK_TAGS, *HEADINGS)
def heading(walk: Walk, element: _Element) -> list[str]:
    """Return a heading; the first of level 1 is the title of the page."""
    outer = walk.in_heading
    own_id = heading_id(element)  # its permalink is emptied below
    walk.in_heading = True
    labels = _labels(walk, element)
    _separate_badges(element)
    _separate_lines(element)
    # VuePress: the permalink is around the text; accordions: a button is
    around = (*(element if len(element) == 1 else ()), *element.iterchildren("button"))
    inner = next(filter(None, map(walk.line, (element, *around))), "")
    walk.in_heading = outer
    if not inner:
        return []
    level = int(element.tag[1])
    text = walk.shown(element)
    block = walk.format.heading(level, inner)
    walk.headings[block] = level
    if own_id:
        walk.heading_ids.append((text, own_id))
    walk.first_heading = walk.first_heading or text
    if text.lower() in CONTENTS_NAMES:
        walk.empty.add(block)
    elif level == 1 and walk.title is None:
        walk.title = text
    return [block, *labels]


def heading_id(heading: _Element) -> str | None:
    """Return the id that leads to a heading: its own, that of its permalink or of an anchor in it,
    of the empty anchor before it, or of the section that it alone heads.
    """
    anchors = [heading, *heading.iterdescendants("a", "span")]
    before = heading.getprevious()
    if before is not None and before.tag in {"a", "span", "p"} and not _says_something(before):
        anchors += before.iter("a", "span")
    return next(filter(None, map(_anchor_of, anchors)), None) or _section_id(heading)


def _anchor_of(element: _Element) -> str | None:
    """Return the name by which links lead to an element, or the id that it leads to on its page."""
    href = element.get("href", "")
    permalink = unquote(href[1:]) if href[:1] == "#" else ""
    return element.get("id") or permalink or element.get("name")


def _section_id(heading: _Element) -> str | None:
    section = heading.getparent()
    if section is None or section.tag not in {"section", "div"} or heading.tag == "h1":
        return None
    first, second = (*islice(section.iter(*HEADINGS), 2), None)[:2]
    is_alone = second is None or second.tag > heading.tag
    return section.get("id") if first is heading and is_alone else None


def _says_something(element: _Element) -> bool:
    return bool((inner_text(element) + (element.tail or "")).strip())


def _labels(walk: Walk, heading: _Element) -> list[str]:
    """Take the labels out of the heading of a member (`property`, `Optional`), and return them as a
    paragraph.
    """
    found = [
        part for part in heading.iter("span", "code") if not _LABELS.isdisjoint(class_names(part))
    ]
    labels = heading.makeelement("p", {})
    for part in found:
        labels.append(copy(part))
        labels[-1].tail = " "
        empty(part)
    return walk.block(labels) if found else []


def _separate_lines(element: _Element) -> None:
    """Set a space between spans that are lines of a heading: the name of a project and what it is,
    on a home page.
    """
    texts = (element.text, *(child.tail for child in element))
    if any(child.tag != "span" for child in element) or any(
        text and not text.isspace() for text in texts
    ):
        return
    for child, after in pairwise(element):
        words = inner_text(after).split() if not child.tail else []
        if len(words) > 1 and words[0][0].isalnum() and inner_text(child)[-1:].isalnum():
            child.tail = " "


def _separate_badges(heading: _Element) -> None:
    """Set a space before badges that stand right behind the text or the name of a heading."""
    for badge in heading.iterchildren("span"):
        before = badge.getprevious()
        text = heading.text if before is None else before.tail or inner_text(before)
        is_behind = text and not text[-1].isspace() and not inner_text(badge)[:1].isspace()
        if is_behind and _BADGE.search(badge.get("class", "")):
            badge.text = f" {settable(badge.text)}"


@converts(BLOCK_KINDS, Kind.CODE)
@converts(BLOCK_TAGS, "pre")
def listing(walk: Walk, element: _Element) -> list[str]:
    """Return a block of code, below the title bar in it."""
    bars = [part for part in element if part.tag in FLATTENED and _is_title_bar(part)]
    titles = [block for bar in bars for block in walk.block(bar)]
    titles += [
        walk.format.paragraph([name])
        for name in map(_name_of, element.iterchildren("code"))
        if name
    ]
    for bar in bars:
        empty(bar)
    text = code.code_text(element)
    return [*titles, walk.code_block(text, element)] if text else []


def _name_of(part: _Element) -> str:
    return collapsed(part.get("name", "")).strip()


def _is_title_bar(part: _Element) -> bool:
    """Say whether a block in code names what the code right behind it is."""
    code_behind = part.getnext()
    return (
        code_behind is not None
        and code_behind.tag == "code"
        and _TITLE_BAR.search(part.get("class", "")) is not None
    )


@converts(BLOCK_TAGS, "blockquote")
def quote(walk: Walk, element: _Element) -> list[str]:
    """Return a quote."""
    inner = walk.blocks(element)
    if element.get("class") in _NO_QUOTES:
        return inner
    return [walk.format.quote(inner)] if inner else []


@converts(BLOCK_TAGS, "hr")
def rule(walk: Walk, element: _Element) -> list[str]:
    """Return a thematic break, unless it sets off footnotes."""
    around = (element, element.getparent(), element.getnext()) if walk.notes else ()
    marks = [
        f"{one.get('class')} {one.get('id')} {one.get('role')}" for one in around if one is not None
    ]
    return (
        []
        if any("footnote" in mark or "doc-endnotes" in mark for mark in marks)
        else [walk.format.rule()]
    )


@converts(BLOCK_TAGS, "details")
def details(walk: Walk, element: _Element) -> list[str]:
    """Return the blocks of a `<details>`: its summary, then its content."""
    found = []
    if (summary := element.find("summary")) is not None:
        for part in list(summary.iter("span", "div", "i")):
            if not any(map(str.isalnum, inner_text(part))) and not holds(part, "img", "svg"):
                empty(part)  # a sign that it can be opened
        if walk.drops(summary):
            pass
        elif holds(summary, *HEADINGS):
            found = walk.blocks(summary)
        elif line := walk.line(summary):
            found = [walk.format.paragraph([walk.bold(line)])]
        empty(summary)
        summary.tag = "span"
    return found + walk.blocks(element)


def _where(is_content: Callable[[_Element], bool]) -> BlockConverter:
    return lambda walk, element: walk.blocks(element) if is_content(element) else []


def _says_much(notice: _Element) -> bool:
    remove_elements(list(notice.iter("style", "script")))  # DocC: the style of one sentence
    return holds(notice, "pre") or letters_outside_links(notice) > _MUCH


converts(BLOCK_TAGS, "footer")(
    _where(lambda footer: next(footer.iterancestors()).tag in {"blockquote", "figure"})
)
converts(BLOCK_TAGS, "noscript")(_where(_says_much))
converts(BLOCK_TAGS, "button")(_where(lambda button: plain_text(button).lower() not in CONTROLS))
# navigation and the names of forms are not content
converts(BLOCK_TAGS, "nav", "legend")(lambda walk, element: [])


@converts(BLOCK_TAGS, "form")
def form(walk: Walk, element: _Element) -> list[str]:
    """Return the blocks of a form with much text, with the page in it, or with nothing to fill in."""
    is_content = (
        IS_FRAME(element)
        or holds_title(element)
        or walk.is_the_page(element)
        or len(plain_text(element)) > _MUCH
    )
    return walk.blocks(element) if is_content else []


@converts(BLOCK_KINDS, Kind.MATH)
def formula(walk: Walk, element: _Element) -> list[str] | None:
    """Return a formula that is a block, or None for an element that only has a class of math."""
    found = code.formula(element)
    return None if found is None else [walk.format.math_block(found.tex)] if found.tex else []


# Tables: spans filled, cells on one line, a header row; listings and layout recognised.

_ROWS = XPath("tr | thead/tr | tbody/tr | tfoot/tr")
_CELL_TAGS = frozenset({"td", "th"})
_Places = list[list[_Element | None]]
"""The cell that begins at each column of each row, None where one goes on."""
_HEAD_ROWS = XPath("count(thead/tr)")
_ALIGN = re.compile(
    r"text-align\s*:\s*(left|right|center)|(?:^|\s)(?:text-|has-text-align-|align-|halign-)(right|center)(?=\s|$)"
)
_LISTINGS = re.compile(
    "highlighttable|rouge-table|lntable|codehilitetable|hljs-ln|js-file-line-container|blob-wrapper|linenodiv-table"
    "|syntaxhighlighter"
)
_SPACE = re.compile(r"\s+")
_MAX_SPAN = 50
MAX_SPREAD = 8
"""Places of a grid for each cell that fills it; a table that would need more is taken apart, cell
by cell.
"""
_SMALL_GRID = 10_000
"""Places that a grid may have whatever fills them."""


@converts(BLOCK_TAGS, "table")
def table(walk: Walk, element: _Element) -> list[str]:
    """Return a `<table>` as blocks: a listing, unwrapped layout, or a table."""
    text = _code_in(element)
    if text is not None:
        names = [one for one in islice(element.iter("th"), 1) if "filename" in one.get("class", "")]
        title = [walk.format.paragraph([walk.line(name)]) for name in names]
        return [*title, walk.code_block(text, [element, *element.iter("pre")][-1])] if text else []
    rows = _ROWS(element)
    classes = element.get("class", "")
    if "memberdecls" in classes:
        return _members(walk, rows)
    parent = element.getparent()
    # AsciiDoc: a table of number and text
    if parent is not None and "colist" in parent.get("class", ""):
        texts = [
            [walk.format.paragraph([walk.line(cells[-1])])]
            for row in rows
            if (cells := _cells(row))
        ]
        return [walk.format.items(Items(texts, list(range(1, len(texts) + 1))))] if texts else []
    is_layout = not rows or _is_layout(element, rows)
    caption = None if is_layout else element.find("caption")
    found = []
    if caption is not None and (line := walk.line(caption)):
        found.append(walk.format.paragraph([line]))
    if is_layout or (places := _expand(rows)) is None:
        cells = [cell for row in rows for cell in _cells(row)] if rows else [element]
        return found + [block for cell in cells for block in walk.blocks(cell)]
    return found + _grid(walk, element, rows, places)


@converts(BLOCK_KINDS, Kind.GRID)
def grid(walk: Walk, element: _Element) -> list[str]:
    """Return a table whose cells are the children of one `<div>`, the first row its header."""
    columns = next(GRIDS[name] for name in class_names(element) if name in GRIDS)
    cells = list(element)
    made = element.makeelement("table", {})
    for start in range(0, len(cells), columns):
        row = made.makeelement("tr", {})
        for cell in cells[start : start + columns]:
            cell.tag = "td" if start else "th"
            row.append(cell)
        made.append(row)
    return table(walk, made)


def _code_in(element: _Element) -> str | None:
    """Return the code of a table that only sets line numbers beside code, or None."""
    pres = list(element.iter("pre"))
    around = element.getparent()
    names = element.get("class") or (around is not None and around.get("class")) or ""
    if not _LISTINGS.search(names):
        rows = _ROWS(element) if 0 < len(pres) <= 2 else []
        cells = _cells(rows[0]) if len(rows) == 1 else []
        if len(cells) != 2 or any(map(str.isalpha, inner_text(cells[0]))):
            return None
    return code.code_text([element, *pres][-1])


def _is_layout(element: _Element, rows: list[_Element]) -> bool:
    if element.get("role") in {"presentation", "none"} or holds(element, "h1"):
        return True
    own = list(map(_cells, rows))
    if any(cell.tag == "th" for cell in chain.from_iterable(own)):
        return False
    if max(map(len, own)) <= 1:
        return True
    if next(element.iterdescendants("table", "h1", "h2", "h3"), None) is not None:
        return True
    # of one long list
    columns = [cell for cell in own[0] if len(cell)] if len(own) == 1 else []
    return bool(columns) and all(part.tag in {"ul", "ol"} for cell in columns for part in cell)


def _cells(row: _Element) -> list[_Element]:
    return [cell for cell in row if cell.tag in _CELL_TAGS]


def _grid(walk: Walk, element: _Element, rows: list[_Element], grid: _Places) -> list[str]:
    header = _HEAD_ROWS(element) > 0 or all(cell.tag == "th" for cell in _cells(rows[0]))
    width = max(map(len, grid), default=0)
    texts = [[_cell(walk, cell) for cell in [*row, *[None] * (width - len(row))]] for row in grid]
    texts = [row for place, row in enumerate(texts) if any(row) or (header and not place)]
    align = [_align(cell) for cell in grid[0]] if grid else []
    return _written(
        walk, texts if header else [[""] * width, *texts], align + [""] * (width - len(align))
    )


def _written(walk: Walk, rows: list[list[str]], align: list[str]) -> list[str]:
    used = [column for column in range(len(align)) if any(row[column] for row in rows)]
    texts = [[row[column] for column in used] for row in rows]
    return [walk.format.table(texts, [align[column] for column in used])] if used else []


def _members(walk: Walk, rows: list[_Element]) -> list[str]:
    """Return Doxygen's table of member declarations: headings, and tables of type, member and brief
    description.
    """
    found: list[str] = []
    head = ["", "", ""]
    members = [head]
    template = ""
    for row in rows:
        cells = _cells(row)
        classes = " ".join(cell.get("class", "") for cell in cells)
        texts = [_cell(walk, cell) for cell in cells]
        if holds(row, "h2", "h3"):
            found += _written(walk, members, head) + walk.blocks([*cells, row][0])
            members = [head]
        elif "memTemplParams" in classes:
            template = " ".join(texts)
        elif "memItem" in classes or "memTempl" in classes:
            kind, member = ["", *texts][-2:]
            members.append([kind, f"{template} {member}".strip(), ""])
            template = ""
        elif "mdescRight" in classes and len(members) > 1:
            members[-1][2] = texts[-1]
    return found + _written(walk, members, head)


def _cell(walk: Walk, cell: _Element | None) -> str:
    if cell is None:
        return ""
    line = walk.line(cell)
    return (
        _SPACE.sub(lambda space: "\n" if "\n" in space[0] else space[0], line)
        if "\n" in line
        else line
    )


def _align(cell: _Element | None) -> str:
    if cell is None or not cell.attrib:
        return ""
    side = str(cell.get("align", "")).lower()
    if side in {"left", "right", "center"}:
        return side
    found = _ALIGN.search(f"{cell.get('style', '')} {cell.get('class', '')}")
    return found[found.lastindex or 0] if found else ""


def _expand(rows: list[_Element]) -> _Places | None:
    """Return the grid of a table; None where spans make it too large."""
    most = max(_SMALL_GRID, MAX_SPREAD * sum(len(row) for row in rows))
    places = width_of_all = 0
    grid: _Places = []
    pending: dict[int, int] = {}
    for row in rows:
        cells: list[_Element | None] = []
        for cell in [*_cells(row), None]:
            while pending.get(len(cells)):
                pending[len(cells)] -= 1
                cells.append(None)
            if cell is None:
                break
            width = _span(cell.get("colspan"))
            height = _span(cell.get("rowspan"))
            pending.update(dict.fromkeys(range(len(cells), len(cells) + width), height - 1))
            cells += [cell, *[None] * (width - 1)]
            if places + len(cells) > most:
                return None
        if cells:
            grid.append(cells)
            places += len(cells)
            width_of_all = max(width_of_all, len(cells))
            if width_of_all * len(grid) > most:  # which is `places` or more
                return None
    return grid


def _span(value: str | None) -> int:
    return min(max(int(value), 1), _MAX_SPAN) if value and value.isdecimal() else 1
