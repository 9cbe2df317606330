"""`run.json` and the HTML report of real crawls."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from lxml import html as lxml_html
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from site_server import Reply
from sites import html

from llmsspider.errors import ErrorKind
from llmsspider.output.metrics import metrics
from llmsspider.output.status import run_status
from llmsspider.store import RunRecord

HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>"

PAGES = {
    "/": html(
        "Home",
        "<p>Welcome.</p><a href='/linked.html'>linked</a> <a href='https://other.example/'>x</a>",
    ),
    "/both.html": html("Both", "<p>In both lists.</p>"),
    "/listed.html": html(f"Listed {HOSTILE.replace('<', '&lt;')}", "<p>In llms.txt only.</p>"),
    "/mapped.html": html("Mapped", "<p>In the sitemap only.</p>"),
    "/linked.html": html("Linked", "<p>Found by a link.</p>"),
    "/old.html": Reply("gone", 410),
    "/broken.html": Reply("broken", 400),
    "/llms.txt": (
        f"# Site {HOSTILE}\n\n## Pages {HOSTILE}\n\n- [Both](/both.html): described\n- [Listed](/listed.html)\n"
        "- [Old](/old.html)\n- [Broken](/broken.html)\n- [Script](javascript:alert(3))\n"
    ),
    "/sitemap.xml": (
        "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        "<url><loc>{base}/both.html</loc></url><url><loc>{base}/mapped.html</loc></url></urlset>"
    ),
}


@pytest.fixture
def reported(serve, run_crawl, tmp_path: Path):
    site = serve(PAGES)
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_REPORT": "out"})
    data = json.loads((tmp_path / "out" / "run.json").read_text())
    return site, outcome, data, (tmp_path / "out" / "report.html").read_text()


def facts(page: str) -> dict[str, str]:
    """What the report says of the run, by name."""
    rows = lxml_html.fromstring(page).xpath("//dl[@class='facts']/div")
    return {row.findtext("dt"): row.findtext("dd") for row in rows}


def documents(page: str) -> list[tuple[str, str]]:
    """The change and the address of each document in the report."""
    parts = lxml_html.fromstring(page).xpath("//details[starts-with(@id, 'change-')]")
    return [
        (part.get("id").removeprefix("change-"), url)
        for part in parts
        for url in part.xpath(".//td[1]/div/text()")
    ]


def paths(site, group: dict) -> set[str]:
    return {url["url"].removeprefix(site.url) for url in group["urls"]}


def test_the_report_says_what_the_crawl_did(reported) -> None:
    site, outcome, data, page = reported
    assert outcome.exit_code == 0
    run = data["run"]
    assert (run["outcome"], run["complete"], run["why"]) == ("finished", True, None)
    assert run["documents"] == len(outcome.documents) == outcome.stats["llms/documents"]
    assert run["errors"]["count"] == sum(
        value for stat, value in outcome.stats.items() if stat.startswith("llms/errors/")
    )
    assert run["filtered"]["by_reason"] == {
        stat.removeprefix("llms/filtered/"): value
        for stat, value in outcome.stats.items()
        if stat.startswith("llms/filtered/")
    }
    assert outcome.log.rstrip().splitlines()[-1].endswith("out/report.html")
    said = facts(page)
    assert said["Documents"] == f"{run['documents']} (html {run['documents']})"
    assert said["Failed"].startswith(f"{run['errors']['count']} (")
    assert said["Scope"] == data["scope"]
    assert [phase["phase"] for phase in data["timings"]["phases"]] == [
        "discovery",
        "crawling",
        "finishing",
    ]
    assert data["timings"]["timeline"][-1][1:] == [run["done"], run["errors"]["count"]]
    assert data["discovery"]["file"] == f"{site.url}/llms.txt"


def test_the_metrics_of_the_run_are_what_the_report_says(reported, tmp_path: Path) -> None:
    _, _, data, _ = reported
    text, run = (tmp_path / "out" / "run.prom").read_text(), data["run"]
    families = list(openmetrics(text))
    assert list(prometheus(text)) == families, "node exporter reads the older format"
    assert {family.type for family in families} == {"gauge"}
    assert all(
        one.labels["source"] == data["source"] for family in families for one in family.samples
    )
    found = {family.name.removeprefix("llmsspider_"): family.samples for family in families}
    by_kind = {one.labels["kind"]: one.value for one in found["errors"]}
    assert by_kind == dict.fromkeys(get_args(ErrorKind), 0) | run["errors"]["by_kind"]
    assert {one.labels["reason"]: one.value for one in found["filtered"]} == run["filtered"][
        "by_reason"
    ]
    assert {one.labels["change"]: one.value for one in found["documents"]} == run["changes"]
    values = {name: samples[0].value for name, samples in found.items() if len(samples) == 1}
    assert (values["requests"], values["received_bytes"]) == (run["requests"], run["bytes"])
    assert run["bytes"] > sum(len(page) for page in PAGES.values() if isinstance(page, str)) / 2
    assert (values["duration_seconds"], values["complete"]) == (run["elapsed_secs"], 1)
    moments = {
        name: datetime.fromisoformat(run[name]).timestamp() for name in ("started", "finished")
    }
    assert moments == {name: values[f"{name}_timestamp_seconds"] for name in moments}
    assert moments["started"] <= values["oldest_check_timestamp_seconds"] <= moments["finished"]


def test_a_source_may_have_any_name() -> None:
    status = run_status(
        RunRecord("r", 1, "s", "crawl", {}, 1, "", datetime.now(UTC), datetime.now(UTC)), [], []
    )
    name = 'a "b"\\c\nd ü'
    assert {s.labels["source"] for f in openmetrics(metrics(status, name)) for s in f.samples} == {
        name
    }


def test_coverage_tells_where_each_page_was_found_and_what_became_of_it(reported) -> None:
    site, _, data, _ = reported
    groups = data["coverage"]["groups"]
    assert paths(site, groups["dead"]) == {"/old.html"}
    assert paths(site, groups["failed"]) == {"/broken.html"}
    assert paths(site, groups["only-llms"]) == {"/listed.html"}
    assert paths(site, groups["only-sitemap"]) == {"/mapped.html"}
    assert paths(site, groups["only-links"]) == {"/", "/linked.html"}
    assert {"llms_txt": True, "sitemap": True, "crawled": True, "pages": 1} in data["coverage"][
        "combined"
    ]
    assert "lint" not in data, "`scrapy lint` says what to mend"


def test_what_the_site_wrote_is_never_markup(reported) -> None:
    _, _, _, page = reported
    tree = lxml_html.fromstring(page)
    assert not list(tree.iter("script"))
    assert not list(tree.iter("img"))
    assert not [link for link in tree.iter("a") if link.get("href", "").startswith("javascript")]
    assert HOSTILE not in page
    assert HOSTILE in tree.text_content()
    assert "default-src 'none'" in page


def test_nothing_in_the_report_is_loaded(reported) -> None:
    tree = lxml_html.fromstring(reported[3])
    loading = tree.xpath("//@src | //link/@href | //*[@style]/@style")
    assert loading == ["data:,"]
    assert not re.search(r"@import|url\(", tree.findtext(".//style"))


def test_a_run_that_came_to_nothing_is_reported_too(serve, run_crawl, tmp_path: Path) -> None:
    site = serve({})
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_REPORT": "reports/%(source)s/today.html"})
    assert outcome.exit_code == 1
    (written,) = tmp_path.glob("reports/*/run.json")
    data = json.loads(written.read_text())
    assert (data["run"]["outcome"], data["run"]["complete"]) == ("start_failed", False)
    assert "incomplete" in written.with_name("today.html").read_text()


def test_a_filtered_url_is_counted_once_however_it_was_found(
    serve, run_crawl, tmp_path: Path
) -> None:
    off = "https://other.example/page"
    links = (
        f"<a href='{off}'>x</a> <a href='{off}#part'>x</a> <a rel='nofollow' href='{off}'>x</a>"
        "<a href='/shut/a.html'>x</a> <a href='/shut/a.html#part'>x</a>"
    )
    pages = {f"/{name}": html(name, f"<p>Of {name}.</p>{links}") for name in "abc"}
    site = serve(
        {
            **pages,
            "/": html("Home", f"<a href='/a'>x</a><a href='/b'>x</a><a href='/c'>x</a>{links}"),
            "/llms.txt": f"# Site\n\n- [A](/a)\n- [Shut](/shut/a.html)\n- [Other]({off})\n",
            "/sitemap.xml": (
                "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
                "<url><loc>{base}/b</loc></url><url><loc>{base}/shut/a.html</loc></url></urlset>"
            ),
        }
    )
    for _ in range(2):
        run_crawl(f"{site.url}/", arguments={"block": "/shut/**"}, settings={"LLMS_REPORT": "out"})
        told = json.loads((tmp_path / "out" / "run.json").read_text())["run"]["filtered"]
        urls = [one["url"] for one in told["urls"]]
        assert [urls.count(url) for url in (off, f"{site.url}/shut/a.html")] == [1, 1]
        assert len(set(urls)) == len(urls)
        assert told["count"] == len(urls) == sum(told["by_reason"].values())


def test_the_views_are_sections_that_are_linked_and_the_nights_are_drawn(
    serve, run_crawl, tmp_path: Path
) -> None:
    site = serve(dict(PAGES))
    for night in range(2):
        site.pages["/both.html"] = html("Both", f"<p>Text of night {night}.</p>")
        run_crawl(f"{site.url}/", settings={"LLMS_REPORT": "out"})
    tree = lxml_html.fromstring((tmp_path / "out" / "report.html").read_text())
    linked = tree.xpath("//nav[@class='tabs']/a/@href")
    assert linked == ["#changes", "#failed", "#filtered", "#discovery", "#documents"]
    assert all(tree.xpath(f"//h2[@id='{one[1:]}']") for one in linked)
    assert len(tree.xpath("//*[name()='svg'][@class='bar']//*[name()='rect']")) == 2
    assert not tree.xpath("//a[starts-with(@href, '/')]"), "there is no server behind it"


def test_the_name_of_a_source_in_a_path_is_the_same_for_all_outputs(
    serve, run_crawl, tmp_path: Path
) -> None:
    site = serve({"/": html("Home", "<p>Welcome.</p>")})
    settings = {
        "LLMS_MIRROR_DIR": "trees/%(source)s",
        "LLMS_REPORT": "reports/%(source)s",
        "LLMS_CHANGES_FEED": "feeds/%(source)s",
    }
    for source in ("s00", "S00", "s00"):
        run_crawl(f"{site.url}/", arguments={"source": source}, settings=settings)
        places = [
            sorted(path.name for path in (tmp_path / kind).iterdir())
            for kind in ("trees", "reports", "feeds")
        ]
        assert places[0] == places[1] == places[2]
        assert places[0][0] == "s00", "no hash, where no other source has the name"
    assert len(places[0]) == 2
    first = json.loads((tmp_path / "reports" / "s00" / "run.json").read_text())
    assert first["source"] == "s00"
    assert (tmp_path / "feeds" / "s00").read_text().count("<id>urn:llmsspider:s00</id>") == 1


def test_deleted_pages_are_in_the_next_report(serve, run_crawl, tmp_path: Path) -> None:
    links = "".join(f"<a href='/p{number}.html'>x</a>" for number in range(8))
    pages = {
        f"/p{number}.html": html(f"P{number}", f"<p>Page {number}.</p>") for number in range(8)
    }
    site = serve({"/": html("Home", links), **pages})
    run_crawl(f"{site.url}/")
    del site.pages["/p3.html"]
    run_crawl(f"{site.url}/", settings={"LLMS_REPORT": "out"})
    told = json.loads((tmp_path / "out" / "run.json").read_text())["run"]
    assert told["doubtful"] == {"not-found": 1}, "it is linked: the second night decides"
    run_crawl(f"{site.url}/", settings={"LLMS_REPORT": "out"})
    page = (tmp_path / "out" / "report.html").read_text()
    rows = documents(page)
    assert [url.removeprefix(site.url) for change, url in rows if change == "deleted"] == [
        "/p3.html"
    ]
    assert {change for change, _ in rows} == {"deleted", "unchanged"}
    assert "1 deleted" in lxml_html.fromstring(page).findtext(".//p[@class='lead']")
    run_crawl(
        f"{site.url}/",
        arguments={"emit": "changes", "max_pages": 3},
        settings={"LLMS_REPORT": "capped"},
    )
    rows = documents((tmp_path / "capped" / "report.html").read_text())
    assert Counter(change for change, _ in rows) == {"unchanged": 3, "not reached": 5}


def test_a_report_that_cannot_be_written_is_said_and_spoils_nothing(
    serve, run_crawl, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    outcome = run_crawl(f"{serve(PAGES).url}/", settings={"LLMS_REPORT": "file/report.html"})
    assert outcome.exit_code == 0
    assert len(outcome.documents) == 5
    assert "the report could not be written" in outcome.log
