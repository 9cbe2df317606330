"""What relative links of Markdown mean: each case is a site, a page, its links and where they lead."""

from __future__ import annotations

import random

import pytest
from fuzzing import examples
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.crawler.link_bases import LinkBases, stem

SITE = "https://e.com"
DIRECTORIES = ["/", "/guide/", "/guide/a/", "/guide/b/", "/api/", "/api/c/", "/api/deep/d/"]


def bases(pages: list[str], root: str | None = None, page_of=lambda url: url) -> LinkBases:
    made = LinkBases(lambda: [SITE + page for page in pages], page_of)
    made.root = SITE + root if root else None
    return made


def resolved(made: LinkBases, page: str, fetched: str, hrefs: list[str]) -> list[str]:
    links = made.look(SITE + page, SITE + fetched, "markdown", hrefs)
    join = made.join(links)
    return [join(href).removeprefix(SITE) for href in hrefs]


CASES = {
    "source files, pages are directories": (
        *(DIRECTORIES, "/guide/a/", "/guide/a/index.md"),
        {
            "b.md": "/guide/b/",
            "../api/c.md#x": "/api/c/#x",
            "index.md": "/guide/",
            "../img/p.png": "/img/p.png",
        },
    ),
    "the index file of a folder": (
        *(DIRECTORIES, "/guide/", "/guide/index.md"),
        {"a.md": "/guide/a/", "../api/c.md": "/api/c/"},
    ),
    "HTML-relative links, pages are directories": (
        *(DIRECTORIES, "/guide/a/", "/guide/a/index.md"),
        {"../b/": "/guide/b/", "../../api/c/": "/api/c/", "p.png": "/guide/a/p.png"},
    ),
    "HTML-relative links, the Markdown beside the directory": (
        *(DIRECTORIES, "/guide/a/", "/guide/a.md"),
        {"../b/": "/guide/b/", "../../api/c/": "/api/c/", "p.png": "/guide/a/p.png"},
    ),
    "Quarto": (
        *(["/a.html", "/sub/b.html"], "/a.html", "/a.html.md"),
        {"sub/b.qmd": "/sub/b.html", "sub/b.ipynb": "/sub/b.html", "sub/c.qmd": "/sub/c.html"},
    ),
    "source files nobody lists": (
        *(["/guide/b/"], "/guide/a/", "/guide/a/index.md"),
        {"b.md": "/guide/b/", "new.md": "/guide/new/", "old.rst?v=1": "/guide/old/?v=1"},
    ),
    "Markdown beside its pages": (
        ["/b"],
        "/a",
        "/a.md",
        {"b.md": "/b", "c.md": "/c.md", "d": "/d"},
    ),
    "from the root of the documentation": (
        *([f"/docs{page}" for page in DIRECTORIES], "/docs/guide/a/", "/docs/guide/a/index.md"),
        {
            "api/c.md": "/docs/api/c/",
            "/api/deep/d.md": "/docs/api/deep/d/",
            "guide/b.md": "/docs/guide/b/",
        },
    ),
    "one link from another base": (
        *(DIRECTORIES, "/guide/a/", "/guide/a/index.md"),
        {"b.md": "/guide/b/", "../api/c.md": "/api/c/", "api/deep/d.md": "/api/deep/d/"},
    ),
    "fragments, other schemes and hosts": (
        *(DIRECTORIES, "/guide/a/", "/guide/a/index.md"),
        {
            "#x": "/guide/a/#x",
            "mailto:a@e.com": "mailto:a@e.com",
            "https://o.org/a.md": "https://o.org/a.md",
        },
    ),
    "absolute links to Markdown of the same host": (
        *(DIRECTORIES, "/guide/a/", "/guide/a/index.md"),
        {f"{SITE}/guide/b/index.md#x": "/guide/b/#x", f"{SITE}/none.md": "/none.md"},
    ),
    "another spelling of a known page": (["/b/"], "/a", "/a.md", {"b.html": "/b/", "./b": "/b/"}),
}


@pytest.mark.parametrize(("pages", "page", "fetched", "links"), CASES.values(), ids=CASES)
def test_links_lead_where_the_author_meant(pages, page, fetched, links):
    made = bases(pages, "/docs/" if page.startswith("/docs/") else "/")
    assert dict(zip(links, resolved(made, page, fetched, list(links)), strict=True)) == links


def test_a_page_that_shows_nothing_takes_the_base_of_the_others():
    made = bases(DIRECTORIES)
    links = made.look(f"{SITE}/guide/z/", f"{SITE}/guide/z/index.md", "markdown", ["p.png"])
    assert made.is_open(links)
    for page in ("guide/a", "guide/b", "api/c"):
        made.look(
            f"{SITE}/{page}/",
            f"{SITE}/{page}/index.md",
            "markdown",
            ["../api/c.md", "../guide/b.md", "a.md"],
        )
    assert made.join(links)("p.png") == f"{SITE}/guide/p.png"
    assert made.learned() == {"e.com markdown": "source"}
    later = bases([])
    later.remember({**made.learned(), "f.com markdown": "nonsense"})
    assert not later.is_open(
        later.look(f"{SITE}/guide/z/", f"{SITE}/guide/z/index.md", "markdown", ["p.png"])
    )
    assert later.learned() == made.learned()
    assert resolved(later, "/guide/z/", "/guide/z/index.md", ["p.png"]) == ["/guide/p.png"]


def test_without_evidence_links_are_relative_to_what_was_fetched():
    made = bases([])
    links = made.look(f"{SITE}/guide/z/", f"{SITE}/raw/z.md", "markdown", ["y.png"])
    assert made.join(links)("y.png") == f"{SITE}/raw/y.png"


def test_links_of_html_are_known_too():
    made = bases(["/"])
    assert (
        resolved(made, "/guide/a/", "/guide/a/index.md", ["b.png", "b.md"])[0] == "/guide/a/b.png"
    )
    made.learn([f"{SITE}/guide/b/", "https://o.org/x"], f"{SITE}/")
    assert resolved(made, "/guide/a/", "/guide/a/index.md", ["b.png", "b.md"]) == [
        "/guide/b.png",
        "/guide/b/",
    ]


def test_thousands_of_steps_up_end_at_the_root():
    href = "../" * 5000 + "guide/b.md"
    assert resolved(bases(DIRECTORIES), "/api/c/", "/api/c/index.md", [href]) == ["/guide/b/"]


PAGES = [f"/{section}/{name}/" for section in ("guide", "api") for name in "abcde"]
_links = st.lists(
    st.sampled_from([f"../{page.strip('/')}.md" for page in PAGES] + ["p.png", "new.md"]),
    max_size=3,
)


@examples(50)
@given(
    st.lists(_links, min_size=len(PAGES), max_size=len(PAGES)), st.randoms(use_true_random=False)
)
def test_the_order_of_pages_changes_no_link(links: list[list[str]], rnd: random.Random):
    """Pages that wait are judged last, as in a crawl."""

    def site(order: list[int]) -> dict[str, list[str]]:
        made = bases(PAGES)
        looked = {
            index: made.look(
                SITE + PAGES[index], f"{SITE}{PAGES[index]}index.md", "markdown", links[index]
            )
            for index in order
        }
        return {
            PAGES[index]: [made.join(looked[index])(href) for href in links[index]]
            for index in looked
        }

    shuffled = rnd.sample(range(len(PAGES)), len(PAGES))
    assert site(shuffled) == site(list(range(len(PAGES))))


@pytest.mark.parametrize(
    "url",
    ["/a/b", "/a/b/", "/a/b.html", "/a/b.md?x=1", "/a/b/README.md", "/a/b.html.md", "/a/b.rst#c"],
)
def test_spellings_of_a_page_have_one_stem(url):
    assert stem(SITE + url) == f"{SITE}/a/b"
