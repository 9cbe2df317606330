"""The parts of a page that a user keeps or drops, by CSS selectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from cssselect import HTMLTranslator, SelectorError
from cssselect import parse as parse_selectors
from lxml.etree import XPath, _Element

from llmsspider.content.extraction.tree import body_of, remove_elements
from llmsspider.errors import ArgumentsError

_FRAMES = frozenset({"html", "body", "head"})


@dataclass(slots=True)
class Parts:
    """What of a page is its content.

    Attributes:
        keep: elements that are the content, by selector; without any, the main content is found.
        drop: elements that are removed, by selector.
        counts: how many elements each selector matched, in all pages that were cut.
    """

    keep: dict[str, XPath] = field(default_factory=dict)
    drop: dict[str, XPath] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, keep: str | Iterable[str] = (), drop: str | Iterable[str] = ()) -> Self:
        """Read selectors; raises `ArgumentsError` with a line for each that cannot be read."""
        problems: list[str] = []
        compiled = [
            _compiled(name, given, problems) for name, given in (("keep", keep), ("drop", drop))
        ]
        if problems:
            raise ArgumentsError(problems)
        return cls(*compiled)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The selectors that matched nothing so far."""
        return tuple(css for css in (*self.keep, *self.drop) if not self.counts.get(css))

    def cut(self, root: _Element) -> _Element | None:
        """Remove what is dropped from a page; return an element with what is kept, None to find it."""
        remove_elements(_outermost(root, self._matches(root, self.drop)))
        kept = _outermost(root, self._matches(root, self.keep))
        if not kept:
            return None
        content = root.makeelement("main", {})
        for element in kept:
            content.append(element)
            element.tail = None
        body_of(root).append(content)
        return content

    def _matches(self, root: _Element, selectors: dict[str, XPath]) -> set[_Element]:
        found: set[_Element] = set()
        for css, path in selectors.items():
            matched = [element for element in path(root) if element.tag not in _FRAMES]
            self.counts[css] = self.counts.get(css, 0) + len(matched)
            found.update(matched)
        return found


def separate(text: str) -> tuple[str, ...]:
    r"""Return the selectors that commas or new lines separate; raises `ValueError` for others.

    >>> separate("nav.toc, .ad\nh1:is(a, b)")
    ('nav.toc', '.ad', 'h1:is(a, b)')
    """
    found: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            found += [selector.canonical() for selector in parse_selectors(line)]
        except SelectorError as error:
            raise ValueError(f"{line!r} is no CSS selector: {error}") from None
    return tuple(found)


@lru_cache(maxsize=256)
def _path(css: str) -> XPath:
    """Return the XPath of a selector, which is the same for all pages of a crawl."""
    return XPath(HTMLTranslator().css_to_xpath(css))


def _compiled(name: str, given: str | Iterable[str], problems: list[str]) -> dict[str, XPath]:
    found: dict[str, XPath] = {}
    for css in [given] if isinstance(given, str) else given:
        try:
            found[css] = _path(css)
        except SelectorError as error:
            problems.append(f"{name}={css!r} is no CSS selector: {error}")
    return found


def _outermost(root: _Element, found: set[_Element]) -> list[_Element]:
    """Return elements in document order, without those inside others."""
    if not found:
        return []
    return [
        element
        for element in root.iter()
        if element in found and found.isdisjoint(element.iterancestors())
    ]
