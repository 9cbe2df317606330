"""`scrapy sync` on this machine: every source crawled, the next night a recrawl, mistakes before anything starts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from pathlib import Path
from time import monotonic
from typing import Any

import own_classes
import pytest
from crawling import Outcome, begin, command
from sites import MARKDOWN, PLAIN, html

from llmsspider.store import SourceRecord, Stores
from llmsspider.sync.lock import one_at_a_time


def words(folder: Path, *options: str) -> list[str]:
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": str(folder / "store"),
        "LLMS_CONVERT_WORKERS": 0,
    }
    return [
        "sync",
        *options,
        *(part for name, value in settings.items() for part in ("-s", f"{name}={value}")),
    ]


CHILDREN: dict[str, Any] = {}
"""The constants of a `sync` whose crawls find their imports made; see `quick`."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, quick_children: dict[str, Any]) -> None:
    monkeypatch.setitem(globals(), "CHILDREN", quick_children)


def sync(folder: Path, *options: str, **constants: Any) -> Outcome:
    given = CHILDREN | {f"llmsspider.sync.local.{name}": value for name, value in constants.items()}
    return command(*words(folder, *options), cwd=folder, constants=given)


def process_of(folder: Path, source: str) -> int:
    """The process of the newest run."""
    with Stores(None, folder / "store").open(source) as store:
        return store.runs()[-1].pid


def log_of(folder: Path, source: str) -> str:
    (path,) = (folder / "store" / "logs").glob(f"{source}-*.log")
    return path.read_text()


@pytest.mark.usefixtures("quick")
def test_every_source_is_crawled_and_the_next_sync_is_a_recrawl(serve, tmp_path: Path):
    plain, markdown, empty = serve(PLAIN), serve(MARKDOWN), serve({})
    file = tmp_path / "sources.toml"
    file.write_text(
        f'[defaults]\nmax_pages = 50\n[[sources]]\nurl = "{plain.url}/"\nsource = "plain"\nblock = ["/guide/d*"]\n'
        f'[[sources]]\nurl = "{markdown.url}/"\nsource = "markdown"\n'
        f'[[sources]]\nurl = "{empty.url}/"\nsource = "nobody"\n'
    )
    first = sync(tmp_path, "sources.toml", "--jobs", "2", "--json")
    assert first.exit_code == 1, first.log
    report = json.loads(first.stdout)
    assert (report["ok"], report["failed"], report["skipped"]) == (2, 1, 0), first.log
    found = {row["source"]: row for row in report["sources"]}
    assert found["plain"]["changes"] == {"new": 3}, "block= holds"
    said = f"start_failed: nothing was obtained from {empty.url}/: "
    assert found["nobody"]["reason"].startswith(said)
    assert f"failed: nobody ({said}" in first.log
    assert "3/3 " in first.log
    assert sorted(
        path.name.partition("-")[0] for path in (tmp_path / "store" / "logs").iterdir()
    ) == [
        "markdown",
        "nobody",
        "plain",
    ]

    file.write_text(file.read_text().partition(f'[[sources]]\nurl = "{empty.url}/"')[0])
    with file.open("a") as more:
        more.write('[[sources]]\nsource = "going"\n')
    with Stores(None, tmp_path / "store").open("going") as store:
        store.upsert_source(SourceRecord("going", "http://127.0.0.1:9/"))
        store.begin_run("crawl", {}, pid=os.getpid())
    plain.pages["/guide/more.html"] = plain.pages["/guide/more.html"].replace(
        "More to read", "Another text"
    )
    second = sync(tmp_path, "sources.toml")
    assert second.exit_code == 0, second.log
    rows = {line.split()[0]: line.split() for line in second.stdout.splitlines()}
    assert rows["plain"][1:7] == ["ok", "3", "0", "1", "0", "0"], second.stdout
    assert rows["markdown"][1:6] == ["ok", "3", "0", "0", "0"]
    assert rows["going"][1] == "skipped"
    assert second.stdout.splitlines()[-1].startswith("3 sources: 2 ok, 0 failed, 1 skipped;"), (
        second.stdout
    )


def test_mistakes_are_said_before_anything_starts(serve, tmp_path: Path):
    site = serve(PLAIN)
    (tmp_path / "sources.toml").write_text(
        f'[[sources]]\nurl = "{site.url}/"\nmaxpages = 3\n[[sources]]\nurl = "x"\n'
    )
    (tmp_path / "good.toml").write_text(f'[[sources]]\nurl = "{site.url}/"\n')
    (tmp_path / "unknown.toml").write_text('[[sources]]\nsource = "never"\n')
    wrong = sync(tmp_path, "sources.toml")
    assert wrong.exit_code == 2
    assert [
        line.partition("argument ")[2].partition("=")[0] for line in wrong.log.splitlines()
    ] == [
        "maxpages",
        "url",
    ]
    unknown = sync(tmp_path, "unknown.toml")
    assert (unknown.exit_code, unknown.log) == (
        2,
        "scrapy sync: source 'never' was never crawled: give its url\n",
    )
    given = ["http://user:secret@127.0.0.1:9", "node", "http://user:se/cret@127.0.0.1:9"]
    nodes = sync(tmp_path, "--scrapyd", *given, "good.toml")
    assert nodes.exit_code == 2
    assert nodes.log.splitlines() == [
        "scrapy sync: --scrapyd node: the address of a node, http://host:6800",
        "scrapy sync: --scrapyd http://***@127.0.0.1:9: the address of a node, http://host:6800",
        "scrapy sync: --scrapyd needs LLMS_STORE_URL: nodes and this command meet in one PostgreSQL",
    ]
    with one_at_a_time(tmp_path / "store"):
        beside = sync(tmp_path, "good.toml")
    assert beside.exit_code == 1
    assert "another sync is going" in beside.log
    assert site.paths() == []


@pytest.mark.usefixtures("quick")
def test_two_sources_on_one_host_share_its_crawl_delay(serve, tmp_path: Path):
    """What arrives is counted over the whole time: a machine under load only makes it longer."""
    names = [f"/{part}/p{number}.html" for part in "ab" for number in range(8)]
    times = []

    def page(seen) -> str:
        times.append(monotonic())
        return html(seen.path, f"<p>The page {seen.path} of this site.</p>")

    pages = dict.fromkeys(names, page)
    for part in "ab":
        links = "".join(f"<a href='/{part}/p{number}.html'>x</a>" for number in range(8))
        pages[f"/{part}/"] = html(f"Part {part}", f"<p>The beginning.</p>{links}")
    site = serve({**pages, "/robots.txt": "User-agent: *\nCrawl-delay: 0.4\n"})
    file = tmp_path / "sources.toml"
    file.write_text(
        "".join(f'[[sources]]\nurl = "{site.url}/{part}/"\nsource = "{part}"\n' for part in "ab")
    )
    done = sync(tmp_path, "sources.toml", "--jobs", "2")
    assert done.exit_code == 0, done.log
    assert len(times) >= len(names)
    assert max(times) - min(times) > 0.75 * 0.4 * (len(times) - 1)


@pytest.mark.usefixtures("quick")
def test_a_process_crawls_source_after_source_and_none_knows_of_the_one_before(
    serve, tmp_path: Path
):
    sites = [serve(PLAIN), serve(MARKDOWN), serve(PLAIN)]
    (tmp_path / "own.toml").write_text(
        '[stages]\nfilter = "llmsspider.pipelines.filter.FilterPipeline"\n'
        'hash = "llmsspider.pipelines.hash.HashPipeline"\nexport = "llmsspider.pipelines.export.ExportPipeline"\n'
        "[settings]\nLOG_LEVEL = 'DEBUG'\nFEEDS = {'%(name)s.jsonl' = {format = 'jsonlines'}}\n"
        'USER_AGENT = "other"\n'
    )
    lines = [f'[[sources]]\nurl = "{site.url}/"\nsource = "s{n}"\n' for n, site in enumerate(sites)]
    lines[0] += 'profile = "own.toml"\nmax_pages = 2\n'
    (tmp_path / "sources.toml").write_text("".join(lines))
    done = sync(tmp_path, "sources.toml", "--jobs", "1", "--json")
    assert done.exit_code == 0, done.log
    assert [row["documents"] for row in json.loads(done.stdout)["sources"]] == [2, 3, 4], done.log
    assert len({process_of(tmp_path, f"s{n}") for n in range(3)}) == 1
    logs = [log_of(tmp_path, f"s{n}") for n in range(3)]
    assert ["DEBUG" in log for log in logs] == [True, False, False]
    for n, log in enumerate(logs):
        assert log.count("Spider closed (finished)") == 1, log
        assert log.count("Scrapy 2.") == 1
        assert [f"source s{other}," in log for other in range(3)] == [
            other == n for other in range(3)
        ]
    assert {seen.headers["user-agent"] for seen in sites[0].requests} == {"other"}
    assert "other" not in {
        seen.headers["user-agent"] for site in sites[1:] for seen in site.requests
    }
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["docs.jsonl"]
    again = sync(tmp_path, "sources.toml", "--jobs", "1", SOURCES=1)
    assert again.exit_code == 0, again.log
    assert len({process_of(tmp_path, f"s{n}") for n in range(3)}) == 3


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
def test_a_process_that_ends_or_hangs_costs_the_source_it_was_at_a_second_attempt(
    serve, tmp_path: Path, how: signal.Signals
):
    hit: list[int] = []

    def page(_seen) -> str:
        if not hit:
            hit.append(process_of(tmp_path, "s1"))
            os.kill(hit[0], how)
        return html("Intro", "<p>How to begin.</p>")

    sites = [serve(PLAIN), serve({**PLAIN, "/guide/intro.html": page}), serve(PLAIN)]
    (tmp_path / "sources.toml").write_text(
        "".join(
            f'[[sources]]\nurl = "{site.url}/"\nsource = "s{n}"\n' for n, site in enumerate(sites)
        )
    )
    done = sync(tmp_path, "sources.toml", "--jobs", "1", "--json", HANGS_SECS=15.0)
    assert done.exit_code == 0, done.log
    assert [row["documents"] for row in json.loads(done.stdout)["sources"]] == [4, 4, 4]
    assert "s1: its crawl was lost (exit code -9" in done.log
    assert ("no sign of life for 15 s" in done.log) is (how == signal.SIGSTOP)
    assert hit == [process_of(tmp_path, "s0")]
    assert process_of(tmp_path, "s1") not in hit
    with pytest.raises(ProcessLookupError):
        os.kill(hit[0], 0)


def test_a_sync_that_is_stopped_ends_its_crawls_cleanly(serve, tmp_path: Path):
    asked, go = threading.Event(), threading.Event()

    def page(_seen) -> str:
        asked.set()
        go.wait()
        return html("Intro", "<p>How to begin.</p>")

    site = serve({**PLAIN, "/guide/intro.html": page})
    (tmp_path / "sources.toml").write_text(f'[[sources]]\nurl = "{site.url}/"\nsource = "s"\n')
    output = {name: tmp_path / name for name in ("stdout", "stderr")}
    process = begin(*words(tmp_path, "sources.toml"), cwd=tmp_path, **output)
    assert process.wait_until(asked.is_set)
    crawl = process_of(tmp_path, "s")
    process.send_signal(signal.SIGTERM)
    process.wait_until(lambda: "Received SIGTERM" in log_of(tmp_path, "s"))
    go.set()
    assert process.wait() == 1
    assert process.log.splitlines()[-1].startswith("scrapy sync: stopped: ")
    with pytest.raises(ProcessLookupError):
        os.kill(crawl, 0)
    log = log_of(tmp_path, "s")
    assert "incomplete (shutdown)" in log
    assert "never retrieved" not in log and "pending" not in log


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("engine", ["qdrant.QdrantPipeline", "lancedb.LanceDBPipeline"])
def test_crawls_side_by_side_deliver_to_one_folder_of_vectors(serve, tmp_path: Path, engine):
    shutil.copy(own_classes.__file__, tmp_path)
    sites = [serve(PLAIN) for _ in range(4)]
    listed = "".join(
        f'[[sources]]\nurl = "{site.url}/"\nsource = "s{number}"\n'
        for number, site in enumerate(sites)
    )
    (tmp_path / "sources.toml").write_text(listed)
    pipelines = json.dumps({f"llmsspider.integrations.{engine}": 950})
    vectors = {
        "ITEM_PIPELINES": pipelines,
        "LLMS_EMBEDDER": "own_classes.HashedWords",
        "LLMS_VECTOR_STORE": str(tmp_path / "vectors"),
    }
    given = [part for pair in vectors.items() for part in ("-s", "=".join(pair))]
    done = sync(tmp_path, "sources.toml", "--jobs", "2", "--json", *given)
    assert json.loads(done.stdout)["ok"] == len(sites), done.log
    logs = [log_of(tmp_path, f"s{number}") for number in range(len(sites))]
    assert [log.count("chunks written, 0 removed") for log in logs] == [1] * len(sites)


@pytest.mark.usefixtures("quick")
def test_a_source_whose_vectors_were_not_delivered_has_failed(serve, tmp_path: Path):
    shutil.copy(own_classes.__file__, tmp_path)
    (tmp_path / "sources.toml").write_text(f'[[sources]]\nurl = "{serve(PLAIN).url}/"\n')
    given = [
        "-s",
        'ITEM_PIPELINES={"llmsspider.integrations.qdrant.QdrantPipeline": 950}',
        "-s",
        "LLMS_EMBEDDER=own_classes.HashedWords",
        "-s",
        "LLMS_VECTOR_STORE=http://127.0.0.1:9",
    ]
    done = sync(tmp_path, "sources.toml", "--json", *given)
    assert done.exit_code == 1
    (row,) = json.loads(done.stdout)["sources"]
    assert row["state"] == "failed"
    assert row["reason"].startswith("its documents were not delivered: vector store: ")
    assert "its documents were not delivered: vector store: " in done.log
