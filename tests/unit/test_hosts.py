from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.web.addresses import hostname, registrable_domain, same_site

SAME = {
    "one host": ("https://example.com/a", "https://example.com/b"),
    "subdomain": ("https://docs.example.com/", "https://example.com/"),
    "two subdomains": ("https://docs.example.com/", "https://www.example.com/"),
    "scheme does not count": ("http://example.com/", "https://example.com/"),
    "port does not count": ("https://example.com:8443/", "https://docs.example.com/"),
    "case does not count": ("https://EXAMPLE.com/", "https://example.COM/"),
    "two-level suffix": ("https://docs.example.co.uk/", "https://example.co.uk/"),
    "one tenant of a private suffix": ("https://alice.github.io/a", "https://alice.github.io/b"),
    "localhost": ("http://localhost:8000/", "http://localhost:9000/"),
    "IPv4": ("http://127.0.0.1:8000/", "http://127.0.0.1/"),
    "IPv6": ("http://[::1]:8000/", "http://[::1]/"),
    "international name in both spellings": (
        "https://müller.de/",
        "https://docs.xn--mller-kva.de/",
    ),
    "trailing dot": ("https://example.com./", "https://example.com/"),
    "suffix nobody knows": ("https://docs.example.test/", "https://example.test/"),
    "a public suffix with itself": ("https://github.io/a", "https://github.io/b"),
    "user and password": ("https://user:secret@example.com/", "https://example.com/"),
}
STRANGERS = {
    "other suffix": ("https://docs.example.com/", "https://docs.example.org/"),
    "other name": ("https://example.com/", "https://notexample.com/"),
    "two tenants of a private suffix": ("https://alice.github.io/", "https://bob.github.io/"),
    "two companies under co.uk": ("https://one.co.uk/", "https://two.co.uk/"),
    "name inside another": ("https://example.com.evil.org/", "https://example.com/"),
    "user that looks like a host": ("https://example.com@evil.org/", "https://example.com/"),
    "two IPs with the same end": ("http://10.0.0.1/", "http://11.0.0.1/"),
    "localhost and its address": ("http://localhost/", "http://127.0.0.1/"),
    "subdomain of localhost": ("http://a.localhost/", "http://localhost/"),
    "tenant and host of a private suffix": ("https://alice.github.io/", "https://github.io/"),
    "no URL": ("example.com", "example.com"),
    "empty": ("", ""),
    "broken": ("http://[::1", "http://[::1"),
    "other scheme": ("ftp://example.com/", "ftp://example.com/"),
    "spaces": ("https://exa mple.com/", "https://exa mple.com/"),
}


@pytest.mark.parametrize(("a", "b"), SAME.values(), ids=SAME)
def test_same_site(a: str, b: str) -> None:
    assert same_site(a, b)
    assert same_site(b, a)


@pytest.mark.parametrize(("a", "b"), STRANGERS.values(), ids=STRANGERS)
def test_strangers(a: str, b: str) -> None:
    assert not same_site(a, b)
    assert not same_site(b, a)


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://docs.example.com/", "example.com"),
        ("https://a.b.example.co.uk/", "example.co.uk"),
        ("https://alice.github.io/", "alice.github.io"),
        ("https://com/", None),
        ("http://localhost/", None),
        ("http://192.168.0.1/", None),
        ("http://0x7f.1/", None),
        ("http://[::1]/", None),
        ("nonsense", None),
    ],
)
def test_registrable_domain(url: str, domain: str | None) -> None:
    assert registrable_domain(url) == domain


_LABELS = st.lists(st.sampled_from(["a", "docs", "github", "co", "example"]), max_size=3)
_ENDS = st.sampled_from(
    ["com", "co.uk", "github.io", "test", "example.ck", "kawasaki.jp", "localhost", "10.0.0.1"]
)
_HOSTS = st.builds(lambda labels, end: ".".join([*labels, end]), _LABELS, _ENDS)


@given(_HOSTS, _HOSTS)
def test_one_site_is_one_host_or_one_registrable_domain(a: str, b: str) -> None:
    one, other = f"https://{a}/", f"https://{b}/"
    domain = registrable_domain(one)
    assert same_site(one, other) is (
        a == b or (domain is not None and domain == registrable_domain(other))
    )


@given(st.text())
def test_any_text_is_one_site_with_itself_where_it_has_a_host_and_with_none_else(text: str) -> None:
    for url in (text, f"https://{text}/", f"https://{text}"):
        assert same_site(url, url) is (hostname(url) is not None)
        assert same_site(url, "https://example.com/") is (registrable_domain(url) == "example.com")
