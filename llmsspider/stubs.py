"""Author's Markdown that is a stub: too short, or made of what its generator has not filled in. Pure.

Its page is asked for as HTML once, and the fuller of the two is the document (docs/markdown-forms.md). What a host
has taught about that is kept in a `HostStubs`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Stub = Literal["short", "unfilled"]

SHORT = 300
"""Letters and digits of text below which Markdown may be a stub."""
FULLER = 2
"""How many times the text of the Markdown the HTML must have, and `MORE` letters besides."""
MORE = 150
"""Letters that the navigation of a site may leave in the text of a page."""
PROBES = 4
"""Pages of a host for which HTML is asked in vain before it is not asked any more."""
RARELY = 0.05
"""Part of the pages asked for that must have been fuller, from `PROBES` times two pages on."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_INCLUDE_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,}|:{3,}) ?\{(?:include|literalinclude|eval-rst|auto\w+|toctree)\b.*?^ {0,3}\1[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_UNFILLED = re.compile(
    r"""^[ \t]*(?:
        [-;]*8<[-]{2,}.*                                   # PyMdown snippets
      | \{[%{!<#].*?[%}!>#]\}+                             # Jinja, Liquid, Hugo, Handlebars, markdown-include
      | :::[ ]+[\w.]+\.\w+[ \t]*(?:\n(?:[ \t]+.*\n?)+)?    # mkdocstrings
      | <!--[ \t]*@?\#?include\b.*?-->                     # VitePress, server-side includes
      | <<<[ \t]*@?[\w./{}-]+.*                            # VitePress
      | \[!(?:INCLUDE|include)\b.*                         # DocFX
      | !!!include\(.*                                     # markdown-it-include
      | \.\.[ ]+\w+::.*                                    # reStructuredText
      | :(?:include|export|import):.*
      | \[[^\]\n]*\]\([^)\n]*':include.*                   # Docsify
      | !\[\[[^\]\n]*\]\]                                  # Obsidian
      | (?:import|export)\s+[^\n]*(?:from\s+['"]|=).*      # MDX
      | </?[A-Z][\w.]*(?:\s[^<>]*?)?/?>                    # components
      | TODO\b.*
    )[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_MARKUP = re.compile(
    r"<!--.*?-->|</?[a-zA-Z][^<>]*>|\]\([^)\n]*\)|^ {0,3}#{1,6} [^\n]*$", re.MULTILINE | re.DOTALL
)


def stub(markdown: str) -> Stub | None:
    r"""Return why Markdown may be a stub of its page, or None where it is not.

    >>> stub('# Changes\n\n--8<-- "CHANGELOG.md"\n'), stub("# Home\n\nWelcome.\n"), stub("word " * 100)
    ('unfilled', 'short', None)
    """
    if len(markdown) > 40 * SHORT:
        return None  # so much text is no stub, whatever it includes
    text, includes = _INCLUDE_FENCE.subn("", markdown)
    outside = _FENCE.sub("", text)
    rest, unfilled = _UNFILLED.subn("", outside)
    code = letters(text) - letters(outside)
    said = letters(_MARKUP.sub("", rest)) + code
    if said >= SHORT:
        return None
    return "unfilled" if includes or unfilled else "short"


def letters(text: str) -> int:
    """Return how many letters and digits are in a text."""
    return sum(map(str.isalnum, text))


def is_fuller(html: str, markdown: str) -> bool:
    """Say whether the Markdown made from a page's HTML says far more than the author's Markdown of it.

    >>> is_fuller("word " * 200, "# Changes"), is_fuller("Home Guide Changes " * 3, "# Changes")
    (True, False)
    """
    return _said(html) >= FULLER * _said(markdown) + MORE


def _said(markdown: str) -> int:
    return letters(_MARKUP.sub("", markdown))


@dataclass(slots=True)
class HostStubs:
    """How often the HTML of a host's stubs was asked for, and how often it was fuller."""

    asked: int = 0
    fuller: int = 0

    def pays(self) -> bool:
        """Say whether the HTML of one more stub is worth a request."""
        if self.fuller == 0:
            return self.asked < PROBES
        return self.asked < 2 * PROBES or self.fuller >= RARELY * self.asked

    def report(self, *, fuller: bool) -> None:
        """Count what came of a request."""
        self.asked += 1
        self.fuller += fuller

    def as_list(self) -> list[int]:
        """Return what the store remembers."""
        return [self.asked, self.fuller]

    @classmethod
    def from_list(cls, data: object) -> HostStubs:
        """Rebuild from `as_list`; a host where it never paid is asked once more in each run."""
        if not (isinstance(data, list) and len(data) == 2 and all(type(number) is int for number in data)):
            return cls()
        asked, fuller = data
        return cls(min(asked, PROBES - 1) if fuller == 0 else asked, fuller)
