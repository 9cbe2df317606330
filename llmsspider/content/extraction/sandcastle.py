"""Pages of Sandcastle (.NET): titles, headings and code whose parts scripts and styles put
together.
"""

import re

from lxml.etree import XPath, _Element

from llmsspider.content.extraction.tree import remove_elements, settable, visible

MARKS = (b"AddLanguageSpecificTextSet", b"collapsibleRegionTitle", b"codeSnippetContainer")
"""What such a page holds one of."""
_SET = re.compile(r"AddLanguageSpecificTextSet\(\s*[\"']([\w-]{1,100})\?([^\"']{0,300})[\"']")
_SCRIPTS = XPath("//script[not(@src)]")
_HEADINGS = XPath("//span[contains(@class, 'collapsibleRegionTitle')]")
_TITLES = XPath("//td[contains(@class, 'titleColumn')][not(.//h1)]")
_ICONS = XPath("//img[contains(@class, 'collapseToggle')]")
_SNIPPETS = XPath("//div[@class='codeSnippetContainer']")
_TABS = XPath(".//*[starts-with(@class, 'codeSnippetContainerTab') and not(div)]")
_BARS = XPath(".//*[@class='codeSnippetContainerTabs' or @class='codeSnippetToolBar']")
_LANGUAGES = {
    "c#": "csharp", "vb": "vb", "visual basic": "vb", "c++": "cpp", "f#": "fsharp", "javascript": "javascript",
    "j#": "jsharp", "xaml": "xml", "xml": "xml", "html": "html", "sql": "sql", "powershell": "powershell",
}  # fmt: skip
"""The tag of a language by the name on its tab."""


def put_together(root: _Element) -> None:
    """Change a page into what its readers see: names whole, headings that are headings, code with
    its language in place of tabs.
    """
    named = {element.get("id"): element for element in root.iter("span") if element.get("id")}
    for script in _SCRIPTS(root):
        for name, texts in _SET.findall(script.text or ""):
            if (place := named.get(name)) is not None:
                place.text = settable(_for_csharp(texts))
    remove_elements(_ICONS(root))
    headings = _HEADINGS(root)
    for title in _TITLES(root)[:1] if headings and root.find(".//h1") is None else ():
        _set_title(title, headings[0])
    for heading in headings:
        heading.tag = "h2"
    for snippet in _SNIPPETS(root):
        _name_language(snippet)


def _set_title(title: _Element, heading: _Element) -> None:
    """Make a cell of a table the first heading of the text whose first section `heading` begins."""
    title.tag = "h1"
    title.tail = None
    section = heading.getparent()
    around = section.getparent() if section is not None else None
    if around is not None:
        around.insert(0, title)


def _for_csharp(texts: str) -> str:
    """Return what stands in C#, else in no language, of `cs=.|vb=.|cpp=::|nu=.`."""
    by_language = dict(part.partition("=")[::2] for part in texts.split("|"))
    return by_language.get("cs", by_language.get("nu", ""))


def _name_language(snippet: _Element) -> None:
    """Give each listing the language of its tab, the first shown one that of the active tab."""
    tabs = _TABS(snippet)
    pres = list(snippet.iter("pre"))
    if len(pres) == 1:
        tabs = [tab for tab in tabs if "Active" in tab.get("class", "")] or tabs
    for tab, pre in zip(tabs, pres, strict=False):
        if language := _LANGUAGES.get(visible(tab).lower()):
            pre.set("data-language", language)
    remove_elements(_BARS(snippet))
