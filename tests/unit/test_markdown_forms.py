"""Markdown forms, and which pages are fetched as HTML for their links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.link_sources import MIN_SAMPLES, LinkSources
from llmsspider.web.page_forms import (
    FORMS,
    is_markdown_url,
    is_twin_of,
    page_candidates,
    shape,
    twin,
    with_slash,
)
from llmsspider.web.urls import identity

TWINS = [
    ("https://e.com/a/b.html", "page.html.md", "https://e.com/a/b.html.md"),
    ("https://e.com/a/b.html", "page.md", "https://e.com/a/b.md"),
    ("https://e.com/a/b", "page.md", "https://e.com/a/b.md"),
    ("https://e.com/a/b", "page.html.md", "https://e.com/a/b.html.md"),
    ("https://e.com/a/", "dir/index.md", "https://e.com/a/index.md"),
    ("https://e.com/a/", "dir/index.html.md", "https://e.com/a/index.html.md"),
    ("https://e.com/a/", "dir.md", "https://e.com/a.md"),
    ("https://e.com/", "dir.md", None),
    ("https://e.com", "dir/index.md", "https://e.com/index.md"),
    ("https://e.com/a.md", "page.md", None),
    ("https://e.com/a/", "page.md", None),
    ("https://e.com/v1.2", "page.md", "https://e.com/v1.2.md"),
    ("https://e.com/a?x=1", "page.md", "https://e.com/a.md"),
]


@pytest.mark.parametrize(("url", "form", "expected"), TWINS)
def test_twin(url, form, expected):
    assert twin(url, form) == expected


names = st.text("abcdefgh-", min_size=1, max_size=8)


@given(folder=names, name=names, ending=st.sampled_from(["", ".html", "/"]))
def test_every_twin_leads_back_to_its_page(folder, name, ending):
    url = f"https://e.com/{folder}/{name}{ending}"
    for form in FORMS[shape(url)]:
        made = twin(url, form)
        assert made
        assert is_twin_of(made, url)
        candidates = {identity(page) for page in page_candidates(made).values()}
        assert identity(with_slash(url, made) or url) in candidates


def test_only_the_markdown_of_a_folder_says_that_an_address_lacks_its_slash():
    assert with_slash("https://e.com/a/b", "https://e.com/a/b/index.md") == "https://e.com/a/b/"
    for url in ("https://e.com/a/b.html", "https://e.com/a/b/", "https://e.com/a/index.md"):
        assert with_slash(url, "https://e.com/a/b/index.md") is None
    assert with_slash("https://e.com/a/b", "https://e.com/a/b.md") is None


def test_a_source_file_belongs_to_its_page():
    for source in ("b.rst.txt", "b.md.txt", "b.ipynb.txt", "b.md"):
        assert (
            page_candidates(f"https://e.com/en/_sources/a/{source}")["html"]
            == "https://e.com/en/a/b.html"
        )
    assert page_candidates("https://e.com/_sources/index.md") == {"directory": "https://e.com/"}
    assert page_candidates("https://e.com/a.html") == {}


def test_link_sources_are_start_roots_and_samples_that_pay():
    sources = LinkSources()
    assert sources.wanted("https://e.com/", start=True)
    assert not sources.wanted("https://e.com/", start=True)
    assert sources.wanted("https://e.com/guide/", section_root=True)
    taken = 0
    for number in range(400):
        if sources.wanted(f"https://e.com/d{number}/p"):
            taken += 1
            sources.report(0)
    assert taken == MIN_SAMPLES


def test_index_files_are_link_sources_whatever_came_before_them():
    sources = LinkSources()
    assert sources.wanted("https://e.com/index.html", start=True)
    for number in range(40):
        if sources.wanted(f"https://e.com/reference/p{number}.html"):
            sources.report(0)
    assert sources.wanted("https://e.com/reference/index.html"), (
        "it lists the pages of its directory"
    )


@pytest.mark.parametrize("ending", ["/", ".html"])
def test_section_roots_beside_a_link_source_are_samples(ending):
    sources = LinkSources()
    assert sources.wanted("https://e.com/", start=True)
    sources.report(5)
    taken = 0
    for number in range(9):
        if sources.wanted(f"https://e.com/p{number}{ending}", section_root=True):
            taken += 1
            sources.report(0)
    assert taken <= MIN_SAMPLES
    assert all(
        sources.wanted(f"https://e.com/d{number}/p{ending}", section_root=True)
        for number in range(9)
    )


def test_link_sources_go_on_while_they_show_unseen_urls_up_to_their_share():
    sources = LinkSources()
    taken = []
    for number in range(1, 401):
        if sources.wanted(f"https://e.com/d{number}/p"):
            taken.append(number)
            sources.report(1)
    assert taken == [*range(1, MIN_SAMPLES + 1), *range(80, 401, 20)]


some_pages = st.builds(
    "https://e.com/{}".format, st.text("ab./_-~%2é?#;", max_size=20) | st.text(max_size=12)
)


@given(some_pages)
def test_any_url_has_a_shape_and_its_twins_are_markdown(url):
    this = shape(url)
    for form in FORMS.get(this, ()) if this else ():
        made = twin(url, form)
        if made is not None:
            assert is_markdown_url(made)
            assert "?" not in made
            assert "#" not in made
    assert all(page.startswith("https://e.com/") for page in page_candidates(url).values())


def test_those_of_a_complete_crawl_are_requested_again():
    first = LinkSources()
    assert first.wanted("https://e.com/", start=True)
    assert first.keep(End(followed_links=True)) is None
    kept = first.keep(End(followed_links=True, is_complete=True))
    second = LinkSources()
    second.remember([*kept, 7])
    assert second.wanted("https://e.com/", new=False)
    assert not second.wanted("https://e.com/other", new=False)


@pytest.mark.parametrize("kept", [None, {}, "x", [7]])
def test_link_sources_that_cannot_be_read_are_none(kept):
    sources = LinkSources()
    sources.remember(kept)
    assert sources.wanted("https://e.com/a", new=False)
