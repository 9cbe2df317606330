"""Which documents are one page under two addresses, whichever is read first."""

from __future__ import annotations

from itertools import permutations

import pytest

from llmsspider.items import content_hash
from llmsspider.pipelines.same_pages import SamePages, Text

SITE = "https://docs.example.com"
LONG = "How a widget is turned, and what turns then. " * 6


def text(path: str, content: str = LONG, **more) -> Text:
    return Text(f"{SITE}{path}", "Turn", content, content_hash(content), **more)


ONE = {
    "an ending": ("/a", "/a.html"),
    "a slash": ("/a", "/a/"),
    "other case": ("/Docs/One.aspx", "/docs/one.aspx"),
    "slashes again": ("//docs/a", "/docs/a"),
    "a segment again": ("/pro/", "/pro/pro/"),
    "a script before it": ("/pro/a", "/index.php/pro/a"),
    "a query more": ("/a", "/a?view=wide"),
    "a parameter more": ("/view?page=7", "/view?page=7&wide=1"),
    "another last segment": ("/hc/1-old", "/hc/1-new"),
    "a version more": ("/guide/a", "/3.1/guide/a"),
}
TWO = {
    "other pages": ("/a/one", "/b/two"),
    "other parameters": ("/a/view?page=7", "/b/view?page=8&wide=1"),
}


@pytest.mark.parametrize("paths", ONE.values(), ids=ONE)
def test_one_page_in_any_order(paths):
    for first, second in permutations(paths):
        pages = SamePages(other_versions=False)
        assert pages.first(text(first)) is None
        assert pages.first(text(second)) == f"{SITE}{first}"


@pytest.mark.parametrize("paths", TWO.values(), ids=TWO)
def test_two_pages_in_any_order(paths):
    for first, second in permutations(paths):
        pages = SamePages(other_versions=False)
        assert [pages.first(text(first)), pages.first(text(second))] == [None, None]


def test_a_version_is_a_page_of_its_own_where_all_are_wanted():
    pages = SamePages(other_versions=True)
    assert pages.first(text("/guide/a")) is None
    assert pages.first(text("/3.1/guide/a")) is None


def test_lists_of_one_text_with_other_titles_and_links_are_one_page():
    pages = SamePages(other_versions=False)
    for path, more in (("/l?color=red", "red"), ("/l?size=2", "2"), ("/m?size=3", "3")):
        content = f"# All that is {more}\n\n{LONG}\n\n[{more}]({SITE}/things/{more})\n"
        found = pages.first(text(path, content)._replace(title=more))
        assert found == (f"{SITE}/l?color=red" if path == "/l?size=2" else None)


def test_another_text_is_another_page():
    pages = SamePages(other_versions=False)
    assert pages.first(text("/a")) is None
    assert pages.first(text("/a.html", f"{LONG}And back.")) is None


@pytest.mark.parametrize(
    "second", [text("/hc/new", "Soon."), text("/hc/new", is_listed=True)], ids=["short", "listed"]
)
def test_pages_of_a_directory_that_may_say_the_same(second):
    pages = SamePages(other_versions=False)
    assert pages.first(text("/hc/old", second.content)) is None
    assert pages.first(second) is None


def test_a_page_that_names_its_own_address_is_the_same_without_its_query():
    pages = SamePages(other_versions=False)
    names = f"{LONG}\n\n[here]({SITE}/a{{}})"
    assert pages.first(text("/a", names.format(""))) is None
    assert pages.first(text("/a?tab=2", names.format("?tab=2"))) == f"{SITE}/a"


def test_one_markdown_file_of_two_spellings():
    pages = SamePages(other_versions=False)
    file = f"{SITE}/x/a.md"
    assert pages.first(text("/x/a", LONG, file=file)) is None
    assert pages.first(text("/y/a/", f"{LONG}.", file=file)) == f"{SITE}/x/a"
