"""Markdown that is a stub of its page: how it is told, and when its HTML is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.crawl.second_requests import PROBES, SIBLINGS, HostStubs, is_fuller, stub, stub_of_full_text

PROSE = (
    "A widget turns the wheel of the machine, and the machine turns the mill that grinds the corn.\n\n" * 5
)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        pytest.param('# Changes\n\n--8<-- "CHANGELOG.md"\n', "unfilled", id="PyMdown snippet"),
        pytest.param('{% include "CHANGELOG.md" %}\n', "unfilled", id="Jinja"),
        pytest.param(
            "# API\n\n::: widget.wheel.Wheel\n    options:\n      members: true\n",
            "unfilled",
            id="mkdocstrings",
        ),
        pytest.param("import Intro from './_intro.mdx'\n\n<Intro />\n", "unfilled", id="MDX"),
        pytest.param("# Widgets\n\n<CardGrid />\n", "unfilled", id="component without children"),
        pytest.param("# Parts\n\n<!--@include: ./parts/basics.md-->\n", "unfilled", id="VitePress"),
        pytest.param("```{include} ../CHANGELOG.md\n```\n", "unfilled", id="MyST"),
        pytest.param("[!INCLUDE [x](../x.md)]\n", "unfilled", id="DocFX"),
        pytest.param("{{< readfile file=x.md >}}\n", "unfilled", id="Hugo"),
        pytest.param("Moved to [the guide](/guide).\n", "short", id="redirect note"),
        pytest.param("", "short", id="empty"),
        pytest.param(f"# Changes\n\n{PROSE}", None, id="a page"),
        pytest.param(f'{PROSE}\n--8<-- "CHANGELOG.md"\n', "part", id="a page that includes a part"),
        pytest.param(f"{PROSE}\n::: widget.Wheel\n", "part", id="a page with its reference left out"),
        pytest.param(f"{PROSE}\n::: tip e.g. this\nx\n:::\n", None, id="a container with a title"),
        pytest.param(f"import Tabs from 'x'\n\n{PROSE}", None, id="MDX that is all there"),
        pytest.param(f'{PROSE * 9}\n--8<-- "CHANGELOG.md"\n', None, id="a long page that includes a part"),
        pytest.param("# Include\n\n```\n" + '--8<-- "a.md"\n' * 90 + "```\n", None, id="code about includes"),
    ],
)
def test_what_is_a_stub(markdown, expected):
    assert stub(markdown) == expected


@given(st.text(alphabet="-8<{%}!:\n `~#[]().\"'ab>/A_ ", max_size=300))
def test_any_text_is_judged(markdown):
    assert stub(markdown) in {"short", "unfilled"}


def test_html_is_fuller_only_by_more_than_its_navigation():
    assert is_fuller(PROSE, "# Changes\n")
    assert not is_fuller("# Changes\n\n[Home](https://e.org/) [Guide](https://e.org/guide)\n", "# Changes\n")
    assert not is_fuller(PROSE * 2, PROSE * 2)


def test_a_host_where_it_never_pays_is_not_asked_for_long():
    stubs = HostStubs()
    for _ in range(PROBES):
        assert stubs.pays("short")
        stubs.report("unfilled", fuller=False)
    assert not stubs.pays("short")
    assert stubs.pays("part"), "of which nothing is known"
    next_run = HostStubs.from_list(stubs.as_list())
    assert next_run.pays("short")
    next_run.report("short", fuller=False)
    assert not next_run.pays("short")


def test_a_host_where_it_paid_is_asked_further():
    stubs = HostStubs()
    stubs.report("small", fuller=True)
    for _ in range(15):
        stubs.report("part", fuller=False)
    assert stubs.pays("part")
    for _ in range(15):
        stubs.report("small", fuller=False)
    assert not stubs.pays("part"), "one in thirty is too rare"
    assert not HostStubs.from_list(stubs.as_list()).pays("small")


def test_a_page_far_below_its_siblings_may_be_a_stub():
    stubs, small = HostStubs(), f"# Gears\n\n{PROSE}"
    large = [f"# {number}\n\n{PROSE * 20}" for number in range(SIBLINGS - 1)]
    assert [stubs.judge(text) for text in large] == [(None, False)] * (SIBLINGS - 1)
    assert stubs.judge(small) == (None, True), "too few pages to say what is typical"
    assert stubs.judge(small) == ("small", True)
    remembered = HostStubs.from_list(stubs.as_list())
    assert remembered.judge(small) == ("small", False)


@given(sizes=st.lists(st.integers(1, 5000), min_size=SIBLINGS, max_size=600, unique=True), seed=st.randoms())
def test_the_typical_size_of_a_host_does_not_depend_on_the_order_of_its_pages(sizes, seed):
    shuffled = seed.sample(sizes, len(sizes))
    one, other = HostStubs(), HostStubs()
    for stubs, order in ((one, sizes), (other, shuffled)):
        for size in order:
            stubs.judge("word " * size)
    assert one.typical == other.typical > 0


@pytest.mark.parametrize(
    ("text", "expected"), [("# A\n\nSee below.\n", True), ("", True), (PROSE[:200], False), (PROSE, False)]
)
def test_a_page_of_a_full_text_file_is_a_stub_with_next_to_no_text(text, expected):
    assert (stub_of_full_text(text) == "short") is expected


@pytest.mark.parametrize("data", [None, "x", [1], ["a", 2], [True, False], [1, 2, 3]])
def test_what_the_store_cannot_have_written_is_nothing_learned(data):
    assert HostStubs.from_list(data).as_list() == HostStubs().as_list()


def test_what_an_earlier_release_wrote_is_learned():
    assert HostStubs.from_list([8, 2]).as_list() == [8, 2, 0, 0, 0]
