"""Whether an element whose class speaks for chrome is chrome: a name is evidence, what the element holds decides."""

from __future__ import annotations

import re

from lxml.etree import XPath, _Element

from llmsspider.extraction.names import inner_text, letters, letters_outside_links, plain_text

DOUBTFUL = frozenset(
    {"ad", "ads", "article-relatives", "breadcrumb", "breadcrumbs", "cookies", "copy", "feedback", "no-print",
     "article-tags", "noprint", "page-feedback",
     "page-tags", "post-tags", "tag-list", "page-nav", "page-navigation", "page-toc", "pager", "pagination",
     "related-articles", "related-posts", "search-results", "section-index", "toc", "TOC"}
)  # fmt: skip
"""Classes and ids that sites give to chrome, and to content too."""
CONTENTS_NAMES = frozenset({"table of contents", "contents", "on this page", "in this article", "toc"})
"""What the heading of a table of contents says."""
_PROSE = 30
"""Letters outside links from which on a text is more than a label."""
_UNLINKED = 0.3
"""Part of a text that is outside links where links come with descriptions."""
_WHOLE = 400
"""Letters outside links that no button, banner or form for feedback has."""
_CONTROLS = XPath("boolean(.//button | .//input | .//select | .//textarea | .//form | .//iframe)")
_STRUCTURE = XPath("boolean(.//pre | .//th | .//dl)")
_CONTENTS = re.compile(r"toc|contents|breadcrumb|pag(?:er|e-nav|ination)", re.IGNORECASE)
"""Names of lists of links: only paragraphs, code or tables among them are content."""
_PARAGRAPHS = XPath("boolean(.//p | .//pre | .//th)")
_ASKS = re.compile(
    r"(?:was|did|is) this \w+ (?:help|use|answer)|helpful\?|rate this|(?:give|send|share|leave) (?:us |your )?feedback|"
    r"(?:use|uses|using) cookies|advertis|sponsor|\bads? by|subscribe|sign up|newsletter",
    re.IGNORECASE,
)
"""What chrome says of itself."""


def holds_title(element: _Element) -> bool:
    """Return True if a heading of level 1 is in an element, other than that of a table of contents."""
    return any(plain_text(heading).lower() not in CONTENTS_NAMES for heading in element.iter("h1"))


def is_content(element: _Element) -> bool:
    """Return True if an element with one of the `DOUBTFUL` names is content of the page.

    Content is what holds a heading of level 1, prose without controls and not asking for feedback or consent, or
    more text than chrome has.
    """
    if holds_title(element):
        return True
    outside = letters_outside_links(element)
    if outside < max(_PROSE, _UNLINKED * letters(element)):
        return False
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    if _CONTENTS.search(name) and not _PARAGRAPHS(element):
        return False
    if outside >= _WHOLE or _STRUCTURE(element):
        return True
    return not _CONTROLS(element) and not _ASKS.search(inner_text(element))
