"""A page and its Markdown version side by side: which text one of them misses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from llmsspider.lint.findings import Finding, finding
from llmsspider.lint.outline import Place

MIN_WORDS = 30
"""Words that a side has to miss at least."""
MAX_MISSED = 0.15
"""Share of its words that a side may miss: menus and the like differ always."""
MAX_QUOTED = 100

_WORD = re.compile(r"[^\W_]{2,}")
_MARKUP = re.compile(r"\]\([^()\s]*\)|<[A-Za-z/!][^<>]{0,300}>|^---\n.*?\n---\n", re.DOTALL)


@dataclass(slots=True, frozen=True)
class Sides:
    """Shares, from 0 to 1, of the words of each side that the other one misses; and a line of each that is missed."""

    markdown_misses: float
    page_misses: float
    example: str = ""
    page_example: str = ""

    def findings(self, file: str, url: str, place: Place) -> Iterator[Finding]:
        """Yield the findings for the pair."""
        if self.markdown_misses > MAX_MISSED:
            problem = (
                f"the Markdown of {url} misses {self.markdown_misses:.0%} of the page{_such_as(self.example)}"
            )
            yield finding("markdown-misses-content", file, problem, place, [url])
        if self.page_misses > MAX_MISSED:
            problem = (
                f"the page misses {self.page_misses:.0%} of its Markdown {url}{_such_as(self.page_example)}"
            )
            yield finding("page-misses-content", file, problem, place, [url])


def missing(page: str, markdown: str) -> Sides:
    r"""Compare the text of a page, converted, with its Markdown version, by their words.

    >>> missing("# A", "# A\n\ntext")
    Sides(markdown_misses=0.0, page_misses=0.0, example='', page_example='')
    """
    of_page, of_markdown = _words(page), _words(markdown)
    return Sides(
        _missed(of_page, of_markdown),
        _missed(of_markdown, of_page),
        _example(page, of_markdown),
        _example(markdown, of_page),
    )


def _words(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _WORD.findall(_MARKUP.sub(" ", text)))


def _missed(these: Counter[str], others: Counter[str]) -> float:
    missed = (these - others).total()
    return missed / these.total() if missed >= MIN_WORDS else 0.0


def _example(text: str, others: Counter[str]) -> str:
    """The first line that the other side has not got most words of."""
    for line in text.splitlines():
        words = _words(line)
        if words.total() >= 5 and (words - others).total() * 2 > words.total():
            return line.strip()[:MAX_QUOTED]
    return ""


def _such_as(example: str) -> str:
    return f", such as {example!r}" if example else ""
