from __future__ import annotations

import pytest

from llmsspider.site.llmstxt import MAX_BYTES, classify, decode, reject_reason

URL = "https://example.com/docs/llms.txt"
GOOD = "# Example\n\n> Things explained.\n\n- [Intro](/intro): where to begin\n"


def verdict(
    body: str | bytes, *, status: int = 200, final: str = URL, type_: str | None = "text/plain"
) -> str | None:
    return reject_reason(
        status, URL, final, type_, body.encode() if isinstance(body, str) else body
    )


ACCEPTED = {
    "plain": GOOD,
    "byte order mark": "\ufeff" + GOOD,
    "comment first": "<!-- generated -->\n" + GOOD,
    "prose only": "Example is a library. Its documentation is at https://example.com/docs",
    "a link first, which looks like a JSON list": "[Docs](https://example.com/docs) is where it is",
    "script in a code block": GOOD + "\n```html\n<script>alert(1)</script>\n```\n",
    "script in prose": GOOD + "\nNever write <script>alert(1)</script> there.\n",
    "html page in a code block": GOOD
    + "\n```html\n<!doctype html><html><body></body></html>\n```\n",
    "centred logo first": '<p align="center"><img src="logo.png"></p>\n\n' + GOOD,
    "tags of context files": '<project title="Example"><docs></docs></project>\n' + GOOD,
    "robots rules quoted": GOOD + "\n```\nUser-agent: *\nDisallow: /\n```\n",
    "not-found pages as a subject": GOOD + "\n- [404](/404): what to do when a page is not found\n",
    "front matter": "---\ntitle: Example\n---\n" + GOOD,
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(body: str) -> None:
    assert verdict(body) is None


@pytest.mark.parametrize(
    "type_",
    [
        "text/plain",
        "text/markdown; charset=utf-8",
        "TEXT/X-Markdown",
        None,
        "",
        "application/octet-stream",
    ],
)
def test_types_accepted(type_: str | None) -> None:
    assert verdict(GOOD, type_=type_) is None


REJECTED = {
    "html": ("<!DOCTYPE html><html><body>Welcome to our site</body></html>", "an HTML page"),
    "html in capitals after blank lines": (
        "\n\n <HTML><HEAD></HEAD><BODY>x</BODY></HTML>",
        "an HTML page",
    ),
    "html after a comment": ("<!-- app -->\n<!doctype html>\n<html></html>", "an HTML page"),
    "html without doctype": ("<head><title>x</title></head> not much here", "an HTML page"),
    "html fragment": (
        '<div id="root"><noscript>Enable JavaScript</noscript></div>',
        "an HTML page",
    ),
    "html in unknown tags": (
        "<app-root>loading everything</app-root></body></html>",
        "an HTML page",
    ),
    "json object": ('{"error": "not found", "status": 404}', "JSON"),
    "json list": ('[{"url": "https://example.com/docs"}]', "JSON"),
    "json cut off": ('{"pages": [{"url": "https://example.com', "JSON"),
    "xml": ('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "XML"),
    "sitemap": ('<urlset xmlns="x"><url><loc>https://example.com/</loc></url></urlset>', "XML"),
    "robots": (
        "# robots\nUser-agent: *\nDisallow: /private\nSitemap: https://example.com/sitemap.xml\n",
        "a robots.txt",
    ),
    "empty": ("", "empty"),
    "blank": ("\ufeff \n\n", "empty"),
    "too short": ("# Docs\n\nSoon.", "shorter than 20 characters"),
    "NUL": ("# Example\n\n\0\0 and more text here", "binary"),
    "not found in plain text": (
        "404: the page could not be found on this server",
        "a not-found message",
    ),
}


@pytest.mark.parametrize(("body", "reason"), REJECTED.values(), ids=REJECTED)
def test_rejected(body: str, reason: str) -> None:
    assert verdict(body) == reason


@pytest.mark.parametrize("status", [201, 204, 301, 404, 403, 500])
def test_other_statuses(status: int) -> None:
    assert verdict(GOOD, status=status) == f"status {status}"


@pytest.mark.parametrize(
    "type_", ["text/css; charset=utf-8", "application/json", "image/png", "application/pdf"]
)
def test_other_types(type_: str) -> None:
    assert verdict(GOOD, type_=type_) == f"content type {type_.partition(';')[0]}"


def test_binary_without_type() -> None:
    assert verdict(bytes(range(1, 32)) * 20, type_=None) == "binary"
    assert (
        verdict(b"\x89PNG\r\n\x1a\n" + bytes(range(128, 255)) * 4, type_="application/octet-stream")
        == "binary"
    )


def test_size() -> None:
    assert verdict(GOOD.encode().ljust(MAX_BYTES)) is None
    assert verdict(GOOD.encode().ljust(MAX_BYTES + 1)) == "larger than 20 MB"


@pytest.mark.parametrize(
    ("final", "reason"),
    [
        ("https://example.com/llms.txt", None),
        ("https://docs.example.com/llms.txt", None),
        ("http://example.com:8080/llms.txt", None),
        ("https://example.org/llms.txt", "redirected to another site"),
        ("https://login.example.net/?next=llms.txt", "redirected to another site"),
    ],
)
def test_redirects(final: str, reason: str | None) -> None:
    assert verdict(GOOD, final=final) == reason


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("é".encode(), None, "é"),
        ("é".encode(), "iso-8859-1", "é"),
        (b"\xef\xbb\xbfa", None, "a"),
        ("é".encode("utf-16"), None, "é"),
        ("é".encode("latin-1"), None, "é"),
        ("ж".encode("cp1251"), "windows-1251", "ж"),
        (b"\xe9", "no-such-charset", "é"),
        (b"caf\x81\xe9", None, "caf\ufffdé"),
    ],
)
def test_decode(body: bytes, charset: str | None, text: str) -> None:
    assert decode(body, charset) == text


PAGE = (
    "# Page {n}\nSource: https://example.com/docs/page-{n}\n\n"
    + "Some sentence about it. " * 30
    + "\n\n"
)

KINDS = {
    "index": (GOOD * 20, "index"),
    "index with an introduction": (
        GOOD + "A sentence of introduction.\n" * 40 + "- [A](/a): about a\n" * 30,
        "index",
    ),
    "delimited pages": ("".join(PAGE.format(n=n) for n in range(5)), "full"),
    "prose and code": (
        "# Guide\n\n" + "Long text that explains how it is done.\n\n```\ncode\n```\n" * 80,
        "full",
    ),
    "short text without any link": ("# Guide\n\nOne paragraph of text.\n", "full"),
    "an index that labels its links": (
        "".join(f"## Page {n}\nURL: https://example.com/{n}\n\nShort.\n\n" for n in range(50)),
        "index",
    ),
}


@pytest.mark.parametrize(("text", "kind"), KINDS.values(), ids=KINDS)
def test_classify(text: str, kind: str) -> None:
    assert classify(text) == kind
