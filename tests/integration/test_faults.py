"""Whatever a site does: no document that it has is lost, none comes twice, none is deleted that is there."""

from __future__ import annotations

import pytest
from crawling import crawl
from fault_cases import Case, Matrix, all_cases, run_matrix
from fault_server import FaultSite, serving_faults
from sites import html


@pytest.fixture(scope="module")
def matrix(tmp_path_factory) -> Matrix:
    """Five crawls of one site with a page for each fault."""
    return run_matrix(tmp_path_factory.mktemp("matrix"))


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_fault_costs_what_is_promised(matrix, case: Case):
    assert matrix.problems(case) == []


def test_every_fault_was_served(matrix):
    expected = {
        step.partition(":")[0].partition("*")[0]
        for c in matrix.cases
        for step in c.script.split(",")
    }
    assert expected - {"ok"} <= set(matrix.struck)
    assert len(matrix.cases) > 100


def test_nothing_comes_twice_and_only_what_is_gone_is_deleted(matrix):
    assert matrix.duplicates == []
    deleted = [name for name, document in matrix.again.items() if document["change"] == "deleted"]
    assert deleted == ["really-gone"]
    assert matrix.again["steady"]["change"] == "unchanged"


NIGHTS = {
    "cut": {"/sitemap.xml": "cut"},
    "an error": {"/sitemap.xml": "500"},
    "an error for a second night": {"/sitemap.xml": "500"},
    "a page in its place": {"/sitemap.xml": "maintenance"},
    "robots.txt gone": {"/robots.txt": "404"},
    "robots.txt down": {"/robots.txt": "500"},
    "llms.txt down": {"/llms.txt": "500"},
}


def test_files_of_the_site_that_fail_delete_nothing(tmp_path):
    """Pages that only the sitemap or only llms.txt names, through nights in which that file is out of order."""
    names = [f"mapped{number}" for number in range(6)] + [f"listed{number}" for number in range(3)]
    pages: dict[str, object] = {
        f"/{name}.html": html(name, f"<p>The text of {name}.</p>") for name in names
    }
    pages["/robots.txt"] = "User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n"
    pages["/"] = "<html><body><main><h1>Home</h1><p>Welcome to it.</p></main></body></html>"
    pages["/llms.txt"] = "# Site\n\n## All\n\n" + "".join(
        f"- [L](listed{n}.html)\n" for n in range(3)
    )
    site = FaultSite(pages)

    def sitemap(count: int) -> str:
        entries = "".join(f"<url><loc>{{base}}/mapped{n}.html</loc></url>\n" for n in range(count))
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>'

    site.pages["/sitemap.xml"] = sitemap(6)

    def changes() -> dict[str, str]:
        outcome = crawl(
            f"{site.url}/", tmp_path, settings={"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0}
        )
        changes.exit_code = outcome.exit_code
        return {
            document["url"].rpartition("/")[2]: document["change"] for document in outcome.documents
        }

    with serving_faults(site):
        first = changes()
        assert set(first) == {"", *(f"{name}.html" for name in names)}
        for night, scripts in NIGHTS.items():
            site.set_faults(scripts)
            found = changes()
            # with robots.txt down nothing is asked, and yesterday's file stays
            if changes.exit_code == 0:
                assert found == dict.fromkeys(first, "unchanged"), night
        site.set_faults({})
        site.pages["/sitemap.xml"] = sitemap(5)
        for _night in range(2):
            assert changes() == dict.fromkeys(first, "unchanged"), (
                "nothing names it, but it answers"
            )
        assert changes() == {**dict.fromkeys(first, "unchanged"), "mapped5.html": "deleted"}
