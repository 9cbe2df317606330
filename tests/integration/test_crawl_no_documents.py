"""Pages that are no documents, in the next crawl: asked with their validators, not converted, filtered as before."""

from __future__ import annotations

import shutil

import pytest
from crawling import crawl
from site_server import Reply, Site, serving
from sites import html

INDEX = "<table class='indextable'><tr><td><ul><li><a href='/far.html'>far</a></li></ul></td></tr></table>"
"""A generated index of Sphinx, which alone leads to a page."""
LINKS = "".join(
    f"<a href='/{name}'>x</a>"
    for name in ("genindex.html", "hidden.html", "old/page.html", "away.html", "blank.html", "data")
)


PAGES = {
    "/": html("Home", f"<p>Welcome to the documentation of this thing.</p>{LINKS}"),
    "/guide/intro.html": html("Intro", "<p>How to begin.</p>"),
    "/guide/more.html": html("More", "<p>More to read.</p>"),
    "/genindex.html": html("Index", INDEX),
    "/far.html": html("Far", "<p>A page that the index alone names.</p>"),
    "/hidden.html": html(
        "Hidden", "<p>Not for indexes.</p>", "<meta name='robots' content='noindex'>"
    ),
    "/old/page.html": html(
        "Page", "<p>The same.</p>", "<link rel='canonical' href='/new/page.html'>"
    ),
    "/new/page.html": html("Page", "<p>The same.</p>"),
    "/away.html": html(
        "Away", "<p>Gone on.</p>", "<meta http-equiv='refresh' content='0; url=/on.html'>"
    ),
    "/on.html": html("On", "<p>Where it went on.</p>"),
    "/blank.html": "<title>Blank</title><main></main><a href='/behind.html'>x</a>",
    "/behind.html": html("Behind", "<p>Linked by a page without text.</p>"),
    "/data": Reply(b"\0\1\2", content_type="application/octet-stream"),
}
"""A site with a page of each kind that is no document."""

FILTERED = {
    f"llms/filtered/{reason}": 1
    for reason in ("listing", "noindex", "canonical", "redirect", "empty", "unsupported-type")
}
NO_DOCUMENTS = {
    "/genindex.html",
    "/hidden.html",
    "/old/page.html",
    "/away.html",
    "/blank.html",
    "/data",
}
SETTINGS = {"LLMS_OBEY_NOINDEX": True}


def filtered(outcome):
    return {
        name: number for name, number in outcome.stats.items() if name.startswith("llms/filtered/")
    }


def statuses(site):
    """The status of each page that is no document, by path."""
    return {seen.path: seen.status for seen in site.requests if seen.path in NO_DOCUMENTS}


def paths(outcome, site):
    return sorted(outcome.by_path(site.url))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A site, and the folder and the outcome of its first crawl."""
    site, folder = Site(PAGES), tmp_path_factory.mktemp("first")
    site.etags = True
    with serving(site):
        first = crawl(f"{site.url}/", folder, settings=SETTINGS)
        assert filtered(first) == FILTERED
        yield site, folder, first


@pytest.fixture
def twice(crawled, tmp_path):
    """The site, the outcome of its first crawl, and a function that crawls it again and returns the outcome."""
    site, folder, first = crawled
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    site.clear()
    yield (
        site,
        first,
        lambda **options: crawl(f"{site.url}/", tmp_path, **{"settings": SETTINGS, **options}),
    )
    site.pages, site.etags = dict(PAGES), True


def test_nothing_is_sent_or_converted_and_all_is_filtered_as_before(twice):
    site, first, again = twice
    for _ in range(2):
        site.clear()
        outcome = again()
        assert statuses(site) == dict.fromkeys(NO_DOCUMENTS, 304)
        assert filtered(outcome) == FILTERED
        assert "llms/converted" not in outcome.stats
        assert paths(outcome, site) == paths(first, site)
        assert {document["change"] for document in outcome.documents} == {"unchanged"}


def test_without_validators_an_equal_body_is_not_converted(twice):
    site, first, again = twice
    site.etags = False
    outcome = again()
    assert (filtered(outcome), paths(outcome, site)) == (FILTERED, paths(first, site))
    assert "llms/converted" not in outcome.stats


@pytest.mark.parametrize(
    ("settings", "arguments", "kept"),
    [
        pytest.param(
            {"LLMS_OBEY_NOINDEX": False}, {}, "/hidden.html", id="noindex is not obeyed any more"
        ),
        pytest.param({}, {"listings": "keep"}, "/genindex.html", id="listings are kept"),
        pytest.param({}, {"render": "never"}, None, id="rendered never"),
    ],
)
def test_other_settings_have_pages_read_anew(twice, settings, arguments, kept):
    site, first, again = twice
    outcome = again(settings=SETTINGS | settings, arguments=arguments)
    assert statuses(site) == dict.fromkeys(NO_DOCUMENTS, 200)
    assert paths(outcome, site) == sorted([*paths(first, site), *filter(None, [kept])])


def test_a_page_that_is_listed_now_is_read_anew(twice):
    site, first, again = twice
    site.pages["/llms.txt"] = (
        "# Site\n\n> What it is.\n\n## Guide\n\n- [Index]({base}/genindex.html): all\n"
    )
    outcome = again()
    assert statuses(site)["/genindex.html"] == 200
    assert paths(outcome, site) == sorted([*paths(first, site), "/genindex.html"])


def test_a_page_that_may_be_a_document_now_is_requested_whole(twice):
    site, _, again = twice
    outcome = again(arguments={"block": "/new/**"})  # what it names as its address is out of scope
    asked = [seen.status for seen in site.requests if seen.path == "/old/page.html"]
    assert asked == [304, 200]
    assert "/old/page.html" in outcome.by_path(site.url)


def test_what_has_changed_is_read(twice):
    site, _, again = twice
    site.pages["/blank.html"] = html("Full", "<p>It has a text now.</p>")
    site.pages["/genindex.html"] = html("Index", INDEX.replace("/far.html", "/near.html"))
    site.pages["/near.html"] = html("Near", "<p>A page that the index alone names now.</p>")
    outcome = again()
    assert outcome.by_path(site.url)["/blank.html"]["change"] == "new"
    assert outcome.by_path(site.url)["/near.html"]["change"] == "new"
    assert outcome.stats["llms/filtered/listing"] == 1


def test_a_page_that_changes_under_the_same_validators_uncovers_its_host(serve, run_crawl):
    constant = {"Last-Modified": "Sat, 21 Nov 2020 22:00:00 GMT"}
    index = Reply(html("Index", INDEX), headers=constant)
    site = serve(
        {
            **PAGES,
            "/": html("Home", "<p>Welcome.</p><a href='/genindex.html'>x</a>"),
            "/genindex.html": index,
        }
    )
    run_crawl(f"{site.url}/", settings=SETTINGS)
    index.body = html("Index", INDEX.replace("/far.html", "/near.html"))
    site.pages["/near.html"] = html("Near", "<p>A page that the index alone names now.</p>")
    outcome = run_crawl(
        f"{site.url}/",
        settings=SETTINGS,
        constants={"llmsspider.crawler.known_pages.FULL_CHECK_RUNS": 1},
    )
    assert outcome.stats["llms/unbelieved-hosts"] == 1
    assert "/near.html" in outcome.by_path(site.url)
