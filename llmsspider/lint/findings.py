"""Findings of the lint: the rules, each with level and remedy, what was found, and its text, JSON,
annotations, SARIF.

docs/reference/lint.md has an entry for each rule.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from llmsspider import __version__
from llmsspider.output import printable
from llmsspider.web.loading import shipped_table

Level = Literal["error", "warning", "hint"]
LEVELS: tuple[Level, ...] = ("error", "warning", "hint")
"""The worst first."""


class Rule(NamedTuple):
    """How bad it is, and what to do."""

    level: Level
    remedy: str


RULES = {name: Rule(*given) for name, given in shipped_table("llmsspider.lint", "rules").items()}
"""Each rule by its name, as reports have it."""


def is_as_bad(level: Level, limit: Level) -> bool:
    """Whether a level is as bad as `limit`, or worse.

    >>> is_as_bad("error", "warning"), is_as_bad("hint", "warning")
    (True, False)
    """
    return LEVELS.index(level) <= LEVELS.index(limit)


MAX_NAMED = 20
SHOWN_URLS = 3
"""Maximum number of URLs of each finding, and of those that its text names."""


@dataclass(slots=True, frozen=True)
class Finding:
    """One finding: what is wrong, where, how often, and some of the URLs.

    `file` is a path or URL; `line` counts from 1 and is 0 where there is no place in it.
    """

    rule: str
    file: str
    problem: str
    line: int = 0
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


def finding(rule: str, file: str, problem: str, line: int = 0, urls: Sequence[str] = ()) -> Finding:
    """Make a finding about some URLs, each of which counts."""
    return Finding(rule, file, problem, line, max(len(urls), 1), tuple(urls[:MAX_NAMED]))


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each once, the worst first, then by place."""
    unique = dict.fromkeys(findings)
    return sorted(unique, key=lambda one: (LEVELS.index(one.level), one.file, one.line, one.rule))


PAGE = "docs/reference/lint.md"


def text(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """One finding a line, its place first, with the remedy; then a line of counts."""
    lines = []
    for one in findings:
        lines.append(f"{_place(one)}: {one.level}: {one.problem} [{one.rule}]")
        lines += [f"    {url}" for url in one.urls[:SHOWN_URLS] if len(one.urls) > 1]
        if one.count > SHOWN_URLS and len(one.urls) > 1:
            lines.append(f"    and {one.count - SHOWN_URLS} more")
        lines.append(f"    {one.remedy}")
    lines += [*notes, summary(findings)]
    return "".join(f"{printable(line)}\n" for line in lines)


def summary(findings: Sequence[Finding]) -> str:
    """How many findings there are of each level."""
    counts = Counter(one.level for one in findings)
    parts = [
        f"{counts[level]} {level}{'s' * (counts[level] != 1)}" for level in LEVELS if counts[level]
    ]
    return ", ".join(parts) or "nothing to mend"


def _place(one: Finding) -> str:
    return f"{one.file}:{one.line}" if one.line else one.file


def as_json(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """An object with `findings` (each with its level, remedy and page) and `notes`."""
    found = [
        dataclasses.asdict(one)
        | {
            "level": one.level,
            "remedy": one.remedy,
            "page": f"{PAGE}#{one.rule}",
        }
        for one in findings
    ]
    whole = {"findings": found, "notes": list(notes)}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def github(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """Workflow commands that GitHub Actions shows as annotations.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    lines = []
    for one in findings:
        is_file = "://" not in one.file
        place = {"file": one.file, "line": one.line} if is_file else {}
        values = (
            (name, _message(str(it))) for name, it in (place | {"title": one.rule}).items() if it
        )
        said = ",".join(
            f"{name}={it.replace(':', '%3A').replace(',', '%2C')}" for name, it in values
        )
        message = f"{f'{_place(one)}: ' * (not is_file)}{one.problem}. {one.remedy}"
        lines.append(f"::{one.level.replace('hint', 'notice')} {said}::{_message(message)}")
    lines += [f"::notice::{_message(note)}" for note in notes]
    return "".join(f"{printable(line)}\n" for line in lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def sarif(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """A SARIF log (OASIS SARIF 2.1.0), as code scanning takes it."""
    used = list(dict.fromkeys(one.rule for one in findings))
    rules = [
        {"id": rule, "help": {"text": RULES[rule].remedy}, "helpUri": f"{PAGE}#{rule}"}
        | {"defaultConfiguration": {"level": RULES[rule].level.replace("hint", "note")}}
        for rule in used
    ]
    driver = {"name": "llmsspider", "semanticVersion": __version__, "rules": rules}
    results = [_result(one, used.index(one.rule)) for one in findings]
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if notes:
        said = [{"message": {"text": note}} for note in notes]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": said}]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _result(one: Finding, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": one.file.replace("\\", "/")}}
    if one.line:
        place["region"] = {"startLine": one.line}
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.level.replace("hint", "note"),
        "message": {"text": f"{one.problem}. {one.remedy}"},
        "locations": [{"physicalLocation": place}],
        "properties": {"count": one.count, "urls": list(one.urls)},
    }


FORMATS: dict[str, Callable[[Sequence[Finding], Sequence[str]], str]]
FORMATS = {"text": text, "json": as_json, "github": github, "sarif": sarif}
