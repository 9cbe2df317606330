"""Markdown forms and what a host teaches about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.linksources import MIN_SAMPLES, LinkSources
from llmsspider.negotiation import (
    FORMS,
    MAX_WASTED,
    HostForms,
    is_markdown_url,
    is_twin_of,
    page_candidates,
    shape,
    twin,
)
from llmsspider.urls import identity

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
        assert identity(url) in {identity(page) for page in page_candidates(made).values()}


def test_a_source_file_belongs_to_its_page():
    for source in ("b.rst.txt", "b.md.txt", "b.ipynb.txt", "b.md"):
        assert page_candidates(f"https://e.com/en/_sources/a/{source}")["html"] == "https://e.com/en/a/b.html"
    assert page_candidates("https://e.com/_sources/index.md") == {"directory": "https://e.com/"}
    assert page_candidates("https://e.com/a.html") == {}


def test_a_host_without_markdown_costs_at_most_its_budget():
    forms = HostForms()
    asked = 0
    for number in range(100):
        for _form, _url in forms.to_try(f"https://e.com/p{number}.html"):
            asked += 1
            forms.miss()
    assert asked == MAX_WASTED
    assert forms.exhausted


def test_a_learned_form_is_the_only_one_tried():
    forms = HostForms()
    forms.hit("https://e.com/a.html", "page.md")
    assert forms.to_try("https://e.com/b.html") == [("page.md", "https://e.com/b.md")]
    assert not forms.learning("https://e.com/b.html")
    assert forms.learning("https://e.com/d/")


def test_a_known_form_is_tried_first_for_other_shapes():
    forms = HostForms()
    forms.hit("https://e.com/a.html", "page.html.md")
    assert forms.to_try("https://e.com/d/")[0][0] == "dir/index.html.md"


def test_listed_markdown_says_which_form_comes_first():
    forms = HostForms()
    forms.learn_from_listed(["https://e.com/a/index.md", "https://e.com/b/index.md"], frozenset())
    assert forms.to_try("https://e.com/d/")[0][0] == "dir/index.md"


def test_guessing_goes_on_while_it_gives_more_than_it_costs():
    forms = HostForms(wasted=20, hits=30)
    assert not forms.exhausted
    assert HostForms(wasted=20, hits=10).exhausted


def test_nothing_is_guessed_on_a_host_that_negotiates():
    assert HostForms(negotiates=True).to_try("https://e.com/a.html") == []


@pytest.mark.parametrize(
    ("form", "page"),
    [("html", "https://e.com/x.html"), ("bare", "https://e.com/x"), ("directory", "https://e.com/x/")],
)
def test_the_page_of_a_markdown_url_follows_the_sites_links(form, page):
    forms = HostForms()
    other = page.replace("/x", "/known")
    forms.learn_from_listed(["https://e.com/known.md"], frozenset({identity(other)}))
    assert forms.page_form == form
    assert forms.page_of("https://e.com/x.md") == page
    assert HostForms().page_of("https://e.com/x.md") is None
    assert HostForms().page_of("https://e.com/x.html.md") == "https://e.com/x.html"


def test_what_was_learned_survives_the_store():
    forms = HostForms()
    forms.hit("https://e.com/a.html", "page.md")
    forms.page_form = "html"
    again = HostForms.from_dict(forms.as_dict())
    assert (again.known, again.page_form) == (forms.known, "html")
    none = HostForms.from_dict(HostForms(wasted=MAX_WASTED).as_dict())
    assert len(none.to_try("https://e.com/a.html")) == 1
    assert HostForms.from_dict({"known": {"html": "nonsense"}, "page_form": "odd"}).known == {}


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


def test_link_sources_go_on_while_they_show_unseen_urls_up_to_their_share():
    sources = LinkSources()
    taken = 0
    for number in range(400):
        if sources.wanted(f"https://e.com/d{number}/p"):
            taken += 1
            sources.report(1)
    assert MIN_SAMPLES < taken <= 20


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


@given(st.lists(some_pages, max_size=30, unique=True))
def test_a_host_without_markdown_costs_a_bounded_number_of_requests(pages):
    host, asked = HostForms(), 0
    for page in pages:
        for _ in host.to_try(page):
            asked += 1
            host.miss()
    assert asked <= MAX_WASTED
    assert HostForms.from_dict(host.as_dict()).known == host.known
