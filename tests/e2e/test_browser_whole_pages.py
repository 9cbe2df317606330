"""Pages that draw themselves late, in part or in shadow roots, four at a time in a real Chromium."""

from __future__ import annotations

import threading

import pytest
from chromium import browser, shell  # noqa: F401  # the fixture is autouse
from site_server import Reply
from sites import html

pytestmark = pytest.mark.browser

NAVIGATION = "Navigation of the site, which stands there at once. " * 6
SLOW_SECS = 3.0
"""Longer than a page that shows text is waited for where nothing else tells that it is not done."""

APP = """
const app = document.getElementById('app');
const busy = ms => { const began = Date.now(); while (Date.now() - began < ms) {} };
const draw = async name => {
  try {
    const answer = await fetch('/data/' + name);
    if (!answer.ok) throw new Error(answer.status);
    app.innerHTML = '<main><h1>' + name + '</h1><p>' + (await answer.json()).text + '</p></main>';
  } catch (error) { app.innerHTML = '<main><h1>An unknown error occurred.</h1></main>'; }
};
"""


def page(script: str) -> str:
    return shell(APP + script)


def data(seen) -> Reply:
    text = f"Text of {seen.path}, which is drawn when it has come. " * 6
    return Reply(f'{{"text": "{text}"}}', content_type="application/json")


def refused(_seen) -> Reply:
    return Reply("busy", status=503)


INITIALIZER = """
const place = document.getElementById('swagger-ui');
fetch("/harbour.json").then(answer => answer.json()).then(api => {
  place.innerHTML = '<h2>' + api.info.title + "</h2>";
});
"""
HARBOUR = """{"openapi": "3.1.0", "info": {"title": "Harbour"}, "paths": {"/ships": {"get": {"summary": "Ships"}}}}"""
"""An API whose page says in a script of its own which file it is drawn from."""

ROUTER = """
const draw = () => {
  const route = location.hash.slice(1) || '/';
  const text = 'Text of the route ' + route + ', drawn by the program of the page. ';
  app.innerHTML = '<nav><a href="#/one">1</a> <a href="#/two?x=1">2</a> <a href="#top">top</a></nav>'
    + '<main><h1>Route ' + route + '</h1><p>' + text.repeat(5) + '</p></main>';
};
addEventListener('hashchange', draw);
draw();
"""

PAGES = {
    "routed": shell("const app = document.getElementById('app');" + ROUTER),
    "reference": "<h1>Reference</h1><div id='swagger-ui'></div><script src='/swagger-initializer.js'></script>",
    "computes": page(
        "app.innerHTML = '<p>Loading</p>'; setTimeout(() => { busy(2600); draw('computes') }, 30)"
    ),
    "waits": page(f"app.innerHTML = '<nav>{NAVIGATION}</nav>'; draw('waits')"),
    "recovers": page("draw('recovers')"),
    "lost": page("draw('lost')"),
    "shadows": page(
        """
        let host = app;
        for (let depth = 0; depth < 100; depth++) {
          const root = host.attachShadow({mode: 'open'});
          root.innerHTML = '<style>p { color: red }</style><div></div>';
          host = root.querySelector('div');
        }
        const main = document.createElement('main');
        main.innerHTML = '<h1>Deep</h1><p>' + 'Text in the last of the roots. '.repeat(9) + '</p>';
        const box = document.createElement('section');
        box.innerHTML = '<p slot="note">A note that its author wrote.</p>';
        box.attachShadow({mode: 'open'}).innerHTML = '<h2>Box</h2><slot name="note"></slot>';
        main.append(box);
        host.replaceWith(main);
        """
    ),
    "frames": page(
        f"""
        app.innerHTML = '<main><h1>Frames</h1><p>{NAVIGATION}</p></main>';
        const frames = '<iframe src="/framed"></iframe>'.repeat(50);
        document.body.insertAdjacentHTML('beforeend', '<div>' + frames + '</div>');
        """
    ),
}


def test_what_is_drawn_is_the_whole_page(serve, run_crawl):
    """A recrawl in which data fails keeps what is stored."""
    links = "".join(f"<a href='/{name}'>x</a>" for name in PAGES)
    answered_once = threading.Event()

    def slow(seen):
        threading.Event().wait(SLOW_SECS)
        return data(seen)

    def second_time(seen):
        if answered_once.is_set():
            return data(seen)
        answered_once.set()
        return refused(seen)

    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links}"),
            **{f"/{name}": text for name, text in PAGES.items()},
            "/swagger-initializer.js": Reply(INITIALIZER, content_type="text/javascript"),
            "/harbour.json": Reply(HARBOUR, content_type="application/json"),
            "/data/computes": data,
            "/data/waits": slow,
            "/data/recovers": second_time,
            "/data/lost": refused,
        }
    )
    outcome = run_crawl(f"{site.url}/", settings={"RETRY_TIMES": 0})
    documents = outcome.by_path(site.url)
    assert documents["/reference"]["content"] == (
        "# Harbour\n\n## Operations\n\n### Ships\n\n`GET /ships`\n"
    )
    for path, title in (("/routed", "/"), ("/routed#/one", "/one"), ("/routed#/two", "/two")):
        assert documents[path]["content"].startswith(f"# Route {title}\n")
    assert set(documents) == {
        "/routed",
        "/routed#/one",
        "/routed#/two",
        "/",
        "/reference",
        "/computes",
        "/waits",
        "/recovers",
        "/shadows",
        "/frames",
    }
    for name in ("computes", "waits", "recovers"):
        assert f"Text of /data/{name}" in documents[f"/{name}"]["content"]
    assert documents["/shadows"]["content"].startswith("# Deep\n\nText in the last of the roots.")
    assert "## Box\n\nA note that its author wrote.\n" in documents["/shadows"]["content"]
    assert "color" not in documents["/shadows"]["content"]
    assert documents["/frames"]["content"].startswith("# Frames\n")
    assert "/framed" not in site.paths()
    assert outcome.stats["llms/rendering/incomplete"] == outcome.stats["llms/errors/network"]
    assert site.paths().count("/data/recovers") == 2

    site.pages["/data/computes"] = refused
    only = {"allow": "/computes"}
    again = run_crawl(f"{site.url}/", arguments=only, settings={"RETRY_TIMES": 0}).by_path(site.url)
    assert again["/computes"]["change"] == "unchanged"
    assert "Text of /data/computes" in again["/computes"]["content"]
