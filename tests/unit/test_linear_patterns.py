"""No pattern of the package takes more than linear work, whatever text it is given. Steps are counted, not seconds."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import groupby
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from patterns import Found, every, written_in_calls

PORTIONS = 8
"""Parts that the patterns are tried in, so that they share out well among processes."""

SHORT_TEXTS = {
    "llmsspider.web.urls._USER_WITH_SLASHES": 2_100,
}
"""Patterns that only see texts of so many characters, and take no more than `SHORT_STEPS` on them."""
SHORT_STEPS = 5_000_000

NOT_YET = {
    "llmsspider.site.llmsfull_marks._COMMENT",
    "llmsspider.site.llmsfull_marks._LABEL",
    "llmsspider.site.llmsfull_marks._FENCE",
    "llmsspider.site.llmstxt._LINK_LINE",
    "llmsspider.site.llmstxt_parser._FIELD",
}
"""Patterns that take more than linear work today. None may be added."""

NOT_CONSTANT = {
    "llmsspider.answers.ranking._ranges": "a few constants, on a range of versions that a client gives",
    "llmsspider.downloadermiddlewares.host_auth.__init__": "secrets of the user's own, joined",
    "llmsspider.downloadermiddlewares.local_folder.__init__": "the address that the user gives the folder, escaped",
    "llmsspider.content.extraction.metadata.without_suffix": "parts of titles, of MAX_TITLE characters at most",
    "llmsspider.content.links.without_own_versions": "the name of a host, escaped",
    "llmsspider.site.witnesses.by_build": "a few constants, whose parts have a limit each",
    "llmsspider.web.outcomes.explained": "a few constants, on the one line of an exception",
    "llmsspider.web.scope._compiled": "globs of the user's own, translated by wcmatch",
}
"""Functions that make patterns as they go, and what those are made of."""

SUPERLINEAR = (
    (
        "match",
        r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])",
    ),
    ("match", r"\s*---\n(?:[\w.-]+:.*\n|[ \t-].*\n)+---\n"),
    ("search", r"!?\[[^\]\n]+\]\([^)\s]+"),
    ("finditer", r"([a-z-]+)\s*=\s*(yes|no)"),
    ("search", r"(?m)^\s*user-agent\s*:"),
    ("finditer", r"<!\[CDATA\[.*?\]\]>|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)"),
    ("finditer", r"(?i)<a\s[^>]{0,600}?\bhref\s*=\s*(?:\"([^\"]{1,2000})\"|'([^']{1,2000})')"),
    ("search", r"(?is)<title[^>]*>(.*?)</title>"),
    ("match", r"(?i)\s*[\d.]*\s*[;,]?\s*(?:url\s*=)?\s*[\"']?\s*(.+?)\s*[\"']?\s*\Z"),
    ("match", r"(?i)\s*[\d.]*\s*[;,]\s*(?:url\s*=)?\s*\S"),
    ("match", r"(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*\s*$"),
    ("finditer", r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$"),
    ("finditer", r"(?:\n[ \t]*)+\Z"),
    ("finditer", r"(?m)^(title|description)[ \t]*[:=][ \t]*(.+?)[ \t]*$"),
    (
        "match",
        r"(?i)(?:url|source)[ \t]*:[ \t]*[`<]?(https?://[^\s<>]+?|/[^\s<>]*?)[`>]?[ \t]*[.,]?\s*$",
    ),
    ("match", r"(?i)\s*<!--+\s*(?:url|source)\s*[:=]\s*[\"'<]?(/[^\s<>]*?)[\"'>]?\s*--+>\s*$"),
    ("match", r"(.+?)\s+[(\[<]((?:https?:)?/[^\s()<>\[\]]*)[)\]>]$"),
    ("match", r"(a+)+b"),
    ("search", r"(a|a)*c"),
)
"""Patterns that stood in the package, or are known, each with how it was used. The counting has to catch them."""


# How many steps a regular expression takes: Python's own parse tree, matched the way `re` does it, with a counter. `re`
# tells nothing of its work, and time depends on the machine. This matcher tries what `re` tries, in the same order
# (greedy first, then back), so its count grows as the work of `re` does. It is only slower.

DEPTH = 100_000
"""Python calls within each other that a match may take."""

Next = Callable[[int], bool]
Node = Callable[[int, Next], bool]


class TooManyStepsError(Exception):
    """The limit of steps was reached."""


class Steps:
    """Matches one pattern and counts the characters it looks at."""

    def __init__(self, pattern: re.Pattern[Any], limit: int):
        source = pattern.pattern
        self.tree = _parser.parse(
            source, pattern.flags & ~re.UNICODE if isinstance(source, bytes) else pattern.flags
        )
        self.flags = self.tree.state.flags
        self.limit = limit
        self.steps = 0
        self.text = ""
        self.groups: dict[int, tuple[int, int]] = {}
        self.found: list[tuple[int, int]] = []
        self.node = self._sequence(list(self.tree))

    def count(self, text: str, method: str) -> int:
        """Return the steps of `method` (match, fullmatch, search, or finditer for all that go over the whole text)."""
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(max(usual, DEPTH))
        try:
            return self._count(text, method)
        finally:
            sys.setrecursionlimit(usual)  # elsewhere, what is nested too deep has to be an error

    def _count(self, text: str, method: str) -> int:
        self.text, self.steps, self.found = text, 0, []
        position = 0
        while position <= len(text):
            self.groups, end = {}, [-1]

            def done(at: int, end: list[int] = end) -> bool:
                if method == "fullmatch" and at != len(text):
                    return False
                end[0] = at
                return True

            found = self.node(position, done)
            if found:
                self.found.append((position, end[0]))
            if method in {"match", "fullmatch"} or (found and method == "search"):
                break
            position = max(end[0], position + 1) if found else position + 1
        return self.steps

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the pattern is found in a text, as `finditer` has it."""
        self.count(text, "finditer")
        return self.found

    def _step(self, number: int = 1) -> None:
        self.steps += number
        if self.steps > self.limit:
            raise TooManyStepsError

    def _sequence(self, items: list[Any]) -> Node:
        nodes: list[Node] = []
        for single, group in groupby(items, lambda item: self._character(*item) is not None):
            part = list(group)
            nodes += [self._characters(part)] if single else [self._one(*item) for item in part]
        if not nodes:
            return lambda at, then: then(at)
        return reduce(lambda rest, node: _followed(node, rest), reversed(nodes))

    def _one(self, operator: Any, argument: Any) -> Node:
        return _BUILDERS[operator](self, argument)

    def _characters(self, items: list[Any]) -> Node:
        """Characters that follow each other, one step each."""
        tests = [test for item in items if (test := self._character(*item)) is not None]

        def match(at: int, then: Next) -> bool:
            text, here, length = self.text, at, len(self.text)
            for test in tests:
                if here >= length or not test(text[here]):
                    self._step(here - at + 1)
                    return False
                here += 1
            self._step(here - at)
            return then(here)

        return match

    def _character(self, operator: Any, argument: Any) -> Callable[[str], bool] | None:
        """Return the test of one character that a node is, None for anything longer."""
        fold = bool(self.flags & re.IGNORECASE)
        if operator is sre.ANY:
            return (lambda char: True) if self.flags & re.DOTALL else "\n".__ne__
        if operator in {sre.LITERAL, sre.NOT_LITERAL}:
            wanted, negated = chr(argument), operator is sre.NOT_LITERAL
            if not fold:
                return wanted.__ne__ if negated else wanted.__eq__
            wanted = wanted.lower()
            return lambda char: (char.lower() == wanted) is not negated
        if operator is sre.IN:
            return one_of(argument, fold)
        return None

    def _branch(self, argument: Any) -> Node:
        options = [self._sequence(list(option)) for option in argument[1]]

        def match(at: int, then: Next) -> bool:
            for option in options:  # noqa: SIM110  # a generator costs more than what most options look at
                if option(at, then):
                    return True
            return False

        return match

    def _group(self, argument: Any) -> Node:
        number, _, _, body = argument
        inner = self._sequence(list(body))

        def match(at: int, then: Next) -> bool:
            def close(end: int) -> bool:
                before = self.groups.get(number)
                self.groups[number] = (at, end)
                if then(end):
                    return True
                if before is not None:
                    self.groups[number] = before
                return False

            return inner(at, close)

        return match

    def _repeat(self, argument: Any, *, lazy: bool = False) -> Node:
        least, most, body = argument
        most = len(self.text) + 10**9 if most is sre.MAXREPEAT else most
        if len(body) == 1 and (test := self._character(*body[0])) is not None:
            return self._lazy_run(test, least, most) if lazy else self._run(test, least, most)
        inner = self._sequence(list(body))

        def match(at: int, then: Next, count: int = 0) -> bool:
            def again(end: int) -> bool:
                return (end > at or count < least) and match(end, then, count + 1)

            self._step()
            if count < least:
                return inner(at, again)
            if lazy:
                return then(at) or (count < most and inner(at, again))
            return (count < most and inner(at, again)) or then(at)

        return match

    def _run(self, test: Callable[[str], bool], least: int, most: int) -> Node:
        def match(at: int, then: Next) -> bool:
            text, end, stop = self.text, at, min(len(self.text), at + most)
            while end < stop and test(text[end]):
                end += 1
            self._step(end - at)
            while end - at >= least:
                self._step()
                if then(end):
                    return True
                end -= 1
            return False

        return match

    def _lazy_run(self, test: Callable[[str], bool], least: int, most: int) -> Node:
        def match(at: int, then: Next) -> bool:
            end = at
            while True:
                self._step()
                if end - at >= least and then(end):
                    return True
                if end - at >= most or end >= len(self.text) or not test(self.text[end]):
                    return False
                end += 1

        return match

    def _atomic(self, body: Node) -> Node:
        def match(at: int, then: Next) -> bool:
            end = [-1]

            def keep(here: int) -> bool:
                end[0] = here
                return True

            return body(at, keep) and then(end[0])

        return match

    def _look(self, argument: Any, *, wanted: bool) -> Node:
        direction, body = argument
        inner = self._sequence(list(body))
        width = body.getwidth()[0] if direction < 0 else 0

        def match(at: int, then: Next) -> bool:
            found = at >= width and inner(at - width, lambda end: direction > 0 or end == at)
            return found is wanted and then(at)

        return match

    def _reference(self, argument: Any) -> Node:
        def match(at: int, then: Next) -> bool:
            start, end = self.groups.get(argument, (0, -1))
            wanted = self.text[start:end]
            self.steps += len(wanted)
            self._step()
            return end >= 0 and self.text.startswith(wanted, at) and then(at + len(wanted))

        return match

    def _place(self, argument: Any) -> Node:
        tests: dict[Any, Callable[[int], bool]] = {
            sre.AT_BEGINNING: lambda at: (
                at == 0 or (bool(self.flags & re.MULTILINE) and self.text[at - 1] == "\n")
            ),
            sre.AT_BEGINNING_STRING: lambda at: at == 0,
            sre.AT_END: lambda at: (
                at == len(self.text)
                or (
                    self.text[at] == "\n"
                    and (at == len(self.text) - 1 or bool(self.flags & re.MULTILINE))
                )
            ),
            sre.AT_END_STRING: lambda at: at == len(self.text),
            sre.AT_BOUNDARY: self._at_boundary,
            sre.AT_NON_BOUNDARY: lambda at: not self._at_boundary(at),
        }
        test = tests[argument]

        def match(at: int, then: Next) -> bool:
            self._step()
            return test(at) and then(at)

        return match

    def _at_boundary(self, at: int) -> bool:
        before = at > 0 and _is_word(self.text[at - 1])
        return before is not (at < len(self.text) and _is_word(self.text[at]))


def _followed(node: Node, rest: Node) -> Node:
    """The two one after the other."""
    return lambda at, then: node(at, lambda here: rest(here, then))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    sre.CATEGORY_WORD: _is_word,
    sre.CATEGORY_NOT_WORD: lambda char: not _is_word(char),
}


def one_of(argument: list[Any], fold: bool) -> Callable[[str], bool]:
    """Return the test that a set of characters is."""
    negated = bool(argument) and argument[0][0] is sre.NEGATE
    literals: set[str] = set()
    ranges: list[tuple[int, int]] = []
    categories: list[Callable[[str], bool]] = []
    for operator, value in argument:
        if operator is sre.LITERAL:
            literals.add(chr(value))
        elif operator is sre.RANGE:
            ranges.append(value)
        elif operator is sre.CATEGORY:
            categories.append(_CATEGORIES[value])

    def holds(char: str) -> bool:
        return (
            char in literals
            or any(low <= ord(char) <= high for low, high in ranges)
            or any(category(char) for category in categories)
        )

    def test(char: str) -> bool:
        spellings = {char, char.lower(), char.upper()[:1]} if fold else {char}
        return any(map(holds, spellings)) is not negated

    return _Known(test).__getitem__


class _Known(dict[str, bool]):
    """What a test says of each character, asked once: `__getitem__` is the test."""

    def __init__(self, test: Callable[[str], bool]):
        super().__init__()
        self._test = test

    def __missing__(self, char: str) -> bool:
        self[char] = self._test(char)
        return self[char]


_BUILDERS: dict[Any, Callable[[Steps, Any], Node]] = {
    sre.BRANCH: Steps._branch,
    sre.SUBPATTERN: Steps._group,
    sre.MAX_REPEAT: Steps._repeat,
    sre.MIN_REPEAT: lambda self, argument: self._repeat(argument, lazy=True),
    sre.POSSESSIVE_REPEAT: lambda self, argument: self._atomic(self._repeat(argument)),
    sre.ATOMIC_GROUP: lambda self, argument: self._atomic(self._sequence(list(argument))),
    sre.ASSERT: lambda self, argument: self._look(argument, wanted=True),
    sre.ASSERT_NOT: lambda self, argument: self._look(argument, wanted=False),
    sre.GROUPREF: Steps._reference,
    sre.AT: Steps._place,
}

LINEAR = 7.0
"""Growth of the steps of a text four times as long from which on it is no longer taken for linear (which is 4)."""
LENGTH = 80
"""Characters of the shorter text."""
MOST = 2_000
"""Steps a character that are counted at most: a pattern that takes more is not linear."""

_SAMPLES = " a0-\n\tZé_.<>/:=\"'`*#[](){}|\\!&;,~+"
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_LOOPS = 8
"""Repeats of fewer items are not pumped."""
_KINDS = 5
"""Characters of one repeat that are tried."""


class Attacks:
    """Texts written against a pattern: each of its repeats filled, and begun again and again, with a bad end."""

    def __init__(self, pattern: re.Pattern[Any]):
        self._counter = Steps(pattern, 0)
        self._is_multiline = bool(self._counter.flags & re.MULTILINE)

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Yield what stands before, what is repeated, and what stands behind, each once."""
        yield from dict.fromkeys(attack for attack in self._attacks() if attack[1])

    def _attacks(self) -> Iterator[tuple[str, str, str]]:
        tree = list(self._counter.tree)
        for before, body, after in _loops(tree, []):
            follower = self._text(after[:1])
            for lead in {self._text(before), self._text(before, short=True)}:
                for run in self._runs(body):
                    yield lead, run, "\0"
                    yield lead, run, "a" if self._is_multiline else "\n\0"
                    for pump in (run, lead, lead + run, lead + run + follower, lead + follower):
                        yield "", pump, "\0"
                    yield lead, run + follower, "\0"
        for stop in range(1, len(tree) + 1):
            yield "", self._text(tree[:stop]), "\0"
            yield "", self._text(tree[:stop], short=True), "\0"

    def _runs(self, body: list[Any]) -> list[str]:
        """Return texts that a repeat takes in one round."""
        if len(body) == 1 and (characters := self._characters(*body[0])):
            return characters[:_KINDS]
        first = [character for item in body for character in self._characters(*item)[:2]]
        return [self._text(body), self._text(body, short=True), *first[:_KINDS]]

    def _characters(self, operator: Any, argument: Any) -> list[str]:
        """Return characters that one node takes, those that it names first; none for longer nodes."""
        test = self._counter._character(operator, argument)
        if test is None:
            return []
        if operator is sre.LITERAL:
            return [chr(argument)]
        parts = argument if operator is sre.IN else []
        named = [chr(value) for kind, value in parts if kind is sre.LITERAL][:3]
        return list(dict.fromkeys(filter(test, [*named, *_SAMPLES])))

    def _text(self, items: list[Any], *, short: bool = False) -> str:
        """Return a text that nodes match; with `short`, repeats as seldom as they may."""
        return "".join(self._one(operator, argument, short) for operator, argument in items)

    def _one(self, operator: Any, argument: Any, short: bool) -> str:
        if characters := self._characters(operator, argument):
            return "a" if "a" in characters else characters[0]
        if operator in _REPEATS:
            least, most, body = argument
            times = least if short else max(least, min(1, int(most)))
            return self._text(list(body), short=short) * min(times, 40)
        bodies = _bodies(operator, argument)
        return self._text(list(bodies[0]), short=short) if bodies else ""


def _loops(items: list[Any], before: list[Any]) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Yield each repeat at every level, as the nodes before it, its body, and the nodes behind it."""
    for place, (operator, argument) in enumerate(items):
        above = before + items[:place]
        if operator in _REPEATS and argument[1] > _LOOPS:
            yield above, list(argument[2]), items[place + 1 :]
        for body in _bodies(operator, argument):
            yield from _loops(list(body), above)


def _bodies(operator: Any, argument: Any) -> list[Any]:
    if operator is sre.BRANCH:
        return list(argument[1])
    if operator is sre.SUBPATTERN:
        return [argument[3]]
    if operator in _REPEATS:
        return [argument[2]]
    return [argument] if operator is sre.ATOMIC_GROUP else []


def growth(
    pattern: re.Pattern[Any], method: str, *, length: int = LENGTH, most: int = 0
) -> tuple[float, str]:
    """Return by how much the steps grow where a text grows fourfold, and the text, in its parts, that shows it.

    4 is linear, 16 quadratic. More than `most` steps (`MOST` a character) for the longer text count as 1,000. Ends
    at the first text that is not linear.
    """
    counter = Steps(pattern, most or MOST * 4 * length)
    worst = (0.0, "")
    for before, pump, behind in Attacks(pattern).texts():
        short, long = (
            before + pump * (size // len(pump) + 1) + behind for size in (length, 4 * length)
        )
        try:
            steps = counter.count(long, method)
            if steps > LINEAR * length:
                steps = round(steps / max(counter.count(short, method), length) * length)
        except TooManyStepsError:
            return 1000.0, repr((before, pump, behind))
        except RecursionError:
            continue
        worst = max(worst, (steps / length, repr((before, pump, behind))))
        if worst[0] > LINEAR and not most:
            break
    return worst


@cache
def patterns() -> dict[str, Found]:
    """The patterns of the package by name."""
    return {found.name: found for found in every()}


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_every_pattern_takes_linear_work(portion):
    grown = {}
    for name, found in sorted(patterns().items())[portion::PORTIONS]:
        if name in SHORT_TEXTS or name in NOT_YET:
            continue
        for method in found.methods:
            factor, text = growth(found.pattern, method)
            if factor > LINEAR:
                grown[name] = (method, round(factor, 1), text)

    assert grown == {}


@pytest.mark.parametrize("name", SHORT_TEXTS)
def test_patterns_for_short_texts_take_little_work_on_them(name):
    found, length = patterns()[name], SHORT_TEXTS[name]

    for method in found.methods:
        factor, text = growth(found.pattern, method, length=length // 4, most=SHORT_STEPS)
        assert factor < 1_000, text


@pytest.mark.parametrize(("method", "pattern"), SUPERLINEAR)
def test_patterns_that_take_more_are_caught(method, pattern):
    assert growth(re.compile(pattern), method)[0] > LINEAR


def test_the_package_is_searched_whole():
    assert {
        "llmsspider.content.markdown.scan._HTML_START",
        "llmsspider.content.markdown.scan._MARKS[2]",
        "llmsspider.web.outcomes._SCRIPTS[3][2]",
        "llmsspider.web.rights._SIGNAL",
    } <= patterns().keys()
    assert patterns()["llmsspider.content.markdown.scan._HTML_START"].methods == {"match"}
    assert len(patterns()) > 200


def test_patterns_made_on_the_way_are_known():
    made = {function for function, found in written_in_calls() if found is None}

    assert made == NOT_CONSTANT.keys()


@pytest.mark.parametrize("portion", range(0, 3 * PORTIONS, 3))
def test_the_counting_finds_what_re_finds(portion):
    for name, found in sorted(patterns().items())[portion :: 3 * PORTIONS]:
        _compare(name, found.pattern)


def _compare(name: str, pattern: re.Pattern) -> None:
    is_bytes = isinstance(pattern.pattern, bytes)
    chance = random.Random(name)
    counter = Steps(pattern, 10**7)
    alphabet = " \n\taZ0_<>/-=:;,.#*`[](){}|\\\"'&!?" + re.sub(r"\W", "", str(pattern.pattern))

    for _ in range(30):
        text = "".join(chance.choice(alphabet) for _ in range(chance.randrange(30)))
        expected = [found.span() for found in pattern.finditer(text.encode() if is_bytes else text)]
        assert counter.spans(text) == expected, (name, text)
