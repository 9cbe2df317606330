"""Bot walls: answers that are a test for the visitor and not the page that was asked for.

Recognised by marks that only the wall itself sends: a header of the service, the script that makes the
visitor prove itself, or the title of a page that says next to nothing else. Words such as "captcha" or "are
you a robot" are never enough, documentation is full of them, and neither is a script that services put into
ordinary pages too (Cloudflare's `jsd/main.js`, Imperva's `SWJIYLWA`, DataDome's `X-DataDome`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HEADER_MARKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "cf-mitigated": ("Cloudflare", ("challenge",)),
    "x-vercel-mitigated": ("Vercel", ("challenge", "deny")),
    "x-amzn-waf-action": ("AWS WAF", ("challenge", "captcha")),
    "x-kpsdk-ct": ("Kasada", ()),
    "x-dd-b": ("DataDome", ()),
}
"""Header name: service, and the values that mean a wall (none: the header alone does)."""

SCRIPT_MARKS: tuple[tuple[str, str], ...] = (
    ("Cloudflare", r"_cf_chl_opt|/cdn-cgi/challenge-platform/\w/\w/orchestrate/|cf-browser-verification"),
    ("Cloudflare", r"<div[^>]+id=[\"']?cf-(?:error-details|wrapper)"),
    ("Akamai", r"/_sec/cp_challenge/|sec-if-cpt-container|[?&]bm-verify=|errors\.edgesuite\.net"),
    ("HUMAN", r"id=[\"']?px-captcha|captcha\.px-c(?:dn|loud)\.net|window\._pxBlock"),
    ("DataDome", r"//(?:geo|ct|interstitial)\.captcha-delivery\.com/"),
    ("Imperva", r"/_Incapsula_Resource\?CWUDNSAI=|Incapsula incident ID|/distil_r_captcha"),
    ("AWS WAF", r"window\.gokuProps|awsWafCookieDomainList"),
    ("Anubis", r"id=[\"']?anubis_(?:challenge|version)|/\.within\.website/x/cmd/anubis/"),
    ("Vercel", r"/\.well-known/vercel/security/"),
    ("Sucuri", r"sucuri_cloudproxy_js|sucuri\.net/privacy-policy"),
    ("Kasada", r"window\.KPSDK"),
    ("Fastly", r"/_fs-ch-\w+/"),
    ("DDoS-Guard", r"/\.well-known/ddos-guard/(?:js-challenge|check)"),
    ("F5", r"window\[[\"']bobcmn[\"']\]"),
    ("Alibaba", r"acw_sc__v2"),
)
"""Service and pattern, looked for in the markup of a page that shows little text."""

TITLES = frozenset(
    {
        "just a moment...",
        "attention required! | cloudflare",
        "please wait... | cloudflare",
        "ddos-guard",
        "making sure you're not a bot!",
        "pardon our interruption",
        "pardon our interruption...",
        "client challenge",
        "vercel security checkpoint",
        "sucuri website firewall - access denied",
        "access denied - sucuri website firewall",
        "robot or human?",
        "human verification",
        "verifying you are human",
        "verify you are human",
        "are you a robot?",
        "checking your browser",
        "checking your browser...",
        "checking your browser before accessing",
        "bot verification",
        "security checkpoint",
        "security check",
    }
)
"""Titles of walls in lower case; they count only on a page that shows little text."""

MAX_WALL_TEXT = 1500
"""Characters of visible text above which a page is a page. The walls looked at show 30 to 700."""

_SCRIPTS = [(name, re.compile(pattern.encode(), re.IGNORECASE)) for name, pattern in SCRIPT_MARKS]
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_UNSEEN_OR_TEXT = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style|svg|template)\b.*?(?:</\1\s*>|\Z)|<[^>]*>|([^<]+)",
    re.IGNORECASE | re.DOTALL,
)


def challenge_of(status: int, headers: Mapping[str, str], body_prefix: bytes = b"") -> str | None:
    """Return the name of the bot wall that an answer is, None for anything else.

    `headers` maps lower-case names to values. `body_prefix` is the start of the decompressed body, 64 KiB
    are plenty. Walls come with any status, 200 among them; `status` only tells answers without body (204,
    304) apart.

    >>> challenge_of(403, {"cf-mitigated": "challenge"})
    'Cloudflare'
    >>> challenge_of(200, {}, b"<html><title>Captchas</title><p>How to add a captcha</p></html>") is None
    True
    """
    for header, (name, values) in HEADER_MARKS.items():
        value = headers.get(header, "").strip().lower()
        if value and (not values or value in values):
            return name
    if status in {204, 304} or not _is_html(body_prefix):
        return None
    if _shows_more_than(MAX_WALL_TEXT, body_prefix):
        return None
    named = next((name for name, pattern in _SCRIPTS if pattern.search(body_prefix)), None)
    return named or ("unnamed" if _title(body_prefix) in TITLES else None)


def _is_html(body: bytes) -> bool:
    return body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def _shows_more_than(limit: int, body: bytes) -> bool:
    """Tell whether a page has more bytes of visible text, white space collapsed; reads no further than that."""
    seen = 0
    for piece in _UNSEEN_OR_TEXT.finditer(body):
        words = (piece[2] or b"").split()
        if words:
            seen += sum(map(len, words)) + len(words)
            if seen > limit:
                return True
    return False


def _title(body: bytes) -> str:
    match = _TITLE.search(body)
    text = match.group(1).decode("utf-8", "replace") if match else ""
    return " ".join(text.replace("&#39;", "'").replace("&#x27;", "'").replace("’", "'").split()).lower()
