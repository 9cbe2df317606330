"""Which page an address stands for, and which pages count as others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from scrapy.settings import Settings

from llmsspider.config.arguments import DocsArguments
from llmsspider.config.settings import Config
from llmsspider.crawler.addresses import FEW_DEAD, Addresses
from llmsspider.crawler.run import Run
from llmsspider.crawler.site import FEW_SLASHES
from llmsspider.store import PageState
from llmsspider.web.urls import identity, page_key

SITE = "https://docs.example.com"


def state_of(path: str) -> PageState:
    url = f"{SITE}{path}"
    empty = PageState(b"", "", "", "", None, None, None, None, None, "1", "html", 0)
    return replace(empty, key=page_key(url), url=url, fetched_url=url, validators_url=url)


@pytest.fixture
def run_of_site() -> Callable[..., Run]:
    """Makes the run of a site of which the pages at these paths are stored."""

    def make(*stored: str) -> Run:
        arguments = DocsArguments(url=f"{SITE}/")
        run = Run(arguments, None, Config.from_settings(Settings()), lambda *_: None, lambda: 0)
        states = [state_of(path) for path in stored]
        run.known.states.update({state.key: state for state in states})
        return run

    return make


@pytest.fixture
def addresses(run_of_site: Callable[..., Run]) -> Addresses:
    return run_of_site().addresses


@pytest.mark.parametrize(
    ("stored", "url", "page"),
    [
        pytest.param((), "/a", "/a", id="nothing is stored"),
        pytest.param(("/a/index.html",), "/a/", "/a/index.html", id="the stored spelling stays"),
        pytest.param(("/b",), "/a/", "/a/", id="another page is stored"),
        pytest.param((), "/a?utm_source=x", "/a", id="tracking is no part of an address"),
    ],
)
def test_a_stored_page_keeps_its_address(run_of_site, stored, url, page):
    assert run_of_site(*stored).addresses.page_of(SITE + url) == SITE + page


def test_a_page_whose_stored_spelling_is_gone_has_the_one_that_is_linked(run_of_site):
    addresses = run_of_site("/a/index.html").addresses
    addresses.respelled.add(f"{SITE}/a/")
    assert addresses.page_of(f"{SITE}/a/") == f"{SITE}/a/"


def test_a_page_was_requested_whatever_its_spelling(addresses):
    assert not addresses.requested(f"{SITE}/a/")
    addresses.requested_pages.add(page_key(f"{SITE}/a/"))
    assert addresses.requested(f"{SITE}/a/index.html#top")
    assert not addresses.requested(f"{SITE}/b/")


@pytest.mark.parametrize(
    ("target", "requested", "expected"),
    [
        ("/a", (), "/a"),
        ("/a/", (), "/a/"),
        ("/a", ("/a/",), "/a/"),
        ("/a/", ("/a",), "/a"),
        ("/a", ("/b/",), "/a"),
    ],
)
def test_a_stub_leads_to_the_spelling_that_was_requested(addresses, target, requested, expected):
    addresses.requested_pages.update(page_key(SITE + path) for path in requested)
    assert addresses.page_at(SITE + target) == page_key(SITE + expected)


@pytest.mark.parametrize(
    ("stored", "target", "is_respelled"),
    [
        pytest.param(("/a",), "/a/", True, id="another spelling"),
        pytest.param(("/a",), "/b/", False, id="another page"),
        pytest.param((), "/a/", False, id="neither is stored"),
        pytest.param(("/a", "/a/"), "/a/", False, id="both are stored"),
    ],
)
def test_a_stored_page_may_be_had_at_another_spelling(run_of_site, stored, target, is_respelled):
    addresses = run_of_site(*stored).addresses
    assert addresses.is_respelled(f"{SITE}/a", SITE + target) is is_respelled


def test_slashes_are_added_after_some_redirects_to_them(addresses):
    for number in range(FEW_SLASHES):
        assert not addresses.adds_slash(f"{SITE}/new")
        addresses.learn_redirect(f"{SITE}/{number}", f"{SITE}/{number}/", is_named=False)
    assert addresses.adds_slash(f"{SITE}/new")
    assert not addresses.adds_slash("https://other.example.org/new")
    assert not addresses.adds_slash(f"{SITE}/new.html")
    addresses.respelled.add(f"{SITE}/new")
    assert not addresses.adds_slash(f"{SITE}/new")


def test_redirects_to_other_pages_teach_no_slash(addresses):
    for number in range(FEW_SLASHES):
        addresses.learn_redirect(f"{SITE}/{number}", f"{SITE}/new-{number}/", is_named=True)
    assert not addresses.adds_slash(f"{SITE}/new")
    assert not addresses.leads_back(f"{SITE}/x", f"{SITE}/x/")


def test_addresses_that_pages_name_and_are_not_found_lead_nowhere(addresses):
    page = f"{SITE}/page"
    named = f"{SITE}/named"
    for _ in range(FEW_DEAD):
        assert not addresses.leads_back(page, named)
        addresses.named_answers(named, is_found=False)
    assert addresses.leads_back(page, named)
    assert not addresses.leads_back(page, "https://other.example.org/named")
    addresses.named_answers(named, is_found=True)
    assert not addresses.leads_back(page, named)


def test_a_spelling_that_redirects_to_the_page_leads_back_and_so_do_others_of_its_host(addresses):
    assert not addresses.leads_back(f"{SITE}/a/", f"{SITE}/a")
    addresses.learn_redirect(f"{SITE}/a", f"{SITE}/a/", is_named=False)
    assert not addresses.leads_back(f"{SITE}/b/", f"{SITE}/b")
    assert addresses.leads_back(f"{SITE}/a/", f"{SITE}/a")
    assert addresses.leads_back(f"{SITE}/b/", f"{SITE}/b")
    assert not addresses.leads_back(f"{SITE}/b/", f"{SITE}/c")


def test_a_spelling_that_redirected_to_the_page_in_an_earlier_crawl_leads_back(run_of_site):
    run = run_of_site()
    run.learned.redirects.remember({identity(f"{SITE}/a"): [f"{SITE}/a/", 1]})
    assert not run.addresses.leads_back(f"{SITE}/b/", f"{SITE}/b")
    assert run.addresses.leads_back(f"{SITE}/a/", f"{SITE}/a")


def test_a_page_that_names_the_spelling_which_redirects_to_it_says_so_of_its_host(addresses):
    addresses.learn_redirect(f"{SITE}/a", f"{SITE}/a/", is_named=True)
    assert addresses.leads_back(f"{SITE}/b/", f"{SITE}/b")


def test_stored_pages_that_redirect_have_moved(run_of_site):
    run = run_of_site("/a", "/b", "/c")
    run.addresses.redirected([f"{SITE}/a", f"{SITE}/new"], f"{SITE}/new", for_good=True)
    run.addresses.redirected([f"{SITE}/b"], f"{SITE}/new", for_good=False)
    old, for_now, new = (page_key(f"{SITE}{path}") for path in ("/a", "/b", "/new"))
    assert run.known.targets == {old: new, for_now: new}
    assert run.known.elsewhere_for_now == {for_now}
    kept = run.learned.redirects
    assert f"{SITE}/a" in kept._now
    assert f"{SITE}/b" not in kept._now


@pytest.mark.parametrize(("answers", "elsewhere"), [(True, {"/a"}), (False, set())])
def test_a_page_that_another_one_replaces_counts_as_that(run_of_site, answers, elsewhere):
    run = run_of_site("/a")
    run.addresses.replaced(f"{SITE}/a", f"{SITE}/new", 2, answers=answers)
    run.addresses.replaced(f"{SITE}/unknown", f"{SITE}/new", 2, answers=True)
    new = page_key(f"{SITE}/new")
    assert run.known.targets == {page_key(f"{SITE}/a"): new}
    assert run.known.canonical_elsewhere == {page_key(SITE + path) for path in elsewhere}
    assert run.addresses.final_page(page_key(f"{SITE}/a")) == new
    assert run.addresses.final_page(page_key(f"{SITE}/unknown")) == new


def test_of_pages_that_count_as_one_of_which_nothing_came_one_is_lost(addresses):
    new = page_key(f"{SITE}/new")
    addresses.count_as(f"{SITE}/b", f"{SITE}/a", 3)
    addresses.count_as(f"{SITE}/a", f"{SITE}/new", 1)
    addresses.count_as(f"{SITE}/c", f"{SITE}/new")  # a redirect
    assert addresses.lost_pages(set()) == [], "the other was never requested"
    addresses.requested_pages.add(new)
    assert addresses.lost_pages(set()) == [(f"{SITE}/a", 1)]
    assert addresses.lost_pages({new}) == []
    assert addresses.lost_pages({page_key(f"{SITE}/a")}) == []
    addresses.accounted.add(new)
    assert addresses.lost_pages(set()) == []


def test_each_of_several_pages_that_count_as_different_ones_is_lost(addresses):
    for name in "ba":
        addresses.count_as(f"{SITE}/{name}", f"{SITE}/new-{name}", 1)
        addresses.requested_pages.add(page_key(f"{SITE}/new-{name}"))
    assert addresses.lost_pages(set()) == [(f"{SITE}/a", 1), (f"{SITE}/b", 1)]


def test_a_circle_of_pages_ends_and_loses_one(addresses):
    for one, other in ("ab", "bc", "ca"):
        addresses.count_as(f"{SITE}/{one}", f"{SITE}/{other}", 1)
        addresses.requested_pages.add(page_key(f"{SITE}/{one}"))
    assert addresses.final_page(page_key(f"{SITE}/a")) == page_key(f"{SITE}/a")
    assert addresses.lost_pages(set()) == [(f"{SITE}/a", 1)]


def test_links_to_an_address_that_redirects_are_links_to_its_page(run_of_site):
    run = run_of_site()
    run.learned.redirects.remember({f"{SITE}/a": [f"{SITE}/new", 0]})
    assert run.addresses.after_redirects(f"{SITE}/a") == f"{SITE}/new"
    assert run.addresses.after_redirects(f"{SITE}/b") == f"{SITE}/b"
