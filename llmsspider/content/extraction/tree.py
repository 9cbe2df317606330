"""Names of elements and classes that mean the same on every site, and small functions over
elements.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Literal

from lxml.etree import XPath, _Element, iterwalk, tostring

from llmsspider.content.markdown.commonmark import letters_of

_SPACE = re.compile(r"[ \t\n\r\f\v]+")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKS = _words(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol p pre"
    " search section summary table tbody td tfoot th thead tr ul"
)
"""Elements that start a new block (HTML standard 15.3: display block, list-item and table parts).
"""
_BREAKS = BLOCKS - {"td", "th"}
"""Elements that part lines; the cells of a row stand beside each other."""
_LINE_ENDS = _BREAKS | {"br"}
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
INLINE = _words(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd label mark"
    " math mjx-container nobr output picture q rt ruby s samp small span strike strong sub sup time"
    " tt u var wbr source track"
)
"""Elements that stand in a line of text; libxml2 puts what follows `<source>` and `<track>` into
them.
"""
SKIPPED = _words(
    "area audio base button canvas col colgroup datalist dialog embed head iframe link map meta nav"
    " noframes noscript object option select style svg template textarea title video"
)
"""Elements that are never text of the page."""
FLATTENED = _words(
    "p div section ul ol dl dt dd blockquote table tr figure figcaption details summary article h1"
    " h2 h3 h4 h5 h6"
)
"""Blocks that a table cell or a heading sets into its line."""
NOT_CODE = _words(
    "CodeMirror-linenumber RBackgroundLabel annottext blob-num boring button-holder buttons"
    " clipboard-copy code-copy code-line-number copy copy-button copybtn expressive-code-copy"
    " gutter hljs-ln-line-number hljs-ln-numbers line-num line-number line-numbers"
    " line-numbers-rows lineno linenodiv linenos linenumber linenumbers ln lnt md-annotation__index"
    " mw-pygments-lineno numberline nums react-syntax-highlighter-line-number shcb-line-number"
    " sr-only src-line token-line-number tooltip-content ttc twoslash-completion-list"
    " twoslash-error-line twoslash-meta-line twoslash-popup-container twoslash-tag-line"
    " visually-hidden"
)
"""Classes inside a code block that are not its text: line numbers, copy buttons, hidden lines."""
CODE_LINES = _words(
    "CodeMirror-line blob-code cl code-line codeLine ec-line line react-code-line-contents"
    " token-line view-line"
)
"""Classes of elements that are one line of code."""
CODE_SPANS = frozenset({"tt", "docutils literal"})
"""Classes of a `<span>` that is inline code (Doxygen 1.16, docutils)."""
COMMON_LANGUAGES = _words(
    "bash c console cpp cs csharp css dart diff dockerfile elixir go graphql groovy haskell html"
    " http ini java javascript js json json5 jsonc jsx julia kotlin kt less lua makefile markdown"
    " md mermaid objc perl php powershell proto py pycon python r rb rs ruby rust scala scss sh"
    " shell sql svelte swift toml ts tsx typescript vue xml yaml yml zig zsh"
)
"""Languages that `<code>` may name by a class that says nothing else (TypeDoc)."""
CONTROLS = frozenset(
    {"copy", "copied", "copied!", "copy code", "copy link", "copy page", "copy to clipboard", "expand all",
     "collapse all", "collapse", "expand", "edit", "show more", "show less", "toggle", "#"}
)  # fmt: skip
"""Texts of buttons that do something, and are no word of the text."""
NOT_A_LANGUAGE = _words(
    "active annotate astro-code auto block cell-code cell-output chroma code code-block"
    " code-with-copy codehilite compile_fail content copy-enabled copyable default doc-text downlit"
    " dracula editable edition2015 edition2018 edition2021 edition2024 example executable expand file"
    " focus fragment github-dark github-light has-diff has-focused-lines highlight highlighted"
    " highlighter-rouge highlightjs hljs ignore inner item-decl lang language line-numbers"
    " linenumbers linenums listing literal literal-block makeup match-braces monokai mt-0 myst-ansi"
    " lsp no-highlight no_run nocopy nohighlight none nord not-prose notranslate nowrap numberlines"
    " numbersource output overflow-auto plain playground prettyprint prettyprinted prism"
    " programlisting rainbow-braces rouge rust-example-rendered scraped-example screen shiki"
    " shiki-themes should_panic snippet source sourcecode tab text-sm title twoslash undefined vitesse-dark"
    " vitesse-light vp-code vp-code-dark vp-code-light with-title wrap"
)
"""Class words of code blocks that name a highlighter, a theme or an option, no language."""


HAS_PANELS = XPath("boolean(.//*[starts-with(@role, 'tabpane')])")
"""Whether a list of tabs holds what they open."""
IS_FRAME = XPath(
    "boolean(self::form[.//p][not(.//select | .//textarea"
    " | .//input[not(@type='hidden' or @type='submit' or @type='button')])])"
)
"""Whether an element is a form around text, with nothing to fill in."""
Flow = Literal["block", "inline", "code", "math", "set in line", "unknown"]
"""How elements of a tag and class are laid out, before their content is known.

    code         inline, unless it has several lines
    math         inline, whatever is inside
    set in line  blocks that their site's style makes inline
    unknown      a block if there are blocks inside, else inline
"""


def flow_of(tag: str, classes: str | None) -> Flow:
    """Return how elements of a tag and class attribute are laid out."""
    if classes == "doc-md-description":  # mkdocstrings
        return "set in line"
    if tag in BLOCKS:
        return "block"
    if tag not in INLINE:
        return "unknown"
    return "code" if tag in {"code", "tt", "samp"} else "math" if tag == "math" else "inline"


_NAVIGATION = re.compile(
    r"(?:^|[-_\s])(?<!with-)(nav(?:bar|igate|igation)?|menu|sidebar|topbar|footer|breadcrumbs?|cookies?|"
    r"banner|toc(?![-_])|promo|share|related|comments?(?!-\d)|author|signature|disclaimer|popup|"
    r"reviews|notices?|tooltip|byline|social|consent|"
    r"modal|newsletter|subscribe|pagination)(?:$|[-_\s])",
    re.IGNORECASE,
)
_UTILITIES = re.compile(r"(?<!\S)(?:[^\s\[(:/]*+[\[(:/]\S*+|(?:bg|text|border)-\S++)")
"""Classes that only say how an element looks (Tailwind): `lg:grid-cols-[var(--sidebar-width)_1fr]`,
`bg-sidebar`.
"""


strings_of = partial(XPath, smart_strings=False)
"""Makes an XPath whose strings do not keep the tree that they are from."""


def empty(element: _Element) -> None:
    """Take all out of an element but the text behind it."""
    element.clear(keep_tail=True)


def class_names(element: _Element) -> list[str]:
    """Return the words of the class attribute of an element."""
    return str(element.get("class", "")).split()


def body_of(root: _Element) -> _Element:
    """Return the `<body>` of a page; the root of one without."""
    body = root.find("body")
    return root if body is None else body


def holds(element: _Element, *tags: str) -> bool:
    """Return True if an element is, or has inside, one of these tags."""
    return next(element.iter(*tags), None) is not None


def is_within(element: _Element, *tags: str) -> bool:
    """Return True if an element stands in one of these tags."""
    return next(element.iterancestors(*tags), None) is not None


def navigation_name(element: _Element) -> str:
    """Return the word in the class or id of an element that names navigation, not content, in lower
    case; empty without one, and for labels of tabs.
    """
    name = f"{element.get('class', '')} {element.get('id', '')}"
    if name == " " or element.tag in {"html", "body", "main", "article"}:
        return ""
    if element.get("role") == "tablist":
        return ""
    found = _NAVIGATION.search(name)
    if found and _UTILITIES.search(name):
        found = _NAVIGATION.search(_UTILITIES.sub(" ", name))
    return found[1].lower() if found else ""


def settable(text: str | None) -> str:
    """Return `text` without what lxml reads from HTML but refuses to set: control characters (XML
    1.0, 2.2).
    """
    return _NOT_XML.sub("", text) if text else ""


def collapsed(text: str) -> str:
    """Return `text` with each run of white space as one space (ten times as fast as one
    expression).
    """
    if "\n" in text:
        text = text.replace("\n", " ")
    if "\t" in text or "\r" in text or "\f" in text:
        text = _SPACE.sub(" ", text)
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def has_blocks(element: _Element) -> bool:
    """Return True if a descendant is a block."""
    for child in element:  # noqa: SIM110  # called for every inline element: `any` takes half as long again
        if child.tag in BLOCKS or (len(child) and has_blocks(child)):
            return True
    return False


def holders(element: _Element, attributes: XPath) -> list[_Element]:
    """Return the elements that have the attributes of a path such as `descendant::*/@role`, five
    times as fast.
    """
    return [value.getparent() for value in attributes(element)]


def remove_elements(elements: Iterable[_Element]) -> None:
    """Remove elements that are given in document order; the text behind each stays."""
    left: dict[tuple[_Element, str], list[str]] = {}
    for element in elements:
        parent = element.getparent()
        before = element.getprevious()
        if parent is None:
            continue
        if element.tail:
            key = (parent, "text") if before is None else (before, "tail")
            left.setdefault(key, []).append(settable(element.tail))
        parent.remove(element)
    for (holder, place), texts in left.items():
        setattr(holder, place, settable(getattr(holder, place)) + "".join(texts))


def inner_text(element: _Element) -> str:
    """Return the text of an element as it stands, a fifth of the time that joining `itertext()`
    takes.
    """
    if not len(element):
        return element.text or ""
    text: str = tostring(element, encoding="unicode", method="text", with_tail=False)
    return text


def breaks_lines(element: _Element) -> bool:
    """Return True if a `<br>` or a block is in an element."""
    for child in element:  # noqa: SIM110  # `any` takes half as long again, an iterator over many tags ten times
        if child.tag in _LINE_ENDS or (len(child) and breaks_lines(child)):
            return True
    return False


def broken_text(element: _Element) -> str:
    """Return the text of an element with a new line for each `<br>`, and before and after each
    block in it.
    """
    if not breaks_lines(element):
        return inner_text(element)
    parts: list[str] = []
    for event, part in iterwalk(element, events=("start", "end")):
        is_break = part is not element and part.tag in _BREAKS
        if event == "start":
            parts += ["\n" if is_break or part.tag == "br" else "", part.text or ""]
        else:
            parts += ["\n" if is_break else "", (part.tail or "") if part is not element else ""]
    return "".join(parts)


def letters(element: _Element) -> int:
    """Return how many letters and digits are in an element."""
    return letters_of(inner_text(element))


def letters_outside_links(element: _Element) -> int:
    """Return how many letters and digits of an element are outside of links."""
    texts: list[str] = []
    outer: _Element | None = None
    for link in element.iter("a"):
        if outer is None or outer not in link.iterancestors("a"):
            outer = link
            texts.append(inner_text(link))
    return letters(element) - letters_of("".join(texts))


LEAST_PAGE = 20
"""Minimum number of letters of prose that a page has."""
NO_PROSE = SKIPPED | {"a", "footer", "script"}
"""Elements whose text is no prose of a page, besides links."""


def prose(element: _Element) -> int:
    """Return how many letters and digits of an element are text for readers: outside of links,
    navigation and controls.
    """
    texts: list[str] = []
    waiting = [element]
    while waiting:
        around = waiting.pop()
        texts.append(around.text or "")
        for child in around:
            texts.append(child.tail or "")
            if child.tag not in NO_PROSE:
                waiting.append(child)
    return letters_of("".join(texts))


def visible(element: _Element) -> str:
    """Return the text of an element, white space collapsed."""
    if not len(element):
        return collapsed(element.text or "").strip(" \u200b")
    return collapsed(broken_text(element)).strip(" \u200b")


def plain_text(element: _Element) -> str:
    """Return the text of an element without permalink signs, white space collapsed."""
    text = visible(element).replace("\xa0", " ").strip(" ¶\u200b\uf0c1")
    if text[-1:] == "#" or text[:1] == "#":
        is_sign = any(visible(link) == "#" for link in element.iter("a"))
        if is_sign or text[-2:] == " #":
            text = text.removesuffix("#").rstrip(" ¶\u200b\uf0c1")
        if is_sign or text[:2] == "# ":
            text = text.removeprefix("#").lstrip(" ¶\u200b\uf0c1")
    return text
