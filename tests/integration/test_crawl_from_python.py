"""`for document in llmsspider.crawl(url)`: documents of a crawl in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from forked import HANGS_SECS, ROOT
from sites import PLAIN, html

import llmsspider
from llmsspider.errors import (
    ArgumentsError,
    CrawlError,
    InvalidUrlError,
    StoreError,
    UnknownSourceError,
)
from llmsspider.integrations.langchain import LLMSSpiderLoader

LOCAL = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": 0}
MARK = "LLMSSPIDER_TEST_MARK"


@pytest.fixture
def crawls(tmp_path, monkeypatch):
    """Return the ids of the processes whose environment is that of this test, apart from this one."""
    monkeypatch.setenv(MARK, str(tmp_path))
    marked = f"{MARK}={tmp_path}".encode()

    def ids() -> list[int]:
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                ours = marked in environ.read_bytes().split(b"\0")
            except OSError:
                continue
            found += [int(environ.parent.name)] * ours
        return [one for one in found if one != os.getpid()]

    return ids


def ended(crawls) -> bool:
    until = time.monotonic() + HANGS_SECS
    while left := crawls():
        if time.monotonic() > until:
            return False
        time.sleep(0.05 * len(left))
    return True


def large(number: int) -> dict[str, str]:
    """A site of many pages of 20 KB that link to each other."""
    links = "".join(f"<p><a href='/p{n}.html'>page {n}</a></p>" for n in range(number))
    text = "".join(f"<p>{'words of a paragraph ' * 20}</p>" for _ in range(50))
    pages = {f"/p{n}.html": html(f"Page {n}", text) for n in range(number)}
    return {**PLAIN, "/": html("Home", links), **pages}


@pytest.mark.usefixtures("quick_crawls")
def test_documents_then_changes_then_how_it_went(serve, tmp_path, monkeypatch):
    """Objects with the fields of a feed's row, those of a pipeline too; a second crawl gives changes and tombstones."""
    monkeypatch.chdir(tmp_path)
    site, store, seen = serve(PLAIN), tmp_path / "pages", []
    settings = {
        **LOCAL,
        "ITEM_PIPELINES": {"own_pipelines.Field": 300},
        "FEEDS": {"all.jsonl": {"format": "jsonl"}},
    }
    loop = llmsspider.crawl(site.url + "/", store=store, settings=settings, progress=seen.append)
    assert (loop.complete, loop.counts, loop.exit_code) == (False, {}, None)
    documents = {one.url.removeprefix(site.url): one for one in loop}
    assert set(documents) == set(PLAIN)
    intro = documents["/guide/intro.html"]
    assert isinstance(intro, llmsspider.Document)
    assert (intro.change, intro.title, intro.depth, intro.words) == ("new", "Intro", 1, 10)
    assert documents["/guide/more.html"].links[0].url == f"{site.url}/guide/deep.html"
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 4, (
        "what else is configured is done as well"
    )
    assert (loop.complete, loop.exit_code, loop.counts["documents"]) == (True, 0, 4)
    assert seen[-1] == loop.counts and seen[-1]["phase"] == "finished"

    site.pages["/guide/intro.html"] = html("Intro", "<p>How to begin, told anew.</p>")
    del site.pages["/guide/deep.html"]
    site.pages["/guide/more.html"] = html("More", "<p>No more.</p>")
    again = llmsspider.crawl(
        site.url + "/",
        store=store,
        settings=settings,
        emit="changes",
        confirm_deletions=True,
        block=["/x/**", "/y/**"],
    )
    changes = {one.url.removeprefix(site.url): one for one in again}
    assert {path: one.change for path, one in changes.items() if one.change != "changed"} == {
        "/guide/deep.html": "deleted"
    }
    assert changes["/guide/deep.html"].content is None
    assert "told anew" in changes["/guide/intro.html"].content
    assert "/" not in changes
    assert again.counts["changes"]["deleted"] == 1


def test_the_crawl_waits_for_the_loop_and_ends_with_it(serve, tmp_path, crawls):
    """While the loop sleeps no page is requested; when it is left no process is, and the store is usable."""
    site = serve(large(400))
    loop = llmsspider.crawl(site.url + "/", store=tmp_path / "store", settings=LOCAL)
    for number, _ in enumerate(loop, 1):
        if number == 1:
            asked = -1
            while asked != len(site.requests):
                asked = len(site.requests)
                time.sleep(1)
            assert asked < 300
        if number == 3:
            left = time.monotonic()
            break
    assert ended(crawls)
    assert time.monotonic() - left < HANGS_SECS
    assert not loop.complete
    assert loop.exit_code is not None
    rest = llmsspider.crawl(site.url + "/", store=tmp_path / "store", settings=LOCAL, max_pages=0)
    changes = [one.change for one in rest]
    assert len(changes) == 401 + 3
    assert changes.count("unchanged") >= 3
    assert rest.complete


def test_in_an_event_loop(serve, crawls):
    """Two at a time, one that is left, one that is cancelled, the plain loop as in a notebook, one at a loop's end."""
    site = serve(large(30))

    async def whole(**arguments):
        loop = llmsspider.acrawl(site.url + "/", settings=LOCAL, **arguments)
        return len([one async for one in loop]), loop.complete, loop.exit_code

    async def first(pages):
        async for one in pages:
            return one
        return None

    async def main():
        both = await asyncio.gather(whole(), whole(max_pages=5))
        url = (await first(llmsspider.acrawl(site.url + "/", settings=LOCAL))).url
        begun = asyncio.Event()

        async def held():
            async for _ in llmsspider.acrawl(site.url + "/", settings=LOCAL):
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(held())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (
            both,
            url,
            [one.url for one in llmsspider.crawl(site.url + "/", settings=LOCAL, max_pages=1)],
        )

    both, url, plain = asyncio.run(main())
    assert both == [(34, True, 0), (5, False, 0)]
    assert url == f"{site.url}/" and plain == [f"{site.url}/"]
    assert ended(crawls)
    last = asyncio.run(first(LLMSSpiderLoader(site.url + "/", settings=LOCAL).alazy_load()))
    assert last.metadata["source"] == url
    assert ended(crawls)


WORKER = """
import multiprocessing, os, signal, sys
import llmsspider
LOCAL = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1"}

def work(url, found):
    found.put([one.url for one in llmsspider.crawl(url, settings=LOCAL, max_pages=3)])
    for one in llmsspider.crawl(url, settings=LOCAL):
        found.put(one.url)
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    found = context.SimpleQueue()
    worker = context.Process(target=work, args=(sys.argv[1], found), daemon=True)
    worker.start()
    print(len(found.get()))
    worker.join()
    print(worker.exitcode)
"""


def test_in_a_daemonic_worker_that_is_killed(serve, tmp_path, crawls):
    """Such workers may not have children of multiprocessing; the crawl of one that is killed ends by itself."""
    site = serve(large(30))
    (tmp_path / "worker.py").write_text(WORKER)
    done = subprocess.run(
        [sys.executable, "worker.py", site.url + "/"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=HANGS_SECS, check=False,
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == (["3", "-9"], "")
    assert ended(crawls)


def test_a_crawl_that_is_killed_is_an_error(serve, crawls):
    site = serve(large(30))
    loop, got = llmsspider.crawl(site.url + "/", settings=LOCAL), 0
    with pytest.raises(CrawlError, match=r"the crawl failed: signal 9"):  # noqa: PT012
        for _ in loop:
            got += 1
            for process in crawls() if got == 1 else []:
                os.kill(process, signal.SIGKILL)
    assert got and loop.exit_code == -9 and not loop.complete


@pytest.mark.usefixtures("quick_crawls")
def test_one_page(serve):
    site = serve(PLAIN)
    document = llmsspider.page(f"{site.url}/guide/intro.html", settings=LOCAL)
    assert document.content.startswith("# Intro\n\nHow to begin.")
    with pytest.raises(CrawlError, match="HTTP status 404"):
        llmsspider.page(f"{site.url}/none", settings=LOCAL)


@pytest.mark.usefixtures("quick_crawls")
def test_mistakes_are_the_named_errors(serve, tmp_path):
    site = serve({})
    for wrong, error, said in (
        (lambda: llmsspider.crawl("docs.example.com"), InvalidUrlError, "has no scheme"),
        (llmsspider.crawl, ArgumentsError, "a URL is missing"),
        (lambda: llmsspider.crawl("https://e.com/", max_page=3), ArgumentsError, "did you mean max_pages"),
        (lambda: llmsspider.acrawl("https://e.com/", max_pages=-1), ArgumentsError, "max_pages='-1'"),
        (lambda: list(llmsspider.crawl("https://e.com/", settings={"LLMS_FULL_TEXT": "x"})), ArgumentsError,
         r"^setting LLMS_FULL_TEXT='x'"),
        (lambda: list(llmsspider.crawl(site.url, settings=LOCAL)), CrawlError, "nothing was obtained"),
        (lambda: list(llmsspider.crawl(site.url, settings=LOCAL, store="/proc/none")), StoreError, "page store"),
    ):  # fmt: skip
        with pytest.raises(error, match=said):
            wrong()


@pytest.mark.usefixtures("quick_crawls")
def test_what_is_stored_of_a_folder_or_source(serve, tmp_path, monkeypatch):
    """By the folder that `llmsspider URL -o` wrote, the store of a loop, or the name of the source."""
    monkeypatch.chdir(tmp_path)
    site = serve(PLAIN)
    name = site.url.removeprefix("http://")
    folder = {"LLMS_DATA_DIR": "docs/.llmsspider", "LLMS_MIRROR_DIR": "docs"}
    assert len(list(llmsspider.crawl(site.url + "/", settings={**LOCAL, **folder}))) == 4
    assert len(list(llmsspider.crawl(site.url + "/", settings=LOCAL, store="pages"))) == 4
    for place in (Path("docs"), "pages", name):
        assert {one.url.removeprefix(site.url) for one in llmsspider.documents(place)} == set(PLAIN)
        assert llmsspider.search(place, "deepest page")[0].url == f"{site.url}/guide/deep.html"
    assert llmsspider.search(name, "begin", store="pages")[0].title == "Intro"

    last = max(one.seq for one in llmsspider.changes("docs", since=0))
    site.pages["/guide/intro.html"] = html("Intro", "<p>How to begin, told anew.</p>")
    assert [
        one.change for one in llmsspider.crawl(source=name, store="docs", settings=LOCAL)
    ].count("changed") == 1
    (changed,) = llmsspider.changes("docs", since=last)
    assert (changed.change, changed.title, changed.seq) == ("changed", "Intro", last + 1)
    assert list(llmsspider.changes("pages", since=last)) == []

    list(llmsspider.crawl(site.url + "/", settings=LOCAL, store="pages", source="other"))
    with pytest.raises(ArgumentsError, match="pages is the store of several sources: name one of"):
        next(llmsspider.documents("pages"))
    assert len(list(llmsspider.documents("other", store="pages"))) == 4
    for unknown in ("none", "x" * 300, f"{site.url}/"):
        with pytest.raises(UnknownSourceError, match="is not known"):
            next(llmsspider.documents(unknown))
