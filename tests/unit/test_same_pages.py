"""Which documents are one page under two addresses, whichever is read first."""

from __future__ import annotations

from itertools import permutations

import pytest

from llmsspider.pipelines.same_pages import MIN_SAME_CHARACTERS, SamePages, Text

SITE = "https://docs.example.com"
SHORT = "Turn it."
LONG = "How a widget is turned, and what turns then. " * 6


def text(path: str, content: str = LONG, **more) -> Text:
    return Text(f"{SITE}{path}", "Turn", content, **more)


ONE = {
    "an ending": ("/a", "/a.html"),
    "a slash": ("/a", "/a/"),
    "other case": ("/Docs/One.aspx", "/docs/one.aspx"),
    "slashes again": ("//docs/a", "/docs/a"),
    "a segment again": ("/pro/", "/pro/pro/"),
    "a script before it": ("/pro/a", "/index.php/pro/a"),
    "a query more": ("/a", "/a?view=wide"),
    "a parameter of its path": ("/a", "/a;theme=dark"),
    "a parameter more than two": ("/view?page=7&size=2", "/view?page=7&wide=1&size=2"),
    "a parameter more": ("/view?page=7", "/view?page=7&wide=1"),
    "another last segment": ("/hc/1-old", "/hc/1-new"),
    "a version more": ("/guide/a", "/3.1/guide/a"),
    "a segment more": ("/docs/a", "/print/docs/a"),
    "a segment after it": ("/a.html", "/a/wide.html"),
    "a page by its number": ("/docs/turn", "/view.action?pageId=7"),
}
OF_LONG_TEXTS = {
    ONE[name]
    for name in (
        "another last segment",
        "a segment more",
        "a segment after it",
        "a page by its number",
    )
}
TWO = {
    "other pages": ("/a/one", "/b/two"),
    "other parameters": ("/a/view?page=7", "/b/view?page=8&wide=1"),
    "other segments": ("/vue/a", "/react/a"),
    "another language": ("/guide/a", "/de/guide/a"),
}


@pytest.mark.parametrize("content", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("paths", ONE.values(), ids=ONE)
def test_one_page_in_any_order(paths, content):
    is_one = content is LONG or paths not in OF_LONG_TEXTS
    for first, second in permutations(paths):
        pages = SamePages(other_versions=False)
        assert pages.first(text(first, content)) is None
        assert pages.first(text(second, content)) == (f"{SITE}{first}" if is_one else None)


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


@pytest.mark.parametrize(
    "paths",
    [("/docs/a", "/print/docs/a"), ("/docs/", "/print/docs"), ("/a/turn", "/a/turn/wide")],
    ids=["before it", "of a directory", "behind it"],
)
def test_links_to_a_copy_are_no_text_of_a_page(paths):
    path, copy = paths
    of_page = text(path, f"{LONG}\n\n- [Print]({SITE}{copy})\n")
    for ordered in permutations((of_page, text(copy))):
        pages = SamePages(other_versions=False)
        assert [pages.first(one) for one in ordered] == [None, ordered[0].url]
    pages = SamePages(other_versions=False)
    other = text(path, f"{LONG}\n\n- [Print]({SITE}/x/y{copy})\n")
    assert [pages.first(one) for one in (other, text(copy))] == [None, None]


def test_copies_at_other_addresses_link_to_what_the_page_links_to():
    content = f"{LONG}\n\n[Next]({SITE}/view?id=8) [Print]({SITE}/docs/turn/print)\n"
    for first, second in permutations(("/docs/turn", "/view?id=7")):
        pages = SamePages(other_versions=False)
        assert pages.first(text(first, content)) is None
        assert pages.first(text(second, content)) == f"{SITE}{first}"


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


def test_so_many_characters_tell_pages_of_a_directory_apart():
    said = "a" * MIN_SAME_CHARACTERS
    for content, is_one in ((said, True), (said[1:], False)):
        pages = SamePages(other_versions=False)
        assert pages.first(text("/hc/old", content)) is None
        assert pages.first(text("/hc/new", content)) == (f"{SITE}/hc/old" if is_one else None)
        listed = [
            text(f"/l?{query}", f"# {query}\n{content}")._replace(title=query) for query in "ab"
        ]
        assert pages.first(listed[0]) is None
        assert pages.first(listed[1]) == (f"{SITE}/l?a" if is_one else None)


@pytest.mark.parametrize(
    "path", ["/a?tab=2", "/3.1/a", "/3.1/a.html", "/a.html", "/a/", "/a/index.html"]
)
def test_a_page_that_names_its_own_address(path):
    pages = SamePages(other_versions=False)
    names = f"{SHORT} See {SITE}{{}} and there."
    assert pages.first(text("/a", names.format("/a"))) is None
    assert pages.first(text(path, names.format(path))) == f"{SITE}/a"


def test_pages_that_name_their_own_addresses_and_say_other_things_are_two():
    pages = SamePages(other_versions=False)
    assert pages.first(text("/a", f"{SHORT} See {SITE}/a there.")) is None
    assert pages.first(text("/a?tab=2", f"Back. See {SITE}/a?tab=2 there.")) is None


def test_a_parameter_does_not_make_one_page_of_texts_with_other_links():
    pages = SamePages(other_versions=False)
    assert pages.first(text("/a", f"[{SHORT}](/x)")) is None
    assert pages.first(text("/a?page=2", f"[{SHORT}](/y)")) is None
    assert pages.first(text("/a?page=2&wide=1", f"[{SHORT}](/z)")) == f"{SITE}/a?page=2"


def test_one_markdown_file_of_two_spellings():
    pages = SamePages(other_versions=False)
    file = f"{SITE}/x/a.md"
    assert pages.first(text("/x/a", LONG, file=file)) is None
    assert pages.first(text("/y/a/", f"{LONG}.", file=file)) == f"{SITE}/x/a"
