from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.web.page_forms import HeaderLink, header_links
from llmsspider.web.urls import InvalidUrl, parse

BASE = "https://example.com/docs/page"


def link(url: str | InvalidUrl, *rel: str, type_: str | None = None) -> HeaderLink:
    return HeaderLink(url, frozenset(rel), type_)


HEADERS = {
    "quoted": (
        '</llms.txt>; rel="describedby"',
        [link("https://example.com/llms.txt", "describedby")],
    ),
    "bare type": (
        "<page.md>; rel=alternate; type=text/markdown",
        [link("https://example.com/docs/page.md", "alternate", type_="text/markdown")],
    ),
    "type with parameters": (
        '<page.md>; rel=alternate; type="Text/Markdown; charset=utf-8"',
        [link("https://example.com/docs/page.md", "alternate", type_="text/markdown")],
    ),
    "several links": (
        '</a>; rel=next, </b>; rel="prev"',
        [link("https://example.com/a", "next"), link("https://example.com/b", "prev")],
    ),
    "comma and semicolon inside": (
        '</a,b;c>; title="x, <y>; rel=z"; rel=next',
        [link("https://example.com/a,b;c", "next")],
    ),
    "junk between": ("nonsense, </a>; rel=next", [link("https://example.com/a", "next")]),
    "about another page": ('</a>; rel=describedby; anchor="/other"', []),
    "no relation": ("</a>", [link("https://example.com/a")]),
    "cut off": ("</a", []),
    "broken target": (
        "<http://[::1>; rel=next",
        [link(InvalidUrl("http://[::1", "its host cannot be read"), "next")],
    ),
    "empty": ("", []),
    "space everywhere": (
        " < /a > ; rel = next ; type = text/markdown ,",
        [link("https://example.com/a", "next", type_="text/markdown")],
    ),
    "the first of two": (
        "</a>; rel=next; rel=prev; REL=up",
        [link("https://example.com/a", "next")],
    ),
    "several relations": ('</a>; rel="next  up"', [link("https://example.com/a", "next", "up")]),
    "escapes in a string": (
        r'</a>; title="\"</x>\\"; rel=next',
        [link("https://example.com/a", "next")],
    ),
    "a string without end": (
        '</a>; rel=next; title="b, </c>; rel=prev',
        [link("https://example.com/a", "next")],
    ),
    "parameters without value": (
        "</a>; crossorigin;; rel=next",
        [link("https://example.com/a", "next")],
    ),
    "junk behind a target": (
        "</a> b </c>; rel=next",
        [link("https://example.com/a"), link("https://example.com/c", "next")],
    ),
    "extended values are others": (
        "</a>; rel=next; title*=UTF-8''b%2C%20%3Cc%3E, </d>",
        [link("https://example.com/a", "next"), link("https://example.com/d")],
    ),
    "no commas": ("</a></b>", [link("https://example.com/a"), link("https://example.com/b")]),
}


@pytest.mark.parametrize(("header", "links"), HEADERS.values(), ids=HEADERS)
def test_parse(header: str, links: list[HeaderLink]) -> None:
    assert header_links(header, BASE) == links


def test_relations_are_words_in_lower_case() -> None:
    (found,) = header_links('</a>; rel="Next DescribedBy"', BASE)
    assert found.rel == {"next", "describedby"}


@given(st.text() | st.text('<>;=", arel\\'))
def test_any_header_has_no_more_links_than_brackets(header: str) -> None:
    assert len(header_links(header, BASE)) <= header.count("<")


def test_long_headers_end() -> None:
    assert header_links("</a>; rel=x, " * 50_000, BASE)


_tokens = st.text("abcdefgh-", min_size=1, max_size=8).filter(lambda text: text.strip("-") == text)
_targets = st.text("abc/.-_~,;=%20", max_size=12).map(lambda text: f"/{text}")


@given(
    st.lists(
        st.tuples(_targets, st.lists(_tokens, min_size=1, max_size=3), st.booleans()), max_size=6
    )
)
def test_written_links_are_read_back(written: list[tuple[str, list[str], bool]]) -> None:
    header = ", ".join(
        f'<{target}>; title="a, b; <c>"; rel="{" ".join(rel)}"'
        + ("; type=text/markdown" if typed else "")
        for target, rel, typed in written
    )
    assert header_links(header, BASE) == [
        link(parse(target, BASE) or "", *rel, type_="text/markdown" if typed else None)
        for target, rel, typed in written
    ]
