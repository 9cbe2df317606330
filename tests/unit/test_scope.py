"""Which URLs belong to a crawl; the table of globs is that of docs/explanation/scope.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.web.scope import build_scope, glob_matches, split_globs
from llmsspider.web.trees import Trees

START = "https://docs.example.com/guide/intro"
DOC = (Path(__file__).parents[2] / "docs" / "explanation" / "scope.md").read_text(encoding="utf-8")


def globs() -> list[tuple[str, str, bool]]:
    """The rows of the table in docs/explanation/scope.md."""
    rows = re.findall(
        r"^\| `([^`]+)` \| (.+?) \| (.+?) \|$", DOC[DOC.index("| glob |") :], re.MULTILINE
    )
    found = []
    for pattern, matches, others in rows:
        if not pattern.startswith(("/", "**")):
            break
        found += [(pattern, path, True) for path in re.findall(r"`([^`]+)`", matches)]
        found += [(pattern, path, False) for path in re.findall(r"`([^`]+)`", others)]
    return found


def test_the_table_is_read():
    assert len(globs()) > 30


@pytest.mark.parametrize(("pattern", "path", "expected"), globs())
def test_globs(pattern, path, expected):
    assert glob_matches(pattern, path) is expected


def test_globs_are_split_at_commas_outside_braces():
    assert split_globs("/a/**,/{b,c}/**\n!/d/**,,") == ["/a/**", "/{b,c}/**", "!/d/**"]


def scope(kind="auto", covering=None, listed=(), start=START, **options):
    return build_scope(kind, start, covering, listed, **options)


CASES = {
    "section": (scope(), "https://docs.example.com/guide/a", False, ""),
    "outside the section": (scope(), "https://docs.example.com/blog/a", False, "out-of-scope"),
    "listed outside the section": (scope(), "https://docs.example.com/blog/a", True, ""),
    "listed on another host": (scope(), "https://api.example.com/a", True, ""),
    "linked on another host": (scope(), "https://api.example.com/a", False, "out-of-scope"),
    "linked below a listed directory of another host": (
        scope(listed=["https://api.example.com/ref/x"]),
        "https://api.example.com/ref/y",
        False,
        "",
    ),
    "section: listed outside": (
        scope("section"),
        "https://docs.example.com/blog/a",
        True,
        "out-of-scope",
    ),
    "host": (scope("host"), "https://docs.example.com/blog/a", False, ""),
    "host: another host": (scope("host"), "https://api.example.com/a", True, "out-of-scope"),
    "domain": (scope("domain"), "https://api.example.com/a", False, ""),
    "another site": (scope("domain"), "https://example.org/a", True, "offsite"),
    "listed only": (scope("listed"), "https://docs.example.com/guide/a", False, "out-of-scope"),
    "a listed page": (scope("listed"), "https://docs.example.com/blog/a", True, ""),
    "block wins over allow": (
        scope(allow=["/guide/**"], block=["/guide/old/**"]),
        "https://docs.example.com/guide/old/a",
        False,
        "block",
    ),
    "block holds for listed pages": (
        scope(block=["/blog/**"]),
        "https://docs.example.com/blog/a",
        True,
        "block",
    ),
    "allow replaces the section": (
        scope(allow=["/blog/**"]),
        "https://docs.example.com/blog/a",
        False,
        "",
    ),
    "allow holds for listed pages": (
        scope(allow=["/blog/**"]),
        "https://docs.example.com/guide/a",
        True,
        "allow",
    ),
    "block among the allows": (
        scope(allow=["/guide/**", "!/guide/old/**"]),
        "https://docs.example.com/guide/old/a",
        False,
        "block",
    ),
    "a name like a file's": (scope(), "https://docs.example.com/guide/a.zip", False, ""),
    "scheme": (scope(), "ftp://docs.example.com/guide/a", False, "scheme"),
    "a name like test is documentation": (
        scope(),
        "https://docs.example.com/guide/test/build",
        False,
        "",
    ),
}


@pytest.mark.parametrize(("bounds", "url", "listed", "reason"), CASES.values(), ids=CASES)
def test_refusal(bounds, url, listed, reason):
    why = bounds.refusal(url, listed=listed)
    assert (why.reason if why else "") == reason


@pytest.mark.parametrize(
    ("covering", "section"),
    [
        (None, "/guide/"),
        ("https://docs.example.com/llms.txt", "/guide/"),
        ("https://docs.example.com/.well-known/llms.txt", "/guide/"),
        ("https://docs.example.com/guide/llms.txt", "/guide/"),
        ("https://other.example.com/guide/llms.txt", "/guide/"),
    ],
)
def test_the_section_is_the_directory_of_the_covering_file_or_of_the_start_page(covering, section):
    assert scope(covering=covering).section == section


def test_a_covering_file_higher_up_widens_the_section():
    deep = scope(start="https://e.com/docs/api/v1/x", covering="https://e.com/docs/llms.txt")
    assert deep.section == "/docs/"


@pytest.mark.parametrize("kind", ["auto", "section", "host", "listed"])
def test_the_description_says_how_to_widen(kind):
    assert "(wider: -a scope=" in scope(kind).describe()
    assert "wider" not in scope("domain").describe()


some_paths = st.lists(
    st.sampled_from(["guide", "blog", "intro", "a.b", ".well", "x%20y", "*", ""]), max_size=4
).map("/".join)
some_hosts = st.sampled_from(
    ["docs.example.com", "api.example.com", "example.com", "example.org", "127.0.0.1", "[::1]"]
)
some_urls = st.builds("https://{}/{}".format, some_hosts, some_paths)
some_globs = st.lists(
    st.sampled_from(["/", "**", "*", "guide", "{a,b}", "[a-z]", "!", "?", "\\", "(x|y)", "%2a"]),
    max_size=5,
).map("".join)


@given(some_urls, st.booleans(), st.lists(some_urls, max_size=4), st.lists(some_globs, max_size=2))
def test_a_wider_scope_holds_all_of_a_narrower_one(url, listed, pages, block):
    def allowed(kind):
        return (
            build_scope(kind, START, None, pages, block=block).refusal(url, listed=listed) is None
        )

    for narrow, wide in (
        ("section", "auto"),
        ("section", "host"),
        ("auto", "domain"),
        ("host", "domain"),
        ("listed", "auto"),
    ):
        assert not allowed(narrow) or allowed(wide)


@given(
    some_urls,
    some_globs,
    some_globs,
    st.sampled_from(["auto", "section", "host", "domain", "listed"]),
)
def test_block_wins_and_being_listed_never_narrows(url, allow, block, kind):
    bounds = build_scope(kind, START, None, [], allow=[allow], block=[block])
    why, listed = bounds.refusal(url), bounds.refusal(url, listed=True)
    assert why or not listed
    assert all(found is None or all(found) for found in (why, listed))
    path = "/" + url.split("/", 3)[3]
    if glob_matches(block, path):
        assert listed


@given(some_globs | st.text(max_size=20), some_paths)
def test_a_slash_at_the_end_of_a_path_does_not_count(pattern, path):
    path = f"/{path}".rstrip("/")
    assert glob_matches(pattern, path or "/") == glob_matches(pattern, f"{path}/")


@given(
    st.lists(st.text("ab/*!.", min_size=1, max_size=6), max_size=5),
    st.sampled_from([",", "\n", " , ", "\n\n"]),
)
def test_globs_that_were_joined_are_split(globs, separator):
    assert split_globs(separator.join(globs)) == globs


@pytest.mark.parametrize(
    ("waiting", "read", "first", "then"),
    [
        (
            ["/latest/", "/latest/a", "/1.0/a"],
            [],
            {"/latest/", "/latest/a"},
            {"/latest/", "/latest/a"},
        ),
        (
            ["/now/latest/", "/1.0/", "/1.0/a", "/1.0/b"],
            ["/now/latest/a", "/now/latest/b"],
            {"/now/latest/"},
            {"/now/latest/"},
        ),
        (
            ["/1.9/", "/1.10/", "/2.0rc1/", "/1.9/a"],
            [],
            {"/1.10/"},
            {"/1.9/", "/1.10/", "/2.0rc1/", "/1.9/a"},
        ),
        (["/dev/", "/dev/a", "/latest/"], ["/a"], {"/latest/"}, {"/latest/"}),
        (
            ["/blog/2023/", "/blog/2024/", "/api/v1/"],
            [],
            {"/blog/2023/", "/blog/2024/", "/api/v1/"},
            {"/blog/2023/", "/blog/2024/", "/api/v1/"},
        ),
    ],
    ids=[
        "the default version",
        "two pages in common elsewhere",
        "the newest first, what has nothing in common then",
        "the landing page's own pages are the documentation",
        "numbers are no versions",
    ],
)
def test_the_version_below_a_landing_page(waiting, read, first, then):
    site, pages = "https://e.com", set()
    trees = Trees(
        f"{site}/", None, False, lambda _url: False, lambda url: url.removeprefix(site) in pages
    )
    pages |= {path for path in read if not path.startswith("/now/")}
    for expected in (first, then):
        trees.accept_undecided([site + path for path in waiting])
        assert {
            path
            for path in waiting
            if not (trees.is_undecided(site + path) or trees.foreign(site + path))
        } == expected
        pages |= set(read)


def test_the_index_of_a_version_is_judged_by_its_links():
    pages = {"https://e.com/now/latest/a", "https://e.com/now/latest/b"}
    trees = Trees("https://e.com/", None, False, lambda _url: False, pages.__contains__)
    for _ in range(2):
        trees.accept_undecided(
            ["https://e.com/now/latest/", "https://e.com/1.0/", "https://e.com/dev/"]
        )
    links = [f"https://e.com/1.0/{name}" for name in ("a", "b", "c")]
    assert trees.shown_as_copy("https://e.com/1.0/", links[::2]) is None
    assert trees.shown_as_copy("https://e.com/1.0/", links) == ("version", "1.0")
    assert trees.shown_as_copy("https://e.com/dev/", links) is None
    assert trees.foreign("https://e.com/1.0/z") == ("version", "1.0")


def test_a_section_in_other_case_is_the_section():
    scope = build_scope("auto", "https://example.com/Docs/Start.aspx", None, [])
    assert scope.refusal("https://example.com/docs/intro.aspx") is None
    assert scope.refusal("https://example.com/docs") is None
    assert scope.refusal("https://example.com/docsearch/") is not None
