"""Each page of a site is a document once, whatever spellings of its address a site uses, and none is lost over them."""

from __future__ import annotations

import pytest
from site_server import Reply
from sites import html

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]


def text(name: str) -> str:
    return f"What {name} says, at such length that it is a page of its own."


def page(name: str, *paths: str, head: str = "") -> str:
    links = "".join(f"<a href='{path}'>see</a> " for path in paths)
    return html(name, f"<p>{text(name)}</p>{links}", head)


def named(site, path: str) -> str:
    return f"<link rel='canonical' href='{site.url}{path}'>"


def llms_txt(*paths: str) -> str:
    return "# Site\n\n> What it is.\n\n## Docs\n\n" + "\n".join(
        f"- [{path}]({path})" for path in paths
    )


def paths_of(outcome, site) -> set[str]:
    assert len(outcome.documents) == len(outcome.by_path(site.url))
    return set(outcome.by_path(site.url))


def test_spellings_that_each_link_to_themselves_are_one_page(serve, run_crawl):
    spellings = [path for name in NAMES for path in (f"/{name}", f"/{name}.html")]
    site = serve({"/": page("Home", "/index", *spellings)})
    site.pages["/index"] = site.pages["/"]
    for name in NAMES:
        for path in (f"/{name}", f"/{name}.html"):
            site.pages[path] = page(name, path, *spellings[:4], head=named(site, path))
    outcome = run_crawl(f"{site.url}/")
    assert {path.removesuffix(".html") for path in paths_of(outcome, site)} == {
        "/",
        *(f"/{n}" for n in NAMES),
    }
    assert len(outcome.documents) == 1 + len(NAMES)


@pytest.mark.parametrize(("end", "page_end"), [("", ""), (".md", "/")])
def test_pages_of_a_full_text_file_are_not_requested_in_another_spelling(
    serve, run_crawl, end, page_end
):
    site = serve({"/": page("Home", *(f"/{name}/" for name in NAMES))})
    texts = (f"# {name}\n\nSource: {{base}}/{name}{end}\n\n{text(name)}" for name in NAMES)
    site.pages["/llms-full.txt"] = "\n\n".join(("# Site", *texts))
    site.pages["/llms.txt"] = llms_txt(*(f"/{name}{end}" for name in NAMES))
    for name in NAMES:
        site.pages[f"/{name}/"] = page(name, *(f"/{other}/" for other in NAMES))
    outcome = run_crawl(f"{site.url}/")
    assert paths_of(outcome, site) == {"/", *(f"/{name}{page_end}" for name in NAMES)}
    assert len({path for path in site.paths() if path.strip("/") in NAMES}) < len(NAMES)


def test_pages_that_count_as_another_are_documents_where_nothing_came_of_that(serve, run_crawl):
    site = serve(
        {
            "/": page(
                "Home", "/old/x", "/new/x", "/there", "/a", *(f"/docs/{name}" for name in NAMES)
            )
        }
    )
    site.pages["/old/x"] = page("X", head=named(site, "/new/x"))
    site.pages["/new/x"] = page("X", head=named(site, "/old/x"))
    site.pages["/there"] = page("There", head=named(site, "/moved/there"))
    site.pages["/moved/there"] = Reply("", 301, headers={"Location": "{base}/there"})
    for path, other in (("/a", "/b"), ("/b", "/a")):
        site.pages[path] = f"<title>-</title><meta http-equiv='refresh' content='0; url={other}'>"
    site.pages["/llms.txt"] = llms_txt(
        *(f"/docs/{name}{end}" for name in NAMES for end in ("", ".md"))
    )
    for name in NAMES:
        long = f"<p>{name} at length, of which its Markdown has nothing.</p>" * 40
        site.pages[f"/docs/{name}"] = html(name, long, named(site, f"/docs/{name}/"))
        site.pages[f"/docs/{name}/"] = site.pages[f"/docs/{name}"]
        site.pages[f"/docs/{name}.md"] = f"# {name}\n\nSee the page.\n"
    outcome = run_crawl(f"{site.url}/")
    assert paths_of(outcome, site) == {
        "/",
        "/new/x",
        "/there",
        *(f"/docs/{name}" for name in NAMES),
    }
    assert any(
        "/a (it counts as another page, of which nothing came)" in line for line in outcome.lines
    )


def test_addresses_that_pages_name_as_their_own_are_requested_until_some_are_dead(serve, run_crawl):
    paths = [f"/p{number}/" for number in range(60)]
    site = serve({"/": page("Home", *paths)})
    for path in paths:
        site.pages[path] = page(path, *paths, head=named(site, path.removesuffix("/") + ".html"))
    outcome = run_crawl(f"{site.url}/", settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 2})
    assert paths_of(outcome, site) == {"/", *paths}
    assert len([path for path in site.paths() if path.endswith(".html")]) < 30


def test_forms_of_pages_and_frames_are_the_pages(serve, run_crawl):
    site = serve(
        {"/": page("Home", "/llms.mdx/docs/first", "/index.html?api/Second.html", "/docs/first")}
    )
    site.pages["/docs/first"] = page("First", "/llms.mdx/docs/first/content.md")
    site.pages["/api/Second.html"] = page("Second", "/index.html?api/Second.html")
    site.pages["/llms.txt"] = llms_txt("/docs/first", "/_llms-txt/guides.txt")
    site.pages["/_llms-txt/guides.txt"] = (
        "# Guides\n\n# First\n\nWhat it says.\n\n# Second\n\nWhat it says.\n"
    )
    assert paths_of(run_crawl(f"{site.url}/"), site) == {"/", "/docs/first", "/api/Second.html"}


def test_markdown_of_quarto_is_its_page(serve, run_crawl):
    """`x.llms.md`, which its llms.txt names beside the `x.html` of its sitemap."""
    site = serve({"/": page("Home", "/alpha.html", "/guide/")})
    pages = {
        "/alpha.html": "/alpha.llms.md",
        "/guide/beta.html": "/guide/beta.llms.md",
        "/guide/": "/guide/index.llms.md",
    }
    for path, twin in pages.items():
        site.pages[path] = page(path.strip("/"), "/alpha.html")
        site.pages[twin] = f"# {path}\n\n{text(path.strip('/'))}\n"
    site.pages["/llms.txt"] = llms_txt(*pages.values())
    locations = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in pages)
    site.pages["/sitemap.xml"] = (
        f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locations}</urlset>"
    )
    outcome = run_crawl(f"{site.url}/")
    assert paths_of(outcome, site) == {"/", *pages}
    found = outcome.by_path(site.url)
    assert {path: found[path]["fetched_url"] for path in pages} == {
        path: site.url + twin for path, twin in pages.items()
    }


@pytest.mark.parametrize(("versions", "number"), [("start", 3), ("all", 4)])
def test_a_listed_page_of_another_version_that_says_the_same_is_that_page(
    serve, run_crawl, versions, number
):
    site = serve({"/": page("Home", "/conduct.html", "/guide.html"), "/guide.html": page("Guide")})
    site.pages["/llms.txt"] = llms_txt("/dev/conduct.html", "/guide.html")
    for path in ("/conduct.html", "/dev/conduct.html"):
        site.pages[path] = page("Conduct", f"{path}#top")
    outcome = run_crawl(f"{site.url}/", arguments={"versions": versions})
    assert len(outcome.documents) == number
    assert [document["title"] for document in outcome.documents].count("Conduct") == number - 2


def test_a_query_that_shows_the_same_page_is_that_page(serve, run_crawl):
    site = serve({"/": page("Home", "/a", "/a?tab=more", "/b?tab=other"), "/a": page("A", "/b")})
    site.pages["/b?tab=other"], site.pages["/b"] = page("Other"), page("B")
    assert paths_of(run_crawl(f"{site.url}/"), site) == {"/", "/a", "/b", "/b?tab=other"}


def test_one_markdown_file_of_two_addresses_is_one_page(serve, run_crawl):
    site = serve({"/": page("Home", *(f"{top}/{name}" for name in NAMES for top in ("", "/docs")))})
    for name in NAMES:
        alternate = f"<link rel='alternate' type='text/markdown' href='/raw/{name}.md'>"
        site.pages[f"/{name}"] = site.pages[f"/docs/{name}"] = page(name, "#top", head=alternate)
        site.pages[f"/raw/{name}.md"] = f"# {name}\n\n{text(name)} See [the other](../other).\n"
    outcome = run_crawl(f"{site.url}/")
    titles = [document["title"] for document in outcome.documents]
    assert sorted(titles) == sorted([*NAMES, "Home"])


@pytest.mark.parametrize("status", [404, 200])
def test_a_page_titled_404_is_kept_where_the_site_answers_404_to_missing_ones(
    serve, run_crawl, status
):
    site = serve({"/": page("Home", "/guide/404-errors", "/404.html", "/gone")})
    site.pages["/guide/404-errors"] = html(
        "404 errors", "<p>What to do when a page is not there.</p>"
    )
    site.pages["/404.html"] = html("404 not found", "<p>Nothing is here.</p>")
    site.missing = Reply(html("404 missing", "<p>We looked everywhere.</p>"), status, "text/html")
    outcome = run_crawl(f"{site.url}/")
    kept = {"/guide/404-errors"} if status == 404 else set()
    assert paths_of(outcome, site) == {"/", *kept}


def test_the_html_of_a_page_is_downloaded_once(serve, run_crawl):
    site = serve(
        {
            "/": page("Home", *(f"/{name}" for name in NAMES)),
            "/index.md": f"# Home\n\n{text('Home')}\n",
        }
    )
    for name in NAMES:
        site.pages[f"/{name}"] = page(name, *(f"/{other}" for other in NAMES))
        site.pages[f"/{name}.md"] = f"# {name}\n\n{text(name)}\n"
    site.pages["/llms.txt"] = llms_txt(*(f"/{name}.md" for name in NAMES))
    parts = (f"# {name}\n\nSource: {{base}}/{name}\n\n{text(name)}" for name in NAMES[:5])
    site.pages["/llms-full.txt"] = "\n\n".join(("# Site", *parts))
    assert len(run_crawl(f"{site.url}/").documents) == 1 + len(NAMES)
    pages = [path for path in site.paths() if path == "/" or path[1:] in NAMES]
    assert pages
    assert len(pages) == len(set(pages))


def test_a_reference_that_was_not_resolved_is_no_page(serve, run_crawl):
    site = serve(
        {"/": page("Home", "/a", "%60kit.Wheel.turn%60"), "/a": page("A", "/api/`kit.Wheel`")}
    )
    outcome = run_crawl(f"{site.url}/")
    assert paths_of(outcome, site) == {"/", "/a"}
    assert not [path for path in site.paths() if "kit" in path]
    assert outcome.stats["llms/filtered/invalid-url"] == 2


def test_a_start_page_given_as_markdown_is_that_page(serve, run_crawl):
    site = serve({"/": page("Home", *(f"/docs/{name}" for name in NAMES))})
    for name in NAMES:
        site.pages[f"/docs/{name}"] = page(name, "/", *(f"/docs/{other}" for other in NAMES))
        site.pages[f"/docs/{name}.md"] = f"# {name}\n\n{text(name)}\n"
    site.pages["/llms.txt"] = llms_txt(*(f"/docs/{name}.md" for name in NAMES[:3]))
    doors = (f"{site.url}/docs/alpha", f"{site.url}/docs/alpha.md")
    found = [paths_of(run_crawl(door, arguments={"source": door[-3:]}), site) for door in doors]
    assert found[0] == found[1] == {f"/docs/{name}" for name in NAMES}
