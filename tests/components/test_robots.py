from __future__ import annotations

import pytest
from engine_crawl import engine_crawl
from loopback import Answer, Arrived, Loopback, loopback

OPEN = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.0/8", "RETRY_TIMES": 1}


def with_robots(status: int, body: bytes = b"", **headers: str) -> Loopback:
    def answer(arrived: Arrived) -> Answer:
        return (
            (status, dict(headers), body) if arrived.target == "/robots.txt" else (200, {}, b"page")
        )

    return loopback(answer)


def test_rules_are_obeyed_by_the_group_for_our_product(tmp_path):
    robots = b"User-agent: *\nDisallow: /\n\nUser-agent: llmsspider\nDisallow: /private/\nAllow: /private/open\n"
    with with_robots(200, robots) as server:
        urls = [server.url(path) for path in ("/a", "/private/b", "/private/open")]
        outcome = engine_crawl(
            tmp_path,
            urls,
            settings={**OPEN, "USER_AGENT": "llmsspider/9 (+https://example.com/somebot)"},
        )
    assert sorted(server.paths) == ["/a", "/private/open", "/robots.txt"]
    refused = outcome.of(server.url("/private/b"))
    assert (refused["kind"], refused["error"]) == ("blocked", "RefusedRequest")
    assert "robots.txt" in refused["message"]
    assert outcome.stats["llms/blocked/robots"] == 1


@pytest.mark.parametrize("status", [404, 403, 401, 410])
def test_without_a_robots_txt_everything_may_be_fetched(tmp_path, status):
    with with_robots(status, b"User-agent: *\nDisallow: /\n") as server:
        outcome = engine_crawl(tmp_path, [server.url("/a")], settings=OPEN)
    assert outcome.of(server.url("/a"))["status"] == 200


@pytest.mark.parametrize(
    ("status", "kind"), [(500, "network"), (503, "network"), (429, "rate_limited")]
)
def test_an_unreachable_robots_txt_keeps_the_crawl_away(tmp_path, status, kind):
    with with_robots(status) as server:
        urls = [server.url("/a"), server.url("/b")]
        outcome = engine_crawl(tmp_path, urls, settings=OPEN)
    assert server.paths == ["/robots.txt"] * 2, "asked, retried, and no page asked"
    assert [outcome.of(url)["kind"] for url in urls] == [kind] * 2
    assert f"answered {status}" in outcome.of(urls[0])["message"]
    assert outcome.stats["llms/blocked/robots-unreachable"] == 2


def test_a_host_that_is_down_is_a_network_error(tmp_path):
    with with_robots(200) as server:
        url = server.url("/a")
    outcome = engine_crawl(tmp_path, [url], settings=OPEN)
    assert outcome.of(url)["kind"] == "network"
    assert "nothing listens at that host and port" in outcome.of(url)["message"]


def test_not_obeyed_where_the_user_says_so(tmp_path):
    with with_robots(200, b"User-agent: *\nDisallow: /\n") as server:
        outcome = engine_crawl(
            tmp_path, [server.url("/a")], settings={**OPEN, "ROBOTSTXT_OBEY": False}
        )
    assert server.paths == ["/a"]
    assert outcome.of(server.url("/a"))["status"] == 200


def test_content_signals(tmp_path):
    robots = b"User-agent: *\nContent-Signal: ai-train=no\nContent-Signal: /closed/ ai-input=no\n"
    with with_robots(200, robots) as server:
        urls = [server.url("/open/a"), server.url("/closed/a")]
        outcome = engine_crawl(tmp_path, urls, settings=OPEN)
        assert server.pages == ["/open/a"]
        assert outcome.of(urls[1])["kind"] == "blocked"
        assert "ai-input=no" in outcome.of(urls[1])["message"]
        assert outcome.of(urls[1])["reason"] == "ai-opt-out"
        assert outcome.stats["llms/reported/no-ai-training"] == 1
        engine_crawl(tmp_path, urls, settings={**OPEN, "LLMS_OBEY_AI_OPTOUT": False})
    assert sorted(server.pages) == ["/closed/a", "/open/a", "/open/a"]
