"""What a page can try from inside the browser, and what arrived at the addresses it wanted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from chromium import browser, draw, shell  # noqa: F401  # the fixture is autouse
from crawling import Outcome, crawl
from forked import HANGS_SECS
from loopback import Answer, Arrived, Loopback, loopback

from llmsspider.browser.session import find_program

pytestmark = pytest.mark.browser

NAME = "inside.site.example"
TCP_WAYS = {
    "image", "style", "font", "script", "frame", "object", "fetch", "form", "beacon", "worker", "preload",
    "redirected-fetch", "redirected-frame", "redirected-image", "socket", "events", "popup",
}  # fmt: skip


def attack(inside: str, host: str, udp: int) -> str:
    """Script that tries every way to `inside` (scheme, host and port) and to a UDP port of `host`."""
    return f"""
    const inside = {inside!r};
    const add = (name, values) => document.body.append(Object.assign(document.createElement(name), values));
    new Image().src = inside + '/image';
    new Image().src = '/go?' + inside + '/redirected-image';
    add('link', {{rel: 'stylesheet', href: inside + '/style'}});
    add('link', {{rel: 'preload', as: 'fetch', href: inside + '/preload'}});
    add('link', {{rel: 'preconnect', href: inside}});
    add('style', {{textContent: `@font-face {{font-family: x; src: url(${{inside}}/font)}} i {{font-family: x}}`}});
    add('i', {{textContent: 'x'}});
    add('script', {{src: inside + '/script'}});
    add('iframe', {{src: inside + '/frame'}});
    add('iframe', {{src: '/go?' + inside + '/redirected-frame'}});
    add('object', {{data: inside + '/object'}});
    add('iframe', {{name: 'target'}});
    add('form', {{id: 'form', action: inside + '/form', target: 'target'}});
    document.getElementById('form').submit();
    // a socket does not answer the proxy that asks for its password, a request does for all that follow
    const connect = () => new WebSocket(inside.replace('http', 'ws') + '/socket');
    fetch(inside + '/fetch', {{mode: 'no-cors'}}).catch(() => 0).then(connect);
    fetch('/go?' + inside + '/redirected-fetch', {{mode: 'no-cors'}}).catch(() => 0);
    fetch('file:///etc/passwd').catch(() => 0);
    navigator.sendBeacon(inside + '/beacon', 'x');
    new Worker(URL.createObjectURL(new Blob([`fetch('${{inside}}/worker', {{mode: 'no-cors'}}).catch(() => 0)`])));
    new EventSource(inside + '/events');
    try {{ new WebTransport('https://{host}:{udp}/transport').ready.catch(() => 0) }} catch (error) {{}}
    const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{host}:{udp}'}}]}});
    peer.createDataChannel('x');
    peer.createOffer().then(offer => peer.setLocalDescription(offer));
    window.open(inside + '/popup');
    """


def answer_inside(arrived: Arrived) -> Answer:
    return 200, {"Access-Control-Allow-Origin": "*"}, b"<p>Inside.</p>"


@contextlib.contextmanager
def datagrams(host: str) -> Iterator[tuple[int, list[bytes]]]:
    """A UDP port and what arrives there."""
    found: list[bytes] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind((host, 0))
        listener.settimeout(0.1)
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    found.append(listener.recv(2048))

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield listener.getsockname()[1], found
        finally:
            over.set()
            thread.join()


@contextlib.contextmanager
def hostile_site(
    *, waits_for: str | None = None
) -> Iterator[tuple[Loopback, Loopback, list[bytes]]]:
    """The site, what it wants to reach, and the datagrams that arrive there.

    Its pages load data that is not there before `waits_for` was reached, ten seconds at most.
    """
    with loopback(answer_inside, "127.0.0.2") as victim, datagrams("127.0.0.2") as (udp, packets):
        literal, name = f"http://127.0.0.2:{victim.port}", f"http://{NAME}:{victim.port}"
        leads = f"setTimeout(() => location.replace('{name}/navigation'), 300);"
        links = "".join(f"<a href='/{page}'>x</a>" for page in ("literal", "name", "leads"))
        holds = "fetch('/held');" if waits_for else ""
        pages = {
            "/": f"<main><h1>Home</h1><p>A page of documentation.</p>{links}</main>",
            "/literal": shell(draw("Literal") + attack(literal, "127.0.0.2", udp) + holds),
            "/name": shell(draw("Name") + attack(name, NAME, udp) + holds),
            "/leads": shell(leads),
        }

        def answer(arrived: Arrived) -> Answer:
            path, _, target = arrived.target.partition("?")
            if path == "/go":
                return 302, {"Location": target}, b""
            if path == "/held":
                ends = time.monotonic() + 10
                while waits_for not in victim.paths and time.monotonic() < ends:
                    time.sleep(0.05)
                return 200, {}, b"{}"
            return (200, {}, pages[path].encode()) if path in pages else (404, {}, b"")

        with loopback(answer) as site:
            yield site, victim, packets


def test_nothing_arrives_inside(tmp_path):
    with hostile_site() as (site, victim, packets):
        outcome = crawl_with(tmp_path, site, allowed="127.0.0.1")
    assert {document["title"] for document in outcome.documents} == {"Home", "Literal", "Name"}
    # the attack ran; frames stay empty
    assert sum(path.startswith("/go?") for path in site.paths) >= 4
    assert (victim.connections, packets) == (0, [])
    assert outcome.stats["llms/blocked/address"] > 20
    assert outcome.log.count(f"Refused the browser {NAME}") == 1


def test_every_way_leads_inside_where_there_is_no_fence():
    """The test above would prove nothing if the page did not try, or the browser could not."""
    with hostile_site() as (site, victim, packets):
        expected = TCP_WAYS - {"beacon"}
        asyncio.run(
            visit_unfenced(
                site.url("/literal"),
                lambda: {path.strip("/?") for path in victim.paths} >= expected and packets,
            )
        )
    assert {path.strip("/?") for path in victim.paths} >= expected
    assert victim.connections > 0
    assert packets


TRIES = 10


def test_the_fence_opens_for_the_addresses_that_are_allowed(tmp_path):
    expected = {"fetch", "socket", "navigation"}
    reached = set[str]()
    # a page is not waited for because of a socket
    with hostile_site(waits_for="/socket") as (site, victim, packets):
        for attempt in range(TRIES):
            folder = tmp_path / f"{attempt}"
            folder.mkdir()
            crawl_with(folder, site, allowed=f"127.0.0.1,127.0.0.2,{NAME}")
            reached = {path.strip("/?") for path in victim.paths}
            if expected <= reached:
                break
    assert expected <= reached
    assert "/frame" not in victim.paths  # frames of other hosts stay empty
    assert packets == []  # no way around the proxy, whatever is allowed


def crawl_with(folder, site: Loopback, *, allowed: str) -> Outcome:
    return crawl(
        site.url("/"),
        folder,
        settings={
            "LLMS_ALLOW_PRIVATE_ADDRESSES": allowed,
            "TWISTED_DNS_RESOLVER": "made_names.StaticNames",
            "PLAYWRIGHT_ABORT_REQUEST": "",
        },
        env={
            "STATIC_NAMES": json.dumps(
                {NAME: "127.0.0.2", "127.0.0.1": "127.0.0.1", "127.0.0.2": "127.0.0.2"}
            )
        },
    )


async def visit_unfenced(url: str, over: Callable[[], object]) -> None:
    """Stay on a page until it has done what it was to do; in a new browser where one dies."""
    from playwright.async_api import Error, async_playwright

    async with asyncio.timeout(HANGS_SECS), async_playwright() as playwright:
        while not over():
            chromium = await playwright.chromium.launch(
                executable_path=find_program(), chromium_sandbox=False
            )
            died = asyncio.Event()
            chromium.on("disconnected", lambda _browser, died=died: died.set())
            try:
                page = await chromium.new_page()
                page.on("crash", lambda _page, died=died: died.set())
                await page.goto(url)
                while not (over() or died.is_set()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            except Error:
                if chromium.is_connected() and not died.is_set():
                    raise
            with contextlib.suppress(Error):
                await chromium.close()


def test_a_visit_survives_the_end_of_its_browser():
    ended: list[int] = []

    def over() -> bool:
        for process in psutil.Process().children(recursive=True) if asked and not ended else ():
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended since
                if "chrom" in process.name() and not ended:
                    process.kill()
                    ended.append(process.pid)
        return len(asked) > 1

    asked: list[str] = []

    def answer(arrived: Arrived) -> Answer:
        if arrived.target == "/":
            asked.append(arrived.target)
        return 200, {}, b"<p>Text.</p>"

    with loopback(answer) as site:
        asyncio.run(visit_unfenced(site.url("/"), over))
    assert ended


# --- secrets ---

TOKEN = "token-of-the-private-site"


def test_secrets_go_to_their_origin_only(tmp_path):
    with loopback(answer_inside, "127.0.0.2") as other:
        elsewhere = f"http://127.0.0.2:{other.port}"
        script = f"""
        const own = await (await fetch('/api')).text();
        await fetch('/go?{elsewhere}/redirected', {{mode: 'no-cors'}}).catch(() => 0);
        await fetch('{elsewhere}/direct', {{mode: 'no-cors'}}).catch(() => 0);
        document.getElementById('app').innerHTML = '<main><h1>Private</h1><p>' + own + '</p></main>';
        """
        pages = {"/": shell(script), "/api": "What only members may read."}

        def answer(arrived: Arrived) -> Answer:
            path, _, target = arrived.target.partition("?")
            if arrived.headers.get("x-token") != TOKEN:
                return 401, {}, b""
            if path == "/go":
                return 302, {"Location": target}, b""
            return (200, {}, pages[path].encode()) if path in pages else (404, {}, b"")

        with loopback(answer) as site:
            outcome = crawl(
                site.url("/"),
                tmp_path,
                settings={
                    "LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1,127.0.0.2",
                    "LOG_LEVEL": "DEBUG",
                },
                env={
                    "LLMS_HTTP_AUTH": json.dumps(
                        {f"http://127.0.0.1:{site.port}": {"X-Token": TOKEN}}
                    )
                },
            )
    assert [document["content"] for document in outcome.documents] == [
        "# Private\n\nWhat only members may read.\n"
    ]
    assert {"/redirected", "/direct"} <= set(other.paths)
    assert TOKEN not in str([request.headers for request in other.requests])
    assert TOKEN not in outcome.log


# --- outbound proxy ---


def test_an_outbound_proxy_stands_behind_ours(tmp_path):
    """No name can be looked up here: whatever arrives came by the proxy."""
    pages = {
        "http://docs.public.example/": shell(
            "", "<script src='http://cdn.public.example/app.js'></script>"
        ),
        "http://cdn.public.example/app.js": f"addEventListener('load', () => {{ {draw('Behind')} }})",
    }

    def answer(arrived: Arrived) -> Answer:
        body = pages.get(arrived.target)
        content_type = "text/javascript" if arrived.target.endswith(".js") else "text/html"
        return (
            (404, {}, b"") if body is None else (200, {"Content-Type": content_type}, body.encode())
        )

    with loopback(answer) as proxy:
        outcome = crawl(
            "http://docs.public.example/",
            tmp_path,
            settings={
                "TWISTED_DNS_RESOLVER": "made_names.StaticNames",
                "LLMS_ALLOW_PRIVATE_ADDRESSES": "",
            },
            env={
                "STATIC_NAMES": '{"127.0.0.1": "127.0.0.1"}',
                "http_proxy": f"http://user:secret@127.0.0.1:{proxy.port}",
                "no_proxy": "",
            },
        )
    assert [(document["title"], document["origin"]) for document in outcome.documents] == [
        ("Behind", "rendered")
    ]
    assert {request.headers.get("proxy-authorization") for request in proxy.requests} == {
        "Basic dXNlcjpzZWNyZXQ="
    }


@pytest.mark.parametrize(
    ("setting", "value"),
    [("PLAYWRIGHT_CDP_URL", "http://127.0.0.1:1"), ("PLAYWRIGHT_BROWSER_TYPE", "firefox")],
)
def test_a_browser_that_could_go_round_the_fence_is_refused(serve, run_crawl, setting, value):
    site = serve({"/": shell(draw("Drawn"))})
    outcome = run_crawl(f"{site.url}/", settings={setting: value})
    assert outcome.exit_code == 1
    assert outcome.stats["llms/filtered/needs-browser"] == 1
    assert any(setting in line for line in outcome.lines)
