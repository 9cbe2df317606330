from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.errors import ArgumentsError
from llmsspider.web.addresses import AllowedAddresses, is_global, parse_host

ADDRESSES = [
    ("public IPv4", "8.8.8.8", True),
    ("public IPv6", "2606:4700:4700::1111", True),
    ("mapped public", "::ffff:8.8.8.8", True),
    ("NAT64 of a public address", "64:ff9b::808:808", True),
    ("loopback", "127.0.0.1", False),
    ("all of 127/8", "127.255.255.254", False),
    ("unspecified", "0.0.0.0", False),
    ("this network", "0.1.2.3", False),
    ("RFC 1918, 10/8", "10.0.0.1", False),
    ("RFC 1918, 172.16/12", "172.31.255.255", False),
    ("just after 172.16/12", "172.32.0.1", True),
    ("RFC 1918, 192.168/16", "192.168.1.1", False),
    ("carrier NAT", "100.64.0.1", False),
    ("link-local, cloud metadata", "169.254.169.254", False),
    ("protocol assignments", "192.0.0.8", False),
    ("documentation", "203.0.113.7", False),
    ("benchmarking", "198.19.0.1", False),
    ("multicast", "224.0.0.251", False),
    ("reserved", "240.0.0.1", False),
    ("broadcast", "255.255.255.255", False),
    ("loopback IPv6", "::1", False),
    ("unspecified IPv6", "::", False),
    ("mapped loopback", "::ffff:127.0.0.1", False),
    ("mapped loopback, hex", "::ffff:7f00:1", False),
    ("compatible loopback", "::127.0.0.1", False),
    ("translated loopback", "::ffff:0:127.0.0.1", False),
    ("NAT64 of a private address", "64:ff9b::10.0.0.1", False),
    ("local NAT64", "64:ff9b:1::808:808", False),
    ("6to4 of loopback", "2002:7f00:1::", False),
    ("Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
    ("ISATAP of a private address", "2606:4700::5efe:10.0.0.1", False),
    ("unique local", "fd00:ec2::254", False),
    ("link-local IPv6", "fe80::1", False),
    ("site-local IPv6", "fec0::1", False),
    ("multicast IPv6", "ff02::1", False),
    ("documentation IPv6", "2001:db8::1", False),
    ("newer documentation IPv6", "3fff::1", False),
    ("discard", "100::1", False),
    ("segment routing", "5f00::1", False),
]


@pytest.mark.parametrize(
    ("address", "expected"), [case[1:] for case in ADDRESSES], ids=[c[0] for c in ADDRESSES]
)
def test_is_global(address, expected):
    assert is_global(address) is expected


@given(st.ip_addresses(v=4))
def test_nothing_is_global_that_python_calls_private(address):
    if is_global(address):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_mapped_and_nat64_are_judged_by_the_address_inside(address):
    assert is_global(ipaddress.IPv6Address(f"::ffff:{address}")) is is_global(address)
    assert is_global(ipaddress.IPv6Address(f"64:ff9b::{address}")) is is_global(address)


LOOPBACK_SPELLINGS = [
    ("plain", "http://127.0.0.1/"),
    ("with port and path", "http://127.0.0.1:8080/a?b#c"),
    ("https", "https://127.0.0.1/"),
    ("scheme in capitals", "HTTP://127.0.0.1/"),
    ("other loopback address", "http://127.8.9.10/"),
    ("short", "http://127.1/"),
    ("three parts", "http://127.0.1/"),
    ("decimal", "http://2130706433/"),
    ("hexadecimal", "http://0x7f000001/"),
    ("hexadecimal capitals", "http://0X7F000001/"),
    ("hexadecimal parts", "http://0x7f.0x0.0x0.0x1/"),
    ("octal", "http://017700000001/"),
    ("octal parts", "http://0177.0.0.01/"),
    ("padded octal", "http://0000177.0.0.1/"),
    ("mixed bases", "http://0x7f.1/"),
    ("zero", "http://0/"),
    ("unspecified", "http://0.0.0.0/"),
    ("empty hexadecimal", "http://0x/"),
    ("trailing dot", "http://127.0.0.1./"),
    ("IPv6", "http://[::1]/"),
    ("IPv6 written out", "http://[0:0:0:0:0:0:0:1]/"),
    ("IPv6 unspecified", "http://[::]/"),
    ("IPv6 zone", "http://[fe80::1%25eth0]/"),
    ("v4-mapped", "http://[::ffff:127.0.0.1]/"),
    ("v4-mapped hexadecimal", "http://[::ffff:7f00:1]/"),
    ("NAT64", "http://[64:ff9b::127.0.0.1]/"),
    ("6to4", "http://[2002:7f00:1::]/"),
    ("user information", "http://example.com@127.0.0.1/"),
    ("user and password", "http://example.com:80@127.0.0.1/"),
    ("full-width digits", "http://１２７.０.０.１/"),
    ("circled digits", "http://①②⑦.⓪.⓪.①/"),
    ("ideographic full stops", "http://127。0。0。1/"),
    ("percent-encoded", "http://%31%32%37.0.0.1/"),
    ("percent-encoded dots", "http://127%2e0%2e0%2e1/"),
    ("localhost", "http://localhost/"),
    ("localhost capitals", "http://LocalHost:80/"),
    ("localhost trailing dot", "http://localhost./"),
    ("localhost full width", "http://ｌocalhost/"),
    ("below localhost", "http://app.localhost/"),
]
OTHER_REFUSED = [
    ("private", "http://10.0.0.1/"),
    ("cloud metadata", "http://169.254.169.254/latest/meta-data/"),
    ("cloud metadata decimal", "http://2852039166/"),
    ("carrier NAT", "http://100.100.100.200/"),
    ("multicast", "http://224.0.0.1/"),
    ("file", "file:///etc/passwd"),
    ("ftp", "ftp://example.com/"),
    ("data", "data:text/plain,hi"),
    ("s3", "s3://bucket/key"),
    ("javascript", "javascript:alert(1)"),
    ("gopher", "gopher://127.0.0.1:6379/_INFO"),
    ("user and password of a public host", "https://user:secret@docs.example.com/"),
    ("no scheme", "//127.0.0.1/"),
    ("no host", "http:///etc/passwd"),
    ("backslash before the host ends", "http://127.0.0.1\\@example.com/"),
    ("white space in the host", "http://127.0.0.1 .example.com/"),
    ("NUL in the host", "http://127.0.0.1\x00.example.com/"),
    ("two trailing dots", "http://127.0.0.1../"),
    ("empty label", "http://docs..example.com/"),
    ("label too long", f"http://{'a' * 64}.example.com/"),
    ("five parts", "http://127.0.0.0.1/"),
    ("part too large", "http://127.0.0.256/"),
    ("number too large", "http://4294967296/"),
    ("not octal", "http://0189.0.0.1/"),
    ("broken IPv6", "http://[::1/"),
    ("port out of range", "http://example.com:99999/"),
]
REFUSED = LOOPBACK_SPELLINGS + OTHER_REFUSED


@pytest.mark.parametrize("url", [case[1] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refused(url):
    assert AllowedAddresses().refusal(url)


ACCEPTED = [
    ("name", "https://docs.example.com/a"),
    ("digits in a name", "https://127.0.0.1.example.com/"),
    ("digits first", "https://0x7f.dev/"),
    ("underscore", "https://my_docs.example.com/"),
    ("IDNA", "https://bücher.example/"),
    ("punycode", "https://xn--bcher-kva.example/"),
    ("emoji", "https://☃.example/"),
    ("single label", "https://intranet/"),
    ("public address", "https://8.8.8.8/"),
    ("public IPv6", "https://[2606:4700:4700::1111]/"),
    ("an address in path and query", "https://example.com/127.0.0.1?u=http://localhost/"),
    ("localhost inside a name", "https://localhost.example.com/"),
]


@pytest.mark.parametrize("url", [case[1] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_accepted(url):
    assert AllowedAddresses().refusal(url) is None


def test_a_refused_password_is_not_repeated():
    assert "secret" not in AllowedAddresses().refusal("https://user:secret@docs.example.com/")


def test_a_file_url_is_told_that_the_argument_url_names_folders():
    message = AllowedAddresses().refusal("file:///home/me/site/index.html")
    assert (
        message
        == "only http and https are fetched, and the local folder that the argument url names"
    )


SETTINGS = [
    ("False", False, "http://127.0.0.1/", False),
    ("nothing", None, "http://127.0.0.1/", False),
    ("empty text", "", "http://127.0.0.1/", False),
    ("text False", "False", "http://127.0.0.1/", False),
    ("True", True, "http://127.0.0.1/", True),
    ("text True", "True", "http://10.0.0.1/", True),
    ("True opens no scheme", True, "file:///etc/passwd", False),
    ("address", "127.0.0.1", "http://127.0.0.1:8000/", True),
    ("address, short spelling asked", "127.0.0.1", "http://127.1/", True),
    ("address, mapped spelling asked", "127.0.0.1", "http://[::ffff:127.0.0.1]/", True),
    ("address, its name asked", "127.0.0.1", "http://localhost/", True),
    ("another address", "127.0.0.2", "http://127.0.0.1/", False),
    ("network", "10.0.0.0/8", "http://10.200.1.1/", True),
    ("outside the network", "10.0.0.0/8", "http://11.0.0.1/", True),
    ("another private network", "10.0.0.0/8", "http://192.168.0.1/", False),
    ("network with host bits", "10.1.2.3/8", "http://10.9.9.9/", True),
    ("IPv6 network", "fd00::/8", "http://[fd12::1]/", True),
    ("IPv6 address in brackets", "[::1]", "http://[::1]/", True),
    ("name", "localhost", "http://localhost:8000/", True),
    ("a name is not its address", "localhost", "http://127.0.0.1/", False),
    ("list", ["10.0.0.0/8", "localhost"], "http://localhost/", True),
    ("commas", "10.0.0.0/8, 127.0.0.1", "http://127.0.0.1/", True),
    ("port", "127.0.0.1:8000", "http://127.0.0.1:8000/", True),
    ("another port", "127.0.0.1:8000", "http://127.0.0.1:8001/", False),
    ("port of another scheme", "127.0.0.1:443", "http://127.0.0.1/", False),
    ("default port", "127.0.0.1:443", "https://127.0.0.1/", True),
    ("port of a name", "localhost:8000", "http://localhost:8000/", True),
    ("another port of a name", "localhost:8000", "http://localhost/", False),
    ("port of a network", "10.0.0.0/8:80", "http://10.1.2.3/", True),
    ("another port of a network", "10.0.0.0/8:80", "http://10.1.2.3:22/", False),
    ("port of IPv6", "[::1]:8000", "http://[::1]:8000/", True),
    ("another port of IPv6", "[::1]:8000", "http://[::1]/", False),
]


@pytest.mark.parametrize(
    ("value", "url", "allowed"), [case[1:] for case in SETTINGS], ids=[case[0] for case in SETTINGS]
)
def test_setting(value, url, allowed):
    assert (AllowedAddresses.from_setting(value).refusal(url) is None) is allowed


@pytest.mark.parametrize(
    "value",
    ["10.0.0.0/99", "a b", "127.0.0.1:0", "127.0.0.1:99999", "10.0.0.0/99:80", "http://localhost"],
)
def test_a_wrong_setting_says_so(value):
    with pytest.raises(ArgumentsError) as raised:
        AllowedAddresses.from_setting(value)
    (problem,) = raised.value.problems
    assert problem.startswith(f"LLMS_ALLOW_PRIVATE_ADDRESSES={value}: expected")


def test_every_wrong_entry_is_named():
    with pytest.raises(ArgumentsError) as raised:
        AllowedAddresses.from_setting("a b,10.0.0.0/8,c d")
    assert len(raised.value.problems) == 2


def test_a_listed_name_may_resolve_to_anything_and_only_that_name():
    allowed = AllowedAddresses.from_setting("Wiki.Corp.")
    assert allowed.permits("10.0.0.1", "wiki.corp")
    assert not allowed.permits("10.0.0.1", "other.corp")


@given(st.ip_addresses(v=4), st.sampled_from(["{}", "{:#x}", "0{:o}"]))
def test_every_base_reads_as_the_same_address(address, form):
    assert parse_host(form.format(int(address))) == address


@given(st.text(max_size=40))
def test_any_host_text_is_judged_without_a_crash(text):
    refusal = AllowedAddresses().refusal(f"http://{text}/")
    assert refusal != "", "a reason in words, or None"
