"""Tabs: every panel is shown, each under its label in bold.

Panels told by ARIA roles (Docusaurus, Starlight, Quarto, Fumadocs, Docsy, Bootstrap) get their label where
they stand; Material for MkDocs, sphinx-design and VitePress have shapes of their own.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from lxml.etree import XPath, _Element

from llmsspider.extraction.definitions import bold

if TYPE_CHECKING:
    from llmsspider.extraction.walk import Walk

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
