from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.politeness import HostPace, product_token, retry_after_secs, with_contact

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


@pytest.mark.parametrize(("value", "secs"), [c[1:] for c in RETRY_AFTER], ids=[c[0] for c in RETRY_AFTER])
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
        with_contact("llmsspider/1", "https://example.com/bot") == "llmsspider/1 (+https://example.com/bot)"
    )


@pytest.mark.parametrize("contact", ["a\nX-Evil: 1", "a)b", " a", "ünï@example.com"])
def test_a_contact_that_would_break_the_header(contact):
    with pytest.raises(ValueError, match="LLMS_CONTACT="):
        with_contact("llmsspider/1", contact)


def test_waits_double_until_the_host_answers():
    pace = HostPace(max_wait=120)
    now = 100.0
    waits = []
    for _ in range(4):
        wait = pace.refused(now, None)
        waits.append(wait)
        now += wait
    assert waits == [1, 2, 4, 8]
    assert pace.delay == 2.0
    pace.answered(now)
    assert pace.refused(now, None) == 1


def test_refusals_that_were_sent_before_the_pause_count_once():
    pace = HostPace(max_wait=120)
    assert pace.refused(10.0, None) == 1
    assert pace.refused(10.1, None) == pytest.approx(1)
    assert (pace.strikes, pace.delay) == (1, 0.25)


def test_an_answer_sent_before_the_pause_does_not_end_it():
    pace = HostPace(max_wait=120)
    pace.refused(10.0, 5)
    pace.answered(11.0)
    assert pace.strikes == 1


def test_the_longest_retry_after_holds():
    pace = HostPace(max_wait=120)
    assert pace.refused(10.0, 30) == 30
    assert pace.refused(10.0, 2) == 30


def test_recovery_ends_at_the_floor():
    pace = HostPace(max_wait=120, floor=0.2)
    pace.refused(0.0, 1)
    assert pace.delay == 0.4
    for _ in range(20):
        pace.answered(50.0)
    assert pace.delay == 0.2


def test_a_host_without_delay_is_asked_at_full_speed_again():
    pace = HostPace(max_wait=120)
    pace.refused(0.0, 1)
    for _ in range(20):
        pace.answered(50.0)
    assert pace.delay == 0.0


def test_waiting_is_bounded_and_a_host_that_wants_more_is_left_alone():
    pace = HostPace(max_wait=60)
    assert pace.refused(0.0, 3600) == 60
    assert pace.closed_for(10.0) == 3590
    assert pace.closed_for(4000.0) == 0


def test_unasked_waits_never_close_a_host():
    pace = HostPace(max_wait=60)
    now = 0.0
    for _ in range(12):
        now += pace.refused(now, None)
    assert pace.closed_for(now) == 0
    assert pace.refused(now, None) == 60


def test_crawl_delay_is_a_floor_and_bounded():
    pace = HostPace(max_wait=60)
    assert pace.ask_distance(0.2) == 0.2
    assert pace.ask_distance(0.1) == 0.2
    assert pace.ask_distance(86400) == 60
    assert pace.delay == 60
