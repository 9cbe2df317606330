"""What a page's Markdown and its HTML say that the other does not, and which form of a host is the better one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.content import markdown
from llmsspider.content.judge import PATIENCE, SAMPLES, FormSamples, is_worse

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
        pytest.param(f"---\ntitle: Mills\n---\n{PAGE.removeprefix('# Mills')}", set(), id="front matter"),
        pytest.param(
            PAGE.replace(PROSE, f"!!! note\n    {PROSE}:::tip\nMore.\n:::\n"), set(), id="admonitions"
        ),
        pytest.param(
            PAGE.replace(PROSE, f"<Tabs>\n<Tab label='x'>\n\n{PROSE}</Tab>\n</Tabs>\n\n"), set(), id="MDX"
        ),
        pytest.param(
            PAGE.replace(f"```python\n{PYTHON}```", f"<Code>\n```python\n{PYTHON}```\n</Code>"),
            set(),
            id="code in MDX",
        ),
        pytest.param(
            PAGE.replace(TABLE, "<table>\n<tr><td>Large</td></tr>\n</table>\n"), set(), id="HTML table"
        ),
        pytest.param(
            PAGE.replace("```python", "```py title='a.py' hl_lines='1'"), set(), id="attributes of code"
        ),
        pytest.param(PAGE.replace("## Start", "## Start {#start}"), set(), id="attributes of headings"),
        pytest.param(
            PAGE.replace("../one/", "one.md").replace("../two/", "../two.md"), set(), id="one link elsewhere"
        ),
        pytest.param(
            PAGE + f"\n## More\n\n{PROSE * 3}\n## And more\n\n{PROSE}", set(), id="what the HTML lacks"
        ),
        pytest.param(
            PAGE.replace("```python\n", "").replace("```sh\n", "").replace("```", ""),
            {"code blocks"},
            id="CDN",
        ),
        pytest.param(PAGE.replace(PYTHON, FLAT), {"indentation"}, id="code without indentation"),
        pytest.param(
            PAGE.replace("```python", "```").replace("```sh", "```"), {"languages"}, id="no languages"
        ),
        pytest.param(
            PAGE.replace(TABLE, "Wheel\n\nTeeth\n\nLarge\n\n120\n\nSmall\n\n40\n"),
            {"tables"},
            id="table as text",
        ),
        pytest.param(PAGE.replace("## ", ""), {"headings"}, id="no headings"),
        pytest.param(PAGE.replace("../", "/"), {"links"}, id="links one level too high"),
        pytest.param(
            "# Mills\n\n::: mill.Wheel\n", {"text", "code blocks", "tables", "headings"}, id="a stub"
        ),
    ],
)
def test_what_markdown_lacks_that_its_html_says(text, lost):
    html = markdown.read(PAGE + PROSE * 3, URL)
    assert is_worse(markdown.read(text + PROSE * 3 * ("mill.Wheel" not in text), URL), html) == lost


def test_what_only_the_generator_adds_to_code_is_no_loss():
    """One command for each package manager, of which the author writes one."""
    one = "```sh\nnpm install mill-wheel --save-exact\nnpm run turn -- --fast\n```\n"
    more = one.replace("npm", "yarn").replace("install", "add")
    assert not is_worse(markdown.read(one, URL), markdown.read(one + more, URL))


@given(st.text(alphabet="#`~|-_\\ \n<>ab1:[]()", max_size=200), st.text(alphabet="#`| \nab1", max_size=200))
def test_any_two_texts_are_judged(one, other):
    first, second = markdown.read(one, URL), markdown.read(other, URL)
    is_worse(first, second)
    assert not is_worse(first, first)


def test_two_samples_that_agree_decide_a_form():
    samples = FormSamples()
    assert [samples.takes(PAGE) for _ in range(SAMPLES + 1)] == [True] * SAMPLES + [False]
    assert [samples.report(lost) for lost in ({"code blocks"}, set(), {"code blocks", "links"})] == [
        False,
        False,
        True,
    ]
    assert samples.is_html
    assert samples.evidence == "loses code blocks and links (2 of 3 samples)"
    assert FormSamples.from_dict(samples.as_dict()).as_dict() == samples.as_dict()


def test_pages_with_code_are_samples_first():
    samples = FormSamples()
    assert not any(samples.takes(PROSE) for _ in range(PATIENCE))
    assert samples.takes(PROSE), "no other page came"
    assert FormSamples().takes(PROSE, any_page=True)
    assert FormSamples().takes("# Wait a second\n\n# Then go on\n\nrun\\_it\n")


@pytest.mark.parametrize(
    "data", [None, [], {"good": "x"}, {"good": 1, "worse": 2, "losses": [], "html": True}]
)
def test_what_the_store_cannot_have_written_is_nothing_learned(data):
    assert FormSamples.from_dict(data) == FormSamples()
