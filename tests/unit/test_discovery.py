"""The cascade against sites held in memory: what is asked, in which order, and what comes out."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from llmsspider.errors import DiscoveryError, InvalidUrlError
from llmsspider.items import LlmsEntry
from llmsspider.site.discovered import Discovery, FetchResult, FilteredLink, Options, Probe, Seed
from llmsspider.site.discovery import discover, read_described

HOST = "https://example.com"
PROSE = "A sentence that says something about the page. " * 20


@dataclass
class Site:
    """A web site: bodies by URL or by path on `HOST`, redirects, and a record of what was asked."""

    pages: Mapping[str, str | bytes] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    redirects: Mapping[str, str] = field(default_factory=dict)
    dead: bool = False
    asked: list[str] = field(default_factory=list)

    async def fetch(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        self.asked.append(url.removeprefix(HOST))
        await asyncio.sleep(0)
        if self.dead:
            return FetchResult(url, url, 0, error="network", message="connection refused")
        path = url.removeprefix(HOST)
        final = self.redirects.get(path, path)
        full = final if "://" in final else HOST + final
        if final not in self.pages:
            return FetchResult(
                url, full, 404, {"content-type": "text/html"}, b"<html>", "not_found", "status 404"
            )
        body = self.pages[final]
        type_ = self.types.get(final) or (
            "text/html" if not final.endswith((".txt", ".xml")) else "text/plain"
        )
        headers = {"content-type": type_}
        if final in self.links:
            headers["link"] = self.links[final]
        return FetchResult(
            url, full, 200, headers, body if isinstance(body, bytes) else body.encode()
        )


def run(
    site: Site,
    url: str = HOST + "/docs/",
    options: Options | None = None,
    notes: list[str] | None = None,
) -> Discovery:
    return asyncio.run(
        discover(
            site.fetch, url, options or Options(), note=(notes if notes is not None else []).append
        )
    )


def seed_urls(found: Discovery) -> list[str]:
    return [seed.url.removeprefix(HOST) for seed in found.seeds]


def read_files(found: Discovery) -> list[str]:
    return [file.url.removeprefix(HOST) for file in found.files]


def index(*hrefs: str) -> str:
    return "# Example\n\n" + "".join(f"- [{href}]({href})\n" for href in hrefs)


def pages(*paths: str) -> str:
    return "\n\n".join(f"# Page {path}\nSource: {HOST}{path}\n\n{PROSE}" for path in paths)


def sitemap(*urls: str) -> str:
    return (
        "<urlset>"
        + "".join(f"<url><loc>{url}</loc><lastmod>2026-01-01</lastmod></url>" for url in urls)
        + "</urlset>"
    )


def sitemap_index(*urls: str) -> str:
    inner = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{inner}</sitemapindex>"


# Order and number of requests


def test_a_site_that_offers_nothing() -> None:
    site, notes = Site({"/a/b/": "<html>"}), list[str]()
    found = run(site, HOST + "/a/b/", notes=notes)
    assert site.asked == [
        "/a/b/",
        "/a/b/llms.txt",
        "/a/llms.txt",
        "/llms.txt",
        "/.well-known/llms.txt",
        "/a/b/llms-full.txt",
        "/llms-full.txt",
        "/robots.txt",
        "/sitemap.xml",
        "/a/b/sitemap.xml",
        "/a/sitemap.xml",
    ]
    assert notes == ["no llms.txt or sitemap, following links"]
    assert (found.discovered_file, found.discovered_file_type, found.seeds) == (None, "none", [])
    assert found.requests == len(site.asked)


@pytest.mark.parametrize("depth", range(12))
def test_at_most_fourteen_requests(depth: int) -> None:
    site = Site()
    found = run(site, HOST + "/" + "a/" * depth)
    assert found.requests == len(site.asked) <= 14
    assert len(site.asked) == len(set(site.asked))
    assert {
        "/llms.txt",
        "/.well-known/llms.txt",
        "/llms-full.txt",
        "/robots.txt",
        "/sitemap.xml",
    } <= set(site.asked)


def test_no_sitemap_before_every_llms_txt_location() -> None:
    site = Site({"/robots.txt": f"Sitemap: {HOST}/s.xml", "/s.xml": sitemap(HOST + "/x")})
    run(site)
    last_llms = max(n for n, path in enumerate(site.asked) if "llms" in path)
    assert site.asked.index("/robots.txt") > last_llms
    assert site.asked.index("/s.xml") > last_llms


def test_stops_at_the_first_valid_file() -> None:
    site, notes = Site({"/docs/": "<html>", "/docs/llms.txt": index("/docs/a")}), list[str]()
    found = run(site, notes=notes)
    assert site.asked[:3] == ["/docs/", "/docs/llms.txt", "/docs/llms-full.txt"]
    assert (found.discovered_file, found.discovered_file_type) == (
        HOST + "/docs/llms.txt",
        "llms.txt",
    )
    assert notes[0] == "found llms.txt at /docs/llms.txt"


@pytest.mark.parametrize(
    ("body", "type_", "reason"),
    [
        ("<!doctype html><html></html>", "text/plain", "an HTML page"),
        (index("/a"), "application/json", "content type application/json"),
        ('{"error": "no such file here"}', "text/plain", "JSON"),
        ("", "text/plain", "empty"),
        (b"# Title\0\0 and so on and so on", "text/plain", "binary"),
    ],
)
def test_soft_404s_are_passed_over(body: str | bytes, type_: str, reason: str) -> None:
    site = Site({"/docs/llms.txt": body, "/llms.txt": index("/docs/a")}, {"/docs/llms.txt": type_})
    found = run(site)
    assert found.discovered_file == HOST + "/llms.txt"
    assert Probe(HOST + "/docs/llms.txt", "rejected", reason) in found.tried


def test_a_redirect_to_another_site_does_not_count() -> None:
    site = Site(
        {"https://other.org/llms.txt": index("/a")},
        redirects={"/docs/llms.txt": "https://other.org/llms.txt"},
    )
    found = run(site)
    assert found.discovered_file_type == "none"
    assert Probe(HOST + "/docs/llms.txt", "rejected", "redirected to another site") in found.tried


def test_the_final_url_is_the_base_of_the_links() -> None:
    site = Site({"/v2/llms.txt": index("a.md")}, redirects={"/docs/llms.txt": "/v2/llms.txt"})
    found = run(site)
    assert (found.discovered_file, seed_urls(found)) == (HOST + "/v2/llms.txt", ["/v2/a.md"])


def test_a_host_that_never_answers_is_given_up() -> None:
    site = Site(dead=True)
    found = run(site)
    assert len(site.asked) == 3
    assert (found.start.error, found.seeds) == ("network", [])


def test_a_failing_start_page_with_a_working_llms_txt() -> None:
    found = run(Site({"/docs/llms.txt": index("/docs/a")}))
    assert (found.start.status, found.start.error, seed_urls(found)) == (
        404,
        "not_found",
        ["/docs/a"],
    )


# The start page


def test_a_page_that_links_below_itself_is_a_directory() -> None:
    site = Site(
        {"/docs": '<html><a class=x href="/docs/intro">', "/docs/llms.txt": index("/docs/a")}
    )
    found = run(site, HOST + "/docs")
    assert found.start_url == HOST + "/docs/"
    assert site.asked[1] == "/docs/llms.txt"


@pytest.mark.parametrize(
    "body",
    [
        '<a href="/docs-old/x">',
        '<a href="/docs/">',
        '<link href="/docs/x.css">',
        '<a href="https://other.org/docs/x">',
        "text",
    ],
)
def test_a_page_that_does_not_is_a_page(body: str) -> None:
    assert run(Site({"/docs": body}), HOST + "/docs").start_url == HOST + "/docs"


def test_markdown_links_below_count_too() -> None:
    assert run(Site({"/docs": "[Intro](docs/intro)"}), HOST + "/docs").start_url == HOST + "/docs/"


def test_a_redirect_decides_the_directory() -> None:
    site = Site({"/docs/": "<html>"}, redirects={"/docs": "/docs/"})
    found = run(site, HOST + "/docs")
    assert (found.start.url, found.start_url, site.asked[1]) == (
        HOST + "/docs",
        HOST + "/docs/",
        "/docs/llms.txt",
    )


SECTIONS = {
    "first page of the docs": ("/docs/", "/docs/intro/first", "/docs/"),
    "the same without a slash": ("/docs", "/docs/intro/first", "/docs/"),
    "first page of the host": ("/", "/introduction/welcome", "/"),
    "language and version": ("/", "/en/latest/", "/en/latest/"),
    "region": ("/docs/", "/docs/pt-BR/v2.x/start/here", "/docs/pt-BR/v2.x/"),
    "index file": ("/docs/", "/docs/index.html", "/docs/"),
    "somewhere else": ("/old/page", "/docs/guide/page", "/docs/guide/page"),
    "a file": ("/a.html", "/a.html/b", "/a.html/b"),
    "another page of the directory": ("/docs/a", "/docs/b", "/docs/b"),
}


@pytest.mark.parametrize(("asked", "final", "section"), SECTIONS.values(), ids=SECTIONS)
def test_the_section_is_what_was_asked_for(asked: str, final: str, section: str) -> None:
    site = Site({final: "<html>"}, redirects={asked: final})
    found = run(site, HOST + asked)
    assert found.start_url == HOST + section
    assert site.asked[1] == final.rpartition("/")[0] + "/llms.txt"


def test_of_several_lengths_the_full_one_goes_first() -> None:
    names = ["/llms-small.txt", "/llms-guide.txt", "/llms-full.txt"]
    site = Site({"/llms.txt": index(*names), **{name: pages("/a", "/b") for name in names}})
    found = run(site, HOST + "/")
    assert [full.url for full in found.full_texts] == [
        HOST + names[2],
        HOST + names[1],
        HOST + names[0],
    ]


def test_a_file_is_no_directory() -> None:
    assert (
        run(Site({"/a.html": '<a href="/a.html/b">'}), HOST + "/a.html").start_url
        == HOST + "/a.html"
    )


def test_an_llms_file_as_start_page_is_read_and_not_fetched_again() -> None:
    site = Site({"/x/llms-api.txt": index("/a", "/b")})
    found = run(site, HOST + "/x/llms-api.txt")
    assert (read_files(found), seed_urls(found)) == (["/x/llms-api.txt"], ["/a", "/b"])
    assert site.asked.count("/x/llms-api.txt") == 1


@pytest.mark.parametrize("url", ["invalid-url", "ftp://example.com/", ""])
def test_a_bad_url_is_an_error_before_any_request(url: str) -> None:
    site = Site()
    with pytest.raises(InvalidUrlError):
        run(site, url)
    assert site.asked == []


DESCRIBED = {
    "header": ("<html>", '</meta/llms.txt>; rel=describedby; type="text/markdown"'),
    "html": (
        '<html><head><link rel="DescribedBy" href="/meta/llms.txt" type="text/plain"></head><body>',
        None,
    ),
    "html without head": ('<link rel="x describedby" href="../meta/llms.txt"><p>', None),
}


@pytest.mark.parametrize(("body", "header"), DESCRIBED.values(), ids=DESCRIBED)
def test_describedby_comes_first(body: str, header: str | None) -> None:
    site = Site(
        {"/docs/": body, "/meta/llms.txt": index("/docs/a")},
        links={"/docs/": header} if header else {},
    )
    found = run(site)
    assert site.asked[1] == "/meta/llms.txt"
    assert (found.discovered_file, seed_urls(found)) == (HOST + "/meta/llms.txt", ["/docs/a"])


@pytest.mark.parametrize(
    "header",
    [
        "<https://other.org/llms.txt>; rel=describedby",
        "</schema.json>; rel=describedby; type=application/schema+json",
        '</llms.txt>; rel=describedby; anchor="/other"',
        "</style.css>; rel=stylesheet",
    ],
)
def test_other_links_of_the_start_page_do_not_count(header: str) -> None:
    site = Site({"/docs/": "<html>"}, links={"/docs/": header})
    run(site)
    assert site.asked[1] == "/docs/llms.txt"


def test_a_dead_describedby_costs_no_extra_request() -> None:
    site = Site({"/" + "a/" * 9: "<html>"}, links={"/" + "a/" * 9: "</gone.txt>; rel=describedby"})
    found = run(site, HOST + "/" + "a/" * 9)
    assert site.asked[1] == "/gone.txt"
    assert found.requests <= 14
    assert "/llms.txt" in site.asked


# llms_txt=, enabled=


def test_a_named_file_skips_probing() -> None:
    site = Site({"/docs/": "<html>", "/x/my.txt": index("/docs/a")})
    found = run(site, options=Options(llms_txt=HOST + "/x/my.txt"))
    assert site.asked[:2] == ["/docs/", "/x/my.txt"]
    assert not any(path.endswith("/llms.txt") for path in site.asked)
    assert (found.discovered_file, seed_urls(found)) == (HOST + "/x/my.txt", ["/docs/a"])


def test_a_named_file_that_fails_ends_the_run() -> None:
    with pytest.raises(
        DiscoveryError, match=r"llms_txt=https://example\.com/gone\.txt cannot be used: status 404"
    ):
        run(Site({"/docs/": "<html>"}), options=Options(llms_txt=HOST + "/gone.txt"))
    with pytest.raises(DiscoveryError, match="an HTML page"):
        run(
            Site({"/x.txt": "<!doctype html><html></html>"}),
            options=Options(llms_txt=HOST + "/x.txt"),
        )
    with pytest.raises(InvalidUrlError):
        run(Site(), options=Options(llms_txt="x.txt"))


def test_disabled() -> None:
    site = Site({"/docs/": "<html>", "/docs/llms.txt": index("/docs/a")})
    found = run(site, options=Options(enabled=False))
    assert (site.asked, found.seeds) == (["/docs/"], [])


# Linked files (D6)


def linked(*hrefs: str, **more: str) -> Site:
    return Site(
        {
            "/docs/": "<html>",
            "/docs/llms.txt": index(*hrefs),
            **{f"/docs/{k}.txt": v for k, v in more.items()},
        }
    )


def test_no_llms_links_one_file() -> None:
    found = run(linked("/docs/a", "/docs/b"))
    assert (read_files(found), found.linked_files) == (["/docs/llms.txt"], [])


def test_all_same_domain_all_are_read() -> None:
    site = Site(
        {
            "/llms.txt": index(
                "/llms-api.txt", "/llms/guide.txt", "https://docs.example.com/llms.txt"
            ),
            "/llms-api.txt": index("/a"),
            "/llms/guide.txt": index("/b"),
            "https://docs.example.com/llms.txt": index("/c"),
        }
    )
    notes = list[str]()
    found = run(site, HOST + "/", notes=notes)
    assert read_files(found) == [
        "/llms.txt",
        "/llms-api.txt",
        "/llms/guide.txt",
        "https://docs.example.com/llms.txt",
    ]
    assert seed_urls(found) == ["/a", "/b", "https://docs.example.com/c"]
    assert notes[:3] == [
        "found llms.txt at /llms.txt",
        "found 3 linked llms.txt files, reading them",
        "read 4 llms.txt files (1 main + 3 linked)",
    ]


def test_mixed_same_domain_only() -> None:
    site = linked(
        "/llms-api.txt", "https://docs.example.org/llms.txt", "https://bob.github.io/llms.txt"
    )
    site.pages = {**site.pages, "/llms-api.txt": index("/a")}
    found = run(site)
    assert read_files(found) == ["/docs/llms.txt", "/llms-api.txt"]
    assert found.external == ["https://docs.example.org/llms.txt", "https://bob.github.io/llms.txt"]
    assert found.warnings == [
        "llms files on other sites are not followed: https://docs.example.org/llms.txt, https://bob.github.io/llms.txt"
    ]


def test_tenants_of_a_private_suffix_are_strangers() -> None:
    site = Site(
        {"https://alice.github.io/llms.txt": index("https://bob.github.io/llms.txt", "/llms-a.txt")}
    )
    found = run(site, "https://alice.github.io/")
    assert found.external == ["https://bob.github.io/llms.txt"]
    assert found.linked_files == ["https://alice.github.io/llms-a.txt"]


def test_cycle_a_b() -> None:
    site = Site(
        {"/llms.txt": index("/llms-b.txt"), "/llms-b.txt": index("/llms.txt", "/llms-b.txt")}
    )
    found = run(site, HOST + "/")
    assert read_files(found) == ["/llms.txt", "/llms-b.txt"]
    assert site.asked.count("/llms.txt") == site.asked.count("/llms-b.txt") == 1
    assert found.cut == []


CHAIN = {
    "/x/llms.txt": index("/x/llms-b.txt"),
    "/x/llms-b.txt": index("/x/llms-c.txt", "/llms-out.txt", "/b"),
    "/x/llms-c.txt": index("/x/llms-d.txt", "/c"),
    "/x/llms-d.txt": index("/d"),
    "/llms-out.txt": index("/out"),
}


def test_a_b_c_reads_a_and_b() -> None:
    found = run(Site(CHAIN), HOST + "/x/")
    assert read_files(found) == ["/x/llms.txt", "/x/llms-b.txt"]
    assert found.cut == [
        FilteredLink(HOST + "/x/llms-c.txt", "link-depth"),
        FilteredLink(HOST + "/llms-out.txt", "link-depth"),
    ]
    assert seed_urls(found) == ["/b"]


def test_link_depth_0() -> None:
    site = Site(CHAIN)
    found = run(site, HOST + "/x/", Options(link_depth=0))
    assert read_files(found) == ["/x/llms.txt"]
    assert found.cut == [FilteredLink(HOST + "/x/llms-b.txt", "link-depth")]
    assert seed_urls(found) == []


def test_link_depth_2_only_below_the_first_directory() -> None:
    found = run(Site(CHAIN), HOST + "/x/", Options(link_depth=2))
    assert read_files(found) == ["/x/llms.txt", "/x/llms-b.txt", "/x/llms-c.txt"]
    assert found.cut == [
        FilteredLink(HOST + "/llms-out.txt", "outside-directory"),
        FilteredLink(HOST + "/x/llms-d.txt", "link-depth"),
    ]
    assert seed_urls(found) == ["/b", "/c"]


def test_at_most_so_many_linked_files() -> None:
    site = linked(*(f"/llms-{n}.txt" for n in range(8)))
    found = run(site, options=Options(max_linked_files=3))
    assert len(found.linked_files) == 3
    assert found.cut == [
        FilteredLink(f"{HOST}/llms-{n}.txt", "max-linked-files") for n in range(3, 8)
    ]


def test_reference_case_eight_full_text_files() -> None:
    names = [f"/llms/{n}.txt" for n in range(8)]
    site = Site(
        {
            "/llms.txt": index(*names),
            **{name: pages(f"{name[:-4]}/a", f"{name[:-4]}/b") for name in names},
        }
    )
    notes = list[str]()
    found = run(site, HOST + "/", notes=notes)
    assert read_files(found) == ["/llms.txt", *names]
    assert "read 9 llms.txt files (1 main + 8 linked)" in notes
    assert [full.url.removeprefix(HOST) for full in found.full_texts] == names
    assert seed_urls(found) == []
    for full, name in zip(found.full_texts, names, strict=True):
        assert full.report is not None
        assert full.report.urls == (f"{HOST}{name[:-4]}/a", f"{HOST}{name[:-4]}/b")


def test_a_root_index_and_section_indexes() -> None:
    site = Site(
        {
            "/llms.txt": "# Root\n\n## Sections\n\n- [API](/api/llms.txt): the API\n- [Home](/home): first\n",
            "/api/llms.txt": "# API\n\n> The API\n\n## Calls\n\n- [Get](get.md): to get\n",
        }
    )
    found = run(site, HOST + "/")
    assert found.seeds == [
        Seed(
            HOST + "/home",
            "llms.txt",
            LlmsEntry(HOST + "/llms.txt", "Sections", "Home", "first", 1),
        ),
        Seed(
            HOST + "/api/get.md",
            "llms.txt",
            LlmsEntry(HOST + "/api/llms.txt", "Calls", "Get", "to get", 2),
        ),
    ]
    assert [(file.title, file.summary) for file in found.files] == [
        ("Root", None),
        ("API", "The API"),
    ]


def test_a_dead_linked_file_costs_nothing_more() -> None:
    found = run(linked("/llms-gone.txt", "/docs/a"))
    assert (read_files(found), seed_urls(found)) == (["/docs/llms.txt"], ["/docs/a"])
    assert Probe(HOST + "/llms-gone.txt", "failed", "status 404") in found.tried


def test_llms_files_are_never_seeds() -> None:
    found = run(linked("/docs/llms.txt", "https://other.org/llms-full.txt", "/docs/a"))
    assert seed_urls(found) == ["/docs/a"]


# Seeds


def test_each_seed_once_and_not_the_start_page() -> None:
    site = linked("/docs/", "/docs/a", "/docs/a#part", "https://other.org/x", "/docs/b")
    found = run(site)
    assert seed_urls(found) == ["/docs/a", "https://other.org/x", "/docs/b"]
    assert found.start_entry == LlmsEntry(HOST + "/docs/llms.txt", None, "/docs/", None, 0)


OPTIONAL = "# T\n\n- [A](/a)\n\n## Optional\n\n- [B](/b)\n- [C](/llms-c.txt)\n"


def test_optional_is_flagged() -> None:
    site = Site({"/llms.txt": OPTIONAL, "/llms-c.txt": index("/c")})
    found = run(site, HOST + "/")
    assert [(seed.url, seed.llms.optional) for seed in found.seeds if seed.llms] == [
        (HOST + "/a", False),
        (HOST + "/b", True),
        (HOST + "/c", False),
    ]


def test_optional_skipped() -> None:
    site = Site({"/llms.txt": OPTIONAL, "/llms-c.txt": index("/c")})
    found = run(site, HOST + "/", Options(optional="skip"))
    assert seed_urls(found) == ["/a"]
    assert found.cut == [
        FilteredLink(HOST + "/llms-c.txt", "optional"),
        FilteredLink(HOST + "/b", "optional"),
    ]


# Full text


def test_full_text_beside_the_llms_txt() -> None:
    site = Site(
        {"/docs/llms.txt": index("/docs/a"), "/docs/llms-full.txt": pages("/docs/a", "/docs/b")}
    )
    notes = list[str]()
    found = run(site, notes=notes)
    (full,) = found.full_texts
    assert full.report is not None
    assert (full.report.rule, full.report.urls) == (
        "title-label",
        (HOST + "/docs/a", HOST + "/docs/b"),
    )
    assert found.discovered_file_type == "llms.txt"
    assert "/llms-full.txt" not in site.asked
    assert "full text at /docs/llms-full.txt holds 2 pages, 2 with their address" in notes


def test_full_text_alone() -> None:
    found = run(Site({"/llms-full.txt": pages("/a", "/b")}))
    assert (found.discovered_file, found.discovered_file_type) == (
        HOST + "/llms-full.txt",
        "llms-full.txt",
    )
    assert len(found.full_texts) == 1


def test_a_linked_full_text_is_not_fetched_twice() -> None:
    site = Site(
        {
            "/docs/llms.txt": index("llms-full.txt"),
            "/docs/llms-full.txt": pages("/docs/a", "/docs/b"),
        }
    )
    found = run(site)
    assert site.asked.count("/docs/llms-full.txt") == 1
    assert (len(found.full_texts), found.linked_files) == (1, [HOST + "/docs/llms-full.txt"])


def test_titles_of_the_index_and_urls_of_the_sitemap_name_the_pages() -> None:
    site = Site(
        {
            "/docs/llms.txt": "# T\n\n- [One](/docs/one)\n",
            "/docs/llms-full.txt": f"## one.md\n\n{PROSE}\n\n## deep/two.md\n\n{PROSE}\n",
            "/sitemap.xml": sitemap(HOST + "/docs/deep/two"),
        }
    )
    (full,) = run(site).full_texts
    assert full.report is not None
    assert full.report.urls == (HOST + "/docs/one", HOST + "/docs/deep/two")


def test_links_inside_a_full_text_name_no_pages() -> None:
    body = "".join(
        f"# {name}\n\n{PROSE * 3} <b>or</b> [{name}](/elsewhere/{name})\n\n"
        for name in ("One", "Two", "Three")
    )
    listed = "# T\n\n" + "".join(f"- [{name}](/docs/{name})\n" for name in ("One", "Two", "Three"))
    found = run(Site({"/docs/llms.txt": listed, "/docs/llms-full.txt": body}))
    assert found.full_texts[0].report is not None
    assert found.full_texts[0].report.urls == tuple(
        f"{HOST}/docs/{name}" for name in ("One", "Two", "Three")
    )
    assert found.warnings == []


def test_an_unsplittable_full_text_is_said() -> None:
    site = Site({"/llms-full.txt": f"# Everything\n\n{PROSE * 5}\n\n## Part\n\n{PROSE * 5}\n"})
    notes = list[str]()
    found = run(site, notes=notes)
    assert found.full_texts[0].report is not None
    assert found.full_texts[0].report.rule is None
    assert (
        "full text at /llms-full.txt cannot be split into pages (no page boundaries): its pages are crawled"
        in notes
    )


def test_full_text_off() -> None:
    site = Site(
        {
            "/docs/llms.txt": index("llms-full.txt", "llms-guide.txt"),
            "/docs/llms-guide.txt": pages("/docs/a", "/docs/b"),
        }
    )
    found = run(site, options=Options(full_text=False))
    assert "/docs/llms-full.txt" not in site.asked
    assert found.full_texts == []
    assert found.cut == [
        FilteredLink(HOST + "/docs/llms-full.txt", "full-text-off"),
        FilteredLink(HOST + "/docs/llms-guide.txt", "full-text-off"),
    ]


def test_an_llms_txt_that_is_full_text() -> None:
    found = run(Site({"/docs/llms.txt": pages("/docs/a", "/docs/b")}))
    assert (found.discovered_file_type, len(found.full_texts), found.seeds) == ("llms.txt", 1, [])


def test_an_llms_txt_of_long_prose_is_an_index() -> None:
    found = run(Site({"/docs/llms.txt": f"# T\n\n{PROSE * 20}\n\n- [A](/docs/a)\n"}))
    assert (found.files[0].kind, seed_urls(found)) == ("index", ["/docs/a"])


@pytest.mark.parametrize(
    ("text", "kind", "seeds"),
    [
        (f"# T\n\n{PROSE * 20}\n\nDocs: {HOST}/docs/a\n", "index", ["/docs/a"]),
        (f"# T\n\n{PROSE * 20}\n", "full", []),
    ],
)
def test_an_llms_txt_without_markdown_links(text: str, kind: str, seeds: list[str]) -> None:
    found = run(Site({"/docs/llms.txt": text}))
    assert (found.files[0].kind, seed_urls(found)) == (kind, seeds)


def test_an_llms_full_txt_that_is_an_index_gives_seeds() -> None:
    found = run(Site({"/llms-full.txt": index("/a", "/b", "/c")}))
    assert (found.full_texts, seed_urls(found)) == ([], ["/a", "/b", "/c"])


def test_a_large_spooled_file(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    with path.open("w") as file:
        for n in range(250):
            file.write(f"# Page {n}\nSource: {HOST}/{n}\n\n{PROSE * 100}\n\n")
    assert path.stat().st_size > 20 * 1024 * 1024

    async def fetch(
        url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        if url.endswith("/llms-full.txt"):
            return FetchResult(
                url, url, 200, {"content-type": "text/plain", "etag": '"x"'}, spool=path
            )
        return FetchResult(url, url, 404, error="not_found")

    (full,) = asyncio.run(discover(fetch, HOST + "/", Options())).full_texts
    assert full.report is not None
    assert (full.report.pages, full.answer.headers.get("etag")) == (250, '"x"')


# Sitemaps


def test_sitemap_only() -> None:
    site = Site(
        {
            "/docs/": "<html>",
            "/sitemap.xml": sitemap(HOST + "/docs/a", "https://other.org/x", HOST + "/docs/"),
        }
    )
    notes = list[str]()
    found = run(site, notes=notes)
    assert [(seed.url, seed.discovered_by, seed.llms, seed.lastmod) for seed in found.seeds] == [
        (HOST + "/docs/a", "sitemap", None, "2026-01-01")
    ]
    assert (found.discovered_file, found.discovered_file_type) == (HOST + "/sitemap.xml", "sitemap")
    assert notes == ["found sitemap at /sitemap.xml", "1 more page from 1 sitemap file"]


def test_a_page_that_llms_txt_lists_as_markdown_is_no_more_page_of_the_sitemap() -> None:
    listing = "# Site\n\n- [A](/docs/a.md)\n- [B](/docs/b/index.md)\n- [C](/docs/c.html.md)\n"
    pages = sitemap(*(f"{HOST}/docs/{name}" for name in ("a", "b/", "c.html", "d", "")))
    notes = list[str]()
    found = run(
        Site({"/docs/": "<html>", "/docs/llms.txt": listing, "/sitemap.xml": pages}), notes=notes
    )
    assert notes[-1] == "1 more page from 1 sitemap file"
    assert found.start_in_sitemap


def test_sitemap_index_gzip_and_redirect() -> None:
    site = Site(
        {
            "/robots.txt": f"User-agent: *\nSitemap: {HOST}/index.xml\n",
            "/index.xml": sitemap_index("/one.xml.gz", "/two", "https://other.org/s.xml"),
            "/one.xml.gz": gzip.compress(sitemap(HOST + "/1").encode()),
            "/two.txt": f"{HOST}/2\n{HOST}/llms.txt\n",
        },
        redirects={"/two": "/two.txt"},
    )
    found = run(site)
    assert seed_urls(found) == ["/1", "/2"]
    assert [url.removeprefix(HOST) for url in found.sitemaps] == [
        "/index.xml",
        "/one.xml.gz",
        "/two.txt",
    ]
    assert found.cut == [FilteredLink("https://other.org/s.xml", "sitemap-other-site")]
    assert "/sitemap.xml" not in site.asked


def test_a_sitemap_that_robots_txt_names_may_lie_on_another_host() -> None:
    elsewhere = "https://storage.other.org/acme"
    site = Site(
        {
            "/robots.txt": f"User-agent: *\nSitemap: {elsewhere}/index.xml\n",
            f"{elsewhere}/index.xml": sitemap_index(
                f"{elsewhere}/s.xml", "https://third.org/s.xml"
            ),
            f"{elsewhere}/s.xml": sitemap(HOST + "/1"),
        }
    )
    found = run(site)
    assert seed_urls(found) == ["/1"]
    assert found.cut == [FilteredLink("https://third.org/s.xml", "sitemap-other-site")]


def test_sitemaps_supplement_the_llms_txt() -> None:
    site = Site(
        {
            "/docs/llms.txt": index("/docs/a"),
            "/sitemap.xml": sitemap(HOST + "/docs/a", HOST + "/docs/b"),
        }
    )
    found = run(site)
    assert [
        (seed.url.removeprefix(HOST), seed.discovered_by, seed.lastmod) for seed in found.seeds
    ] == [
        ("/docs/a", "llms.txt", "2026-01-01"),
        ("/docs/b", "sitemap", "2026-01-01"),
    ]
    assert found.discovered_file_type == "llms.txt"


def test_a_version_that_its_files_list_under_another_name_is_taken_where_it_was_found() -> None:
    pages = {
        "/docs/latest/": "<html>",
        "/docs/latest/llms.txt": index("/docs/2.1/index.md", "/docs/2.1/a/index.md", "/blog/"),
        "/docs/latest/sitemap.xml": sitemap(HOST + "/docs/2.1/a/", HOST + "/docs/2.1/b/"),
    }
    found = run(Site(pages), HOST + "/docs/latest/")
    assert seed_urls(found) == [
        "/docs/latest/index.md",
        "/docs/latest/a/index.md",
        "/blog/",
        "/docs/latest/a/",
        "/docs/latest/b/",
    ]
    assert found.seeds[-1].lastmod == "2026-01-01"
    both = index("/docs/2.1/a/", "/docs/latest/b/")  # two versions
    site = Site({**pages, "/docs/latest/llms.txt": both, "/docs/latest/sitemap.xml": "<html>"})
    assert seed_urls(run(site, HOST + "/docs/latest/")) == ["/docs/2.1/a/", "/docs/latest/b/"]


def test_sitemaps_off() -> None:
    site = Site({"/sitemap.xml": sitemap(HOST + "/docs/a")})
    found = run(site, options=Options(use_sitemaps=False))
    assert (found.seeds, "/robots.txt" in site.asked) == ([], False)


def test_a_sitemap_of_the_project_directory() -> None:
    site = Site(
        {"https://alice.github.io/proj/sitemap.xml": sitemap("https://alice.github.io/proj/a")}
    )
    assert [seed.url for seed in run(site, "https://alice.github.io/proj/").seeds] == [
        "https://alice.github.io/proj/a"
    ]


@pytest.mark.parametrize("start", ["/proj/", "/proj/guide/v2/intro", "/proj/index"])
def test_the_sitemap_of_a_project_is_found_from_any_of_its_pages(start: str) -> None:
    host = "https://alice.github.io"
    moved = '<meta http-equiv="refresh" content="0; url=guide/v2/intro">'
    site = Site(
        {
            f"{host}/proj/": moved,
            f"{host}/proj/index": moved,
            f"{host}/proj/sitemap.xml": sitemap(f"{host}/proj/guide/v2/orphan"),
        }
    )
    assert [seed.url for seed in run(site, host + start).seeds] == [f"{host}/proj/guide/v2/orphan"]


@pytest.mark.parametrize("robots", ["", "Sitemap: https://alice.github.io/blog.xml"])
def test_the_sitemap_that_the_start_page_names(robots: str) -> None:
    host = "https://alice.github.io"
    site = Site(
        {
            f"{host}/robots.txt": robots,
            f"{host}/blog.xml": sitemap(f"{host}/blog/one"),
            f"{host}/proj/": "<html><head><link rel='sitemap' href='/proj/sitemap-index.xml'></head>",
            f"{host}/proj/sitemap-index.xml": sitemap_index(f"{host}/proj/sitemap-0.xml"),
            f"{host}/proj/sitemap-0.xml": sitemap(f"{host}/proj/a"),
        }
    )
    assert f"{host}/proj/a" in [seed.url for seed in run(site, f"{host}/proj/").seeds]


def test_endless_sitemap_indexes_end() -> None:
    nested = {f"/s/{n}.xml": sitemap_index("/sitemap.xml", f"/s/{n + 1}.xml") for n in range(1, 9)}
    site = Site({"/sitemap.xml": sitemap_index("/sitemap.xml", "/s/1.xml"), **nested})
    found = run(site)
    assert [url.removeprefix(HOST) for url in found.sitemaps] == [
        "/sitemap.xml",
        "/s/1.xml",
        "/s/2.xml",
        "/s/3.xml",
    ]
    assert found.cut == [FilteredLink(HOST + "/s/4.xml", "sitemap-too-deep")]


def test_a_sitemap_that_is_refused_is_said() -> None:
    site = Site({"/sitemap.xml": '<!DOCTYPE x [<!ENTITY a "b">]><urlset/>'})
    found = run(site)
    assert Probe(HOST + "/sitemap.xml", "rejected", "declares entities") in found.tried
    assert found.discovered_file_type == "none"


# A page that names its llms.txt later (D3)


def later(site: Site, found: Discovery, path: str, options: Options | None = None) -> list[str]:
    url = path if "://" in path else HOST + path
    seeds = asyncio.run(read_described(site.fetch, url, found, options or Options()))
    return [seed.url.removeprefix(HOST) for seed in seeds]


def test_a_file_named_later_adds_unseen_seeds_and_leads_no_further() -> None:
    site = Site(
        {
            "/docs/llms.txt": index("/docs/a"),
            "/api/llms.txt": index("/docs/a", "/api/b", "/llms-more.txt"),
        }
    )
    found = run(site)
    before = found.start_url
    assert later(site, found, "/api/llms.txt") == ["/api/b"]
    assert site.asked[-1] == "/api/llms.txt"
    assert found.start_url == before
    assert later(site, found, "/api/llms.txt") == []
    assert site.asked.count("/api/llms.txt") == 1


def test_what_a_file_named_later_loses_is_told() -> None:
    site = Site(
        {
            "/docs/llms.txt": index("/docs/a"),
            "/api/llms.txt": index("/api/b", "http://localhost:PORT/"),
        }
    )
    found = run(site)
    assert later(site, found, "/api/llms.txt") == ["/api/b"]
    why = "its port is not a number from 0 to 65535"
    assert found.cut == [FilteredLink("http://localhost:PORT/", "invalid-url", why)]


def test_a_file_named_later_counts_as_linked() -> None:
    site = Site({"/docs/llms.txt": index("/docs/a"), "/api/llms.txt": index("/api/b")})
    found = run(site)
    assert later(site, found, "/api/llms.txt", Options(max_linked_files=0)) == []
    assert FilteredLink(HOST + "/api/llms.txt", "max-linked-files") in found.cut
    assert later(site, found, "https://other.org/llms.txt") == []
    assert later(site, found, "/gone/llms.txt") == []
    assert found.tried[-1] == Probe(HOST + "/gone/llms.txt", "failed", "status 404")


def test_discovery_is_the_same_each_time() -> None:
    site = Site(CHAIN)
    first, second = run(site, HOST + "/x/"), run(Site(CHAIN), HOST + "/x/")
    assert (first.tried, first.seeds, first.cut) == (second.tried, second.seeds, second.cut)
