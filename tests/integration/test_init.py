"""`llmsspider init NAME`: a project of the user's own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from forked import ROOT, fork, run_module
from site_server import Site
from sites import html

LOCAL = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1")
FILES = {
    ".dockerignore", ".gitignore", "Dockerfile", "README.md", "compose.yaml", "requirements.txt", "scrapinghub.yml",
    "scrapy.cfg", "setup.py", "sources.toml", "mydocs/__init__.py", "mydocs/settings.py", "mydocs/pipelines.py",
    "mydocs/spiders/__init__.py",
}  # fmt: skip


def run(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m WORDS` in a folder with nothing of a project in the environment."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SCRAPY_", "LLMS_"))
    }
    with tempfile.TemporaryDirectory() as output:
        process = fork(
            run_module, *words, cwd=cwd, stdout=Path(output, "stdout"), stderr=Path(output, "stderr"),
            env={**environment, "PYTHONPATH": str(ROOT), "LLMS_CONVERT_WORKERS": "0"},
        )  # fmt: skip
        return subprocess.CompletedProcess(words, process.wait(), process.stdout, process.log)


CODE = """<p>Write to docs@example.com, or clone git@github.com:org/repo.git with react@18.2.0 and
postgresql://user:secret@db.example.com/docs.</p>
<pre><code>npm install react@18.2.0
git clone git@github.com:org/repo.git
mail docs@example.com
uses: actions/checkout@v4.1.0</code></pre>
<p><code>docs@example.com</code> <a href="mailto:docs@example.com">mail</a></p>"""
KEPT = (
    "clone git@github.com:org/repo.git with react@18.2.0",
    "postgresql://user:secret@db.example.com/docs",
    "npm install react@18.2.0\ngit clone git@github.com:org/repo.git\n",
    "mail docs@example.com\nuses: actions/checkout@v4.1.0\n",
    "`docs@example.com`",
    "(mailto:docs@example.com)",
)


def test_a_new_project_changes_no_text_and_its_example_prose_only(
    serve: Callable[[dict[str, str]], Site], tmp_path: Path
) -> None:
    assert run(tmp_path, "llmsspider", "init", "mydocs").returncode == 0
    project = tmp_path / "mydocs"
    site = serve({"/": html("Home", CODE)})
    texts = []
    for example in ((), ("-s", 'ITEM_PIPELINES={"mydocs.pipelines.RedactEmails": 300}')):
        crawled = run(
            project,
            "scrapy",
            "crawl",
            "docs",
            "-a",
            f"url={site.url}/",
            "-O",
            "out.jsonl",
            *LOCAL,
            *example,
        )
        assert crawled.returncode == 0, crawled.stderr
        texts.append(json.loads((project / "out.jsonl").read_text())["content"])
    assert [text.count("docs@example.com") for text in texts] == [4, 3]
    assert "Write to [e-mail address], or" in texts[1]
    assert all(kept in text for text in texts for kept in KEPT)


def test_a_new_project_crawls_with_its_own_pipeline(
    serve: Callable[[dict[str, str]], Site], tmp_path: Path
) -> None:
    made = run(tmp_path, "llmsspider", "init", "mydocs")
    assert (made.returncode, made.stderr) == (0, "")
    project = tmp_path / "mydocs"
    assert {
        str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()
    } == FILES
    site = serve({"/": html("Home", "<p>Write to docs@example.com, please.</p>")})
    (project / "sources.toml").write_text(f'[[sources]]\nurl = "{site.url}/"\n')
    settings = project / "mydocs" / "settings.py"
    settings.write_text(settings.read_text().replace("# ITEM_PIPELINES", "ITEM_PIPELINES"))
    done = run(project, "llmsspider", "sync", "sources.toml", *LOCAL)
    assert done.returncode == 0, done.stdout + done.stderr
    name = site.url.removeprefix("http://")
    (log,) = (project / ".scrapy").rglob("*.log")
    assert "'mydocs.pipelines.RedactEmails'" in log.read_text()
    (document,) = map(json.loads, run(project, "scrapy", "export", name).stdout.splitlines())
    assert document["title"] == "Home"
    assert run(project, "llmsspider", "status").stdout.startswith(f"{name}  {site.url}/")
    (page,) = project.glob("docs/*/home.md")
    assert "# Home" in page.read_text()
    assert run(project, "scrapy", "genspider", "mine", "example.com").returncode == 0
    assert "example.com" in (project / "mydocs" / "spiders" / "mine.py").read_text()
    assert set(run(project, "scrapy", "list").stdout.split()) >= {"docs", "page", "mine"}


WRONG = {
    "no name": ((), "name the project, e.g. init mydocs"),
    "not a module": (
        ("my-docs",),
        "'my-docs': a name of lower-case letters, digits and underscores is accepted",
    ),
    "a folder with files": (
        ("taken",),
        "taken exists already; choose another name, or an empty folder",
    ),
    "a module": (("json",), "a module named json exists already; choose another name"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_name_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/notes.txt").write_text("mine")
    done = run(tmp_path, "llmsspider", "init", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"llmsspider init: {said}\n")
    assert [path.name for path in tmp_path.rglob("*")] == ["taken", "notes.txt"]
