from __future__ import annotations

import pytest

from llmsspider.web.outcomes import challenge_of

PROSE = b"<p>" + b"This page explains how a site tells people from programs. " * 40 + b"</p>"


def html(title: str = "", head: str = "", body: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>".encode()


WORDS_UNSEEN = "".join(
    f"{opening}{'words that nobody sees ' * 60}{closing}"
    for opening, closing in [
        ("<!-- <b>", "</b> -->"),
        ("<style>", "</style>"),
        ("<template><p>", "</p></template>"),
    ]
).replace("words", "window.KPSDK", 1)

WALLS = [
    ("Cloudflare by header, 403", 403, {"cf-mitigated": "challenge"}, b"", "Cloudflare"),
    ("Cloudflare by header, 200", 200, {"cf-mitigated": "Challenge"}, b"{}", "Cloudflare"),
    (
        "Cloudflare managed challenge by its script",
        403,
        {},
        html(
            "Just a moment...", "<script>(function(){window._cf_chl_opt={cvId:'3'};})();</script>"
        ),
        "Cloudflare",
    ),
    (
        "Cloudflare, title in another language",
        503,
        {},
        html(
            "Einen Moment…",
            "<script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'></script>",
        ),
        "Cloudflare",
    ),
    (
        "Cloudflare firewall",
        403,
        {},
        html(
            "Attention Required! | Cloudflare",
            body='<div id="cf-wrapper">Sorry, you have been blocked</div>',
        ),
        "Cloudflare",
    ),
    ("Vercel by header", 429, {"x-vercel-mitigated": "challenge"}, b"", "Vercel"),
    (
        "Vercel by title",
        429,
        {},
        html("Vercel Security Checkpoint", body="We're verifying your browser"),
        "unnamed",
    ),
    ("AWS WAF by header", 202, {"x-amzn-waf-action": "challenge"}, b"", "AWS WAF"),
    (
        "AWS WAF by script",
        202,
        {},
        html(
            head="<script>window.gokuProps = {'key':'x'};</script>",
            body="<div id='challenge-container'></div>",
        ),
        "AWS WAF",
    ),
    ("Kasada", 429, {"x-kpsdk-ct": "abc"}, b"", "Kasada"),
    (
        "DataDome",
        403,
        {},
        html("docs.example", body="<script src='https://ct.captcha-delivery.com/c.js'></script>"),
        "DataDome",
    ),
    (
        "HUMAN",
        403,
        {},
        html("Access to this page has been denied", body='<div id="px-captcha"></div>'),
        "HUMAN",
    ),
    (
        "Akamai access denied",
        403,
        {},
        html("Access Denied", body="Reference #18.2 https://errors.edgesuite.net/18.2"),
        "Akamai",
    ),
    (
        "Akamai interstitial, 200",
        200,
        {},
        html(head="<meta http-equiv='refresh' content=\"5; URL='/a?bm-verify=AAQ'\">"),
        "Akamai",
    ),
    (
        "Imperva",
        200,
        {},
        html(
            body='<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9&xinfo=1"></iframe>'
        ),
        "Imperva",
    ),
    (
        "Anubis",
        200,
        {},
        html(
            "Making sure you&#39;re not a bot!",
            '<script id="anubis_challenge" type="application/json">{}</script>',
        ),
        "Anubis",
    ),
    (
        "Anubis, by title",
        200,
        {},
        html("Making sure you&#39;re not a bot!", body="Loading..."),
        "unnamed",
    ),
    (
        "Sucuri",
        307,
        {},
        html("You are being redirected...", "<script>var s='sucuri_cloudproxy_js';</script>"),
        "Sucuri",
    ),
    (
        "Fastly",
        200,
        {},
        html("Client Challenge", "<script src='/_fs-ch-1T1wmsGaOgGaSxcX/a.js'></script>"),
        "Fastly",
    ),
    (
        "DDoS-Guard",
        403,
        {},
        html("DDoS-Guard", "<script src='/.well-known/ddos-guard/js-challenge/index.js'></script>"),
        "DDoS-Guard",
    ),
    ("title with other spacing and case", 200, {}, html("  Just a\n moment... "), "unnamed"),
    (
        "byte order mark before the page",
        200,
        {},
        b"\xef\xbb\xbf\n" + html("Just a moment..."),
        "unnamed",
    ),
    (
        "script whose text has the signs of tags",
        403,
        {},
        html(
            "Denied",
            body="<SCRIPT>for (i=0;i<a;i++) if (i<b) s+='<p>text</p>'</SCRIPT >" + WORDS_UNSEEN,
        ),
        "Kasada",
    ),
    (
        "script cut off by the prefix",
        403,
        {},
        b"<html><script>window._cf_chl_opt={" + b"a" * 5000,
        "Cloudflare",
    ),
]


@pytest.mark.parametrize(
    ("status", "headers", "body", "name"),
    [case[1:] for case in WALLS],
    ids=[case[0] for case in WALLS],
)
def test_wall(status, headers, body, name):
    assert challenge_of(status, headers, body) == name


PAGES = [
    ("ordinary page", 200, {}, html("Guide", body="<h1>Guide</h1>")),
    ("not found page", 404, {}, html("Not Found", body="Nothing here")),
    (
        "short page about captchas",
        200,
        {},
        html("Captcha", body="<p>Are you a robot? Solve the captcha.</p>"),
    ),
    (
        "docs of hCaptcha with the widget in the page",
        200,
        {},
        html("hCaptcha", body="<div class='h-captcha'></div>"),
    ),
    (
        "docs that quote the marks in code",
        200,
        {},
        html("Bot walls", body='<pre>window._cf_chl_opt id="px-captcha" sucuri_cloudproxy_js</pre>')
        + PROSE,
    ),
    (
        "docs with page text inside a script",
        200,
        {},
        html("Walls", '<script id="__NEXT_DATA__">{"text":"_cf_chl_opt is set"}</script>') + PROSE,
    ),
    (
        "Cloudflare's detection script in an ordinary page",
        200,
        {"server": "cloudflare", "cf-ray": "1"},
        html(
            "Guide",
            "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>",
            "Short page.",
        ),
    ),
    (
        "Imperva's script in an ordinary page",
        200,
        {"x-cdn": "Imperva"},
        html("Guide", "<script src='/_Incapsula_Resource?SWJIYLWA=1'></script>", "Short page."),
    ),
    ("DataDome lets a visitor pass", 200, {"x-datadome": "protected"}, html("Guide", body="Hello")),
    ("Cloudflare did something else", 200, {"cf-mitigated": "no"}, html("Guide", body="Hello")),
    ("a long page with the title of a wall", 200, {}, html("Just a moment...") + PROSE),
    (
        "a page of links with the title of a wall",
        200,
        {},
        html("Security check", body="<ul>" + '<li><a href="/x">x</a>' * 60 + "</ul>"),
    ),
    ("a title that begins like a wall", 200, {}, html("Just a moment... in history", body="1969")),
    ("Markdown that quotes a wall", 200, {}, b"# Walls\n\n<script>window._cf_chl_opt</script>"),
    ("JSON", 200, {}, b'{"title": "Just a moment..."}'),
    ("nothing", 204, {}, b""),
    ("not modified", 304, {}, b""),
    ("plain 403", 403, {}, html("403 Forbidden", body="<center>nginx</center>")),
]


@pytest.mark.parametrize(
    ("status", "headers", "body"), [case[1:] for case in PAGES], ids=[case[0] for case in PAGES]
)
def test_no_wall(status, headers, body):
    assert challenge_of(status, headers, body) is None
