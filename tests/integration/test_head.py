"""`LLMS_REVALIDATE_METHOD=HEAD`: an unchanged site costs no GET, and hosts that answer HEAD wrongly cost no page."""

from __future__ import annotations

from collections import Counter

from loopback import loopback
from site_server import Reply
from sites import MARKDOWN, PLAIN, html

HEAD = {"LLMS_REVALIDATE_METHOD": "HEAD"}
OF_THE_RUN = {"run", "seq", "change", "fetched_at"}
SITEMAP = (
    "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    "<url><loc>{base}/guide/intro.html</loc></url><url><loc>{base}/guide/mapped.html</loc></url></urlset>"
)


def lasting(outcome) -> list[dict]:
    """The documents without what belongs to a run."""
    kept = (
        {k: v for k, v in document.items() if k not in OF_THE_RUN} for document in outcome.documents
    )
    return sorted(kept, key=lambda document: document["url"])


def test_an_unchanged_site_costs_no_get_and_gives_the_same_documents(serve, run_crawl):
    mapped = html("Mapped", "<p>Only the sitemap names it.</p>")
    site = serve({**MARKDOWN, "/guide/mapped.html": mapped, "/sitemap.xml": SITEMAP})
    site.etags = True
    first = run_crawl(f"{site.url}/")
    site.clear()
    second = run_crawl(f"{site.url}/", settings=HEAD)
    assert lasting(second) == lasting(first)
    assert {document["change"] for document in second.documents} == {"unchanged"}
    got = {seen.path for seen in site.requests if seen.method == "GET" and seen.status != 404}
    assert got <= {"/guide/intro.html", "/guide/intro.html.md"}, (
        "one page a crawl is sampled in both forms"
    )
    asked = {seen.path for seen in site.requests if seen.method == "HEAD"}
    assert {"/", "/llms.txt", "/sitemap.xml", "/guide/intro.html.md", "/guide/mapped.html"} <= asked
    assert "llms/head/refused" not in second.stats

    site.pages["/guide/intro.html.md"] += "\nMore of it." * 40 + "\n"
    site.clear()
    third = run_crawl(f"{site.url}/", settings=HEAD)
    changed = {d["url"].removeprefix(site.url) for d in third.documents if d["change"] == "changed"}
    assert changed == {"/guide/intro.html"}
    got = {seen.path for seen in site.requests if (seen.method, seen.status) == ("GET", 200)}
    assert "/guide/intro.html.md" in got
    sample = {"/guide/more.html", "/guide/more.html.md"}
    assert got - sample <= {"/guide/intro.html.md", "/guide/intro.html"}, (
        "the page looked at longest ago is a sample"
    )


def only_get(head: Reply):
    """A page with an ETag, of which HEAD says something else."""

    def answer(seen) -> Reply:
        if seen.method == "HEAD":
            return head
        status = 304 if seen.headers.get("if-none-match") == '"p"' else 200
        body = (
            html(f"Page {port_of(seen)}{seen.path}", f"<p>The text of {seen.path}.</p>")
            if status == 200
            else ""
        )
        return Reply(body, status, None, {"ETag": '"p"'})

    return answer


def port_of(seen) -> str:
    """The port of the server that was asked, so that no two pages have one title."""
    return seen.headers["host"].partition(":")[2]


def with_a_body(arrived) -> tuple[int, dict[str, str], bytes]:
    """An answer that has a body whatever the method: what follows HEAD is no answer to the next request."""
    if arrived.target == "/robots.txt":
        return 404, {}, b""
    page = html(
        f"Chapter {arrived.target[2:4]}",
        f"<p>The text of {arrived.target}.</p>" + "<p>And more.</p>" * 500,
    )
    return 200, {"ETag": '"p"'}, page.encode()


def test_hosts_that_answer_head_wrongly_are_asked_with_get(serve, run_crawl):
    wrong = {
        "405": Reply("", 405),
        "another ETag": Reply("", 200, None, {"ETag": '"h"'}),
        "no ETag": Reply(""),
        "404": Reply("", 404),
    }
    paths = [f"/p{number}.html" for number in range(4)]
    sites = {
        name: serve({**dict.fromkeys(paths, only_get(head)), "/robots.txt": Reply("", 404)})
        for name, head in wrong.items()
    }
    with loopback(with_a_body) as body:
        listed = [f"{site.url}{path}" for site in sites.values() for path in paths]
        listed += [body.url(path) for path in paths]
        main = serve(
            {
                **PLAIN,
                "/llms.txt": "# Site\n\n## Pages\n\n"
                + "".join(f"- [Text {number}]({url})\n" for number, url in enumerate(listed)),
            }
        )
        main.etags = True
        first = run_crawl(f"{main.url}/", arguments={"follow": "listed"})
        assert {document["url"] for document in first.documents} >= set(listed)
        for site in sites.values():
            site.clear()
        body.requests.clear()
        second = run_crawl(f"{main.url}/", arguments={"follow": "listed"}, settings=HEAD)
        assert lasting(second) == lasting(first)
        assert {document["change"] for document in second.documents} == {"unchanged"}
    for name, site in sites.items():
        asked = Counter((seen.path, seen.method) for seen in site.requests)
        assert all(asked[path, "GET"] == 1 for path in paths), name
        said = [
            line
            for line in second.lines
            if line.startswith(f"{site.url.partition('//')[2]} gets GET")
        ]
        assert len(said) == 1, name
    assert second.stats["llms/head/refused"] >= len(sites)
    assert "llms/errors/network" not in second.stats
