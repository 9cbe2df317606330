"""Everything a site can publish that names an address inside: the crawl of a hostile site, and what arrived there."""

from __future__ import annotations

import json

from crawling import Outcome, crawl
from loopback import Answer, Arrived, Loopback, loopback

NAMES = {"docs.site.example": "127.0.0.1", "inside.site.example": "127.0.0.2"}
TEXT = "<p>Some text that makes this page a document of its own.</p>"


SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def html(title: str, head: str = "", links: str = "") -> str:
    main = f"<main><h1>{title}</h1>{TEXT}{links}</main>"
    return f"<html><head><title>{title}</title>{head}</head><body>{main}</body></html>"


def pages(inside: str) -> dict[str, tuple[dict[str, str], str]]:
    """A documentation site whose every reference leads inside."""
    head = (
        f'<link rel="canonical" href="{inside}/canonical"><link rel="describedby" href="{inside}/describedby.txt">'
        f'<link rel="alternate" type="text/markdown" href="{inside}/alternate.md">'
    )
    header = f'<{inside}/header.md>; rel="alternate"; type="text/markdown", <{inside}/header.txt>; rel="describedby"'
    links = f'<a href="{inside}/link">a</a> <a href="/redirects">b</a> <a href="/refreshes">c</a> <a href="/own">d</a>'
    page = {"Content-Type": "text/html", "Link": header}
    return {
        "/robots.txt": (
            {"Content-Type": "text/plain"},
            f"User-agent: *\nSitemap: {inside}/robots-sitemap.xml\n",
        ),
        "/llms.txt": (
            {"Content-Type": "text/plain"},
            f"# Site\n\n## Docs\n\n- [Own](/own)\n- [Listed]({inside}/listed)\n- [More]({inside}/llms.txt)\n",
        ),
        "/sitemap.xml": (
            {"Content-Type": "application/xml"},
            f'<urlset xmlns="{SITEMAP}"><url><loc>{inside}/sitemap-entry</loc></url></urlset>',
        ),
        "/": (page, html("Home", head, links)),
        "/own": (page, html("Own", head)),
        "/redirects": ({"Location": f"{inside}/redirected"}, ""),
        "/refreshes": (
            {"Content-Type": "text/html"},
            f'<html><head><meta http-equiv="refresh" content="0;url={inside}/refreshed"></head><body></body></html>',
        ),
    }


def crawl_hostile_site(folder, allowed: str) -> tuple[Outcome, Loopback]:
    def inner(arrived: Arrived) -> Answer:
        if arrived.target == "/robots.txt":
            return 404, {}, b""
        return 200, {}, html(arrived.target).encode()

    with loopback(inner, "127.0.0.2") as victim:
        site_pages = pages(f"http://inside.site.example:{victim.port}")

        def outer(arrived: Arrived) -> Answer:
            if arrived.target not in site_pages:
                return 404, {}, b""
            headers, body = site_pages[arrived.target]
            return 302 if "Location" in headers else 200, headers, body.encode()

        with loopback(outer) as site:
            outcome = crawl(
                site.url("/", "docs.site.example"),
                folder,
                arguments={"scope": "domain"},
                settings={
                    "LLMS_ALLOW_PRIVATE_ADDRESSES": allowed,
                    "TWISTED_DNS_RESOLVER": "made_names.StaticNames",
                },
                env={"STATIC_NAMES": json.dumps(NAMES)},
            )
    return outcome, victim


def test_nothing_arrives_inside(tmp_path):
    outcome, victim = crawl_hostile_site(tmp_path, "docs.site.example")
    assert victim.connections == 0
    assert outcome.exit_code == 0
    assert {document["title"] for document in outcome.documents} == {"Home", "Own"}
    assert outcome.stats["llms/blocked/address"] > 0


def test_every_way_is_one_that_leads_inside_when_it_is_open(tmp_path):
    """The test above would prove nothing if the crawl did not try."""
    _, victim = crawl_hostile_site(tmp_path, "docs.site.example,inside.site.example")
    assert {
        "/robots-sitemap.xml",
        "/sitemap-entry",
        "/llms.txt",
        "/describedby.txt",
        "/header.txt",
        "/listed",
        "/link",
        "/redirected",
        "/refreshed",
    } <= set(victim.paths)
