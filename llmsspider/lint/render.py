"""Findings as text, JSON, annotations of GitHub Actions, and SARIF 2.1.0."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from llmsspider import __version__
from llmsspider.lint.findings import Finding
from llmsspider.lint.rules import LEVELS, RULES, Level
from llmsspider.output.status import printable

PAGE = "docs/reference/lint.md"
SHOWN_URLS = 3
"""URLs that the text names for a finding."""

_GITHUB: dict[Level, str] = {"error": "error", "warning": "warning", "hint": "notice"}
_SARIF: dict[Level, str] = {"error": "error", "warning": "warning", "hint": "note"}


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
    parts = [f"{counts[level]} {level}{'s' * (counts[level] != 1)}" for level in LEVELS if counts[level]]
    return ", ".join(parts) or "nothing to mend"


def _place(one: Finding) -> str:
    return f"{one.file}:{one.line}:{one.column}" if one.line else one.file


def as_json(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """An object with `findings` (each with its level, remedy and page) and `notes`."""
    found = [
        dataclasses.asdict(one) | {"level": one.level, "remedy": one.remedy, "page": page(one.rule)}
        for one in findings
    ]
    whole = {"findings": found, "notes": list(notes)}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def page(rule: str) -> str:
    """Where a rule is explained."""
    return f"{PAGE}#{rule}"


def github(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """Workflow commands that GitHub Actions shows as annotations.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    lines = []
    for one in findings:
        is_file = "://" not in one.file
        place = {"file": one.file, "line": one.line, "col": one.column} if is_file else {}
        properties = {**place, "title": one.rule}
        said = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value)
        message = f"{one.problem}. {one.remedy}" if is_file else f"{_place(one)}: {one.problem}. {one.remedy}"
        lines.append(f"::{_GITHUB[one.level]} {said}::{_message(message)}")
    lines += [f"::notice::{_message(note)}" for note in notes]
    return "".join(f"{printable(line)}\n" for line in lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def sarif(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """A SARIF log (OASIS SARIF 2.1.0), as code scanning takes it."""
    used = list(dict.fromkeys(one.rule for one in findings))
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "llmsspider",
                "semanticVersion": __version__,
                "rules": [
                    {
                        "id": rule,
                        "help": {"text": RULES[rule].remedy},
                        "helpUri": page(rule),
                        "defaultConfiguration": {"level": _SARIF[RULES[rule].level]},
                    }
                    for rule in used
                ],
            }
        },
        "results": [_result(one, used.index(one.rule)) for one in findings],
    }
    if notes:
        run["invocations"] = [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [{"message": {"text": note}} for note in notes],
            }
        ]
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _result(one: Finding, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": one.file.replace("\\", "/")}}
    if one.line:
        place["region"] = {"startLine": one.line, "startColumn": max(one.column, 1)}
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": _SARIF[one.level],
        "message": {"text": f"{one.problem}. {one.remedy}"},
        "locations": [{"physicalLocation": place}],
        "properties": {"count": one.count, "urls": list(one.urls)},
    }


FORMATS: dict[str, Callable[[Sequence[Finding], Sequence[str]], str]] = {
    "text": text,
    "json": as_json,
    "github": github,
    "sarif": sarif,
}
