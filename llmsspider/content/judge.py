"""What a page's Markdown and its HTML say that the other does not, and which form of a host is the better one. Pure.

Both come as Markdown with absolute links, the HTML as it was converted. An author's dialect is no loss: front matter,
admonitions, tabs, components, tables in HTML. `is_worse` judges one page, `FormSamples` a form by a few pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sized
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import urlsplit

from llmsspider.content.markdown import commonmark
from llmsspider.content.markdown.code_languages import code_languages
from llmsspider.content.markdown.commonmark import letters_of
from llmsspider.items import Page

# --- one page in two forms ---

Loss = Literal["text", "code blocks", "indentation", "languages", "tables", "headings", "links"]
"""What a form of a page may lack; the gravest first."""

FULLER = 2
"""How many times the text of the other form a form must have to say more, and `MORE` letters besides."""
MORE = 150
"""Letters that the navigation of a site may leave in the text of a page."""
MANY_WORDS = 100
"""Words that a form must have besides those of the other, a third of its own, to say more where it holds the other."""
LEAST = 2
"""Lines of code, rows, headings or links from which on they are missed, where they are enough of all."""

_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^<>]*>")
_MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>|\]\([^()\[\]\n]*\)")
"""Tags, comments and destinations of links."""
_TABLE = re.compile(r"<tr\b|\b(?:list|csv)-table\b|^[ \t]*<[A-Z]", re.MULTILINE)
"""How tables are written in other ways than with pipes: HTML, directives, components."""
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}|:[a-z][\w-]*:")
_ENDING = re.compile(r"(?:/index)?(?:\.html?)?(?:\.mdx?)?/?\Z")
_PARTS = frozenset({"CodeBlock", "Heading", "TableRow", "TableHead"})


@dataclass(slots=True)
class _Said:
    """What a form of a page says: words, lines of code as they stand, rows and headings by their letters, links."""

    words: Counter[str] = field(default_factory=Counter)
    code: list[str] = field(default_factory=list)
    html: set[str] = field(default_factory=set)  # lines of HTML and components, which may hold code
    rows: set[str] = field(default_factory=set)
    headings: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)  # where each leads, by the letters of its text


def _said(page: Page) -> _Said:
    said, within, text = _Said(), "", [""]
    for event in commonmark.events(commonmark.encodable(page.markdown)):
        kind, value = (event, " ") if isinstance(event, str) else next(iter(event.items()))
        if kind in {"Start", "End"}:
            name = value if isinstance(value, str) else next(iter(value))
            if kind == "Start" and name in _PARTS:
                within, text = name, []
            elif name == within:
                _take(said, within, "".join(text))
                within = ""
            continue
        if kind in {"Html", "InlineHtml"}:
            said.html.update(line.strip() for line in value.split("\n"))
            value = _TAG.sub(" ", value)
        text.append(value)
        said.words.update(map(str.lower, _WORD.findall(value)))
    for link in page.links:
        if letters := _letters(link.text):
            said.links.setdefault(letters, _place(link.url))
    return said


def _take(said: _Said, part: str, text: str) -> None:
    if part == "CodeBlock":
        said.code += _lines(text)
    elif part == "Heading":
        said.headings.append(_letters(_ATTRIBUTES.sub("", text)))
    else:
        said.rows.add(_letters(text))


def _lines(code: str) -> list[str]:
    """Return the lines of a code block that say something, indented as they are among each other."""
    lines = [line.expandtabs(4).rstrip() for line in code.split("\n") if letters_of(line) > 2]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return [line[indent:] for line in lines]


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text)).lower().lstrip("0123456789")


def _place(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc + _ENDING.sub("", parts.path, count=1)


def is_worse(markdown: Page, html: Page) -> frozenset[Loss]:
    """Return what a page's Markdown lacks that its HTML says; nothing where the HTML lacks what the Markdown says.

    Raises `ConversionError` where the parser fails.
    """
    one, other = _said(markdown), _said(html)
    lost = _losses(markdown, one, html, other)
    return frozenset() if not lost or _losses(html, other, markdown, one) - lost else lost


def _losses(of: Page, one: _Said, beside: Page, other: _Said) -> frozenset[Loss]:
    exact, flush = set(one.code), {line for line in one.code if line == line.lstrip()}
    names = set(_WORD.findall(" ".join([*one.code, *one.html])))
    gone = [line for line in other.code if line not in exact and line.strip() not in flush]
    indented = [line for line in other.code if line != line.lstrip()]
    known = {*one.headings, _letters(of.meta.title or ""), *map(_letters, one.code), ""}
    both = [text for text in one.links if text in other.links]
    has_table = bool(one.rows or _TABLE.search(of.markdown))
    has_languages = bool(code_languages(of.markdown) or not one.code)
    found: dict[Loss, bool] = {
        "text": _lacks_text(of.markdown, one, beside.markdown, other),
        "code blocks": _is_much([line for line in gone if _is_new(line, names)], other.code, 5),
        "indentation": _is_much(
            [line for line in indented if line not in exact and line.strip() in flush], indented, 2
        ),
        # one language alone may be what a generator takes all code for
        "languages": not has_languages and len(code_languages(beside.markdown)) > 1,
        "tables": not has_table and _is_much(other.rows, other.rows, 1),
        "headings": _is_much([head for head in other.headings if head not in known], other.headings, 3),
        "links": _is_much([text for text in both if one.links[text] != other.links[text]], both, 2),
    }
    return frozenset(loss for loss, is_lost in found.items() if is_lost)


def _is_new(line: str, names: set[str]) -> bool:
    """Say whether most of a line is in no code: else it is a variant of code that the author writes once."""
    words = _WORD.findall(line)
    return 2 * sum(word in names for word in words) < len(words)


def _is_much(missed: Sized, of: Sized, part: int) -> bool:
    """Say whether at least so many, and this part of all, are missed."""
    return len(missed) >= LEAST and part * len(missed) >= len(of)


def _lacks_text(text: str, one: _Said, beside: str, other: _Said) -> bool:
    """Say whether a form has far less text than another, or less and nothing that the other has not."""
    if letters_outside_markup(beside) >= FULLER * letters_outside_markup(text) + MORE:
        return True
    common, lost = (one.words & other.words).total(), (other.words - one.words).total()
    return 10 * common >= 9 * one.words.total() and lost >= MANY_WORDS and 3 * lost >= other.words.total()


def letters_outside_markup(markdown: str) -> int:
    """Return how many letters and digits a text has outside headings, tags and destinations of links."""
    lines = (line for line in markdown.split("\n") if not line.startswith("#"))
    return letters_of(_MARKUP.sub("", "\n".join(lines)))


# --- a form of a host, by a few of its pages ---

SAMPLES = 3
"""Pages of a form whose HTML is requested at most before the form is decided; two that agree are enough."""
PATIENCE = 8
"""Pages without code and tables that come before one of them is a sample."""

_TELLING = re.compile(r"^ *(?:```|~~~|\||#.*\n\s*#)|^    \S|\w\\_\w", re.MULTILINE)
"""Marks of code and tables, and of code without its fence: comments that became headings, escaped underscores."""


def is_telling(markdown: str) -> bool:
    r"""Say whether Markdown has code or tables, or looks as though it had lost some.

    >>> is_telling("# Retry 3 times\n\ndef retry\\_3():\n"), is_telling("| a |\n|---|\n"), is_telling("Prose.\n")
    (True, True, False)
    """
    return _TELLING.search(markdown) is not None


@dataclass(slots=True)
class FormSamples:
    """What samples of a form of a host's pages have shown, each beside its HTML.

    `is_html` says that the HTML is better, None while that is open; `losses` counts what the Markdown lacked.
    """

    good: int = 0
    worse: int = 0
    losses: Counter[Loss] = field(default_factory=Counter)
    is_html: bool | None = None
    _asked: int = 0
    _passed: int = 0

    def takes(self, markdown: str, *, any_page: bool = False) -> bool:
        """Say whether a page is to be a sample: while the form is open, pages with code and tables first."""
        if self.is_html is not None or self._asked >= SAMPLES:
            return False
        self._passed += 1
        takes = any_page or self._passed > PATIENCE or is_telling(markdown)
        self._asked += takes
        return takes

    def report(self, lost: Iterable[Loss]) -> bool:
        """Count what the Markdown of a sample lacked; return whether that decides the form."""
        lost = frozenset(lost)
        self.losses.update(lost)
        self.worse, self.good = self.worse + bool(lost), self.good + (not lost)
        if self.is_html is not None or max(self.worse, self.good) < SAMPLES - 1:
            return False
        self.is_html = self.worse > self.good
        return True

    @property
    def evidence(self) -> str:
        """What the samples showed, in words."""
        lost = " and ".join(loss for loss in get_args(Loss) if 2 * self.losses[loss] >= self.worse)
        return f"loses {lost} ({self.worse} of {self.worse + self.good} samples)"

    def as_dict(self) -> dict[str, object]:
        """Return what the store remembers."""
        return {"good": self.good, "worse": self.worse, "losses": dict(self.losses), "html": self.is_html}

    @classmethod
    def from_dict(cls, data: object) -> FormSamples:
        """Rebuild from `as_dict`; what cannot be read counts as nothing."""
        match data:
            case {
                "good": int(good),
                "worse": int(worse),
                "losses": dict(losses),
                "html": bool() | None as html,
            }:
                kinds = Counter({loss: losses[loss] for loss in get_args(Loss) if loss in losses})
                return cls(good, worse, kinds, html)
        return cls()
