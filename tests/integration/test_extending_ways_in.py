"""Each way into a project of one's own × what is run there: all work alike."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_line import program_text
from forked import ROOT
from sites import PLAIN

COMMON = """
LLMS_ALLOW_PRIVATE_ADDRESSES = "127.0.0.1"
LLMS_CONVERT_WORKERS = 0
LLMS_DATA_DIR = "store"
"""
IMPORTED = "from llmsspider.settings import *\n"
ADDON = 'ADDONS = {"llmsspider.Addon": 500}\n'
COMMANDS = 'COMMANDS_MODULE = "llmsspider.commands"\n'
WAYS = {
    "import": IMPORTED,
    "import without commands": f"{IMPORTED}COMMANDS_MODULE = ''\n",
    "add-on": ADDON,
    "add-on with commands": ADDON + COMMANDS,
    "add-on and own spiders": f"{ADDON}{COMMANDS}SPIDER_MODULES = ['own.spiders']\n",
}


@pytest.fixture(params=WAYS)
def project(request, tmp_path: Path) -> tuple[str, Path]:
    """A project with settings of one way, and its folder."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = own.settings\n")
    spiders = tmp_path / "own" / "spiders"
    spiders.mkdir(parents=True)
    (spiders / "__init__.py").write_text("")
    (tmp_path / "own" / "__init__.py").write_text("")
    (tmp_path / "own" / "settings.py").write_text(WAYS[request.param] + COMMON)
    return request.param, tmp_path


def scrapy(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Scrapy in the project, as its user does."""
    path = f"{folder}:{ROOT}"
    return program_text(*words, cwd=folder, module="scrapy", PYTHONPATH=path, COLUMNS="200")


def test_a_crawl_and_a_wrong_argument(project, serve) -> None:
    way, folder = project
    site = serve(PLAIN)
    crawled = scrapy(folder, "crawl", "docs", "-a", f"url={site.url}/", "-O", "d.jsonl")
    assert crawled.returncode == 0, crawled.stderr
    documents = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
    assert len(documents) == 4
    wrong = scrapy(folder, "crawl", "docs", "-a", f"url={site.url}/", "-a", "max_page=3")
    assert "max_page" in wrong.stderr
    assert wrong.returncode == (1 if way in {"import without commands", "add-on"} else 2)


def test_plan_and_list(project, serve) -> None:
    way, folder = project
    site = serve(PLAIN)
    listed = scrapy(folder, "list")
    assert listed.returncode == 0
    assert ("docs" in listed.stdout.split()) is (way.startswith("import"))
    planned = scrapy(folder, "plan", f"{site.url}/")
    has_commands = way not in {"import without commands", "add-on"}
    assert planned.returncode == (0 if has_commands else 2)
    if has_commands:
        assert "scrapy crawl docs" in planned.stdout
