"""Which host received which secret."""

from __future__ import annotations

import json

from engine_crawl import engine_crawl
from loopback import Answer, Arrived, loopback
from scrapy import Request

from llmsspider.downloadermiddlewares.host_auth import HostAuthMiddleware
from llmsspider.web.credentials import Credentials

OPEN = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.0/8", "LOG_LEVEL": "DEBUG"}
SECRETS = ("s3cr3t-token", "c00kie-value", "pa55word", "dXNlcjpwYTU1d29yZA==")


def test_secrets_reach_their_host_and_no_other(tmp_path):
    def stranger_answer(arrived: Arrived) -> Answer:
        return 200, {}, b"stranger"

    with (
        loopback(stranger_answer, "127.0.0.2") as stranger,
        loopback(stranger_answer) as other_port,
    ):

        def private(arrived: Arrived) -> Answer:
            if arrived.headers.get("authorization") != "Bearer s3cr3t-token":
                return (404 if arrived.target == "/robots.txt" else 401), {}, b""
            answers: dict[str, Answer] = {
                "/page": (200, {"Set-Cookie": "own=session"}, b"private page s3cr3t-token"),
                "/moved": (302, {"Location": "/page?echo=s3cr3t-token"}, b""),
                "/away": (302, {"Location": stranger.url("/caught")}, b""),
                "/port": (307, {"Location": other_port.url("/caught")}, b""),
            }
            return answers.get(arrived.target.partition("?")[0], (404, {}, b""))

        def basic(arrived: Arrived) -> Answer:
            given = arrived.headers.get("authorization")
            return (200, {}, b"basic") if given == "Basic dXNlcjpwYTU1d29yZA==" else (401, {}, b"")

        with loopback(private, "127.0.0.3") as site, loopback(basic, "127.0.0.4") as basic_site:
            headers = {
                "Authorization": "Bearer s3cr3t-token",
                "Cookie": "sid=c00kie-value",
                "X-Key": "s3cr3t-token",
            }
            auth = {site.url(""): headers, basic_site.url(""): "user:pa55word"}
            paths = ("/page", "/moved", "/away", "/port")
            outcome = engine_crawl(
                tmp_path,
                [
                    *(site.url(path) for path in paths),
                    basic_site.url("/a"),
                    stranger.url("/direct"),
                ],
                settings={**OPEN, "LLMS_HTTP_AUTH": auth, "COOKIES_DEBUG": True},
            )
    assert [outcome.of(site.url(path))["status"] for path in paths] == [200] * 4
    assert outcome.of(basic_site.url("/a"))["status"] == 200
    for request in site.requests:
        assert request.headers["authorization"] == "Bearer s3cr3t-token"
        assert "sid=c00kie-value" in request.headers["cookie"]
        assert request.headers["x-key"] == "s3cr3t-token"
    assert sorted(stranger.pages) == ["/caught", "/direct"]
    assert other_port.pages == ["/caught"]
    for request in stranger.requests + other_port.requests:
        assert not {"authorization", "cookie", "x-key"} & set(request.headers)
    assert not [secret for secret in SECRETS if secret in outcome.log]
    assert not [secret for secret in SECRETS if secret in json.dumps(outcome.stats)]
    assert "[redacted]" in outcome.log


def test_the_environment_variable_and_https_only(tmp_path):
    def answer(arrived: Arrived) -> Answer:
        return 200, {}, b"page"

    with loopback(answer) as named, loopback(answer, "127.0.0.2") as not_named:
        auth = {
            named.url(""): {"X-Token": "s3cr3t-token"},
            f"127.0.0.2:{not_named.port}": {"X-Token": "s3cr3t-token"},
        }
        engine_crawl(
            tmp_path,
            [named.url("/a"), not_named.url("/a")],
            settings=OPEN,
            environment={"LLMS_HTTP_AUTH": json.dumps(auth)},
        )
    assert {request.headers.get("x-token") for request in named.requests} == {"s3cr3t-token"}
    assert {request.headers.get("x-token") for request in not_named.requests} == {None}


def test_without_cookies_middleware_the_cookie_is_sent_once(tmp_path):
    def answer(arrived: Arrived) -> Answer:
        return (302, {"Location": "/b"}, b"") if arrived.target == "/a" else (200, {}, b"page")

    with loopback(answer) as site:
        auth = {site.url(""): {"Cookie": "sid=c00kie-value"}}
        engine_crawl(
            tmp_path,
            [site.url("/a")],
            settings={**OPEN, "LLMS_HTTP_AUTH": auth, "COOKIES_ENABLED": False},
        )
    assert [request.headers.get("cookie") for request in site.requests] == ["sid=c00kie-value"] * 3


def test_a_secret_that_is_withheld_over_plain_http_is_said_once(caplog):
    middleware = HostAuthMiddleware(Credentials.from_setting({"docs.example.com": "user:pa55word"}))
    requests = [Request(f"http://docs.example.com/{name}") for name in "ab"]
    for request in (
        *requests,
        Request("https://docs.example.com/"),
        Request("http://other.example.com/"),
    ):
        middleware.process_request(request)
    assert [request.headers.get("Authorization") for request in requests] == [None, None]
    (said,) = caplog.messages
    assert "nothing is sent to http://docs.example.com" in said
    assert "pa55word" not in said


def test_a_request_that_is_sent_again_keeps_the_cookies_of_the_site():
    auth = HostAuthMiddleware(
        Credentials({("https", "example.com", 443): {"Cookie": "sid=secret"}})
    )
    request = Request("https://example.com/", headers={"Cookie": "seen=1"})
    for _ in range(2):
        auth.process_request(request)
        assert request.headers["Cookie"] == b"seen=1; sid=secret"
