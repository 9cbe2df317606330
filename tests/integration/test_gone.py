"""Gone takes two witnesses, or further nights: faults of one night delete nothing, what is really gone goes."""

from __future__ import annotations

from collections import Counter

import pytest
from crawling import command
from site_server import Reply, Site
from sites import html

QUICK = {"RETRY_TIMES": 0, "AUTOTHROTTLE_MAX_DELAY": 0}
SECTIONS = ("guide", "tutorial", "reference", "faq")
NAMES = [f"/{section}/{word}.html" for section in SECTIONS for word in "abcde"]
LINK = "<p>Go <a href='/faq/a.html#two'>there</a>.</p>"
SITEMAP = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</urlset>"
INDEX = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</sitemapindex>"
HTML = "text/html; charset=utf-8"
LIST, LINKS = "sitemaps", "links"


def page(name: str) -> str:
    text = f"<p>What {name} is about: how it is set up, {name} by {name}, and what comes of it in the end.</p>"
    main = f"<main><h1>{name}</h1>{text}</main>"
    return f"<!doctype html><html><head><title>{name}</title></head><body>{main}</body></html>"


def landing(section: str, *, listed: bool = True) -> str:
    links = "".join(
        f"<li><a href='{name}'>{name}</a></li>" for name in NAMES if name.startswith(f"/{section}/")
    )
    return html(
        section,
        f"<p>All about the {section}, in short and at length.</p><ul>{links if listed else ''}</ul>",
    )


def pages(named_by: str) -> dict[str, object]:
    """Twenty pages in four sections, which sitemaps list, or which the page of their section links to."""
    made: dict[str, object] = {name: page(name) for name in NAMES}
    sections = "".join(f"<a href='/{section}/'>{section}</a>" for section in SECTIONS)
    made["/"] = html("Home", f"<p>Welcome to the documentation of it all.</p>{sections}")
    made |= {f"/{section}/": landing(section, listed=named_by == LINKS) for section in SECTIONS}
    if named_by == LIST:
        made["/robots.txt"] = "User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n"
        maps = "".join(
            f"<sitemap><loc>{{base}}/sitemap-{one}.xml</loc></sitemap>" for one in SECTIONS
        )
        made["/sitemap.xml"] = INDEX.format(maps)
        for section in SECTIONS:
            urls = [
                f"<url><loc>{{base}}{name}</loc></url>"
                for name in NAMES
                if name.startswith(f"/{section}/")
            ]
            made[f"/sitemap-{section}.xml"] = SITEMAP.format("".join(urls))
    return made


def told(outcome, site: Site) -> dict[str, str]:
    found = {row["url"].removeprefix(site.url): row["change"] for row in outcome.documents}
    return {path: change for path, change in found.items() if change != "unchanged"}


def night(run_crawl, site: Site):
    return run_crawl(f"{site.url}/", settings=QUICK)


def first_night(site: Site, run_crawl, named_by: str) -> None:
    site.pages = pages(named_by)
    assert len(night(run_crawl, site).documents) == 25


QUARTER = NAMES[3::4]
TO_HOME = Reply("", 302, HTML, {"Location": "/"})
FAULTS = {
    "404 on a quarter": (LIST, dict.fromkeys(QUARTER, Reply("gone", 404, HTML))),
    "410 on a quarter": (LINKS, dict.fromkeys(QUARTER, Reply("gone", 410, HTML))),
    "a sitemap is not found": (LIST, {"/sitemap-guide.xml": Reply("gone", 404, HTML)}),
    "a sitemap is empty": (LIST, {"/sitemap-guide.xml": SITEMAP.format("")}),
    "a sitemap is no sitemap": (LIST, {"/sitemap-guide.xml": Reply(page("Soon"), 200, HTML)}),
    "a section without its list": (LINKS, {"/guide/": landing("guide", listed=False)}),
    "a section only lists others": (
        LIST,
        {
            "/guide/": f"<html class='docs-tags-list-page'><title>g</title><body>{landing('guide')}</body></html>"
        },
    ),
    "a section is not found": (LINKS, {"/guide/": Reply("gone", 404, HTML)}),
    "JSON errors with status 200": (
        LIST,
        dict.fromkeys(QUARTER, Reply('{"error": "try again later"}', 200, "application/json")),
    ),
    "three pages redirect to the home page": (LIST, dict.fromkeys(QUARTER[:3], TO_HOME)),
    "they do for good": (LIST, dict.fromkeys(QUARTER[:3], Reply("", 301, HTML, {"Location": "/"}))),
    "a sign-in": (
        LIST,
        {
            name: Reply("", 302, HTML, {"Location": f"/account/authenticate?to={name}"})
            for name in NAMES[:6]
        },
    ),
}


def sign_in(seen) -> Reply:
    text = f"<p>Who are you? You came from {seen.path}.</p>"
    is_there = seen.path.startswith("/account/")
    return Reply(html("Welcome", text), 200, HTML) if is_there else Reply("none", 404, HTML)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_odd_night_deletes_nothing(begun, run_crawl, fault):
    named_by, wrong = FAULTS[fault]
    site, _ = begun(first_night, named_by)
    site.missing = sign_in
    site.pages |= wrong
    odd = night(run_crawl, site)
    assert not {"deleted", "new"} & set(told(odd, site).values())
    assert len(odd.documents) == 25
    site.pages = pages(named_by)
    after = night(run_crawl, site)
    assert not {"deleted", "new"} & set(told(after, site).values())
    assert len(after.documents) == 25


def test_what_waits_is_told(begun, run_crawl, tmp_path):
    site, _ = begun(first_night, LIST)
    site.pages |= dict.fromkeys(QUARTER, Reply("gone", 404, HTML))
    first = night(run_crawl, site)
    line = "gone? 5 pages (not-found 5), the next complete crawl decides"
    assert line in first.log
    name = first.documents[0]["source"]
    shown = command("status", name, "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}", cwd=tmp_path)
    assert line in shown.stdout
    second = night(run_crawl, site)
    assert told(second, site) == dict.fromkeys(QUARTER, "deleted")
    assert "gone?" not in second.log


@pytest.mark.parametrize("named_by", [LIST, LINKS])
def test_a_page_that_is_removed_with_its_links_goes_the_same_night(begun, run_crawl, named_by):
    site, _ = begun(first_night, named_by)
    gone = NAMES[4]
    del site.pages[gone]
    for path in ("/guide/", "/sitemap-guide.xml"):
        text = site.pages.get(path, "")
        site.pages[path] = (
            str(text)
            .replace(f"<li><a href='{gone}'>{gone}</a></li>", "")
            .replace(f"<url><loc>{{base}}{gone}</loc></url>", "")
        )
    assert told(night(run_crawl, site), site).get(gone) == "deleted"


def test_a_page_that_nothing_names_but_that_answers_goes_in_the_third_night(begun, run_crawl):
    site, _ = begun(first_night, LIST)
    gone = NAMES[4]
    text = str(site.pages["/sitemap-guide.xml"])
    site.pages["/sitemap-guide.xml"] = text.replace(f"<url><loc>{{base}}{gone}</loc></url>", "")
    assert [told(night(run_crawl, site), site) for _ in range(2)] == [{}, {}]
    whole, site.pages["/sitemap.xml"] = site.pages["/sitemap.xml"], Reply("down", 503, HTML)
    assert told(night(run_crawl, site), site) == {}, "a night that sees less says nothing"
    site.pages["/sitemap.xml"] = whole
    assert told(night(run_crawl, site), site) == {gone: "deleted"}


def test_pages_that_are_gone_for_good_go_in_the_second_night(begun, run_crawl):
    site, _ = begun(first_night, LIST)
    site.pages |= FAULTS["JSON errors with status 200"][1]
    assert told(night(run_crawl, site), site) == {}
    assert Counter(told(night(run_crawl, site), site).values()) == {"deleted": len(QUARTER)}


def test_pages_that_lead_on_have_moved(begun, run_crawl):
    """By whatever means, linked or not: one page at once, several to one page in the second night."""
    site, _ = begun(first_night, LIST)
    leading = {
        NAMES[0]: ("<meta http-equiv='refresh' content='0; url=/faq/a.html#one'>", "Go on."),
        NAMES[1]: ("<script>location.href='/faq/a.html#two'+location.search</script>", LINK),
        NAMES[2]: ("<link rel='canonical' href='/faq/a.html'>", LINK),
        NAMES[3]: ("<script>window.location.replace('/faq/b.html')</script>", "It has moved."),
    }
    for name, (head, body) in leading.items():
        site.pages[name] = (
            f"<html><head><title>Moved</title>{head}</head><body>{body}</body></html>"
        )
    listed = str(site.pages["/sitemap-guide.xml"])
    for name in (NAMES[0], NAMES[1]):  # nothing names these any more
        listed = listed.replace(f"<url><loc>{{base}}{name}</loc></url>", "")
    site.pages["/sitemap-guide.xml"] = listed
    assert told(night(run_crawl, site), site) == {NAMES[3]: "deleted"}
    second = night(run_crawl, site)
    assert told(second, site) == dict.fromkeys(NAMES[:3], "deleted")
    assert second.stats["llms/deleted/moved"] == 3


PLACES = [f"/{section}/{word}" for section in SECTIONS for word in "abcd"]
DOCSIFY = "<title>Mill</title><div id=app></div><script>$docsify={loadSidebar:true}</script><script src='/docsify.js'>"


def text_of(place: str) -> str:
    return f"# {place}\n\nWhat {place} is about: how it is set up, {place} by {place}, and what comes of it.\n"


def other_site(kind: str, places: list[str]) -> dict[str, object]:
    """A site of these pages: by an llms.txt with its Markdown, by llms-full.txt, or of routes that scripts draw."""
    markdown = {
        f"{place}.md": Reply(text_of(place), content_type="text/markdown") for place in places
    }
    lists = "".join(f"- [{place}]({place}.md)\n" for place in places)
    if kind == "client-side":
        readme = Reply(text_of("Mill"), content_type="text/markdown")
        return {"/": DOCSIFY, "/README.md": readme, "/_sidebar.md": lists, **markdown}
    made: dict[str, object] = {place: page(place) for place in places}
    made["/"] = html("Home", "<p>Welcome to the documentation of it all.</p>")
    if kind == "llms.txt":
        return made | markdown | {"/llms.txt": f"# Mill\n\n{lists}"}
    held = (text_of(place).replace("\n\n", f"\n\nSource: {{base}}{place}\n\n") for place in places)
    return made | {"/llms-full.txt": "\n".join(held)}


LISTS = {"llms.txt": "/llms.txt", "llms-full.txt": "/llms-full.txt", "client-side": "/_sidebar.md"}


@pytest.mark.parametrize("kind", LISTS)
def test_odd_nights_in_a_row_delete_nothing_whatever_the_kind_of_site(serve, run_crawl, kind):
    site = serve(other_site(kind, PLACES))
    site.missing = sign_in
    most = len(night(run_crawl, site).documents)
    assert most == len(PLACES) + 1
    to_sign_in = Reply("", 302, HTML, {"Location": "/account/authenticate"})
    error = Reply('{"error": "try again later"}', 200, "application/json")
    odd = [Reply("gone", 404, HTML), error, TO_HOME, to_sign_in, Reply("gone", 410, HTML)]
    whole = other_site(kind, PLACES)
    file = LISTS[kind]
    shorter = other_site(kind, PLACES[4:])[file]
    nights = []
    for number, (reply, of_file) in enumerate(
        zip(odd, [*odd[:2], shorter, *odd[2:4]], strict=True)
    ):
        nights += [dict.fromkeys(PLACES[number::5][:3], reply), {file: of_file}]
    for wrong in nights:
        answers = {f"{place}{end}": reply for place, reply in wrong.items() for end in ("", ".md")}
        site.pages = {**whole, **{path: reply for path, reply in answers.items() if path in whole}}
        outcome = night(run_crawl, site)
        assert not {"deleted", "new", "changed"} & set(told(outcome, site).values()), wrong
        assert len(outcome.documents) == most
    site.pages = other_site(kind, PLACES[1:])
    assert Counter(told(night(run_crawl, site), site).values()) == {"deleted": 1}
