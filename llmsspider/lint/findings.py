"""What a lint found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llmsspider.lint.rules import LEVELS, RULES, Level

MAX_NAMED = 20
"""Maximum number of URLs of each finding."""


@dataclass(slots=True, frozen=True)
class Finding:
    """One finding: what is wrong, where, how often, and some of the URLs.

    `file` is a path or URL; `line` and `column` count from 1 and are 0 where there is no place in it.
    """

    rule: str
    file: str
    problem: str
    line: int = 0
    column: int = 0
    count: int = 1
    urls: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """How bad it is."""
        return RULES[self.rule].level

    @property
    def remedy(self) -> str:
        """What to do."""
        return RULES[self.rule].remedy


def finding(
    rule: str,
    file: str,
    problem: str,
    place: tuple[int, int] = (0, 0),
    urls: Sequence[str] = (),
) -> Finding:
    """Make a finding about some URLs, each of which counts."""
    return Finding(rule, file, problem, *place, max(len(urls), 1), tuple(urls[:MAX_NAMED]))


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each once, the worst first, then by place."""
    unique = dict.fromkeys(findings)
    return sorted(unique, key=lambda one: (LEVELS.index(one.level), one.file, one.line, one.column, one.rule))
