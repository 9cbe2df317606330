"""Which URLs are one page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.errors import InvalidUrlError
from llmsspider.web.urls import (
    directory,
    document_id,
    host,
    identity,
    loose_key,
    page_key,
    require_http_url,
    without_fragment,
)

SAME = {
    "fragment": ("https://e.com/a#b", "https://e.com/a"),
    "default port": ("https://e.com:443/a", "https://e.com/a"),
    "case of scheme and host": ("HTTPS://E.Com/a", "https://e.com/a"),
    "tracking": ("https://e.com/a?utm_source=x&gclid=1", "https://e.com/a"),
    "tracking beside others": ("https://e.com/a?x=1&utm_medium=y", "https://e.com/a?x=1"),
    "index.html": ("https://e.com/d/index.html", "https://e.com/d/"),
    "index.md": ("https://e.com/d/index.md", "https://e.com/d/"),
    "index.html.md": ("https://e.com/d/index.html.md", "https://e.com/d/"),
    "no path": ("https://e.com", "https://e.com/"),
    "dot segments": ("https://e.com/a/../b/./c", "https://e.com/b/c"),
    "encoded letter": ("https://e.com/%7Euser", "https://e.com/~user"),
    "order of parameters": ("https://e.com/a?b=2&a=1", "https://e.com/a?a=1&b=2"),
    "hidden dot segment": ("https://e.com/./a", "https://e.com/a"),
}
DIFFERENT = {
    "extension": ("https://e.com/page", "https://e.com/page.html"),
    "trailing slash": ("https://e.com/page", "https://e.com/page/"),
    "case of path": ("https://e.com/Page", "https://e.com/page"),
    "parameter": ("https://e.com/a?ref=1", "https://e.com/a?ref=2"),
    "port": ("https://e.com:8443/a", "https://e.com/a"),
    "scheme": ("http://e.com/a", "https://e.com/a"),
    "encoded slash": ("https://e.com/a%2Fb", "https://e.com/a/b"),
    "name that ends like an index": ("https://e.com/my-index.html", "https://e.com/"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_the_same_page(one, other):
    assert identity(one) == identity(other)
    assert page_key(one) == page_key(other)
    assert document_id("s", one) == document_id("s", other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_pages_are_never_merged(one, other):
    assert identity(one) != identity(other)


segments = st.lists(st.text("abcXYZ0-_.~%2Fü ", min_size=0, max_size=6), max_size=5).map("/".join)
queries = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=3), st.text("xyz%&=+ ", max_size=4)), max_size=4
)


@given(path=segments, query=queries)
def test_identity_is_idempotent(path, query):
    url = f"https://Docs.Example.com/{path}" + (
        "?" + "&".join(f"{k}={v}" for k, v in query) if query else ""
    )
    assert identity(identity(url)) == identity(url)


@given(
    pairs=st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=3), st.text("xyz", max_size=3)), max_size=5
    ),
    data=st.data(),
)
def test_identity_does_not_depend_on_the_order_of_parameters(pairs, data):
    shuffled = data.draw(st.permutations(pairs))
    first, second = (
        "https://e.com/a?" + "&".join(f"{k}={v}" for k, v in order) for order in (pairs, shuffled)
    )
    assert identity(first) == identity(second)


def test_loose_spellings_have_one_key():
    spellings = ["a/b", "a/b/", "a/b.html", "a/b.htm", "a/b/index.html", "a/b.md", "a/b.html.md"]
    assert len({loose_key(f"https://e.com/{path}") for path in spellings}) == 1
    assert loose_key("https://e.com/a/b") != loose_key("https://e.com/a/c")
    assert loose_key("https://e.com/a?x=1") != loose_key("https://e.com/a?x=2")


@pytest.mark.parametrize(
    "text",
    [
        "invalid-url",
        "",
        "//e.com/",
        "http://",
        "ftp://e.com/",
        "http://[::1",
        "http://e.com:99999/",
        "https://e .com/",
    ],
)
def test_what_is_no_http_url_is_refused_with_a_line(text):
    with pytest.raises(InvalidUrlError, match="invalid_url"):
        require_http_url(text)


def test_parts_of_a_url():
    assert host("http://E.com:80/") == "e.com"
    assert host("http://127.0.0.1:8000/") == "127.0.0.1:8000"
    assert host("http://e.com:bad/") == ""
    assert directory("https://e.com/docs/intro?x=/y") == "/docs/"


@given(st.text(max_size=60) | st.text("ab%2Ff./;?=&#+:@[]~é ", max_size=40))
def test_identity_of_any_url_is_its_own_identity(text):
    url = f"https://e.com/{text}"
    found = identity(url)
    assert identity(found) == found
    assert identity(f"{without_fragment(url)}#part") == found


@given(segments, st.sampled_from(["", "index.html", "index.md", "index.html.md"]))
def test_spellings_that_are_the_same_by_definition_have_one_identity(path, index):
    folder = f"/{path.strip('/')}/"
    page = identity(f"https://e.com{folder}")
    mark = "&" if "?" in folder else "?"
    for url in (
        f"HTTPS://E.com:443{folder}{index}",
        f"https://e.com{folder}{mark}utm_source=x&gclid=1#y",
    ):
        assert identity(url) == page
