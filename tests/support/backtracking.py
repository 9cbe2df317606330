"""How many steps a regular expression takes: Python's own parse tree, matched the way `re` does it, with a counter.

`re` tells nothing of its work, and time depends on the machine. This matcher tries what `re` tries, in the same order
(greedy first, then back), so its count grows as the work of `re` does. It is only slower.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import groupby
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

DEPTH = 100_000
"""Python calls within each other that a match may take."""

Next = Callable[[int], bool]
Node = Callable[[int, Next], bool]


class TooManyStepsError(Exception):
    """The limit of steps was reached."""


class Counter:
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
            text, here = self.text, at
            for test in tests:
                if here >= len(text) or not test(text[here]):
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
            return (lambda char: True) if self.flags & re.DOTALL else (lambda char: char != "\n")
        if operator in {sre.LITERAL, sre.NOT_LITERAL}:
            wanted, negated = chr(argument), operator is sre.NOT_LITERAL
            wanted = wanted.lower() if fold else wanted
            return lambda char: ((char.lower() if fold else char) == wanted) is not negated
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
            end = at
            while end - at < most and end < len(self.text) and test(self.text[end]):
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
                or (self.text[at] == "\n" and (at == len(self.text) - 1 or bool(self.flags & re.MULTILINE)))
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

    known: dict[str, bool] = {}

    def test(char: str) -> bool:
        if char not in known:
            spellings = {char, char.lower(), char.upper()[:1]} if fold else {char}
            known[char] = any(map(holds, spellings)) is not negated
        return known[char]

    return test


_BUILDERS: dict[Any, Callable[[Counter, Any], Node]] = {
    sre.BRANCH: Counter._branch,
    sre.SUBPATTERN: Counter._group,
    sre.MAX_REPEAT: Counter._repeat,
    sre.MIN_REPEAT: lambda self, argument: self._repeat(argument, lazy=True),
    sre.POSSESSIVE_REPEAT: lambda self, argument: self._atomic(self._repeat(argument)),
    sre.ATOMIC_GROUP: lambda self, argument: self._atomic(self._sequence(list(argument))),
    sre.ASSERT: lambda self, argument: self._look(argument, wanted=True),
    sre.ASSERT_NOT: lambda self, argument: self._look(argument, wanted=False),
    sre.GROUPREF: Counter._reference,
    sre.AT: Counter._place,
}

LINEAR = 7.0
"""Growth of the steps of a text four times as long from which on it is no longer taken for linear (which is 4)."""

_SAMPLES = " \n\ta0Zé_-.<>/:=\"'`*#[](){}|\\!&;,~+"


class Sampler:
    """Texts that a pattern matches, in whole or in part, with the choices of a seeded generator."""

    def __init__(self, pattern: re.Pattern[Any], seed: int):
        self.counter = Counter(pattern, 0)
        self.random = random.Random(seed)

    def pumps(self, number: int) -> Iterator[tuple[str, str, str]]:
        """Yield what stands before, what is repeated, and what stands behind."""
        whole = list(self.counter.tree)
        ends = ("", "\0", "!", "\n", "a")
        parts = list(self._parts(whole))
        if not parts:
            return
        for index in range(number):
            before, repeated = self.random.choice(parts)
            pump = self._text(repeated)
            if self.random.random() < 0.3:
                pump += self._text(self.random.choice(parts)[1])
            pump = pump or self.random.choice(_SAMPLES)
            head = self._text(before) if self.random.random() < 0.7 else ""
            yield head, pump, ends[index % len(ends)]

    def _parts(self, items: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield pairs of nodes that stand before, and nodes that follow them, at every level."""
        for start in range(len(items)):
            for stop in range(start + 1, len(items) + 1):
                yield items[:start], items[start:stop]
            operator, argument = items[start]
            for body in _bodies(operator, argument):
                for before, inner in self._parts(list(body)):
                    yield items[:start] + before, inner

    def _text(self, items: list[Any]) -> str:
        return "".join(self._sample(operator, argument) for operator, argument in items)

    def _sample(self, operator: Any, argument: Any) -> str:
        test = self.counter._character(operator, argument)
        if test is not None:
            if operator is sre.LITERAL:
                return chr(argument)
            named = (
                [chr(value) for kind, value in argument if kind is sre.LITERAL] if operator is sre.IN else []
            )
            fitting = [char for char in [*named, *_SAMPLES] if test(char)]
            return self.random.choice(fitting) if fitting else ""
        if operator is sre.BRANCH:
            return self._text(list(self.random.choice(argument[1])))
        if operator is sre.SUBPATTERN:
            return self._text(list(argument[3]))
        if operator in {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}:
            least, most, body = argument
            times = max(least, min(int(most), self.random.choice((0, 1, 1, 2))))
            return "".join(self._text(list(body)) for _ in range(min(times, 40)))
        return self._text(list(argument)) if operator is sre.ATOMIC_GROUP else ""


def _bodies(operator: Any, argument: Any) -> list[Any]:
    if operator is sre.BRANCH:
        return list(argument[1])
    if operator is sre.SUBPATTERN:
        return [argument[3]]
    if operator in {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}:
        return [argument[2]]
    return [argument] if operator is sre.ATOMIC_GROUP else []


def growth(
    pattern: re.Pattern[Any],
    method: str,
    *,
    length: int = 128,
    tries: int = 60,
    stop: bool = True,
    most: int = 0,
) -> tuple[float, str]:
    """Return by how much the steps grow where a text grows fourfold, and the worst text in its repeated part.

    4 is linear, 16 quadratic. More than 2,000 steps a character, or more than `most` for the longer text, count as
    1,000. `stop` ends at the first that is not linear.
    """
    short, long = Counter(pattern, most or 2_000 * length), Counter(pattern, most or 2_000 * 4 * length)
    worst = (0.0, "")
    seen = set()
    for before, pump, behind in Sampler(pattern, 0).pumps(tries):
        if (before, pump, behind) in seen:
            continue
        seen.add((before, pump, behind))
        texts = [before + pump * (size // len(pump) + 1) + behind for size in (length, 4 * length)]
        try:
            first = short.count(texts[0], method)
            second = long.count(texts[1], method)
        except TooManyStepsError:
            return 1000.0, repr((before, pump, behind))
        except RecursionError:
            continue
        worst = max(worst, (second / max(first, length), repr((before, pump, behind))))
        if stop and worst[0] > LINEAR:
            break
    return worst
