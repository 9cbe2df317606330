"""The commands and the Python of docs/how-to/operations.md, run as they stand there on a site of the test."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import ROOT, command
from forked import HANGS_SECS
from sites import html

PAGE = (ROOT / "docs" / "how-to" / "operations.md").read_text(encoding="utf-8")
SITE = {
    "/": html("Home", "<p>Welcome to the documentation.</p><a href='/use.html'>x</a>"),
    "/use.html": html("Use", "<p>How it is used, in a few words.</p>"),
}
SETTINGS = """
from llmsspider.settings import *

LLMS_ALLOW_PRIVATE_ADDRESSES = ["127.0.0.1"]
"""


def blocks(section: str) -> list[str]:
    """The indented blocks of a section of the page, without their indent."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert text, section
    found = re.findall(r"(?:^(?: {4}.*)?\n)+", text[1], re.MULTILINE)
    return [re.sub("^ {4}", "", block, flags=re.MULTILINE) for block in found if block.strip()]


@pytest.fixture
def place(serve, tmp_path):
    """A folder with settings that allow the test's site; the texts of the page are made to name that site."""
    site = serve(SITE)
    (tmp_path / "allowing.py").write_text(SETTINGS)
    environment = {
        "SCRAPY_SETTINGS_MODULE": "allowing",
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "LLMS_DATA_DIR": str(tmp_path / "data"),
        "LLMS_CONVERT_WORKERS": "0",
    }

    def named(text: str) -> str:
        return text.replace("https://docs.example.com/", f"{site.url}/").replace(
            "docs.example.com", site.url.removeprefix("http://")
        )

    return tmp_path, environment, named


def test_the_commands_work_as_they_stand_there(place):
    folder, environment, named = place
    lines = [
        line.partition("#")[0].strip() for line in blocks("Command line")[0].splitlines() if line
    ]
    assert [shlex.split(line)[1] for line in lines] == [
        "plan",
        "crawl",
        "status",
        "recrawl",
        "export",
    ]
    for line in lines:
        words = shlex.split(named(line))
        if ">" in words:
            words, target = words[: words.index(">")], words[-1]
        else:
            target = None
        ended = command(*words[1:], cwd=folder, env=environment)
        assert ended.exit_code == 0, ended.log
        if target:
            Path(folder, target).write_text(ended.stdout)
    assert len((folder / "docs.jsonl").read_text().splitlines()) == 2
    assert (folder / "changes.jsonl").read_text() == ""
    assert {
        json.loads(line)["title"] for line in (folder / "all.jsonl").read_text().splitlines()
    } == {
        "Home",
        "Use",
    }
    assert list((folder / "out").glob("*.html"))


def test_the_python_works_as_it_stands_there(place):
    folder, environment, named = place
    crawl, _, read = blocks("Python")[0].partition("from llmsspider.output.status")
    for name, code in (("crawl.py", crawl), ("read.py", "from llmsspider.output.status" + read)):
        (folder / name).write_text(named(code))
        ended = subprocess.run(
            [sys.executable, name],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=HANGS_SECS,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
    # two links of its navigation lead nowhere
    assert ended.stdout == named("docs.example.com INDEXED 4\n")
