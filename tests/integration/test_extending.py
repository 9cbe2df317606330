"""The examples of docs/how-to/extending.md, run as they stand there; documents that pipelines change."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from pathlib import Path

import pytest
from crawling import ROOT, command
from site_server import Reply
from sites import html

from llmsspider.items import decompress

EXAMPLES = dict(
    re.findall(
        r'```python\n"""([\w/]+\.py)"""\n(.*?)```',
        (ROOT / "docs" / "how-to" / "extending.md").read_text(),
        re.DOTALL,
    )
)
SECRET = "alice.secret@example.com"


@pytest.fixture
def environment(tmp_path):
    """The package `mydocs` with the modules of the page, and where Python finds it."""
    folder = tmp_path / "lib"
    for path, code in EXAMPLES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).with_name("__init__.py").touch()
        (folder / path).write_text(code, encoding="utf-8")
    return {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support"), str(folder)])
    }


LLMS_TXT = f"""# Docs of {SECRET}

> Ask {SECRET}.

Notes: write to {SECRET}, or [mail us](mailto:{SECRET}).

## Guide

- [Intro by {SECRET}](guide/intro.html): how {SECRET} begins
- [Mail](mailto:{SECRET}): to {SECRET}
"""
MAIL = f'<p>Questions go to <a href="mailto:{SECRET}">{SECRET}</a>, who answers within a day or two.</p>'
PAGES = {
    "/": html(
        "Home",
        "<p>Welcome to the documentation of this thing.</p><a href='/guide/gone.html'>x</a>" + MAIL,
    ),
    "/llms.txt": LLMS_TXT,
    "/robots.txt": Reply(
        f"# {SECRET}\nUser-agent: *\nDisallow: /private\n", content_type="text/plain"
    ),
    "/guide/intro.html": html(
        f"Intro by {SECRET}",
        "<p>How to begin with it.</p>" + MAIL,
        f'<meta name="description" content="By {SECRET}">',
    ),
    "/guide/more.html": html(
        "More", f"<p>More to read of {SECRET}, <a href='/guide/tiny.html'>tiny</a>.</p>"
    ),
    "/guide/tiny.html": html("Tiny", "<p>Little.</p>"),
    "/guide/gone.html": html("Gone", "<p>This page goes away before the second crawl.</p>" + MAIL),
}
PIPELINES = {
    "mydocs.pipelines.RedactEmails": 300,
    "mydocs.pipelines.AddProduct": 310,
    "mydocs.pipelines.DropShortPages": 320,
}


def told(folder: Path) -> str:
    """Everything that the files of a folder hold, tables and compressed columns of databases included."""
    found = []
    for path in folder.rglob("*"):
        if not path.is_file() or "lib" in path.relative_to(folder).parts:
            continue
        found.append(f"{path.name}: {path.read_bytes().decode('latin-1')}")
        if path.suffix == ".sqlite":
            with sqlite3.connect(path) as database:
                tables = database.execute(
                    "select name from sqlite_master where sql like 'CREATE TABLE%'"
                ).fetchall()
                for (table,) in tables:
                    for row in database.execute(f'select * from "{table}"'):
                        found += [f"{table}: {plain(value)}" for value in row]
    return "\n".join(found)


def plain(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return decompress(value).decode("latin-1")
    except Exception:  # not compressed
        return value.decode("latin-1")


def leaks(folder: Path) -> list[str]:
    return [line for line in told(folder).splitlines() if "alice" in line or "secret" in line]


def test_no_address_is_left_anywhere_over_two_crawls(serve, run_crawl, tmp_path, environment):
    site = serve(PAGES)
    site.etags = True
    source = site.url.removeprefix("http://")
    settings = {
        "ITEM_PIPELINES": json.dumps(PIPELINES),
        "LLMS_MIRROR_DIR": tmp_path / "mirror",
        "LLMS_SKILL_DIR": tmp_path / "skill",
        "LLMS_CHANGES_FEED": tmp_path / "changes.atom",
        "LLMS_REPORT": tmp_path / "report.html",
    }
    crawled = {
        "settings": settings,
        "options": (
            "-O",
            str(tmp_path / "chunks.jsonl:chunks"),
            "-s",
            f"LOG_FILE={tmp_path / 'log.txt'}",
        ),
        "env": environment,
    }
    first = run_crawl(f"{site.url}/", **crawled)
    search = ("search", source, "questions", "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    # from now on the index is kept in step
    assert "[e-mail]" in command(*search, cwd=tmp_path).stdout
    documents = first.by_path(site.url)
    assert set(documents) == {"/", "/guide/intro.html", "/guide/more.html", "/guide/gone.html"}
    intro = documents["/guide/intro.html"]
    assert (intro["title"], intro["description"]) == ("Intro by [e-mail]", "By [e-mail]")
    assert (intro["product"], intro["llms"]["title"]) == ("guide", "Intro by [e-mail]")
    assert intro["content_hash"] == hashlib.sha256(intro["content"].encode()).hexdigest()
    assert "Questions go to" in intro["content"]
    assert list(intro)[-1] == "product"
    assert leaks(tmp_path) == []
    del site.pages["/guide/gone.html"]
    run_crawl(f"{site.url}/", **crawled)  # it is linked: the second night decides

    # one page says something else, one only names another address, one is gone, one is short now
    site.pages["/guide/intro.html"] = html(
        "Intro", "<p>How to begin again, and what to do then.</p>" + MAIL
    )
    site.pages["/"] = PAGES["/"].replace(SECRET, "bob.secret@example.org")
    site.pages["/guide/more.html"] = html("More", f"<p>Short of {SECRET}.</p>")
    second = run_crawl(f"{site.url}/", **crawled)
    changes = {path: document["change"] for path, document in second.by_path(site.url).items()}
    assert changes == {
        "/": "unchanged",
        "/guide/intro.html": "changed",
        "/guide/more.html": "deleted",
        "/guide/gone.html": "deleted",
    }
    for number, words in enumerate(
        (
            ("--format", "jsonl"),
            ("--format", "jsonl", "--since", "0"),
            ("--format", "csv"),
            ("--format", "chunks"),
            ("--format", "flat"),
            ("--format", "graph"),
        )
    ):
        output = tmp_path / f"export{number}"
        done = command(
            "export",
            source,
            *words,
            "-o",
            str(output),
            "-s",
            f"LLMS_DATA_DIR={tmp_path / 'store'}",
            cwd=tmp_path,
        )
        assert done.exit_code == 0, done.log
    exported = [json.loads(line) for line in (tmp_path / "export0").read_text().splitlines()]
    assert {row["product"] for row in exported} == {None, "guide"}
    assert '"{""product"":""guide""}"' in (tmp_path / "export2").read_text()
    assert (tmp_path / "export4").read_text().startswith("# Docs of [e-mail]\n\n> Ask [e-mail].")
    tree = {path.name for path in (tmp_path / "mirror").rglob("*.md")}
    assert "intro.md" in tree and not {"gone.md", "more.md", "tiny.md"} & tree
    found = command(*search, cwd=tmp_path)
    assert "[e-mail]" in found.stdout and "secret" not in found.stdout
    assert leaks(tmp_path) == []


def test_pipelines_that_come_later_or_change_make_every_page_again(
    serve, run_crawl, tmp_path, environment
):
    site = serve(PAGES)
    site.etags = True
    before = run_crawl(f"{site.url}/", env=environment)
    place = f"LLMS_DATA_DIR={tmp_path / 'store'}"
    assert (
        command(
            "search", site.url.removeprefix("http://"), "questions", "-s", place, cwd=tmp_path
        ).exit_code
        == 0
    )
    assert any(SECRET in document["content"] for document in before.documents)
    assert any(line.startswith("version: ") or SECRET in line for line in leaks(tmp_path))
    settings = {"ITEM_PIPELINES": '{"mydocs.pipelines.RedactEmails": 300}'}
    redacted = run_crawl(
        f"{site.url}/", settings=settings, arguments={"emit": "changes"}, env=environment
    )
    assert set(redacted.by_path(site.url)) == {
        "/",
        "/guide/intro.html",
        "/guide/more.html",
        "/guide/gone.html",
    }
    assert {document["change"] for document in redacted.documents} == {"changed"}
    assert leaks(tmp_path) == []
    again = run_crawl(
        f"{site.url}/", settings=settings, arguments={"emit": "changes"}, env=environment
    )
    assert again.documents == []
    module = tmp_path / "lib" / "mydocs" / "pipelines.py"
    module.write_text(module.read_text().replace("[e-mail]", "[address]"), encoding="utf-8")
    other = run_crawl(
        f"{site.url}/", settings=settings, arguments={"emit": "changes"}, env=environment
    )
    assert set(other.by_path(site.url)) == set(redacted.by_path(site.url))
    assert "[address]" in other.by_path(site.url)["/"]["content"]


def test_a_page_whose_source_is_as_it_was_is_unchanged_whatever_pipelines_make_of_it(
    serve, run_crawl, environment
):
    footers = iter(range(100))
    pages = {
        "/": html("Home", "<p>Welcome to the documentation of this thing.</p>"),
        "/guide/intro.html": lambda _: html("Intro", "<p>How to begin.</p>").replace(
            "footer<", f"{next(footers)} visitors<"
        ),
        "/guide/more.html": html("More", "<p>More to read.</p>"),
    }
    site = serve(pages)
    settings = {"ITEM_PIPELINES": '{"own_pipelines.Stamp": 200, "own_pipelines.Field": 210}'}
    first = run_crawl(f"{site.url}/", settings=settings, env=environment).by_path(site.url)
    assert first["/"]["content"].count("Stamp") == 1
    assert first["/"]["words"] == len(first["/"]["content"].split())
    site.pages["/guide/more.html"] = html("More", "<p>More to read, and more.</p>")
    second = run_crawl(f"{site.url}/", settings=settings, env=environment)
    found = second.by_path(site.url)
    assert {path: document["change"] for path, document in found.items()} == {
        "/": "unchanged",
        "/guide/intro.html": "unchanged",
        "/guide/more.html": "changed",
    }
    for path in ("/", "/guide/intro.html"):
        kept = ("content", "content_hash", "seen", "words", "title")
        assert [found[path][name] for name in kept] == [first[path][name] for name in kept]
    assert second.stats["llms/converted"] == 2
    without = run_crawl(f"{site.url}/", env=environment).by_path(site.url)
    assert {document["change"] for document in without.values()} == {"changed"}
    assert "Stamp" not in without["/"]["content"] and "seen" not in without["/"]


NAMES = ("raise", "swap", "empty", "links", "moved", "late", "after", "gone", "fine")


def test_what_goes_wrong_in_a_pipeline_costs_its_page_only(serve, run_crawl, environment, tmp_path):
    links = "".join(f"<a href='/{name}.html'>{name}</a> " for name in NAMES)
    pages = {
        f"/{name}.html": html(name.title(), f"<p>This is the page {name}.</p>") for name in NAMES
    }
    site = serve({"/": html("Home", f"<p>Welcome: {links}</p>"), **pages})
    place = f"LLMS_DATA_DIR={tmp_path / 'store'}"
    plain = run_crawl(f"{site.url}/", env=environment)
    assert len(plain.documents) == len(NAMES) + 1
    del site.pages["/gone.html"]
    run_crawl(f"{site.url}/", env=environment)  # it is linked: the second night decides
    settings = {"ITEM_PIPELINES": '{"own_pipelines.Unruly": 300, "own_pipelines.Late": 950}'}
    most = {"llmsspider.crawler.run.MAX_FAILED_SHARE": 1}
    outcome = run_crawl(f"{site.url}/", settings=settings, env=environment, constants=most)
    documents = outcome.by_path(site.url)
    assert {path for path, document in documents.items() if document["change"] != "deleted"} == {
        "/",
        "/fine.html",
        "/late.html",
        "/links.html",  # as it is stored
        "/moved.html",
    }
    assert outcome.stats["llms/errors/parse"] == 3
    assert (
        f"{site.url}/raise.html (a pipeline failed: KeyError: 'a word that is not there')"
        in outcome.log
    )
    assert "a pipeline before order 800 returned dict in place of the item" in outcome.log
    assert "made links of something else" in outcome.log
    assert outcome.stats["llms/filtered/pipeline"] == 1
    assert "its pipelines left no text" in outcome.log
    late = documents["/late.html"]
    assert late["content_hash"] == hashlib.sha256(b"# Late\n").hexdigest()
    assert outcome.stats["llms/altered-after-store"] == 1
    assert sum("an order below 800 comes before the store" in line for line in outcome.lines) == 2
    # of gone.html and empty.html
    assert sum("dropped its tombstone" in line for line in outcome.lines) == 2
    exported = command("export", site.url[7:], "-s", place, cwd=tmp_path).stdout.splitlines()
    stored = {
        document["url"].removeprefix(site.url): document for document in map(json.loads, exported)
    }
    assert set(stored) == {
        "/",
        *(f"/{name}.html" for name in NAMES if name not in {"gone", "empty"}),
    }
    assert "This is the page late" in stored["/late.html"]["content"]


WIKI = (
    "<!doctype html><html lang='en'><head><title>{0}</title></head><body><div class='menu'>{1}</div>"
    "<div class=\"wiki-page\"><div class='box'>Five stars of five, says everybody who was asked for it.</div>"
    "<div class='wiki-text'><h1>{0}</h1><p>The text of {0} itself.</p><p class='wiki-votes'>17 votes</p></div></div>"
    "</body></html>"
)


def test_the_examples_of_handler_rule_store_and_database(serve, run_crawl, tmp_path, environment):
    menu = '<a href="/">Start</a> <a href="/wiki/more">More</a> <a href="/data.csv">Data</a>'
    site = serve(
        {
            "/": WIKI.format("Start", menu),
            "/wiki/more": WIKI.format("More", menu),
            "/wiki/more?raw": Reply("# More, raw\n", content_type="text/plain"),
            "/data.csv": Reply("name,size\nsmall,1\n", content_type="text/csv; charset=utf-8"),
        }
    )
    settings = {
        "LLMS_CONTENT_HANDLERS": '{"text/csv": "mydocs.handlers.Table"}',
        "LLMS_GENERATORS": "mydocs.rules.OUR_WIKI",
        "LLMS_STORE_CLASS": "mydocs.store.Journal",
        "ITEM_PIPELINES": '{"mydocs.database.WriteToDatabase": 950}',
    }
    ours = {**settings, "LLMS_GENERATORS": ""}
    without = run_crawl(f"{site.url}/", settings=ours, env=environment).by_path(site.url)
    assert "17 votes" in without["/"]["content"]
    documents = run_crawl(f"{site.url}/", settings=settings, env=environment).by_path(site.url)
    assert {
        path: (document["content"], document["change"]) for path, document in documents.items()
    } == {
        "/": ("# Start\n\nThe text of Start itself.\n", "changed"),
        "/wiki/more": ("# More\n\nThe text of More itself.\n", "changed"),
        "/data.csv": ("# data.csv\n\n| name | size |\n| --- | --- |\n| small | 1 |\n", "unchanged"),
    }
    with sqlite3.connect(tmp_path / "documents.db") as database:
        rows = database.execute("select url, content from document").fetchall()
    assert {url.removeprefix(site.url): content for url, content in rows} == {
        path: document["content"] for path, document in documents.items()
    }
    journal = (tmp_path / "journal.txt").read_text().splitlines()
    assert sorted(line.partition(" ")[0] for line in journal) == [
        "changed",
        "changed",
        "new",
        "new",
        "new",
    ]
    provided = {"LLMS_PAGE_PROVIDERS": "mydocs.providers.Wiki"}
    page = run_crawl(f"{site.url}/wiki/more", settings=provided, spider="page", env=environment)
    assert [document["content"] for document in page.documents] == ["# More, raw\n"]
    wrong = run_crawl(
        f"{site.url}/", settings={"LLMS_GENERATORS": "mydocs.rules.re"}, env=environment
    )
    assert (wrong.exit_code, wrong.log.count("\n")) == (2, 1)
    assert (
        "setting LLMS_GENERATORS, 'mydocs.rules.re': the path of a Generator is accepted"
        in wrong.log
    )


def test_the_examples_of_a_list_of_pages_and_a_feed_format(serve, run_crawl, tmp_path, environment):
    names = ["guide/intro.html", "guide/more.html"]
    site = serve(
        {
            "/docs/pages.json": json.dumps({"pages": [*names, "../news.html"]}),
            "/news.html": html("News", "<p>Outside of the folder of the list.</p>"),
            **{f"/docs/{name}": PAGES[f"/{name}"] for name in names},
        }
    )
    settings = {
        "LLMS_CONTENT_HANDLERS": '{"application/json": "mydocs.lists.PageList"}',
        "FEED_EXPORTERS": '{"urls": "mydocs.exporters.UrlsExporter"}',
    }
    feed = tmp_path / "pages.txt"
    crawled = run_crawl(
        f"{site.url}/docs/pages.json",
        settings=settings,
        env=environment,
        options=("-O", f"{feed}:urls"),
    )
    assert set(crawled.by_path(site.url)) == {f"/docs/{name}" for name in names}
    assert sorted(feed.read_text().split()) == sorted(f"{site.url}/docs/{name}" for name in names)
    assert crawled.stats["llms/filtered/empty"] == 1


@pytest.fixture
def project(environment, tmp_path):
    """The environment of a project whose spiders are those of the page."""
    (tmp_path / "mine.py").write_text(
        "from llmsspider.settings import *\nSPIDER_MODULES = ['mydocs']\n"
    )
    return {
        **environment,
        "SCRAPY_SETTINGS_MODULE": "mine",
        "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], str(tmp_path)]),
    }


def test_the_spider_of_the_page_takes_an_argument_of_its_own(serve, tmp_path, project):
    site = serve(PAGES)
    words = (
        "-a",
        f"url={site.url}/",
        "-a",
        "product=shop",
        "-s",
        "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
    )
    done = command("crawl", "mydocs", *words, "-O", "out.jsonl", cwd=tmp_path, env=project)
    assert done.exit_code == 0, done.log
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {one["product"] for one in found if "id" in one} == {"shop"}
    assert {one["url"].removeprefix(site.url) for one in found if "server" in one} >= {
        "/",
        "/guide/intro.html",
    }


def test_the_spider_and_the_pipelines_of_the_page_work_together(serve, tmp_path, project):
    site = serve(PAGES)
    pipelines = json.dumps({**PIPELINES, "mydocs.database.WriteToDatabase": 950})
    words = ("-a", f"url={site.url}/", "-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1")
    words += ("-s", f"ITEM_PIPELINES={pipelines}", "-O", "out.jsonl")
    done = command("crawl", "mydocs", *words, cwd=tmp_path, env=project)
    assert done.exit_code == 0, done.log
    assert "ERROR" not in done.log
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    documents = {one["url"] for one in found if "id" in one}
    assert documents < {one["url"] for one in found if "server" in one}
    with sqlite3.connect(tmp_path / "documents.db") as database:
        assert {url for (url,) in database.execute("select url from document")} == documents
