"""Pages that hold text of their own, which is not their document: shells, templates, notices."""

from __future__ import annotations

import json

import pytest
from chromium import browser, shell  # noqa: F401  # the fixture is autouse
from site_server import Reply
from sites import html

pytestmark = pytest.mark.browser

ONCE = {"RETRY_TIMES": 0}
"""A page that failed is not tried again at the end, which takes a while."""

HERO = "Acme is the handbook for all who build things, and this stands on each of its pages. " * 8
CHAPTERS = {
    name: f"<h1>{title}</h1><p>{title} is a chapter of its own, and this is what it says.</p>"
    for name, title in (("/", "Home"), ("/one", "One"), ("/two", "Two"))
}
LINKS = "<a href='/one'>1</a> <a href='/two'>2</a>"


def half_drawn() -> str:
    """The same bytes at each address: a header, a hero, and an empty place that a script fills."""
    script = f"place.innerHTML = {json.dumps(CHAPTERS)}[location.pathname]"
    return (
        f"<!doctype html><title>Acme</title><header>{LINKS}</header><section><p>{HERO}</p></section>"
        f"<div id='place'></div><script type='module'>{script}</script>"
    )


def test_one_page_with_an_empty_place_is_rendered_to_see(serve, run_crawl):
    """Whoever answers each address with the same bytes has more than one page with them."""
    site = serve(dict.fromkeys(CHAPTERS, half_drawn()))
    site.missing = half_drawn()
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(documents) == set(CHAPTERS)
    for path, title in (("/", "Home"), ("/one", "One"), ("/two", "Two")):
        assert f"{title} is a chapter of its own" in documents[path]["content"]
    again = run_crawl(f"{site.url}/", arguments={"render": "never"})
    assert {document["change"] for document in again.documents} == {"unchanged"}


PLACES = {
    "bare": "<main></main>",
    "named": "<div class='page-body'></div>",
    "own": "<docs-page></docs-page>",
}
"""Empty places without an `id` that programs draw in."""


@pytest.mark.parametrize("place", PLACES)
def test_pages_that_differ_in_their_head_alone_are_rendered_to_see(serve, run_crawl, place):
    """A number for each answer, and the address of the page, are no text of its own."""
    chapters = {f"/{name}": f"<h1>{name}</h1><p>This is what {name} says.</p>" for name in "abc"}
    links = "".join(f"<a href='{path}'>x</a>" for path in chapters)
    script = (
        f"document.querySelector('#hero + *').innerHTML = {json.dumps(chapters)}[location.pathname]"
    )

    numbers = iter(range(99))

    def page(seen):
        head = f"<meta name=token content={next(numbers)}><link rel=canonical href='{seen.path}'>"
        hero = f"<nav>{links}</nav><section id='hero'><p>{HERO}</p></section>"
        script_of = f"<script type='module'>{script}</script>"
        return f"<!doctype html><title>Acme</title>{head}{hero}{PLACES[place]}{script_of}"

    site = serve({"/": html("Home", f"<p>Home.</p>{links}"), **dict.fromkeys(chapters, page)})
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(documents) == {"/", *chapters}
    assert all(f"what {path[1:]} says" in documents[path]["content"] for path in chapters)


BARE = {
    "knockout": "<main><h1 data-bind='text: title'></h1><div data-bind='html: body'></div></main>",
    "alpine": "<main x-data='page' x-cloak><h1 x-text='title'></h1><p x-text='body'></p></main>",
    "htmx": "<main><div hx-get='/part' hx-trigger='load'></div></main>",
    "turbo": "<main><turbo-frame id='page' src='/part'></turbo-frame></main>",
    "mustache": "<main><h1>{{title}}</h1>{{#items}}<p>{{.}}</p>{{/items}}</main>",
    "noscript": "<div id='root'></div><noscript><p>Please enable JavaScript.</p></noscript>",
}
"""Pages that say nothing besides their navigation until their program has run."""


def test_pages_without_text_besides_their_navigation_are_shells(serve, run_crawl):
    menu = "<nav>" + "".join(f"<a href='/{name}'>Chapter of {name}</a>" for name in BARE) + "</nav>"
    pages = {
        f"/{name}": f"<title>{name}</title>{menu}{body}<script type='module'>"
        f"document.querySelector('nav + *').innerHTML = '<h1>Drawn</h1><p>By {name}.</p>'</script>"
        for name, body in BARE.items()
    }
    site = serve({"/": html("Home", f"<p>Home of all.</p>{menu}"), **pages})
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert {path: page["content"] for path, page in documents.items() if path != "/"} == {
        f"/{name}": f"# Drawn\n\nBy {name}.\n" for name in BARE
    }


def test_a_place_that_holds_a_long_notice_is_rendered_to_see(serve, run_crawl):
    notice = "We are loading the handbook for you; please wait while its chapters are fetched. " * 3
    chapters = {path: f"{body}{LINKS}<p>{HERO}</p>" for path, body in CHAPTERS.items()}
    script = f"""setTimeout(() => {{
        document.getElementById('root').innerHTML = {json.dumps(chapters)}[location.pathname];
    }}, 1500)"""
    page = (
        f"<!doctype html><title>Acme</title><div id='root'><h2>{notice}</h2></div>"
        f"<script type='module'>{script}</script>"
    )
    site = serve(dict.fromkeys(CHAPTERS, page))
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(documents) == set(CHAPTERS)
    assert not any("please wait" in document["content"] for document in documents.values())


def test_places_that_stay_empty_cost_one_rendering(serve, run_crawl):
    """Boxes for code are filled on one site; those of the other show nothing more in a browser."""
    box = f"<p>Prose. {HERO}</p><div class='code-sample'></div>"
    fill = (
        "<script type='module'>for (const box of document.querySelectorAll('.code-sample'))"
        " box.innerHTML = '<pre><code>import acme</code></pre>'</script>"
    )
    links = "".join(f"<a href='/{name}'>x</a>" for name in "abc")
    idle = "<script src='/idle.js'></script>"
    for script, count, text in ((fill, 4, "import acme"), (idle, 1, "Prose.")):
        pages = {f"/{name}": html(name, box + script) for name in "abc"}
        site = serve({"/": html("Home", links + box + script), **pages, "/idle.js": "0"})
        outcome = run_crawl(f"{site.url}/")
        assert all(text in document["content"] for document in outcome.documents)
        assert len(outcome.documents) == len(pages) + 1
        assert outcome.stats["llms/rendering/pages"] == count


def test_templates_are_rendered_and_texts_about_them_are_not(serve, run_crawl):
    template = "<h1>{{ page.title }}</h1><p>{{ page.text }}</p><a href='/{{ page.next }}'>next</a>"
    script = "<script type='module'>document.body.innerHTML = '<h1>Drawn</h1><p>Text.</p>'</script>"
    site = serve(
        {
            "/": html("Home", "<p>Of templates.</p><a href='/a'>a</a> <a href='/v'>v</a>"),
            "/a": f"<title>{{{{ page.title }}}}</title><div ng-app='acme'>{template}</div>{script}",
            "/v": html("Vue", "<p>{{ name }} is what <code v-cloak>{{ name }}</code> makes.</p>"),
        }
    )
    first = run_crawl(f"{site.url}/", arguments={"render": "never"})
    assert set(first.by_path(site.url)) == {"/", "/v"}
    outcome = run_crawl(f"{site.url}/", arguments={"render": "auto"})
    documents = outcome.by_path(site.url)
    assert documents["/a"]["content"] == "# Drawn\n\nText.\n"
    assert "{{ name }}" in documents["/v"]["content"]
    assert outcome.stats["llms/rendering/pages"] == 1
    assert not [path for path in site.paths() if "{" in path or "%7B" in path]


def test_what_a_rendered_page_says_of_itself_is_judged(serve, run_crawl):
    """A route that its program does not know, and a page whose data is gone from the third run on."""
    pages = json.dumps({"": CHAPTERS["/"], "#!one": CHAPTERS["/one"], "#!two": CHAPTERS["/two"]})
    links = (
        "<a href='#!one'>1</a> <a href='#!two'>2</a> <a href='#!gone'>3</a> <a href='/data'>d</a>"
    )
    script = f"""
        const draw = () => {{
          const text = {pages}[location.hash] ?? '<p>Cette page manque au manuel.</p>';
          app.innerHTML = `<nav>{links}</nav><main>${{text}}</main>`;
        }};
        addEventListener('hashchange', draw);
        draw();
    """
    data = """
        const answer = await fetch('/data.json');
        app.innerHTML = answer.ok ? (await answer.json()).html : '<p>Nothing of that name.</p>';
    """
    there = Reply(json.dumps({"html": CHAPTERS["/one"] * 9}), content_type="application/json")
    site = serve({"/": shell(script), "/data": shell(data), "/data.json": there})
    url = f"{site.url}/"
    paths = {"/", "/#!one", "/#!two", "/data"}
    assert set(run_crawl(url, settings=ONCE).by_path(site.url)) == paths
    site.pages["/data.json"] = Reply("no", status=500)
    kept = run_crawl(url, settings=ONCE)
    assert set(kept.by_path(site.url)) == paths
    assert {document["change"] for document in kept.documents} == {"unchanged"}
    del site.pages["/data.json"]
    for _run in range(2):
        gone = run_crawl(url, settings=ONCE)
    assert gone.by_path(site.url)["/data"]["change"] == "deleted"


def test_a_shell_that_all_pages_have_is_downloaded_once_by_later_crawls(serve, run_crawl):
    """Unless the server says of what it does not have that it is not found: then a page may be."""
    chapters = {path: body * 3 for path, body in CHAPTERS.items()}
    draw = f"""
        const path = location.pathname;
        const text = await (await fetch('/data' + (path === '/' ? '/home' : path) + '.txt')).text();
        app.innerHTML = `<nav>{LINKS}</nav><main>${{text}}</main>`;
    """
    page = shell(draw, "<meta charset='utf-8'>")
    data = {
        f"/data{'/home' if path == '/' else path}.txt": Reply(body, content_type="text/plain")
        for path, body in chapters.items()
    }
    site = serve({**dict.fromkeys(chapters, page), **data})
    honest = site.missing
    for missing, count in ((page, 2), (page, 1), (honest, 3)):  # of two chapters one is a sample
        site.missing = missing
        site.clear()
        assert set(run_crawl(f"{site.url}/").by_path(site.url)) == set(chapters)
        paths = site.paths()
        assert sum(path in chapters for path in paths) == count
        assert sum(path in data for path in paths) == len(data)


def test_what_a_program_draws_for_what_it_does_not_have_is_no_page(serve, run_crawl):
    """In any words: an address that the site does not have shows them. Files are not found."""
    nothing = "<h1>Page introuvable</h1><p>La page n'est pas dans ce manuel.</p>"
    links = f"{LINKS} <a href='/three'>3</a> <a href='/nowhere'>x</a>"
    chapters = {path: body * 3 for path, body in CHAPTERS.items()} | {"/three": f"<p>{HERO}</p>"}
    site = serve({})
    for night, changes in enumerate(("new", "unchanged", "deleted")):
        shown = {path: body for path, body in chapters.items() if path != "/two" or not night}
        draw = f"app.innerHTML = `<nav>{links}</nav><main>${{{json.dumps(shown)}[location.pathname] ?? {json.dumps(nothing)}}}</main>`"
        site.pages |= dict.fromkeys([*chapters, "/nowhere"], shell(draw, "<meta charset='utf-8'>"))
        outcome = run_crawl(f"{site.url}/", settings=ONCE)
        found = {path: page["change"] for path, page in outcome.by_path(site.url).items()}
        others = dict.fromkeys(chapters, "unchanged" if night else "new")
        assert found == others | {"/two": changes}


def test_routes_that_are_written_as_anchors_are_pages_where_a_program_listens(serve, run_crawl):
    chapters = {"": CHAPTERS["/"], "#one": CHAPTERS["/one"], "#?page=two": CHAPTERS["/two"]}
    links = (
        "<a href='#one'>1</a> <a href='#?page=two'>2</a> <a href='#top'>top</a> <a href='#'>x</a>"
    )
    script = f"""
        const draw = () => {{
          const text = {json.dumps(chapters)}[location.hash] ?? '<p>404 Sorry, no such page.</p>';
          app.innerHTML = `<nav>{links}</nav><main>${{text}}</main>`;
        }};
        addEventListener('hashchange', draw);
        draw();
    """
    text = "<h2 id='one'>One</h2><p>A place.</p><h2>Two</h2><p>No place.</p>"
    places = f"""
        app.innerHTML = `<main><h1>Places</h1><a href='#one'>1</a> <a href='#b'>2</a>{text * 4}</main>`;
    """
    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/app'>a</a> <a href='/places'>p</a>"),
            "/app": shell(script, "<meta charset='utf-8'>"),
            "/places": shell(places),
        }
    )
    paths = {"/", "/app", "/app#one", "/app#?page=two", "/places"}
    for change in ("new", "unchanged", "unchanged"):
        documents = run_crawl(f"{site.url}/").by_path(site.url)
        assert set(documents) == paths
        assert {document["change"] for document in documents.values()} == {change}
    assert "One is a chapter" in documents["/app#one"]["content"]
    assert "Two is a chapter" in documents["/app#?page=two"]["content"]


MENU = "".join(f"<li><a href='/fine'>Chapter {number} of the handbook</a>" for number in range(30))
FAILED = f"<h1>Something went wrong</h1><p>Please try again.</p><aside><ul>{MENU}</ul></aside>"
WALLS = {
    "/login": ("Sign in", "<p>Who is it?</p><form><input type='password'></form>"),
    "/terms": ("Before you continue", "<p>Accept our terms.</p><button>Continue</button>"),
    "/about": ("Sign in", f"<p>How people sign in.</p>{CHAPTERS['/one']}"),
}


def test_what_scripts_draw_in_place_of_a_page_is_no_document(serve, run_crawl):
    """Logins, notices in any words where nothing is under way that would draw the page, and headings
    that say that its data failed, whatever else it shows; a page with text of its own besides is.
    """
    notice = f"app.innerHTML = `<nav>{MENU}</nav><main><p>%s</p></main>`"
    draw = "const answer = await fetch('/data.json'); app.innerHTML = answer.ok ? '' : %s"
    drawn = {
        "/waits": shell(notice % "Cargando…"),
        "/short": shell(notice % "Use it."),
        "/failed": shell(draw % json.dumps(FAILED)),
        "/fine": shell(draw % json.dumps(f"<h1>Status</h1><p>{HERO}</p>")),
    }
    for path, (title, text) in WALLS.items():
        drawn[path] = shell(f"document.title = '{title}'; app.innerHTML = `<h1>{title}</h1>{text}`")
    links = "".join(f"<a href='{path}'>x</a>" for path in drawn)
    home = html("Home", f"<p>Home.</p>{links}")
    site = serve({"/": home, **drawn, "/data.json": Reply("no", status=500)})
    outcome = run_crawl(f"{site.url}/", settings=ONCE)
    assert set(outcome.by_path(site.url)) == {"/", "/short", "/fine", "/about"}
    assert outcome.stats["llms/errors/network"] == 2
    assert outcome.stats["llms/errors/auth"] == outcome.stats["llms/errors/http"] == 1


def test_what_scripts_draw_where_they_fail_is_no_change(serve, run_crawl):
    """They say so, though all that they asked for came, or throw before they have drawn anything."""
    says = [
        "<h2>Application error: a client-side exception has occurred (see the console).</h2>",
        "<h1>Hoppla</h1><p>Da ist etwas schiefgelaufen.</p>",
        "<p>ChunkLoadError: Loading chunk 17 failed.</p>",
    ]
    draw = "if (location.pathname === '/throws' && says) throw new Error('no');"
    draw += f"app.innerHTML = `<nav>{LINKS}</nav><main>${{says || `<h1>Fine</h1><p>{HERO}</p><p>At ${{location.pathname}}.</p>`}}</main>`;"
    paths = ("/says", "/throws")
    links = "".join(f"<a href='{path}'>x</a>" for path in paths)
    site = serve({"/": html("Home", f"<p>Home.</p>{links}")})
    for night, said in enumerate(["", *says]):
        page = shell(f"const says = {json.dumps(said)};{draw}")
        site.pages |= dict.fromkeys(paths, page)
        outcome = run_crawl(f"{site.url}/", settings=ONCE)
        changes = {path: page["change"] for path, page in outcome.by_path(site.url).items()}
        assert changes == dict.fromkeys(("/", *paths), "unchanged" if night else "new")
        assert outcome.stats.get("llms/errors/network", 0) == (2 if night else 0)


def test_a_page_whose_files_are_as_they_were_is_not_rendered_again(serve, run_crawl):
    """A file that changed, a file that every page has, and what cannot be requested again."""
    texts = {path: f"<h1>{path}</h1><p>{HERO}</p><p>Of {path}.</p>" for path in CHAPTERS}
    program = f"app.innerHTML = `<nav>{LINKS}</nav><main>${{text}}</main>`;"
    load = "const text = await (await fetch('/data' + location.pathname + '.txt')).text();"
    page = (
        "<!doctype html><meta charset='utf-8'><title>Acme</title><div id='app'></div>"
        "<script type='module' src='/program.js'></script>"
    )
    data = {
        f"/data{path}.txt": Reply(body, content_type="text/plain") for path, body in texts.items()
    }
    script = Reply(load + program, content_type="text/javascript")
    site = serve({**dict.fromkeys(CHAPTERS, page), **data, "/program.js": script})

    def crawled(changes: dict[str, str], rendered: int) -> list[str]:
        site.clear()
        outcome = run_crawl(f"{site.url}/")
        found = outcome.by_path(site.url)
        assert {path: document["change"] for path, document in found.items()} == changes
        assert outcome.stats.get("llms/rendering/pages", 0) == rendered
        return site.paths()

    unchanged = dict.fromkeys(CHAPTERS, "unchanged")
    crawled(dict.fromkeys(CHAPTERS, "new"), 3)
    for _night in range(2):
        paths = crawled(unchanged, 0)
        assert [paths.count(path) for path in (*data, "/program.js")] == [1] * 4
        assert sum(path in CHAPTERS for path in paths) <= 3
    site.pages["/data/one.txt"] = Reply(texts["/one"] + "<p>More.</p>", content_type="text/plain")
    crawled({**unchanged, "/one": "changed"}, 1)
    crawled(unchanged, 0)
    site.pages["/program.js"] = Reply(f"{load} /* new */ {program}", content_type="text/javascript")
    crawled(unchanged, 3)
    sent = load.replace(".txt')", ".txt', {method: 'POST'})")
    site.pages["/program.js"] = Reply(sent + program, content_type="text/javascript")
    crawled(unchanged, 3)
    crawled(unchanged, 3)


COVERED = " ".join(f"line{number}" for number in range(200))
REPORT = f"<h1>Report</h1><p>{COVERED}</p>"
FRAMED = html(
    "Report",
    "<iframe src='/whole.html'></iframe><p>Was this page helpful? Thanks for your answer!</p>"
    "<script src='/ask.js'></script>",
)


@pytest.mark.parametrize("answer", [Reply("", 503), ""], ids=["fails", "is empty"])
def test_a_page_whose_frame_comes_with_nothing_once_stays_as_it_is(serve, run_crawl, answer):
    site = serve({"/": html("Home", f"<p>{HERO}</p><a href='/report'>Report</a>")})
    site.pages |= {"/report": FRAMED, "/whole.html": REPORT, "/ask.js": "let asked = 0;"}
    first = run_crawl(f"{site.url}/", settings=ONCE).by_path(site.url)
    assert COVERED in first["/report"]["content"]
    site.pages["/whole.html"] = answer
    site.pages["/ask.js"] = "let asked = 1;"
    night = run_crawl(f"{site.url}/", settings=ONCE)
    kept = night.by_path(site.url)["/report"]
    assert (kept["change"], kept["content"]) == ("unchanged", first["/report"]["content"])
    assert night.stats["llms/errors/http" if answer == "" else "llms/errors/network"] == 1
    site.pages["/whole.html"] = REPORT
    back = run_crawl(f"{site.url}/", settings=ONCE)
    assert {document["change"] for document in back.documents} == {"unchanged"}
    assert "llms/errors/http" not in back.stats


def test_lines_that_each_rendering_has_otherwise_are_no_change(serve, run_crawl):
    turns = iter("abcdefghij" * 9)
    script = f"""
        const [title, tip] = await Promise.all(['/title', '/tip'].map(async url => (await fetch(url)).text()));
        document.getElementById('app').innerHTML = `<h1>${{title}}</h1><p>{HERO}</p><p>${{tip}}</p>`;
    """
    site = serve(
        {
            "/": shell(script),
            "/tip": lambda _seen: Reply(f"Read {next(turns) * 9}", content_type="text/plain"),
        }
    )
    changes = []
    for title in ("Harbour", "Harbour", "Harbours"):
        site.pages["/title"] = Reply(title, content_type="text/plain")
        changes += [page["change"] for page in run_crawl(f"{site.url}/").documents]
    assert changes == ["new", "unchanged", "changed"]
