"""Docsify sites: their Markdown files under the routes that draw them, without a browser."""

from __future__ import annotations

from site_server import Reply

INDEX = """<!DOCTYPE html><html><head><title>Heron</title></head><body><div id="app">Please wait...</div>
<script>
window.$docsify = { name: 'Heron', loadSidebar: true, loadNavbar: '_nav.md', coverpage: true,
  alias: { '/.*/_sidebar.md': '/_sidebar.md' }, search: { paths: 'auto' } }
</script><script src="//cdn.example/docsify@4/lib/docsify.min.js"></script></body></html>"""


def markdown(text: str) -> Reply:
    return Reply(text, content_type="text/markdown")


SITE = {
    "/": "<main><h1>Home</h1><p>Welcome.</p><a href='/docs/'>Documentation</a></main>",
    "/docs/": INDEX,
    "/docs/README.md": markdown("# Heron\n\nSee [start](quickstart.md#first), ![x](pic.png).\n"),
    "/docs/_coverpage.md": markdown("# Heron\n\n[Get Started](#/covered)\n"),
    "/docs/_sidebar.md": markdown(
        "- [Home](/)\n- [Quick start](quickstart.md)\n- [Reference](ref/)\n- [x](missing)\n"
    ),
    "/docs/_nav.md": markdown("- [New](new)\n"),
    "/docs/quickstart.md": markdown(
        "# Quick start\n\n[Here](#first) or [there](ref/api.md).\n\n## First\n"
    ),
    "/docs/covered.md": markdown("# Covered\n"),
    "/docs/new.md": markdown("# New\n"),
    "/docs/ref/README.md": markdown("# Reference\n\nIts pages.\n"),
    "/docs/ref/api.md": markdown("# API\n\nAll of it.\n"),
    "/docs/ref/_sidebar.md": markdown("- [Types](ref/types)\n- [API](/ref/api)\n"),
    "/docs/ref/types.md": markdown("# Types\n\nEach of them.\n"),
    "/docs/missing.md": Reply(INDEX),
}
ROUTES = {
    "/docs/",
    *(
        f"/docs/#/{route}"
        for route in ("quickstart", "ref/", "ref/api", "ref/types", "covered", "new")
    ),
}


def test_they_are_not_rendered_where_all_html_is(serve, run_crawl):
    outcome = run_crawl(f"{serve(SITE).url}/docs/", arguments={"render": "always"})
    documents = outcome.documents
    assert len(documents) == len(ROUTES)
    assert {document["origin"] for document in documents} == {"markdown"}


def test_the_files_are_documents_under_their_routes(serve, run_crawl):
    """A recrawl asks for the same; a sidebar that cannot be read leaves the run incomplete."""
    site = serve(SITE)
    first = run_crawl(f"{site.url}/", arguments={"render": "never"})
    documents = first.by_path(site.url)
    assert set(documents) == {"/", *ROUTES}
    assert {documents[path]["origin"] for path in ROUTES} == {"markdown"}
    assert documents["/docs/"]["content"] == (
        f"# Heron\n\nSee [start]({site.url}/docs/#/quickstart?id=first), ![x]({site.url}/docs/pic.png).\n"
    )
    quickstart = documents["/docs/#/quickstart"]
    assert quickstart["fetched_url"] == f"{site.url}/docs/quickstart.md"
    assert quickstart["links"] == [
        {"text": "Here", "url": f"{site.url}/docs/#/quickstart?id=first"},
        {"text": "there", "url": f"{site.url}/docs/#/ref/api"},
    ]
    assert documents["/docs/#/new"]["title"] == "New"
    assert first.stats["llms/errors/not_found"] == 1
    assert not [line for line in first.lines if "not complete" in line]

    del site.pages["/docs/_nav.md"]
    site.pages["/docs/ref/api.md"] = markdown("# API\n\nMore of it.\n")
    again = run_crawl(f"{site.url}/", arguments={"render": "never"})
    changes = {path: document["change"] for path, document in again.by_path(site.url).items()}
    assert changes == {**dict.fromkeys({"/", *ROUTES}, "unchanged"), "/docs/#/ref/api": "changed"}
    assert any(
        "_nav.md, which links to the site's pages, could not be read" in line
        for line in again.lines
    )


def test_a_shell_of_routes_that_no_browser_draws_is_not_the_whole_site(serve, run_crawl):
    shell = (
        "<html><head><title>Heron</title></head><body><nav><a href='#/guide'>The guide</a> <a href='#/api'>The API</a> "
        "<a href='#/more'>More to read</a></nav><p>"
        "Heron needs scripts to show you all of the pages that it has.</p><div id='app'></div>"
        "<script src='/app.js'></script></body></html>"
    )
    site = serve(
        {
            "/": "<main><h1>Home</h1><p>Welcome.</p><a href='/app/'>Documentation</a></main>",
            "/app/": shell,
        }
    )
    crawl = run_crawl(f"{site.url}/", arguments={"render": "never"})

    assert set(crawl.by_path(site.url)) == {"/", "/app/"}
    assert any(
        "/app/ and the pages that it leads to are rendered by scripts" in line
        for line in crawl.lines
    )


def test_elements_that_draw_a_file(serve, run_crawl):
    """A page whose text an element draws from a Markdown file is that file."""
    site = serve(
        {
            "/": "<main><h1>Home</h1><p>Welcome.</p><a href='/one'>One</a></main>",
            "/one": "<html><head><title>x</title></head><body><zero-md src='texts/one.md'></zero-md>"
            "<script type='module' src='/zero-md.js'></script></body></html>",
            "/texts/one.md": markdown("# One\n\nDrawn by an element, [two](two.md).\n"),
        }
    )
    crawl = run_crawl(f"{site.url}/", arguments={"render": "never"})
    one = crawl.by_path(site.url)["/one"]
    assert (one["title"], one["origin"]) == ("One", "markdown")


def test_the_configuration_is_a_script_of_its_own(serve, run_crawl):
    """What of it is a program is said, and the run is not complete."""
    page, _, rest = INDEX.partition("<script>")
    config, _, loader = rest.partition("</script>")
    program = config.replace("alias: {", "routes: { '/now': (route) => '# Now' }, alias: {")
    site = serve(
        {
            **SITE,
            "/docs/": f"{page}<script src='config.js'></script>{loader}",
            "/docs/config.js": Reply(program, content_type="text/javascript"),
        }
    )
    crawl = run_crawl(f"{site.url}/", arguments={"render": "never"})
    assert set(crawl.by_path(site.url)) == {"/", *ROUTES}
    assert site.paths().count("/docs/config.js") == 1
    assert any("not read (routes) say what some of its pages are" in line for line in crawl.lines)
    assert any("incomplete (" in line for line in crawl.lines)
