"""The address guard in a running engine. Victims listen on loopback; nothing may arrive there."""

from __future__ import annotations

import re

import pytest
from engine_crawl import engine_crawl
from loopback import Answer, Arrived, Loopback, loopback, page

ALLOWED = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.2"}
"""The attacker's site stands in for the public Internet."""


@pytest.fixture
def victim():
    with loopback(page) as server:
        yield server


def site(answers: dict[str, Answer]) -> Loopback:
    return loopback(lambda arrived: answers.get(arrived.target, (404, {}, b"")), "127.0.0.2")


SPELLINGS = {
    "http://127.0.0.1:PORT/",  # plain
    "HTTP://127.0.0.1:PORT/",  # capitals
    "https://127.0.0.1:PORT/",  # TLS
    "http://127.8.9.10:PORT/",  # another loopback address
    "http://127.1:PORT/",  # short
    "http://127.0.1:PORT/",  # three parts
    "http://2130706433:PORT/",  # decimal
    "http://0x7f000001:PORT/",  # hexadecimal
    "http://0X7F.0.0.1:PORT/",  # hexadecimal part
    "http://0x7f.1:PORT/",  # hexadecimal, short
    "http://017700000001:PORT/",  # octal
    "http://0177.0.0.01:PORT/",  # octal parts
    "http://0000177.0.0.1:PORT/",  # padded octal
    "http://0:PORT/",  # zero
    "http://0.0.0.0:PORT/",  # unspecified
    "http://0x:PORT/",  # empty hexadecimal
    "http://127.0.0.1.:PORT/",  # trailing dot
    "http://[::1]:PORT/",  # IPv6
    "http://[0:0:0:0:0:0:0:1]:PORT/",  # IPv6 written out
    "http://[::]:PORT/",  # IPv6 unspecified
    "http://[::ffff:127.0.0.1]:PORT/",  # IPv4-mapped
    "http://[::ffff:7f00:1]:PORT/",  # IPv4-mapped, hexadecimal
    "http://[::127.0.0.1]:PORT/",  # IPv4-compatible
    "http://[64:ff9b::127.0.0.1]:PORT/",  # NAT64
    "http://[2002:7f00:1::1]:PORT/",  # 6to4
    "http://[fe80::1%25eth0]:PORT/",  # link-local with zone
    "http://[::1%25lo]:PORT/",  # loopback with zone
    "http://localhost:PORT/",  # name
    "http://LOCALHOST.:PORT/",  # name, capitals, trailing dot
    "http://app.localhost:PORT/",  # below localhost
    "http://ｌocalhost:PORT/",  # full-width letter
    "http://１２７.０.０.１:PORT/",  # full-width digits
    "http://①②⑦.⓪.⓪.①:PORT/",  # circled digits
    "http://127。0。0。1:PORT/",  # ideographic full stops
    "http://%31%32%37.0.0.1:PORT/",  # percent-encoded digits
    "http://127%2e0%2e0%2e1:PORT/",  # percent-encoded dots
    "http://127.0.0.1:PORT\\@example.com/",  # backslash
    "http://169.254.169.254/latest/meta-data/",  # cloud metadata
    "http://[fd00:ec2::254]/latest/meta-data/",  # cloud metadata, IPv6
    "http://10.0.0.1/",  # private network
    "http://100.64.0.1/",  # carrier NAT
    "http://224.0.0.1/",  # multicast
    "file:///etc/passwd",  # file
    "data:text/html,hello",  # data
    "ftp://127.0.0.1:PORT/",  # ftp
    "gopher://127.0.0.1:PORT/_INFO",  # another scheme
}
"""Addresses that may not be reached: refused by their text, before any look-up."""

NO_URLS = {
    "http://127.0.0.1..:PORT/",  # two trailing dots
    "http://127.0.0.0.1:PORT/",  # five parts
    "http://127.0.0.256:PORT/",  # part too large
    "http://4294967297:PORT/",  # number that wraps to 0.0.0.1
    "http://example.com@127.0.0.1:PORT/",  # user information
    "http://example.com:80@127.0.0.1:PORT/",  # user and password
    "http://127.0.0.1:PORT%00.example.com/",  # NUL in the port
}


def test_no_spelling_of_a_private_address_reaches_it(tmp_path, victim):
    kinds = dict.fromkeys(SPELLINGS, "blocked") | dict.fromkeys(NO_URLS, "invalid_url")
    expected = {url.replace("PORT", str(victim.port)): kind for url, kind in kinds.items()}
    outcome = engine_crawl(tmp_path, list(expected))
    assert victim.connections == 0
    assert {event["url"]: event["kind"] for event in outcome.events} == expected
    assert outcome.lookups == []
    assert "llms/blocked/address" in outcome.stats
    assert not [name for name in outcome.stats if name.startswith("retry/")]


def test_ipv6_loopback_is_not_reached(tmp_path):
    with loopback(page, "::1") as victim6:
        urls = [
            victim6.url(host="[::1]"),
            victim6.url(host="localhost"),
            victim6.url(host="[0:0::0:1]"),
        ]
        outcome = engine_crawl(tmp_path, urls)
    assert victim6.connections == 0
    assert [event["kind"] for event in outcome.events] == ["blocked"] * 3


NAMES = {
    "loopback4.example": ["127.0.0.1"],
    "loopback6.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "unspecified.example": ["0.0.0.0"],
    "several.example": ["10.0.0.1", "127.0.0.1", "fd00::1"],
}


def test_a_name_that_resolves_to_a_private_address(tmp_path, victim):
    urls = {victim.url("/secret", name): addresses for name, addresses in NAMES.items()}
    outcome = engine_crawl(tmp_path, list(urls), names={name: [ips] for name, ips in NAMES.items()})
    assert victim.connections == 0
    for url, addresses in urls.items():
        event = outcome.of(url)
        assert (event["error"], event["kind"]) == ("RefusedRequest", "blocked")
        assert addresses[0] in event["message"]
    assert "retry/count" not in outcome.stats


@pytest.mark.parametrize("cache", [True, False], ids=["DNS cache", "no DNS cache"])
def test_a_name_that_changes_its_answer_between_two_look_ups(tmp_path, victim, cache):
    with site({"/a": (200, {"Connection": "close"}, b"public")}) as public:
        # one port serves both addresses only by chance, so the victim's is asked for
        urls = [public.url("/a", "rebind.example"), victim.url("/secret", "rebind.example")]
        names = {"rebind.example": [["127.0.0.2"], ["127.0.0.2"], ["127.0.0.1"]]}
        settings = {
            **ALLOWED,
            "DNSCACHE_ENABLED": cache,
            "ROBOTSTXT_OBEY": False,
            "CONCURRENT_REQUESTS": 1,
        }
        outcome = engine_crawl(
            tmp_path, [urls[0], urls[0], *[urls[1]] * 3], settings=settings, names=names
        )
    assert victim.connections == 0
    assert public.paths.count("/a") == 2
    assert {event.get("kind") for event in outcome.events if event["url"] == urls[1]} <= {
        "blocked",
        "network",
    }


def test_of_several_addresses_only_permitted_ones_are_connected_to(tmp_path, victim):
    with site({"/a": (200, {}, b"public")}) as public:
        url = public.url("/a", "mixed.example")
        names = {"mixed.example": [["127.0.0.1", "10.0.0.1", "127.0.0.2"]]}
        outcome = engine_crawl(tmp_path, [url], settings=ALLOWED, names=names)
    assert outcome.of(url)["body"] == "public"
    assert victim.connections == 0


def test_a_redirect_to_loopback(tmp_path, victim):
    answers: dict[str, Answer] = {
        f"/{status}": (status, {"Location": victim.url("/secret")}, b"")
        for status in (301, 302, 303, 307, 308)
    }
    with site(answers) as public:
        urls = [public.url(path) for path in answers]
        outcome = engine_crawl(tmp_path, urls, settings=ALLOWED)
        assert sorted(public.pages) == sorted(answers)
    assert [outcome.of(url)["kind"] for url in urls] == ["blocked"] * 5
    assert victim.connections == 0


def test_other_redirects(tmp_path, victim):
    targets = {
        "/name": f"http://inside.example:{victim.port}/secret",
        "/decimal": f"http://2130706433:{victim.port}/secret",
        "/scheme-relative": f"//127.0.0.1:{victim.port}/secret",
        "/file": "file:///etc/passwd",
    }
    with site(
        {path: (302, {"Location": target}, b"") for path, target in targets.items()}
    ) as public:
        outcome = engine_crawl(
            tmp_path,
            [public.url(path) for path in targets],
            settings=ALLOWED,
            names={"inside.example": [["127.0.0.1"]]},
        )
        kinds = {path: outcome.of(public.url(path))["kind"] for path in targets}
    assert victim.connections == 0
    # Scrapy follows redirects to http and https only, and leaves the answer as it is
    assert kinds == {
        "/name": "blocked",
        "/decimal": "blocked",
        "/scheme-relative": "blocked",
        "/file": "http",
    }


def test_a_meta_refresh_and_a_redirected_robots_txt(tmp_path, victim):
    refresh = f'<meta http-equiv="refresh" content="0; url={victim.url("/secret")}">'.encode()
    answers = {
        "/robots.txt": (302, {"Location": victim.url("/robots.txt")}, b""),
        "/a": (200, {}, refresh),
    }
    with site(answers) as public:
        outcome = engine_crawl(tmp_path, [public.url("/a")], settings=ALLOWED)
    assert victim.connections == 0
    assert public.pages == ["/a"]
    assert outcome.of(public.url("/a"))["kind"] == "blocked"


def test_the_setting_opens_names_networks_and_everything(tmp_path, victim):
    urls = [victim.url("/a"), victim.url("/b", "wiki.example")]
    names = {"wiki.example": [["127.0.0.1"]]}
    for value, reached in [("127.0.0.0/8", 2), ("wiki.example", 1), ("True", 2), ("10.0.0.0/8", 0)]:
        outcome = engine_crawl(
            tmp_path, urls, settings={"LLMS_ALLOW_PRIVATE_ADDRESSES": value}, names=names
        )
        assert (
            sum("status" in event and event["status"] == 200 for event in outcome.events) == reached
        ), value


def proxy_answer(arrived: Arrived) -> Answer:
    return (
        (404, {}, b"") if arrived.target.endswith("/robots.txt") else (200, {}, b"from the proxy")
    )


@pytest.mark.parametrize("by", ["environment", "meta"])
def test_behind_a_proxy_literals_are_refused_and_names_are_the_proxys(tmp_path, victim, by):
    with loopback(proxy_answer, "127.0.0.3") as proxy:
        address = f"http://user:proxypass@proxy.example:{proxy.port}"
        urls = [
            "http://docs.example/a",
            victim.url("/secret"),
            f"http://127.1:{victim.port}/",
            "http://localhost/",
        ]
        outcome = engine_crawl(
            tmp_path,
            [{"url": url, "meta": {"proxy": address}} if by == "meta" else url for url in urls],
            settings={"ROBOTSTXT_OBEY": False},
            names={"proxy.example": [["127.0.0.3"]]},
            environment={"http_proxy": address} if by == "environment" else {},
        )
    assert proxy.paths == ["http://docs.example/a"]
    assert proxy.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwcm94eXBhc3M="
    assert outcome.lookups == ["proxy.example"]
    assert outcome.of(urls[0])["body"] == "from the proxy"
    assert [outcome.of(url)["kind"] for url in urls[1:]] == ["blocked"] * 3
    assert victim.connections == 0
    assert "proxypass" not in outcome.log


def test_the_proxy_itself_is_no_page(tmp_path):
    with loopback(proxy_answer, "127.0.0.3") as proxy:
        address = f"http://proxy.example:{proxy.port}"
        requests = [
            {"url": "http://docs.example/a", "meta": {"proxy": address}, "priority": 1},
            {"url": f"{address}/admin"},
        ]
        outcome = engine_crawl(
            tmp_path,
            requests,
            settings={"ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 1},
            names={"proxy.example": [["127.0.0.3"]]},
        )
    assert proxy.paths == ["http://docs.example/a"]
    assert outcome.of(f"{address}/admin")["kind"] == "blocked"


def test_a_file_url_says_that_the_argument_url_names_folders(tmp_path):
    outcome = engine_crawl(tmp_path, ["file:///etc/passwd"])
    assert "the local folder that the argument url names" in outcome.events[0]["message"]
    assert outcome.stats["llms/blocked/scheme"] == 1


def test_one_warning_for_each_host(tmp_path, victim):
    urls = [victim.url(f"/{number}", "inside.example") for number in range(5)]
    outcome = engine_crawl(
        tmp_path, urls, settings={"LOG_LEVEL": "WARNING"}, names={"inside.example": [["127.0.0.1"]]}
    )
    assert len(re.findall("WARNING: Refused", outcome.log)) == 1
    assert outcome.stats["llms/blocked/address"] >= 5


def test_a_handler_that_resolves_names_itself_is_named_and_still_guarded(tmp_path, victim):
    handler = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
    handlers = {
        "http": handler,
        "https": handler,
        "file": None,
        "data": None,
        "ftp": None,
        "s3": None,
    }
    outcome = engine_crawl(
        tmp_path,
        [victim.url("/a"), f"http://127.1:{victim.port}/"],
        settings={"DOWNLOAD_HANDLERS": handlers},
    )
    assert f"{handler} resolves names by itself" in outcome.log
    assert [event["kind"] for event in outcome.events] == ["blocked"] * 2
    assert victim.connections == 0


def test_https_through_a_proxy_is_a_tunnel_and_looks_up_nothing_else(tmp_path):
    with loopback(lambda _arrived: (403, {}, b"no tunnel"), "127.0.0.3") as proxy:
        environment = {"https_proxy": f"http://proxy.example:{proxy.port}", "no_proxy": "127.0.0.2"}
        with site({"/a": (200, {}, b"direct")}) as direct:
            outcome = engine_crawl(
                tmp_path,
                ["https://docs.example/a", "https://10.0.0.1/a", direct.url("/a")],
                settings={**ALLOWED, "ROBOTSTXT_OBEY": False, "RETRY_TIMES": 0},
                names={"proxy.example": [["127.0.0.3"]]},
                environment=environment,
            )
        assert outcome.of(direct.url("/a"))["body"] == "direct", "no_proxy names no proxy"
    assert [request.method for request in proxy.requests] == ["CONNECT"]
    assert proxy.requests[0].target == "docs.example:443"
    assert "docs.example" not in outcome.lookups
    assert outcome.of("https://docs.example/a")["kind"] == "network"
    assert outcome.of("https://10.0.0.1/a")["kind"] == "blocked"
