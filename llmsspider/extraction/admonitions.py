"""Admonitions of every generator, as a block quote that names the type: `> [!NOTE]`.

The form is GitHub's alert, the only typed admonition that plain Markdown readers render. A title that says
more than the type follows in bold on its own line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml.etree import _Element

from llmsspider.extraction.names import has_image, visible

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

_TYPE = re.compile(
    r"(?:^|\s|--|-|_)(note|tip|hint|important|warning|caution|danger|error|attention|info|abstract|summary|"
    r"success|question|failure|bug|example|quote|seealso|todo|deprecated|versionadded|versionchanged|"
    r"versionremoved|warn|check|help|information|advice|secondary|primary)(?=\s|$|--)",
    re.IGNORECASE,
)
_NAMES = {"warn": "warning", "information": "info", "secondary": "note", "primary": "info", "versionadded": "note",
          "versionchanged": "note", "versionremoved": "warning", "deprecated": "warning"}  # fmt: skip
_TITLE = re.compile(
    r"(?:^|\s|_|-)(?:title|admonition-?title|(?:custom-block|custom-container|hint-container|markdown-alert|"
    r"blockquote-tag|callout|hint|alert|aside_|admonition_)[-_]title|callout-title-container|callout-header|"
    r"(?:admonition|callout|alert)-head(?:er|ing))(?=\s|$)"
)
_MODULE_TITLE = re.compile(r"admonitionHeading_|admonition-heading")
_ICONS = {"⚠": "warning", "🚧": "warning", "💡": "tip", "ℹ": "info", "📘": "info", "🚫": "error",
          "❗": "important", "👍": "success", "✅": "success", "📝": "note"}  # fmt: skip
"""The icons that stand for the type where nothing else does (Nextra, ReadMe)."""
_EMPTY_MARKS = frozenset({"svg", "i", "button", "img"})


def admonition(walk: Walk, element: _Element) -> list[str] | None:
    """Return an admonition as a quote, or None where the element has the class but no type."""
    classes = element.get("class") or ""
    kind = (
        _type_of(classes)
        or _type_of(element.get("data-callout") or element.get("data-callout-type") or "")
        or _type_of(element.get("data-type") or "")
    )
    title = _title(element)
    label = walk.line(title) if title is not None else ""
    if kind is None:
        kind = _type_of(" " + label.strip(" :.!")) if label else None
        if kind is None:
            if "admonition" not in classes and "callout" not in classes:
                return None
            kind = "note"
    if title is not None:
        title.clear(keep_tail=True)
    blocks = _body(walk, element, label, kind)
    if blocks and (by_icon := _ICONS.get(blocks[0].strip("\ufe0f"))):
        kind, blocks = by_icon, blocks[1:]
    return [walk.format.alert(kind, blocks)] if blocks or label else []


def _body(walk: Walk, element: _Element, label: str, kind: str) -> list[str]:
    blocks = walk.blocks(_cell(element))
    if label and label.lower().replace(" ", "").strip(":.!¶*") not in {kind, f"{kind}s", ""}:
        bold = label if "**" in label else walk.format.emphasis(label, "**", "", "")
        blocks.insert(0, walk.format.paragraph([bold]))
    return blocks


def _cell(element: _Element) -> _Element:
    """Return the content cell of the table that AsciiDoc and DocBook set an icon in, else the element itself."""
    if not (len(element) == 1 and element[0].tag == "table"):
        return element
    cells = list(element.iter("td"))
    if len(cells) > 1 and has_image(cells[0]) and not visible(cells[0]):
        return cells[1]
    return next((cell for cell in cells if "content" in (cell.get("class") or "").split()), element)


def _type_of(classes: str) -> str | None:
    found = _TYPE.findall(classes)
    found = [name for name in found if name.lower() != "hint"] or found
    return _NAMES.get(found[0].lower(), found[0].lower()) if found else None


def _title(element: _Element) -> _Element | None:
    """Return the element with the title: marked by class, or the summary of a details admonition."""
    for child in element.iterdescendants():
        if not isinstance(child.tag, str) or child.tag in _EMPTY_MARKS:
            continue
        classes = child.get("class") or ""
        is_label = child.tag == "p" and classes == "label"  # DocC
        if (
            is_label
            or child.tag in {"summary", "dt"}
            or _TITLE.search(classes)
            or _MODULE_TITLE.search(classes)
        ):
            return child
        if child.tag in {"pre", "ul", "ol", "dl", "blockquote"}:
            break
    return None
