"""The ids of headings, as HTML has them."""

import pytest

from llmsspider.content.extraction import convert, read_metadata

TEXT = "<p>Words of the page.</p>"
FORMS = {
    "its own": ("<h2 id='b'>B</h2>", "b"),
    "a permalink": ("<h2>B <a class='headerlink' href='#b%20c'>¶</a></h2>", "b c"),
    "a section": (f"<section id='b'><h2>B</h2>{TEXT}<h3>C</h3>{TEXT}</section>", "b"),
    "a division": (f"<div class='section' id='b'><h3>B</h3>{TEXT}</div>", "b"),
    "an anchor in it": ("<h2><a name='b'></a>B</h2>", "b"),
    "an anchor before it": ("<a id='b'></a><h2>B</h2>", "b"),
    "an anchor in a paragraph": ("<p><a name='b'></a></p>\n<h2>B</h2>", "b"),
    "a link to elsewhere": ("<h2><a href='/b#c'>B</a></h2>", None),
    "text before it": ("<p><a id='x'></a>Words.</p><h2>B</h2>", None),
    "a division of several": (f"<div id='x'><h2>B</h2>{TEXT}<h2>C</h2>{TEXT}</div>", None),
    "a division that begins otherwise": (f"<div id='x'><h2>A</h2><h3>B</h3>{TEXT}</div>", None),
    "a comment before it": ("<!-- b --><h2>B</h2>", None),
}


@pytest.mark.parametrize(("html", "expected"), FORMS.values(), ids=list(FORMS))
def test_the_id_of_a_heading(html: str, expected: str | None):
    body = f"<html><body><main><h1>Page</h1>{TEXT}{html}{TEXT}</main></body></html>".encode()
    for read in (convert, read_metadata):
        found = dict(read(body, "https://e.com/a", None).heading_ids)
        assert found.get("B") == expected
    assert "B" in convert(body, "https://e.com/a", None).markdown


def test_members_are_found_by_their_ids():
    body = f"<main><h1>API</h1><dl><dt id='kit.Wheel'><code>class kit.Wheel</code></dt><dd>{TEXT}</dd></dl></main>"
    assert ("kit.Wheel", "kit.Wheel") in convert(body.encode(), "https://e.com/a", None).heading_ids
