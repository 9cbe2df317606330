"""API references whose page names an OpenAPI file: made from it, without a browser."""

from __future__ import annotations

import json

from site_server import Reply
from sites import html

REDOC = "<title>Reference</title><redoc spec-url='/harbour.json'></redoc><script src='/redoc.js'></script>"
SWAGGER = "<div id='swagger-ui'></div><script>SwaggerUIBundle({url: '/harbour.json', dom_id: '#swagger-ui'})</script>"
HELD = (
    "<title>Held</title><div id='redoc'></div><script src='/redoc.js'></script><script>const __redoc_state = "
    '{"menu": {}, "spec": {"data": %s}}; Redoc.hydrate(__redoc_state)</script>'
)
TOO_LARGE = (
    "<!doctype html><rapi-doc spec-url='/large.json'></rapi-doc><script src='/rapidoc.js'></script>"
)


def api(summary: str) -> Reply:
    operation = {
        "summary": summary,
        "responses": {"200": {"description": "See [the guide](/guide)"}},
    }
    text = json.dumps(
        {"openapi": "3.1.0", "info": {"title": "Harbour"}, "paths": {"/ships": {"get": operation}}}
    )
    return Reply(text, content_type="application/json", headers={"ETag": f'"{summary}"'})


def document(summary: str) -> str:
    return (
        f"# Harbour\n\n## Operations\n\n### {summary}\n\n`GET /ships`\n\n#### Responses\n\n"
        "**200** See [the guide]({base}/guide)\n"
    )


def test_the_document_is_made_from_the_file(serve, run_crawl):
    """Alone, or behind the text of its page; a recrawl sees that the file changed though the page did not."""
    site = serve(
        {
            "/": html(
                "Home",
                "<p>Home.</p><a href='/api'>API</a><a href='/held'>Held</a><a href='/large'>Large</a>",
            ),
            "/api": REDOC,
            "/held": HELD % api("Held ships").body,
            "/guide": html("Guide", f"<p>How to use it.</p>{SWAGGER}"),
            "/large": TOO_LARGE,
            "/harbour.json": api("List ships"),
            "/large.json": Reply(
                '{"openapi": "3.1.0", "paths": {}}' + " " * 100_000, content_type="application/json"
            ),
        }
    )

    def crawl():
        return run_crawl(
            f"{site.url}/", arguments={"render": "never"}, settings={"DOWNLOAD_MAXSIZE": 50_000}
        )

    first = crawl()
    documents = first.by_path(site.url)
    assert set(documents) == {"/", "/api", "/guide", "/held"}
    made = document("List ships").format(base=site.url)
    assert documents["/api"]["content"] == made
    assert documents["/api"]["title"] == "Harbour"
    assert documents["/held"]["content"] == document("Held ships").format(base=site.url)
    assert documents["/guide"]["content"] == f"# Guide\n\nHow to use it.\n\n{made}"
    assert {documents[path]["origin"] for path in ("/api", "/guide", "/held")} == {"text"}
    assert (first.stats["llms/openapi/documents"], first.stats["llms/openapi/failed"]) == (3, 1)
    assert first.stats["llms/filtered/needs-browser"] == 1

    again = crawl().by_path(site.url)
    assert {page["change"] for page in again.values()} == {"unchanged"}
    assert set(again) == {"/", "/api", "/guide", "/held"}

    site.pages["/harbour.json"] = api("All ships")
    changed = {path: page["change"] for path, page in crawl().by_path(site.url).items()}
    assert changed == {
        "/": "unchanged",
        "/api": "changed",
        "/guide": "changed",
        "/held": "unchanged",
    }


def test_of_a_file_that_is_too_large_the_last_line_says_its_size_and_the_setting(serve, run_crawl):
    site = serve(
        {"/": TOO_LARGE, "/large.json": Reply(" " * 100_000, content_type="application/json")}
    )
    outcome = run_crawl(
        f"{site.url}/", arguments={"render": "never"}, settings={"DOWNLOAD_MAXSIZE": 50_000}
    )
    limit = "it is larger than DOWNLOAD_MAXSIZE (100000 bytes, 50000 are taken)"
    why = f"no OpenAPI file at {site.url}/large.json: {limit}"
    last = outcome.log.splitlines()[-1]
    assert "no_documents" in last
    assert last.endswith(f"; {why}: raise that setting")
    assert f"  needs-browser: {site.url}/ (render=never; {why}: raise that setting)" in outcome.log


def test_the_api_is_in_a_script_or_a_configuration_of_its_own(serve, run_crawl):
    """An initializer names the file, another holds the API, a configuration names one."""
    place = "<title>Reference</title><div id='swagger-ui'></div><script src='/swagger-ui-bundle.js'></script>"
    harbour = str(api("In JavaScript").body)
    script = Reply(
        f"const doc = {harbour};\nonload = () => SwaggerUIBundle({{url: 'https://shop.example/a.json', spec: doc}})",
        content_type="text/javascript",
        headers={"ETag": '"1"'},
    )
    site = serve(
        {
            "/": html(
                "Home",
                "".join(
                    f"<p>Home.</p><a href='/{n}/'>{n}</a>" for n in ("named", "held", "config")
                ),
            ),
            "/named/": f"{place}<script src='swagger-initializer.js'></script>",
            "/named/swagger-initializer.js": "ui = SwaggerUIBundle({url: '/harbour.json', dom_id: '#swagger-ui'})",
            "/harbour.json": api("List ships"),
            "/held/": f"{place}<script src='main.js'></script>",
            "/held/main.js": script,
            "/config/": f"{place}<script>SwaggerUIBundle({{configUrl: '/config.json'}})</script>",
            "/config.json": Reply('{"url": "/harbour.json"}', content_type="application/json"),
        }
    )
    first = run_crawl(f"{site.url}/", arguments={"render": "never"})
    documents = first.by_path(site.url)
    assert documents["/named/"]["content"] == document("List ships").format(base=site.url)
    assert documents["/held/"]["content"] == document("In JavaScript").format(base=site.url)
    assert documents["/config/"]["content"] == documents["/named/"]["content"]
    assert documents["/held/"]["fetched_url"] == f"{site.url}/held/main.js"
    again = run_crawl(f"{site.url}/", arguments={"render": "never"}).by_path(site.url)
    assert {page["change"] for page in again.values()} == {"unchanged"}
    assert len(again) == 4
