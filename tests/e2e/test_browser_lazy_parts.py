"""Parts that a page draws when they are asked for: scrolled to, clicked, in frames, given by a script."""

from __future__ import annotations

import json
import time

import pytest
from chromium import browser, shell  # noqa: F401  # the fixture is autouse
from forked import HANGS_SECS
from site_server import Reply
from sites import html

pytestmark = pytest.mark.browser

PATIENCE = {"llmsspider.browser.page_load.OPEN_SECS": HANGS_SECS}
"""Parts are asked for until none is left, however busy the machine is."""

TEXT = "Text of a page that shows only a part of what it has to say. " * 4

SCROLLED = f"""
app.innerHTML = '<main><h1>Scrolled</h1><p>{TEXT}</p>' + [1, 2, 3, 4].map(number =>
  `<section id="s${{number}}" style="height: 3000px"></section>`).join('') + '</main>';
const seen = new IntersectionObserver(entries => entries.forEach(entry => {{
  if (entry.isIntersecting) entry.target.innerHTML = `<h2>Section ${{entry.target.id}}</h2><p>Drawn late.</p>`;
}}));
document.querySelectorAll('section').forEach(section => seen.observe(section));
"""

TABS = f"""
const names = ['python', 'go', 'rust'];
app.innerHTML = '<main><h1>Tabs</h1><p>{TEXT}</p><div><div role="tablist">' + names.map((name, number) =>
  `<button role="tab" aria-selected="${{!number}}">${{name}}</button>`).join('')
  + '</div><div role="tabpanel"></div></div>'
  + '<button aria-expanded="false" aria-controls="why">Why?</button><div id="why"></div></main>';
const panel = document.querySelector('[role=tabpanel]');
const show = async tab => {{
  document.querySelectorAll('[role=tab]').forEach(other => other.setAttribute('aria-selected', other === tab));
  panel.innerHTML = '<pre><code>' + await (await fetch('/code/' + tab.textContent)).text() + '</code></pre>';
}};
document.querySelectorAll('[role=tab]').forEach(tab => tab.onclick = () => show(tab));
show(document.querySelector('[role=tab]'));
document.querySelector('[aria-controls]').onclick = () => {{ why.innerHTML = '<p>Because it is so.</p>' }};
"""

SHARED = f"""
app.innerHTML = '<main><h1>Shared</h1><p>{TEXT}</p><div role="tablist">' + ['npm', 'yarn'].map((name, at) =>
  `<a href="#${{name}}" role="tab" aria-selected="${{!at}}" aria-controls="one">${{name}}</a>`).join('')
  + '</div><div id="one" role="tabpanel"><pre><code>get it by npm</code></pre></div></main>';
document.querySelectorAll('[role=tab]').forEach(tab => tab.onclick = () => {{
  document.querySelectorAll('[aria-controls=one]').forEach(other => other.setAttribute('aria-selected', other === tab));
  one.innerHTML = '<pre><code>get it by ' + tab.textContent + '</code></pre>';
}});
"""

CHOSEN = f"""
app.innerHTML = '<main><h1>Chosen</h1><p>{TEXT}</p>' + ['npm', 'yarn', 'pnpm'].map((name, at) =>
  `<label><input type="radio" name="by" value="${{name}}" ${{at ? '' : 'checked'}}>${{name}}</label>`).join('')
  + '<div id="one"></div><p><select id="system"><option>Linux</option><option>Windows</option></select></p>'
  + '<div id="two"></div><p><select id="theme"><option>Light</option><option>Dark</option></select></p></main>';
const by = name => {{ one.innerHTML = `<pre><code>get it by ${{name}}</code></pre>` }};
document.querySelectorAll('input').forEach(radio => radio.onchange = () => by(radio.value));
system.onchange = async () => {{ two.innerHTML = `<p>${{await (await fetch('/code/' + system.value)).text()}}</p>` }};
theme.onchange = () => {{ document.body.className = theme.value }};
by('npm');
system.onchange();
"""

MORE = f"""
app.innerHTML = '<main><h1>More</h1><p>{TEXT}</p><ul></ul><button>Load more</button>'
  + '<form action="/sent"><button>Show more</button></form>'
  + '<button onclick="location.href = `/left`">See all</button></main>';
let count = 0;
const more = () => {{
  for (const end = count + 3; count < end; count++)
    document.querySelector('ul').insertAdjacentHTML('beforeend', `<li>Entry number ${{count}}</li>`);
  if (count >= 9) document.querySelector('ul + button').remove();
}};
more();
document.querySelector('ul + button').onclick = more;
"""

SCROLLS = f"""
app.innerHTML = '<main><h1>Scrolls</h1><p>{TEXT}</p></main>';
let at = 0;
const next = async () => {{
  const text = await (await fetch('/row/' + at++)).text();
  app.firstChild.insertAdjacentHTML('beforeend', `<p style="min-height: 2000px">${{text}}</p>`);
}};
next();
addEventListener('scroll', () => {{
  if (at < 4 && innerHeight + scrollY >= document.body.scrollHeight - 100) next();
}});
"""
"""A list that goes on when it is scrolled to its end, and is lower than the window."""

ENDS = f"""
app.innerHTML = '<main style="height: 500px; overflow: auto"><h1>Ends</h1><p>{TEXT}</p><p id="end">End.</p></main>';
let at = 0;
const seen = new IntersectionObserver(async ([entry]) => {{
  if (!entry.isIntersecting || at === 4) return;
  const text = await (await fetch('/row/' + at++)).text();
  end.insertAdjacentHTML('beforebegin', `<p style="min-height: 700px">${{text}}</p>`);
}});
seen.observe(end);
"""
"""A list that goes on when its end is seen, in a part with a scroll bar of its own."""

ASKED = f"""
app.innerHTML = '<main><h1>Asked</h1><p>{TEXT}</p>' + [0, 1, 2, 3].map(number =>
  `<details name="one"><summary>Question ${{number}}</summary></details>`).join('') + '</main>';
document.querySelectorAll('details').forEach((part, number) => {{
  const answer = () => part.insertAdjacentHTML('beforeend', `<p>Answer ${{number}}.</p>`);
  if (number < 2) part.addEventListener('toggle', () => setTimeout(answer, 200), {{once: true}});
  else part.firstChild.addEventListener('click', answer, {{once: true}});
}});
"""
"""Closed parts, of which one is open at a time: two that are filled when they are open, two by a click."""

WORDS = f"""
const labels = ['Mehr anzeigen', 'Voir plus', 'Cargar más', 'もっと見る', 'Read more', 'Show next 3', 'Expand all'];
app.innerHTML = '<main><h1>Words</h1><p>{TEXT}</p>' + labels.map((label, number) =>
  `<p id="w${{number}}"></p><button>${{label}}</button>`).join('') + '<p id="w7"></p><a href="#">Load more</a>'
  + '<p id="w8"></p><button>Delete all</button></main>';
document.querySelectorAll('button, a').forEach((button, number) => button.onclick = event => {{
  event.preventDefault();
  document.getElementById('w' + number).textContent = `Opened by ${{number}}.`;
  button.remove();
}});
"""

PRESSED = f"""
app.innerHTML = policy.createHTML('<header><button aria-expanded="false" aria-haspopup="true">Guides</button>'
  + '<button aria-expanded="false" aria-haspopup="true">Tools</button><div id="menu"></div></header>'
  + '<main><h1>Pressed</h1><p>{TEXT}</p><div><div role="tablist"><button role="tab" aria-selected="true">Curl</button>'
  + '<button role="tab" aria-selected="false">Ruby</button><button role="tab" aria-selected="false">Perl</button></div>'
  + '<div role="tabpanel"></div></div></main>');
const tabs = [...document.querySelectorAll('[role=tab]')];
const show = tab => {{
  tabs.forEach(other => other.setAttribute('aria-selected', other === tab));
  document.querySelector('[role=tabpanel]').textContent = `Call it by ${{tab.textContent}}.`;
}};
show(tabs[0]);
tabs[1].onmousedown = () => show(tabs[1]);
tabs[2].onmouseenter = () => show(tabs[2]);
document.querySelectorAll('[aria-haspopup]').forEach(button => button.onclick = () => {{
  menu.innerHTML = policy.createHTML(`<a href="/popup/${{button.textContent}}">${{button.textContent}}</a>`);
}});
"""
"""Tabs that no click opens, and menus of which one is open at a time, where no script may set HTML."""

SINGLE = f"""
app.innerHTML = '<main><h1>Single</h1><p>{TEXT}</p>' + [0, 1, 2].map(number =>
  `<h3><button aria-expanded="false">Question ${{number}}</button></h3><div></div>`).join('') + '</main>';
const buttons = [...document.querySelectorAll('button')];
const partOf = button => button.parentElement.nextElementSibling;
buttons.forEach((button, number) => button.onclick = () => {{
  buttons.forEach(other => other.setAttribute('aria-expanded', other === button));
  buttons.forEach(other => {{ partOf(other).textContent = other === button ? `Answer ${{number}}.` : '' }});
}});
"""
"""Closed parts of which one is there at a time."""

ROWS = f"""
app.innerHTML = '<main><h1>Rows</h1><p>{TEXT}</p><div id="box" style="height: 200px; overflow: auto"></div></main>';
const draw = () => {{
  const first = Math.floor(box.scrollTop / 40);
  const rows = [...Array(50).keys()].slice(first, first + Math.ceil(box.clientHeight / 40));
  box.innerHTML = '<div style="height: 2000px; position: relative">' + rows.map(row =>
    `<p style="position: absolute; top: ${{row * 40}}px">Row ${{row}} of the table.</p>`).join('') + '</div>';
}};
draw();
box.onscroll = draw;
new ResizeObserver(draw).observe(box);
"""
"""A list that has only the rows that are seen."""

PAGED = f"""
app.innerHTML = '<main><h1>Paged</h1><p>{TEXT}</p><p id="end">End.</p></main>';
let at = 0;
const seen = new IntersectionObserver(async ([entry]) => {{
  if (!entry.isIntersecting || at === 6) return;
  seen.unobserve(end);
  const text = await (await fetch('/numbers?page=' + at++)).text();
  end.insertAdjacentHTML('beforebegin', `<p style="min-height: 3000px">${{text}}</p>`);
  seen.observe(end);
}});
seen.observe(end);
"""
"""A list that asks one address, by its query, for what comes next; each answer takes a moment."""

WRITTEN = f"""
app.innerHTML = '<nav>Frames</nav>';
const frame = document.createElement('iframe');
frame.srcdoc = '<h1>Written</h1><p>{TEXT}</p>';
app.append(frame);
"""

TOLD = """
app.innerHTML = '<nav>Frames</nav><iframe src="/tells.html" hidden></iframe><main>Chargement</main>';
addEventListener('message', event => { app.lastChild.innerHTML = event.data });
"""

HOLDS = """
app.innerHTML = '<nav>Frames</nav><object data="/told.html"></object><embed type="text/html" src="/held.html">';
"""

FRAMED = """
app.innerHTML = '<nav>Stories of the library of components</nav><iframe sandbox="allow-scripts" src="/outer.html"></iframe>';
"""

API = {"info": {"title": "Harbour"}, "paths": {"/ships": {"get": {"summary": "All ships"}}}}

GIVEN = f"""
const api = Object.assign({{openapi: '3.1.0'}}, {json.dumps(API)});
document.body.innerHTML = '<rapi-doc></rapi-doc>';
customElements.define('rapi-doc', class extends HTMLElement {{
  async loadSpec(spec) {{ await null; this.innerHTML = `<h1>${{spec.info.title}}</h1>` }}
}});
document.querySelector('rapi-doc').loadSpec(api);
"""


def test_what_is_drawn_when_it_is_asked_for_is_read_too(serve, run_crawl):
    scripts = {
        "scrolled": SCROLLED,
        "tabs": TABS,
        "shared": SHARED,
        "more": MORE,
        "framed": FRAMED,
        "chosen": CHOSEN,
    }
    scripts |= {"scrolls": SCROLLS, "words": WORDS, "written": WRITTEN, "told": TOLD}
    scripts |= {"ends": ENDS, "asked": ASKED, "holds": HOLDS}
    scripts |= {"single": SINGLE, "rows": ROWS, "paged": PAGED}
    links = "".join(f"<a href='/{name}'>x</a>" for name in [*scripts, "given", "pressed"])
    setup = "const app = document.getElementById('app');"
    trusted = (
        "<meta http-equiv='Content-Security-Policy' content=\"require-trusted-types-for 'script'\">"
    )
    policy = "const policy = trustedTypes.createPolicy('own', {createHTML: html => html});"

    def row(seen):
        time.sleep(0.7)
        return Reply(f"Page {seen.path.partition('=')[2]}.", content_type="text/plain")

    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links}"),
            **{f"/{name}": shell(setup + script) for name, script in scripts.items()},
            "/given": shell(GIVEN),
            "/pressed": shell(setup + policy + PRESSED, trusted),
            "/popup/Guides": html("Guides", "<p>What the guides say.</p>"),
            "/popup/Tools": html("Tools", "<p>What the tools do.</p>"),
            **{f"/numbers?page={number}": row for number in range(6)},
            "/outer.html": "<iframe src='/frame.html'></iframe>",
            "/frame.html": "<style>.alert { display: none }</style><div class='alert'><h1>No preview</h1>"
            f"</div><div><h1>Button</h1><p>{TEXT}</p></div>",
            "/told.html": f"<h1>Object</h1><p>{TEXT}</p>",
            "/held.html": f"<p>Embedded.</p><p>{TEXT}</p>",
            "/tells.html": f"<script>parent.postMessage('<h1>Told</h1><p>{TEXT}</p>', '*')</script>",
            **{f"/row/{number}": f"Row {number}." for number in range(4)},
            **{
                f"/code/{name}": Reply(f"say('{name}')", content_type="text/plain")
                for name in ("python", "go", "rust")
            },
            "/left": "<h1>Left</h1>",
        }
    )
    outcome = run_crawl(f"{site.url}/", constants=PATIENCE)
    documents = outcome.by_path(site.url)
    found = {"/given", "/pressed", "/popup/Guides", "/popup/Tools"}
    assert set(documents) == {"/", *found, *(f"/{name}" for name in scripts)}
    assert documents["/scrolled"]["content"].count("Drawn late.") == 4
    for text in ("say('python')", "say('go')", "say('rust')", "Because it is so."):
        assert documents["/tabs"]["content"].count(text) == 1
    for name in ("npm", "yarn"):
        assert documents["/shared"]["content"].count(f"get it by {name}") == 1
    assert [f"Entry number {number}" in documents["/more"]["content"] for number in range(9)] == (
        [True] * 9
    )
    assert documents["/framed"]["content"].startswith("# Button\n\nText of a page")
    assert documents["/written"]["content"].startswith("# Written\n\nText of a page")
    assert documents["/told"]["content"].startswith("# Told\n\nText of a page")
    assert [f"Row {number}." in documents["/scrolls"]["content"] for number in range(4)] == [
        True
    ] * 4
    assert [f"Row {number}." in documents["/ends"]["content"] for number in range(4)] == [True] * 4
    assert [f"Answer {number}." in documents["/asked"]["content"] for number in range(4)] == (
        [True] * 4
    )
    assert documents["/holds"]["content"].startswith("# Object\n\nText of a page")
    assert "\n\nEmbedded.\n\nText of a page" in documents["/holds"]["content"]
    for path, text, count in (
        ("/single", "Answer {}.", 3),
        ("/rows", "Row {} of the table.", 50),
        ("/paged", "Page {}.", 6),
    ):
        content = documents[path]["content"]
        assert [content.count(text.format(number)) for number in range(count)] == [1] * count
    for name in ("Curl", "Ruby", "Perl"):
        assert documents["/pressed"]["content"].count(f"Call it by {name}.") == 1
    words = documents["/words"]["content"]
    assert [f"Opened by {number}." in words for number in range(9)] == [True] * 8 + [False]
    assert "### All ships\n\n`GET /ships`\n" in documents["/given"]["content"]
    assert not {"/sent", "/left"} & set(site.paths())
    assert site.paths().count("/tabs") == 1, "the browser is given what was downloaded"
    again = run_crawl(f"{site.url}/")
    assert {document["change"] for document in again.documents} == {"unchanged"}


DRAWN = f"<h1>Drawn</h1><p>{TEXT}</p>"
WAYS = {
    "timer": f"app.textContent = 'Loading…'; setTimeout(() => {{ app.innerHTML = `{DRAWN}` }}, 2500)",
    "counts": f"""
        let at = 10;
        const count = setInterval(() => {{
          app.textContent = `Loading ${{++at}} %`;
          if (at === 50) {{ clearInterval(count); app.innerHTML = `{DRAWN}` }}
        }}, 50)
    """,
    "worker": f"""
        navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)
          .then(() => {{ app.innerHTML = `{DRAWN}` }})
    """,
    "closed": f"app.attachShadow({{mode: 'closed'}}).innerHTML = `<main>{DRAWN}</main>`",
    "declared": f"""
        app.setHTMLUnsafe('<x-page><template shadowrootmode="closed"><main></main></template></x-page>');
        customElements.define('x-page', class extends HTMLElement {{
          constructor() {{
            super();
            this.attachInternals().shadowRoot.querySelector('main').innerHTML = `{DRAWN}`;
          }}
        }});
    """,
    "template": f"""
        app.innerHTML = `<main><h1>{{{{ title }}}}</h1><p>{TEXT}</p></main>`;
        setTimeout(() => {{ app.innerHTML = `{DRAWN}` }}, 1500)
    """,
    "frame": f"""
        requestAnimationFrame = call => setTimeout(call, 1200);
        app.innerHTML = `<main><h1>Frame</h1><p>{TEXT}</p></main>`;
        requestAnimationFrame(() => {{ app.innerHTML = `{DRAWN}` }})
    """,
    "fragt": f"""
        app.innerHTML = '<p>Wir verwenden Cookies.</p><button>Alle akzeptieren</button>';
        app.querySelector('button').onclick = () => {{ app.innerHTML = `{DRAWN}` }}
    """,
    "reloads": f"""
        app.innerHTML = document.cookie.includes('fine') ? `{DRAWN}`
          : '<p>We use cookies.</p><a role="button">I agree</a>';
        const button = app.querySelector('a');
        if (button) button.onclick = () => {{ document.cookie = 'fine=1'; location.reload(); }}
    """,
    "asks": f"""
        app.innerHTML = `<div role="dialog"><p>We use cookies, and value your privacy.</p>
          <button>Settings</button> <button>Accept all</button></div>`;
        app.querySelector('button + button').onclick = () => {{ app.innerHTML = `{DRAWN}` }}
    """,
}
"""How a page shows its text, besides drawing it at once."""


def test_what_radio_buttons_and_selects_draw_is_read_too(serve, run_crawl):
    code = {f"/code/{name}": f"say {name}" for name in ("Linux", "Windows")}
    site = serve({"/": shell("const app = document.getElementById('app');" + CHOSEN), **code})
    documents = run_crawl(f"{site.url}/", constants=PATIENCE).by_path(site.url)
    chosen = ("get it by npm", "get it by yarn", "get it by pnpm", "say Linux", "say Windows")
    assert [documents["/"]["content"].count(text) for text in chosen] == [1] * 5


def test_what_else_a_page_waits_for_is_waited_for_or_given(serve, run_crawl):
    links = "".join(f"<a href='/{name}'>x</a>" for name in WAYS)
    setup = "const app = document.getElementById('app');"
    pages = {
        f"/{name}": shell(setup + script.replace("Drawn", f"Drawn by {name}"))
        for name, script in WAYS.items()
    }
    site = serve({"/": html("Home", f"<p>Home.</p>{links}"), **pages})
    documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(documents) == {"/", *pages}
    for path in pages:
        expected = f"# Drawn by {path[1:]}\n\n{TEXT.strip()}\n"
        assert documents[path]["content"] == expected, path


BOOK = """
const at = new URLSearchParams(location.search).get('path');
if (!at) location.replace('/?path=/docs/intro--docs');
document.body.innerHTML = `<style>.css-1 { position: absolute; width: 1px; height: 1px; overflow: hidden }</style><header><nav><a href="/?path=/docs/intro--docs">Introduction</a>
  <button aria-controls="button--docs button--primary" aria-expanded="false">Button</button><div></div></nav></header>
  <section role="toolbar"><h2 class="css-1">Toolbar</h2></section>
  <main><h2 class="css-1">Preview area</h2><a class="css-1" href="#intro--docs">Skip to sidebar</a>
  <a style="position: absolute; transform: translateY(-100px)" href="#intro--docs">Skip to the menu</a><iframe></iframe></main>`;
document.querySelector('button').onclick = () => {
  document.querySelector('button + div').innerHTML = `<a id="button--docs" href="/?path=/docs/button--docs">Docs</a>
    <a id="button--primary" href="/?path=/story/button--primary">Primary</a>`;
  history.pushState(null, '', '/?path=/docs/button--docs');
};
if (at) document.querySelector('iframe').src = '/iframe.html?viewMode=docs&id=' + at.split('/').at(-1);
"""
"""The program around the frame in which Storybook draws a page."""

NOTICE = (
    "<h1>No Preview</h1><p>Sorry, but you either have no stories or none are selected somehow.</p>"
    * 4
)
PREVIEW = f"""<style>.notice {{ display: none }}</style><div class="notice">{NOTICE}</div>
<div id="storybook-root" hidden></div><div id="storybook-docs"></div><script type="module">
  const name = new URLSearchParams(location.search).get('id').split('-')[0];
  const docs = document.getElementById('storybook-docs');
  docs.innerHTML = `<h1>${{name}}</h1><p>What ${{name}} takes.</p><button aria-expanded="false">Show code</button>
    <div></div><a href="/iframe.html?id=${{name}}--primary&viewMode=story" title="Open canvas"></a>`;
  docs.querySelector('button').onclick = () => {{
    docs.querySelector('div').innerHTML = `<pre><code>use(${{name}})</code></pre>`;
  }};
</script>"""


def text_of(name: str) -> str:
    return f"# {name}\n\nWhat {name} takes.\n\n```\nuse({name})\n```\n"


def test_pages_of_a_frame_are_found_in_the_closed_groups_of_its_menu(serve, run_crawl):
    site = serve({"/": shell(BOOK), "/iframe.html": PREVIEW})
    for change in ("new", "unchanged"):
        outcome = run_crawl(f"{site.url}/", constants=PATIENCE)
        documents = outcome.by_path(site.url)
        assert {path: page["change"] for path, page in documents.items()} == {
            f"/?path=/docs/{name}--docs": change for name in ("intro", "button")
        }
        if change == "new":
            for name in ("intro", "button"):
                assert documents[f"/?path=/docs/{name}--docs"]["content"] == text_of(name)


def test_what_a_page_holds_beside_its_text_and_hides_is_not_read(serve, run_crawl):
    site = serve({"/iframe.html": PREVIEW})
    url = f"{site.url}/iframe.html?viewMode=docs&id=button--docs"
    documents = run_crawl(url, constants=PATIENCE).documents
    assert [page["content"] for page in documents] == [text_of("button")]
