"""Hosts that refuse `Accept: text/markdown`, each in a way of its own: their HTML is the document."""

from __future__ import annotations

import gzip

import pytest
from site_server import Reply
from sites import html

PAGES = {
    "/": "<a href='/a'>a</a> <a href='/b'>b</a>",
    "/a": "<a href='/c'>c</a>",
    "/b": "",
    "/c": "",
}
REFUSALS = {
    "406": Reply("Not Acceptable", 406, content_type="text/plain"),
    "415": Reply("Unsupported", 415, content_type="text/plain"),
    "404": Reply("Not found", 404, content_type="text/plain"),
    "400": Reply("Bad Accept", 400, content_type="text/plain"),
    "500": Reply("Error", 500, content_type="text/plain"),
    "empty": Reply("", content_type="text/markdown"),
    "JSON": Reply('{"error": "no such form"}', content_type="application/json"),
    "gzip": Reply(gzip.compress(b"# Page"), content_type="text/markdown"),
    "XML": Reply("<error>no such form</error>", content_type="application/xml"),
    "login": Reply("", 302, headers={"Location": "/login?next=here"}),
    "llms.txt": Reply("", 302, headers={"Location": "/llms.txt"}),
}


def refusing(refusal: Reply) -> dict:
    def page(path: str, body: str):
        made = html(f"Page {path}", f"<p>The text of the page at {path}, and no other.</p>{body}")
        return lambda seen: refusal if "text/markdown" in seen.headers.get("accept", "") else made

    return {path: page(path, body) for path, body in PAGES.items()}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_html_is_asked_for_once_and_the_host_remembered(serve, run_crawl, refusal):
    site = serve(refusing(REFUSALS[refusal]))
    site.pages["/llms.txt"] = Reply("# Site\n\n> It.\n\n- [A](/a): a\n", content_type="text/plain")
    for night in range(2):
        site.requests.clear()
        done = run_crawl(f"{site.url}/")
        documents = done.by_path(site.url)
        assert set(documents) == set(PAGES), done.log
        assert all(f"page at {path}," in page["content"] for path, page in documents.items())
        asked = [
            seen
            for seen in site.requests
            if "text/markdown" in seen.headers.get("accept", "") and seen.path in PAGES
        ]
        assert len(asked) <= (len(PAGES) if not night else 0)
        assert {page["change"] for page in documents.values()} == {"unchanged" if night else "new"}


def test_the_one_page_too(serve, run_crawl):
    site = serve(refusing(REFUSALS["406"]))
    (page,) = run_crawl(f"{site.url}/b", spider="page").documents
    assert "page at /b," in page["content"]


def test_dead_links_cost_three_requests_once(serve, run_crawl):
    links = "".join(f"<a href='/dead/{number}'>{number}</a>" for number in range(9))
    site = serve({"/": html("Home", f"<p>A page with nine dead links.</p>{links}")})
    for allowed in (3, 0):
        site.requests.clear()
        assert len(run_crawl(f"{site.url}/").documents) == 1
        paths = [path for path in site.paths() if path.startswith("/dead/") and "." not in path]
        assert len(paths) - len(set(paths)) <= allowed


def test_validators_do_not_go_along_with_a_redirect(serve, run_crawl):
    paths = [f"/d/p{number}" for number in range(5)]
    links = "".join(f"<a href='{path}'>{path}</a> " for path in paths)
    site = serve(
        {
            "/": html("Home", f"<p>The pages of it.</p>{links}"),
            **{path: html(path, f"<p>The text of {path} and no other.</p>") for path in paths},
        }
    )
    site.etags = True
    assert len(run_crawl(f"{site.url}/").documents) == 6
    for path in paths:
        site.pages[f"{path}/"] = site.pages[path]
        site.pages[path] = Reply("", 308, headers={"Location": f"{path}/"})
    for _ in range(3):
        night = run_crawl(f"{site.url}/")
        assert [page["change"] for page in night.documents] == ["unchanged"] * 6, night.log
        assert night.exit_code == 0
