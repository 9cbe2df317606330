from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.web.politeness import (
    content_signals,
    opt_out,
    robots_directives,
)

URL = "https://docs.example.com/guide/intro?x=1"

DIRECTIVES = [
    ("none", [], set()),
    ("one", ["noindex"], {"noindex"}),
    ("several, capitals", ["NoIndex, NOFOLLOW"], {"noindex", "nofollow"}),
    ("two headers", ["noindex", "noai"], {"noindex", "noai"}),
    ("for another crawler", ["otherbot: noai"], set()),
    ("for us", ["llmsspider: noai"], {"noai"}),
    ("for everyone by star", ["*: noai"], {"noai"}),
    ("the name holds up to the next one", ["otherbot: noindex, noai, llmsspider: nofollow"], {"nofollow"}),
    ("headers do not mix", ["otherbot: noindex", "noai"], {"noai"}),
    ("with value", ["max-snippet: 20, noai"], {"max-snippet", "noai"}),
    ("date with colons", ["unavailable_after: 25 Jun 2030 15:00:00 PST"], {"unavailable_after"}),
]


@pytest.mark.parametrize(("values", "expected"), [c[1:] for c in DIRECTIVES], ids=[c[0] for c in DIRECTIVES])
def test_robots_directives(values, expected):
    assert robots_directives(values, "llmsspider") == expected


NO_INPUT = "User-agent: *\nContent-Signal: ai-input=no\n"
OPT_OUTS = [
    ("nothing", {}, set(), None),
    ("header noai", {"x-robots-tag": ["noai"]}, set(), "X-Robots-Tag: noai"),
    ("header noai for another", {"x-robots-tag": ["gptbot: noai"]}, set(), None),
    ("header noindex is no AI opt-out", {"x-robots-tag": ["noindex"]}, set(), None),
    ("header noimageai is about images", {"x-robots-tag": ["noimageai"]}, set(), None),
    ("meta noai", {}, {"noai", "noimageai"}, "meta robots: noai"),
    ("TDM header", {"tdm-reservation": ["1"]}, set(), "TDM-Reservation: 1"),
    ("TDM header 0", {"tdm-reservation": ["0"]}, set(), None),
    ("TDM meta", {}, {"tdm-reservation"}, "meta tdm-reservation: 1"),
    ("signal header", {"content-signal": ["ai-input=no"]}, set(), "Content-Signal: ai-input=no"),
]


@pytest.mark.parametrize(
    ("headers", "meta", "reason"), [c[1:] for c in OPT_OUTS], ids=[c[0] for c in OPT_OUTS]
)
def test_opt_out(headers, meta, reason):
    assert opt_out(headers, frozenset(meta)) == reason


GROUPS = [
    ("everyone", "User-agent: *\nContent-Signal: ai-train=no, search=yes, ai-input=no\nAllow: /", "no"),
    ("spelling", "USER-AGENT:*\ncontent-signal:  AI-Input = NO # comment", "no"),
    ("another crawler's group", "User-agent: other\nContent-Signal: ai-input=no", None),
    ("our group wins", f"User-agent: llmsspider\nContent-Signal: ai-input=yes\n\n{NO_INPUT}", "yes"),
    ("our group says nothing", f"{NO_INPUT}\nUser-agent: llmsspider\nAllow: /", None),
    ("our group with version", "User-agent: LLMSspider/1.0\nContent-Signal: ai-input=no", "no"),
    (
        "shared group",
        "User-agent: a\nUser-agent: llmsspider\nDisallow: /x\nContent-Signal: ai-input=no",
        "no",
    ),
    ("before any group", "Content-Signal: ai-input=no\nUser-agent: *\nAllow: /", "no"),
    (
        "a Sitemap line does not end the agents",
        "User-agent: a\nSitemap: /s\nUser-agent: *\nContent-Signal: ai-input=no",
        "no",
    ),
    ("path that fits", "User-agent: *\nContent-Signal: /guide/ ai-input=no", "no"),
    ("path that does not", "User-agent: *\nContent-Signal: /private/ ai-input=no", None),
    (
        "longest path",
        "User-agent: *\nContent-Signal: /guide/ ai-input=no\nContent-Signal: / ai-input=yes",
        "no",
    ),
    ("path with star", "User-agent: *\nContent-Signal: /*intro ai-input=no", "no"),
    ("path with end", "User-agent: *\nContent-Signal: /guide$ ai-input=no", None),
    ("CRLF", "User-agent: *\r\nContent-Signal: ai-input=no\r\n", "no"),
    ("neither yes nor no", "User-agent: *\nContent-Signal: ai-input=maybe", None),
    ("an HTML page", "<html><p>User-agent: *</p></html>", None),
]


@pytest.mark.parametrize(("robots_txt", "value"), [c[1:] for c in GROUPS], ids=[c[0] for c in GROUPS])
def test_content_signals(robots_txt, value):
    assert content_signals(robots_txt, "llmsspider", URL).get("ai-input") == value


def test_training_is_reported_apart():
    robots_txt = "User-agent: *\nContent-Signal: search=yes,ai-train=no"
    assert content_signals(robots_txt, "llmsspider", URL) == {"search": "yes", "ai-train": "no"}


@given(st.text(max_size=200))
def test_any_robots_txt_is_read_without_a_crash(text):
    assert set(content_signals(text, "llmsspider", URL).values()) <= {"yes", "no"}


@given(st.lists(st.text("noaidex:,*; =llmsspider\t", max_size=30) | st.text(max_size=30), max_size=4))
def test_any_robots_header_is_read_without_a_crash(values):
    directives = robots_directives(values, "llmsspider")
    assert all(name and name == name.strip().lower() for name in directives)


@given(
    st.lists(st.tuples(st.text("/ab*", min_size=1, max_size=6), st.sampled_from(["yes", "no"])), max_size=6),
    st.text("/ab", max_size=10),
)
def test_the_longest_path_that_fits_decides(lines, path):
    robots_txt = "User-agent: *\n" + "".join(
        f"Content-Signal: /{where} ai-input={value}\n" for where, value in lines
    )
    fitting = [
        (len(where), number, value)
        for number, (where, value) in enumerate(lines)
        if fnmatchcase(f"/{path}", f"/{where}*")
    ]
    expected = max(fitting)[2] if fitting else None
    assert content_signals(robots_txt, "llmsspider", f"https://e.com/{path}").get("ai-input") == expected


def test_a_hostile_path_is_judged_at_once():
    robots_txt = "User-agent: *\nContent-Signal: /" + "*a" * 300 + "b ai-input=no"
    assert content_signals(robots_txt, "llmsspider", "https://e.com/" + "a" * 2000) == {}
