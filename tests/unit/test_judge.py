"""What a page's Markdown and its HTML say that the other does not, and which form of a host is the better one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.content import markdown
from llmsspider.content.judge import Compared, compare, may_be_stub
from llmsspider.crawler.second_requests import PATIENCE, SAMPLES, FormSamples, Judged

URL = "https://e.org/guide/a/"
PROSE = "The wheel of the mill is turned by the water of the river, which comes down from the hills.\n\n"
PYTHON = "def turn(wheel):\n    for tooth in wheel:\n        tooth.move()\n"
SHELL = "curl https://e.org/install | sh\nmill start --wheel 3\n"
TABLE = "| Wheel | Teeth |\n|---|---|\n| Large | 120 |\n| Small | 40 |\n"
PAGE = (
    f"# Mills\n\n{PROSE}```python\n{PYTHON}```\n\n## Start\n\n```sh\n{SHELL}```\n\n## Wheels\n\n{TABLE}\n"
    "[One](../one/) [Two](../two/) [Three](../three/)\n"
)
FLAT = PYTHON.replace("    ", "")


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        pytest.param(PAGE, set(), id="the same"),
        pytest.param(
            f"---\ntitle: Mills\n---\n{PAGE.removeprefix('# Mills')}", set(), id="front matter"
        ),
        pytest.param(
            PAGE.replace(PROSE, f"!!! note\n    {PROSE}:::tip\nMore.\n:::\n"),
            set(),
            id="admonitions",
        ),
        pytest.param(
            PAGE.replace(PROSE, f"<Tabs>\n<Tab label='x'>\n\n{PROSE}</Tab>\n</Tabs>\n\n"),
            set(),
            id="MDX",
        ),
        pytest.param(
            PAGE.replace(f"```python\n{PYTHON}```", f"<Code>\n```python\n{PYTHON}```\n</Code>"),
            set(),
            id="code in MDX",
        ),
        pytest.param(
            PAGE.replace(TABLE, "<table>\n<tr><td>Large</td></tr>\n</table>\n"),
            set(),
            id="HTML table",
        ),
        pytest.param(
            PAGE.replace("```python", "```py title='a.py' hl_lines='1'"),
            set(),
            id="attributes of code",
        ),
        pytest.param(
            PAGE.replace("## Start", "## Start {#start}"), set(), id="attributes of headings"
        ),
        pytest.param(
            PAGE.replace("../one/", "one.md").replace("../two/", "../two.md"),
            set(),
            id="one link elsewhere",
        ),
        pytest.param(
            PAGE + f"\n## More\n\n{PROSE * 3}\n## And more\n\n{PROSE}",
            set(),
            id="what the HTML lacks",
        ),
        pytest.param(
            PAGE.replace("```python\n", "").replace("```sh\n", "").replace("```", ""),
            {"code blocks"},
            id="CDN",
        ),
        pytest.param(PAGE.replace(PYTHON, FLAT), {"indentation"}, id="code without indentation"),
        pytest.param(
            PAGE.replace("```python", "```").replace("```sh", "```"),
            {"languages"},
            id="no languages",
        ),
        pytest.param(
            PAGE.replace(TABLE, "Wheel\n\nTeeth\n\nLarge\n\n120\n\nSmall\n\n40\n"),
            {"tables"},
            id="table as text",
        ),
        pytest.param(PAGE.replace("## ", ""), {"headings"}, id="no headings"),
        pytest.param(PAGE.replace("../", "/"), {"links"}, id="links one level too high"),
        pytest.param(
            "# Mills\n\n::: mill.Wheel\n",
            {"text", "code blocks", "tables", "headings"},
            id="a stub",
        ),
    ],
)
def test_what_markdown_lacks_that_its_html_says(text, lost):
    html = markdown.read(PAGE + PROSE * 3, URL)
    found = compare(markdown.read(text + PROSE * 3 * ("mill.Wheel" not in text), URL), html)
    assert (found.lost, found.is_stub) == (lost, "mill.Wheel" in text)


def test_what_only_the_generator_adds_to_code_is_no_loss():
    """One command for each package manager, of which the author writes one."""
    one = "```sh\nnpm install mill-wheel --save-exact\nnpm run turn -- --fast\n```\n"
    more = one.replace("npm", "yarn").replace("install", "add")
    assert not compare(markdown.read(one, URL), markdown.read(one + more, URL)).lost


@given(
    st.text(alphabet="#`~|-_\\ \n<>ab1:[]()", max_size=200),
    st.text(alphabet="#`| \nab1", max_size=200),
)
def test_any_two_texts_are_judged(one, other):
    first, second = markdown.read(one, URL), markdown.read(other, URL)
    compare(first, second)
    same = compare(first, first)
    assert (same.lost, same.lag, same.html) == (frozenset(), "", same.markdown)


MILL = "The old mill of the valley grinds the corn of nine villages, and its wheel has forty teeth.\n\n"
NEWER = MILL.replace("forty", "fifty")


@pytest.mark.parametrize(
    ("text", "html", "lag"),
    [
        pytest.param(MILL, NEWER, "edits", id="an edit"),
        pytest.param(MILL, MILL + NEWER, "less", id="a paragraph more"),
        pytest.param(MILL + NEWER, MILL, "", id="a paragraph less"),
        pytest.param(f"- {MILL}", f"- {NEWER}", "edits", id="in a list"),
        pytest.param(
            f"!!! note\n    {MILL}", f"> **Note:** {NEWER}", "edits", id="in an admonition"
        ),
        pytest.param(
            f"---\ndescription: {MILL}---\n{NEWER}", f"{MILL}{NEWER}", "", id="the description"
        ),
        pytest.param(MILL.replace("forty", "{{ teeth }}"), MILL, "less", id="a variable"),
        pytest.param(
            MILL.replace("teeth.", "teeth.[^a]"),
            MILL.replace("teeth.", "teeth.[^1]"),
            "",
            id="a note",
        ),
        pytest.param(
            MILL.replace("forty", "$n^2$"), MILL.replace("forty", "n²"), "less", id="a formula"
        ),
        pytest.param(
            MILL.replace("forty", "2 m"), MILL.replace("forty", "2m"), "less", id="where words end"
        ),
        pytest.param(f"```\n{MILL}```\n", NEWER, "less", id="code is no passage"),
        pytest.param(
            f"{MILL}## Nine words of a heading are no passage here, too\n", MILL, "", id="a heading"
        ),
    ],
)
def test_what_a_form_of_an_earlier_build_has_in_other_words(text, html, lag):
    found = compare(markdown.read(text, URL), markdown.read(html, URL))
    assert (found.lost, found.lag, bool(found.html)) == (frozenset(), lag, True)


def test_a_wall_is_no_state_of_a_page():
    wall = "# Sign in\n\nPlease sign in with your account to go on to all of the pages.\n"
    assert compare(markdown.read(MILL, URL), markdown.read(wall, URL)) == Compared(frozenset())


# --- forms of a host and its sections ---


def lacks(lost: str, **more: bool) -> Compared:
    return Compared(frozenset(filter(None, lost.split(","))), **more)


def decided(judged: Judged, *samples: tuple[str, str]) -> dict[str, bool | None]:
    """What is decided once samples of these sections lacked this, by section."""
    for section, lost in samples:
        found = judged.of("files", "e.org", section)
        if found.takes(PAGE):
            found.report(lacks(lost), "")
    return {section: judged.of("files", "e.org", section).is_html for section, _ in samples}


def test_two_samples_that_agree_decide_a_form():
    samples = FormSamples()
    assert [samples.takes(PAGE) for _ in range(SAMPLES)] == [True, True, False]
    assert [samples.report(lacks(lost), "") for lost in ("code blocks", "")] == [None, None]
    assert samples.takes(PAGE), "they do not agree"
    assert samples.report(lacks("code blocks,links"), "") is samples
    assert samples.is_html
    assert samples.evidence == "loses code blocks and links (2 of 3 samples)"


def test_pages_with_code_are_samples_first():
    samples = FormSamples()
    assert not any(samples.takes(PROSE) for _ in range(PATIENCE))
    assert samples.takes(PROSE), "no other page came"
    assert FormSamples().takes(PROSE, any_page=True)
    assert FormSamples().takes("# Wait a second\n\n# Then go on\n\nrun\\_it\n")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param(
            [("/a/", ""), ("/a/", ""), ("/b/", "")], {"/a/": False, "/b/": False}, id="all good"
        ),
        pytest.param([("/a/", "text"), ("/b/", "text")], {"/a/": True, "/b/": True}, id="none"),
        pytest.param(
            [("/a/", ""), ("/a/", ""), ("/b/", "text"), ("/b/", "text"), ("/c/", "")],
            {"/a/": False, "/b/": True, "/c/": False},
            id="one section is worse",
        ),
        pytest.param(
            [("/a/", "text"), ("/a/", "text"), ("/b/", ""), ("/b/", "")],
            {"/a/": True, "/b/": False},
            id="one is good",
        ),
        pytest.param(
            [("/a/", ""), ("/a/", ""), ("/b/", "text")],
            {"/a/": False, "/b/": None},
            id="one sample is few",
        ),
        pytest.param(
            [("/b/", "text"), ("/a/", ""), ("/a/", ""), ("/b/", "text")],
            {"/a/": False, "/b/": True},
            id="in any order",
        ),
    ],
)
def test_a_section_is_as_its_host_unless_its_own_samples_speak_against_it(samples, expected):
    judged = Judged()
    assert decided(judged, *samples) == expected
    again = Judged(json.loads(json.dumps(judged.to_keep())))
    assert again.to_keep() == judged.to_keep()
    asked_on = {section: again.of("files", "e.org", section).is_html for section in expected}
    assert asked_on == expected
    assert again.of("files", "e.org", "/new/").is_html == again.of("files", "e.org").is_html
    assert again.of("Accept", "e.org").is_html is None


def test_a_section_is_not_sampled_where_there_is_no_room_and_a_stub_says_nothing_of_it():
    judged = Judged()
    decided(judged, ("", ""), ("", ""))
    section = judged.of("files", "e.org", "/a/")
    assert not section.takes(PAGE, has_room=False)
    assert section.takes(PAGE)
    assert section.is_html is None, "its sample is under way"
    assert section.report(lacks("text", is_stub=True), "") is None
    assert section.is_html is False


SAME = [("b", "1", "1", ""), ("c", "2", "2", "")]
LATE = [("a", "new", "old", "edits")]
OTHER = [("a", "1", "x", "less"), ("b", "2", "y", "less"), ("c", "3", "z", "less")]


@pytest.mark.parametrize(
    ("nights", "lags"),
    [
        pytest.param([SAME], False, id="all say the same"),
        pytest.param([[*SAME, *LATE]], True, id="others say the same"),
        pytest.param([[*LATE, *SAME]], True, id="in any order"),
        pytest.param([SAME, LATE], True, id="others said the same in an earlier run"),
        pytest.param(
            [[*LATE, ("b", "new", "old", "edits"), *SAME[1:]]], True, id="most are in other words"
        ),
        pytest.param([LATE], False, id="one page"),
        pytest.param([[*SAME, ("a", "1", "x", "less")]], False, id="a page of another form"),
        pytest.param([OTHER] * 3, False, id="made of another form, again and again"),
        pytest.param([SAME[:1], [("b", "new", "1", "edits")]], True, id="only the page changed"),
        pytest.param([SAME, [("b", "new", "1", "less")]], False, id="a banner on the page"),
        pytest.param(
            [OTHER, [("a", "2", "x", "less")]], False, id="what it lacks is not as it was"
        ),
        pytest.param([OTHER, [("a", "2", "y", "less")]], False, id="both changed"),
        pytest.param([OTHER, [("a", "1", "1", "")]], True, id="it came after"),
        pytest.param([SAME, [("b", "3", "3", "")]], False, id="changed together"),
    ],
)
def test_what_shows_that_a_form_lags(nights, lags):
    judged, found = Judged(), []
    for pages in nights:
        samples = judged.of("full text", "https://e.org/llms-full.txt")
        samples.report_all({url: Compared(frozenset(), *said) for url, *said in pages})
        found.append(bool(samples.is_html))
        judged = Judged(json.loads(json.dumps(judged.to_keep())))
    assert found[-1] == lags
    assert not lags or samples.evidence == "lags behind its pages"


def test_a_form_that_lagged_is_believed_again_when_it_says_what_its_pages_say():
    judged = Judged()
    file = judged.of("full text", "https://e.org/llms-full.txt")
    for page in [*SAME, *LATE]:
        file.report_all({page[0]: Compared(frozenset(), *page[1:])})
    assert (file.is_html, file.again) == (True, ["a"])
    nights = [SAME, SAME, SAME, SAME, [("a", "new", "new", "")], SAME, SAME, SAME]
    told = []
    for pages in nights:
        judged = Judged(json.loads(json.dumps(judged.to_keep())))
        file = judged.of("full text", "https://e.org/llms-full.txt")
        file.report_all({url: Compared(frozenset(), *said) for url, *said in pages})
        told.append(file.is_html)
    assert told == [True] * 7 + [False], (
        "its page in other words says the same now, and three nights follow"
    )
    assert file.report_all({}) is None


def test_a_form_is_decided_otherwise_by_samples_in_a_row():
    judged = Judged()
    decided(judged, ("", ""), ("", ""), ("/a/", ""))
    host, section = judged.of("files", "e.org"), judged.of("files", "e.org", "/a/")

    def night(samples: FormSamples, lost: str) -> FormSamples | None:
        return samples.report_all({URL: lacks(lost)})

    assert [night(section, lost) for lost in ("text", "", "tables", "text")] == [None] * 4
    assert host.is_html is False
    assert night(section, "tables") is host
    assert (section.is_html, host.evidence) == (True, "loses tables (3 of 3 samples)")
    assert [night(host, "") for _ in range(SAMPLES)] == [None, None, host]
    assert section.is_html is False


@pytest.mark.parametrize(
    "data", [None, {}, ["x"], [["files", "e.org", "", 1, "2", {}, None]], [[1] * 7]]
)
def test_what_the_store_cannot_have_written_is_nothing_learned(data):
    assert Judged(data).to_keep() == []


# --- pages that may be stubs ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('# Changes\n\n--8<-- "CHANGELOG.md"\n', True, id="PyMdown snippet"),
        pytest.param('{% include "CHANGELOG.md" %}\n', True, id="Jinja"),
        pytest.param(
            "# API\n\n::: widget.wheel.Wheel\n    options:\n      members: true\n",
            True,
            id="mkdocstrings",
        ),
        pytest.param("import Intro from './_intro.mdx'\n\n<Intro />\n", True, id="MDX"),
        pytest.param("# Moved\n\nSee [the guide](/guide).\n", True, id="short"),
        pytest.param("", True, id="empty"),
        pytest.param(PROSE * 5, False, id="a page"),
        pytest.param(f'{PROSE * 5}--8<-- "CHANGELOG.md"\n', True, id="a page that includes a part"),
        pytest.param(
            f"{PROSE * 5}::: widget.Wheel\n", True, id="a page with its reference left out"
        ),
        pytest.param(f"{PROSE * 5}<!--@include: ./parts/basics.md-->\n", True, id="VitePress"),
        pytest.param(f"{PROSE * 5}```{{include}} ../CHANGELOG.md\n```\n", True, id="MyST"),
        pytest.param(f"{PROSE * 5}[!INCLUDE [x](../x.md)]\n", True, id="DocFX"),
        pytest.param(f"{PROSE * 5}{{{{< readfile file=x.md >}}}}\n", True, id="Hugo"),
        pytest.param(f"{PROSE * 5}<CardGrid />\n", True, id="component without children"),
        pytest.param(
            f"{PROSE * 5}::: tip e.g. this\nx\n:::\n", False, id="a container with a title"
        ),
        pytest.param(f"import Tabs from 'x'\n\n{PROSE * 5}", False, id="MDX that is all there"),
        pytest.param(
            f'{PROSE * 45}--8<-- "CHANGELOG.md"\n', False, id="a long page that includes a part"
        ),
        pytest.param(
            "# Include\n\n```\n" + '--8<-- "a.md"\n' * 90 + "```\n", False, id="code about includes"
        ),
    ],
)
def test_what_may_be_a_stub(text, expected):
    assert may_be_stub(text) is expected


@given(st.text(alphabet="-8<{%}!:\n `~#[]().\"'ab>/A_ ", max_size=250))
def test_any_short_text_may_be_one(text):
    assert may_be_stub(text)


def test_links_of_one_form_alone_are_no_links_of_both_whatever_they_lead_to():
    """A link of a local file, or a relative one, has no host."""
    here = "file:///srv/guide/a.html"
    one, other = (markdown.read(text, here) for text in (f"{PAGE}[¹](note.html)\n", PAGE))
    assert compare(one, other).lost == frozenset()


def test_markdown_that_shares_nothing_with_its_html_lacks_its_text():
    guide = "# Agents\n\nAsk for the one file that tells agents all they need to know here.\n"
    of_html = (
        MILL + "\nA second paragraph tells how the stones of the mill are dressed each year.\n"
    )
    read = markdown.read
    found = compare(read(guide, URL), read(of_html, URL))
    assert found.lost == {"text"}
    assert compare(read(f"{MILL}\n", URL), read(of_html, URL)).lost == frozenset()
