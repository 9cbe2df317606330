"""What the browser's fence is made of, without network or browser: heads of messages, proxies, launch options."""

from __future__ import annotations

import pytest

from llmsspider.browser.proxy import (
    Destination,
    Head,
    OutboundProxy,
    proxies_of_environment,
    proxy_for,
)
from llmsspider.browser.session import FENCED, find_program, launch_options


def head(*lines: str) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GET http://e.com/a/b?c=d HTTP/1.1", Destination("http", "e.com", 80, "/a/b?c=d")),
        ("GET http://e.com HTTP/1.1", Destination("http", "e.com", 80, "/")),
        ("GET http://E.com:8080/// HTTP/1.1", Destination("http", "e.com", 8080, "///")),
        ("GET http://[::1]:81/x HTTP/1.1", Destination("http", "::1", 81, "/x")),
        ("CONNECT e.com:443 HTTP/1.1", Destination("https", "e.com", 443, "")),
        ("CONNECT [::1]:443 HTTP/1.1", Destination("https", "::1", 443, "")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_where_a_request_to_a_proxy_leads(line, expected):
    assert Head.parse(head(line)).destination == expected


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET https://e.com/ HTTP/1.1",
        "GET file:///etc/passwd HTTP/1.1",
        "GET http://user:word@e.com/ HTTP/1.1",
        "GET http://e.com:port/ HTTP/1.1",
        "CONNECT e.com HTTP/1.1",
        "CONNECT :443 HTTP/1.1",
    ],
)
def test_what_is_no_request_to_a_proxy(line):
    with pytest.raises(ValueError):
        _ = Head.parse(head(line)).destination


@pytest.mark.parametrize(
    "text",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        head("GET / HTTP/1.1", "no colon"),
        head("GET / HTTP/1.1", " folded: x"),
    ],
)
def test_what_is_no_head(text):
    with pytest.raises(ValueError, match="not HTTP"):
        Head.parse(text)


def test_headers_of_one_connection_are_not_passed_on():
    given = Head.parse(
        head(
            "GET http://e.com/ HTTP/1.1",
            "Host: e.com",
            "Proxy-Authorization: Basic x",
            "Connection: keep-alive",
            "A: 1",
        )
    )
    assert given.passed_on(("GET", "/", "HTTP/1.1"), (("B", "2"),)) == head(
        "GET / HTTP/1.1", "Host: e.com", "A: 1", "B: 2", "Connection: close"
    )


def test_a_status_line_without_a_reason_is_passed_on_as_it_is():
    assert Head.parse(head("HTTP/1.1 200", "A: 1")).passed_on() == head(
        "HTTP/1.1 200", "A: 1", "Connection: close"
    )


def test_the_length_of_a_body_has_to_be_known():
    assert Head.parse(head("POST / HTTP/1.1", "content-length: 12")).body_length == 12
    assert Head.parse(head("GET / HTTP/1.1")).body_length == 0
    with pytest.raises(ValueError):
        _ = Head.parse(head("POST / HTTP/1.1", "Transfer-Encoding: chunked")).body_length


# --- outbound proxies ---


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://proxy.corp:3128", OutboundProxy("proxy.corp", 3128)),
        ("proxy.corp:3128", OutboundProxy("proxy.corp", 3128)),
        ("https://proxy.corp", OutboundProxy("proxy.corp", 443, tls=True)),
        (
            "http://a%40b:c@proxy.corp/",
            OutboundProxy("proxy.corp", 80, authorization="Basic YUBiOmM="),
        ),
    ],
)
def test_an_outbound_proxy(url, expected):
    assert OutboundProxy.from_url(url) == expected


@pytest.mark.parametrize("url", ["socks5://proxy.corp:1080", "http://", "http://:80"])
def test_what_cannot_stand_before_the_browser(url):
    with pytest.raises(ValueError):
        OutboundProxy.from_url(url)


def test_proxies_of_the_environment(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("https_proxy", "http://user:secret@proxy.corp:3128")
    monkeypatch.setenv("no_proxy", "wiki.corp")
    proxies = proxies_of_environment()
    assert proxy_for(proxies, "http", "e.com") is None
    assert proxy_for(proxies, "https", "wiki.corp") is None
    assert proxy_for(proxies, "https", "e.com") == proxies["https"]
    assert proxies["https"].host == "proxy.corp"
    assert "dXNlcjpzZWNyZXQ" not in repr(proxies)


# --- launching ---

PROXY = {"server": "http://127.0.0.1:1", "username": "u", "password": "p"}


def test_the_proxy_and_the_fence_cannot_be_chosen_away():
    given = {"proxy": {"server": "http://elsewhere"}, "args": ["--lang=de"], "slow_mo": 10}
    options = launch_options(given, PROXY, None, sandbox=True)
    assert options["proxy"] == {**PROXY, "bypass": "<-loopback>"}
    assert set(FENCED) < set(options["args"])
    # Chromium takes the last
    assert options["args"].index("--lang=de") < options["args"].index(FENCED[0])
    assert (options["slow_mo"], options["chromium_sandbox"], options["headless"]) == (
        10,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "/usr/bin/chromium"),
        ({"executable_path": "/opt/x"}, "/opt/x"),
        ({"channel": "chrome"}, None),
    ],
)
def test_which_browser_is_started(given, expected):
    assert launch_options(given, PROXY, "/usr/bin/chromium").get("executable_path") == expected


def test_the_browser_is_found_by_its_names():
    assert find_program({"google-chrome": "/usr/bin/google-chrome"}.get) == "/usr/bin/google-chrome"
    assert find_program({}.get) is None
