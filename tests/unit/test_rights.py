from __future__ import annotations

import json
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.web.foreign import UnreadableError
from llmsspider.web.rights import (
    SiteRights,
    of_llms_txt,
    of_page,
    of_robots,
    of_tdmrep,
    opt_out,
    robots_directives,
    summary,
)

URL = "https://docs.example.com/guide/intro?x=1"
ROBOTS = "https://docs.example.com/robots.txt"


def site_of(*declared) -> SiteRights:
    """A site of whose host these files are."""
    rights = SiteRights()
    for one in declared:
        rights.add("docs.example.com", one)
    return rights


def signals(robots_txt: str, url: str = URL) -> dict[str, bool | None]:
    """What a robots.txt allows, by purpose."""
    rights = SiteRights()
    rights.add(urlsplit(url).netloc, of_robots(robots_txt, "llmsspider", ROBOTS))
    return {one.purpose: one.allowed for one in rights.at(url)}


DIRECTIVES = [
    ("none", [], set()),
    ("one", ["noindex"], {"noindex"}),
    ("several, capitals", ["NoIndex, NOFOLLOW"], {"noindex", "nofollow"}),
    ("two headers", ["noindex", "noai"], {"noindex", "noai"}),
    ("for another crawler", ["otherbot: noai"], set()),
    ("for us", ["llmsspider: noai"], {"noai"}),
    ("for everyone by star", ["*: noai"], {"noai"}),
    (
        "the name holds up to the next one",
        ["otherbot: noindex, noai, llmsspider: nofollow"],
        {"nofollow"},
    ),
    ("headers do not mix", ["otherbot: noindex", "noai"], {"noai"}),
    ("with value", ["max-snippet: 20, noai"], {"max-snippet", "noai"}),
    ("date with colons", ["unavailable_after: 25 Jun 2030 15:00:00 PST"], {"unavailable_after"}),
]


@pytest.mark.parametrize(
    ("values", "expected"), [c[1:] for c in DIRECTIVES], ids=[c[0] for c in DIRECTIVES]
)
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
    (
        "disallow",
        {"content-signal": ["ai-input=disallow"]},
        set(),
        "Content-Signal: ai-input=disallow",
    ),
    ("n", {"content-usage": ["bots=n"]}, set(), "Content-Usage: bots=n"),
    ("AIPREF of all AI", {"content-usage": ["train-ai=n, ai=n"]}, set(), "Content-Usage: ai=n"),
    ("training alone is no opt-out", {"content-usage": ["train-ai=n"]}, set(), None),
    ("allowed", {"content-signal": ["ai-input=allow"]}, set(), None),
]


@pytest.mark.parametrize(
    ("headers", "meta", "reason"), [c[1:] for c in OPT_OUTS], ids=[c[0] for c in OPT_OUTS]
)
def test_opt_out(headers, meta, reason):
    assert opt_out(of_page(headers, frozenset(meta))) == reason


GROUPS = [
    (
        "everyone",
        "User-agent: *\nContent-Signal: ai-train=no, search=yes, ai-input=no\nAllow: /",
        False,
    ),
    ("spelling", "USER-AGENT:*\ncontent-signal:  AI-Input = NO # comment", False),
    ("another crawler's group", "User-agent: other\nContent-Signal: ai-input=no", None),
    ("our group wins", f"User-agent: llmsspider\nContent-Signal: ai-input=yes\n\n{NO_INPUT}", True),
    ("our group says nothing", f"{NO_INPUT}\nUser-agent: llmsspider\nAllow: /", None),
    ("our group with version", "User-agent: LLMSspider/1.0\nContent-Signal: ai-input=no", False),
    (
        "shared group",
        "User-agent: a\nUser-agent: llmsspider\nDisallow: /x\nContent-Signal: ai-input=no",
        False,
    ),
    ("before any group", "Content-Signal: ai-input=no\nUser-agent: *\nAllow: /", False),
    (
        "a Sitemap line does not end the agents",
        "User-agent: a\nSitemap: /s\nUser-agent: *\nContent-Signal: ai-input=no",
        False,
    ),
    ("path that fits", "User-agent: *\nContent-Signal: /guide/ ai-input=no", False),
    ("path that does not", "User-agent: *\nContent-Signal: /private/ ai-input=no", None),
    (
        "longest path",
        "User-agent: *\nContent-Signal: /guide/ ai-input=no\nContent-Signal: / ai-input=yes",
        False,
    ),
    ("path with star", "User-agent: *\nContent-Signal: /*intro ai-input=no", False),
    ("path with end", "User-agent: *\nContent-Signal: /guide$ ai-input=no", None),
    ("CRLF", "User-agent: *\r\nContent-Signal: ai-input=no\r\n", False),
    ("neither yes nor no", "User-agent: *\nContent-Signal: ai-input=maybe", None),
    ("an HTML page", "<html><p>User-agent: *</p></html>", None),
]


@pytest.mark.parametrize(
    ("robots_txt", "value"), [c[1:] for c in GROUPS], ids=[c[0] for c in GROUPS]
)
def test_content_signals(robots_txt, value):
    assert signals(robots_txt).get("ai-input") == value


def test_training_is_reported_apart():
    robots_txt = "User-agent: *\nContent-Signal: search=yes,ai-train=no"
    assert signals(robots_txt) == {"search": True, "ai-train": False}


@given(st.text(max_size=200))
def test_any_robots_txt_is_read_without_a_crash(text):
    assert set(signals(text).values()) <= {True, False, None}


@given(
    st.lists(st.text("noaidex:,*; =llmsspider\t", max_size=30) | st.text(max_size=30), max_size=4)
)
def test_any_robots_header_is_read_without_a_crash(values):
    directives = robots_directives(values, "llmsspider")
    assert all(name and name == name.strip().lower() for name in directives)


@given(
    st.lists(
        st.tuples(st.text("/ab*", min_size=1, max_size=6), st.sampled_from(["yes", "no"])),
        max_size=6,
    ),
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
    expected = max(fitting)[2] == "yes" if fitting else None
    assert signals(robots_txt, f"https://e.com/{path}").get("ai-input") == expected


def test_a_hostile_path_is_judged_at_once():
    robots_txt = "User-agent: *\nContent-Signal: /" + "*a" * 300 + "b ai-input=no"
    assert signals(robots_txt, "https://e.com/" + "a" * 2000) == {}


# Real forms, by the specification they are of: what is read, and whether it leaves the page out.

FORMS = {
    "Content-Signal of a CDN": (
        "User-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /\n",
        {"search": True, "ai-train": False},
    ),
    "Content-Signal with allow and disallow": (
        "User-agent: *\nContent-Signal: ai-input=disallow, ai-train=allow\n",
        {"ai-input": False, "ai-train": True},
    ),
    "Content-Usage": ("User-Agent: *\nAllow: /\nContent-Usage: train-ai=n\n", {"ai-train": False}),
    "Content-Usage for paths": (
        "User-agent: *\nContent-Usage: ai=n\nContent-Usage: /guide/ ai=y train-ai=n\n",
        {"ai": True, "ai-train": False},
    ),
    "two vocabularies, the strictest": (
        "User-agent: *\nContent-Signal: ai-train=yes\nContent-Usage: train-ai=n\n",
        {"ai-train": False},
    ),
    "RSL": ("License: https://docs.example.com/license.xml\nUser-agent: *\nAllow: /\n", {}),
    "RSL, relative": ("User-agent: *\nLicense: /license.xml\n", {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_robots_txt_is_read_as_its_specification_has_it(name):
    text, expected = FORMS[name]
    rights = site_of(of_robots(text, "llmsspider", ROBOTS))
    found = rights.of(URL, [])
    assert {purpose: one["allowed"] for purpose, one in found["signals"].items()} == expected
    assert found["licences"] == (["https://docs.example.com/license.xml"] if "RSL" in name else [])
    assert found["robots"] == "allowed"


TDMREP = """[
  {"location": "/guide/", "tdm-reservation": 1, "tdm-policy": "https://provider.com/policies/policy.json"},
  {"location": "/guide/free/*", "tdm-reservation": 0}, {"location": 7, "tdm-reservation": 1}, "nothing"
]"""


def test_tdmrep_json_and_its_policy():
    host = site_of(of_tdmrep(TDMREP.encode()))
    assert opt_out(host.at(URL)) == "tdmrep.json: tdm-reservation=1 for /guide/"
    assert summary(host.at(URL))["licences"] == ["https://provider.com/policies/policy.json"]
    assert opt_out(host.at("https://docs.example.com/other")) is None
    for other in (b"{}", b"[[]]", b'[{"location": "/x", "tdm-reservation": []}]'):
        assert of_tdmrep(other) == []
    long = json.dumps(
        [{"location": "/" + "a" * 2000, "tdm-reservation": 1}]
        + [{"location": "/b", "tdm-reservation": 0, "tdm-policy": "https://e.com/" + "p" * 2000}]
        * 900
    )
    assert {one.path for one in of_tdmrep(long.encode())} == {"/b"}
    assert len(of_tdmrep(long.encode())) < 200
    for broken in (b"", b"<html>", b"\xff", b"[" * 100_000):
        with pytest.raises(UnreadableError):
            of_tdmrep(broken)


LICENCES = {
    "Link header": (
        {"link": ['<https://e.com/licence>; rel="license", </a>; rel="next"']},
        (),
        ["https://e.com/licence"],
    ),
    "relative Link header": (
        {"link": ["</licence>; rel=license"]},
        (),
        ["https://docs.example.com/licence"],
    ),
    "TDM-Policy": (
        {"tdm-policy": ["https://e.com/policy.json"]},
        (),
        ["https://e.com/policy.json"],
    ),
    "link element": (
        {},
        ["https://creativecommons.org/licenses/by/4.0/"],
        ["https://creativecommons.org/licenses/by/4.0/"],
    ),
    "no address": ({"link": ["<javascript:alert(1)>; rel=license"]}, ["mailto:a@e.com"], []),
    "another relation": ({"link": ["<https://e.com/licence>; rel=next; title=license"]}, (), []),
}


@pytest.mark.parametrize("name", LICENCES)
def test_licences_of_a_page(name):
    headers, named, expected = LICENCES[name]
    found = summary(of_page(headers, licences=named, url=URL))
    assert (found["licences"] if found else []) == expected


def test_the_licence_of_an_llms_txt_is_that_of_what_lies_below_it():
    rights = site_of(
        of_llms_txt(
            "# Docs\n\n> Words.\n\n**License:** https://e.com/by\n",
            "https://docs.example.com/guide/llms.txt",
        )
    )
    assert rights.of(URL, [])["licences"] == ["https://e.com/by"]
    assert rights.of("https://docs.example.com/other", []) is None


def test_of_two_lines_the_strictest_counts_and_says_where():
    declared = of_page(
        {"content-signal": ["ai-train=no"], "content-usage": ["train-ai=y"]}, frozenset({"noai"})
    )
    assert summary(declared) == {
        "licences": [],
        "signals": {
            "ai": {"allowed": False, "said": ["meta robots: noai"]},
            "ai-train": {"allowed": False, "said": ["Content-Signal: ai-train=no"]},
        },
        "robots": None,
    }
    assert summary([]) is None


def test_what_the_store_keeps_is_read_as_it_was():
    rights = site_of(of_robots(FORMS["RSL"][0], "llmsspider", ROBOTS), of_tdmrep(TDMREP.encode()))
    again = SiteRights(json.loads(json.dumps(rights.to_json())))
    assert again.of(URL, []) == rights.of(URL, [])
    assert [one.purpose for one in again.table()] == ["licence", "tdm", "licence", "tdm"]
    assert SiteRights().of(URL, []) is None
