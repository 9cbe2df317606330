"""The spider `page` in whole runs."""

from __future__ import annotations

import pytest
from site_server import TYPES, Reply
from sites import MARKDOWN, html

INTRO = html("Intro", "<p>How to begin.</p>")
LLMS_TXT = "# The manual\r\n\r\n- [Intro](/guide/intro.html): how to begin\r\n"


def run_page(run_crawl, url, **more):
    settings = {"LLMS_PAGE_PROVIDERS": "own_classes.LocalWiki", **more.pop("settings", {})}
    return run_crawl(url, spider="page", settings=settings, **more)


def test_its_own_content_and_nothing_else_is_asked(serve, run_crawl, tmp_path):
    site = serve({"/guide/intro.html": INTRO, "/llms.txt": LLMS_TXT})
    outcome = run_page(run_crawl, f"{site.url}/guide/intro.html")
    (document,) = outcome.documents
    assert outcome.exit_code == 0
    assert document["content"] == "# Intro\n\nHow to begin.\n"
    assert (document["origin"], document["url"], document["seq"]) == (
        "html",
        f"{site.url}/guide/intro.html",
        None,
    )
    assert not [path for path in site.paths() if "llms" in path or "sitemap" in path]
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("arguments", "content"),
    [({"drop": ".extra"}, "# Page\n\nText.\n"), ({"keep": ".extra"}, "Buy this.\n")],
    ids=["drop", "keep"],
)
def test_its_parts_are_chosen(serve, run_crawl, arguments, content):
    page = "<html><body><main><h1>Page</h1><p>Text.</p><p class='extra'>Buy this.</p></main></body>"
    site = serve({"/page": page})
    outcome = run_crawl(f"{site.url}/page", spider="page", arguments=arguments)
    assert [document["content"] for document in outcome.documents] == [content]


def test_its_markdown_form_is_preferred(serve, run_crawl):
    site = serve(MARKDOWN)
    (document,) = run_page(run_crawl, f"{site.url}/guide/intro.html").documents
    assert (document["origin"], document["fetched_url"]) == (
        "markdown",
        f"{site.url}/guide/intro.html.md",
    )


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(Reply("", content_type=TYPES["html"]), id="empty string"),
        pytest.param("<html><body> \n </body></html>", id="white space"),
        pytest.param(Reply("later", 503), id="server error"),
    ],
)
def test_the_llms_txt_of_its_directory_stands_in(serve, run_crawl, page):
    site = serve(
        {"/guide/intro": page, "/guide/llms.txt": LLMS_TXT, "/llms.txt": "# Another\n\n- [A](/a)\n"}
    )
    outcome = run_page(run_crawl, f"{site.url}/guide/intro", settings={"RETRY_TIMES": 0})
    (document,) = outcome.documents
    assert outcome.exit_code == 0
    assert document["content"] == LLMS_TXT.replace("\r\n", "\n")
    assert (document["origin"], document["title"]) == ("llms-txt", "The manual")
    assert (document["url"], document["fetched_url"]) == (
        f"{site.url}/guide/intro",
        f"{site.url}/guide/llms.txt",
    )
    assert any(
        line.startswith(f"Took {site.url}/guide/llms.txt in place of") for line in outcome.lines
    )


@pytest.mark.parametrize(
    ("page", "said"),
    [
        pytest.param(Reply("gone", 404), "not_found: HTTP status 404", id="not found"),
        pytest.param(
            html("Page not found", "<p>Sorry.</p>"), "no document: soft-404", id="soft 404"
        ),
        pytest.param(
            Reply(b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"),
            "no document: unsupported-type: image/png",
            id="picture",
        ),
    ],
)
def test_nothing_stands_in_for_what_is_no_page(serve, run_crawl, page, said):
    site = serve({"/guide/intro": page, "/guide/llms.txt": LLMS_TXT})
    outcome = run_page(run_crawl, f"{site.url}/guide/intro")
    assert (outcome.exit_code, outcome.documents) == (1, [])
    assert any(line.startswith(f"{site.url}/guide/intro: {said}") for line in outcome.lines), (
        outcome.lines
    )
    assert "/guide/llms.txt" not in site.paths()


@pytest.mark.parametrize(
    ("page", "kind", "reason"),
    [
        pytest.param(Reply("members", 403), "auth", "start_failed", id="forbidden"),
        pytest.param(
            html("Secret", "<p>No.</p>", "<meta name='robots' content='noai'>"),
            "blocked",
            "start_failed",
            id="opt-out",
        ),
        pytest.param("<html><body></body></html>", None, "no_documents", id="empty"),
    ],
)
def test_when_both_fail_the_pages_own_error_is_reported(serve, run_crawl, page, kind, reason):
    site = serve({"/guide/intro": page})
    outcome = run_page(run_crawl, f"{site.url}/guide/intro")
    assert (outcome.exit_code, outcome.stats["finish_reason"], outcome.documents) == (1, reason, [])
    errors = {stat for stat in outcome.stats if stat.startswith("llms/errors/")}
    assert errors == ({f"llms/errors/{kind}"} if kind else set())
    assert any("No llms.txt in place of" in line and "status 404" in line for line in outcome.lines)


def test_a_registered_provider_is_asked_first(serve, run_crawl):
    site = serve(
        {
            "/wiki/intro": INTRO,
            "/wiki/intro?raw": Reply("# Raw\n\n[Next](next)\n", content_type=TYPES["txt"]),
        }
    )
    (document,) = run_page(run_crawl, f"{site.url}/wiki/intro").documents
    assert document["content"] == f"# Raw\n\n[Next]({site.url}/wiki/next)\n"
    assert (document["origin"], document["url"]) == ("markdown", f"{site.url}/wiki/intro")
    assert "/wiki/intro" not in site.paths()


@pytest.mark.parametrize("setting", [True, False], ids=["on", "off"])
def test_a_cookie_that_the_site_asks_for_is_sent(serve, run_crawl, setting):
    def page(seen):
        if "seen=1" in seen.headers.get("cookie", ""):
            return INTRO
        return Reply(
            "", 302, headers={"Location": "/guide/intro.html?again", "Set-Cookie": "seen=1; Path=/"}
        )

    site = serve({"/guide/intro.html": page})
    outcome = run_page(
        run_crawl, f"{site.url}/guide/intro.html", settings={"COOKIES_ENABLED": setting}
    )
    assert outcome.exit_code == 0
    assert [document["title"] for document in outcome.documents if document["content"]] == ["Intro"]


def test_a_redirect_is_followed_and_the_page_known_by_where_it_ended(serve, run_crawl):
    site = serve(
        {
            "/old": Reply("", 301, headers={"Location": "{base}/guide/intro.html"}),
            "/guide/intro.html": INTRO,
        }
    )
    (document,) = run_page(run_crawl, f"{site.url}/old").documents
    assert document["url"] == f"{site.url}/guide/intro.html"


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        ({"url": None}, {}, "argument url is missing"),
        ({"url": "intro.html"}, {}, "argument url='intro.html'"),
        ({"render": "often"}, {}, "argument render='often'"),
        ({"max_pages": "3"}, {}, "argument max_pages='3' is unknown"),
        ({}, {"LLMS_PAGE_PROVIDERS": "nowhere.Wiki"}, "setting LLMS_PAGE_PROVIDERS='nowhere.Wiki'"),
        ({}, {"LLMS_PAGE_PROVIDERS": "json.dumps"}, "setting LLMS_PAGE_PROVIDERS='json.dumps'"),
    ],
    ids=[
        "no URL",
        "no web address",
        "wrong choice",
        "argument of the other spider",
        "no module",
        "no provider",
    ],
)
def test_wrong_arguments_end_with_exit_code_2(run_crawl, arguments, settings, said):
    outcome = run_page(run_crawl, "http://127.0.0.1/", arguments=arguments, settings=settings)
    assert outcome.exit_code == 2
    assert said in outcome.log
