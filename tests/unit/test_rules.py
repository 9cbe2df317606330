"""What filters elements: attributes other than the class, looked for once in the main content."""

from __future__ import annotations

import pytest

from llmsspider.content.extraction.parsing import parse, read_source
from llmsspider.content.extraction.rules import Kind, Rules

SELECTORS = ("#toc", "#gone", "[role=navigation]", "[data-ad]", "[v-on:click]", ".dropped")
PAGE = b"""<div id=toc>a</div><div id=gone>b</div><p role=navigation>c</p><p role=note>d</p><b DATA-AD>e</b>
<i v-on:click="f()">f</i><p id=here>g</p><p class=dropped id=h>h</p>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_attributes_say_the_same_in_one_search_as_element_by_element(encoding):
    source = read_source(PAGE.decode().encode(encoding), encoding)
    main, rules = parse(source), Rules(SELECTORS)
    found = rules.kinds_by_attribute(main, source)
    assert found == {
        element: kind
        for element in main.iter()
        if (kind := rules.by_attribute(element)) is not Kind.PLAIN
    }
    assert {element.text: kind for element, kind in found.items()} == {
        "a": Kind.DOUBTFUL,
        "b": Kind.DROP,
        "c": Kind.DROP,
        "e": Kind.DROP,
        "f": Kind.DROP,
    }
