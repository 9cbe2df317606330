"""Markdown that is a stub of its page: how it is told, and when its HTML is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.crawl.page_checks import PROBES, HostStubs, is_fuller, stub

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
        pytest.param(f'{PROSE}\n--8<-- "CHANGELOG.md"\n', None, id="a page that includes a part"),
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
        assert stubs.pays()
        stubs.report(fuller=False)
    assert not stubs.pays()
    next_run = HostStubs.from_list(stubs.as_list())
    assert next_run.pays()
    next_run.report(fuller=False)
    assert not next_run.pays()


def test_a_host_where_it_paid_is_asked_further():
    stubs = HostStubs()
    stubs.report(fuller=True)
    for _ in range(15):
        stubs.report(fuller=False)
    assert stubs.pays()
    for _ in range(15):
        stubs.report(fuller=False)
    assert not stubs.pays(), "one in thirty is too rare"
    assert not HostStubs.from_list(stubs.as_list()).pays()


@pytest.mark.parametrize("data", [None, "x", [1], ["a", 2], [True, False]])
def test_what_the_store_cannot_have_written_is_nothing_learned(data):
    assert HostStubs.from_list(data) == HostStubs()
