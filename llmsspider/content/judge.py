"""What a page's Markdown and its HTML say that the other does not. Pure.

Both come as Markdown with absolute links, the HTML as it was converted. An author's dialect is no
loss: front matter, admonitions, tabs, components, tables in HTML. `may_be_stub` names the pages
that are judged by themselves; what a few pages show of a form of a host is in
`crawler/second_requests.py`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sized
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from llmsspider.content.markdown import commonmark
from llmsspider.content.markdown.commonmark import code_languages, letters_of
from llmsspider.items import Page
from llmsspider.web.text import valid_text

# --- one page in two forms ---

Loss = Literal[
    "edits", "text", "code blocks", "indentation", "languages", "tables", "headings", "links"
]
"""What a form of a page may lack, the gravest first; edits where it is built later than the page.
"""

FULLER = 2
"""How many times the text of the other form a form must have to say more, and `MORE` letters
besides.
"""
MORE = 150  # letters that the navigation of a site may leave in the text of a page
MANY_WORDS = 100
"""Words, a third of its own, that a form must have besides to say more than one that it holds."""
LEAST = 2
"""Lines of code, rows, headings or links from which on they are missed, where they are enough of
all.
"""
# words from which on a paragraph or item is a passage, which the other form has or has not
PASSAGE = 8
MANY_PASSAGES = 50  # of a form that the other has not; no more of them are compared with each other

_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^<>]*>")
_MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>|\]\([^()\[\]\n]*\)")
"""Tags, comments and destinations of links."""
_TABLE = re.compile(r"<tr\b|\b(?:list|csv)-table\b|^[ \t]*<[A-Z]", re.MULTILINE)
"""How tables are written in other ways than with pipes: HTML, directives, components."""
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}|:[a-z][\w-]*:")
_FILLED_IN = re.compile(r"[{}$\\^|]|@\w|:\w+:")
"""What stands in text for which a generator puts other words: variables, formulas, notes,
references.
"""
_ENDING = re.compile(r"(?:/index)?(?:\.html?|\.llms)?(?:\.mdx?)?/?\Z")
_BLOCKS = frozenset(
    {
        "Paragraph",
        "Item",
        "List",
        "BlockQuote",
        "HtmlBlock",
        "CodeBlock",
        "Heading",
        "TableRow",
        "TableHead",
    }
)


class Compared(NamedTuple):
    """What a page's Markdown lacks that its HTML says, and what both say in their passages, as
    hashes.

    `lag` says of the passages of the HTML that they are in the Markdown (""), that it lacks some
    ("less"), or has some in other words ("edits"). The hashes are empty where the two are no states
    of one page: one is a wall or an error.
    """

    lost: frozenset[Loss]
    html: str = ""
    markdown: str = ""
    lag: str = ""
    is_stub: bool = False  # the Markdown, whatever other pages are


@dataclass(slots=True)
class _Said:
    """What a form of a page says: words, lines of code as they stand, rows and headings by their
    letters, links.
    """

    words: list[str] = field(default_factory=list)
    passages: dict[str, str] = field(default_factory=dict)  # as they stand, by their words
    code: list[str] = field(default_factory=list)
    html: set[str] = field(default_factory=set)  # lines of HTML and components, which may hold code
    rows: set[str] = field(default_factory=set)
    headings: list[str] = field(default_factory=list)
    # where each leads, by the letters of its text
    links: dict[str, str] = field(default_factory=dict)


def _said(page: Page) -> _Said:
    said = _Said()
    block = ""
    text = [""]
    for event in commonmark.events(valid_text(page.markdown)):
        kind, value = (event, " ") if isinstance(event, str) else next(iter(event.items()))
        if kind in {"Start", "End"}:
            name = value if isinstance(value, str) else next(iter(value))
            if name in _BLOCKS:
                _take(said, block, "".join(text))
                block = name if kind == "Start" else ""
                text = []
            continue
        if kind in {"Html", "InlineHtml"}:
            said.html.update(line.strip() for line in value.split("\n"))
            value = _TAG.sub(" ", value)
        text.append(value)
    _take(said, block, "".join(text))
    for link in page.links:
        if letters := _letters(link.text):
            said.links.setdefault(letters, _place(link.url))
    return said


def _take(said: _Said, block: str, text: str) -> None:
    words = _words(text)
    said.words += words
    if block == "CodeBlock":
        said.code += _lines(text)
    elif block == "Heading":
        said.headings.append(_letters(_ATTRIBUTES.sub("", text)))
    elif block in {"TableRow", "TableHead"}:
        said.rows.add(_letters(text))
    elif block in {"Paragraph", "Item"} and len(words) >= PASSAGE:
        said.passages[" ".join(words)] = text


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _lines(code: str) -> list[str]:
    """Return the lines of a code block that say something, indented as they are among each other."""
    lines = [line.expandtabs(4).rstrip() for line in code.split("\n") if letters_of(line) > 2]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return [line[indent:] for line in lines]


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text)).lower().lstrip("0123456789")


def _site(place: str) -> str:
    return place.partition("/")[0]  # a copy of a site links to the original


def _place(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc + _ENDING.sub("", parts.path, count=1)


def compare(markdown: Page, html: Page) -> Compared:
    """Compare both forms of a page; the Markdown lacks nothing where the HTML lacks what the
    Markdown says.

    Raises `ConversionError` where the parser fails.
    """
    one = _said(markdown)
    other = _said(html)
    is_one_page = _is_one_page(one, other)
    if not is_one_page and _is_another_text(one, other):
        return Compared(frozenset({"text"}), is_stub=may_be_stub(markdown.markdown))
    lost = _losses(markdown, one, html, other)
    if lost and _losses(html, other, markdown, one) - lost:
        lost = frozenset()
    is_stub = "text" in lost and may_be_stub(markdown.markdown)
    if is_stub or not is_one_page:
        return Compared(lost, is_stub=is_stub)
    summary = " ".join(
        filter(None, (markdown.meta.title, markdown.meta.description, html.meta.description))
    )
    missed = _missed(other, " ".join([*one.words, *_words(summary)]))
    edits = missed and _has_edits(missed, _missed(one, " ".join(other.words)))
    lag = "edits" if edits else "less" if missed else ""
    return Compared(lost, _hash_of(other.passages), _hash_of(one.passages), lag)


def _is_one_page(one: _Said, other: _Said) -> bool:
    """Say whether two forms share half of their words, as states of one page do."""
    both = Counter(one.words) & Counter(other.words)
    return 4 * both.total() >= len(one.words) + len(other.words)


def _is_another_text(one: _Said, other: _Said) -> bool:
    """Say whether Markdown that shares few words with its HTML is the text of another page: they
    share no heading, and no passage of one is in the other.
    """
    if len(other.passages) < LEAST:
        return False
    if set(filter(None, one.headings)) & set(other.headings):
        return False
    words = " ".join(one.words)
    beside = " ".join(other.words)
    return not (
        any(passage in words for passage in other.passages)
        or any(passage in beside for passage in one.passages)
    )


def _missed(said: _Said, words: str) -> list[Counter[str]]:
    """Return the words of the first passages of a form that are not among the words of the other."""
    missed = (passage for passage, text in said.passages.items() if not _FILLED_IN.search(text))
    return [
        Counter(one.split())
        for one in islice((one for one in missed if one not in words), MANY_PASSAGES)
    ]


def _has_edits(missed: list[Counter[str]], beside: list[Counter[str]]) -> bool:
    """Say whether a passage stands in both forms with other words, which is no matter of where
    words end.
    """
    for one, other in product(missed, beside):
        if 10 * (one & other).total() >= 7 * max(one.total(), other.total()):
            gone, new = (sorted("".join(words)) for words in (one - other, other - one))
            if gone and new and gone != new:
                return True
    return False


def _hash_of(passages: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(passages).encode("utf-8", "replace")).hexdigest()[:16]


def _losses(of: Page, one: _Said, beside: Page, other: _Said) -> frozenset[Loss]:
    """Return what the form `of`, which says `one`, lacks of the form `beside`, which says `other`."""
    has_table = bool(one.rows or _TABLE.search(of.markdown))
    has_languages = bool(code_languages(of.markdown) or not one.code)
    known = {*one.headings, _letters(of.meta.title or ""), *map(_letters, one.code), ""}
    headings = [head for head in other.headings if head not in known]
    found: dict[Loss, bool] = {
        "text": _lacks_text(of.markdown, Counter(one.words), beside.markdown, Counter(other.words)),
        "code blocks": _lacks_code(one, other),
        "indentation": _lacks_indentation(one, other),
        # one language alone may be what a generator takes all code for
        "languages": not has_languages and len(code_languages(beside.markdown)) > 1,
        "tables": not has_table and _is_much(other.rows, other.rows, 1),
        "headings": _is_much(headings, other.headings, 3),
        "links": _has_other_links(one, other),
    }
    return frozenset(loss for loss, is_lost in found.items() if is_lost)


def _lacks_code(one: _Said, other: _Said) -> bool:
    known = set(one.code)
    names = set(_WORD.findall(" ".join([*one.code, *one.html])))
    gone = [line for line in other.code if line not in known and line.strip() not in known]
    return _is_much([line for line in gone if _is_new(line, names)], other.code, 5)


def _lacks_indentation(one: _Said, other: _Said) -> bool:
    known = set(one.code)
    indented = [line for line in other.code if line != line.lstrip()]
    lost = [line for line in indented if line not in known and line.strip() in known]
    return _is_much(lost, indented, 2)


def _has_other_links(one: _Said, other: _Said) -> bool:
    """Say whether links with the same text lead elsewhere on the same site."""
    shared = [text for text in one.links if text in other.links]
    both = [text for text in shared if _site(one.links[text]) == _site(other.links[text])]
    return _is_much([text for text in both if one.links[text] != other.links[text]], both, 2)


def _is_new(line: str, names: set[str]) -> bool:
    """Say whether most of a line is in no code: else it is a variant of code that the author writes
    once.
    """
    words = _WORD.findall(line)
    return 2 * sum(word in names for word in words) < len(words)


def _is_much(missed: Sized, of: Sized, part: int) -> bool:
    """Say whether at least so many, and this part of all, are missed."""
    return len(missed) >= LEAST and part * len(missed) >= len(of)


def _lacks_text(text: str, one: Counter[str], beside: str, other: Counter[str]) -> bool:
    """Say whether a form has far less text than another, or less and nothing that the other has
    not.
    """
    if letters_outside_markup(beside) >= FULLER * letters_outside_markup(text) + MORE:
        return True
    common = (one & other).total()
    lost = (other - one).total()
    return 10 * common >= 9 * one.total() and lost >= MANY_WORDS and 3 * lost >= other.total()


def letters_outside_markup(markdown: str) -> int:
    """Return how many letters and digits a text has outside headings, tags and destinations of
    links.
    """
    lines = (line for line in markdown.split("\n") if not line.startswith("#"))
    return letters_of(_MARKUP.sub("", "\n".join(lines)))


# --- one page that may be a stub, whatever the others are ---

SHORT = 300  # letters of text below which Markdown may be a stub
GAPS = 10 * SHORT
"""Letters below which Markdown may be one where something that the generator has not filled in
stands among them.
"""

_FENCE = re.compile(
    r"^[ \t]*(`{3,}+|~{3,}+)([^\n]*+\n)((?:.*\n)*?)(?:[ \t]*\1[ \t]*(?:\n|\Z)|.*\Z)", re.MULTILINE
)
_FILLED_BY = ("{include}", "{literalinclude}", "{eval-rst}", "{auto", "{toctree}")
"""What the info string of a fence says whose text the generator takes from elsewhere (MyST)."""
_GAP = re.compile(
    r"""^[ \t]*(?:[-;*]*8<-|\{[%{!<#].*\}[ ]*$|\[.*':include|!\[\[.*\]\][ ]*$|</?[A-Z][^<\n]*>[ ]*$
    |:::[ ][^ .\n]*\.\S*[ ]*$|\.\.[ ].*::|(?i:<<<|!!!include\(|\[!include|:include:|\#include[ ])
    |(?i:<!--(?=.*include).*-->[ ]*$)).*""",
    re.VERBOSE | re.MULTILINE,
)
"""Lines that name what the generator is to put in their place."""
_NO_TEXT = re.compile(r"^[ \t]*(?:#|import |export ).*", re.MULTILINE)


def may_be_stub(markdown: str, short: int = SHORT) -> bool:
    r"""Say whether Markdown may be a stub of its page: too short, or made of what its generator has
    not filled in.

    >>> may_be_stub('# Changes\n\n--8<-- "CHANGELOG.md"\n'), may_be_stub("# Home\n\nWelcome.\n")
    (True, True)
    >>> may_be_stub("word " * 100), may_be_stub("word " * 100 + "\n\n::: widget.Wheel\n")
    (False, True)
    """
    if len(markdown) > 4 * GAPS:
        return False  # so much text is no stub, whatever it includes
    fences = list(_FENCE.finditer(markdown))
    code = [fence[3] for fence in fences if not fence[2].lstrip("`~ ").startswith(_FILLED_BY)]
    text, gaps = _GAP.subn("", _FENCE.sub("", markdown))
    letters = letters_of("".join(code)) + letters_of(_MARKUP.sub("", _NO_TEXT.sub("", text)))
    return letters < (GAPS if gaps or len(code) < len(fences) else short)
