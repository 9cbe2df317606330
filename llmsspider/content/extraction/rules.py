"""Classification of elements by tag, class, id and role, and by content where those are ambiguous."""

import re
from collections.abc import Iterable
from enum import Enum, auto
from functools import lru_cache

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.parsing import Source
from llmsspider.content.extraction.tree import (
    BLOCKS,
    HAS_PANELS,
    HEADINGS,
    holders,
    inner_text,
    letters,
    letters_outside_links,
    plain_text,
    strings_of,
    visible,
)
from llmsspider.web.loading import shipped_table

# Whether an element with a class of page furniture (chrome) is that: the name is evidence, its
# content decides.

_NAMES = shipped_table("llmsspider.content.extraction", "rules")
DOUBTFUL = frozenset(_NAMES["doubtful"])
"""Classes and ids of page furniture (chrome) that sites give to content too; `is_content` decides.
"""
_PERMALINKS = frozenset(_NAMES["permalinks"])
CONTENTS_NAMES = frozenset(
    {"table of contents", "contents", "on this page", "in this article", "toc"}
)
"""Texts of the headings of tables of contents, in lower case."""
_PROSE = 30
"""Minimum number of letters outside links of content; fewer are a label."""
_UNLINKED = 0.3
"""Minimum share (0 to 1) of letters outside links of content; lists of links with descriptions have
it.
"""
_WHOLE = 400
"""Number of letters outside links from which on no button, banner or feedback form is assumed."""
_CONTROLS = XPath("boolean(.//button | .//input | .//select | .//textarea | .//form | .//iframe)")
_STRUCTURE = XPath("boolean(.//pre | .//th | .//dl)")
_PAGE_CONTENTS = re.compile(r"toc|contents|breadcrumb|pag(?:er|e-nav|ination)", re.IGNORECASE)
"""Classes and ids of lists of links, which are content only with paragraphs, code or a table
inside.
"""
_PARAGRAPHS = XPath("boolean(.//p | .//pre | .//th)")
_CODE = XPath("boolean(.//pre[normalize-space()])")
ASKS = re.compile(
    r"(?:was|did|is) this (?:\w+ )?(?:help|use|answer)|helpful\?|rate this|(?:give|send|share|leave)"
    r" (?:us |your )?feedback|"
    r"(?:found|see|spotted) an? (?:error|mistake|typo|issue|problem)\b.{0,20}\?|"
    r"copyright|all rights reserved|(?:powered|built|generated|created) (?:by|with)|last"
    r" (?:updated|modified)|"
    r"results (?:matching|for) \"\"|(?:use|uses|using) cookies|advertis|sponsor|\bads?"
    r" by|subscribe|sign up|newsletter",
    re.IGNORECASE,
)
"""Texts of chrome: requests for feedback or consent, copyright, advertisements, subscriptions."""


def holds_title(element: _Element) -> bool:
    """Return True if an `<h1>` is in an element, but for a table of contents or a search (`results
    matching ""`).
    """
    texts = (plain_text(heading).lower() for heading in element.iter("h1"))
    return any(text not in CONTENTS_NAMES and '""' not in text for text in texts)


def is_content(element: _Element) -> bool:
    """Return True if a `DOUBTFUL` element holds an `<h1>`, code, much text, or prose that asks for
    nothing.
    """
    if holds_title(element) or _CODE(element) or is_section(element):
        return True
    outside = letters_outside_links(element)
    if outside < max(_PROSE, _UNLINKED * letters(element)):
        return False
    name = f"{element.get('class', '')} {element.get('id', '')}"
    if _PAGE_CONTENTS.search(name) and not _PARAGRAPHS(element):
        return False
    if outside >= _WHOLE or _STRUCTURE(element):
        return True
    return not _CONTROLS(element) and not ASKS.search(inner_text(element))


def is_section(element: _Element) -> bool:
    """Return True for a heading, or a section that has its id from its heading: an author's words,
    not a site's.
    """
    if element.tag in HEADINGS:
        below = element.getnext()
        text = plain_text(element)
        heads_links = text.lower() in CONTENTS_NAMES and (
            below is None or not letters_outside_links(below)
        )
        return not heads_links and not ASKS.search(text)
    heading = next(element.iter(*HEADINGS), None)
    if heading is None:
        return False
    if element.tag not in BLOCKS:  # an anchor around its heading (Retype)
        return visible(heading) == visible(element)
    own = f"#{element.get('id')}"
    return bool(_PARAGRAPHS(element)) and any(
        link.get("href", "").endswith(own) for link in heading.iter("a")
    )


# What an element is, by tag, class, id and role: filtered, an admonition, tabs, math, or nothing
# special. The selectors are the small ones (`tag`, `.class`, `#id`, `tag.class`, `[attr=value]`,
# `.class>tag`), compiled to sets; the answer for a class attribute is remembered, since pages of
# one site repeat the same few hundred.

COMMON_DROPS = tuple(_NAMES["drops"])
"""Selectors of elements that are filtered on every site; those in `DOUBTFUL` only unless
`is_content`.
"""


class Kind(Enum):
    """What the walk does with an element beyond its tag."""

    PLAIN = auto()
    DROP = auto()
    ADMONITION = auto()
    TABS = auto()
    MATH = auto()
    SIGNATURE = auto()
    CODE = auto()
    GRID = auto()
    # filtered by its name, unless what it holds is content. `Rules.kind` never returns it
    DOUBTFUL = auto()


OVERRULED_BY_TITLE = frozenset({Kind.DROP, Kind.ADMONITION, Kind.MATH, Kind.DOUBTFUL})
"""Kinds that one of `WRAPPERS` does not have if the title of the page is inside."""
WRAPPERS = frozenset({"div", "section", "article", "main", "body"})
"""Elements that may enclose a whole page."""
_TYPES = "(?:note|tip|info|important|warning|caution|danger)"
_ADMONITION = re.compile(
    r"(?:^|\s)(?:(?:theme-|markdown-|starlight-|bd-|md-)?(?:admonition|alert|callout|aside|hint)|admonitionblock|"
    r"custom-block|custom-container|hint-container|notice|message|blockquote-tag|callout-style-\w+|book-hint|confluence-information-macro|hb-callout|nextra-callout|admonition-(?!body|content|title|header|heading|icon)\w+|"
    r"docs-callout|infobox|note-?(?:box|card)|alert-\w+|"
    rf"[a-z]+-(?:callout|admonition|alert)--?{_TYPES}|[a-z]+-(?:callout|admonition|alert|hint)\s+{_TYPES})(?=\s|$)"
)
_BARE_ADMONITION = frozenset(_NAMES["admonitions"])
_BOXES = frozenset(_NAMES["boxes"])
_MATH = frozenset(_NAMES["math"])
GRIDS: dict[str, int] = _NAMES["grids"]
"""Classes of a `<div>` whose children are the cells of a table (javadoc), with the number of
columns.
"""
_KINDS = [(Kind[name.upper()], frozenset(names)) for name, names in _NAMES["kinds"].items()]
"""Classes that say what an element is, with a tag where the class alone says too little; the first
kind counts.
"""


class Rules:
    """Classifies elements.

    Built once per generator, from its drop selectors and the common ones.
    """

    def __init__(self, selectors: Iterable[str]):
        self._names: set[str] = set()
        self._classes: set[str] = set()
        attributes: dict[str, set[str]] = {}
        self._children: list[tuple[str, XPath]] = []
        for selector in selectors:
            if selector.startswith("["):
                name, _, value = selector[1:-1].partition("=")
                attributes.setdefault(name, set()).update({value} if value else ())
            elif selector.startswith("#"):
                attributes.setdefault("id", set()).add(selector[1:])
            elif ">" in selector:
                name, _, tag = selector[1:].partition(">")
                path = f"descendant::*[contains(concat(' ', @class, ' '), ' {name} ')]/{tag}"
                self._children.append((name, XPath(path)))
            elif selector.startswith("."):
                self._classes.add(selector[1:])
            else:
                self._names.add(selector)
        # Attributes other than the class, with any value if `values` is empty, and what finds their
        # values.
        self._attributes: list[tuple[str, set[str], XPath, XPath]] = []
        for name, values in attributes.items():
            is_plain = re.fullmatch(r"[A-Za-z_][\w.-]*", name)  # not `v-on:click`
            path = f"descendant::*/@{name}" if is_plain else f'descendant::*/@*[name() = "{name}"]'
            self._attributes.append((name, values, strings_of(path), XPath(path)))

    def kind(self, element: _Element) -> Kind:
        """Return what an element is."""
        kind = self.by_name(element.tag, element.get("class", ""))
        return classify(element, self.by_attribute(element) if kind is Kind.PLAIN else kind)

    def by_name(self, tag: str, classes: str) -> Kind:
        """Return the kind of elements with a tag and class; for kinds in `OVERRULED_BY_TITLE` call
        `classify` next.
        """
        names = classes.split()
        found = self._names.intersection((tag, *(f"{tag}.{name}" for name in names)))
        found = found or self._classes.intersection(names)
        if found and not (tag in BLOCKS and found <= _PERMALINKS):
            return Kind.DOUBTFUL if found <= DOUBTFUL else Kind.DROP
        return _special(tag, names, classes)

    def by_attribute(self, element: _Element) -> Kind:
        """Return the kind of an element by attributes other than its class; only for those plain by
        tag and class.
        """
        for name, values, _, _ in self._attributes:
            value = element.get(name)
            if value is not None and (not values or value in values):
                if name == "id" and is_section(element):
                    continue
                if value == "tablist" and HAS_PANELS(element):  # around a whole accordion
                    continue
                return Kind.DOUBTFUL if name == "id" and value in DOUBTFUL else Kind.DROP
        return Kind.PLAIN

    def kinds_by_attribute(self, main: _Element, source: Source) -> dict[_Element, Kind]:
        """Return the elements in `main` that `by_attribute` says something of: few pages have any."""
        near = [
            element
            for name, values, values_in, attributes in self._attributes
            if source.may_name(name) and not (values and values.isdisjoint(values_in(main)))
            for element in holders(main, attributes)
        ]
        found: dict[_Element, Kind] = {
            element: kind
            for element in near
            if (kind := self.by_attribute(element)) is not Kind.PLAIN
        }
        for name, children in self._children:
            if name.encode() in source.body:
                found.update(dict.fromkeys(children(main), Kind.DROP))
        return found


def classify(element: _Element, by_name: Kind) -> Kind:
    """Return the kind of an element by its content; `by_name` is the kind by tag and class, not
    plain.
    """
    if by_name is Kind.DOUBTFUL:
        classes = element.get("class", "")
        is_kept = is_content(element)
        by_name = _special(element.tag, classes.split(), classes) if is_kept else Kind.DROP
    is_wrapper = by_name in OVERRULED_BY_TITLE and element.tag in WRAPPERS and len(element)
    return Kind.PLAIN if is_wrapper and holds_title(element) else by_name


def _special(tag: str, names: list[str], classes: str) -> Kind:
    if not _MATH.isdisjoint(names) and not (tag in {"pre", "code"} and "latex" in names):
        return Kind.MATH
    if _is_admonition(tag, names, classes):
        # Docusaurus draws every <details> as an alert
        is_drawn_so = tag == "details" and "alert" in names
        return Kind.PLAIN if is_drawn_so else Kind.ADMONITION
    found = {*names, *(f"{tag}.{name}" for name in names)}
    return next((kind for kind, special in _KINDS if not special.isdisjoint(found)), Kind.PLAIN)


def _is_admonition(tag: str, names: list[str], classes: str) -> bool:
    if tag == "dl":
        return "section" in names and not _BARE_ADMONITION.isdisjoint(names)
    is_bare = len(names) == 1 and names[0].lower() in _BARE_ADMONITION
    return tag in _BOXES and (is_bare or _ADMONITION.search(classes) is not None)


_CONTENTS = re.compile(r"toc|contents|on-this-page|section-index", re.IGNORECASE)


def is_contents(name: str) -> bool:
    """Say whether a name is one of tables of contents."""
    return _CONTENTS.search(name) is not None


@lru_cache(maxsize=64)
def rules_for(drop: str, contents: bool = False) -> Rules:
    """Return the rules of a generator with these extra selectors; `contents` keeps tables of
    contents.
    """
    selectors = (*COMMON_DROPS, *drop.split())
    return Rules(one for one in selectors if not (contents and is_contents(one)))
