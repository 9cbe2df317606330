"""What a host teaches of its Markdown forms: what is asked, what it costs, and that the order of pages is nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.web.host_forms import (
    MAX_MISSED,
    MAX_NAMED_DEAD,
    MAX_STORED,
    MAX_WASTED,
    SECTION_WASTED,
    HostForms,
)
from llmsspider.web.page_forms import FORMS, Form, Shape, twin
from llmsspider.web.urls import identity

SITE = "https://e.com"
ENDINGS: dict[Shape, str] = {"directory": "/", "html": ".html", "bare": ""}


class Crawl:
    """Takes pages one after another as the downloader middleware and the callbacks do, without a network.

    `markdown` is every Markdown URL the site has, `named` maps pages to those that its llms.txt names.
    """

    def __init__(self, markdown: set[str], named: dict[str, str], forms: HostForms | None = None):
        self.forms = forms or HostForms()
        self.markdown, self.named = markdown, named
        self.forms.learn_from_listed(named.values(), frozenset())
        self.asked: list[str] = []

    def run(self, pages: list[str]) -> set[str]:
        """Return the pages that come as Markdown."""
        taken: set[str] = set()
        waiting = []
        for page in pages:
            if self._take(page):
                taken.add(page)
            elif self.forms.is_open(page):
                waiting.append(page)
        again = [page for page in waiting if self.forms.to_retry(page)]
        return taken | {page for page in again if self._take(page, again=True)}

    def _take(self, page: str, *, again: bool = False) -> bool:
        named = [] if again or page not in self.named else [self.named[page]]
        try:
            self.forms.find(page, named, self._ask).send(None)
        except StopIteration as ended:  # nothing that it awaits waits
            found, is_in_vain = ended.value
        if is_in_vain:  # every page is there
            self.forms.none(page)
        return found is not None

    async def _ask(self, url: str) -> str | None:
        self.asked.append(url)
        return url if url in self.markdown else None

    @property
    def wasted(self) -> int:
        """The requests for Markdown that was not named and is not there."""
        return len(
            [url for url in self.asked if url not in self.markdown | set(self.named.values())]
        )


def pages_in(folder: str, number: int, shape: Shape = "html") -> list[str]:
    return [f"{SITE}{folder}p{index}{ENDINGS[shape]}" for index in range(number)]


def markdown_of(pages: list[str], form: Form = "page.md") -> set[str]:
    return {made for page in pages if (made := twin(page, form))}


def test_a_host_without_markdown_costs_at_most_its_budget():
    crawl = Crawl(set(), {})
    pages = [page for folder in ("/", "/a/", "/b/", "/c/") for page in pages_in(folder, 30)]
    assert crawl.run(pages) == set()
    assert len(crawl.asked) == MAX_WASTED


def test_a_section_without_markdown_leaves_guesses_to_the_others():
    blog, docs = pages_in("/blog/", 30), pages_in("/docs/", 30)
    crawl = Crawl(markdown_of(docs), {})
    assert crawl.run([f"{SITE}/index.html", *blog, *docs]) == set(docs)
    assert crawl.wasted <= MAX_WASTED + 2


@pytest.mark.parametrize("shape", ENDINGS)
def test_no_section_of_a_host_without_markdown_takes_all_guesses(shape):
    crawl = Crawl(set(), {})
    crawl.run(
        [
            *pages_in("/", 1, shape),
            *pages_in("/blog/2024/", 9, shape),
            *pages_in("/blog/2023/", 9, shape),
        ]
    )
    assert len([url for url in crawl.asked if "/blog/" in url]) == SECTION_WASTED


def test_a_learned_form_is_the_only_one_tried():
    forms = HostForms()
    forms.hit("https://e.com/a.html", "https://e.com/a.md")
    assert forms.to_try("https://e.com/b.html") == [("page.md", "https://e.com/b.md")]
    assert not forms.learning("https://e.com/b.html")
    assert forms.learning("https://e.com/d/")
    assert forms.learning("https://e.com/other/b.html"), (
        "one page at a time asks in another directory"
    )


def test_a_known_form_is_tried_first_for_other_shapes():
    forms = HostForms()
    forms.hit("https://e.com/a.html", "https://e.com/a.html.md")
    assert forms.to_try("https://e.com/d/")[0][0] == "dir/index.html.md"


def test_a_page_without_its_slash_has_the_markdown_of_the_folder_where_folders_have_some():
    page, folders = f"{SITE}/d/p1", pages_in("/d/", 3, "directory")
    assert all(form != "dir/index.md" for form, _url in HostForms().to_try(page)), "nothing says so"
    for order in ([page, *folders], [*folders, page]):
        crawl = Crawl(markdown_of(folders, "dir/index.md"), {folders[0]: f"{folders[0]}index.md"})
        assert crawl.run(order) == {page, *folders}


def test_directories_have_forms_of_their_own():
    forms = HostForms()
    forms.hit("https://e.com/docs/a.html", "https://e.com/docs/a.md")
    forms.hit("https://e.com/api/a.html", "https://e.com/api/a.html.md")
    assert forms.to_try("https://e.com/docs/b.html") == [("page.md", "https://e.com/docs/b.md")]
    assert forms.to_try("https://e.com/api/b.html") == [
        ("page.html.md", "https://e.com/api/b.html.md")
    ]


def test_listed_markdown_says_which_form_comes_first():
    crawl = Crawl(set(), {f"{SITE}/{name}/": f"{SITE}/{name}/index.md" for name in "abc"})
    assert crawl.forms.to_try("https://e.com/d/") == [], "what is named is asked first"
    crawl.run([f"{SITE}/{name}/" for name in "abc"])
    assert crawl.forms.to_try("https://e.com/d/")[0][0] == "dir/index.md"


def test_what_is_named_is_asked_whatever_was_guessed_before():
    docs = pages_in("/docs/", 30, "bare")
    named = {page: f"{page}/index.md" for page in docs}
    crawl = Crawl(set(named.values()), named, HostForms(wasted=MAX_WASTED))
    assert crawl.run(docs) == set(docs)


def test_a_directory_without_markdown_is_left_after_a_few_pages():
    docs, blog = pages_in("/docs/", 500), pages_in("/blog/", 500)
    crawl = Crawl(markdown_of(docs), {docs[0]: f"{SITE}/docs/p0.md"})
    assert crawl.run([page for pair in zip(docs, blog, strict=True) for page in pair]) == set(docs)
    assert crawl.wasted <= MAX_MISSED


def test_many_directories_without_markdown_cost_a_tenth_of_the_pages_that_have_some():
    docs = pages_in("/docs/", 200)
    barren = [page for number in range(200) for page in pages_in(f"/other/{number}/", 2)]
    crawl = Crawl(markdown_of(docs), {docs[0]: f"{SITE}/docs/p0.md"})
    crawl.run([*docs, *barren])
    assert crawl.wasted <= MAX_WASTED + 0.1 * len(docs)


def test_named_markdown_says_little_of_the_pages_that_are_not_named():
    docs, rest = pages_in("/docs/", 20), [f"{SITE}/docs/r{number}.html" for number in range(100)]
    crawl = Crawl(markdown_of(docs), {page: page.replace(".html", ".md") for page in docs})
    assert len(crawl.run([*docs, *rest])) == 20
    assert crawl.wasted <= MAX_MISSED + 20 // 4


def test_a_link_that_nothing_names_is_suspect_once_most_were_dead():
    forms = HostForms()
    assert forms.expects_dead(lists=True)
    assert not forms.expects_dead(lists=False)
    forms.dead, forms.alive = 2, 1
    assert forms.expects_dead(lists=False)
    forms.alive = 3
    assert not forms.expects_dead(lists=True)


def test_a_directory_where_half_of_the_pages_have_markdown_is_asked_while_that_pays():
    pages = pages_in("/docs/", 100)
    half = markdown_of(pages[::2])
    assert len(Crawl(half, {pages[0]: f"{SITE}/docs/p0.md"}).run(pages)) == 50


def test_nothing_is_guessed_on_a_host_that_negotiates():
    assert HostForms(negotiates=True).to_try("https://e.com/a.html") == []


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("html", "https://e.com/x.html"),
        ("bare", "https://e.com/x"),
        ("directory", "https://e.com/x/"),
    ],
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
    forms.hit("https://e.com/docs/a.html", "https://e.com/docs/a.md")
    forms.page_form = "html"
    again = HostForms.from_dict(forms.as_dict())
    assert again.to_try("https://e.com/docs/b.html") == forms.to_try("https://e.com/docs/b.html")
    assert again.is_proven("https://e.com/docs/b.html")
    assert again.known("https://e.com/other/b.html") == "page.md"
    assert again.page_form == "html"


def test_a_host_without_markdown_gets_a_guess_again_in_one_of_ten_runs():
    forms = HostForms(wasted=MAX_WASTED)
    asked = 0
    for _ in range(20):
        forms = HostForms.from_dict(forms.as_dict())
        guesses = len(forms.to_try("https://e.com/a.html"))
        forms.wasted += guesses
        asked += guesses
    assert asked in {1, 2}


def test_guesses_of_several_runs_count_together():
    crawl = Crawl(set(), {})
    crawl.run(pages_in("/docs/", 3))
    again = Crawl(set(), {}, HostForms.from_dict(crawl.forms.as_dict()))
    again.run([page for folder in ("/a/", "/b/", "/c/") for page in pages_in(folder, 3)])
    assert len(crawl.asked) + len(again.asked) <= MAX_WASTED


def test_a_page_without_markdown_is_remembered():
    docs = pages_in("/docs/", 20)
    crawl = Crawl(markdown_of(docs[1:]), {docs[5]: f"{SITE}/docs/p5.md"})
    crawl.run(docs)
    again = HostForms.from_dict(crawl.forms.as_dict())
    assert list(again.missed) == [docs[0]]
    assert not again.is_open(docs[0])


@pytest.mark.parametrize(
    "stored",
    [
        {"page_form": "odd", "places": [["html", "/", "nonsense", 3, 1, 1]]},
        {"places": [["html", "/"], ["odd", "/", None, 0, 0, 0], 7], "missed": [1, None]},
        {"places": [["html", 7, "page.md", "many", 0, None]], "missed": "all"},
    ],
    ids=["unknown forms", "wrong lengths", "wrong types"],
)
def test_a_stored_verdict_that_cannot_be_read_is_none(stored):
    forms = HostForms.from_dict(stored)
    assert not forms.has_markdown
    assert forms.page_form is None
    assert forms.missed == {}


def test_a_verdict_beside_a_known_form_is_not_believed():
    forms = HostForms.from_dict({"places": [["html", "/", "page.md", 0, 1, 0]], "wasted": 8})
    assert forms.wasted == 0
    assert forms.to_try("https://e.com/docs/a.html") == [("page.md", "https://e.com/docs/a.md")]


def test_what_is_stored_is_bounded():
    forms = HostForms()
    for number in range(MAX_STORED + 50):
        forms.hit(f"https://e.com/d{number}/a.html", f"https://e.com/d{number}/a.md")
        forms.missed[f"https://e.com/d{number}/b.html"] = None
    stored = forms.as_dict()
    assert len(stored["places"]) == len(stored["missed"]) == MAX_STORED


# --- the order in which pages come ---


@st.composite
def orders(draw):
    """Pages of a site in some order, the Markdown that it has, and what its llms.txt names of it.

    In each section the pages of one shape either all have Markdown, by one form, and one of them or more are named;
    or none has. Some named Markdown is dead.
    """
    pages, markdown, named = [], set(), {}
    for number in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from(sorted(ENDINGS)))
        folder = draw(
            st.sampled_from(["/" if number == 0 else f"/s{number}/", f"/docs/s{number}/"])
        )
        here = pages_in(folder, 6, shape)
        form = draw(st.sampled_from([None, *FORMS[shape]]))
        if form is not None:
            made = {page: twin(page, form) for page in here}
            markdown |= set(made.values())
            named |= {
                page: made[page] for page in draw(st.lists(st.sampled_from(here), min_size=1))
            }
        elif draw(st.booleans()):
            named |= {here[0]: twin(here[0], FORMS[shape][0])}
        pages += here
    return draw(st.permutations(pages)), markdown, named


@given(orders())
def test_the_order_of_the_pages_changes_nothing(site):
    pages, markdown, named = site
    every_form = [form for forms in FORMS.values() for form in forms]
    has_markdown = {
        page for page in pages if any(twin(page, form) in markdown for form in every_form)
    }
    crawl = Crawl(markdown, named)
    taken = crawl.run(pages)
    assert taken == has_markdown
    assert {url for url in named.values() if url not in crawl.asked} == set(), (
        "nothing that is named is left unasked"
    )
    assert len(crawl.asked) == len(set(crawl.asked)), "and nothing is asked twice"


@given(
    st.lists(
        st.builds("https://e.com/{}".format, st.text("ab./_-~%2é?#;", max_size=20)),
        max_size=30,
        unique=True,
    )
)
def test_a_host_without_markdown_costs_a_bounded_number_of_requests(pages):
    crawl = Crawl(set(), {})
    crawl.run(pages)
    assert len(crawl.asked) <= MAX_WASTED


def test_named_files_that_are_all_dead_are_asked_a_few_times_only() -> None:
    pages = pages_in("/docs/", 40, "bare")
    crawl = Crawl(set(), {page: f"{page}.mdx" for page in pages})
    assert crawl.run(pages) == set()
    assert len([url for url in crawl.asked if url.endswith(".mdx")]) == MAX_NAMED_DEAD
    alive = Crawl({f"{page}.mdx" for page in pages[3:]}, {page: f"{page}.mdx" for page in pages})
    assert alive.run(pages) == set(pages[3:])


def test_mdx_is_requested_in_the_page_s_place_once_pages_named_it() -> None:
    pages = pages_in("/docs/", 10, "bare")
    unnamed = Crawl({f"{page}.mdx" for page in pages}, {})
    assert unnamed.run(pages) == set(), "nobody guesses it"
    assert not [url for url in unnamed.asked if url.endswith(".mdx")]
    named = Crawl({f"{page}.mdx" for page in pages}, {})
    named.forms.hit(pages[0], f"{pages[0]}.mdx", named=True)
    assert named.run(pages[1:]) == set(pages[1:])
    assert named.asked == [f"{page}.mdx" for page in pages[1:]]
