from __future__ import annotations

from collections import deque
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmsspider.crawler.bounds import trap_reason, without_session_id
from llmsspider.crawler.shapes import (
    MAX_FACETS,
    MAX_LOOK_ALIKES_FACTOR,
    LookAlikes,
    shape_of,
)

SITE = "https://example.com"

TRAPS = [
    ("too deep", "/" + "/".join(f"s{n}" for n in range(26)), "path-depth"),
    ("one segment again and again", "/docs" * 8, "path-repetition"),
    ("two segments again and again", "/guide/intro" * 4, "path-repetition"),
    ("three segments again and again", "/a/b/c" * 4, "path-repetition"),
    ("a prefix before the run", "/en/v1" + "/a/b" * 4 + "/index.html", "path-repetition"),
    ("one segment everywhere", "/x/a/y/x/b/x/z/x/c/x/w/x/v/x/u/x/t/x", "path-repetition"),
    ("session in the path", "/page;jsessionid=0A1B2C3D4E5F6071?x=1", "session-id"),
    ("session in the query", "/page?PHPSESSID=o4hrk3q2s1f0t9v8u7", "session-id"),
    ("session of ASP.NET", "/(S(lit3py55t21z5v55vlm25s55))/page.aspx", "session-id"),
    ("calendar by query", "/schedule?month=3&year=2031", "calendar"),
    ("calendar by date", "/view?date=2031-03-01", "calendar"),
    ("calendar by compact date", "/view?day=20310301", "calendar"),
    ("many parameters", "/list?" + "&".join(f"p{n}=1" for n in range(13)), "query"),
    ("page as it was at a time", "/doku.php?id=a&rev=1700000000", "action of a wiki"),
    ("action of a page", "/Guide?action=LikePages", "action of a wiki"),
    ("discussion of a page", "/wiki/Help_talk:Guide", "action of a wiki"),
    ("page of somebody", "/index.php?title=User:Bob", "action of a wiki"),
    ("parameters in the path", "/a" + ";theme=dark;theme=light" * 3, "query"),
    ("source of a page", "/bin/view/Main/Guide?raw=on", "form of a wiki"),
    ("page as it was", "/bin/view.cgi/Main/Guide?rev=2", "form of a wiki"),
    ("page that is edited by a script", "/bin/edit/Main/Guide", "action of a wiki"),
    ("page of a wiki as it was", "/wiki/Guide?version=3", "action of a wiki"),
    ("index of a namespace", "/doku.php?id=a&idx=ns", "action of a wiki"),
    ("files of a directory in an order", "/man/8/?C=M;O=A", "order of a directory"),
    ("page for print", "/guide?print=1", "action of a wiki"),
    ("page for print, so viewed", "/guide?view=print", "action of a wiki"),
    ("page as a file of a wiki", "/doku.php?id=a&do=export_pdf", "action of a wiki"),
    ("one parameter again and again", "/list?" + "&".join(["f=1"] * 5), "query"),
    (
        "login that returns to login",
        "/login?next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252F%253Fa",
        "query",
    ),
]


@pytest.mark.parametrize(
    ("path", "reason"), [case[1:] for case in TRAPS], ids=[case[0] for case in TRAPS]
)
def test_trap(path, reason):
    assert trap_reason(SITE + path) == reason


ORDINARY = [
    ("root", "/"),
    ("a calendar in the path, which look-alikes bound", "/calendar/2026/12/24/"),
    ("day of a guide", "/course?day=3"),
    ("a program in a directory of programs", "/man/bin/diff"),
    ("a version that is none of a wiki", "/guide?version=3"),
    ("an index that is a number", "/list?idx=3"),
    ("two segments twice", "/a/b/a/b/"),
    ("two segments three times", "/a/b/a/b/a/b"),
    ("three segments three times", "/a/b/c/a/b/c/a/b/c"),
    ("a package named like its parent", "/api/core/core/core/core.html"),
    (
        "Java reference",
        "/javase/8/docs/api/java/util/concurrent/locks/AbstractQueuedSynchronizer.ConditionObject.html",
    ),
    (
        "deep reference tree",
        "/docs/reference/" + "/".join(f"mod{n}" for n in range(14)) + "/index.html",
    ),
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
    ("revision in the query", "/docs?rev=12"),
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
    assert trap_reason(SITE + path) is None


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
    trap_reason(url)
    assert without_session_id(without_session_id(url)) == without_session_id(url)


def test_an_unreadable_url_is_left_to_others():
    assert trap_reason("https://[broken/") is None
    assert shape_of("https://[broken/") is None


# Look-alikes


def reached(site: dict[str, tuple[str, list[str]]], order: Random, alikes: LookAlikes) -> set[str]:
    """Crawl a site breadth-first, the links of each page in some order: the URLs asked for.

    `site` gives each page's text and links; "index" has no number in its URL.
    """
    queue, seen, asked = deque([("index", True)]), {"index"}, set()
    while queue:
        page, listed = queue.popleft()
        if not alikes.admits(f"{SITE}/{page}", listed=listed):
            continue
        asked.add(page)
        if page not in site:
            alikes.wasted(f"{SITE}/{page}")
            continue
        text, links = site[page]
        alikes.learn(f"{SITE}/{page}", text)
        for link in order.sample(links, len(links)):
            if link not in seen:
                seen.add(link)
                queue.append((link, page == "index"))
    return asked


WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


def article(number: int) -> str:
    return " ".join(WORDS[int(digit)] for digit in str(number))


def knowledge_base(pages: int) -> dict[str, tuple[str, list[str]]]:
    """Articles that an index lists, each with links to its neighbours."""
    numbers = range(pages)
    near = {
        number: [f"kb/{other}" for other in (number - 1, number + 1) if 0 <= other < pages]
        for number in numbers
    }
    return {"index": ("Home", [f"kb/{n}" for n in numbers])} | {
        f"kb/{n}": (article(n), near[n]) for n in numbers
    }


def chained(pages: int) -> dict[str, tuple[str, list[str]]]:
    """The same articles, found from one to the next only."""
    site = knowledge_base(pages)
    return site | {"index": ("Home", ["kb/0"])}


def listed_and_alike(pages: int) -> dict[str, tuple[str, list[str]]]:
    """Articles in an index whose texts differ in their number only."""
    site = {f"kb/{n}": (f"Article {n}", []) for n in range(pages)}
    return {"index": ("Home", list(site))} | site


@given(st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("site", [knowledge_base(90), chained(90), listed_and_alike(90)])
def test_pages_with_text_of_their_own_are_all_taken_in_any_order_of_links(site, order):
    assert reached(site, order, LookAlikes(20)) == set(site)


class Calendar(dict[str, tuple[str, list[str]]]):
    """Days without end, each with links to others."""

    def __contains__(self, page: object) -> bool:
        return True

    def __missing__(self, page: str) -> tuple[str, list[str]]:
        if page == "index":
            return "Home", ["day/0"]
        number = int(page.partition("/")[2])
        steps = (-1, 1, 7, 30)
        return f"Day {number}: no events", [f"day/{abs(number + step)}" for step in steps]


@given(st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_a_calendar_is_cut_in_any_order_of_links(order):
    # the index, the first day, 20 that say the same
    assert len(reached(Calendar(), order, LookAlikes(20))) == 22


def test_stored_look_alikes_count_without_being_asked_again():
    stored = [f"Day {day}" for day in range(30)]
    alikes = LookAlikes(20, lambda shape: stored if shape == f"{SITE}/day/#" else ())
    assert not alikes.admits(f"{SITE}/day/99")
    assert alikes.admits(f"{SITE}/day/99", listed=True)
    assert alikes.admits(f"{SITE}/other/99")


def test_pages_that_bring_nothing_are_cut_even_where_they_are_listed():
    alikes = LookAlikes(5)
    for number in range(5):
        assert alikes.admits(f"{SITE}/gone/{number}", listed=True)
        alikes.wasted(f"{SITE}/gone/{number}")
    assert not alikes.admits(f"{SITE}/gone/5", listed=True)


def test_texts_made_up_without_end_end_too():
    alikes = LookAlikes(2)
    for number in range(2 * MAX_LOOK_ALIKES_FACTOR):
        assert alikes.admits(f"{SITE}/text/{number}")
        alikes.learn(f"{SITE}/text/{number}", article(number))
    assert not alikes.admits(f"{SITE}/text/100", listed=True)


def test_facets_that_show_known_lines_end_and_queries_with_lines_of_their_own_go_on():
    alikes = LookAlikes(1000)
    for number in range(100):
        alikes.learn(
            f"{SITE}/w?title={number}", f"Page {number}\nwhat it says of {article(number)}"
        )
    names = [f"f{number}" for number in range(8)]
    facets = [f"{SITE}/w?{a}=1&{b}=1&{c}=1" for a, b, c in combinations(names, 3)]
    taken = [url for url in facets if alikes.admits(url) and not alikes.learn(url, "Page 7")]
    assert len(taken) == MAX_FACETS < len(facets)
    assert alikes.admits(f"{SITE}/w?title=new")
    assert alikes.admits(facets[-1], listed=True)
    assert alikes.admits(f"{SITE}/other?f1=1&f2=1&f3=1")


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/list?m={n}", "# Month {n}\n\nNo events in month {n}.\n\n[next](/list?m={n})"),
        ("/list?m={n}", "# Red, {n}\n\nThings in red.\n\n[blue](/list?blue={n})"),
        ("/list?color={word}", "# List\n\nThings in {word}."),
        ("/cal/{n}/", "# {word} {n}\n\nNo events in {word} {n}.\n\n| 1 | 2 |\n\n[next](/cal/{n}/)"),
    ],
)
def test_titles_numbers_and_links_among_lists_are_nothing_new(address, text):
    alikes = LookAlikes(1000)
    taken = []
    for number in range(100):
        word = article(number).split()[0]
        url = SITE + address.format(n=number, word=word)
        if alikes.admits(url):
            alikes.learn(url, text.format(n=number, word=word))
            taken.append(url)
    assert MAX_FACETS <= len(taken) <= MAX_FACETS + 1


def test_pages_named_by_numbers_that_link_to_each_other_by_name_go_on():
    alikes = LookAlikes(1000)
    for number in range(100):
        url = f"{SITE}/a{number}.html"
        assert alikes.admits(url)
        alikes.learn(url, f"# {number}\n\n[{article(number)}]({SITE}/a{number + 1}.html#x)")


def test_lists_that_link_to_pages_of_their_own_go_on():
    alikes = LookAlikes(1000)
    for number in range(100):
        assert alikes.admits(f"{SITE}/list?page={number}")
        alikes.learn(f"{SITE}/list?page={number}", f"# Posts\n\n- [a post]({SITE}/post/{number})\n")


def test_urls_without_numbers_are_no_look_alikes():
    alikes = LookAlikes(1)
    for name in ("one", "two", "three"):
        alikes.wasted(f"{SITE}/page-{name}")
        assert alikes.admits(f"{SITE}/page-{name}")


def test_a_limit_of_zero_takes_everything():
    alikes = LookAlikes(0)
    for number in range(50):
        alikes.wasted(f"{SITE}/calendar?n={number}")
    assert alikes.admits(f"{SITE}/calendar?n=51")


def test_parameters_of_a_path_leave_its_shape_open():
    assert shape_of(f"{SITE}/a;theme=dark;theme=light") == shape_of(f"{SITE}/a?theme=dark")
