"""What a page's Markdown and its HTML say that the other does not, and which form of a host is the better one. Pure.

Both come as Markdown with absolute links, the HTML as it was converted. An author's dialect is no loss: front matter,
admonitions, tabs, components, tables in HTML. `is_worse` judges one page, `FormSamples` a form by a few pages, and
`may_be_stub` names the pages that are judged by themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from llmsspider.content.markdown import commonmark
from llmsspider.content.markdown.commonmark import code_languages, letters_of
from llmsspider.items import Page

# --- one page in two forms ---

Loss = Literal["edits", "text", "code blocks", "indentation", "languages", "tables", "headings", "links"]
"""What a form of a page may lack, the gravest first; edits where it is built later than the page."""

FULLER = 2
"""How many times the text of the other form a form must have to say more, and `MORE` letters besides."""
MORE = 150  # letters that the navigation of a site may leave in the text of a page
MANY_WORDS = 100
"""Words, a third of its own, that a form must have besides to say more than one that it holds."""
LEAST = 2
"""Lines of code, rows, headings or links from which on they are missed, where they are enough of all."""

_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<[^<>]*>")
_MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>|\]\([^()\[\]\n]*\)")
"""Tags, comments and destinations of links."""
_TABLE = re.compile(r"<tr\b|\b(?:list|csv)-table\b|^[ \t]*<[A-Z]", re.MULTILINE)
"""How tables are written in other ways than with pipes: HTML, directives, components."""
_ATTRIBUTES = re.compile(r"\{[#.:][^{}]*\}|:[a-z][\w-]*:")
_ENDING = re.compile(r"(?:/index)?(?:\.html?|\.llms)?(?:\.mdx?)?/?\Z")
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


def _site(place: str) -> str:
    return place.partition("/")[0]  # a copy of a site links to the original


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
    both = [text for text, place in one.links.items() if _site(place) == _site(other.links.get(text, "/"))]
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


# --- one page that may be a stub, whatever the others are ---

SHORT = 300  # letters of text below which Markdown may be a stub
GAPS = 10 * SHORT
"""Letters below which Markdown may be one where something that the generator has not filled in stands among them."""

_FENCES = ("```", "~~~")
_FILLED_BY = ("{include}", "{literalinclude}", "{eval-rst}", "{auto", "{toctree}")
"""What the info string of a fence says whose text the generator takes from elsewhere (MyST)."""
_GAP = re.compile(
    r"""[-;*]*8<-|\{[%{!<#].*\}\Z|\[.*':include|!\[\[.*\]\]\Z|</?[A-Z][^<]*>\Z|:::[ ][^ .]*\.\S*\Z|\.\.[ ].*::
    |(?i:<<<|!!!include\(|\[!include|:include:|\#include[ ]|<!--(?=.*include).*-->\Z)""",
    re.VERBOSE,
)
"""Lines that name what the generator is to put in their place."""


def may_be_stub(markdown: str, short: int = SHORT) -> bool:
    r"""Say whether Markdown may be a stub of its page: too short, or made of what its generator has not filled in.

    >>> may_be_stub('# Changes\n\n--8<-- "CHANGELOG.md"\n'), may_be_stub("# Home\n\nWelcome.\n")
    (True, True)
    >>> may_be_stub("word " * 100), may_be_stub("word " * 100 + "\n\n::: widget.Wheel\n")
    (False, True)
    """
    if len(markdown) > 4 * GAPS:
        return False  # so much text is no stub, whatever it includes
    letters, has_gap, fence, is_filled = 0, False, "", False
    for line in markdown.split("\n"):
        text = line.strip()
        if fence:
            is_end = text == fence
            letters += 0 if is_end or is_filled else letters_of(text)
            fence = "" if is_end else fence
        elif text.startswith(_FENCES):
            info = text.lstrip("`~")
            fence, is_filled = text[: len(text) - len(info)], info.lstrip().startswith(_FILLED_BY)
            has_gap = has_gap or is_filled
        elif _GAP.match(text):
            has_gap = True
        elif not text.startswith(("#", "import ", "export ")):
            letters += letters_of(_MARKUP.sub("", text))
    return letters < (GAPS if has_gap else short)


# --- a form of a host and its sections, by a few of their pages ---

Form = Literal["Accept", "files", "full text"]
"""How Markdown comes: in answer to `Accept`, as a file beside the page, or in one file that holds many."""
FORM_OF: dict[str, Form] = {"negotiated": "Accept", "markdown": "files"}  # by the origin of the page

SAMPLES = 3
"""Pages of a form whose HTML is requested at most before the form is decided; two that agree are enough."""
SHARE = 100
"""Pages of a crawl for so many of which one request more than `SAMPLES` may show that the Markdown says it all."""
NIGHTLY = 2  # pages that are samples in a later crawl, of all forms
FAITHFUL = 2
"""Pages that agree word for word with their HTML, beside which one that does not shows that the form lags."""
DIFFERING = 20  # pages that did not agree of which it is remembered what they said
SMALL = 1_000  # characters below which a page may show that a section is not like its host
PATIENCE = 8  # pages without code and tables that come before one of them is a sample

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
    """What samples of a form of the pages of a host, or of one of its sections, have shown, each beside its HTML.

    A section is as its host (`above`), unless its own samples speak against that. `decided` says that the HTML is
    better, None while that is open; `losses` counts what the Markdown lacked, `against` the samples of later crawls in
    a row that speak against the decision, and `same` those that agree word for word.
    """

    above: FormSamples | None = None
    good: int = 0
    worse: int = 0
    losses: Counter[Loss] = field(default_factory=Counter)
    decided: bool | None = None
    against: int = 0
    same: int = 0
    differing: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What pages said when they did not agree, as hashes of the words of the HTML and of the Markdown, by URL."""
    _asked: int = 0
    _under_way: int = 0
    _passed: int = 0

    @property
    def is_html(self) -> bool | None:
        """Whether the HTML is better; None while that is open."""
        if self.decided is not None or self.above is None or self._under_way or self._differs:
            return self.decided
        return self.above.decided

    @property
    def _differs(self) -> bool:
        """Whether the first sample of a section speaks against what its host is."""
        of_host = self.above.decided if self.above is not None else None
        return of_host is not None and bool(self.good if of_host else self.worse)

    def takes(self, markdown: str, *, any_page: bool = False, has_room: bool = True) -> bool:
        """Say whether a page is to be a sample: while the form is open, pages with code and tables first."""
        top = self.above or self
        if self.is_html is not None and (self is top or self.decided is not None):
            return False
        if top.decided is None:
            top._passed += 1
            is_open = top._asked < SAMPLES - 1 + bool(top.good and top.worse)
            takes = is_open and (any_page or top._passed > PATIENCE or is_telling(markdown))
            top._asked += takes
        else:
            is_first = has_room and not self._asked and (len(markdown) < SMALL or is_telling(markdown))
            takes = is_first or (self._differs and self._asked < SAMPLES)
        if self is not top:
            self._asked += takes
        self._under_way += takes
        return takes

    def report(self, lost: Iterable[Loss] | None) -> FormSamples | None:
        """Count what the Markdown of a sample lacked; return what that decides: the host or the section, if any.

        None stands for a page that says nothing of the others: it is a stub.
        """
        top, is_stub, lost = self.above or self, lost is None, frozenset(lost or ())
        self._under_way = max(self._under_way - 1, 0)
        if self.decided is not None:
            return None
        was = top.decided
        for samples in [self] if was is not None or self is top else [self, top]:
            samples._asked -= is_stub
            samples.worse += bool(lost)
            samples.good += not lost and not is_stub
            samples.losses.update(lost)
            if max(samples.worse, samples.good) >= SAMPLES - 1:
                samples.decided = samples.worse > samples.good
        if self is not top and top.decided is not None and top.decided in {self.decided, bool(lost)}:
            self.decided, self.worse, self.good = None, 0, 0  # it is as its host
        return top if was is None and top.decided is not None else self if self.decided is not None else None

    def report_again(self, lost: Iterable[Loss]) -> FormSamples | None:
        """Count what a sample of a later crawl lacks; return what is decided otherwise now, by `SAMPLES` in a row."""
        one, lost = self.above if self.above is not None and self.decided is None else self, frozenset(lost)
        one.against = one.against + 1 if bool(lost) is not one.decided else 0
        return one.decide(lost) if one.against >= SAMPLES else None

    def decide(self, lost: Iterable[Loss]) -> FormSamples:
        """Decide by samples of which the last one lacked this."""
        self.losses, self.against = Counter(dict.fromkeys(lost, SAMPLES)), 0
        self.decided = bool(self.losses)
        self.worse, self.good = (SAMPLES, 0) if self.decided else (0, SAMPLES)
        return self

    def lags(self, pages: Mapping[str, tuple[str, str]]) -> bool:
        """Say whether the words of pages, as HTML and as Markdown, show that the Markdown is built later than they are.

        It is where others agree word for word, where only the page is not as it was when they differed before, or where
        the Markdown is now as the page was. A page that differs is no sign by itself: many are made of other sources.
        """
        self.same += sum(page == own for page, own in pages.values())
        found = False
        for url, (page, own) in pages.items():
            page_before, own_before = self.differing.pop(url, ("", ""))
            came_after, only_page = own == page_before, own == own_before and page != page_before
            found = found or came_after or (page != own and (only_page or self.same >= FAITHFUL))
            if page != own:
                self.differing[url] = page, own
        self.differing = dict(list(self.differing.items())[-DIFFERING:])
        return found

    @property
    def evidence(self) -> str:
        """What the samples showed, in words."""
        if self.losses["edits"]:
            return "lags behind its pages"
        lost = " and ".join(loss for loss in get_args(Loss) if 2 * self.losses[loss] >= self.worse)
        return f"loses {lost} ({self.worse} of {self.worse + self.good} samples)"


_KEPT = ("good", "worse", "losses", "decided", "against", "same", "differing")


class Judged:
    """What samples showed of each form of Markdown, by form, host and section; and what they cost in this run.

    Args:
        kept: as the store keeps it, see `to_keep`; what cannot be read counts as nothing.
    """

    def __init__(self, kept: object = None):
        self._samples: dict[tuple[Form, str, str], FormSamples] = {}
        self.in_vain = 0
        """Requests for HTML that says no more than its Markdown."""
        for one in kept if isinstance(kept, list) else ():
            match one:
                case [("Accept" | "files" | "full text") as form, str(host), str(section), {**found}]:
                    samples = self.of(form, host, section)
                    for name in set(_KEPT) & set(found):
                        setattr(samples, name, found[name])
                    samples.losses = Counter(samples.losses)
                    samples.differing = {url: (*words,) for url, words in samples.differing.items()}

    def of(self, form: Form, host: str, section: str = "") -> FormSamples:
        """Return the samples of a section, "" for the whole host; a file with full text is a host of its own."""
        above = self.of(form, host) if section else None
        return self._samples.setdefault((form, host, section), FormSamples(above))

    @property
    def gives_up_files(self) -> bool:
        """Whether a file with full text is not believed."""
        return any(one.decided for (form, *_), one in self._samples.items() if form == "full text")

    def to_keep(self) -> list[list[Any]]:
        """Return what the store keeps."""
        found = ((place, one) for place, one in self._samples.items() if one.good or one.worse or one.same)
        return [[*place, {name: getattr(one, name) for name in _KEPT}] for place, one in found]
