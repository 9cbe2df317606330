from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.traps import ShapeBudget, shape_of, trap_reason, without_session_id

TODAY = date(2026, 11, 21)
SITE = "https://example.com"

TRAPS = [
    ("too long", "/" + "a" * 2100, "url-length"),
    ("too deep", "/" + "/".join(f"s{n}" for n in range(26)), "path-depth"),
    ("one segment again and again", "/docs" * 8, "path-repetition"),
    ("two segments again and again", "/guide/intro" * 4, "path-repetition"),
    ("three segments again and again", "/a/b/c" * 4, "path-repetition"),
    ("a prefix before the run", "/en/v1" + "/a/b" * 4 + "/index.html", "path-repetition"),
    ("one segment everywhere", "/x/a/y/x/b/x/z/x/c/x/w/x/v/x/u/x/t/x", "path-repetition"),
    ("session in the path", "/page;jsessionid=0A1B2C3D4E5F6071?x=1", "session-id"),
    ("session in the query", "/page?PHPSESSID=o4hrk3q2s1f0t9v8u7", "session-id"),
    ("session of ASP.NET", "/(S(lit3py55t21z5v55vlm25s55))/page.aspx", "session-id"),
    ("calendar, month", "/calendar/2026/12", "calendar"),
    ("calendar, day", "/calendar/2026/12/24/", "calendar"),
    ("calendar with dashes", "/events/2026-12-24", "calendar"),
    ("calendar above the year", "/en/calendar/month/2026/12", "calendar"),
    ("calendar by query", "/schedule?month=3&year=2031", "calendar"),
    ("calendar by date", "/view?date=2031-03-01", "calendar"),
    ("calendar by compact date", "/view?day=20310301", "calendar"),
    ("a year nobody documents", "/log/2041/01/02", "calendar"),
    ("many parameters", "/list?" + "&".join(f"p{n}=1" for n in range(13)), "query"),
    ("one parameter again and again", "/list?" + "&".join(["f=1"] * 5), "query"),
    (
        "login that returns to login",
        "/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252F%253Fa",
        "query",
    ),
]


@pytest.mark.parametrize(("path", "reason"), [case[1:] for case in TRAPS], ids=[case[0] for case in TRAPS])
def test_trap(path, reason):
    assert trap_reason(SITE + path, TODAY) == reason


ORDINARY = [
    ("root", "/"),
    ("two segments twice", "/a/b/a/b/"),
    ("two segments three times", "/a/b/a/b/a/b"),
    ("a package named like its parent", "/api/core/core/core/core.html"),
    (
        "Java reference",
        "/javase/8/docs/api/java/util/concurrent/locks/AbstractQueuedSynchronizer.ConditionObject.html",
    ),
    ("deep reference tree", "/docs/reference/" + "/".join(f"mod{n}" for n in range(14)) + "/index.html"),
    ("same names on several levels", "/rust/std/std/arch/arch/x86/x86/index.html"),
    ("dated post", "/blog/2024/05/12/release"),
    ("monthly archive", "/blog/2024/05/"),
    ("daily archive", "/blog/2024/05/12/"),
    ("changelog of a day", "/changelog/2026-11-01"),
    ("API version that is a month", "/api/admin/2026-10/resources/event"),
    ("API version that is a day", "/api/2026-10-28/events"),
    ("documentation of a calendar", "/docs/calendar/recurrence"),
    ("calendar versioning", "/calendar/2.1/"),
    ("events of a year", "/events/2026"),
    ("version in the query", "/docs?version=2026"),
    ("year alone in the query", "/releases?year=2024"),
    ("page in the query", "/docs?page=12&tab=api"),
    ("search for a day", "/search?q=2024-01-01"),
    ("session as a topic", "/docs/session?sid=about"),
    ("session in a name", "/docs/jsessionid-explained"),
    ("returns to a page", "/login?next=/docs/intro"),
    ("URL in the query", "/proxy?url=https://example.org/a"),
]


@pytest.mark.parametrize("path", [case[1] for case in ORDINARY], ids=[case[0] for case in ORDINARY])
def test_ordinary(path):
    assert trap_reason(SITE + path, TODAY) is None


SESSIONS = [
    ("path", "/a;jsessionid=0A1B2C3D4E5F?b=1#c", "/a?b=1#c"),
    ("query among others", "/a?b=1&sessionid=0123456789abcdef&c=2", "/a?b=1&c=2"),
    ("query alone", "/a?sid=0123456789abcdef", "/a"),
    ("short value stays", "/a?sid=42", "/a?sid=42"),
    ("nothing to do", "/a?x=%41&y=a+b", "/a?x=%41&y=a+b"),
]


@pytest.mark.parametrize(
    ("path", "cleaned"), [case[1:] for case in SESSIONS], ids=[case[0] for case in SESSIONS]
)
def test_without_session_id(path, cleaned):
    assert without_session_id(SITE + path) == SITE + cleaned


@given(st.text(max_size=80))
def test_any_text_is_judged_without_a_crash(text):
    url = f"{SITE}/{text}"
    trap_reason(url, TODAY)
    assert without_session_id(without_session_id(url)) == without_session_id(url)


def test_an_unreadable_url_is_left_to_others():
    assert trap_reason("https://[broken/", TODAY) is None
    assert shape_of("https://[broken/") is None


def test_budget_bounds_a_counter_without_end_and_nothing_else():
    budget = ShapeBudget(10)
    assert sum(budget.take(f"{SITE}/calendar?n={n}") for n in range(50)) == 10
    assert all(budget.take(f"{SITE}/page-{name}") for name in ("one", "two", "three") * 10)
    assert budget.take(f"{SITE}/calendar?m=1")


def test_budget_of_zero_takes_everything():
    budget = ShapeBudget(0)
    assert all(budget.take(f"{SITE}/calendar?n={n}") for n in range(50))
