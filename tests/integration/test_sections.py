"""A source crawled in sections by `scrapy sync`: the same documents as one crawl, whatever happens to a section."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crawling import NO_FULL_CHECK, Outcome, command
from site_server import Reply, Site
from sites import directories, linked_page, with_sitemap

from llmsspider.store import RunRecord, Stores

OF_A_RUN = {"run", "seq", "fetched_at", "depth", "last_modified"}
"""Fields that differ from one crawl to the next; of pages that only links lead to, the depth depends on the order."""


@pytest.fixture
def site(serve) -> Site:
    made = serve(directories())
    with_sitemap(made)
    made.etags = True
    return made


def sync(folder: Path, site: Site, section_pages: int = 20, **constants: Any) -> Outcome:
    folder.mkdir(exist_ok=True)
    knob = f"section_pages = {section_pages}\n" if section_pages else ""
    (folder / "sources.toml").write_text(f'[[sources]]\nurl = "{site.url}/"\nsource = "s"\n{knob}')
    settings = {
        "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1",
        "LLMS_DATA_DIR": str(folder / "store"),
        "LLMS_CONVERT_WORKERS": 0,
        "FEEDS": json.dumps(
            {str(folder / "documents.jsonl"): {"format": "jsonlines", "overwrite": True}}
        ),
    }
    given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    done = command(
        "sync",
        "sources.toml",
        "--json",
        "--jobs",
        "2",
        *given,
        cwd=folder,
        constants=NO_FULL_CHECK | constants,
    )
    done.documents = [
        json.loads(line) for line in (folder / "documents.jsonl").read_text().splitlines()
    ]
    return done


def told(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """The documents by address, without what differs from run to run; each once."""
    counted = Counter(one["url"] for one in outcome.documents)
    assert set(counted.values()) <= {1}, counted.most_common(3)
    return {
        one["url"]: {name: one[name] for name in one if name not in OF_A_RUN}
        for one in outcome.documents
    }


def runs(folder: Path) -> list[RunRecord]:
    with Stores(None, folder / "store").open("s") as store:
        return store.runs()


def changes(outcome: Outcome) -> dict[str, list[str]]:
    """What was told of changed pages: paths by change."""
    found: dict[str, list[str]] = {}
    for one in outcome.documents:
        found.setdefault(one["change"], []).append(
            one["url"].partition("/")[2].partition("/")[2].partition("/")[2]
        )
    found.pop("unchanged", None)
    return {change: sorted(paths) for change, paths in found.items()}


def test_the_nights_are_those_of_one_crawl(site: Site, tmp_path: Path):
    def night() -> tuple[Outcome, Outcome]:
        whole = sync(tmp_path / "whole", site, 0)
        done = sync(tmp_path / "sections", site)
        assert (whole.exit_code, done.exit_code) == (0, 0), done.log
        assert changes(done) == changes(whole)
        assert told(done) == told(whole)
        return whole, done

    night()
    jobs = Counter(run.section[1] for run in runs(tmp_path / "sections"))
    assert jobs["plan"] == jobs["end"] == 1
    assert {"1", "2", "3", "4"} < set(jobs)
    assert max(jobs.values()) > 1, "links were handed to a section that had ended"
    *parts, end = runs(tmp_path / "sections")
    assert not any(run.complete for run in parts)
    assert (end.complete, end.counts["documents"]) == (True, len(site.pages) - 1)

    assert changes(night()[1]) == {}

    del site.pages["/alpha/page-d"]
    site.pages["/beta/page-e"] = Reply("", 301, headers={"Location": "{base}/zeta/page-new"})
    site.pages["/zeta/page-new"] = linked_page("beta e", "/beta/page-f")
    site.pages["/epsilon/page-other"] = site.pages.pop("/gamma/page-g")
    site.pages["/delta/page-a"] = linked_page("delta a has other words", "/delta/added")
    site.pages["/delta/added"] = linked_page("delta added", "/zeta/added")
    site.pages["/zeta/added"] = linked_page("zeta added")
    for name in ("/alpha/page-c", "/gamma/page-f"):  # nothing names what is gone
        site.pages[name] = site.pages[name].replace("page-d", "page-e").replace("page-g", "page-h")
    with_sitemap(site)
    _, done = night()
    assert "alpha/page-d" in changes(done)["deleted"]
    moved = {
        one["url"].removeprefix(site.url): one["moved_from"]
        for one in done.documents
        if one["moved_from"]
    }
    assert moved == {
        "/zeta/page-new": [f"{site.url}/beta/page-e"],
        "/epsilon/page-other": [f"{site.url}/gamma/page-g"],
    }
    assert changes(night()[1]) == {}


def kill_once(site: Site, path: str, folder: Path, job: str) -> None:
    """Kill the process of a job of a night with the first request for a page."""
    answer, killed = site.pages[path], []

    def reply(_seen: Any) -> Any:
        if not killed:
            killed.extend(
                run.pid for run in runs(folder) if run.section[1] == job and run.finished_at is None
            )
            for pid in killed[:1]:
                os.kill(pid, signal.SIGKILL)
        return answer

    site.pages[path] = reply


def test_a_section_that_is_killed_is_repeated_alone(site: Site, tmp_path: Path):
    kill_once(site, "/beta/page-l", tmp_path, "2")
    done = sync(tmp_path, site)
    assert done.exit_code == 0, done.log
    jobs = [run for run in runs(tmp_path) if run.section[1] == "2"]
    assert jobs[0].lost
    assert "its crawl was lost" in done.log
    assert len(told(done)) == len(site.pages) - 1
    assert {one["change"] for one in done.documents} == {"new"}, "by whatever attempt"
    assert runs(tmp_path)[-1].complete


def test_a_section_that_fails_keeps_its_pages_and_holds_back_no_other(site: Site, tmp_path: Path):
    sync(tmp_path, site)
    for path in list(site.pages):
        if path.startswith("/zeta/"):
            site.pages[path] = Reply("broken", 403)
    for path in ("/alpha/page-d", "/zeta/page-d"):
        del site.pages[path]
    site.pages["/alpha/page-c"] = linked_page("alpha c", "/alpha/page-e")
    with_sitemap(site)
    done = sync(tmp_path, site)
    assert done.exit_code == 3, done.log
    assert changes(done)["deleted"] == ["alpha/page-d"]
    assert f"{site.url}/zeta/page-d" in told(done)
    report = json.loads(done.stdout)["sources"][0]
    assert report["state"] == "incomplete"
    assert re.fullmatch(r"of (\d) sections these failed: \1", report["reason"])
    assert not runs(tmp_path)[-1].complete


def test_an_end_that_is_killed_is_repeated_and_tells_of_each_page_once(site: Site, tmp_path: Path):
    sync(tmp_path, site)
    for path in ("/alpha/page-d", "/zeta/page-d"):
        del site.pages[path]
        name = path.split("/")[1]
        site.pages[f"/{name}/page-c"] = linked_page(f"{name} c", f"/{name}/page-e")
    with_sitemap(site)
    kill_once(site, "/sitemap.xml", tmp_path, "end")
    done = sync(tmp_path, site)
    assert done.exit_code == 0, done.log
    assert [run.lost for run in runs(tmp_path)][-2:] == [True, False]
    assert changes(done)["deleted"] == ["alpha/page-d", "zeta/page-d"]
    again = sync(tmp_path, site)
    assert changes(again) == {}


def test_a_night_without_an_end_is_told_by_the_next(site: Site, tmp_path: Path, run_crawl):
    for job in ("plan", "1", "2", "3", "4", "5"):
        run_crawl(
            f"{site.url}/",
            arguments={"source": "s", "section": f"first/{job}", "section_pages": 20},
        )
    assert "/alpha/page-d" in site.paths()
    del site.pages["/alpha/page-d"]
    site.pages["/alpha/page-c"] = site.pages["/alpha/page-c"].replace("page-d", "page-e")
    with_sitemap(site)
    done = sync(tmp_path, site)
    assert done.exit_code == 0, done.log
    there = {url for url, one in told(done).items() if one["change"] != "deleted"}
    assert there == {f"{site.url}{path}" for path in site.pages if path != "/sitemap.xml"}
    assert changes(sync(tmp_path, site)) == {}
