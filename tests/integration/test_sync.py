"""`scrapy sync` on this machine: every source crawled, the next night a recrawl, mistakes before anything starts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import monotonic

from crawling import Outcome, command
from sites import MARKDOWN, PLAIN, html

from llmsspider.launch.nightly import one_at_a_time
from llmsspider.store import SourceRecord, Stores


def sync(folder: Path, *options: str) -> Outcome:
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": str(folder / "store"),
        "LLMS_CONVERT_WORKERS": 0,
    }
    given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    return command("sync", *options, *given, cwd=folder)


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
    assert found["nobody"]["reason"] == "start_failed"
    assert "3/3 " in first.log
    assert sorted(path.name.partition("-")[0] for path in (tmp_path / "store" / "logs").iterdir()) == [
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
    plain.pages["/guide/more.html"] = plain.pages["/guide/more.html"].replace("More to read", "Another text")
    second = sync(tmp_path, "sources.toml")
    assert second.exit_code == 0, second.log
    rows = {line.split()[0]: line.split() for line in second.stdout.splitlines()}
    assert rows["plain"][1:7] == ["ok", "3", "0", "1", "0", "0"], second.stdout
    assert rows["markdown"][1:6] == ["ok", "3", "0", "0", "0"]
    assert rows["going"][1] == "skipped"
    assert second.stdout.splitlines()[-1].startswith("3 sources: 2 ok, 0 failed, 1 skipped;"), second.stdout


def test_mistakes_are_said_before_anything_starts(serve, tmp_path: Path):
    site = serve(PLAIN)
    (tmp_path / "sources.toml").write_text(
        f'[[sources]]\nurl = "{site.url}/"\nmaxpages = 3\n[[sources]]\nurl = "x"\n'
    )
    (tmp_path / "good.toml").write_text(f'[[sources]]\nurl = "{site.url}/"\n')
    (tmp_path / "unknown.toml").write_text('[[sources]]\nsource = "never"\n')
    wrong = sync(tmp_path, "sources.toml")
    assert wrong.exit_code == 2
    assert [line.partition("argument ")[2].partition("=")[0] for line in wrong.log.splitlines()] == [
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
    file.write_text("".join(f'[[sources]]\nurl = "{site.url}/{part}/"\nsource = "{part}"\n' for part in "ab"))
    done = sync(tmp_path, "sources.toml", "--jobs", "2")
    assert done.exit_code == 0, done.log
    assert len(times) >= len(names)
    assert max(times) - min(times) > 0.75 * 0.4 * (len(times) - 1)
