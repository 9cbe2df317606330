r"""Escapes that make text read back as the same text, and no more than that.

Rules of CommonMark 0.31 (2.4, 4.1 to 4.10, 5, 6) and GFM. Text has its white space collapsed first, so only
the start of a block can start a block construct.
"""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\`*_\[\]<&~]")
_NEEDS = {
    "\\": re.compile(
        r"\\(?=[!-/:-@\[-`{-~]|\Z)"
    ),  # a backslash that would escape; syntax may follow the text
    "*": re.compile(r"(?<! )\*|\*(?! )"),  # emphasis
    "_": re.compile(r"(?<![^\W_])_|_(?![^\W_])"),  # emphasis, not inside a word
    "`": re.compile(r"`"),
    "<": re.compile(r"<(?=[A-Za-z/!?])"),  # a tag or autolink
    "&": re.compile(r"&(?=#?\w+;)"),  # an entity
    "~": re.compile(r"~(?=~)|(?<=~)~"),
    "]": re.compile(r"\](?=[(\[])"),  # a link
    "[": re.compile(r"\[(?=\^)"),  # a footnote
}
"""Where a character is syntax. Looked up per character found: one expression of all of them is six times slower."""
_STARTS = frozenset("#-+>=[~:0123456789")
_START = re.compile(
    r"""\#{1,6}(?=\ |\Z) | [-+](?=\ |\Z) | (?P<number>\d{1,9})[.)](?=\ |\Z) | >
      | -(?=[- ]*\Z) | =(?==*\Z) | \[(?=(?:\\.|[^\]\\\n])*\]:|[\ xX]\]\ ) | ~(?=~~) | :(?=\ )""",
    re.VERBOSE,
)
_BRACKET = re.compile(r"\\.|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|<[A-Za-z/!][^<>]*>|[\[\]]", re.DOTALL)
"""Brackets, and before them what binds tighter: escapes, code spans, tags (CommonMark 0.31, 6)."""


def escape(text: str) -> str:
    r"""Return `text` with the characters escaped that Markdown would read as syntax inside a paragraph.

    >>> print(escape("snake_case, a * b, *c*, Vec<T>, x[0]"))
    snake_case, a * b, \*c\*, Vec\<T>, x[0]
    """
    return _SPECIAL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return "\\" + character if _NEEDS[character].match(found.string, found.start()) else character


def escape_start(line: str) -> str:
    r"""Return `line`, which starts a block, with a leading block marker escaped.

    >>> print(escape_start("1. one"), escape_start("# x"), escape_start("#x"))
    1\. one \# x #x
    """
    found = _START.match(line) if line[:1] in _STARTS else None
    if not found:
        return line
    at = found.end("number") if found["number"] else 0
    return f"{line[:at]}\\{line[at:]}"


def escape_brackets(text: str) -> str:
    r"""Return inline Markdown for a link's brackets: its own brackets are escaped where they have no partner.

    >>> print(escape_brackets("x[0]"), escape_brackets("a]"), escape_brackets("`[` [b"))
    x[0] a\] `[` \[b
    """
    opened: list[int] = []
    alone: list[int] = []
    for found in _BRACKET.finditer(text):
        if found.group() == "[":
            opened.append(found.start())
        elif found.group() == "]":
            if opened:
                opened.pop()
            else:
                alone.append(found.start())
    for position in sorted((*opened, *alone), reverse=True):
        text = f"{text[:position]}\\{text[position:]}"
    return text
