"""The examples of docs/how-to/recipes.md, run as they stand there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from crawling import ROOT, command, recipes
from forked import HANGS_SECS
from sites import PLAIN, html


def python(folder: Path, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANGS_SECS,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_index_holds_no_stale_chunk_after_a_change(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    source = site.url.removeprefix("http://")
    (code,) = recipes("A vector store that holds no stale chunk")
    (tmp_path / "index.py").write_text(code, encoding="utf-8")

    def chunks(*options: str) -> list[dict]:
        options = ("--format", "chunks", *options, "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
        done = command("export", source, *options, cwd=tmp_path)
        assert done.exit_code == 0, done.log
        return [json.loads(line) for line in done.stdout.splitlines()]

    def night() -> int:
        run_crawl(f"{site.url}/")
        chunks("--since", python(tmp_path, "index.py").strip(), "-o", "changes.jsonl")
        python(tmp_path, "index.py", "changes.jsonl")
        return len((tmp_path / "changes.jsonl").read_text().splitlines())

    def indexed() -> set[tuple[str, str]]:
        code = (
            "import json, runpy, sys; sys.argv = ['index.py']; db = runpy.run_path('index.py')['db'];"
            "print(json.dumps(db.execute('select id, text from chunk').fetchall()))"
        )
        return {tuple(row) for row in json.loads(python(tmp_path, "-c", code).splitlines()[-1])}

    assert night() == 4
    assert len(indexed()) == 4
    found = python(tmp_path, "index.py", "changes.jsonl", "how", "to", "begin").splitlines()
    assert found[0] == f"{site.url}/guide/intro.html # Intro"
    site.pages["/guide/intro.html"] = html(
        "Intro", "<p>Other words entirely.</p><h2>More</h2><p>New.</p>"
    )
    site.pages["/guide/more.html"] = html("More", "<p>Nothing deeper.</p>")
    del site.pages["/guide/deep.html"]
    night()
    night()  # the page that linked to it may be damaged: the second night decides
    after = indexed()
    assert after == {(row["id"], row["text"]) for row in chunks()}
    assert not any("How to begin" in text or "deepest" in text for _, text in after)
    assert night() == 0
    assert indexed() == after


def test_the_line_for_cron(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/", arguments={"source": "docs.example.com"})
    text = (ROOT / "docs" / "how-to" / "recipes.md").read_text(encoding="utf-8")
    line = re.search(r"^    30 3 \* \* \*  cd /srv/docs && llmsspider (.*)$", text, re.MULTILINE)[1]
    settings = {"LLMS_DATA_DIR": tmp_path / "store", "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1"}
    given = (part for name, value in settings.items() for part in ("-s", f"{name}={value}"))
    done = command(*shlex.split(line), *given, cwd=tmp_path)
    assert (done.exit_code, done.log) == (0, "")
    assert len((tmp_path / "documents.jsonl").read_text().splitlines()) == len(PLAIN)
