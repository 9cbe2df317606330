from __future__ import annotations

from engine_crawl import engine_crawl
from loopback import Answer, Arrived, loopback

OPEN = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1"}
HEADERS = {
    "/noai": {"X-Robots-Tag": "noindex, noai"},
    "/tdm": {"TDM-Reservation": "1"},
    "/signal": {"Content-Signal": "search=yes, ai-input=no"},
    "/for-others": {"X-Robots-Tag": "otherbot: noai"},
    "/noindex": {"X-Robots-Tag": "noindex"},
}


def answer(arrived: Arrived) -> Answer:
    return (
        (404, {"X-Robots-Tag": "noai"}, b"")
        if arrived.target == "/robots.txt"
        else (200, HEADERS[arrived.target], b"")
    )


def test_answers_that_opt_out_are_refused_and_counted(tmp_path):
    with loopback(answer) as server:
        urls = {path: server.url(path) for path in HEADERS}
        outcome = engine_crawl(tmp_path, list(urls.values()), settings=OPEN)
    kinds = {path: outcome.of(url).get("kind") for path, url in urls.items()}
    assert kinds == {
        "/noai": "blocked",
        "/tdm": "blocked",
        "/signal": "blocked",
        "/for-others": None,
        "/noindex": None,
    }
    assert "X-Robots-Tag: noai (LLMS_OBEY_AI_OPTOUT)" in outcome.of(urls["/noai"])["message"]
    assert {event["reason"] for event in outcome.events if event.get("kind")} == {"ai-opt-out"}


def test_not_obeyed_where_the_user_says_so(tmp_path):
    with loopback(answer) as server:
        urls = [server.url(path) for path in HEADERS]
        outcome = engine_crawl(tmp_path, urls, settings={**OPEN, "LLMS_OBEY_AI_OPTOUT": False})
    assert [outcome.of(url)["status"] for url in urls] == [200] * 5
