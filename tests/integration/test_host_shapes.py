"""Shapes of real hosts: how they write addresses, encode text, move, and answer."""

from __future__ import annotations

import json
import time

import pytest
from site_server import TYPES, Reply
from sites import NAV, html

NAMES = ["alpha", "beta", "gamma"]


def page(name: str, more: str = "") -> str:
    """A page whose text no other has."""
    text = f"What {name} does is told here, and that it is {name} which does it."
    return html(name.title(), f"<p>{text}</p>{more}")


def markdown(name: str) -> Reply:
    """The same page as Markdown."""
    text = f"What {name} does is told here, and that it is {name} which does it."
    return Reply(f"# {name.title()}\n\n{text}\n", 200, TYPES["md"])


def links(*paths: str) -> str:
    return " ".join(f'<a href="{path}">x</a>' for path in paths)


def test_paths_written_on_windows_are_paths(serve, run_crawl):
    listed = "".join(f"- [{name}](/d\\guide\\{name}.md)\n" for name in NAMES)
    pages = {f"/d/guide/{name}": page(name) for name in NAMES}
    pages |= {f"/d/guide/{name}.md": markdown(name) for name in NAMES}
    site = serve(
        {
            "/": html("Home", '<p>Home.</p><a href="\\old\\one.html">x</a>'),
            "/old/one.html": page("one", '<a href="..\\old\\two.html">x</a>'),
            "/old/two.html": page("two"),
            "/llms.txt": f"# Site\n\n## Docs\n\n{listed}",
            **pages,
        }
    )
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/", "/old/one.html", "/old/two.html"} | {
        f"/d/guide/{name}" for name in NAMES
    }


def test_encoded_backslashes_are_slashes_where_nothing_is_there(serve, run_crawl):
    site = serve({"/": html("Home", "<p>Home.</p>"), "/ns/a%5Cb": page("a"), "/ns/c": page("c")})
    listed = "".join(f"{site.url}/ns{path}\n" for path in ("/a%5Cb", "%5Cc"))
    site.pages["/sitemap.txt"] = listed
    site.pages["/robots.txt"] = f"Sitemap: {site.url}/sitemap.txt\n"
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/ns/a%5Cb", "/ns/c"}


@pytest.mark.parametrize("ending", ["", "/", ".html"])
def test_a_host_that_lists_markdown_alone_is_asked_what_its_pages_are_called(
    serve, run_crawl, ending
):
    listed = "".join(f"- [{name}](/d/{name}.md)\n" for name in NAMES)
    site = serve(
        {
            "/": html("Home", "<p>Home.</p>"),
            "/llms.txt": f"# Site\n\n## Docs\n\n{listed}",
            **{f"/d/{name}{ending}": page(name) for name in NAMES},
            **{f"/d/{name}.md": markdown(name) for name in NAMES},
        }
    )
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/"} | {f"/d/{name}{ending}" for name in NAMES}
    assert {found[f"/d/{name}{ending}"]["origin"] for name in NAMES} == {"markdown"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_texts_in_any_unicode_are_read(serve, run_crawl, encoding):
    listed = "".join(f"- [{name}](/d/{name}.md): größer\n" for name in NAMES)
    files = {f"/d/{name}.md": str(markdown(name).body) for name in NAMES}
    files["/llms.txt"] = f"# Site\n\n## Docs\n\n{listed}"
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links(*(f'/d/{name}' for name in NAMES))}"),
            **{f"/d/{name}": page(name) for name in NAMES},
            **{
                path: Reply(text.encode(encoding), 200, TYPES["md"]) for path, text in files.items()
            },
        }
    )
    outcome = run_crawl(f"{site.url}/")
    found = outcome.by_path(site.url)
    assert outcome.stats["llms/origin/markdown"] == len(NAMES)
    assert found["/d/beta"]["content"].startswith("# Beta")


@pytest.mark.parametrize(
    "moved",
    [
        Reply("", 300, headers={"Location": "/new"}),
        Reply("", 301, headers={"Location": "\\new"}),
        Reply(
            "<html><head><noscript><meta http-equiv='refresh' content=\"0;URL='/new'\"></noscript>"
            "</head><body>Moved</body></html>"
        ),
    ],
    ids=["the preferred of several choices", "an address of Windows", "a refresh without scripts"],
)
def test_a_page_that_leads_on_is_no_document(serve, run_crawl, moved):
    pages = {"/": html("Home", f"<p>Home.</p>{links('/old')}"), "/new": page("new")}
    site = serve({**pages, "/old": moved})
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == set(pages)


@pytest.mark.parametrize("by_way", [False, True], ids=["to itself", "over a page of consent"])
def test_a_redirect_that_wants_its_cookie_back_gets_it(serve, run_crawl, by_way):
    def walled(path: str, body: str):
        def answer(seen):
            if "seen=1" in seen.headers.get("cookie", ""):
                return Reply(body)
            headers = {"Location": f"/consent?to={path}" if by_way else path}
            if not by_way:
                headers["Set-Cookie"] = "seen=1; Path=/"
            return Reply("", 302, headers=headers)

        return answer

    def consent(seen):
        headers = {"Location": seen.path.partition("to=")[2], "Set-Cookie": "seen=1; Path=/"}
        return Reply("", 302, headers=headers)

    pages = {f"/d/{name}": page(name) for name in NAMES}
    pages["/"] = html("Home", f"<p>Home.</p>{links(*pages)}")
    site = serve({path: walled(path, body) for path, body in pages.items()})
    site.pages["/consent"] = consent
    outcome = run_crawl(f"{site.url}/")
    assert set(outcome.by_path(site.url)) == set(pages)
    assert [seen.status for seen in site.requests if seen.path == "/d/beta"].count(302) <= 1


@pytest.mark.parametrize("is_wall", [True, False], ids=["wall", "session"])
def test_a_page_that_sets_a_cookie_and_leads_nowhere_is_requested_twice(serve, run_crawl, is_wall):
    """A wall stands in place of each page until its cookie comes back; a session stands nowhere."""
    terms = links("/terms", "/privacy", "/imprint")
    wall = f"<h1>Before you continue</h1><p>We use cookies.</p>{terms}"

    def walled(body):
        def answer(seen):
            if "seen=1" in seen.headers.get("cookie", ""):
                return body
            return Reply(wall if is_wall else body, headers={"Set-Cookie": "seen=1; Path=/"})

        return answer

    pages = {f"/d/{name}": page(name) for name in NAMES}
    pages["/"] = html("Home", f"<p>Home.</p>{links(*pages)}")
    site = serve({path: walled(body) for path, body in pages.items()})
    for change in ("new", "unchanged"):
        before = len(site.requests)
        documents = run_crawl(f"{site.url}/").by_path(site.url)
        assert set(documents) == set(pages)
        assert {document["change"] for document in documents.values()} == {change}
        asked = [seen for seen in site.requests[before:] if seen.path in pages]
        assert len(asked) == len(pages) + is_wall
        with_cookie = [seen for seen in asked if "cookie" in seen.headers]
        assert len(with_cookie) == (len(pages) if is_wall else 0)


def test_a_page_that_looks_for_the_cookie_of_its_redirect_gets_it(serve, run_crawl):
    def walled(path: str, body: str):
        headers = {"Location": f"/check?to={path}", "Set-Cookie": "seen=1; Path=/"}
        wall = Reply("", 302, headers=headers)
        return lambda seen: body if "seen=1" in seen.headers.get("cookie", "") else wall

    def check(seen):
        if "seen=1" not in seen.headers.get("cookie", ""):
            return html("Cookies", "<p>Switch cookies on.</p>")
        return Reply("", 307, headers={"Location": seen.path.partition("to=")[2]})

    pages = {f"/d/{name}": page(name) for name in NAMES}
    pages["/"] = html("Home", f"<p>Home.</p>{links(*pages)}")
    site = serve({path: walled(path, body) for path, body in pages.items()})
    site.pages["/check"] = check
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == set(pages)


def test_a_circle_without_cookies_stays_an_error(serve, run_crawl):
    circle = Reply("", 302, headers={"Location": "/d/a"})
    site = serve({"/": html("Home", f"<p>Home.</p>{links('/d/a')}"), "/d/a": circle})
    assert run_crawl(f"{site.url}/").stats["llms/errors/http"] == 1


def test_a_refresh_header_redirects_but_to_the_page_itself(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links('/old', '/older', '/clock')}"),
            "/old": Reply("<p>Moved.</p>", headers={"Refresh": "0; URL='/new'"}),
            "/older": Reply("<p>Moved.</p>", headers={"Refresh": "1;/old"}),
            "/new": page("new"),
            "/clock": Reply(page("clock"), headers={"Refresh": "5; url=/clock"}),
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/new", "/clock"}


def test_addresses_of_the_cdn_are_no_pages(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links('/cdn-cgi/l/email-protection', '/d/a')}"),
            "/d/a": page("a"),
            "/cdn-cgi/l/email-protection": page("protection"),
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/d/a"}
    assert not [path for path in site.paths() if "cdn-cgi" in path]


def test_translations_by_the_query_are_left_out(serve, run_crawl):
    def translated(path: str, body: str = "") -> dict[str, str]:
        tags = "".join(
            f'<link rel="alternate" hreflang="{tag}" href="{path}?lang={tag}">'
            for tag in ("de", "pt-BR")
        )
        made = {path: page(path.strip("/") or "home", body + links(f"{path}?lang=de"))}
        for tag in ("de", "pt-BR"):
            made[f"{path}?lang={tag}"] = page(f"{path} {tag}", links(f"/d/a?lang={tag}"))
        return {one: text.replace("</head>", f"{tags}</head>") for one, text in made.items()}

    site = serve(translated("/d/", links("/d/a?tab=2", "/d/a")) | translated("/d/a"))
    found = run_crawl(f"{site.url}/d/").by_path(site.url)
    assert set(found) == {"/d/", "/d/a"}
    german = run_crawl(f"{site.url}/d/", arguments={"language": "de", "source": "de"})
    assert set(german.by_path(site.url)) == {"/d/?lang=de", "/d/a?lang=de"}


@pytest.mark.parametrize("named", [("/d/a", "/d/a?hl=de"), ("/d/a?hl=de",), ()])
def test_translations_that_no_start_page_names_are_left_out(serve, run_crawl, named):
    tags = "".join(
        f'<link rel="alternate" hreflang="{"de" if "de" in path else "en"}" href="{path}">'
        for path in named
    )
    german = page("auf deutsch", links("/d/b?hl=de")).replace("lang='en'", "lang='de'")
    site = serve(
        {
            "/d/": page("home", links("/d/a", "/d/b")),
            "/d/a": page("a", links("/d/a?hl=de", "/d/b?tab=2")).replace(
                "</head>", f"{tags}</head>"
            ),
            "/d/a?hl=de": german,
            "/d/b": page("b"),
            "/d/b?tab=2": page("the second tab of b"),
            "/d/b?hl=de": page("b auf deutsch"),
        }
    )
    found = run_crawl(f"{site.url}/d/").by_path(site.url)
    assert set(found) == {"/d/", "/d/a", "/d/b", "/d/b?tab=2"}


def test_a_start_page_that_leads_to_its_language_by_query_is_the_page_in_that_language(
    serve, run_crawl
):
    refresh = "<meta http-equiv='refresh' content='0;url=/d/?hl=en'>"
    site = serve(
        {
            "/d/": f"<html lang='en'><head>{refresh}</head></html>",
            "/d/?hl=en": page("home", links("/d/a", "/d/", "/d/?hl=de")),
            "/d/a": page("a"),
            "/d/?hl=de": page("auf deutsch").replace("lang='en'", "lang='de'"),
        }
    )
    found = run_crawl(f"{site.url}/d/").by_path(site.url)
    assert set(found) == {"/d/?hl=en", "/d/a"}


@pytest.mark.parametrize("made", ["/d/{name}.de.html", "/jp/{name}.html", "/d/x{name}.html"])
def test_translations_are_those_that_pages_name_whatever_their_addresses(serve, run_crawl, made):
    def tags(name: str, other: str = "de") -> str:
        pages = {"en": f"/d/{name}.html", other: made.format(name=name)}
        return "".join(
            f'<link rel="alternate" hreflang="{tag}" href="{path}">' for tag, path in pages.items()
        )

    pages = {}
    for name in NAMES:
        own = page(name, links(made.format(name=name)))
        pages[f"/d/{name}.html"] = own.replace("</head>", f"{tags(name)}</head>")
        there = page(f"{name} anders", links(*(made.format(name=one) for one in NAMES)))
        pages[made.format(name=name)] = there.replace("lang='en'", "lang='de'")
    # a page that names itself in each language is no translation
    broken = '<link rel="alternate" hreflang="de" href="/d/own.html">'
    pages["/d/own.html"] = page("own").replace("</head>", f"{broken}</head>")
    english = [f"/d/{name}.html" for name in [*NAMES, "own"]]
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*english)}"), **pages})
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *english}


@pytest.mark.parametrize(
    ("head", "arguments"),
    [
        ('<meta property="og:locale" content="fr_FR">', {"language": "en"}),
        ('<link rel="alternate" hreflang="en" href="/d/{name}">', {}),
        ('</head><a rel="alternate" hreflang="en" href="/d/{name}">English</a>', {}),
    ],
    ids=["asked for one", "names the page in it", "links to the page in it"],
)
def test_a_page_that_declares_another_language_is_left_out(serve, run_crawl, head, arguments):
    pages = {f"/d/{name}": page(name, links(f"/d/{name}/fra")) for name in NAMES}
    pages["/d/"] = page("home", links(*pages, "/d/only"))
    french = page("seulement").replace("lang='en'", "lang='fr'")
    kept = {} if arguments else {"/d/only": french}
    for name in NAMES:
        declared = "" if arguments else " lang='fr'"
        text = page(f"{name} autrement").replace(" lang='en'", declared)
        pages[f"/d/{name}/fra"] = text.replace("</head>", f"{head.format(name=name)}</head>")
    site = serve({**pages, "/d/only": french})
    outcome = run_crawl(f"{site.url}/d/", arguments=arguments)
    assert set(outcome.by_path(site.url)) == {"/d/", *(f"/d/{name}" for name in NAMES), *kept}
    assert outcome.stats["llms/filtered/language"] == len(NAMES) + (not kept)


GERMAN = (
    "<p>Die Datei wird beim Start des Dienstes gelesen und nicht verändert. Wenn der Dienst nicht"
    " antwortet, ist das Protokoll für die Suche nach der Ursache da, und die Rechte der Datei.</p>"
)


@pytest.mark.parametrize(
    "made",
    [
        lambda text: text.replace("</main>", f"{GERMAN}</main>"),
        lambda text: text.replace("<main", "<main lang='de'"),
        lambda text: text.replace("</head>", "<meta property='og:locale' content='de_DE'></head>"),
    ],
    ids=["text", "of the main content", "og:locale"],
)
def test_pages_in_another_language_below_the_stamp_of_a_template(serve, run_crawl, made):
    pages = {f"/d/{name}": page(name) for name in NAMES}
    german = {f"/d/{name}-x": made(page(f"{name} x")) for name in NAMES}
    site = serve({"/d/": page("home", links(*pages, *german)), **pages, **german})
    english = run_crawl(f"{site.url}/d/", arguments={"language": "en"}).by_path(site.url)
    assert set(english) == {"/d/", *pages}
    both = run_crawl(f"{site.url}/d/", arguments={"source": "both"}).by_path(site.url)
    assert set(both) == {"/d/", *pages, *german}
    assert {both[path]["language"] for path in german} <= {"de", "de-DE"}


def test_sections_of_llms_txt_in_another_language_are_left_out(serve, run_crawl):
    pages = {}
    listed = "# Site\n"
    for tag in ("en", "zh"):
        listed += f"\n## {tag}\n\n"
        for name in NAMES:
            made = page(f"{name} {tag}").replace("<html", f'<html lang="{tag}"', 1)
            pages[f"/{tag}/{name}"] = made
            listed += f"- [x](/{tag}/{name})\n"
    site = serve({"/": html("Home", "<p>Home.</p>"), "/llms.txt": listed, **pages})
    found = run_crawl(f"{site.url}/", arguments={"language": "en"}).by_path(site.url)
    assert set(found) == {"/", *(path for path in pages if path.startswith("/en/"))}


@pytest.mark.parametrize("are_copies", [True, False], ids=["translations", "sections"])
def test_llms_files_of_other_languages_are_left_out_and_sections_named_alike_are_not(
    serve, run_crawl, are_copies
):
    names = {"": NAMES, "zh/": NAMES, "ts/": NAMES}
    pages = {}
    for place, of in names.items():
        for name in of:
            tag = place[:2] if are_copies and place else "en"
            made = page(f"{place} {name}").replace("<html", f'<html lang="{tag}"', 1)
            pages[f"/{place}d/{name}"] = made
        rows = "".join(f"- [{name}](/{place}d/{name})\n" for name in of)
        more = "- [zh](/zh/llms.txt)\n- [ts](/ts/llms.txt)\n" if not place else ""
        pages[f"/{place}llms.txt"] = f"# Site {place}\n\n## Docs\n\n{rows}{more}"
    site = serve({"/": html("Home", "<p>Home.</p>"), **pages})
    found = set(run_crawl(f"{site.url}/").by_path(site.url)) - {"/"}
    wanted = {path for path in pages if path.startswith("/d/") or not are_copies}
    assert found == {path for path in wanted if not path.endswith("llms.txt")}


@pytest.mark.parametrize("by", ["url", "canonical", "permalink", "source_url", "slug", "header"])
def test_a_markdown_file_that_names_its_page_is_that_page(serve, run_crawl, by):
    def file(name: str) -> Reply:
        made = markdown(name)
        if by == "header":
            return Reply(
                made.body, 200, TYPES["md"], headers={"Link": f"</d/{name}>; rel=canonical"}
            )
        return Reply(f"---\n{by}: /d/{name}\n---\n{made.body}", 200, TYPES["md"])

    rows = "".join(f"- [{name}](/raw/{number}.md)\n" for number, name in enumerate(NAMES))
    linked = NAMES[:2]
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links(*(f'/d/{name}' for name in linked))}"),
            "/llms.txt": f"# Site\n\n## Docs\n\n{rows}",
            **{f"/d/{name}": page(name) for name in NAMES},
            **{f"/raw/{number}.md": file(name) for number, name in enumerate(NAMES)},
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {
        "/",
        *(f"/d/{name}" for name in NAMES),
    }


@pytest.mark.parametrize("place", ["/docs/ai/overview/", "/docs/ai/"])
def test_a_start_page_that_moved_to_another_host_is_a_section_there(serve, run_crawl, place):
    pages = {f"/docs/ai/{name}/": page(name, '<a href="/">Company</a>') for name in NAMES}
    body = links(*pages, "/pricing", "/docs/other/")
    site = serve({place: page("overview", body), **pages})
    site.pages |= {"/": page("company"), "/pricing": page("pricing"), "/docs/other/": page("other")}
    moved = serve({"/": Reply("", 301, headers={"Location": f"{site.url}{place}"})})
    start = moved.url.replace("127.0.0.1", "localhost")
    found = run_crawl(f"{start}/").by_path(site.url)
    assert set(found) == {place, *pages}


@pytest.mark.parametrize("beside", [1, 2], ids=["a section", "a whole host"])
def test_a_start_page_that_moved_to_a_directory_by_where_its_navigation_leads(
    serve, run_crawl, beside
):
    pages = {f"/docs/{name}": page(name) for name in NAMES[:2]}
    others = {f"/{name}/": page(name) for name in ("blog", "guide")[:beside]}
    bar = f"<nav>{links('/docs/', *pages, *others)}</nav>"
    site = serve({"/docs/": page("docs").replace(NAV, bar), **pages, **others})
    moved = serve({"/": Reply("", 301, headers={"Location": f"{site.url}/docs/"})})
    start = moved.url.replace("127.0.0.1", "localhost")
    found = set(run_crawl(f"{start}/").by_path(site.url))
    assert found == {"/docs/", *pages, *(others if beside == 2 else ())}


@pytest.mark.parametrize("kept", ["", "/v1/beta"], ids=["with its pages", "without a page"])
def test_a_section_that_moves_is_told_as_moved_in_the_same_night(serve, run_crawl, kept):
    old = ["/v1/", *(f"/v1/{name}" for name in NAMES)]
    new = [path.replace("v1", "docs") for path in old]
    site = serve({path: page(path, links(*old)) for path in old})
    run_crawl(f"{site.url}/v1/")
    for before, now in zip(old, new, strict=True):
        site.pages[now] = page(before, links(*new))
        if before != kept:
            site.pages[before] = Reply("", 308, headers={"Location": now})
    outcome = run_crawl(f"{site.url}/v1/")
    found = outcome.by_path(site.url)
    assert outcome.stats.get("llms/errors/http", 0) == bool(kept)
    live = {path for path, document in found.items() if document["change"] != "deleted"}
    assert (live == {*new}) == (not kept)
    assert bool(found.get("/docs/", {}).get("moved_from")) == (not kept)


@pytest.mark.parametrize("listed", ["nothing", "the pages", "what redirects"])
def test_permanent_redirects_of_links_are_not_asked_again_each_night(serve, run_crawl, listed):
    old = [f"/old/{number}" for number in range(20)]
    pages = {f"/new/{number}/": page(f"number {number}", links(*old[:3])) for number in range(20)}
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*old)}"), **pages})
    for path, target in zip(old, pages, strict=True):
        site.pages[path] = Reply("", 301, headers={"Location": target})
    paths = {"nothing": (), "the pages": pages, "what redirects": old}[listed]
    if paths:
        entries = "".join(f"- [{path}]({path}): a page\n" for path in paths)
        site.pages["/llms.txt"] = f"# Kit\n\n> All of it.\n\n## Pages\n\n{entries}"
    site.etags = True
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *pages}
    site.clear()
    again = run_crawl(f"{site.url}/")
    assert again.stats["llms/change/unchanged"] == 21
    assert len([path for path in site.paths() if path in old]) <= 4
    del site.pages["/new/3/"]
    site.pages["/old/3"] = page("three", "anew")
    third = {row["url"]: row["change"] for row in run_crawl(f"{site.url}/").documents}
    fourth = {row["url"]: row["change"] for row in run_crawl(f"{site.url}/").documents}
    assert "new" in {third.get(f"{site.url}/old/3"), fourth.get(f"{site.url}/old/3")}


def copies(name: str, canonical: str) -> str:
    return page(name).replace("</head>", f'<link rel="canonical" href="{canonical}"></head>')


def test_old_names_of_a_page_are_the_page_that_they_name(serve, run_crawl):
    shown = {
        f"/hc/{number}-{name}": f"/hc/{number}-was-{name}" for number, name in enumerate(NAMES)
    }
    pages = {"/hc/": html("Home", f"<p>Home.</p>{links(*shown.values(), *shown)}")}
    for (path, old), name in zip(shown.items(), NAMES, strict=True):
        pages[path] = pages[old] = copies(name, path)
    pages["/hc/display?id=7"] = pages["/hc/seven"] = copies("seven", "/hc/seven")
    pages["/hc/"] = pages["/hc/"].replace("</body>", links("/hc/display?id=7", "/hc/seven"))
    site = serve(pages)
    for _ in range(2):
        found = run_crawl(f"{site.url}/hc/")
        assert set(found.by_path(site.url)) == {"/hc/", "/hc/seven", *shown}


def test_two_names_in_a_directory_with_one_text_are_one_page(serve, run_crawl):
    text = "One text of two names that is long enough to be no note. " * 5
    site = serve(
        {
            "/": html(
                "Home", f"<p>Home.</p>{links('/a/1-old', '/a/1-new', '/b/1-new', '/a/2', '/a/3')}"
            ),
            **dict.fromkeys(("/a/1-old", "/a/1-new", "/b/1-new"), html("One", f"<p>{text}</p>")),
            **dict.fromkeys(("/a/2", "/a/3"), html("Soon", "<p>To come.</p>")),
        }
    )
    first = set(run_crawl(f"{site.url}/").by_path(site.url))
    names = {"/a/1-old", "/a/1-new"} & first
    assert len(names) == 1
    assert first - names == {"/", "/b/1-new", "/a/2", "/a/3"}
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == first


def test_pages_that_all_name_one_page_are_themselves(serve, run_crawl):
    pages = {f"/d/{name}": copies(name, "/d/start") for name in [*NAMES, "start"]}
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*pages)}"), **pages})
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *pages}


def test_empty_segments_belong_to_an_address_only_where_nothing_is_without_them(serve, run_crawl):
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links('{base}//d/one', '/d/one', '/d//two')}"),
            "/d/one": page("one"),
            "//d/one": page("one"),
            "/d//two": page("two"),
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/d/one", "/d//two"}
    assert "//d/one" not in site.paths()


@pytest.mark.parametrize("bare", [(), ("p19",)], ids=["all", "all but one"])
def test_a_host_that_adds_a_slash_is_asked_for_that_once_it_is_known(serve, run_crawl, bare):
    names = [f"p{number}" for number in range(20)]
    site = serve({"/": html("Home", f"<p>Home.</p>{links('/d/p0')}")})
    for number, name in enumerate(names):
        text = page(name, links("/dead", *(f"/d/{one}" for one in names[: number + 2])))
        site.pages[f"/d/{name}/"] = text
        site.pages[f"/d/{name}"] = Reply("", 301, headers={"Location": f"/d/{name}/"})
        if name in bare:
            del site.pages[f"/d/{name}/"]
            site.pages[f"/d/{name}"] = text
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/"} | {f"/d/{name}{'/' * (name not in bare)}" for name in names}
    redirected = [seen.path for seen in site.requests if seen.status == 301]
    assert len(redirected) == 3
    site.clear()
    again = run_crawl(f"{site.url}/").by_path(site.url)
    assert {document["change"] for document in again.values()} == {"unchanged"}
    assert sum(seen.status == 301 for seen in site.requests) <= len(redirected)


def test_a_list_without_the_slashes_that_the_start_page_links_to_costs_no_redirect(
    serve, run_crawl
):
    names = [f"/d/p{number}" for number in range(8)]
    listed = "".join(f"<url><loc>{{root}}{name}</loc></url>" for name in [*names, "/e"])
    site = serve({f"{name}/": page(name) for name in names})
    site.pages |= {name: Reply("", 301, headers={"Location": f"{name}/"}) for name in names}
    site.pages["/"] = html("Home", f"<p>Home.</p>{links(*(f'{name}/' for name in names[:4]))}")
    site.pages["/e"] = page("e")
    site.pages["/sitemap.xml"] = f"<urlset>{listed.format(root=site.url)}</urlset>"
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/", "/e", *(f"{name}/" for name in names)}
    assert not [seen.path for seen in site.requests if seen.status == 301]


def test_a_link_that_saves_a_file_leads_to_no_page(serve, run_crawl):
    saved = "".join(
        f'<a href="{path}" download>save</a>'
        for path in ("/build/alpha-1a2b.md", "/get/alpha.py", "/beta.html")
    )
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links('/alpha')}"),
            "/alpha": page("alpha", saved),
            "/build/alpha-1a2b.md": markdown("alpha"),
            "/get/alpha.py": Reply("print()", 200, "text/x-python"),
            "/beta.html": page("beta"),
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/alpha", "/beta.html"}
    assert not {"/build/alpha-1a2b.md", "/get/alpha.py"} & set(site.paths())


def test_facets_of_a_list_are_the_list_and_end(serve, run_crawl):
    things = links(*(f"/thing/{number}" for number in range(5)))

    def listed(seen):
        query = seen.path.partition("?")[2]
        more = [
            f"/list?{query}&{name}={value}"
            for name in ("color", "size", "brand", "order")
            if f"{name}=" not in query
            for value in "xyz"
        ]
        text = "All things that there are, by their colors, sizes and brands, in any order. " * 4
        shown = links(*more).replace("&", "&amp;")
        return Reply(html(f"Things {query}", f"<p>{text}</p><p>{things}</p>{shown}"))

    site = serve({"/": html("Home", f"<p>Home.</p>{links('/list?')}"), "/list": listed})
    site.pages |= {f"/thing/{number}": page(f"thing {number}") for number in range(5)}
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert {path for path in found if "thing" in path} == {f"/thing/{n}" for n in range(5)}
    assert len(found) <= 8
    assert len(site.requests) < 150


SPELLINGS = {
    "in other case": ("/d/One.aspx", "/D/one.aspx"),
    "with a slash": ("/d/one", "/d/one/"),
    "with two slashes": ("/d/one", "/d//one"),
    "with a part repeated": ("/d/pro/", "/d/pro/pro/"),
    "behind a script": ("/d/one", "/index.php/d/one"),
}


@pytest.mark.parametrize("shape", SPELLINGS)
def test_spellings_of_one_page_are_one_document(serve, run_crawl, shape):
    first, second = SPELLINGS[shape]
    body = page("one", links("../d/x", "#top"))
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links(first)}"),
            first: body + links(second),
            second: body + links(second),
        }
    )
    found = set(run_crawl(f"{site.url}/").by_path(site.url)) - {"/"}
    assert len(found) == 1
    assert found <= {first, second}


@pytest.mark.parametrize("ending", [".html", "/"])
def test_of_two_spellings_of_a_page_that_is_kept_which_its_navigation_has(serve, run_crawl, ending):
    named = [f"/d/{name}{ending}" for name in NAMES]
    home = links("/d/alpha", "/d/gamma", "/e/two")
    site = serve({"/": html("Home", f"<p>Home.</p>{home}")})
    for name, path in zip(NAMES, named, strict=True):
        site.pages[path] = site.pages[f"/d/{name}"] = page(name, f"<nav>{links(*named)}</nav>")
    site.pages["/e/two"] = page("two", links("/e/two/"))
    site.pages["/e/two/"] = page("the parts of two")
    for _ in range(2):
        found = run_crawl(f"{site.url}/").by_path(site.url)
        assert set(found) == {"/", "/e/two", "/e/two/", *named}


@pytest.mark.parametrize(
    "rel", ['alternate" type="text/html', "amphtml", 'alternate" media="print']
)
def test_copies_that_a_page_names_are_no_documents(serve, run_crawl, rel):
    pages = {}
    for name in NAMES:
        link = f'<link rel="{rel}" href="/d/{name}.print.html">'
        pages[f"/d/{name}.html"] = page(name, links(f"/d/{name}.print.html")).replace(
            "</head>", f"{link}</head>"
        )
        pages[f"/d/{name}.print.html"] = page(f"{name} in print", page("more"))
    listed = [path for path in pages if "print" not in path]
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*listed)}"), **pages})
    for _ in range(2):  # its pages are unchanged in the second, and not read
        assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *listed}
        assert not [path for path in site.paths() if "print" in path]


def test_what_wikis_do_with_pages_and_tracking_are_no_pages(serve, run_crawl):
    tools = [f"/w?title=A&{more}" for more in ("action=edit", "action=history", "diff=18&oldid=17")]
    tools += ["/w?title=Special:WhatLinksHere/A", "/wiki/Special:RecentChanges"]
    tools += ["/w?title=A&printable=yes", "/dk?do=edit&id=a"]
    pages = {path: page(f"tool {number}") for number, path in enumerate(tools)}
    pages |= {"/w?title=A": page("a"), "/w?title=B&action=view": page("b"), "/c": page("c")}
    shown = links(*pages, "/c?utm_source=x&utm_medium=y#a").replace("&", "&amp;")
    site = serve({"/": html("Home", f"<p>Home.</p>{shown}"), **pages})
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/", "/w?title=A", "/w?title=B&action=view", "/c"}


@pytest.mark.parametrize("host", ["https://your-docs.example.com", "http://localhost:3000"])
@pytest.mark.parametrize("file", ["/llms.txt", "/sitemap.xml"])
def test_lists_with_addresses_of_a_template_list_the_pages_of_their_site(
    serve, run_crawl, file, host
):
    pages = {f"/d/{name}": page(name) for name in NAMES}
    if file == "/llms.txt":
        listed = "# Site\n\n## Docs\n\n" + "".join(f"- [x]({host}{path})\n" for path in pages)
    else:
        locs = "".join(f"<url><loc>{host}{path}</loc></url>" for path in pages)
        listed = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locs}</urlset>'
    site = serve({"/": html("Home", "<p>Home.</p>"), file: listed, **pages})
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *pages}


def test_a_page_has_its_address_without_a_query_that_changes_nothing(serve, run_crawl):
    pages = {f"/d/{name}": page(name) for name in NAMES}
    marked = [f"{path}?highlight=x" for path in pages]
    home = html("Home", f"<p>Home.</p>{links('/d/alpha?page=2', *marked, *pages)}")
    site = serve({"/": home, **pages, "/d/alpha?page=2": page("second of alpha")})
    site.pages |= {f"{path}?highlight=x": text for path, text in pages.items()}
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/", "/d/alpha?page=2", *pages}


def test_selectors_keep_and_drop_parts_and_stay_with_the_source(serve, run_crawl):
    def framed(name: str) -> str:
        return page(
            name, f"<div class='box7'>Buy {name}.</div><section id='more'>More of {name}.</section>"
        )

    pages = {f"/d/{name}": framed(name) for name in NAMES}
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*pages)}"), **pages})
    site.etags = True
    plain = run_crawl(f"{site.url}/").by_path(site.url)
    assert "Buy beta." in plain["/d/beta"]["content"]
    chosen = {"drop": "div.box7, .nowhere", "save": "true"}
    outcome = run_crawl(f"{site.url}/", arguments=chosen)
    assert "Buy beta." not in outcome.by_path(site.url)["/d/beta"]["content"]
    assert outcome.stats["llms/selected"] == len(NAMES)
    assert "the selector '.nowhere' matched nothing on any page" in outcome.log
    assert "div.box7' matched nothing" not in outcome.log
    again = run_crawl(f"{site.url}/")
    assert again.stats["llms/change/unchanged"] == len(NAMES) + 1
    kept = run_crawl(f"{site.url}/", arguments={"keep": "#more", "drop": ""}).by_path(site.url)
    assert kept["/d/beta"]["content"] == "# Beta\n\nMore of beta.\n"


def test_a_selector_that_is_none_is_said(serve, run_crawl):
    outcome = run_crawl("http://127.0.0.1:9/", arguments={"drop": "div[["})
    assert outcome.exit_code == 2
    assert "'div[[' is no CSS selector" in outcome.log


def cookie_lines(host: str, *, expires: int = 0) -> str:
    rows = (
        f"{host}\tFALSE\t/\tFALSE\t{expires}\tsession\tsecret-of-mine",
        f"#HttpOnly_{host}\tFALSE\t/d/\tFALSE\t0\tdeep\tyes",
    )
    return "# Netscape HTTP Cookie File\n" + "".join(f"{row}\n" for row in rows)


def cookie_rows(host: str) -> str:
    return json.dumps(
        [
            {"name": "session", "value": "secret-of-mine", "domain": host, "hostOnly": True},
            {"name": "deep", "value": "yes", "domain": host, "path": "/d/", "expirationDate": 9e9},
        ]
    )


def cookie_words(host: str) -> str:
    return cookie_lines(host).replace("\t", "  ")


def cookie_dates(host: str) -> str:
    rows = json.loads(cookie_rows(host))
    rows[1] |= {"expires": "2133-05-18T03:33:19.000Z"}
    del rows[1]["expirationDate"]
    return json.dumps({"cookies": rows})


def cookies_of_quick_manager(host: str) -> str:
    row = {
        "Host raw": f"http://{host}/",
        "Name raw": "session",
        "Path raw": "/",
        "Content raw": "secret-of-mine",
        "Expires": "18-05-2133 03:33:19",
        "Expires raw": "5155500799",
        "Send for": "Any type of connection",
        "Send for raw": "false",
        "This domain only raw": "true",
    }
    deep = {"Name raw": "deep", "Path raw": "/d/", "Content raw": "yes", "Expires raw": "0"}
    return json.dumps([row, row | deep])


WRITTEN = [cookie_lines, cookie_rows, cookie_words, cookie_dates, cookies_of_quick_manager]


@pytest.mark.parametrize("write", WRITTEN)
def test_a_session_is_sent_from_a_file_and_never_shown(serve, run_crawl, tmp_path, write):
    def member(name: str):
        made = page(name, links("/d/beta"))
        no = Reply("Sign in", 401, content_type="text/plain")
        return lambda seen: (
            Reply(made) if "session=secret-of-mine" in seen.headers.get("cookie", "") else no
        )

    site = serve({"/": member("home"), "/d/beta": member("beta")})
    file = tmp_path / "cookies"
    file.write_text(write("127.0.0.1"))
    outcome = run_crawl(
        f"{site.url}/", settings={"LLMS_COOKIES_FILE": str(file), "LOG_LEVEL": "DEBUG"}
    )
    assert set(outcome.by_path(site.url)) == {"/", "/d/beta"}
    assert "secret-of-mine" not in outcome.log
    sent = {seen.path: seen.headers.get("cookie", "") for seen in site.requests}
    assert "deep=yes" in sent["/d/beta"]
    assert "deep=yes" not in sent["/"]


def test_a_session_goes_to_its_own_host_alone(serve, run_crawl, tmp_path):
    site = serve({"/": html("Home", "<p>Home.</p>")})
    file = tmp_path / "cookies"
    file.write_text(cookie_lines("docs.example.com"))
    run_crawl(f"{site.url}/", settings={"LLMS_COOKIES_FILE": str(file)})
    assert not any("cookie" in seen.headers for seen in site.requests)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file or directory"),
        ("", "it holds no cookies"),
        ("{nonsense", "it has neither format"),
        ('{"cookies": [{"name": "x"}]}', "it has neither format"),
        ('["x", 5]', "it has neither format"),
        ("127.0.0.1\tFALSE\t/\tFALSE\t1000000000\ts\tsecret-of-mine\n", "have expired"),
    ],
)
def test_a_file_without_a_session_is_refused(run_crawl, tmp_path, text, why):
    file = tmp_path / "cookies"
    if text is not None:
        file.write_text(text)
    outcome = run_crawl("http://127.0.0.1:9/", settings={"LLMS_COOKIES_FILE": str(file)})
    assert outcome.exit_code != 0
    assert why in outcome.log
    assert "secret-of-mine" not in outcome.log


def test_an_error_of_the_server_with_status_200_is_no_document(serve, run_crawl):
    broken = html("Internal Server Error", "<p>Something went wrong on our side.</p>")
    about = html("503 Service Unavailable", f"<p>{'What the status means is told here. ' * 60}</p>")
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links('/a', '/b', '/c')}"),
            "/a": page("a"),
            "/b": broken,
            "/c": about,
        }
    )
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/a", "/c"}


@pytest.mark.parametrize(("first", "later"), [("", "&print=1"), ("&print=1", "")])
def test_a_query_with_one_parameter_more_that_says_the_same_is_that_page(
    serve, run_crawl, first, later
):
    near = {f"/?page={name}{first}": page(name) for name in NAMES}
    far = {f"/?page={name}{later}": page(name) for name in NAMES}
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links(*near, '/a')}"),
            "/a": html("A", f"<p>One step.</p>{links('/b')}"),
            "/b": html("B", f"<p>Two steps.</p>{links(*far)}"),
            **near,
            **far,
        }
    )
    assert len(run_crawl(f"{site.url}/").documents) == 3 + len(NAMES)


def test_an_llms_txt_typed_as_html_is_read_and_a_page_in_its_place_is_not(serve, run_crawl):
    listed = "# Site\n\n## Docs\n\n- [a](/a)\n- [b](/b)\n"
    site = serve({"/": html("Home", "<p>Home.</p>"), "/a": page("a"), "/b": page("b")})
    site.pages["/llms.txt"] = Reply(listed, content_type="text/html; charset=utf-8")
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", "/a", "/b"}
    site.pages["/llms.txt"] = Reply(html("Site", "<p># no list</p>"), content_type="text/html")
    outcome = run_crawl(f"{site.url}/", arguments={"source": "other"})
    assert set(outcome.by_path(site.url)) == {"/"}


def test_many_choices_by_accept_are_asked_for_as_html(serve, run_crawl):
    def choices(name: str):
        many = Reply("", 300, headers={"Location": f"/d/{name}.txt"})
        return lambda seen: (
            many if "markdown" in seen.headers.get("accept", "") else Reply(page(name))
        )

    pages = {f"/d/{name}": choices(name) for name in NAMES}
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*pages)}"), **pages})
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *pages}


def test_the_page_above_that_a_page_names_is_followed(serve, run_crawl):
    chapters = {
        f"/m/c{number}/s.html": page(f"c{number}").replace(
            "</head>", '<link rel="up" href="../index.html"></head>'
        )
        for number in range(3)
    }
    site = serve({"/m/index.html": page("contents", links(*chapters)), **chapters})
    found = run_crawl(f"{site.url}/m/c0/s.html").by_path(site.url)
    assert set(found) == {"/m/index.html", *chapters}


STAMPS = {
    "/views": ("1,204 views", "1,377 views"),
    "/date": ("Last updated Jan 2, 2026", "Last updated Feb 9, 2026"),
    "/ago": ("Edited 3 days ago", "Edited 4 days ago"),
    "/release": ("Version 2.1 is out.", "Version 2.2 is out."),
    "/meeting": ("We meet on Jan 2, 2026.", "We meet on Feb 9, 2026."),
}


def test_counters_and_dates_of_the_build_are_no_change(serve, run_crawl):
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*STAMPS)}")})
    for night in range(2):
        for path, stamps in STAMPS.items():
            site.pages[path] = page(path, f"<p>{stamps[night]}</p>")
        found = run_crawl(f"{site.url}/").by_path(site.url)
    changed = {path for path, document in found.items() if document["change"] == "changed"}
    assert changed == {"/release", "/meeting"}
    assert STAMPS["/views"][1] in found["/views"]["content"]


@pytest.mark.parametrize("is_file", [False, True], ids=["made for each request", "files"])
def test_lines_that_each_answer_has_otherwise_are_no_change(serve, run_crawl, is_file):
    headers = {"Last-Modified": "Mon, 05 Jan 2026 00:00:00 GMT"} if is_file else {}

    def answer(name):
        def varying(seen):
            text = f"{name} was read {time.monotonic_ns()} times.</p><p>Tip: {time.monotonic_ns()}"
            return Reply(page(name, f"<p>{text}</p>{edited.get(name, '')}"), headers=headers)

        return varying

    names = [f"p{number}" for number in range(12)]
    edited: dict[str, str] = {}
    site = serve({"/": html("Home", f"<p>Home.</p>{links(*names)}")})
    site.pages |= {f"/{name}": answer(name) for name in names}
    run_crawl(f"{site.url}/")
    for night in range(2):
        edited["p3"] = f"<p>It has another sentence, {'again' * night}.</p>"
        site.clear()
        found = run_crawl(f"{site.url}/").by_path(site.url)
        changed = {path for path, document in found.items() if document["change"] == "changed"}
        assert changed == ({f"/{name}" for name in names} if is_file else {"/p3"})
        again = [path for path in site.paths() if path.startswith("/p")]
        assert len(again) <= 12 + (0 if is_file else 4 - night * 3)


def test_the_pages_of_dead_markdown_files_are_asked_for_once(serve, run_crawl):
    listed = "".join(f"- [{name}](/gone/{name}.md)\n" for name in NAMES)
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links('/d/a')}"),
            "/llms.txt": f"# Site\n\n## Docs\n\n{listed}",
            "/d/a": page("a"),
        }
    )
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(found) == {"/", "/d/a"}
    asked = [path for path in site.paths() if path.startswith("/gone/")]
    assert len(asked) == len(set(asked))


def test_a_dead_index_file_loses_no_page_without_a_slash(serve, run_crawl):
    listed = "".join(f"- [{name}](/d/{name}/index.md)\n" for name in NAMES)
    pages = {f"/d/{name}": page(name) for name in NAMES}
    site = serve({"/": html("Home", "<p>Home.</p>"), **pages})
    site.pages["/llms.txt"] = Reply(f"# Guide\n\n{listed}", content_type="text/plain")
    assert set(run_crawl(f"{site.url}/").by_path(site.url)) == {"/", *pages}


def test_a_start_page_without_a_slash_is_kept_whose_listed_file_is_dead(serve, run_crawl):
    pages = {"/d": page("d", links("/d/alpha")), "/d/alpha": page("alpha")}
    site = serve(pages)
    site.pages["/d/llms.txt"] = Reply("# Guide\n\n- [D](/d/index.md)\n", 200, "text/plain")
    assert set(run_crawl(f"{site.url}/d").by_path(site.url)) == set(pages)
    assert site.paths().count("/d") == 1


def test_links_without_the_locale_of_the_start_page_are_of_its_section(serve, run_crawl):
    pages = {"/en-US/d/": html("Home", f"<p>Home.</p>{links('/d/alpha', '/blog/post')}")}
    pages |= {"/en-US/d/alpha": page("alpha"), "/blog/post": page("post")}
    site = serve(pages)
    for path in ("/d/", "/d/alpha"):
        site.pages[path] = Reply("", 302, headers={"Location": f"/en-US{path}"})
    found = set(run_crawl(f"{site.url}/d/").by_path(site.url))
    assert found == {"/en-US/d/", "/en-US/d/alpha"}


def test_a_class_leads_to_the_index_above_it(serve, run_crawl):
    bar = links("package-summary.html", "../index.html", "/index.html", "/news/index.html")
    pages = {
        "/api/p/A.html": page("a", bar),
        "/api/p/package-summary.html": page("p", links("A.html")),
        "/api/index.html": page("all", links("q/B.html")),
        "/api/q/B.html": page("b"),
    }
    site = serve({**pages, "/": page("home"), "/news/": page("news")})
    assert set(run_crawl(f"{site.url}/api/p/A.html").by_path(site.url)) == set(pages)


def test_a_class_that_a_frame_set_shows_leads_to_all_packages(serve, run_crawl):
    site = serve(
        {
            "/api/index.html": "<html><frameset><frame src='all.html'></frameset></html>",
            "/api/all.html": html("All", f"<p>All.</p>{links('p/A.html', 'q/B.html')}"),
            "/api/p/A.html": page("a", links("../index.html?p/A.html", "../all.html")),
            "/api/q/B.html": page("b"),
        }
    )
    found = set(run_crawl(f"{site.url}/api/p/A.html").by_path(site.url))
    assert {"/api/p/A.html", "/api/q/B.html"} <= found
