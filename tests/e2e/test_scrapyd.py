"""The project as a Scrapyd job, out of a real egg."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests
from forked import HANGS_SECS
from scrapyd_server import (  # fixtures too
    PROJECT,
    ROOT,
    Scrapyd,
    copy_checkout,
    egg,  # noqa: F401
    scrapyd,  # noqa: F401
    scrapyd_deploy,
)
from site_server import Seen, Site

from llmsspider.config.arguments import DocsArguments

pytestmark = pytest.mark.scrapyd

SETTINGS = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": "0"}
PAGES = {
    "/llms.txt": "# Example\n\n> An example.\n\n## Docs\n\n- [Guide]({base}/guide.html.md): how to begin\n",
    "/": "<html><body><main><h1>Home</h1><p>Welcome to it.</p></main><nav><a href='/only-linked.html'>More</a></nav>",
    "/guide.html": "<html><body><main><h1>Guide</h1><p>The guide as HTML.</p></main></body></html>",
    "/guide.html.md": "# Guide\n\nThe guide as *Markdown*.\n",
    "/only-linked.html": "<html><body><main><h1>More</h1><pre><code>a = 1\n</code></pre></main></body></html>",
}


@pytest.fixture
def site(serve: Callable[[dict[str, Any]], Site]) -> Site:
    return serve(dict(PAGES))


def test_the_egg_holds_the_package_and_the_profiles_and_nothing_else(egg: Path) -> None:  # noqa: F811
    names = {name for name in zipfile.ZipFile(egg).namelist() if not name.endswith((".pyc", "/"))}
    expected = {
        path.relative_to(ROOT).as_posix()
        for folder in ("llmsspider", "pipelines_config")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if not name.startswith("EGG-INFO/")} == expected
    assert "pipelines_config/default.toml" in names
    assert {
        "llmsspider/ui/assets/ui.css",
        "llmsspider/ui/assets/report.html.j2",
    } <= names
    assert not [name for name in names if "test" in name.lower()]
    bytecode = {name for name in zipfile.ZipFile(egg).namelist() if name.endswith(".pyc")}
    assert bytecode == {f"{name}c" for name in names if name.endswith(".py")}
    entry_points = zipfile.ZipFile(egg).read("EGG-INFO/entry_points.txt").decode()
    assert "settings = llmsspider.settings" in entry_points


IMPORTED = """\
import inspect, json, sys
import llmsspider.settings, llmsspider.spiders.docs as docs
ours = {name: module for name, module in sys.modules.items() if name.startswith("llmsspider.")}
print(json.dumps({
    "files": [module.__file__ for module in ours.values()],
    "traceback": docs.DocsSpider.__init__.__code__.co_filename,
    "source": inspect.getsource(docs),
}))
"""


def imported(egg: Path, folder: Path) -> dict[str, Any]:  # noqa: F811
    """Import the spider as a job does; returns what was read for each module, and what a traceback would show."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(egg)!r})\n{IMPORTED}"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=HANGS_SECS,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert len(found["files"]) > 50
    assert all(file.startswith(f"{egg}/llmsspider/") for file in found["files"])
    assert found["source"] == (ROOT / "llmsspider/spiders/docs.py").read_text(encoding="utf-8")
    return found


def test_a_job_imports_the_bytecode_of_the_egg(egg: Path, tmp_path: Path) -> None:  # noqa: F811
    found = imported(egg, tmp_path)

    assert {Path(file).suffix for file in found["files"]} == {".pyc"}
    assert found["traceback"] == "llmsspider/spiders/docs.py", (
        "no folder of the machine that built the egg"
    )


def test_another_python_imports_the_source_of_the_egg(egg: Path, tmp_path: Path) -> None:  # noqa: F811
    foreign = tmp_path / "foreign.egg"
    with zipfile.ZipFile(egg) as ours, zipfile.ZipFile(foreign, "w") as theirs:
        for name in ours.namelist():
            content = ours.read(name)
            theirs.writestr(name, b"\0\0\r\n" + content[4:] if name.endswith(".pyc") else content)

    assert {Path(file).suffix for file in imported(foreign, tmp_path)["files"]} == {".py"}


def test_its_spiders_are_listed(scrapyd: Scrapyd) -> None:  # noqa: F811
    assert "docs" in scrapyd.get("listspiders", project=PROJECT)["spiders"]


def test_a_job_crawls_and_a_second_one_is_its_recrawl(scrapyd: Scrapyd, site: Site) -> None:  # noqa: F811
    arguments = {"url": f"{site.url}/", "source": "example"}

    first = scrapyd.run("docs", arguments, {**SETTINGS, "LLMS_CONVERT_WORKERS": "1"})

    documents = {document["url"]: document for document in first.items}
    assert set(documents) == {
        f"{site.url}/",
        f"{site.url}/guide.html",
        f"{site.url}/only-linked.html",
    }, first.log
    guide = documents[f"{site.url}/guide.html"]
    assert (guide["origin"], guide["content"]) == ("markdown", PAGES["/guide.html.md"])
    assert guide["llms"]["description"] == "how to begin"
    assert "```\na = 1\n```" in documents[f"{site.url}/only-linked.html"]["content"]
    assert {document["change"] for document in first.items} == {"new"}
    assert f"found llms.txt: {site.url}/llms.txt" in first.log
    assert "documents: 3 (" in first.log
    assert "ERROR" not in first.log
    assert "Process died" not in first.server_log

    stored = list((scrapyd.folder / ".scrapy" / "llmsspider").glob("example-*.sqlite"))
    assert len(stored) == 1, (
        "the store lies in Scrapyd's working directory, where the next job finds it"
    )

    site.pages["/guide.html.md"] = "# Guide\n\nThe guide, second edition.\n"
    second = scrapyd.run("docs", arguments, SETTINGS)

    changes = {
        document["url"].removeprefix(site.url): document["change"] for document in second.items
    }
    assert changes == {
        "/": "unchanged",
        "/guide.html": "changed",
        "/only-linked.html": "unchanged",
    }, second.log
    assert "ERROR" not in second.log

    served = scrapyd.jobs("finished")[second.id]
    assert requests.get(scrapyd.url + served["log_url"], timeout=HANGS_SECS).text == second.log
    lines = requests.get(scrapyd.url + served["items_url"], timeout=HANGS_SECS).text.splitlines()
    assert [json.loads(line) for line in lines] == second.items


EVERY_ARGUMENT = {
    "url": "{base}/",
    "source": "every argument",
    "urls_file": "{list}",
    "llms_txt": "{base}/llms.txt",
    "scope": "host",
    "assets": "images",
    "allow": "/**",
    "block": "/never/**,/{x,y}/**",
    "language": "en",
    "versions": "all",
    "max_pages": "2",
    "max_requests": "1000",
    "max_depth": "3",
    "follow": "listed",
    "optional": "skip",
    "mode": "crawl",
    "retry": "",
    "full": "true",
    "emit": "changes",
    "listings": "keep",
    "keep": "",
    "drop": "nav.never",
    "save": "true",
    "confirm_deletions": "true",
    "render": "never",
    "profile": "archive",
}


def test_every_argument_reaches_the_spider(scrapyd: Scrapyd, site: Site, tmp_path: Path) -> None:  # noqa: F811
    assert set(EVERY_ARGUMENT) == set(DocsArguments.model_fields)
    pages = tmp_path / "pages.txt"
    pages.write_text(f"{site.url}/guide.html\n", encoding="utf-8")
    places = {"{base}": site.url, "{list}": str(pages)}
    arguments = EVERY_ARGUMENT
    for name, place in places.items():
        arguments = {key: value.replace(name, place) for key, value in arguments.items()}
    job = scrapyd.run("docs", arguments, {**SETTINGS, "LLMS_DATA_DIR": tmp_path / "stores"})
    assert "ERROR" not in job.log, job.log
    assert [item["url"].removeprefix(site.url) for item in job.items] == ["/guide.html"]
    (store,) = (tmp_path / "stores").glob("every-argument-*.sqlite")
    with closing(sqlite3.connect(store)) as database:
        (stored,) = database.execute("SELECT arguments FROM run").fetchone()
    expected = DocsArguments.model_validate(arguments).model_dump(mode="json")
    assert json.loads(stored) == expected


class Gate:
    """A page that is not answered before the gate is opened."""

    def __init__(self, body: str):
        self.body = body
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, _seen: Seen) -> str:
        self.reached.set()
        self.opened.wait(HANGS_SECS)
        return self.body


def test_jobs_run_at_the_same_time_and_are_cancelled(
    scrapyd: Scrapyd,  # noqa: F811
    serve: Callable[[dict[str, Any]], Site],
) -> None:
    sites, gates = [], []
    for _ in range(2):
        # a page of few words and links waits for the end
        text = "<p>This page has a text of its own.</p>" * 5
        gates.append(Gate(f"<main><h1>More</h1>{text}<a href='/deeper.html'>deeper</a></main>"))
        deeper = "<main><h1>Deeper</h1><p>Reached last.</p></main>"
        sites.append(serve({**PAGES, "/only-linked.html": gates[-1], "/deeper.html": deeper}))
    arguments = [
        {"url": f"{site.url}/", "source": f"site {number}"} for number, site in enumerate(sites)
    ]

    cancelled, other = (scrapyd.schedule("docs", each, SETTINGS) for each in arguments)
    waiting = scrapyd.schedule("docs", {**arguments[0], "max_pages": "1"}, SETTINGS)
    assert all(gate.reached.wait(HANGS_SECS) for gate in gates), "both crawl at the same time"
    assert set(scrapyd.jobs("running")) == {cancelled, other}
    pending = scrapyd.wait(waiting, "pending")
    assert pending["args"] | {"max_pages": "1"} == pending["args"] | arguments[0]
    assert pending["settings"] == SETTINGS

    assert scrapyd.post("cancel", project=PROJECT, job=waiting)["prevstate"] == "pending"
    assert scrapyd.post("cancel", project=PROJECT, job=cancelled)["prevstate"] == "running"
    log = scrapyd.folder / "logs" / PROJECT / "docs" / f"{cancelled}.log"
    _until(lambda: "Closing spider (shutdown)" in log.read_text(encoding="utf-8"))
    for gate in gates:
        gate.opened.set()

    stopped, done = scrapyd.finished("docs", cancelled), scrapyd.finished("docs", other)
    assert "incomplete (shutdown)" in stopped.log
    assert "ERROR" not in stopped.log
    delivered = {item["url"].removeprefix(sites[0].url) for item in stopped.items}
    assert "/only-linked.html" in delivered, "what was under way is delivered, nothing new is begun"
    assert "/deeper.html" not in sites[0].paths()
    assert len(done.items) == 4, "the other job went on"
    assert "ERROR" not in done.log
    assert waiting not in scrapyd.jobs("finished")

    again = scrapyd.run("docs", arguments[0], SETTINGS)
    changes = {item["url"].removeprefix(sites[0].url): item["change"] for item in again.items}
    pages = ("/", "/guide.html", "/only-linked.html", "/deeper.html")
    # a page with a link waited for its Markdown, and was stored when the job was stopped
    kept = {*delivered, "/", "/guide.html"}
    assert changes == {path: "unchanged" if path in kept else "new" for path in pages}
    assert "ERROR" not in again.log
    assert ": complete, " in again.log


def test_after_a_job_is_killed_the_next_one_has_everything_and_deletes_nothing(
    scrapyd: Scrapyd,  # noqa: F811
    serve: Callable[[dict[str, Any]], Site],
) -> None:
    site = serve(dict(PAGES))
    arguments = {"url": f"{site.url}/", "source": "killed"}
    first = scrapyd.run("docs", arguments, SETTINGS)
    gate = Gate(PAGES["/only-linked.html"])
    site.pages = {**PAGES, "/only-linked.html": gate}
    killed = scrapyd.schedule("docs", arguments, SETTINGS)
    assert gate.reached.wait(HANGS_SECS)
    os.kill(int(scrapyd.jobs("running")[killed]["pid"]), signal.SIGKILL)
    _until(lambda: killed in scrapyd.jobs("finished"))
    gate.opened.set()
    again = scrapyd.run("docs", arguments, SETTINGS)
    assert {item["change"] for item in again.items} == {"unchanged"}
    assert len(again.items) == len(first.items) == 3
    assert ": complete, " in again.log


def _until(condition: Callable[[], bool], timeout_secs: float = HANGS_SECS) -> None:
    deadline = time.monotonic() + timeout_secs
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_version_deployed_last_is_the_one_that_runs(
    scrapyd: Scrapyd,  # noqa: F811
    site: Site,
    tmp_path: Path,
) -> None:
    checkout = copy_checkout(tmp_path)
    configuration = checkout / "scrapy.cfg"
    configured = configuration.read_text(encoding="utf-8")
    assert "url = http://localhost:6800/" in configured
    configuration.write_text(
        configured.replace("http://localhost:6800/", f"{scrapyd.url}/"), encoding="utf-8"
    )
    package = checkout / "llmsspider" / "__init__.py"
    older = re.search(r'__version__ = "(.+)"', package.read_text(encoding="utf-8"))
    assert older
    package.write_text(
        package.read_text(encoding="utf-8").replace(older[0], '__version__ = "99.0"')
    )
    versions = scrapyd.get("listversions", project=PROJECT)["versions"]
    _until(lambda: time.time() > int(versions[-1]) + 1)

    answer = scrapyd_deploy(checkout)

    deployed = json.loads(answer[answer.index("{") : answer.rindex("}") + 1])
    assert deployed["status"] == "ok"
    assert deployed["project"] == PROJECT
    assert deployed["spiders"] == 2
    assert scrapyd.get("listversions", project=PROJECT)["versions"] == [
        *versions,
        deployed["version"],
    ]
    job = scrapyd.run("page", {"url": f"{site.url}/guide.html"}, SETTINGS)
    assert len(job.items) == 1, job.log
    assert {seen.headers["user-agent"] for seen in site.requests} == {"llmsspider/99.0"}
    scrapyd.post("delversion", project=PROJECT, version=deployed["version"])


def test_wrong_arguments_are_said_in_the_job_log(scrapyd: Scrapyd, site: Site) -> None:  # noqa: F811
    job = scrapyd.run(
        "docs", {"url": f"{site.url}/", "max_pages": "many", "maxdepth": "3"}, SETTINGS
    )
    assert "ERROR: argument max_pages='many': " in job.log, job.server_log
    assert "ERROR: argument maxdepth='3' is unknown; did you mean max_depth?" in job.log
    assert job.items == []
    assert site.paths() == []
    assert f"job='{job.id}'" in job.server_log.partition("Process died: exitstatus=2")[2]
