"""Scope, languages and versions, canonical addresses, opt-outs and retries in whole crawls."""

from __future__ import annotations

import itertools
import json

import pytest
from crawling import command
from site_server import Reply
from sites import PLAIN, html


def linked(*paths: str) -> str:
    return "".join(f"<a href='{path}'>{path}</a> " for path in paths)


VERSIONED = {
    "/": html(
        "Home",
        f"<p>Welcome to it.</p>{linked('/dev/', '/dev/ref/a.html', '/ref/a.html', '/ref/b.html', '/v1/notes')}",
    ),
    "/ref/a.html": html("A", f"<p>Page A.</p>{linked('/dev/ref/a.html')}"),
    "/ref/b.html": html("B", "<p>Page B.</p>"),
    "/v1/notes": html("Notes", "<p>There is only one copy of these.</p>"),
    "/dev/": html(
        "Home dev", f"<p>Development version.</p>{linked('/dev/ref/a.html', '/dev/ref/new.html')}"
    ),
    "/dev/ref/a.html": html("A dev", "<p>Page A, dev.</p>"),
    "/dev/ref/new.html": html("New dev", "<p>New in dev.</p>"),
}


def test_another_version_is_left_out_by_name_and_taken_when_asked(serve, run_crawl):
    site = serve(VERSIONED)
    outcome = run_crawl(f"{site.url}/")
    own = {"/", "/ref/a.html", "/ref/b.html", "/v1/notes", "/guide/intro.html", "/guide/more.html"}
    assert set(outcome.by_path(site.url)) == own & set(VERSIONED)
    assert outcome.stats["llms/filtered/version"] == 2
    every = run_crawl(f"{site.url}/", arguments={"versions": "all", "source": "every"})
    assert set(every.by_path(site.url)) == set(VERSIONED)


def version(above, *names, title):
    pages = {
        f"{above}{name}.html": html(f"{name} {title}", f"<p>What {name} is in {title}.</p>")
        for name in names
    }
    index = html(f"Home {title}", f"<p>Home of {title}.</p>{linked(*pages)}")
    return {above: index, **pages}


def test_a_page_above_all_versions_leads_to_one_and_one_page_is_no_version(serve, run_crawl):
    old = [version(f"/docs/{number}/", "a", "b", title=number) for number in ("1.24", "1.25")]
    wanted = version("/current/", "a", "b", "c", title="now")
    wanted["/releases/1.25/"] = html("1.25", "<p>What is new in it.</p>")
    wanted["/tags/preview/"] = html("Developing", "<p>How to work on it.</p>")
    front = {"/": html("Home", f"<p>Welcome.</p>{linked(*wanted, '/docs/1.24/', '/docs/1.25/')}")}
    site = serve({**front, **wanted, **old[0], **old[1]})
    for _ in range(2):
        outcome = run_crawl(f"{site.url}/")
        assert set(outcome.by_path(site.url)) == {*front, *wanted}
        assert outcome.stats["llms/filtered/version"] == 2
        assert {path for path in site.paths() if path.startswith("/docs/1")} == {
            "/docs/1.24/",
            "/docs/1.25/",
        }


def moved(target):
    return f"<html><head><title>Moved</title><meta http-equiv='refresh' content='0; url={target}'></head></html>"


LED_TO = {
    "/": html("Home", f"<p>Welcome to it.</p>{linked('/docs', '/docs/intro', '/docs/v1/old')}"),
    "/docs": moved("/docs/v2/intro"),
    "/docs/v2/intro": html(
        "Intro", f"<p>Of the second version.</p>{linked('/docs/v2/use', '/docs/v1/intro')}"
    ),
    "/docs/v2/use": html("Use", "<p>How to use the second version.</p>"),
    "/docs/v1/intro": html("Intro 1", f"<p>Of the first version.</p>{linked('/docs/v1/old')}"),
    "/docs/v1/old": html("Old", "<p>What only the first version has.</p>"),
}


def test_the_version_that_a_site_leads_to_is_taken_though_its_old_links_are_dead(serve, run_crawl):
    site = serve(LED_TO)
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/", "/docs/v2/intro", "/docs/v2/use"}
    assert outcome.stats["llms/filtered/version"] == 2


RENAMED = {
    "/": html(
        "Home", f"<p>Welcome to it.</p>{linked('/v1/gone.html', '/v2/only.html', '/ref/a.html')}"
    ),
    "/ref/a.html": html("A", f"<p>Page A, now.</p>{linked('/ref/b.html')}"),
    "/ref/b.html": html("B", "<p>Page B, now.</p>"),
    "/v1/gone.html": html(
        "Gone", f"<p>It has another name now.</p>{linked('/v1/gone2.html', '/v1/ref/b.html')}"
    ),
    "/v1/gone2.html": html("Gone too", "<p>It has no successor.</p>"),
    "/v1/ref/b.html": html("B", "<p>Page B, long ago.</p>"),
    "/v2/only.html": html("Only", f"<p>The second interface.</p>{linked('/v2/more.html')}"),
    "/v2/more.html": html("More of it", "<p>More of the second interface.</p>"),
}


def test_a_copy_is_out_as_a_whole_whatever_is_linked_first(serve, run_crawl):
    home = RENAMED["/"].replace("/v1/gone.html'", "/v1/gone.html'></a><a href='/v1/ref/b.html'")
    site = serve({**RENAMED, "/": home})
    outcome = run_crawl(f"{site.url}/")
    taken = {path for path in outcome.by_path(site.url) if not path.startswith("/guide")}
    assert taken == {"/", "/ref/a.html", "/ref/b.html", "/v2/only.html", "/v2/more.html"}
    assert "/v1/gone.html" not in site.paths()


def test_the_start_pages_language_is_kept_and_another_can_be_asked_for(serve, run_crawl):
    head = "<link rel='alternate' hreflang='fr' href='/fr/'><link rel='alternate' hreflang='en' href='/en/'>"
    site = serve(
        {
            "/en/": html("Home", f"<p>Welcome to it.</p>{linked('/en/a', '/fr/', '/fr/a')}", head),
            "/en/a": html("A", "<p>Page A.</p>"),
            "/fr/": html("Accueil", f"<p>Bienvenue.</p>{linked('/fr/a', '/en/')}", head),
            "/fr/a": html("A", "<p>La page A.</p>"),
        }
    )
    english = run_crawl(f"{site.url}/en/", arguments={"scope": "host"})
    assert set(english.by_path(site.url)) == {"/en/", "/en/a"}
    assert english.stats["llms/filtered/language"] == 2
    french = run_crawl(f"{site.url}/en/", arguments={"language": "fr", "source": "fr"})
    assert set(french.by_path(site.url)) == {"/fr/", "/fr/a"}
    both = run_crawl(f"{site.url}/en/", arguments={"language": "all", "source": "both"})
    assert set(both.by_path(site.url)) == {"/en/", "/en/a", "/fr/", "/fr/a"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({}, {"/docs/", "/docs/a", "/docs/old/b"}, id="auto is the section"),
        pytest.param({"scope": "host"}, {"/docs/", "/docs/a", "/docs/old/b", "/blog"}, id="host"),
        pytest.param({"block": "/docs/old/**"}, {"/docs/", "/docs/a"}, id="block"),
        pytest.param(
            {"allow": "/docs/**,!/docs/old/**"},
            {"/docs/", "/docs/a"},
            id="a block among the allows",
        ),
        pytest.param({"allow": "/blog"}, {"/blog"}, id="allow replaces the section"),
        pytest.param({"scope": "listed"}, {"/docs/"}, id="listed"),
    ],
)
def test_scope_arguments(serve, run_crawl, arguments, expected):
    site = serve(
        {
            "/docs/": html("Docs", f"<p>The docs.</p>{linked('/docs/a', '/docs/old/b', '/blog')}"),
            "/docs/a": html("A", "<p>Page A.</p>"),
            "/docs/old/b": html("B", "<p>Page B.</p>"),
            "/blog": html("Blog", "<p>The blog.</p>"),
            "/sitemap.xml": "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{base}/docs/</loc></url></urlset>",
        }
    )
    assert set(run_crawl(f"{site.url}/docs/", arguments=arguments).by_path(site.url)) == expected


def test_a_redirect_out_of_scope_is_left_out(serve, run_crawl):
    site = serve(
        {
            "/docs/": html("Docs", f"<p>The docs.</p>{linked('/docs/a')}"),
            "/docs/a": Reply("", 302, headers={"Location": "{base}/blog"}),
            "/blog": html("Blog", "<p>The blog.</p>"),
        }
    )
    outcome = run_crawl(f"{site.url}/docs/")
    assert set(outcome.by_path(site.url)) == {"/docs/"}
    assert "/blog" not in site.paths()


def test_a_canonical_of_the_same_page_is_followed_one_hop(serve, run_crawl):
    def canonical(path):
        return f"<link rel='canonical' href='{path}'>"

    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{linked('/old/page', '/loop1/x', '/wrong')}"),
            "/old/page": html("Page", "<p>The page, at its old place.</p>", canonical("/new/page")),
            "/new/page": html("Page", "<p>The page.</p>", canonical("/third/page")),
            "/third/page": html("Page", "<p>Another page.</p>"),
            "/loop1/x": html("X", "<p>X one.</p>", canonical("/loop2/x")),
            "/loop2/x": html("X", "<p>X two.</p>", canonical("/loop1/x")),
            "/wrong": html(
                "Wrong", "<p>It names the home page as its address.</p>", canonical("/")
            ),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/", "/new/page", "/loop2/x", "/wrong"}
    assert outcome.stats["llms/filtered/canonical"] == 2


def test_a_page_whose_own_address_leads_back_or_nowhere_is_a_document(serve, run_crawl):
    def page(title, canonical, *links):
        return html(
            title, f"<p>{title}.</p>{linked(*links)}", f"<link rel='canonical' href='{canonical}'>"
        )

    site = serve(
        {
            "/p/": page("Home", "/p", "/p/a/", "/p/b/", "/p/old/c"),
            "/p": Reply("", 301, headers={"Location": "/p/"}),
            "/p/a/": page("A", "/p/a"),
            "/p/a": Reply("", 301, headers={"Location": "/p/a/"}),
            "/p/b/": page("B", "/p/b"),
            "/p/b": Reply("", 301, headers={"Location": "/p/b/"}),
            "/p/old/c": page("C", "/p/new/c", "/p/d"),
            "/p/d": html("D", "<p>Linked on a page whose own address is dead.</p>"),
        }
    )
    expected = {"/p/", "/p/a/", "/p/b/", "/p/old/c", "/p/d"}
    outcome = run_crawl(f"{site.url}/p/", settings={"CONCURRENT_REQUESTS": 1})
    assert set(outcome.by_path(site.url)) == expected
    # what the addresses of the pages before it did was learned
    assert site.paths().count("/p/b/") == 1
    # each is a document, and counts as nothing else
    assert "llms/filtered/canonical" not in outcome.stats
    again = run_crawl(f"{site.url}/p/", settings={"CONCURRENT_REQUESTS": 1})
    assert {
        path: document["change"] for path, document in again.by_path(site.url).items()
    } == dict.fromkeys(expected, "unchanged")


def test_pages_listed_by_an_address_that_redirects_to_another_spelling_are_documents(
    serve, run_crawl
):
    def page(name, *links):
        return html(
            name, f"<p>Page {name}.</p>{linked(*links)}", f"<link rel='canonical' href='/{name}'>"
        )

    names = ("a", "b", "c")
    listed = "".join(f"<url><loc>/{name}</loc></url>" for name in names)
    site = serve({"/": html("Home", f"<p>Home.</p>{linked('/b/', '/c/')}")})
    site.pages["/sitemap.xml"] = Reply(
        f"<urlset>{listed}</urlset>".replace("<loc>", f"<loc>{site.url}"),
        headers={"Content-Type": "text/xml"},
    )
    for name in names:
        site.pages[f"/{name}"] = Reply("", 301, headers={"Location": f"/{name}/"})
        site.pages[f"/{name}/"] = page(name)
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/", "/a/", "/b/", "/c/"}
    assert "llms/filtered/canonical" not in outcome.stats


@pytest.mark.parametrize(
    "stub",
    [
        "<noscript><meta http-equiv='refresh' content='1; url=latest/'></noscript>",
        "<script>window.location.replace('latest/')</script>",
    ],
    ids=["noscript", "script"],
)
def test_a_stub_that_leads_to_a_version_starts_there(serve, run_crawl, stub):
    site = serve(
        {
            "/p/": f"<head><title>Redirecting</title>{stub}</head>Redirecting to <a href='latest/'>it</a>...",
            "/p/latest/": html("Home", f"<p>Home.</p>{linked('a')}"),
            "/p/latest/a": html("A", "<p>Page A.</p>"),
            "/p/latest/orphan": html("Orphan", "<p>Listed alone.</p>"),
            "/p/2.1/": html("Home", "<p>Home.</p>"),
        }
    )
    listed = f"# Site\n\n- [A]({site.url}/p/2.1/a): a page\n- [Orphan]({site.url}/p/2.1/orphan): another page\n"
    site.pages["/p/latest/llms.txt"] = Reply(listed, headers={"Content-Type": "text/plain"})
    outcome = run_crawl(f"{site.url}/p/")
    assert set(outcome.by_path(site.url)) == {"/p/latest/", "/p/latest/a", "/p/latest/orphan"}


def test_opt_outs_of_a_page_are_obeyed_by_default(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{linked('/meta', '/header', '/noindex')}"),
            "/meta": html("Meta", "<p>Text.</p>", "<meta name='robots' content='noai'>"),
            "/header": Reply(html("Header", "<p>Text.</p>"), headers={"X-Robots-Tag": "noai"}),
            "/noindex": html("Noindex", "<p>Text.</p>", "<meta name='robots' content='noindex'>"),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/", "/noindex"}
    assert outcome.stats["llms/filtered/ai-opt-out"] >= 2
    agreed = run_crawl(
        f"{site.url}/", settings={"LLMS_OBEY_AI_OPTOUT": False}, arguments={"source": "agreed"}
    )
    assert set(agreed.by_path(site.url)) == {"/", "/meta", "/header", "/noindex"}
    strict = run_crawl(
        f"{site.url}/", settings={"LLMS_OBEY_NOINDEX": True}, arguments={"source": "strict"}
    )
    assert set(strict.by_path(site.url)) == {"/"}


def test_retry_asks_only_for_what_failed(serve, run_crawl):
    site = serve({**PLAIN, "/guide/more.html": Reply("broken", 500)})
    first = run_crawl(f"{site.url}/", settings={"RETRY_TIMES": 0})
    assert first.stats["llms/errors/network"] == 1
    site.pages.update(PLAIN)
    site.clear()
    outcome = run_crawl(f"{site.url}/", arguments={"retry": "failed"})
    assert set(outcome.by_path(site.url)) == {"/guide/more.html"}
    assert [path for path in site.paths() if path.endswith(".html")] == ["/guide/more.html"]
    assert "deleted" not in {document["change"] for document in outcome.documents}


def test_errors_are_summed_up_by_kind_with_examples(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{linked('/gone', '/secret')}"),
            "/secret": Reply("no", 401),
        }
    )
    lines = run_crawl(f"{site.url}/").lines
    assert any(
        line.startswith("failed: ") and "auth 1" in line and "not_found" in line for line in lines
    )
    assert any(line.strip().startswith(f"auth: {site.url}/secret") for line in lines)


def test_a_bot_wall_is_never_a_document(serve, run_crawl):
    wall = "<html><head><title>Just a moment...</title></head><body>Checking your browser</body></html>"
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{linked('/walled')}"),
            "/walled": Reply(wall, 200, headers={"cf-mitigated": "challenge"}),
        }
    )
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == {"/"}
    assert outcome.stats["llms/errors/challenge"] == 1


def test_endless_links_end_by_themselves(serve, run_crawl):
    def calendar(seen):
        month = int(seen.path.rpartition("=")[2]) if "=" in seen.path else 1
        return html(
            "Calendar", f"<p>Month {month}.</p>{linked(f'/calendar?year=2026&month={month + 1}')}"
        )

    site = serve({"/": html("Home", f"<p>Home.</p>{linked('/calendar')}"), "/calendar": calendar})
    outcome = run_crawl(f"{site.url}/")
    assert len(outcome.documents) < 20
    assert outcome.stats["llms/filtered/trap"] >= 1


def test_plan_shows_what_a_crawl_would_do_and_stores_nothing(serve, tmp_path):
    site = serve(
        {
            **VERSIONED,
            "/llms.txt": "# Site\n\n## Reference\n\n- [A](/ref/a.html)\n- [B](/ref/b.html)\n",
        }
    )
    options = (
        "-s",
        "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
        "-s",
        f"LLMS_DATA_DIR={tmp_path / 'store'}",
    )
    plan = json.loads(command("plan", f"{site.url}/", "--json", *options, cwd=tmp_path).stdout)
    assert plan["found"] == {"type": "llms.txt", "file": f"{site.url}/llms.txt"}
    assert plan["sections"] == {"Reference": 2}
    assert plan["left_out"]["version"]["count"] == 2
    assert plan["arguments"]["every version"].endswith("-a versions=all")
    assert not (tmp_path / "store").exists()
    text = command("plan", f"{site.url}/", *options, cwd=tmp_path)
    assert "found        llms.txt" in text.stdout
    assert text.log == ""
    assert not [path for path in site.paths() if path.endswith("a.html")]


def test_a_sitemap_of_the_whole_host_does_not_widen_the_section(serve, run_crawl):
    listed = "".join(f"<url><loc>{{base}}{path}</loc></url>" for path in ("/docs/a", "/blog/post"))
    site = serve(
        {
            "/docs/": html("Docs", "<p>The docs.</p>"),
            "/docs/a": html("A", "<p>Only the sitemap knows this page.</p>"),
            "/blog/post": html("Post", "<p>Not documentation.</p>"),
            "/sitemap.xml": f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{listed}</urlset>",
        }
    )
    outcome = run_crawl(f"{site.url}/docs/")
    assert set(outcome.by_path(site.url)) == {"/docs/", "/docs/a"}
    assert "/blog/post" not in site.paths()


def test_a_site_of_endless_empty_pages_costs_its_requests_and_deletes_nothing(
    serve, run_crawl, tmp_path
):
    def endless(seen):
        word = seen.path.rpartition("/")[2]
        onward = linked(*(f"/endless/{word}{letter}" for letter in "abc"))
        return f"<html><head><title>x</title></head><body><main></main><nav>{onward}</nav></body></html>"

    good = {
        f"/p{number}.html": html(f"P{number}", f"<p>The text of page {number}.</p>")
        for number in range(5)
    }
    site = serve({"/": html("Home", f"<p>Welcome.</p>{linked(*good)}"), **good})
    first = run_crawl(f"{site.url}/", arguments={"source": "s"})
    assert len(first.documents) == 6
    site.pages["/"] = html("Home", f"<p>Welcome.</p>{linked('/endless/a', '/p0.html')}")
    site.pages.update(
        {"/endless/" + word: endless for size in range(1, 9) for word in _words(size)}
    )
    site.clear()
    second = run_crawl(f"{site.url}/", arguments={"source": "s", "max_requests": 30})
    pages = [path for path in site.paths() if path.startswith(("/endless", "/p", "/"))]
    assert 25 <= len(pages) <= 60  # discovery, and what was under way
    assert second.stats["llms/filtered/max-requests"] >= 1
    assert "deleted" not in changes_of(second)
    status = json.loads(
        command(
            "status", "s", "--json", "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}", cwd=tmp_path
        ).stdout
    )
    assert "max_requests" in json.dumps(status)


def _words(size: int) -> list[str]:
    return ["".join(letters) for letters in itertools.product("abc", repeat=size)]


def changes_of(outcome) -> set[str]:
    return {document["change"] for document in outcome.documents}


SECTIONS = ("guide", "api", "more")


def handbook(sidebar: bool) -> dict[str, str]:
    """A site without an llms.txt; each page has its own directory."""
    paths = [f"/{section}/page-{number}/" for section in SECTIONS for number in range(3)]
    links = "".join(f"<li><a href='{path}'>{path}</a></li>" for path in paths)
    listed = (
        f"<aside><ul>{links}</ul></aside>"
        if sidebar
        else f"<header><nav><ul>{links}</ul></nav></header>"
    )
    return {
        path: f"<html><head><title>{path}</title></head><body>{listed}<main><h1>{path}</h1><p>Text of {path}, long "
        "enough.</p></main></body></html>"
        for path in ("/", *paths)
    }


def test_any_page_of_the_documentation_will_do_as_start(serve, run_crawl):
    site = serve(handbook(sidebar=True))
    outcome = run_crawl(f"{site.url}/api/page-1/")
    assert len(outcome.documents) == 9
    assert "(most links of its navigation lead there)" in outcome.log


def test_a_run_that_missed_most_of_the_site_says_how_to_widen_it(serve, run_crawl):
    site = serve(handbook(sidebar=False))
    outcome = run_crawl(f"{site.url}/api/page-1/")
    assert len(outcome.documents) == 1
    assert (
        "only 1 document, while 8 links of the site were out of scope: -a scope=host takes them in"
        in outcome.log
    )


def test_listings_are_followed_and_left_out_but_where_somebody_wants_them(serve, run_crawl):
    things = [f"/guide/{name}" for name in ("one", "two", "three")]
    pages = {
        path: html(path, f"<p>The text of {path}, with a <a rel=tag href='/topic/a'>tag</a>.</p>")
        for path in things
    }
    entries = "".join(f"<li><a href='{path}'>{path}</a></li>" for path in things)
    listing = html("Tagged", f"<ul>{entries}</ul>")
    sitemap = "".join(f"<url><loc>{{base}}/tags/{name}</loc></url>" for name in "ab")
    site = serve(
        {
            "/": html("Home", "<p>Welcome to the documentation of this.</p>"),
            **pages,
            "/topic/a": listing,
            "/tags/a": listing,
            "/tags/b": html("Tagged b", f"<ul>{entries}<li><a href='/tags/a'>a</a></li></ul>"),
            "/sitemap.xml": f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{sitemap}</urlset>",
        }
    )
    only_tags = run_crawl(f"{site.url}/")
    assert set(only_tags.by_path(site.url)) == {"/", *things}
    assert only_tags.stats["llms/filtered/listing"] >= 2
    kept = run_crawl(f"{site.url}/", arguments={"listings": "keep", "source": "kept"})
    assert {"/tags/a", "/tags/b"} <= set(kept.by_path(site.url))
    site.pages["/llms.txt"] = "# Site\n\n## Lists\n\n- [A](/tags/a)\n- [B](/tags/b)\n"
    listed = run_crawl(f"{site.url}/", arguments={"source": "listed"})
    assert {"/tags/a", "/tags/b", *things} <= set(listed.by_path(site.url))


def test_a_url_is_filtered_once_however_many_ways_lead_to_it(serve, run_crawl):
    ways = [f"/way{number}" for number in range(4)]
    links = "".join(f"<a href='{way}'>x</a>" for way in ways)
    site = serve(
        {
            "/": html("Home", f"<p>Text.</p>{links}"),
            "/out/a": html("Out", "<p>Out of bounds.</p>"),
            **{way: Reply("", 302, headers={"Location": "/out/a"}) for way in ways},
        }
    )
    outcome = run_crawl(f"{site.url}/", arguments={"block": "/out/**"})
    assert outcome.stats["llms/filtered/block"] == 1
