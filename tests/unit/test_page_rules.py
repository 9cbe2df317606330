"""Small rules about pages: what a body is, what is dropped, languages and versions, arguments, profiles."""

from __future__ import annotations

import pytest

from llmsspider.config.arguments import DocsArguments, check_arguments
from llmsspider.config.sources import load_profile, profile_names
from llmsspider.crawler.beginning import start_in_language
from llmsspider.crawler.pages import drop_reason
from llmsspider.crawler.records import title_from_url
from llmsspider.crawler.settle import same_page_elsewhere
from llmsspider.errors import ArgumentsError
from llmsspider.web.page_forms import classify, skipped_extension
from llmsspider.web.trees import Trees, directory_above, language_segments

BODIES = {
    "html": ("text/html", b"<!doctype html><p>x", False, "html"),
    "html called markdown": ("text/markdown", b"<!DOCTYPE html><html>", True, "html"),
    "html without an html tag": ("text/markdown", b"<title>Not found</title><p>x", True, "html"),
    "html called plain text": ("text/plain", b"<html><body>", True, "html"),
    "markdown": ("text/markdown", b"# x", False, "markdown"),
    "x-markdown": ("text/x-markdown", b"# x", False, "markdown"),
    "markdown file as plain text": ("text/plain", b"# x", True, "markdown"),
    "markdown file as html": ("text/html", b"# x\n\ntext", True, "markdown"),
    "markdown file without a type": (None, b"# x", True, "markdown"),
    "markdown file as octet-stream": ("application/octet-stream", b"# x", True, "markdown"),
    "octet-stream": ("application/octet-stream", b"abc", False, "binary"),
    "base64": ("text/plain", b"IyBHdWlkZQoK" * 20 + b"Cg==", True, "binary"),
    "one long word": ("text/plain", b"IyBHdWlkZQoK", True, "markdown"),
    "plain text": ("text/plain", b"words", False, "text"),
    "openapi": ("application/vnd.oai.openapi+json", b"{}", False, "text"),
    "json": ("application/json", b"{}", False, "text"),
    "image": ("image/png", b"abc", False, "binary"),
    "binary called html": ("text/html", b"\x7fELF\0\0", False, "binary"),
    "no type, a page": (None, b"<p>x", False, "html"),
}


@pytest.mark.parametrize(("mime", "body", "form", "expected"), BODIES.values(), ids=BODIES)
def test_what_a_body_is(mime, body, form, expected):
    assert classify(mime, body, markdown_form=form) == expected


def test_extensions_that_are_no_pages():
    assert skipped_extension("https://e.com/a.PDF?x=1", listed=True) == "pdf"
    assert skipped_extension("https://e.com/a.json", listed=False) == "json"
    assert skipped_extension("https://e.com/a.json", listed=True) is None
    assert skipped_extension("https://e.com/v1.2/release-1.0", listed=False) is None


DROPS = {
    "empty": ("", "T", "empty"),
    "white space": (" \n\t\n", "T", "empty"),
    "short": ("a\n", "T", None),
    "404": ("# Page not found\n\nSorry.\n", "Page not found", "soft-404"),
    "404 number": ("# 404\n", "404 - Not Found", "soft-404"),
    "about 404": ("# 404 errors\n\n" + "How to handle them. " * 100, "404 errors", None),
    "about 404, with code": (
        "# 404 page\n\nA file.\n\n```\nerror_page\n```\n",
        "404 error page",
        None,
    ),
    "about not found": ("# Handling\n\ntext\n", "Handling files that are not found", None),
    "no title": ("text\n", None, None),
}


@pytest.mark.parametrize(("content", "title", "expected"), DROPS.values(), ids=DROPS)
def test_what_is_no_document(content, title, expected):
    reason = drop_reason(content, title)
    assert (reason[0] if reason else None) == expected


def trees(start="https://e.com/", known=(), read=None, **options):
    given = {"language": None, "all_versions": False, **options}
    pages = known if read is None else read
    return Trees(
        start,
        given.pop("language"),
        given.pop("all_versions"),
        lambda url: url in known,
        lambda url: url in pages,
        **given,
    )


KNOWN = {"https://e.com/guide/a", "https://e.com/en/a"}
FOREIGN = {
    "a copy of a known page": (trees(known=KNOWN), "https://e.com/v2/guide/a", ("version", "v2")),
    "no other copy is known": (trees(known=KNOWN), "https://e.com/v2/guide/b", None),
    "a page called dev": (trees(), "https://e.com/dev/", None),
    "a page called next": (trees(), "https://e.com/next", None),
    "a page called ts is no language": (trees(), "https://e.com/ts/", None),
    "a host named by a language": (
        trees("https://docs.e.com/", {"https://docs.e.com/a"}),
        "https://de.docs.e.com/a.md",
        ("language", "de"),
    ),
    "a host beside one named by a language": (
        trees("https://en.e.com/", {"https://en.e.com/a"}),
        "https://de.e.com/a",
        ("language", "de"),
    ),
    "a host named by a language, with pages of its own": (
        trees("https://docs.e.com/", {"https://docs.e.com/a"}),
        "https://my.docs.e.com/account",
        None,
    ),
    "a host named by the wanted language": (
        trees("https://docs.e.com/", {"https://docs.e.com/a"}, language="de"),
        "https://de.docs.e.com/a",
        None,
    ),
    "translation named by hreflang": (
        trees(language_trees=frozenset({"fr"})),
        "https://e.com/fr/",
        ("language", "fr"),
    ),
    "own language": (trees("https://e.com/en/", KNOWN), "https://e.com/en/a", None),
    "other language": (trees("https://e.com/en/", KNOWN), "https://e.com/fr/a", ("language", "fr")),
    "asked for": (trees("https://e.com/en/", KNOWN, language="fr"), "https://e.com/fr/a", None),
    "all languages": (
        trees("https://e.com/en/", KNOWN, language="all"),
        "https://e.com/fr/a",
        None,
    ),
    "all versions": (trees(known=KNOWN, all_versions=True), "https://e.com/v2/guide/a", None),
    "beside the start page's version": (
        trees("https://e.com/d/2.x/a"),
        "https://e.com/d/1.x/b",
        ("version", "1.x"),
    ),
    "another place than the start page's": (
        trees("https://e.com/d/2.x/a"),
        "https://e.com/api/v1/b",
        None,
    ),
    "a number beside that of the start page": (
        trees("https://e.com/book/2/a"),
        "https://e.com/book/3/b",
        None,
    ),
    "another host": (trees(known=KNOWN), "https://api.e.com/v2/guide/a", None),
}


@pytest.mark.parametrize(("copies", "url", "expected"), FOREIGN.values(), ids=FOREIGN)
def test_copies_of_the_documentation(copies, url, expected):
    assert copies.foreign(url) == expected


def test_a_copy_once_found_holds_for_its_other_pages():
    copies = trees(known=KNOWN)
    assert copies.foreign("https://e.com/v2/guide/b") is None
    assert copies.foreign("https://e.com/v2/guide/a") == ("version", "v2")
    assert copies.foreign("https://e.com/v2/guide/b") == ("version", "v2")


def test_a_tree_is_decided_as_a_whole_and_by_its_directory():
    copies = trees(known=KNOWN)
    waiting = [
        "https://e.com/v2/guide/new",
        "https://e.com/v2/guide/a",
        "https://e.com/api/v2/users",
    ]
    assert all(map(copies.is_undecided, waiting))
    copies.accept_undecided(waiting)
    assert [copies.foreign(url) for url in waiting] == [("version", "v2"), ("version", "v2"), None]
    assert not any(map(copies.is_undecided, waiting))


def test_a_link_is_no_page_until_it_was_read():
    guide = {"https://e.com/guide/a"}
    for read, dead, expected in ((guide, (), "version"), ((), (), None), ((), guide, None)):
        copies = trees(known=guide, read=read)
        for url in dead:
            copies.no_page(url)
        found = copies.foreign("https://e.com/v2/guide/a")
        assert (found and found[0]) == expected
        copies.accept_undecided(["https://e.com/v2/guide/a"])
        assert (copies.foreign("https://e.com/v2/guide/a") is None) == bool(dead)


@pytest.mark.parametrize(
    "index", ["https://e.com/docs", "https://e.com/docs/", "https://e.com/docs/index.html"]
)
def test_the_version_that_the_site_leads_to_is_the_wanted_one(index):
    copies = trees()
    assert copies.foreign("https://e.com/docs/v1/a") is None
    copies.redirected(index, "https://e.com/docs/v2/intro")
    assert copies.foreign("https://e.com/docs/v1/a") == ("version", "v1")
    assert copies.foreign("https://e.com/docs/v2/a") is None
    assert copies.foreign("https://e.com/api/v1/a") is None
    for url in (
        "https://e.com/tool/v1/",
        "https://e.com/tool/v1/a",
    ):  # the directory above is nobody's version
        copies = trees()
        copies.redirected("https://e.com/", "https://e.com/tool/v2/a")
        assert copies.foreign(url) == ("version", "v1")


def test_a_redirect_between_versions_or_from_elsewhere_chooses_none():
    for url, target in (
        ("https://e.com/docs/v1/", "https://e.com/docs/v2/"),
        ("https://e.com/blog/news", "https://e.com/docs/v2/"),
        ("https://e.com/docs/v2/old", "https://e.com/docs/v2/new"),
        ("https://e.com/docs/", "https://other.com/docs/v2/"),
    ):
        copies = trees()
        copies.redirected(url, target)
        assert copies.foreign("https://e.com/docs/v1/a") is None


def test_where_another_language_starts():
    assert (
        start_in_language("https://e.com/en/a", "fr", {"fr": "https://e.com/fr/b"})
        == "https://e.com/fr/b"
    )
    assert start_in_language("https://e.com/en/a", "fr", {}) == "https://e.com/fr/a"
    assert start_in_language("https://e.com/a", "fr", {}) is None
    assert directory_above("https://e.com/en/3.12/a", ["version"]) == "/en/"
    assert directory_above("https://e.com/a", ["version"]) is None
    assert language_segments([("fr", "https://e.com/fr/"), ("x-default", "https://e.com/de/")]) == {
        "fr"
    }


def test_canonical_addresses_that_can_be_believed():
    assert same_page_elsewhere("https://e.com/v1/a.html", "https://e.com/v2/a")
    assert not same_page_elsewhere("https://e.com/a", "https://e.com/")
    assert not same_page_elsewhere("https://e.com/a", "https://other.com/a")
    assert not same_page_elsewhere("http://e.com/a", "https://e.com/a")


@pytest.mark.parametrize(
    ("url", "canonical", "expected"),
    [
        ("https://e.com/tool/v1.29/index.html", "https://e.com/tool/v1.34/index.html", True),
        ("https://e.com/tool/1.0/", "https://e.com/tool/latest/", True),
        ("https://e.com/fr/", "https://e.com/en/", True),
        ("https://e.com/tool/v1.29/", "https://e.com/other/v1.29/", True),
        ("https://e.com/tool/v1.29/", "https://e.com/other/v1.34/", False),
        ("https://e.com/tool/v1.29/", "https://e.com/tool/", False),
        ("https://e.com/tool/fr/", "https://e.com/tool/v2/", False),
    ],
)
def test_the_index_of_a_version_may_be_that_of_another(url, canonical, expected):
    assert same_page_elsewhere(url, canonical) is expected


def test_a_version_elsewhere_is_not_filtered_for_its_index():
    copies = trees("https://e.com/tool/v2/")
    assert copies.foreign("https://e.com/api/v1/") is None


def test_titles_from_urls():
    assert title_from_url("https://e.com/a/getting_started.html") == "getting started"
    assert title_from_url("https://e.com/") == "e.com"


def test_arguments_are_typed():
    arguments = check_arguments(
        DocsArguments,
        {
            "url": "https://e.com/",
            "max_depth": "2",
            "full": "true",
            "block": "/a/**,/b/**",
            "_job": "x",
        },
    )
    assert (arguments.max_depth, arguments.full, arguments.block) == (2, True, ("/a/**", "/b/**"))


@pytest.mark.parametrize("name", profile_names())
def test_profiles_that_ship_are_valid(name):
    assert load_profile(name)["ITEM_PIPELINES_BASE"]


BROKEN = {
    "no TOML": "x = = y",
    "unknown key": "colour = 'red'\n[stages]\nfilter='a.b'\nhash='a.b'\nexport='a.b'",
    "missing stage": "[stages]\nfilter='a.b'\nhash='a.b'",
    "no class": "[stages]\nfilter='a b'\nhash='a.b'\nexport='a.b'",
    "lower-case setting": "[stages]\nfilter='a.b'\nhash='a.b'\nexport='a.b'\n[settings]\nx=1",
    "stages is no table": "stages = 1",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_profile_is_refused_with_a_line(tmp_path, text):
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(ArgumentsError, match="profile="):
        load_profile(str(file))


def test_a_missing_profile_is_refused():
    with pytest.raises(ArgumentsError, match="cannot be read"):
        load_profile("/nowhere/own.toml")
