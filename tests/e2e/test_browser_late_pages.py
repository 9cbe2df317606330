"""Pages that are read while something that they are drawn from is still under way."""

from __future__ import annotations

import base64
import hashlib
import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest
from chromium import browser, shell  # noqa: F401  # the fixture is autouse
from forked import HANGS_SECS
from site_server import Reply
from sites import html

pytestmark = pytest.mark.browser

SETTLES = {"llmsspider.browser.page_load.IDLE_TIMEOUT_SECS": 3.5}
"""So long is waited for a page that does not come to rest; usually 15 seconds."""
PATIENCE = {"RETRY_TIMES": 0, "DOWNLOAD_TIMEOUT": HANGS_SECS}
LATE_SECS = 3.0
"""Longer than a page that shows text is waited for where nothing of it is under way."""

STREAM_SECS = 1.0
"""Time to the first message of a stream: most of them have nothing to say, and are not waited for."""

MENU = "".join(f"<a href='/'>Chapter {number} of the handbook</a> " for number in range(12))
NOTICES = {"bare": "Loading…", "paragraph": "<p>Loading…</p>"}
LOADS = {
    "data": "fetch('/part/data').then(answer => answer.json()).then(draw)",
    "chunk": "import('/part/chunk').then(chunk => draw(chunk.default))",
    "worker": "new Worker('/worker.js').onmessage = answer => draw(answer.data)",
    "stream": "new EventSource('/part/stream').onmessage = answer => draw(JSON.parse(answer.data))",
    "jsonp": """
        window.back = draw;
        document.head.append(Object.assign(document.createElement('script'), {src: '/part/jsonp'}))
    """,
}
"""How a page gets what it is drawn from, after its menu and a notice."""

HUNG = ("data", "worker", "jsonp")
"""What hangs from the second night on; the others do on the first one."""

PART = '{"text": "Text of the chapter, which is drawn when it has come. It is long enough."}'
BODIES = {
    "data": (PART, "application/json"),
    "chunk": (f"export default {PART}", "text/javascript"),
    "worker": (PART, "application/json"),
    "stream": (f"retry: 60000\ndata: {PART}\n\n", "text/event-stream"),
    "jsonp": (f"back({PART})", "text/javascript"),
}
WORKER = "fetch('/part/worker').then(answer => answer.json()).then(postMessage)"


def late_page(notice: str, load: str) -> str:
    script = f"""
        const app = document.getElementById('app');
        app.innerHTML = "<nav>{MENU}</nav><main>{notice}</main>";
        const draw = part => {{
          app.lastChild.innerHTML = '<h1>Chapter</h1>' + `<p>${{part.text}}</p>`.repeat(4)
            + `<p>It is at ${{location.pathname}}.</p>`;
        }};
        {load};
    """
    return shell(script)


@pytest.fixture
def handbook(serve):
    """A site whose pages wait for what `waits` says: nothing, a moment, or the end of the test."""
    waits = dict.fromkeys(LOADS, 0.0)
    over = threading.Event()

    def part(name):
        def answer(_seen):
            over.wait(waits[name])
            body, kind = BODIES[name]
            return Reply(body, content_type=kind)

        return answer

    names = [f"/{load}-{notice}" for load, notice in product(LOADS, NOTICES)]
    links = "".join(f"<a href='{name}'>x</a>" for name in names)
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links}"),
            **{
                f"/{load}-{notice}": late_page(NOTICES[notice], LOADS[load])
                for load, notice in product(LOADS, NOTICES)
            },
            **{f"/part/{name}": part(name) for name in LOADS},
            "/worker.js": Reply(WORKER, content_type="text/javascript"),
        }
    )
    yield site, waits
    over.set()


def test_what_comes_late_is_waited_for(handbook, run_crawl):
    site, waits = handbook
    waits.update(dict.fromkeys(waits, LATE_SECS), stream=STREAM_SECS)
    documents = run_crawl(f"{site.url}/", settings=PATIENCE).by_path(site.url)
    assert len(documents) == 1 + len(LOADS) * len(NOTICES)
    for path in set(documents) - {"/"}:
        assert documents[path]["content"].startswith("# Chapter\n\nText of the chapter"), path


def test_a_page_that_still_waits_is_an_error_and_never_its_notice(handbook, run_crawl):
    site, waits = handbook
    url = f"{site.url}/"
    waits.update(chunk=HANGS_SECS, stream=HANGS_SECS)
    first = run_crawl(url, settings=PATIENCE, constants=SETTLES)
    assert set(first.by_path(site.url)) == {
        "/",
        *(f"/{load}-{notice}" for load, notice in product(HUNG, NOTICES)),
    }
    assert first.stats["llms/errors/network"] == 2 * len(NOTICES)
    waits.update(dict.fromkeys(HUNG, HANGS_SECS), chunk=0.0, stream=0.0)
    for night in (2, 3):
        outcome = run_crawl(url, settings=PATIENCE, constants=SETTLES)
        changes = {path: page["change"] for path, page in outcome.by_path(site.url).items()}
        assert set(changes.values()) <= {"new", "unchanged"}, night
        assert len(changes) == 1 + len(LOADS) * len(NOTICES)
        assert outcome.stats["llms/errors/network"] == len(HUNG) * len(NOTICES)


def test_polls_and_streams_are_not_waited_for(serve, run_crawl):
    over = threading.Event()

    def slow(_seen):
        over.wait(1.0)
        return Reply("{}", content_type="application/json")

    text = "Text of a page that keeps asking for more than it shows. " * 6
    polls = (
        f"document.getElementById('app').innerHTML = '<main><h1>Polls</h1><p>{text}</p></main>';"
    )
    polls += "const ask = () => fetch('/poll?' + Math.random()).finally(ask); ask();"
    site = serve(
        {
            "/": html("Home", "<p>Home.</p><a href='/polls'>x</a>"),
            "/polls": shell(polls),
            "/poll": slow,
        }
    )
    try:
        constants = {"llmsspider.browser.page_load.IDLE_TIMEOUT_SECS": HANGS_SECS}
        settings = {"RETRY_TIMES": 0, "DOWNLOAD_TIMEOUT": HANGS_SECS / 2}
        documents = run_crawl(f"{site.url}/", settings=settings, constants=constants)
    finally:
        over.set()
    assert set(documents.by_path(site.url)) == {"/", "/polls"}


OPENS = f"""
app.innerHTML = '<main><h1>Opens</h1><p>{"Text of a page that keeps one request open. " * 6}</p>'
  + `<p>It is at ${{location.pathname}}.</p><button aria-expanded="false" aria-controls="more">Why?</button><p id="more"></p></main>`;
app.querySelector('button').onclick = () => {{ more.textContent = 'It was opened.' }};
fetch('/open?since=' + Date.now());
"""


def test_what_several_pages_waited_for_in_vain_is_not_waited_for(serve, run_crawl):
    over = threading.Event()

    def stays_open(_seen):
        over.wait(HANGS_SECS)
        return Reply("{}", content_type="application/json")

    site = serve(
        {
            "/": html("Home", "<p>Home.</p>" + "".join(f"<a href='/{x}'>x</a>" for x in "abc")),
            **{
                f"/{name}": shell("const app = document.getElementById('app');" + OPENS)
                for name in "abc"
            },
        }
    )
    site.pages["/open"] = stays_open
    try:
        settings = PATIENCE | {"PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 1}
        outcome = run_crawl(f"{site.url}/", settings=settings, constants=SETTLES)
    finally:
        over.set()
    texts = [
        page["content"] for page in outcome.documents if "keeps one request" in page["content"]
    ]
    assert sorted("It was opened." in text for text in texts) == [False, False, True]


class SaysAtOnce(socketserver.StreamRequestHandler):
    """A WebSocket that sends one text (RFC 6455)."""

    TEXT = b"<main><h1>Socket</h1><p>A text that came by a socket, and by nothing else.</p></main>"

    def handle(self) -> None:
        head = b""
        while line := self.rfile.readline().strip():
            head += line + b"\n"
        key = re.search(rb"(?i)^sec-websocket-key: (.*)$", head, re.MULTILINE)
        guid = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key[1] + guid).digest())
        switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade"
        self.wfile.write(switched + b"\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        self.wfile.write(bytes([0x81, len(self.TEXT)]) + self.TEXT)
        self.rfile.read()


@contextmanager
def socket_server() -> Iterator[str]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), SaysAtOnce)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_first_page_of_a_crawl_may_come_by_a_socket_alone(serve, run_crawl):
    with socket_server() as url:
        script = f"new WebSocket('{url}').onmessage = said => {{ app.innerHTML = said.data }};"
        site = serve({"/": shell(script)})
        documents = run_crawl(f"{site.url}/").by_path(site.url)
    assert "came by a socket" in documents["/"]["content"]
