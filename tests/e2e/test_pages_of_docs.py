"""The tutorial and the how-to pages, run from top to bottom as written: an installed wheel, an empty folder.

A line is run unless `ELSEWHERE` names what it needs; only the names of sites are those of a local server. A line of
nothing but `llmsspider` and its words is run by the package of the checkout, whose imports are made already, and so is
Python but for the recipes: the tutorial, the recipes and the other lines start the programs of the wheel.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import program_text
from forked import HANGS_SECS, ROOT
from site_server import Site
from sites import PLAIN, html

HOW_TO = ROOT / "docs" / "how-to"
PAGES = {path.stem: path for path in (ROOT / "docs" / "tutorial.md", *sorted(HOW_TO.glob("*.md")))}

PROGRAMS = {"llmsspider", "scrapy", "python", "python3", "pip", "export", "docker", "shub", "scrapyd-deploy", "curl",
            "claude", "printf", "venv/bin/pip", "venv/bin/scrapyd", "~/llmsspider/bin/pip"}  # fmt: skip
ELSEWHERE = {
    "docker ": "a container engine: tests/unit/test_containers.py reads the files",
    "printf ": "the passwords of the containers, and the settings of Scrapyd",
    "shub ": "Scrapy Cloud: tests/e2e/test_scrapy_cloud.py",
    "scrapyd-deploy": "Scrapyd: tests/e2e/test_scrapyd.py",
    "curl ": "Scrapyd: tests/e2e/test_scrapyd.py",
    "venv/bin/": "Scrapyd: tests/e2e/test_scrapyd.py",
    "python3 -m venv ": "an index of packages: the environment of this test takes its place",
    "pip install ": "an index of packages",
    "~/llmsspider/bin/pip ": "an index of packages: the wheel is installed",
    "claude ": "an agent",
    "llmsspider https://github.com": "GitHub: tests/integration/test_crawl_repository.py",
    "llmsspider crawl docs -a url=https://git": "GitHub and GitLab: tests/integration/test_crawl_repository.py",
    "llmsspider sync sources.toml --jobs 4": "Scrapyd nodes and PostgreSQL: tests/e2e/test_sync_scrapyd.py",
    "llmsspider convert ": "a file and a public address: tests/integration/test_convert.py",
    "llmsspider ui": "does not end: tests/integration/test_ui.py",
    "LLMSSPIDER_MCP_TOKEN=": "does not end: tests/integration/test_mcp.py",
    'llmsspider search docs.example.com "make it faster"': "an embedder of your own: tests/components/test_search.py",
}
"""How lines begin that need what is not here, and what checks them."""

OTHER_CODE = {
    "recipes": {"llama_index", "haystack"},
    "extending": {"from scrapy.crawler", "from llmsspider.settings"},
    "operations": {"CrawlerProcess", "read_status"},
    "handlers": {"class Endpoints"},
}
"""What Python of a page names that other tests run (test_loaders.py, test_extending.py, test_operations_docs.py)."""

BEFORE = {
    "changes": "llmsspider crawl docs -a url=https://docs.example.com/ -O docs.jsonl\n"
    "llmsspider recrawl docs.example.com -O docs.jsonl",
    "search": "llmsspider crawl docs -a url=https://docs.example.com/ -O docs.jsonl",
    "many-sites": "llmsspider crawl docs -a url=https://docs.example.com/guide/ -a source=docs.example.net -O d.jsonl",
    "python": "llmsspider crawl docs -a url=https://docs.example.com/ -O documents.jsonl",
}
"""What a page begins with: a source that was crawled."""

RUN = {"tutorial", "changes", "chunks", "convert", "deployment", "many-sites", "mcp", "mirror", "operations", "page-spider",
       "python", "recipes", "search", "signed-requests", "vector-stores"}  # fmt: skip
"""The pages of which something is run; the others have no line that needs neither network nor service."""

SITE = {
    **PLAIN,
    "/": html(
        "Home", "<p>Welcome.</p><a href='/guide/'>guide</a> <a href='/guide/intro'>intro</a>"
    ),
    "/guide/": html(
        "Guide",
        "<p>How long does a request wait? As long as it has to.</p><p>LLMS_STORE_URL names a database.</p>",
    ),
    "/guide/intro": html("Intro", "<p>What the guide begins with.</p>"),
    "/manual/": html("Manual", "<p>The manual in one page.</p>"),
}


SHELL = frozenset("|&;<>$*~`\\\n")
"""What a shell does more than split a line into words; more lines than one are its too."""


class Step(NamedTuple):
    """A block of a page: a script of `sh`, Python, or a file to write."""

    kind: str
    text: str
    name: str = ""


def steps(page: str) -> Iterator[Step]:
    """Yield what a page tells to type, in order."""
    yield from steps_of(PAGES[page].read_text(encoding="utf-8"))


def steps_of(text: str) -> Iterator[Step]:
    """Yield what a text tells to type, in order."""
    for found in re.finditer(
        r"^```python\n((?:(?!```).*\n)*)```|((?:^ {4}.*\n(?:\n(?= {4}))*)+)", text, re.MULTILINE
    ):
        fenced, indented = found.groups()
        code = fenced or re.sub("^ {4}", "", indented, flags=re.MULTILINE)
        first = code.split("\n", 1)[0]
        saved = re.search(r"Save this as `([\w.]+)`:\s*\Z", text[: found.start()])
        named = (
            re.match(r'"""([\w/]+\.py)"""', code) or re.match(r"# ([\w.]+\.toml)$", first) or saved
        )
        if named:
            yield Step("file", code, named[1])
        elif fenced or code.startswith(("from ", "import ")):
            yield Step("python", code)
        else:
            lines = [_typed(line) for line in code.split("\n\n")[0].splitlines()]
            if all(
                line.split(" ")[0].split("=")[0] in {*PROGRAMS, "LLMSSPIDER_MCP_TOKEN"}
                for line in lines
            ):
                yield from (Step("sh", line) for line in lines)


def _typed(line: str) -> str:
    """A line without its comment, and one of cron without its hour and folder."""
    line = re.sub(r"\s+#.*", "", line)
    return re.sub(r"^\d+ \d+ \* \* \*  cd \S+ && ", "", line).replace("> /srv/", "> ")


def elsewhere(line: str) -> bool:
    return line.startswith(tuple(ELSEWHERE))


def is_run(page: str, step: Step) -> bool:
    if step.kind == "python":
        return not any(name in step.text for name in OTHER_CODE.get(page, ()))
    return step.kind == "sh" and not elsewhere(step.text)


class Place:
    """An empty folder with the program on the PATH, and how its lines are spelled there."""

    def __init__(self, folder: Path, programs: Path, names: dict[str, str], python: str = "python"):
        self.folder = folder
        self.python = python
        self.names = names
        self.environment = {
            "HOME": str(folder / "home"),
            "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
            "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
            "LLMS_CONVERT_WORKERS": "0",
            "LANG": "C.UTF-8",
        }
        self.exports = ""

    def spelled(self, text: str) -> str:
        for name, local in self.names.items():
            text = text.replace(name, local)
        return text

    def do(self, step: Step) -> None:
        """Write the file, or run the line and expect that it goes well."""
        text = self.spelled(step.text)
        if step.kind == "file":
            path = self.folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif step.text.startswith("export "):
            self.exports += f"{text}\n"
        else:
            done = self._run(step.kind, text)
            assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr, done.stderr

    def _run(self, kind: str, text: str) -> subprocess.CompletedProcess[str]:
        if text.startswith("llmsspider ") and not self.exports and not SHELL.intersection(text):
            return program_text(*shlex.split(text)[1:], cwd=self.folder, **self.environment)
        words = (
            [self.python, "-c", text] if kind == "python" else ["sh", "-ec", self.exports + text]
        )
        named = {"SCRAPY_SETTINGS_MODULE": "llmsspider.settings"} if kind == "python" else {}
        return subprocess.run(
            words, cwd=self.folder, env=self.environment | named, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=HANGS_SECS, check=False,
        )  # fmt: skip

    @contextmanager
    def demo(self) -> Iterator[None]:
        """Serve the site of `llmsspider demo` at a free port."""
        with subprocess.Popen(
            ["llmsspider", "demo", "--port", "0"],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            address = re.search(r"http://(127\.0\.0\.1:\d+)/", process.stdout.readline())
            assert address
            self.names["127.0.0.1:8000"] = address[1]
            yield
            process.terminate()


@pytest.mark.parametrize("page", sorted(RUN))
def test_a_page_runs_from_top_to_bottom(
    page: str,
    programs: Path,
    quick_python: str,
    serve: Callable[[dict[str, str]], Site],
    tmp_path: Path,
) -> None:
    host = serve(SITE).url.removeprefix("http://")
    names = {"https://docs.example.com": f"http://{host}", "https://example.org": f"http://{host}"}
    python = "python" if page == "recipes" else quick_python
    place = Place(tmp_path, programs, {**names, "docs.example.com": host}, python)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "llmsspider").symlink_to(programs.parent)
    if page in BEFORE:
        place.do(Step("sh", BEFORE[page]))
    ran = 0
    with ExitStack() as stack:
        for step in steps(page):
            if step.text == "llmsspider demo":
                stack.enter_context(place.demo())
            elif step.kind == "file" or is_run(page, step):
                place.do(step)
                ran += step.kind != "file"
    assert ran


def test_the_first_screen_of_the_readme_runs_in_a_checkout(
    programs: Path, serve: Callable[[dict[str, str]], Site], tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    others = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")
    shutil.copytree(ROOT, checkout, ignore=others)
    host = serve(SITE).url.removeprefix("http://")
    place = Place(checkout, programs, {"https://docs.example.com": f"http://{host}"})
    (checkout / "home").mkdir()
    (checkout / "home" / "llmsspider").symlink_to(programs.parent)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first, then = readme.partition("## Without installing")[0], readme.partition("Run it again")[2]
    lines = [step for step in steps_of(first) if not elsewhere(step.text)]
    assert [step.text.split()[0] for step in lines] == ["export", "llmsspider"]
    asked = re.search(r"`(llmsspider search .*?)`", then)
    assert asked
    for step in [*lines, lines[-1], Step("sh", asked[1])]:
        place.do(step)


def test_the_pages_that_are_run_are_all_that_can_be() -> None:
    assert {page for page in PAGES if any(is_run(page, step) for step in steps(page))} == RUN


def test_each_reason_not_to_run_a_line_is_needed() -> None:
    lines = [step.text for page in PAGES for step in steps(page) if step.kind == "sh"]
    assert [start for start in ELSEWHERE if not any(line.startswith(start) for line in lines)] == []
