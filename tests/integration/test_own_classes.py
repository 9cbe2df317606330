"""Classes of users in place of the project's own: content handlers and the store."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from crawling import ROOT, command
from site_server import Reply
from sites import html

import llmsspider
from llmsspider.errors import ArgumentsError

TESTS = str(ROOT / "tests" / "support")
PATHS = {"PYTHONPATH": os.pathsep.join([str(ROOT), TESTS])}
HANDLERS = {
    "application/json": "own_classes.Table",
    "application/pdf": "own_classes.Whole",
    "application/yaml": "own_classes.Raising",
    "application/toml": "own_classes.Hanging",
    "application/xml": "own_classes.Dying",
    "text/csv": "own_classes.Wrong",
}
FAILING = ("bad.yaml", "slow.toml", "dead.xml", "wrong.csv")


def links(*names: str) -> str:
    return "".join(f'<p>See <a href="{name}">{name}</a>.</p>' for name in names)


PAGES = {
    "/": html(
        "Home", "<p>Welcome to this.</p>" + links("api.json", "book.pdf", *FAILING, "last.html")
    ),
    "/api.json": Reply('{"a": 1}', content_type="application/json; charset=utf-16"),
    "/book.pdf": Reply(b"%PDF-1.4\0", content_type="application/pdf"),
    "/bad.yaml": Reply("a: 1", content_type="application/yaml"),
    "/slow.toml": Reply("a = 1", content_type="application/toml"),
    "/dead.xml": Reply("<a/>", content_type="application/xml"),
    "/wrong.csv": Reply("a,b", content_type="text/csv"),
    "/last.html": html("Last", "<p>The last page.</p>"),
    "/more.html": html("More", "<p>Linked by a handler's Markdown.</p>"),
    "/beyond.html": html("Beyond", "<p>Linked by a handler's page.</p>"),
}


def test_handlers_read_what_they_are_for_and_fail_for_their_page_only(serve, run_crawl, tmp_path):
    site = serve(PAGES)
    settings = {"LLMS_CONTENT_HANDLERS": json.dumps(HANDLERS)}
    soon = {"llmsspider.crawler.run.CONVERT_TIMEOUT_SECS": 12}
    outcome = run_crawl(f"{site.url}/", settings=settings, env=PATHS, constants=soon)
    documents = outcome.by_path(site.url)
    assert set(documents) == {
        "/",
        "/api.json",
        "/book.pdf",
        "/last.html",
        "/more.html",
        "/beyond.html",
    }
    table, whole = documents["/api.json"], documents["/book.pdf"]
    assert table["content"] == (
        f"# Table\n\n8 bytes of application/json in utf-16, see [more]({site.url}/more.html).\n"
    )
    assert (table["title"], table["origin"], table["links"]) == (
        "Table",
        "text",
        [{"text": "more", "url": f"{site.url}/more.html"}],
    )
    assert (whole["title"], whole["content"]) == ("The whole book", "# Whole\n\ntext\n")
    assert outcome.stats["llms/errors/parse"] == 4
    nodes = command(
        "export",
        site.url[7:],
        "--format",
        "graph",
        "-s",
        f"LLMS_DATA_DIR={tmp_path / 'store'}",
        cwd=tmp_path,
    )
    said = {
        node["url"].rpartition("/")[2]: node["error"]["message"]
        for node in json.loads(nodes.stdout)["nodes"]
        if node["error"] and node["error"]["kind"] == "parse"
    }
    assert said == {
        "bad.yaml": "handler own_classes.Raising: Unpicklable: cannot read this",
        "slow.toml": "conversion took longer than 12 s",
        "dead.xml": "the conversion worker died (exit code 7)",
        "wrong.csv": "handler own_classes.Wrong: TypeError: it returned bytes, not Markdown or a Page",
    }
    # other handlers: what was made with these is made again
    site.clear()
    settings["LLMS_CONTENT_HANDLERS"] = json.dumps({"application/json": None})
    again = run_crawl(f"{site.url}/", settings=settings, arguments={"max_depth": 1}, env=PATHS)
    assert again.stats["llms/filtered/unsupported-type"] == 6  # no handler, no page
    assert "llms/same-body" not in again.stats


WRONG = {
    "a handler that is not there": (
        'LLMS_CONTENT_HANDLERS={"application/json": "own_classes.Missing"}',
        "scrapy crawl docs: setting LLMS_CONTENT_HANDLERS['application/json']='own_classes.Missing': the path",
    ),
    "a handler nobody can import": (
        'LLMS_CONTENT_HANDLERS={"application/json": "nowhere.Table"}',
        "(ModuleNotFoundError: No module named 'nowhere')",
    ),
    "a class that is no handler": (
        'LLMS_CONTENT_HANDLERS={"application/json": "own_classes.Noting"}',
        "(TypeError: it is no class with a method `read`)",
    ),
    "a handler that needs arguments": (
        'LLMS_CONTENT_HANDLERS={"application/json": "own_classes.NeedsArguments"}',
        "(TypeError: missing a required argument: 'key')",
    ),
    "no media type": (
        'LLMS_CONTENT_HANDLERS={"json": "own_classes.Table"}',
        "(ValueError: a media type such as application/json is needed)",
    ),
    "no dict": (
        "LLMS_CONTENT_HANDLERS=own_classes.Table",
        "a dict of class paths by media type is accepted",
    ),
    "a store that is not there": (
        "LLMS_STORE_CLASS=nowhere.Store",
        "docs/explanation/store.md (ModuleNotFoundError: No module named 'nowhere')",
    ),
    "a class that is no store": (
        "LLMS_STORE_CLASS=own_classes.Table",
        "(TypeError: it lacks add_alias, ",
    ),
}


@pytest.mark.parametrize(("setting", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_class_is_one_line_and_exit_code_2(tmp_path, setting, said):
    outcome = command(
        "crawl", "docs", "-a", "url=https://e.com/", "-s", setting, cwd=tmp_path, env=PATHS
    )
    assert outcome.exit_code == 2
    assert said in outcome.log and outcome.log.count("\n") == 1


def test_a_store_class_is_used_by_crawls_and_commands(serve, run_crawl, tmp_path):
    site = serve({"/": html("Home", "<p>Welcome to this.</p>")})
    environment = {**PATHS, "NOTED_CHANGES": str(tmp_path / "noted")}
    settings = {"LLMS_STORE_CLASS": "own_classes.Noting"}
    run_crawl(f"{site.url}/", settings=settings, env=environment)
    site.pages["/"] = html("Home", "<p>Welcome again.</p>")
    run_crawl(f"{site.url}/", settings=settings, env=environment)
    assert Path(tmp_path, "noted").read_text() == f"new {site.url}/\nchanged {site.url}/\n"
    for words in (
        ["sources"],
        ["status"],
        ["export", site.url[7:]],
        ["delete", "--yes", site.url[7:]],
    ):
        options = (
            "-s",
            f"LLMS_DATA_DIR={tmp_path / 'store'}",
            "-s",
            "LLMS_STORE_CLASS=nowhere.Store",
        )
        outcome = command(*words, *options, cwd=tmp_path)
        assert (outcome.exit_code, "setting LLMS_STORE_CLASS='nowhere.Store'" in outcome.log) == (
            2,
            True,
        ), words


def test_resolve_with_handlers_and_a_store_class(serve, tmp_path, monkeypatch):
    from own_classes import Noting, Table

    monkeypatch.setenv("NOTED_CHANGES", str(tmp_path / "noted"))
    site = serve({path: PAGES[path] for path in ("/", "/api.json", "/more.html")})
    local = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": 0}
    found = llmsspider.resolve(
        f"{site.url}/",
        store=Noting,
        handlers={"application/json": Table},
        settings={**local, "LLMS_DATA_DIR": tmp_path / "data"},
    )
    assert "8 bytes of application/json" in found.content
    noted = Path(tmp_path, "noted").read_text().splitlines()
    assert set(noted) == {f"new {site.url}{path}" for path in ("/", "/api.json", "/more.html")}
    assert list((tmp_path / "data").glob("*.sqlite"))

    class Local:
        pass

    with pytest.raises(ArgumentsError, match="put it into a module of its own"):
        llmsspider.resolve(f"{site.url}/", handlers={"application/json": Local})


def test_a_converter_that_fails_is_replaced_and_the_run_says_so(serve, run_crawl, tmp_path):
    link = "<p>one <a href='/a.html'>a</a></p>"
    site = serve({"/": html("Home", link), "/a.html": html("A", "<p>two</p>")})
    settings = {"LLMS_CONVERTER": "own_classes.Failing", "LLMS_REPORT": "out"}
    outcome = run_crawl(f"{site.url}/", settings=settings, env=PATHS)
    assert len(outcome.documents) == 2
    assert outcome.stats["llms/converter/fallback"] == 2
    assert (
        "was converted by markdownify: own_classes.Failing failed on it (RecursionError: )"
        in outcome.log
    )
    assert "converted by markdownify, since own_classes.Failing failed: 2" in outcome.log
    said = json.loads((tmp_path / "out" / "run.json").read_text())["conversion"]
    assert (said["fallbacks"], said["urls"][0]["why"]) == (2, "RecursionError: ")
    said = (tmp_path / "out" / "report.html").read_text()
    assert "2 converted by markdownify, since own_classes.Failing failed" in said
