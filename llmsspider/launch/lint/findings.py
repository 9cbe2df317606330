"""Findings of the lint: the rules, each with level and remedy, what was found, and its text, JSON, annotations, SARIF.

docs/reference/lint.md has an entry for each rule.
"""

import dataclasses
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import orjson

from llmsspider import __version__
from llmsspider.output import printable

Level = Literal["error", "warning", "hint"]
LEVELS: tuple[Level, ...] = ("error", "warning", "hint")
"""The worst first."""


class Rule(NamedTuple):
    """How bad it is, and what to do."""

    level: Level
    remedy: str


RULES: dict[str, Rule] = {
    # the file
    "not-llms-txt": Rule("error", "serve Markdown text at this address"),
    "not-found": Rule("error", "put an llms.txt at the root of the site, or of the documentation"),
    "unreachable": Rule("error", "see that the address is right, and answers without a login"),
    "not-utf-8": Rule("error", "save the file as UTF-8"),
    "invisible-characters": Rule("hint", "remove them: they are part of URLs and words for a parser"),
    "too-large": Rule("hint", "split it into linked llms.txt files: a model reads the whole of it"),
    "html": Rule("hint", "write Markdown: HTML is read as text"),
    # its head
    "no-title": Rule("error", "begin the file with `# Name of the project`"),
    "title-not-first": Rule("hint", "begin the file with its H1"),
    "several-titles": Rule("warning", "use `##` for sections: the one H1 names the project"),
    "no-summary": Rule("warning", "put `> One or two sentences` below the title"),
    "summary-misplaced": Rule("hint", "put the summary directly below the title"),
    # its sections
    "no-links": Rule("error", "list pages as `- [Title](URL): notes` below `## Section` headings"),
    "no-sections": Rule("hint", "group the links below `## Headings`"),
    "empty-section": Rule("warning", "list pages below the heading, or remove it"),
    "section-without-links": Rule("hint", "keep prose above the first section: sections are lists of links"),
    "deep-heading": Rule("hint", "use `##` for sections: the format knows no deeper heading"),
    "optional-not-last": Rule("hint", "put the Optional section last: readers with little room stop there"),
    "everything-optional": Rule("warning", "leave only what can be skipped in the Optional section"),
    # its links
    "broken-link-syntax": Rule(
        "warning", "write `[Title](URL)` without a blank between, and `%20` for blanks in URLs"
    ),
    "invalid-url": Rule("error", "correct the URL"),
    "relative-link": Rule("hint", "write the whole URL: the file is read without its address, too"),
    "fragment-link": Rule("hint", "link pages; a part of this file is no page"),
    "not-a-page": Rule("hint", "list pages that can be fetched (http, https)"),
    "insecure-link": Rule("warning", "use https"),
    "off-site-link": Rule("hint", "make sure that it belongs to this documentation"),
    "duplicate-link": Rule("warning", "list each page once"),
    "duplicate-title": Rule("hint", "give each a title of its own"),
    "untitled-link": Rule("warning", "give the link the title of its page"),
    "link-outside-list": Rule("hint", "make it an item of a list: `- [Title](URL): notes`"),
    "item-without-link": Rule("hint", "link the page that the item is about"),
    "missing-notes": Rule("hint", "say after a colon what is there: `- [Title](URL): notes`"),
    "equal-notes": Rule("warning", "say of each page what it alone holds"),
    # what the links answer
    "dead-link": Rule("error", "remove or correct it"),
    "failing-link": Rule("warning", "see that it answers, without a login"),
    "redirected-link": Rule("hint", "link the address that it leads to"),
    "opted-out-link": Rule("warning", "list only pages whose use by AI tools is wanted, or lift the opt-out"),
    "html-link": Rule("hint", "link the Markdown version"),
    "no-markdown": Rule("hint", "serve a Markdown version beside the page"),
    "wrong-content-type": Rule(
        "warning", "serve Markdown as text/markdown and llms.txt as text/plain or text/markdown"
    ),
    "no-alternate": Rule(
        "hint", 'name the Markdown version: `<link rel="alternate" type="text/markdown" href="…">`'
    ),
    "no-vary": Rule(
        "warning", "send `Vary: Accept`: a cache would give Markdown to browsers, or HTML to models"
    ),
    "no-describedby": Rule("hint", 'name the file on its pages: `<link rel="describedby" href="/llms.txt">`'),
    "markdown-misses-content": Rule("warning", "build the Markdown version from the whole page"),
    "page-misses-content": Rule("hint", "see that both versions are built from the same text"),
    # the other files
    "full-text-unsplit": Rule("warning", "part the pages by a heading and their `Source:` address"),
    "full-text-misses-pages": Rule("warning", "build llms-full.txt from the pages that llms.txt lists"),
    "full-text-too-large": Rule("hint", "few models can read it at once: offer parts"),
    "not-in-sitemap": Rule("hint", "add the pages to the sitemap"),
    "only-in-sitemap": Rule("hint", "list the pages that matter"),
    "unread-llms-file": Rule("warning", "see that linked llms files answer"),
    "unread-sitemap": Rule("warning", "mend the sitemap: what stands behind the fault is not read"),
}


def is_as_bad(level: Level, limit: Level) -> bool:
    """Whether a level is as bad as `limit`, or worse.

    >>> is_as_bad("error", "warning"), is_as_bad("hint", "warning")
    (True, False)
    """
    return LEVELS.index(level) <= LEVELS.index(limit)


MAX_NAMED, SHOWN_URLS = 20, 3
"""Maximum number of URLs of each finding, and of those that its text names."""


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


Place = tuple[int, int]
"""Line and column, from 1; columns count characters."""


@dataclass(slots=True)
class Places:
    """Turns offsets in UTF-8 into lines and columns; the cost is that of the distance from the last one."""

    source: bytes
    _lines: list[int] = field(init=False)
    _last: tuple[int, int] = (0, 1)  # an offset and its column

    def __post_init__(self) -> None:
        self._lines = [0, *accumulate(len(line) for line in self.source.splitlines(keepends=True))]

    def __getitem__(self, offset: int) -> Place:
        line = max(bisect_right(self._lines, offset) - 1, 0)
        begin, column = self._last if self._lines[line] <= self._last[0] <= offset else (self._lines[line], 1)
        self._last = offset, column + len(self.source[begin:offset].decode("utf-8", "replace"))
        return line + 1, self._last[1]


def finding(rule: str, file: str, problem: str, place: Place = (0, 0), urls: Sequence[str] = ()) -> Finding:
    """Make a finding about some URLs, each of which counts."""
    return Finding(rule, file, problem, *place, max(len(urls), 1), tuple(urls[:MAX_NAMED]))


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each once, the worst first, then by place."""
    unique = dict.fromkeys(findings)
    return sorted(unique, key=lambda one: (LEVELS.index(one.level), one.file, one.line, one.column, one.rule))


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
    parts = [f"{counts[level]} {level}{'s' * (counts[level] != 1)}" for level in LEVELS if counts[level]]
    return ", ".join(parts) or "nothing to mend"


def _place(one: Finding) -> str:
    return f"{one.file}:{one.line}:{one.column}" if one.line else one.file


def as_json(findings: Sequence[Finding], notes: Sequence[str]) -> str:
    """An object with `findings` (each with its level, remedy and page) and `notes`."""
    found = [
        dataclasses.asdict(one) | {"level": one.level, "remedy": one.remedy, "page": f"{PAGE}#{one.rule}"}
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
        place = {"file": one.file, "line": one.line, "col": one.column} if is_file else {}
        values = ((name, _message(str(it))) for name, it in (place | {"title": one.rule}).items() if it)
        said = ",".join(f"{name}={it.replace(':', '%3A').replace(',', '%2C')}" for name, it in values)
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
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _result(one: Finding, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": one.file.replace("\\", "/")}}
    if one.line:
        place["region"] = {"startLine": one.line, "startColumn": max(one.column, 1)}
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
