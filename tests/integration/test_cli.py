"""`llmsspider URL -o DIR` from a folder that is no project."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked import ROOT, fork, run_module
from sites import PLAIN, html


@pytest.fixture
def llmsspider(tmp_path, tmp_path_factory):
    """Return a function that runs the command with nothing of a project around it."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "LLMS_"))
        }
        output = tmp_path_factory.mktemp("output")
        process = fork(
            run_module,
            "llmsspider",
            *arguments,
            cwd=tmp_path,
            stdout=output / "stdout",
            stderr=output / "stderr",
            env={**environment, "PYTHONPATH": str(ROOT)},
        )
        return subprocess.CompletedProcess(arguments, process.wait(), process.stdout, process.log)

    return run


LOCAL = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1")


def test_one_command_makes_the_tree_and_says_what_to_do_next(serve, llmsspider, tmp_path):
    site = serve(PLAIN)
    site.etags = True
    first = llmsspider(f"{site.url}/", "-o", "my docs/", *LOCAL)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.splitlines()[:2] == [
        f"4 pages of {site.url.removeprefix('http://')} (new 4)",
        "my docs: 4 files written, 0 untouched, 0 removed",
    ]
    again = f"llmsspider {site.url}/ -o 'my docs/' -s LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1"
    assert (
        first.stdout.splitlines()[-1]
        == f"Start with my docs/index.md. To fetch what has changed, later: {again}"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"my docs"}
    assert (tmp_path / "my docs/guide/intro.md").exists()

    site.pages["/guide/deep.html"] = html("Deep", "<p>Deeper still.</p>")
    second = llmsspider("-o", "my docs/", *LOCAL)
    assert second.returncode == 0, second.stderr
    assert "my docs: 1 files written, 3 untouched, 0 removed" in second.stdout

    (store,) = (tmp_path / "my docs/.llmsspider").glob("**/*.sqlite*")
    store.write_bytes(b"x" * 3000)
    third = llmsspider("-o", "my docs/", *LOCAL)
    assert (third.returncode, third.stdout) == (1, "")
    (line,) = third.stderr.splitlines()
    assert line.startswith("llmsspider: page store ") and "file is not a database" in line
    assert (tmp_path / "my docs/guide/intro.md").exists()


WRONG = {
    "no URL": ((), "a URL is missing"),
    "not a URL": (
        ("docs.example.com", "-o", "docs"),
        "'docs.example.com' cannot be used: not an absolute http",
    ),
    "a folder without a tree": (("-o", "docs"), "docs holds no tree yet: name the URL it is made from"),
    "unknown option": (("--frobnicate",), "unrecognized arguments: --frobnicate"),
    "unknown argument": (("https://e.com/", "-a", "max_page=3"), "max_page"),
    "argument without value": (
        ("https://e.com/", "-a", "max_pages"),
        "-a 'max_pages': NAME=VALUE is accepted",
    ),
    "setting without value": (("https://e.com/", "-s", "X"), "-s 'X': NAME=VALUE is accepted"),
    "a folder of other files": (
        ("https://e.com/", "-o", "mine"),
        "mine holds files that are not from llmsspider",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_line_and_exit_code_2(
    llmsspider, tmp_path: Path, arguments: tuple[str, ...], said: str
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    done = llmsspider(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("llmsspider: ") and said in line
    assert {path.name for path in tmp_path.iterdir()} == {"mine"}


def test_a_site_that_gives_nothing_is_exit_code_1_and_no_tree(serve, llmsspider, tmp_path):
    site = serve({})
    done = llmsspider(f"{site.url}/", "-o", "docs", *LOCAL)
    assert done.returncode == 1
    assert "docs was not brought up to date (start_failed)" in done.stderr
    assert list((tmp_path / "docs").glob("*.md")) == []


def test_a_private_address_ends_with_the_setting_that_allows_it(serve, llmsspider):
    site = serve(PLAIN)
    refused = llmsspider(f"{site.url}/", "-o", "docs")
    assert refused.returncode == 1
    host = site.url.removeprefix("http://")
    assert refused.stderr.strip().endswith(
        f"{host} is not a public address: -s LLMS_ALLOW_PRIVATE_ADDRESSES={host} allows it"
    )
    assert not site.requests
