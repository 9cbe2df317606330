"""Components of every generator: admonitions, tabs, footnotes."""

import re
from itertools import dropwhile, islice, takewhile

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.rules import Kind
from llmsspider.content.extraction.tree import (
    BLOCKS,
    HAS_PANELS,
    HEADINGS,
    class_names,
    empty,
    holders,
    holds,
    inner_text,
    settable,
    visible,
)
from llmsspider.content.extraction.walk import BLOCK_KINDS, BLOCK_TAGS, FINDERS, Walk, converts

# Admonitions of every generator, as a block quote that names the type: `> [!NOTE]`. The form is
# GitHub's alert, the only typed admonition that plain Markdown readers render. A title that says
# more than the type follows in bold on its own line.

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
    r"(?:admonition|callout|alert)-head(?:er|ing))(?=\s|$)|admonitionHeading_|admonition-heading"
)
_ICONS = {"⚠": "warning", "🚧": "warning", "💡": "tip", "ℹ": "info", "📘": "info", "🚫": "error",
          "❗": "important", "👍": "success", "✅": "success", "📝": "note"}  # fmt: skip
"""The icons that stand for the type where nothing else does (Nextra, ReadMe)."""
_EMPTY_MARKS = frozenset({"svg", "i", "button", "img"})


@converts(BLOCK_KINDS, Kind.ADMONITION)
def admonition(walk: Walk, element: _Element) -> list[str] | None:
    """Return an admonition as a quote, or None where the element has the class but no type."""
    classes = element.get("class", "")
    title = _title(element)
    label = walk.line(title) if title is not None else ""
    types = map(element.get, ("data-callout", "data-callout-type", "data-type"))
    named = (classes, *types, label.strip(" :.!"))
    kind = next(filter(None, map(_type_of, named)), None)
    if kind is None:
        if "admonition" not in classes and "callout" not in classes:
            return None
        kind = "note"
    if title is not None:
        empty(title)
    blocks = walk.blocks(_cell(element))
    if label and label.lower().replace(" ", "").strip(":.!¶*") not in {kind, f"{kind}s", ""}:
        blocks.insert(0, walk.format.paragraph([walk.bold(label)]))
    if blocks and (by_icon := _ICONS.get(blocks[0].strip("\ufe0f"))):
        kind = by_icon
        blocks = blocks[1:]
    return [walk.format.alert(kind, blocks)] if blocks or label else []


def _cell(element: _Element) -> _Element:
    """Return the content cell of the table that AsciiDoc and DocBook set an icon in, else the
    element itself.
    """
    if not (len(element) == 1 and element[0].tag == "table"):
        return element
    cells = list(element.iter("td"))
    if len(cells) > 1 and next(cells[0].iter("img"), None) is not None and not visible(cells[0]):
        return cells[1]
    return next((cell for cell in cells if "content" in class_names(cell)), element)


def _type_of(classes: str | None) -> str | None:
    found = [name.lower() for name in _TYPE.findall(classes or "")]
    name = next((name for name in found if name != "hint"), "hint" if found else None)
    return _NAMES.get(name, name) if name else None


def _title(element: _Element) -> _Element | None:
    """Return the element with the title: marked by class, or the summary of a details admonition."""
    around = element.get("class", "")
    for child in element.iterdescendants():
        if not isinstance(child.tag, str) or child.tag in _EMPTY_MARKS:
            continue
        classes = child.get("class", "")
        is_label = child.tag == "p" and classes == "label"  # DocC
        if child.tag in {"summary", "dt"} or _TITLE.search(classes) or is_label:
            return child
        if child is element[0] and child.tag == "p" and visible(child).lower() == _type_of(around):
            return child
        if child.tag in {"pre", "ul", "ol", "dl", "blockquote"}:
            break
    return None


# Tabs: every panel is shown, each under its label in bold. Panels with ARIA roles (Docusaurus,
# Starlight, Quarto, Fumadocs, Docsy, Bootstrap) get their label where they stand; Material for
# MkDocs, sphinx-design and VitePress have shapes of their own.

_TAB_LISTS = XPath("descendant::*/@role[.='tablist']")
_PANELS = XPath("descendant::*/@role[.='tabpanel']")
_LISTS_AND_PANELS = XPath("descendant::*/@role[.='tablist' or .='tabpanel']")
_TABS = XPath("descendant::*/@role[.='tab']")
_BLOCKS = XPath("*[contains(@class,'tabbed-content')]/*[contains(@class,'tabbed-block')]")
_LABELS = XPath("*[contains(@class,'tabbed-labels')]/label")

_TAB_SETS = frozenset({"tab-set", "sd-tab-set", "book-tabs"})
"""Classes of sets of tabs in which a `<label>` is directly before its panel."""

MAX_TAB_LISTS = 200
"""Maximum number of sets of tabs of one page that get their labels."""
MAX_TABS = 100
"""Maximum number of tabs of one set."""
MAX_STEPS_UP = 6
"""Maximum number of ancestors of a tab list that are searched for its panels."""


@converts(FINDERS, (b"tablist", b"nav-tabs", b"nav-pills"))
def find_tabs(walk: Walk, main: _Element) -> None:
    """Find the tab (label) of each panel in a main content: by `aria-controls`, by
    `aria-labelledby`, else by order.
    """
    panels = holders(main, _PANELS)
    if not panels:
        return
    walk.first_blocks.append(panel)
    ids = ((panel.get(name), panel) for name in ("aria-labelledby", "id") for panel in panels)
    by_name = {name: panel for name, panel in ids if name}
    outermost: dict[_Element, list[_Element]] = {}
    lists = islice(holders(main, _TAB_LISTS), MAX_TAB_LISTS)
    for tab_list in (one for one in lists if not HAS_PANELS(one)):
        tabs = holders(tab_list, _TABS)
        named: dict[_Element, list[_Element]] = {}
        for tab in tabs:
            fragment = tab.get("href", "").partition("#")[2]
            selector = tab.get("data-bs-target", "")[1:]
            names = (tab.get("aria-controls"), fragment, selector, tab.get("id"))
            if (name := next(filter(by_name.__contains__, names), None)) is not None:
                named.setdefault(by_name[name], []).append(tab)
        opened = {panel: tabs[0] for panel, tabs in named.items() if len(tabs) == 1}
        walk.tabs.update(
            opened if named else zip(_panels_after(tab_list, outermost), tabs, strict=False)
        )


def _panels_after(tab_list: _Element, outermost: dict[_Element, list[_Element]]) -> list[_Element]:
    for ancestor in islice(tab_list.iterancestors(), MAX_STEPS_UP):
        if ancestor not in outermost:
            found = holders(ancestor, _LISTS_AND_PANELS)
            panels = {one for one in found if one.get("role") == "tabpanel"}
            outermost[ancestor] = (
                [one for one in found if panels.isdisjoint(one.iterancestors())] if panels else []
            )
        if parts := outermost[ancestor]:
            after = islice(dropwhile(lambda part: part is not tab_list, parts), 1, None)
            if own := list(
                islice(takewhile(lambda part: part.get("role") == "tabpanel", after), MAX_TABS)
            ):
                return own
            return parts[:-1][:MAX_TABS] if parts[-1] is tab_list else []  # the labels stand below
    return []


@converts(BLOCK_KINDS, Kind.TABS)
def tab_set(walk: Walk, element: _Element) -> list[str] | None:
    """Return a set of tabs as blocks, or None where the element only has the class of one."""
    if element.get("role") == "tablist":
        return []
    classes = frozenset(class_names(element))
    if "tabbed-set" in classes:
        labels = _LABELS(element)
        panels = _BLOCKS(element)
        if panels and len(labels) == len(panels):
            return titled(walk, [walk.line(label) for label in labels], panels)
    elif classes.isdisjoint(_TAB_SETS):
        if "vp-code-group" not in classes:
            return None
        panels = next((list(one) for one in element if "blocks" in class_names(one)), [])
        return titled(walk, [walk.line(label) for label in element.iter("label")], panels) or None
    found: list[str] = []
    name = ""
    for child in element:  # `input`, `label`, `div`, …
        if child.tag == "label":
            name = walk.line(child)
        elif child.tag == "div":
            found += titled(walk, [name], [child])
    return found or None


def panel(walk: Walk, element: _Element) -> list[str] | None:
    """Return an element with the role of a panel, under its label; None for any other."""
    if element.get("role") != "tabpanel" or element.tag in BLOCK_TAGS:
        return None
    tab = walk.tabs.get(element)
    return titled(walk, [walk.line(tab) if tab is not None else ""], [element])


def titled(walk: Walk, names: list[str], panels: list[_Element]) -> list[str]:
    """Return panels as blocks, each under its name in bold."""
    found: list[str] = []
    for name, element in zip(names, panels, strict=False):
        blocks = walk.block(element) if element.tag == "pre" else walk.blocks(element)
        if blocks and name:
            found.append(walk.format.paragraph([walk.bold(name)]))
        found += blocks
    return found


# Words that a style sheet sets in one row: the name of a parameter, its type, whether it is needed.

_ROW = re.compile(r"(?<!\S)(?:d-|inline-)?flex(?!\S)")
_MAX_ROW = 120
"""Maximum number of characters of such a row."""
_NO_ROW = sorted({*BLOCKS, "img", "input", "pre", "textarea"} - {"div"})


@converts(FINDERS, (b"flex",))
def find_rows(walk: Walk, main: _Element) -> None:
    """Look at each block of a page whose classes may set words in rows."""
    walk.first_blocks.append(row)


def row(walk: Walk, element: _Element) -> list[str] | None:
    """Return the words of a row as a paragraph; None for any other element."""
    classes = element.get("class", "")
    is_row = element.tag == "div" and "flex-col" not in classes and _ROW.search(classes)
    if not is_row or next(islice(element, 1, None), None) is None:
        return None
    if holds(element, *_NO_ROW) or not 0 < len(visible(element)) <= _MAX_ROW:
        return None
    if next(islice(element.iter("a"), 1, None), None) is not None:
        return None  # links beside each other
    return [walk.format.paragraph([" ".join(walk.line(element).split())])]


# Footnotes: `[^1]` where the text refers to one, `[^1]: …` where it is defined.

_REFERENCES = XPath(
    "descendant::a[starts-with(@href,'#') and (@role='doc-noteref' or @data-footnote-ref"
    " or (child::sup and starts-with(@href,'#FOOT'))"
    " or contains(@class,'footnote-ref') or contains(@class,'footnoteref') or @class='footnote'"
    " or (parent::sup and (starts-with(@href,'#fn') or starts-with(@href,'#footnote')"
    " or starts-with(@href,'#_footnote') or starts-with(@href,'#user-content-fn')"
    " or starts-with(@href,'#cite_note') or @id=concat(substring(@href, 2), '-link')"
    " or contains(parent::sup/@class,'footnote') or starts-with(parent::sup/@id,'fnref'))))]"
)
_OWN_LINKS = XPath("descendant::a[starts-with(@href, '#')]")
_NOTE_LABEL = re.compile(r"[\[(]?(?:\d{1,3}|[*†‡a-z])[\])]?", re.ASCII)
"""The text of a link to a footnote, and of its link back."""
_IDS = XPath("descendant::*/@id")
_NAMED_NOTES = XPath(
    "descendant::span/@class[contains(., 'note')] | descendant::small/@class[contains(., 'note')]"
)
_ASIDE = re.compile(
    r"footnote-?(?:content|text)|(?:^|\s)(?:side|margin)note(?:$|\s)", re.IGNORECASE
)
"""Classes of a note that stands in its sentence."""
_BACK = re.compile(r"footnote-?back|backlink|backref|reversefootnote|fn-backref")
_BACK_SIGNS = frozenset({"↩", "↩︎", "↑", "^", "↵", "⏎", "back"})
_NOT_LABEL = re.compile(r"[^\w-]+")
_NOTE_TAGS = frozenset({"li", "div", "aside", "p", "section"})
_NOTE_HEADINGS = frozenset({"h3", "h4", "h5"})
"""What Texinfo sets above each footnote."""


_OF_NOTES = (
    b"footnote", b"noteref", b"#fn", b"sidenote", b"marginnote", b"#cite_note", b"[1]", b">1</a></sup>"
)  # fmt: skip
"""Marks of pages that may have footnotes."""


@converts(FINDERS, _OF_NOTES)
def find_footnotes(walk: Walk, main: _Element) -> None:
    """Find the footnotes that a main content refers to: the label of each, by the id of its
    element.
    """
    for link in _REFERENCES(main):
        if label := _NOT_LABEL.sub("", inner_text(link)):
            walk.notes.setdefault(link.get("href")[1:], label)
    _name_notes(walk, main)
    if walk.notes:
        _bring_definitions(walk, main)
    for note in holders(main, _NAMED_NOTES):
        if _ASIDE.search(note.get("class")) and note.getparent().tag not in {"sup", "label"}:
            _set_in_brackets(note)
    if walk.notes:
        walk.first_blocks.append(definition)
        walk.first_inlines.append(reference)


def _name_notes(walk: Walk, main: _Element) -> None:
    """Find the footnotes that lead back to what refers to them, and give them the id that leads to
    them.
    """
    labels: dict[tuple[str, str], str] = {}
    for link in _OWN_LINKS(main.getroottree().getroot()):
        target = link.get("href")[1:]
        shown = inner_text(link).strip()
        label = _NOT_LABEL.sub("", shown)
        note = next(link.iterancestors(*_NOTE_TAGS), link)
        own = next((name for name in _names(link, note) if (name, target) in labels), None)
        if own is None and _NOTE_LABEL.fullmatch(shown):
            raised = next(islice(link.iterancestors("sup"), 1), link)
            labels.update({(target, name): label for name in _names(link, raised)})
        elif own is not None and not holds(note, *HEADINGS):
            if label != labels[own, target] and shown not in _BACK_SIGNS:
                continue
            walk.notes[own] = labels[own, target]
            if note.get("id") != own:
                link.attrib.pop("id", None)
                link.attrib.pop("name", None)
                note.set("id", own)
                empty(link)


def _names(*elements: _Element) -> list[str]:
    """Return the names by which links lead to elements."""
    names = [element.get(name) for element in elements for name in ("id", "name")]
    return [name for name in names if name]


def _bring_definitions(walk: Walk, main: _Element) -> None:
    """Put the footnotes that stand beside a main content at its end."""
    here = {name for name in main.xpath("descendant::*/@id") if name in walk.notes}
    missing = walk.notes.keys() - here
    around = {main, *main.iterancestors()}
    for holder in holders(main.getroottree().getroot(), _IDS) if missing else ():
        if holder.get("id") in missing and holder.tag in _NOTE_TAGS and holder not in around:
            holder.tail = None
            main.append(holder)


def _set_in_brackets(note: _Element) -> None:
    """Set a note that stands in its sentence, shown on a tap or in the margin, in brackets."""
    if not inner_text(note).strip():
        return
    note.text = f" ({settable(note.text).lstrip()}"
    if len(note):
        note[-1].tail = f"{settable(note[-1].tail).rstrip()})"
    else:
        note.text = f"{note.text.rstrip()})"


def reference(walk: Walk, element: _Element, before: list[str]) -> str | None:
    """Return the reference that an element is, or None."""
    link = element[0] if element.tag in {"sup", "span"} and len(element) == 1 else element
    if link.tag != "a":
        return None
    href = link.get("href", "")
    label = walk.notes.get(href[1:]) if href[:1] == "#" else None
    return f"[^{label}]" if label and _NOT_LABEL.sub("", inner_text(element)) == label else None


def definition(walk: Walk, element: _Element) -> list[str] | None:
    """Return the footnote that `element` defines, or the notes of a list of footnotes; None for
    anything else.
    """
    tag = element.tag
    notes = walk.notes
    if (own := element.get("id")) in notes:
        if tag in _NOTE_TAGS:
            return _definition(walk, element)
        if tag == "table":
            return _from_table(walk, element, notes[own])
    first = element[0].get("id") if len(element) else None
    if first not in notes:
        return None
    if tag in {"ol", "ul"}:
        return [note for child in element for note in _definition(walk, child)]
    if tag == "dl":
        return _from_terms(walk, element)
    is_heading = tag in _NOTE_HEADINGS and len(element) == 1
    return _below_heading(walk, element, notes[first]) if is_heading else None


def _from_terms(walk: Walk, element: _Element) -> list[str]:
    found = []
    label = ""
    for child in element:
        if child.tag == "dt":
            label = walk.notes.get(child.get("id", ""), "")
        elif child.tag == "dd":
            _without_back_links(child)
            found.append(walk.format.footnote(label, walk.blocks(child)))
    return found


def _below_heading(walk: Walk, heading: _Element, label: str) -> list[str]:
    blocks = []
    for following in takewhile(lambda one: one.tag != heading.tag, heading.itersiblings()):
        blocks += walk.block(following)
        empty(following)  # otherwise the walk would convert it again
    return [walk.format.footnote(label, blocks)] if blocks else []


def _from_table(walk: Walk, element: _Element, label: str) -> list[str]:
    """Return the footnote that docutils sets in a table: a cell with its label, one with links back
    and its text.
    """
    note = [element, *element.iter("td")][-1]
    if len(note) and len(note[0]) and all(_BACK.search(link.get("class", "")) for link in note[0]):
        empty(note[0])
    blocks = walk.blocks(note)
    return [walk.format.footnote(label, blocks)] if blocks else []


def _definition(walk: Walk, element: _Element) -> list[str]:
    label = walk.notes.get(element.get("id", ""))
    _without_back_links(element, label)
    blocks = walk.blocks(element)
    return [walk.format.footnote(label, blocks)] if blocks and label is not None else blocks


def _without_back_links(element: _Element, label: str | None = None) -> None:
    for child in list(element.iterdescendants("a", "sup", "span", "strong")):
        classes = child.get("class", "")
        shown = inner_text(child).strip()
        is_label = bool(label) and _NOT_LABEL.sub("", shown) == label
        first = {element[0], *(element[0][:1] if element[0].tag == "p" else ())}
        if (
            is_label
            and child in first
            and child.tag == "a"
            and child.get("href", "").startswith("#")
        ):
            child.tail = settable(child.tail).removeprefix(".")
            shown = "↩"
        is_back = (
            _BACK.search(classes) or shown in _BACK_SIGNS or child.get("role") == "doc-backlink"
        )
        if is_back or (is_label and ("label" in classes or "brackets" in classes)):
            empty(child)
            child.tag = "span"
    if label and element.text and element.text.strip(" .[]") == label:
        element.text = None
