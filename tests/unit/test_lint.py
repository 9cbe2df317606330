"""The lint of an llms.txt as a text: every rule with its place, and nothing said of a file that is right."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest
from readers import lines_run
from scrapy.settings import Settings

from llmsspider.commands.lint import Command
from llmsspider.errors import ArgumentsError
from llmsspider.lint.findings import (
    FORMATS,
    RULES,
    Finding,
    finding,
    is_as_bad,
    ordered,
    summary,
)
from llmsspider.lint.text import lint_body

URL = "https://e.com/docs/llms.txt"
GOOD = """# Project

> What it is, in a sentence.

Some notes.

- a note in a list

## Docs

- [Start](https://e.com/docs/start.md): how to begin
- [API](https://e.com/docs/api.md): all functions

## Optional

- [History](https://e.com/docs/history.md): what happened
"""


def lint(text: str, url: str | None = URL) -> list[tuple[str, int]]:
    return [(one.rule, one.line) for one in lint_body(text.encode(), "llms.txt", url)]


def test_a_good_file_has_nothing_to_mend():
    assert lint(GOOD) == []
    assert lint("---\ntitle: x\n---\n" + GOOD) == []
    assert lint("\ufeff" + GOOD.replace("\n", "\r\n")) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("# Project", "Project", ("no-title", 1)),
        ("# Project", "#Project", ("no-title", 1)),
        ("## Docs", "# Docs", ("several-titles", 9)),
        ("> What it is, in a sentence.\n", "", ("no-summary", 1)),
        ("## Optional", "## Empty\n\n## Optional", ("empty-section", 14)),
        ("## Optional", "## Prose\n\nWords.\n\n## Optional", ("section-without-links", 14)),
        ("- [API]", "### Deep\n\n- [API]", ("deep-heading", 12)),
        ("https://e.com/docs/start.md", "https://[e/x", ("invalid-url", 11)),
        ("https://e.com/docs/start.md", "start.md", ("relative-link", 11)),
        ("https://e.com/docs/start.md", "#docs", ("not-a-page", 11)),
        ("https://e.com/docs/start.md", "mailto:a@e.com", ("not-a-page", 11)),
        ("https://e.com/docs/start.md", "http://e.com/docs/start.md", ("insecure-link", 11)),
        ("https://e.com/docs/start.md", "https://other.org/start.md", ("off-site-link", 11)),
        ("docs/api.md", "docs/start.md", ("duplicate-link", 12)),
        ("[API]", "[Start]", ("duplicate-title", 11)),
        ("[API]", "[]", ("untitled-link", 12)),
        ("[API]", "[null]", ("untitled-link", 12)),
        ("- [API]", "\nSee [API]", ("link-outside-list", 13)),
        ("- [API]", "- Nothing here\n- [API]", ("item-without-link", 12)),
        (": all functions", "", ("missing-notes", 12)),
        ("all functions", "how to begin", ("equal-notes", 11)),
        ("Some notes.", "Some <b>notes</b>.", ("html", 5)),
        ("Some notes.", "Notes. " * 16_000, ("too-large", 0)),
    ],
    ids=lambda value: f"{value[0]}" if isinstance(value, tuple) else None,
)
def test_each_rule_is_found_at_its_place(before: str, after: str, expected: tuple[str, int]):
    assert expected in lint(GOOD.replace(before, after, 1))


def test_links_are_found_in_no_other_place_than_a_list_of_sections():
    bare = re.sub(r"- \[.*\n", "", GOOD)
    assert {rule for rule, _ in lint(bare)} >= {"no-links", "empty-section"}
    many = "# P\n\n> S\n\n" + "".join(
        f"- [P{n}](https://e.com/docs/{n}): n{n}\n" for n in range(11)
    )
    assert lint(many) == [("no-sections", 0)]


def test_code_and_comments_are_no_links():
    text = (
        GOOD + "\n<!-- [x](http://nowhere) -->\n\n```\n[a] (https://e.com/b c)\n# No title\n```\n"
    )
    assert lint(text) == []


def test_nothing_is_said_of_other_sites_where_the_address_is_not_known():
    assert lint(GOOD.replace("https://e.com/docs/api.md", "https://other.org/x"), None) == []


@pytest.mark.parametrize(
    "pump",
    [
        "## Section\n",
        "## Section\n\n- [x](https://e.com/a): b\n\n",
        "## Optional\n\n- [x](https://e.com/a)\n",
        "## A\n\n### B\n\ntext\n\n",
        "- [x] (https://e.com/a) <b>c</b>\n",
    ],
)
def test_the_work_for_many_headings_and_links_is_linear(pump: str):
    few, many = (lines_run(lambda n=n: lint(f"# P\n\n{pump * n}"), 10**8) for n in (100, 1600))
    assert many < 32 * few


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   \n",
        b"<!doctype html><html><body>Hello there, this is an app</body></html>",
        b'{"error": "not found", "code": 404}',
    ],
    ids=["empty", "blank", "HTML", "JSON"],
)
def test_what_is_no_llms_txt_is_one_finding(body: bytes):
    (found,) = lint_body(body, "llms.txt", None)
    assert (found.rule, found.level) == ("not-llms-txt", "error")


def test_a_file_that_is_too_long_is_one_finding():
    (found,) = lint_body(GOOD.encode() + b"\n" * 21_000_000 + b"x", "llms.txt", None)
    assert (found.rule, "20 MB" in found.problem) == ("not-llms-txt", True)


def test_a_byte_that_is_no_utf8_is_named_with_its_place():
    body = GOOD.encode().replace(b"Some notes", b"Some n\xf6tes")
    assert [(one.rule, one.line) for one in lint_body(body, "f", None)] == [("not-utf-8", 5)]


def test_full_text_is_checked_for_its_pages():
    pages = "".join(
        f"# Page {n}\nSource: https://e.com/docs/{n}\n\n{'Words of it. ' * 40}\n\n"
        for n in range(5)
    )
    name = "https://e.com/docs/llms-full.txt"
    assert lint_body(pages.encode(), name, name) == []
    whole = "# Manual\n\n" + "All of it without an address. " * 400
    assert [one.rule for one in lint_body(whole.encode(), name, name)] == ["full-text-unsplit"]


FOUND = [
    finding(
        "dead-link",
        "docs/llms.txt",
        "https://e.com/a: 100%, gone\nnow",
        3,
        ["https://e.com/a"],
    ),
    finding(
        "missing-notes",
        "https://e.com/llms.txt",
        "links without notes, of 9: 4",
        2,
        list("abcd"),
    ),
    finding("no-summary", "docs/llms.txt", "there is no summary"),
]


def test_text_has_place_remedy_and_counts():
    assert FORMATS["text"](ordered(FOUND), ["a note"]) == (
        "docs/llms.txt:3: error: https://e.com/a: 100%, gone\nnow [dead-link]\n"
        "    remove or correct it\n"
        "docs/llms.txt: warning: there is no summary [no-summary]\n"
        "    put `> One or two sentences` below the title\n"
        "https://e.com/llms.txt:2: hint: links without notes, of 9: 4 [missing-notes]\n"
        "    a\n    b\n    c\n    and 1 more\n"
        "    say after a colon what is there: `- [Title](URL): notes`\n"
        "a note\n"
        "1 error, 1 warning, 1 hint\n"
    )
    assert summary([]) == "nothing to mend"


def test_annotations_are_escaped_and_name_files_only():
    lines = FORMATS["github"](FOUND, []).splitlines()
    assert lines[0] == (
        "::error file=docs/llms.txt,line=3,title=dead-link::"
        "https://e.com/a: 100%25, gone%0Anow. remove or correct it"
    )
    assert lines[1].startswith(
        "::notice title=missing-notes::https://e.com/llms.txt:2: links without notes"
    )


def test_sarif_has_rules_places_and_levels():
    log = json.loads(FORMATS["sarif"](FOUND, ["a note"]))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "dead-link",
        "missing-notes",
        "no-summary",
    ]
    first, second, third = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("dead-link", 0, "error")
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "docs/llms.txt"},
        "region": {"startLine": 3},
    }
    assert (second["level"], third["level"]) == ("note", "warning")
    assert "region" not in third["locations"][0]["physicalLocation"]


def test_json_has_everything():
    told = json.loads(FORMATS["json"](FOUND, ["a note"]))
    assert told["notes"] == ["a note"]
    assert told["findings"][0] | {"urls": None} == {
        "rule": "dead-link",
        "file": "docs/llms.txt",
        "problem": "https://e.com/a: 100%, gone\nnow",
        "line": 3,
        "count": 1,
        "urls": None,
        "level": "error",
        "remedy": "remove or correct it",
        "page": "docs/reference/lint.md#dead-link",
    }


def test_findings_are_told_once_the_worst_first():
    again = [*FOUND, *FOUND]
    assert [one.level for one in ordered(again)] == ["error", "warning", "hint"]
    assert is_as_bad("error", "error") and not is_as_bad("hint", "error")


def test_every_rule_is_used_and_says_what_to_do():
    package = Path(__file__).parents[2] / "llmsspider"
    source = "".join(
        path.read_text() for path in package.rglob("*.py") if path.name != "findings.py"
    )
    assert [rule for rule in RULES if f'"{rule}"' not in source] == []
    assert all(rule.remedy and not rule.remedy.endswith(".") for rule in RULES.values())
    assert isinstance(FOUND[0], Finding)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one llms.txt: a URL, a file, or a source"),
        (["a", "b"], "name one llms.txt: a URL, a file, or a source"),
        (["https://"], "https://"),
        (["f", "--format", "xml"], "accepted are text, json, github, sarif"),
        (["f", "--fail-on", "all"], "accepted are error, warning, hint, never"),
        (["f", "--max-links", "-1"], "a number of 0 or more is accepted"),
        (["f", "--url", "e.com"], "e.com"),
    ],
    ids=["nothing", "two", "half a URL", "format", "level", "number", "address"],
)
def test_wrong_arguments_are_one_line_each(words: list[str], said: str):
    command = Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    opts, args = parser.parse_known_args(words)
    with pytest.raises(ArgumentsError) as wrong:
        command.work(args, opts)
    assert len(wrong.value.problems) == 1
    assert said in wrong.value.problems[0]
