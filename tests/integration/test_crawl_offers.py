"""Every way a site can offer its documentation, as a local server sees the crawl."""

from __future__ import annotations

import gzip

import pytest
from site_server import Reply
from sites import PLAIN, html

SITEMAP = (
    "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</urlset>"
)


def sitemap(*paths: str) -> str:
    return SITEMAP.format("".join(f"<url><loc>{{base}}{path}</loc></url>" for path in paths))


def full_text(number: int) -> str:
    """A full-text file as Mintlify writes it."""
    pages = (
        f"# Page {index}\nSource: {{base}}/docs/p{index}\n\nThe text of page {index}, long enough to be a page.\n\n"
        f"## Details\n\n```python\n# not a heading\nx = {index}\n```\n"
        for index in range(number)
    )
    return "\n\n".join(pages)


def page_requests(site) -> list[str]:
    return [path for path in site.paths() if path.startswith("/docs/p")]


def test_the_pages_of_a_full_text_file_are_documents_and_are_not_fetched(serve, run_crawl):
    listing = "# Site\n\n## Docs\n\n" + "".join(
        f"- [Page {index}](/docs/p{index})\n" for index in range(8)
    )
    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/docs/p1'>p</a><a href='/docs/extra'>e</a>"),
            "/llms.txt": listing,
            "/llms-full.txt": full_text(8),
            "/docs/extra": html("Extra", "<p>Only HTML knows this page.</p>"),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", "/docs/extra", *(f"/docs/p{index}" for index in range(8))}
    page = documents["/docs/p3"]
    assert (page["origin"], page["discovered_by"], page["depth"]) == (
        "llms-full",
        "llms-full.txt",
        0,
    )
    assert page["llms"]["title"] == "Page 3"
    assert page["fetched_url"] == f"{site.url}/llms-full.txt"
    assert "The text of page 3" in page["content"]
    assert "```python\n# not a heading\nx = 3\n```" in page["content"]
    assert "Source:" not in page["content"]
    assert len([path for path in page_requests(site) if path.endswith(".md")]) == 0
    samples = outcome.stats["llms/full-text/samples"]
    assert len(page_requests(site)) <= 8 + samples, "only as link sources and samples"


def test_full_text_wins_over_the_pages_own_markdown(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", "<p>Home.</p>"),
            "/llms.txt": "# Site\n\n- [Page 0](/docs/p0.md)\n- [Page 1](/docs/p1.md)\n",
            "/llms-full.txt": full_text(2),
            "/docs/p0.md": "# Page 0\n\nAnother text.\n",
            "/docs/p1.md": "# Page 1\n\nAnother text.\n",
        }
    )
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert "The text of page 0" in documents["/docs/p0"]["content"]
    assert not [path for path in site.paths() if path.endswith("p0.md")]


def test_full_text_can_be_switched_off(serve, run_crawl):
    site = serve({**PLAIN, "/llms-full.txt": full_text(2)})
    outcome = run_crawl(f"{site.url}/", settings={"LLMS_FULL_TEXT": "off"})
    assert set(outcome.by_path(site.url)) == set(PLAIN)


def test_addresses_claimed_by_a_full_text_file_pass_the_scope(serve, run_crawl):
    text = (
        full_text(3)
        .replace("{base}/docs/p1", "https://elsewhere.example/docs/p1")
        .replace("/docs/p2", "/private/p2")
    )
    site = serve({"/docs/": html("Docs", "<p>Docs.</p>"), "/docs/llms-full.txt": text})
    outcome = run_crawl(f"{site.url}/docs/", arguments={"block": "/private/**"})
    assert set(outcome.by_path(site.url)) == {"/docs/", "/docs/p0"}
    assert outcome.stats["llms/filtered/offsite"] >= 1
    assert outcome.stats["llms/filtered/block"] == 1


def test_a_full_text_file_that_cannot_be_split_is_not_exported_while_its_pages_are_crawled(
    serve, run_crawl
):
    site = serve(
        {
            **PLAIN,
            "/llms.txt": "# Site\n\n- [Intro](/guide/intro.html)\n",
            "/llms-full.txt": "word " * 4000,
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == set(PLAIN)


def test_the_supabase_shape_one_main_file_and_eight_full_text_files(serve, run_crawl):
    names = ["guides", "js", "dart", "swift", "kotlin", "python", "csharp", "cli"]
    pages = {
        f"/llms/{name}.txt": "\n\n".join(
            f"# {name} {index}\nSource: {{base}}/docs/{name}/{index}\n\nText of {name} {index}, and some more of it.\n"
            for index in range(3)
        )
        for name in names
    }
    listing = "# Site\n\n## Docs\n\n" + "".join(
        f"- [{name}]({{base}}/llms/{name}.txt)\n" for name in names
    )
    site = serve({"/": html("Home", "<p>Home.</p>"), "/llms.txt": listing, **pages})
    outcome = run_crawl(f"{site.url}/")
    assert "read 9 llms.txt files (1 main + 8 linked)" in outcome.lines
    assert (
        len([document for document in outcome.documents if document["origin"] == "llms-full"]) == 24
    )
    assert all(site.paths().count(path) == 1 for path in pages)


def test_followed_llms_files_are_documents_full_text_too(serve, run_crawl):
    names = ["guides", "js", "dart", "swift", "kotlin", "python", "csharp", "cli"]
    listing = "# Site\n\n## Docs\n\n" + "".join(f"- [{name}](/llms/{name}.txt)\n" for name in names)
    site = serve({"/": html("Home", "<p>Home.</p>"), "/llms.txt": listing})
    for name in names:
        site.pages[f"/llms/{name}.txt"] = (
            f"# {name}\n\n" + f"All there is to know of {name}. " * 200
        )
    outcome = run_crawl(f"{site.url}/", arguments={"follow": "llms"})
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/llms.txt", *(f"/llms/{name}.txt" for name in names)}
    for name in names:
        document = documents[f"/llms/{name}.txt"]
        assert (document["title"], document["origin"]) == (name, "llms-full")
        assert document["content"] == site.pages[f"/llms/{name}.txt"].rstrip("\n") + "\n"


def test_full_text_that_cannot_be_split_is_one_document_where_there_is_no_page(serve, run_crawl):
    text = "---\ntitle: First\n---\n\n# Manual\n\n" + "All there is to know of it. " * 200
    site = serve({"/llms-full.txt": text})
    outcome = run_crawl(f"{site.url}/")
    (document,) = outcome.documents
    assert outcome.exit_code == 0
    assert (document["url"], document["title"]) == (f"{site.url}/llms-full.txt", "Manual")
    assert document["content"] == text + "\n"
    assert any("is one document (no page boundaries)" in line for line in outcome.lines)
    again = run_crawl(None, arguments={"source": document["source"], "mode": "refresh"})
    assert [(page["url"], page["change"]) for page in again.documents] == [
        (document["url"], "unchanged")
    ]


def test_a_root_index_leads_to_section_indexes(serve, run_crawl):
    site = serve(
        {
            **PLAIN,
            "/llms.txt": "# Site\n\n- [Guide](/guide/llms.txt)\n- [Other](https://other.example/llms.txt)\n",
            "/guide/llms.txt": "# Guide\n\n## Pages\n\n- [Intro](intro.html): first\n",
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert (
        outcome.by_path(site.url)["/guide/intro.html"]["llms"]["file"]
        == f"{site.url}/guide/llms.txt"
    )
    assert any("https://other.example/llms.txt" in line for line in outcome.lines)


@pytest.mark.parametrize(("depth", "read"), [(0, 1), (1, 2), (2, 3)])
def test_linked_files_are_followed_as_deep_as_asked(serve, run_crawl, depth, read):
    site = serve(
        {
            **PLAIN,
            "/llms.txt": "# A\n\n- [B](/b/llms.txt)\n",
            "/b/llms.txt": "# B\n\n- [C](/b/c/llms.txt)\n",
            "/b/c/llms.txt": "# C\n\n- [Intro](/guide/intro.html)\n",
        }
    )
    run_crawl(f"{site.url}/", settings={"LLMS_LINK_DEPTH": depth})
    assert (
        len(
            [
                path
                for path in site.paths()
                if path.endswith("llms.txt") and site.reply_status(path) == 200
            ]
        )
        == read
    )


def test_sitemaps_of_robots_txt_with_an_index_gzip_and_lastmod(serve, run_crawl):
    index = (
        "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        "<sitemap><loc>{base}/maps/a.xml.gz</loc></sitemap><sitemap><loc>{base}/maps/b.txt</loc></sitemap></sitemapindex>"
    )
    site = serve(
        {
            **PLAIN,
            "/robots.txt": "User-agent: *\nAllow: /\nSitemap: {base}/maps/index.xml\n",
            "/maps/index.xml": index,
        }
    )
    site.pages["/maps/a.xml.gz"] = Reply(
        gzip.compress(sitemap("/hidden/a.html").replace("{base}", site.url).encode()),
        content_type="application/gzip",
    )
    site.pages["/maps/b.txt"] = "{base}/hidden/b.html\n"
    site.pages["/hidden/a.html"] = html("A", "<p>Only the sitemap knows A.</p>")
    site.pages["/hidden/b.html"] = html("B", "<p>Only the sitemap knows B.</p>")
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert {"/hidden/a.html", "/hidden/b.html"} < set(documents)
    assert documents["/hidden/a.html"]["discovered_by"] == "sitemap"


def test_no_sitemap_is_read_before_every_place_of_llms_txt_was_tried(serve, run_crawl):
    site = serve(
        {
            "/docs/guide/": html("Guide", "<p>The guide.</p>"),
            "/sitemap.xml": sitemap("/docs/guide/"),
        }
    )
    run_crawl(f"{site.url}/docs/guide/")
    order = [path for path in site.paths() if "llms" in path or "sitemap" in path]
    first_sitemap = next(index for index, path in enumerate(order) if "sitemap" in path)
    assert {"/docs/guide/llms.txt", "/docs/llms.txt", "/llms.txt", "/.well-known/llms.txt"} <= set(
        order[:first_sitemap]
    )


def test_an_entity_bomb_in_a_sitemap_is_refused(serve, run_crawl):
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + level)} "{("&" + chr(97 + level) + ";") * 10}">' for level in range(9)
    )
    site = serve({**PLAIN, "/sitemap.xml": f"{bomb}]><urlset><url><loc>&j;</loc></url></urlset>"})
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == set(PLAIN)


@pytest.mark.parametrize("how", ["html", "header"])
def test_describedby_of_the_start_page_names_the_llms_txt(serve, run_crawl, how):
    head = (
        "<link rel='describedby' type='text/markdown' href='/meta/llms.txt'>"
        if how == "html"
        else ""
    )
    headers = {"Link": '</meta/llms.txt>; rel="describedby"'} if how == "header" else {}
    site = serve(
        {
            **PLAIN,
            "/": Reply(html("Home", "<p>Welcome to the documentation.</p>", head), headers=headers),
            "/meta/llms.txt": "# Site\n\n- [Intro](/guide/intro.html)\n",
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert (
        outcome.by_path(site.url)["/guide/intro.html"]["llms"]["file"]
        == f"{site.url}/meta/llms.txt"
    )


def test_optional_entries_can_be_skipped(serve, run_crawl):
    listing = (
        "# Site\n\n## Docs\n\n- [Intro](/guide/intro.html)\n\n## Optional\n\n- [Side](/side.html)\n"
    )
    site = serve({"/": "<html><body><p>Welcome to it.</p></body></html>", "/llms.txt": listing})
    site.pages["/guide/intro.html"] = (
        "<html><body><main><h1>Intro</h1><p>How to begin.</p></main></body></html>"
    )
    site.pages["/side.html"] = (
        "<html><body><main><h1>Side</h1><p>A side note.</p></main></body></html>"
    )
    included = run_crawl(f"{site.url}/").by_path(site.url)
    assert included["/side.html"]["llms"]["optional"] is True
    skipped = run_crawl(f"{site.url}/", arguments={"optional": "skip", "source": "skip"})
    assert "/side.html" not in skipped.by_path(site.url)
    assert skipped.stats["llms/filtered/optional"] == 1


@pytest.mark.parametrize(
    ("follow", "expected"),
    [
        ("links", {"/", "/guide/intro.html", "/guide/more.html", "/guide/deep.html"}),
        ("listed", {"/guide/intro.html"}),
        ("llms", {"/llms.txt"}),
    ],
)
def test_follow(serve, run_crawl, follow, expected):
    site = serve({**PLAIN, "/llms.txt": "# Site\n\n> About it.\n\n- [Intro](/guide/intro.html)\n"})
    outcome = run_crawl(f"{site.url}/", arguments={"follow": follow})
    documents = outcome.by_path(site.url)
    assert set(documents) == expected
    if follow == "llms":
        assert documents["/llms.txt"]["origin"] == "llms-txt"
        assert f"[Intro]({site.url}/guide/intro.html)" in documents["/llms.txt"]["content"]


@pytest.mark.parametrize("how", ["html", "header"])
def test_the_markdown_that_a_page_names_beats_guessing_and_teaches_the_host(serve, run_crawl, how):
    def page(title, name):
        head = (
            f"<link rel='alternate' type='text/markdown' href='/raw/{name}.md'>"
            if how == "html"
            else ""
        )
        headers = (
            {"Link": f'</raw/{name}.md>; rel="alternate"; type="text/markdown"'}
            if how == "header"
            else {}
        )
        links = "<a href='/a.html'>a</a> <a href='/b.html'>b</a>"
        return Reply(
            f"<html><head>{head}</head><body><main><h1>{title}</h1><p>{links}</p></main></body></html>",
            headers=headers,
        )

    site = serve(
        {
            "/": page("Home", "home"),
            "/a.html": page("A", "a"),
            "/b.html": page("B", "b"),
            **{f"/raw/{name}.md": f"# {name}\n\nMarkdown of {name}.\n" for name in ("home", "a")},
        }
    )
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert {path: document["origin"] for path, document in documents.items()} == {
        "/": "markdown",
        "/a.html": "markdown",
        "/b.html": "html",
    }
    assert documents["/a.html"]["fetched_url"] == f"{site.url}/raw/a.md"
    assert site.paths().count("/b.html") <= 2


def test_an_llms_txt_that_a_later_page_names_adds_seeds(serve, run_crawl):
    head = "<link rel='describedby' href='/guide/llms.txt'>"
    site = serve(
        {
            **PLAIN,
            "/guide/more.html": html("More", "<p>More to read.</p>", head),
            "/guide/llms.txt": "# Guide\n\n- [Hidden](hidden.html): only listed here\n- [More](/other/llms.txt)\n",
            "/guide/hidden.html": html("Hidden", "<p>Nothing links here.</p>"),
        }
    )
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert documents["/guide/hidden.html"]["llms"]["description"] == "only listed here"
    assert "/other/llms.txt" not in site.paths()


def test_link_sources_that_are_not_there_are_given_up(serve, run_crawl):
    site = serve({"/": html("Home", "<p>Home.</p>"), "/llms-full.txt": full_text(300)})
    outcome = run_crawl(f"{site.url}/")
    assert len(outcome.documents) == 301
    assert len(page_requests(site)) <= 12 + outcome.stats["llms/full-text/samples"]


def test_a_dead_markdown_link_whose_page_is_elsewhere_gives_that_page(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/a'>a</a><a href='/b'>b</a>"),
            "/llms.txt": "# Site\n\n- [A](/a.md)\n- [B](/b.md)\n- [Tutorials](/tutorials.md)\n",
            "/a": html("A", "<p>Page A.</p>"),
            "/b": html("B", "<p>Page B.</p>"),
            "/tutorials": Reply("", 301, headers={"Location": "/tutorials/"}),
            "/tutorials.html": html(
                "Tutorials", "<p>All tutorials.</p>", "<link rel='canonical' href='/tutorials'>"
            ),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert documents["/tutorials.html"]["llms"]["title"] == "Tutorials"
    assert {"/", "/a", "/b", "/tutorials.html"} <= set(documents)
    assert not [line for line in outcome.lines if "not_found" in line and "tutorials" in line]
