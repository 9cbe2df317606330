"""A name is evidence, content decides: no class that a site invents may cost it the text of a page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.etree import tostring

from llmsspider.content.extraction import convert
from llmsspider.content.extraction.hidden import HiddenText
from llmsspider.content.extraction.main_content import find_main
from llmsspider.content.extraction.parsing import parse, read_source
from llmsspider.items import PageMeta

FIXTURES = Path(__file__).parent.parent / "fixtures"
CLASSED = {"vitepress-home"}
"""Pages whose main content only its class tells: a few words in cards, around text that looks like a page."""
PAGES = sorted(
    page
    for page in [*FIXTURES.glob("generators/*.html"), *FIXTURES.glob("fidelity/*.html")]
    if page.stem not in CLASSED
)
URL = "https://widget.example.org/docs/page"
NAMES = (
    "nav", "navbar", "navigation", "menu", "sidebar", "footer", "breadcrumbs", "cookies", "banner", "toc", "share",
    "related", "comments", "promo", "ad", "popup", "modal", "masthead", "newsletter", "pagination", "pager", "skip",
    "copy", "feedback", "related-articles", "section-index", "search-results", "page-nav", "no-print", "note", "math",
    "latex", "tabs", "message", "adjustable-sidebar-width", "not-a-nav menu",
)  # fmt: skip
"""Words that speak for chrome, or for what a page is not."""
LEAST = 0.7
"""Part of a page's words that stays: a heading can lie outside of what its generator calls the main content."""
PROSE = "<p>A widget turns the wheel of the machine, and the machine turns the mill that grinds the corn.</p>"


def words(markdown: str) -> Counter[str]:
    return Counter(re.findall(r"\w{3,}", re.sub(r"\(https?://[^)]*\)", "", markdown)))


def renamed(body: bytes, name: str, *, outermost: bool) -> bytes:
    """Return the page with `name` as the class of its main content, and of all that is around it if `outermost`."""
    source = read_source(body, None)
    root = parse(source)
    main, _ = find_main(root, source, PageMeta(), (), HiddenText(root, source))
    around = [above for above in main.iterancestors() if above.tag not in {"html", "body"}]
    wrappers = [main, *around] if outermost else [main]
    if main.tag == "body":
        wrappers = [child for child in main if len(list(child.iter("p"))) > 1]
    for wrapper in wrappers:
        wrapper.set("class", name)
        wrapper.attrib.pop("id", None)
    return bytes(tostring(root, method="html", encoding="utf-8"))


@pytest.mark.parametrize(
    ("path", "names"),
    [
        pytest.param(path, NAMES[n % 3 :: 3], id=f"{path.parent.name}-{path.stem}")
        for n, path in enumerate(PAGES)
    ],
)
def test_the_main_content_is_found_whatever_it_is_called(path, names):
    """A third of the names for each page, so each of them is tried on a third of the pages."""
    body = path.read_bytes()
    known = words(convert(body, URL, None).markdown)
    for name in names:
        for outermost in (False, True):
            found = words(convert(renamed(body, name, outermost=outermost), URL, None).markdown)
            lost = known - found
            assert lost.total() <= (1 - LEAST) * known.total(), (name, outermost, lost)


@given(
    st.lists(st.sampled_from(NAMES), min_size=4, max_size=4),
    st.sampled_from(["div", "section", "form", "aside"]),
)
def test_wrappers_in_wrappers_keep_what_they_hold(names, tag):
    inner = f"<h1>Wheels</h1>{PROSE * 3}<h2>Mills</h2>{PROSE}"
    for name in names:
        inner = f'<{tag} class="{name}">{inner}</{tag}>'
    page = convert(
        f"<html><head><title>Wheels</title></head><body>{inner}</body></html>".encode(),
        URL,
        "utf-8",
    )
    assert page.markdown.count("grinds the corn") == 4
    assert "Wheels" in page.markdown
    assert "Mills" in page.markdown


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        pytest.param(
            '<div class="copy"><p>Congratulations, your first widget turns now.</p></div>',
            True,
            id="splash",
        ),
        pytest.param(
            '<div class="copy"><button>Copy to clipboard</button></div>', False, id="copy button"
        ),
        pytest.param(
            '<div class="section-index"><div class="entry"><h5><a href="/a">Axles</a></h5>'
            "<p>How an axle carries the widget and the wheel.</p></div></div>",
            True,
            id="sections with descriptions",
        ),
        pytest.param(
            '<div class="related-articles"><ul><li><a href="/a">Axles</a></li></ul></div>',
            False,
            id="links alone",
        ),
        pytest.param(
            '<div class="feedback"><p>Was this page helpful? Tell us how we can improve it, we read it all.</p>'
            "<button>Yes</button><button>No</button></div>",
            False,
            id="feedback",
        ),
        pytest.param(
            '<div class="feedback"><h3>The feedback signal</h3><p>The governor slows the wheel by it.</p>'
            "<pre>signal = wheel.feedback()</pre></div>",
            True,
            id="feedback as a subject",
        ),
        pytest.param(
            '<div class="cookies"><p>This site uses cookies to remember what you looked at before.</p></div>',
            False,
            id="consent",
        ),
        pytest.param(
            '<div class="ad"><p>An air duct leads the dust of the mill away from the miller.</p></div>',
            True,
            id="ad that is none",
        ),
        pytest.param(
            '<div class="pager"><a href="/n">Next: how an axle carries it all</a></div>',
            False,
            id="pager",
        ),
        pytest.param(
            '<div class="toc"><h2>Contents</h2><ul><li><a href="#a">A</a> and what it is for, told in full length'
            "</li></ul></div>",
            False,
            id="contents",
        ),
        pytest.param(
            '<nav class="x"><a href="/n">Axles and mills and everything else</a></nav>',
            False,
            id="nav",
        ),
    ],
)
def test_what_an_element_holds_decides(html, kept):
    page = convert(
        f"<html><body><main><h1>Wheels</h1>{PROSE * 3}{html}</main></body></html>".encode(),
        URL,
        "utf-8",
    )
    extra = page.markdown.replace(
        convert(f"<main><h1>Wheels</h1>{PROSE * 3}</main>".encode(), URL, None).markdown, ""
    )
    assert bool(extra.strip()) == kept, extra


def test_a_heading_of_level_1_is_never_dropped():
    page = convert(
        f'<html><body><main><div class="carbonads"><h1>Wheels</h1></div>{PROSE * 3}</main></body></html>'.encode(),
        URL,
        "utf-8",
    )
    assert page.markdown.startswith("# Wheels\n")


def test_a_name_of_ten_thousand_words_is_read():
    name = " ".join(f"word{number}" for number in range(10_000)) + " sidebar ad"
    page = convert(
        f'<html><body><div class="{name}"><h1>Wheels</h1>{PROSE * 3}</div></body></html>'.encode(),
        URL,
        None,
    )
    assert page.markdown.startswith("# Wheels\n\nA widget turns")
