"""Links that are named like files: which are requested, which wait, and what is remembered."""

from __future__ import annotations

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.file_names import MAX_DIRECTORIES, MAX_STORED, FileNames
from llmsspider.crawler.settle import Drop, Publish, ReadPage
from llmsspider.items import PageMeta

FILE = Drop("unsupported-type", "application/zip")


def read(names: FileNames, url: str, verdict: object) -> None:
    names.page_read(ReadPage(url, PageMeta()), verdict)


def test_one_address_of_a_directory_and_an_extension_is_requested():
    names = FileNames()
    taken = [
        names.takes_sample(f"https://e.com{path}")
        for path in ("/a/1.zip", "/a/2.zip", "/a/3.PDF?x=1", "/b/1.zip", "/a/page", "/a/v1.2")
    ]
    assert taken == [True, False, True, True, True, True]
    assert names.takes_sample("https://other.e.com/a/1.zip")


def test_what_the_address_shows_holds_for_those_like_it():
    names = FileNames()
    assert names.is_page("https://e.com/a/1.js") is None
    read(names, "https://e.com/a/1.js", FILE)
    read(names, "https://e.com/b/1.js", Publish())
    read(names, "https://e.com/c/1.js", Drop("listing", "it lists others"))
    shown = [names.is_page(f"https://e.com/{place}/2.js") for place in "abcd"]
    assert shown == [False, True, True, None]
    assert names.is_page("https://e.com/a/page.html") is True
    read(names, "https://e.com/b/3.js", FILE)
    assert names.is_page("https://e.com/b/2.js") is True
    read(names, "https://e.com/a/3.js", Publish())
    assert names.is_page("https://e.com/a/2.js") is True


@pytest.mark.parametrize("page", [False, True])
def test_an_extension_is_tried_in_so_many_directories(page):
    names = FileNames()
    for number in range(MAX_DIRECTORIES):
        assert names.takes_sample(f"https://e.com/{number}/x.zip")
    if page:
        read(names, "https://e.com/3/x.zip", Publish())
    assert names.takes_sample("https://e.com/more/x.zip") is page
    assert names.takes_sample("https://e.com/more/x.pdf")


def test_directories_of_files_are_remembered_and_full_asks_again():
    names = FileNames()
    for number in range(MAX_STORED + 1):
        read(names, f"https://e.com/{number}/x.zip", FILE)
    read(names, "https://e.com/p/x.zip", Publish())
    kept = [list(group) for group in names.keep(End())]
    assert len(kept) == MAX_STORED
    later = FileNames()
    later.remember([*kept[-3:], "no", ["one"], [1, 2]])
    assert later.is_page(f"https://e.com/{MAX_STORED}/y.zip") is False
    assert not later.takes_sample(f"https://e.com/{MAX_STORED}/y.zip")
    assert later.is_page("https://e.com/p/y.zip") is None
    anew = FileNames(trusted=False)
    anew.remember(kept)
    assert anew.is_page(f"https://e.com/{MAX_STORED}/y.zip") is None


@pytest.mark.parametrize(
    ("name", "mime_type", "listed", "is_file"),
    [
        ("a.zip", "application/zip", False, True),
        ("a.zip", "text/html", False, False),
        ("a.js", "text/markdown", False, False),
        ("a.txt", "text/plain", False, True),
        ("a.txt", "text/plain", True, False),
        ("a.zip", None, False, False),
        ("a", "application/zip", False, False),
        ("a.ipynb", "application/octet-stream", False, False),
        ("a.pdf", "application/pdf", False, True),
        ("a.pdf", "application/pdf", True, False),
        ("a.zip", "application/zip", True, True),
    ],
)
def test_what_headers_show(name, mime_type, listed, is_file):
    names = FileNames(read=frozenset({"ipynb"}), read_listed=frozenset({"pdf"}))
    assert names.is_file(f"https://e.com/{name}", mime_type, listed=listed) is is_file
    assert names.is_page("https://e.com/x/a.ipynb") is True
