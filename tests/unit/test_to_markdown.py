"""`llmsspider.to_markdown`: a page as Markdown, by the function that a crawl uses."""

import subprocess
import sys

import pytest

import llmsspider
from llmsspider.content.extraction import convert
from llmsspider.errors import ArgumentsError
from llmsspider.items import Link

URL = "https://docs.example.com/guide/install"
PAGE = """<html lang="en"><head><title>Install | Acme</title><meta name="description" content="How to">
<link rel="canonical" href="/guide/install"></head><body><nav><a href="/x">Other pages</a></nav>
<main><h1>Install</h1><p>Run it <a href="next#end">once</a>, with all of its options.</p>
<div class="tried"><p>Tried on a kettle.</p></div></main>
<aside class="side"><p>Words at the side.</p></aside></body></html>"""


def test_a_page_is_its_text_and_what_it_says_of_itself():
    made = llmsspider.to_markdown(PAGE, url=URL)
    assert made.text == (
        "# Install\n\nRun it [once](https://docs.example.com/guide/next#end), with all of its options.\n\n"
        "Tried on a kettle.\n"
    )
    assert (made.title, made.language) == ("Install", "en")
    assert made.links == (Link("once", "https://docs.example.com/guide/next#end"),)
    assert made.metadata == {"description": "How to", "canonical": URL}
    assert made.text == convert(PAGE.encode(), URL, "utf-8").markdown, "a crawl's is another"


def test_without_an_address_links_stay_as_they_are():
    made = llmsspider.to_markdown(PAGE.encode())
    assert "[once](next#end)" in made.text
    assert made.links == (Link("once", "next#end"),)


@pytest.mark.parametrize(
    ("keep", "drop", "there", "gone", "unmatched"),
    [
        ((), ".tried", "Run it", "kettle", ()),
        (".side", (), "Words at the side.", "Run it", ()),
        ([".side", ".tried"], (), "kettle.\n\nWords", "Run it", ()),
        ("main", ["p > a", ".none"], "with all", "once", (".none",)),
        (".none", (), "Run it", "Words at", (".none",)),
    ],
    ids=["drop", "keep", "several, in the order of the page", "both", "nothing matches"],
)
def test_selectors_keep_and_drop_parts(keep, drop, there, gone, unmatched):
    made = llmsspider.to_markdown(PAGE, url=URL, keep=keep, drop=drop)
    assert there in made.text
    assert gone not in made.text
    assert made.unmatched == unmatched


def test_a_selector_that_cannot_be_read_is_said():
    with pytest.raises(ArgumentsError, match=r"drop='a\[' is no CSS selector") as wrong:
        llmsspider.to_markdown(PAGE, keep="p", drop="a[")
    assert "\n" not in str(wrong.value)


ALONE = """
import sys
import llmsspider
llmsspider.to_markdown("<p>Words.</p>")
{more}
heavy = {{"scrapy", "twisted", "sqlalchemy", "pydantic"}} & {{name.partition(".")[0] for name in sys.modules}}
heavy |= {{name for name in sys.modules if name.startswith("llmsspider.store")}}
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    "more",
    [
        "",
        "from llmsspider.cli.main import main; sys.stdin = open(sys.argv[1]); assert main(['convert', '-']) == 0",
    ],
    ids=["function", "command"],
)
def test_neither_scrapy_nor_the_store_is_imported(tmp_path, more):
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    code = ALONE.format(more=more)
    done = subprocess.run(
        [sys.executable, "-c", code, page], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_needs_no_crawl_imports_no_scrapy(option):
    code = (
        "import sys\nfrom llmsspider.cli.main import main\n"
        f"try: main(['{option}'])\nexcept SystemExit as ended: assert not ended.code\n"
        "assert not {'scrapy', 'pydantic', 'lxml'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
