from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.downloadermiddlewares.host_pace import (
    DEFAULT_RATE,
    FIRST_DELAY_SECS,
    FORBIDDEN_SLOWS,
    MAX_FORBIDDEN,
    MAX_FORBIDDEN_DELAY_SECS,
    MAX_REFUSALS,
    START_DELAY_SECS,
    HostPace,
    paces_freely,
    retry_after_secs,
)
from llmsspider.errors import ArgumentsError
from llmsspider.web.credentials import check_contact, product_token, with_contact

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)

RETRY_AFTER = [
    ("missing", None, None),
    ("empty", "", None),
    ("seconds", "120", 120.0),
    ("white space around", " 2 ", 2.0),
    ("zero", "0", 0.0),
    ("fraction, as some servers send", "1.5", 1.5),
    ("negative is nonsense", "-5", None),
    ("word", "soon", None),
    ("HTTP date", "Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
    ("RFC 850 date", "Saturday, 21-Nov-26 12:01:00 GMT", 60.0),
    ("asctime date", "Sat Nov 21 12:00:10 2026", 10.0),
    ("date in another zone", "Sat, 21 Nov 2026 13:00:30 +0100", 30.0),
    ("date gone by", "Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
    ("impossible date", "Sat, 41 Nov 2026 12:00:30 GMT", None),
    ("digits of another script", "١٢", None),
]


@pytest.mark.parametrize(
    ("value", "secs"), [c[1:] for c in RETRY_AFTER], ids=[c[0] for c in RETRY_AFTER]
)
def test_retry_after(value, secs):
    assert retry_after_secs(value, NOW) == secs


@given(st.text(max_size=40))
def test_any_retry_after_is_read_without_a_crash(text):
    secs = retry_after_secs(text, NOW)
    assert secs is None or secs >= 0


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("llmsspider/0.1.0 (+https://example.com)", "llmsspider"),
        ("My-Bot", "My-Bot"),
        ("Mozilla/5.0 (compatible)", "Mozilla"),
        ("4bot/1", "4bot/1"),
    ],
)
def test_product_token(user_agent, token):
    assert product_token(user_agent) == token


def test_contact():
    assert with_contact("llmsspider/1", None) == "llmsspider/1"
    assert (
        with_contact("llmsspider/1", "https://example.com/bot")
        == "llmsspider/1 (+https://example.com/bot)"
    )


@pytest.mark.parametrize("contact", ["a\nX-Evil: 1", "a)b", " a", "ünï@example.com"])
def test_a_contact_that_would_break_the_header(contact):
    with pytest.raises(ArgumentsError, match="LLMS_CONTACT="):
        check_contact(contact)


def test_waits_double_until_the_host_answers():
    pace = HostPace(max_wait=120)
    now = 100.0
    waits = []
    for _ in range(4):
        wait = pace.record_refusal(now, None)
        waits.append(wait)
        now += wait
    assert waits == [1, 2, 4, 8]
    assert pace.delay == FIRST_DELAY_SECS, "the pauses were too short, not the distance"
    pace.record_answer(now)
    assert pace.record_refusal(now, None) == 1


def test_refusals_that_were_sent_before_the_pause_count_once():
    pace = HostPace(max_wait=120)
    assert pace.record_refusal(10.0, None) == 1
    assert pace.record_refusal(10.1, None) == pytest.approx(1)
    assert (pace.strikes, pace.delay) == (1, 0.25)


def test_an_answer_sent_before_the_pause_does_not_end_it():
    pace = HostPace(max_wait=120)
    pace.record_refusal(10.0, 5)
    pace.record_answer(11.0)
    assert pace.strikes == 1


def test_the_longest_retry_after_holds():
    pace = HostPace(max_wait=120)
    assert pace.record_refusal(10.0, 30) == 30
    assert pace.record_refusal(10.0, 2) == 30


def requests(
    pace: HostPace, latency: float, number: int, refuses=lambda _sent: None
) -> list[tuple[float, int]]:
    """Send so many requests at the pace, without a clock; returns when each left, and its status.

    `refuses` says by the times of the requests that were answered and the present one whether it is refused.
    """
    sent: list[tuple[float, int]] = []
    now = 100.0
    while len(sent) < number and not pace.stopped:
        now = max(now + pace.delay, pace.paused_until)
        status = refuses([at for at, status in sent if status == 200] + [now]) or 200
        sent.append((now, status))
        if status == 429:
            pace.record_refusal(now + latency, None)
        elif status == 403:
            pace.record_forbidden()
        else:
            pace.record_answer(now + latency, latency)
    return sent


def rate(sent: list[tuple[float, int]]) -> float:
    """Requests a second."""
    return (len(sent) - 1) / (sent[-1][0] - sent[0][0])


def gentle() -> HostPace:
    return HostPace(120, floor=1 / DEFAULT_RATE, delay=START_DELAY_SECS, concurrency=2.0)


@pytest.mark.parametrize(
    ("latency", "expected"),
    [(0.01, 5.0), (0.05, 5.0), (0.2, 5.0), (1.0, 2.0), (4.0, 0.5), (60.0, 0.1)],
)
def test_a_host_is_asked_as_fast_as_it_answers_and_never_faster_than_the_bound(latency, expected):
    pace = gentle()
    first = requests(pace, latency, 2)
    assert rate(first) <= 1 / START_DELAY_SECS * 2
    assert rate(requests(pace, latency, 100)[20:]) == pytest.approx(expected, rel=0.02)


def allows(number: int, secs: float):
    """A host that answers so many requests in so many seconds, and 429 to more."""

    def refuses(times: list[float]) -> int | None:
        recent = sum(times[-1] - at < secs for at in times[:-1])
        return 429 if recent >= number else None

    return refuses


@pytest.mark.parametrize(
    ("number", "secs", "most"),
    [(60, 60.0, 8), (10, 10.0, 8), (4, 1.0, 6), (100, 300.0, 10), (1, 5.0, 14)],
    ids=["60 a minute", "10 in 10 s", "4 a second", "100 in 5 minutes", "1 in 5 s"],
)
@pytest.mark.parametrize("start", [gentle, lambda: HostPace(120)], ids=["bounded", "local"])
def test_a_host_that_refuses_is_not_asked_faster_after_each_refusal(number, secs, most, start):
    pace = start()
    sent = requests(pace, 0.02, 457, allows(number, secs))
    assert sum(status == 429 for _, status in sent) <= most
    assert not pace.stopped
    assert rate(sent) >= number / secs / 6, "and it is crawled all the same"


def test_a_refusal_now_and_then_does_not_slow_a_crawl_for_good():
    pace, count = HostPace(120), iter(range(10_000))
    pace.gap = 0.02
    sent = requests(pace, 0.02, 5000, lambda _times: 429 if next(count) % 500 == 250 else None)
    assert pace.delay < 0.1
    assert sent[-1][0] - sent[0][0] < 120


def test_a_host_that_only_refuses_is_left_alone_with_the_reason():
    pace = gentle()
    sent = requests(pace, 0.02, 100, lambda _times: 429)
    assert len(sent) == MAX_REFUSALS
    assert pace.stopped == f"it refused {MAX_REFUSALS} requests in a row (429 or 503)"


def test_a_series_of_403_slows_down_and_stops():
    pace = HostPace(120)
    sent = requests(pace, 0.02, 100, lambda _times: 403)
    assert len(sent) == MAX_FORBIDDEN
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(sent)]
    assert gaps[:FORBIDDEN_SLOWS] == [0.0] * FORBIDDEN_SLOWS
    assert gaps[FORBIDDEN_SLOWS:] == sorted(gaps[FORBIDDEN_SLOWS:])
    assert gaps[-1] == MAX_FORBIDDEN_DELAY_SECS
    assert pace.stopped == f"it answered 403 to {MAX_FORBIDDEN} pages in a row"


def test_pages_that_are_forbidden_among_others_change_nothing():
    pace, count = HostPace(120), iter(range(1000))
    sent = requests(pace, 0.02, 300, lambda _times: 403 if next(count) % 6 else None)
    assert len(sent) == 300
    assert pace.delay == 0.0


def test_what_a_host_asks_for_stays_when_the_bound_is_lifted():
    pace = gentle()
    pace.require_delay(0.1)
    pace.remove_bound()
    assert (pace.floor, pace.delay, pace.concurrency) == (0.1, 0.1, None)


@pytest.mark.parametrize(
    ("host", "address", "free"),
    [
        ("127.0.0.1", None, True),
        ("::1", None, True),
        ("2130706433", None, True),
        ("localhost", None, True),
        ("docs.localhost", None, True),
        ("10.1.2.3", None, True),
        ("8.8.8.8", None, False),
        ("docs.example.com", None, False),
        ("docs.example.com", "93.184.216.34", False),
        ("docs.corp.example", "192.168.1.7", True),
        ("docs.corp.example", "fd00::7", True),
        ("no host", None, False),
    ],
)
def test_hosts_that_have_no_bound(host, address, free):
    assert paces_freely(host, address) is free


def test_waiting_is_bounded_and_a_host_that_wants_more_is_left_alone():
    pace = HostPace(max_wait=60)
    assert pace.record_refusal(0.0, 3600) == 60
    assert pace.closed_for(10.0) == 3590
    assert pace.closed_for(4000.0) == 0


def test_unasked_waits_never_close_a_host():
    pace = HostPace(max_wait=60)
    now = 0.0
    for _ in range(12):
        now += pace.record_refusal(now, None)
    assert pace.closed_for(now) == 0
    assert pace.record_refusal(now, None) == 60


def test_crawl_delay_is_a_floor_and_bounded():
    pace = HostPace(max_wait=60)
    assert pace.require_delay(0.2) == 0.2
    assert pace.require_delay(0.1) == 0.2
    assert pace.require_delay(86400) == 60
    assert pace.delay == 60
