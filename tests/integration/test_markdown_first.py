"""A host that has the Markdown of its pages: it is asked for first, and taken where it is the page's."""

from __future__ import annotations

import pytest
from site_server import TYPES, Reply

PAGES = [f"/docs/p{number}" for number in range(40)]


def html(title: str, body: str) -> str:
    content = f"<main><h1>{title}</h1>{body}</main>"
    return f"<!doctype html><html><head><title>{title}</title></head><body>{content}</body></html>"


@pytest.fixture
def pages():
    """A site that lists the Markdown of each of its pages."""
    links = "".join(f"<a href='{path}'>x</a>" for path in PAGES)
    return {
        "/": html("Home", f"<p>Welcome to it.</p>{links}"),
        "/llms.txt": "# Site\n\n" + "".join(f"- [Page]({path}.md)\n" for path in PAGES),
        **{path: html(path, f"<p>The page {path}.</p>") for path in PAGES},
        **{f"{path}.md": f"# {path}\n\nThe Markdown of {path}.\n" for path in PAGES},
    }


def test_each_page_comes_as_its_markdown(serve, run_crawl, pages):
    site = serve(pages)
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", *PAGES}
    assert {documents[path]["origin"] for path in PAGES} == {"markdown"}
    assert outcome.stats["llms/markdown/hit"] == len(PAGES)
    assert [site.paths().count(f"{path}.md") for path in PAGES] == [1] * len(PAGES)


def test_markdown_that_is_not_there_is_asked_once(serve, run_crawl, pages):
    dead = PAGES[30:33]
    site = serve(
        {
            path: page
            for path, page in pages.items()
            if path.removesuffix(".md") not in dead or path in dead
        }
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert {path for path in PAGES if documents[path]["origin"] == "html"} == set(dead)
    asked = site.paths()
    assert [asked.count(f"{path}.md") for path in dead] == [1, 1, 1]
    assert [asked.count(path) for path in dead] == [1, 1, 1]
    assert outcome.stats["llms/markdown/miss"] == len(dead) + 2, "and two forms of the start page"


def test_a_page_that_robots_txt_forbids_is_not_taken_as_markdown_either(serve, run_crawl, pages):
    site = serve(
        {
            **pages,
            "/robots.txt": f"User-agent: *\nDisallow: {PAGES[30]}$\nDisallow: {PAGES[31]}.md$\n",
        }
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", *PAGES} - {PAGES[30]}
    assert documents[PAGES[31]]["origin"] == "html", "only its Markdown is forbidden"
    assert not {PAGES[30], f"{PAGES[30]}.md", f"{PAGES[31]}.md"} & set(site.paths())


def test_redirects_and_retries_of_the_markdown_are_followed(serve, run_crawl, pages):
    moved, late, elsewhere = PAGES[30:33]
    answers = iter([503])

    def unready(_seen):
        status = next(answers, 200)
        return Reply(pages[f"{late}.md"] if status == 200 else "", status, TYPES["md"])

    site = serve(
        {
            **pages,
            f"{moved}.md": Reply("", 301, headers={"Location": f"{moved}.html.md"}),
            f"{moved}.html.md": pages[f"{moved}.md"],
            f"{late}.md": unready,
            f"{elsewhere}.md": Reply("", 302, headers={"Location": "/docs/p1.md"}),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", *PAGES}
    assert documents[moved]["fetched_url"] == f"{site.url}{moved}.html.md"
    assert (documents[late]["origin"], site.paths().count(f"{late}.md")) == ("markdown", 2)
    assert documents[elsewhere]["origin"] == "html", (
        "the Markdown of another page is not taken for its own"
    )


@pytest.mark.parametrize("kind", [".md", ""], ids=["Markdown", "HTML"])
def test_no_more_pages_are_fetched_than_max_pages_wants(serve, run_crawl, pages, kind):
    if not kind:
        pages = {path: page for path, page in pages.items() if not path.endswith((".md", ".txt"))}
    site = serve(pages)
    assert len(run_crawl(f"{site.url}/", arguments={"max_pages": 7}).documents) == 7
    assert len([path for path in site.paths() if path in pages and path.endswith(kind)]) <= 7 + 4


def link_to(*paths: str) -> str:
    return "".join(f"<a href='{path}'>x</a>" for path in paths)


@pytest.mark.parametrize("start", ["/", "/docs/", "/docs/s0/p30"])
def test_the_markdown_that_a_site_names_is_taken_whatever_the_start_page(serve, run_crawl, start):
    """The site links to `/docs/p` and lists `/docs/p/index.md`, two dead ones first.

    A blog has no Markdown, two pages have some that is not listed.
    """
    dead = ["/docs/gone", "/docs/gone-too"]
    listed = [f"/docs/s{number % 5}/p{number}" for number in range(40)]
    blog = [f"/blog/b{number}" for number in range(10)]
    unlisted = ["/docs/s0/more/", "/docs/s1/more/"]
    home = link_to("/docs/", *blog, *unlisted, *listed[:20])
    site = serve(
        {
            "/": html("Home", f"<p>Welcome to it.</p>{home}"),
            "/index.md": "# Home\n\nWelcome to it.\n",
            "/docs/": html("Documentation", f"<p>All of it.</p>{link_to(*listed)}"),
            "/llms.txt": "# Site\n\n"
            + "".join(f"- [Page]({path}/index.md)\n" for path in [*dead, *listed]),
            **{path: html(path, f"<p>Post {path}.</p>") for path in blog},
            **{path: html(path, f"<p>The page {path}.</p>{home}") for path in [*listed, *unlisted]},
            **{f"{path}/": html(path, f"<p>The page {path}.</p>{home}") for path in listed},
            **{
                f"{path.rstrip('/')}/index.md": f"# {path}\n\nThe page {path}.\n"
                for path in [*listed, *unlisted]
            },
        }
    )
    outcome = run_crawl(f"{site.url}{start}", arguments={"scope": "host"})
    origins = {
        path.rstrip("/"): document["origin"] for path, document in outcome.by_path(site.url).items()
    }
    assert len(origins) == len(outcome.documents)
    named_or_beside = {path.rstrip("/") for path in [*listed, *unlisted]}
    assert {path for path, origin in origins.items() if origin == "markdown"} - {
        ""
    } == named_or_beside
    assert set(blog) <= set(origins)
    if start == "/":
        assert origins[""] == "markdown", "it came before the form was known, and was asked again"
        assert outcome.stats["llms/markdown/asked-again"] >= 1
    wasted = [path for path in site.paths() if path.endswith(".md") and path not in site.pages]
    assert len(wasted) <= 12


@pytest.mark.parametrize("first", ["/a/b", "/a/b/"])
def test_a_page_that_is_linked_without_its_slash_is_one_page(serve, run_crawl, first):
    """The server shows it at both addresses, as some do, and its Markdown differs from its HTML."""
    names = sorted(["/a/b", "/a/b/"], key=lambda path: path != first)
    links = "".join(f"<p><a href='{path}'>x</a></p>" for path in names)
    page = html("B", "<p>What there is to say of b, as the page says it.</p>")
    site = serve(
        {
            "/": html("Home", f"<p>Welcome to it.</p><a href='/a/'>a</a>{links}"),
            "/index.md": f"# Home\n\nWelcome to it. [a](/a/), [b]({names[0]}), [b]({names[1]})\n",
            "/a/": html("A", "<p>What there is to say of a.</p>"),
            "/a/index.md": "# A\n\nWhat there is to say of a.\n",
            "/a/b": page,
            "/a/b/": page,
            "/a/b/index.md": "# B\n\nWhat there is to say of *b*, as its author wrote it.\n",
        }
    )
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(documents) == {"/", "/a/", "/a/b/"}
    assert documents["/a/b/"]["origin"] == "markdown"
