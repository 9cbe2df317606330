"""What is no page is revalidated too: llms files, sitemaps, robots.txt, pages read for their links only."""

from __future__ import annotations

from collections import Counter

from site_server import Reply
from sites import MARKDOWN, PLAIN, html

SITEMAP = (
    "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    "<url><loc>{base}/guide/intro.html</loc></url><url><loc>{base}/guide/mapped.html</loc></url></urlset>"
)
OFFERS = {
    **MARKDOWN,
    "/guide/mapped.html": html("Mapped", "<p>Only the sitemap names it.</p>"),
    "/robots.txt": "User-agent: *\nDisallow: /private/\nSitemap: {base}/map.xml\n",
    "/map.xml": SITEMAP,
    "/private/secret.html": html("Secret", "<p>Not for us.</p>"),
}
TEXTS = {"One": "The first page. " * 40, "Two": "The second page. " * 40}
FULL = {
    "/": html("Home", "<p>Welcome to the documentation of this thing.</p>"),
    "/llms.txt": "# Site\n\n## Guide\n\n- [One](one.html)\n- [Two](two.html)\n",
    "/llms-full.txt": "".join(
        f"# {title}\nSource: {{base}}/{title.lower()}.html\n\n{text.strip()}\n\n"
        for title, text in TEXTS.items()
    ),
}


def changes(outcome) -> Counter[str]:
    return Counter(document["change"] for document in outcome.documents)


def test_an_unchanged_site_sends_nothing_but_304(serve, run_crawl):
    site = serve(OFFERS)
    site.etags = True
    first = run_crawl(f"{site.url}/")
    asked = Counter(site.paths())
    assert asked["/robots.txt"] == asked["/llms.txt"] == asked["/map.xml"] == 1
    site.clear()
    second = run_crawl(f"{site.url}/")
    assert changes(second) == {"unchanged": len(first.documents)}
    answered = {seen.path: seen.status for seen in site.requests if seen.status != 404}
    assert set(answered.values()) == {304}
    assert {"/", "/robots.txt", "/llms.txt", "/map.xml", "/guide/intro.html"} <= set(answered)
    assert "llms/converted" not in second.stats
    assert second.stats["llms/link-sources"] == first.stats["llms/link-sources"]
    assert Counter(site.paths())["/robots.txt"] == 1


def test_a_file_that_changed_is_read_anew(serve, run_crawl):
    site = serve(OFFERS)
    site.etags = True
    run_crawl(f"{site.url}/")
    site.pages["/llms.txt"] += "- [Fresh](guide/fresh.html.md)\n"
    site.pages["/guide/fresh.html.md"] = "# Fresh\n\nNew.\n"
    site.pages["/robots.txt"] += "Disallow: /guide/mapped.html\n"
    second = run_crawl(f"{site.url}/")
    assert [document["title"] for document in second.documents if document["change"] == "new"] == [
        "Fresh"
    ]
    assert second.stats["llms/blocked/robots"] >= 1


def test_a_full_text_file_that_did_not_change_leaves_all_its_pages(serve, run_crawl):
    site = serve(FULL)
    site.etags = True
    first = run_crawl(f"{site.url}/")
    assert sorted(document["origin"] for document in first.documents) == [
        "html",
        "llms-full",
        "llms-full",
    ]
    site.clear()
    second = run_crawl(f"{site.url}/")
    assert changes(second) == {"unchanged": 3}
    statuses = {seen.path: seen.status for seen in site.requests}
    assert statuses["/llms-full.txt"] == 304
    assert "llms/converted" not in second.stats
    assert second.stats["llms/same-body"] == 3


def test_of_a_full_text_file_only_the_changed_page_is_read_again(serve, run_crawl):
    site = serve(FULL)
    run_crawl(f"{site.url}/")
    site.pages["/llms-full.txt"] = FULL["/llms-full.txt"].replace("second page", "edited page")
    second = run_crawl(f"{site.url}/", arguments={"emit": "changes"})
    assert [(document["title"], document["change"]) for document in second.documents] == [
        ("Two", "changed")
    ]
    assert second.stats["llms/converted"] == 1
    assert second.stats["llms/same-body"] == 2


def test_without_validators_no_page_is_converted_again(serve, run_crawl):
    site = serve(OFFERS)
    first = run_crawl(f"{site.url}/")
    assert first.stats["llms/converted"] == len(first.documents)
    second = run_crawl(f"{site.url}/")
    assert "llms/converted" not in second.stats
    assert second.stats["llms/same-body"] == len(first.documents)


def test_another_extractor_reads_all_pages_again_and_asks_for_their_bodies(serve, run_crawl):
    site = serve(OFFERS)
    site.etags = True
    first = run_crawl(f"{site.url}/")
    site.clear()
    second = run_crawl(f"{site.url}/", settings={"LLMS_CONVERTER": "markdownify"})
    assert second.stats["llms/converted"] == len(first.documents)
    pages = [seen for seen in site.requests if seen.path.endswith((".html.md", "mapped.html"))]
    assert {seen.status for seen in pages if seen.path != "/guide/fresh.html.md"} <= {200, 404}
    assert {seen.status for seen in site.requests if seen.path == "/llms.txt"} == {304}


def test_with_last_modified_alone(serve, run_crawl):
    stamp = "Sat, 21 Nov 2026 22:00:00 GMT"

    def dated(text):
        def answer(seen):
            if seen.headers.get("if-modified-since") == stamp:
                return Reply("", 304)
            return Reply(text, headers={"Last-Modified": stamp})

        return answer

    site = serve({path: dated(text) for path, text in PLAIN.items()})
    first = run_crawl(f"{site.url}/")
    site.clear()
    second = run_crawl(f"{site.url}/")
    assert changes(second) == {"unchanged": len(first.documents)}
    assert {seen.status for seen in site.requests if seen.path in PLAIN} == {304}


def test_a_304_nobody_asked_for_is_an_error_of_that_page(serve, run_crawl):
    site = serve({**PLAIN, "/guide/deep.html": Reply("", 304)})
    outcome = run_crawl(f"{site.url}/")
    assert len(outcome.documents) == 3
    assert outcome.stats["llms/errors/http"] == 1


def test_a_page_that_got_another_address_keeps_its_text(serve, run_crawl):
    """Known by its Markdown URL alone at first; later its HTML page shows: the stored Markdown serves both."""
    site = serve(
        {
            "/": html("Home", "<p>Welcome to the documentation of this thing.</p>"),
            "/llms.txt": "# Site\n\n## Guide\n\n- [Start](guide/start.md)\n",
            "/guide/start.md": "# Start\n\nHow to begin with it.\n",
        }
    )
    site.etags = True
    first = run_crawl(f"{site.url}/")
    assert "/guide/start.md" in {
        document["url"].removeprefix(site.url) for document in first.documents
    }
    link = "<a href='/guide/start'>Start</a></main>"
    site.pages["/"] = site.pages["/"].replace("</main>", link)
    site.pages["/guide/start"] = html("Start", "<p>How to begin with it.</p>")
    second = run_crawl(f"{site.url}/")
    texts = {
        document["url"].removeprefix(site.url): document["content"] for document in second.documents
    }
    assert any("How to begin with it." in (text or "") for text in texts.values())
    assert "llms/filtered/empty" not in second.stats


def test_an_opt_out_that_comes_with_a_304_is_obeyed(serve, run_crawl):
    site = serve(PLAIN)
    site.etags = True
    run_crawl(f"{site.url}/")
    text = PLAIN["/guide/deep.html"]
    site.pages["/guide/deep.html"] = Reply(text, headers={"X-Robots-Tag": "noai"})
    second = run_crawl(f"{site.url}/", arguments={"emit": "changes"})
    assert changes(second) == {"deleted": 1}
    assert second.stats["llms/deleted/ai-opt-out"] == 1
