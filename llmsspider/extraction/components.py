"""Components of every generator: admonitions, tabs, definition lists with the signatures of APIs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from lxml.etree import XPath, _Element

from llmsspider.extraction.formats import Items
from llmsspider.extraction.rules import Kind
from llmsspider.extraction.tree import has_image, inner_text, settable, visible

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk


# Admonitions of every generator, as a block quote that names the type: `> [!NOTE]`.
# The form is GitHub's alert, the only typed admonition that plain Markdown readers render. A title that says more
# than the type follows in bold on its own line.

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


# Definition lists, and the signatures that API documentation puts into them.
# A term with one-paragraph definitions is written as PHP Markdown Extra has it (`Term`, `: definition`), which plain
# readers show well. A definition with code, lists or several paragraphs would need an indent that a CommonMark reader
# takes for code, so there the term is a bold line and the definition follows as it is.

_SPACE = re.compile(r"\s+")
_SIGNATURE_BREAKS = 2
"""Line breaks that a signature can have where it is set as a listing."""
_BLOCK_START = re.compile(r"(?:[-*+>|] |#+ |\d+[.)] |```|\$\$|---|: )")


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(slots=True)
class _Entry:
    """Terms that share definitions; `signature` is the block of an API signature."""

    terms: list[str] = field(default_factory=list)
    bodies: list[list[str]] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    inline: bool = True


def definition_list(walk: Walk, element: _Element) -> list[str]:
    """Return a `<dl>` as blocks."""
    entries = _read(walk, element)
    short = all(_is_short(entry) for entry in entries)
    return [block for entry in entries for block in _write(walk, entry, short)]


def _read(walk: Walk, element: _Element) -> list[_Entry]:
    entries = [_Entry()]
    for child in _entries(element):
        if child.tag == "dt":
            kind = walk.rules.kind(child)
            if entries[-1].bodies or entries[-1].loose:
                entries.append(_Entry())
            if kind is Kind.PLAIN and _is_listing(child) and _is_long(child):
                entries[-1].loose += walk.block(child[0])
            elif kind is Kind.SIGNATURE or (kind is Kind.PLAIN and _is_listing(child)):
                entries[-1].loose += signature(walk, child)
            elif kind is not Kind.DROP and next(child.iter(*_HEADINGS), None) is not None:
                entries[-1].loose += walk.blocks(child)
            elif kind is not Kind.DROP and (term := walk.line(_with_delimiters(child))):
                entries[-1].terms.append(term.replace("\n", " "))
        elif child.tag == "dd":
            if blocks := walk.block(child):
                entries[-1].bodies.append(blocks)
                entries[-1].inline &= len(blocks) == 1 and child.find("p") is None
        elif isinstance(child.tag, str):
            entries.append(_Entry(loose=walk.block(child)))
    return entries


def _with_delimiters(term: _Element) -> _Element:
    """Set the colon before each classifier of a term (docutils) that the page's style shows."""
    for classifier in term.iter("span"):
        if classifier.get("class") != "classifier":
            continue
        before = classifier.getprevious()
        if before is None:
            term.text = f"{settable(term.text).rstrip()} : "
        elif before.get("class") != "classifier-delimiter":
            before.tail = f"{settable(before.tail).rstrip()} : "
    return term


def _entries(element: _Element) -> list[_Element]:
    """Return the terms and definitions, out of the `<div>`s that HTML allows around groups."""
    entries: list[_Element] = []
    for child in element:
        if child.tag == "div" and any(part.tag in {"dt", "dd"} for part in child):
            entries.extend(child)
        else:
            entries.append(child)
    return entries


def _is_listing(term: _Element) -> bool:
    """Return True for a term that is nothing but a block of code (Nim)."""
    return len(term) == 1 and term[0].tag == "pre" and not (term.text or "").strip()


def _is_long(term: _Element) -> bool:
    """Return True for code whose lines matter: the members of a type, not a broken signature."""
    return inner_text(term).strip().count("\n") > _SIGNATURE_BREAKS


def _is_short(entry: _Entry) -> bool:
    return all(
        len(blocks) == 1 and not _BLOCK_START.match(blocks[0]) and "\n: " not in blocks[0]
        for blocks in entry.bodies
    )


def _write(walk: Walk, entry: _Entry, short: bool) -> list[str]:
    terms, bodies = entry.terms, entry.bodies
    flat = [*entry.loose, *(block for blocks in bodies for block in blocks)]
    if not terms:
        return flat
    if walk.generator.definitions == "list":
        if entry.inline and bodies and not entry.loose:
            return [walk.format.items(Items([[f"{' '.join(terms)} : {bodies[0][0]}"]], tight=False))]
        items = [[*(walk.format.paragraph([term.rstrip(":") + ":"]) for term in terms), *flat]]
        return [walk.format.items(Items(items, tight=False))]
    if short and bodies and not entry.loose:
        return [walk.format.definition(terms, [blocks[0] for blocks in bodies])]
    return [*(walk.format.paragraph([bold(walk, term)]) for term in terms), *flat]


def bold(walk: Walk, line: str) -> str:
    """Return a line in bold, or as it is where it holds bold text."""
    return line if "**" in line else walk.format.emphasis(line, "**", "", "")


def signature(walk: Walk, element: _Element) -> list[str]:
    """Return the signature of a function, class or member as a paragraph of code."""
    for child in list(element.iter("a", "button", "span", "label")):
        if walk.rules.kind(child) is Kind.DROP or (
            child.tag == "a" and "viewcode" in (child.get("class") or "")
        ):
            parent = child.getparent()
            if parent is not None:
                _drop(child, parent)
    text = _SPACE.sub(" ", inner_text(element)).strip(" ¶#")
    return [walk.format.paragraph([walk.format.code_span(text)])] if text else []


def _drop(child: _Element, parent: _Element) -> None:
    if child.tail:
        previous = child.getprevious()
        if previous is None:
            parent.text = settable(parent.text) + settable(child.tail)
        else:
            previous.tail = settable(previous.tail) + settable(child.tail)
    parent.remove(child)


# Tabs: every panel is shown, each under its label in bold.
# Panels told by ARIA roles (Docusaurus, Starlight, Quarto, Fumadocs, Docsy, Bootstrap) get their label where they
# stand; Material for MkDocs, sphinx-design and VitePress have shapes of their own.

_TAB_LISTS = XPath("descendant::*[@role='tablist']", smart_strings=False)
_PANELS = XPath("descendant::*[@role='tabpanel']", smart_strings=False)
_TABS = XPath("descendant::*[@role='tab']", smart_strings=False)
_BLOCKS = XPath(
    "*[contains(@class,'tabbed-content')]/*[contains(@class,'tabbed-block')]", smart_strings=False
)
_LABELS = XPath("*[contains(@class,'tabbed-labels')]/label", smart_strings=False)

MAX_TAB_LISTS = 200
"""Sets of tabs in a page that get their labels."""
MAX_TABS = 100
"""Tabs of a set."""
MAX_STEPS_UP = 6
"""Elements around a list of tabs that are looked at for its panels."""


def labels(main: _Element) -> dict[_Element, _Element]:
    """Return the tab of each panel: by `aria-controls`, by `aria-labelledby`, else by their order."""
    found: dict[_Element, _Element] = {}
    panels: list[_Element] = _PANELS(main)
    if not panels:
        return found
    by_id = {panel.get("id"): panel for panel in panels if panel.get("id")}
    by_label = {panel.get("aria-labelledby"): panel for panel in panels if panel.get("aria-labelledby")}
    for tab_list in _TAB_LISTS(main)[:MAX_TAB_LISTS]:
        tabs: list[_Element] = _TABS(tab_list)
        named = {}
        for tab in tabs:
            target = (
                tab.get("aria-controls")
                or (tab.get("href") or "").partition("#")[2]
                or (tab.get("data-bs-target") or "")[1:]
            )
            panel = by_id.get(target) if target else None
            panel = by_label.get(tab.get("id")) if panel is None else panel
            if panel is not None:
                named[panel] = tab
        found.update(named or zip(_panels_after(tab_list), tabs, strict=False))
    return found


def _panels_after(tab_list: _Element) -> list[_Element]:
    """Return the outermost panels in the nearest ancestor of a tab list that has any."""
    for ancestor in islice(tab_list.iterancestors(), MAX_STEPS_UP):
        panels = _PANELS(ancestor)
        if panels:
            known = set(panels)
            return [panel for panel in panels if known.isdisjoint(panel.iterancestors())][:MAX_TABS]
    return []


def tab_set(walk: Walk, element: _Element) -> list[str] | None:
    """Return a set of tabs as blocks, or None where the element only has the class of one."""
    if element.get("role") == "tablist":
        return []
    classes = (element.get("class") or "").split()
    if "tabbed-set" in classes:
        return _material(walk, element)
    if "tab-set" in classes or "sd-tab-set" in classes or "book-tabs" in classes:
        return _labels_between(walk, element)
    if "vp-code-group" in classes:
        return _vitepress(walk, element)
    return None


def panel(walk: Walk, element: _Element) -> list[str]:
    """Return a panel told by its role, under its label."""
    tab = walk.tabs.get(element)
    return titled(walk, [walk.line(tab) if tab is not None else ""], [element])


def titled(walk: Walk, names: list[str], panels: list[_Element]) -> list[str]:
    """Return panels as blocks, each under its name in bold."""
    found: list[str] = []
    for name, element in zip(names, panels, strict=False):
        blocks = walk.block(element) if element.tag == "pre" else walk.blocks(element)
        if blocks and name:
            found.append(walk.format.paragraph([bold(walk, name)]))
        found += blocks
    return found


def _material(walk: Walk, element: _Element) -> list[str] | None:
    names, panels = _LABELS(element), _BLOCKS(element)
    if panels and len(names) == len(panels):
        return titled(walk, [walk.line(name) for name in names], panels)
    return _labels_between(walk, element)


def _labels_between(walk: Walk, element: _Element) -> list[str] | None:
    """Return tabs whose labels stand right before their panels (`input`, `label`, `div`, …)."""
    found: list[str] = []
    name = ""
    for child in element:
        if child.tag == "label":
            name = walk.line(child)
        elif child.tag == "div":
            found += titled(walk, [name], [child])
    return found or None


def _vitepress(walk: Walk, element: _Element) -> list[str] | None:
    names = [walk.line(label) for label in element.iter("label")]
    panels = next((list(child) for child in element if "blocks" in (child.get("class") or "").split()), [])
    return titled(walk, names, panels) or None
