"""The results of a search as the web page draws them."""

from __future__ import annotations

from llmsspider.answers.ranking import SearchResult
from llmsspider.ui.rendering import marked, render
from llmsspider.ui.views import Found

BEFORE = "A sentence of another section. " * 40


def shown(text: str, *heading_path: str) -> str:
    """The passage of one result, as HTML."""
    found = SearchResult(
        url="https://e.com/a", title="A", heading_path=heading_path, text=text,
        score=1.0, source="docs", page_id="1", section=None, fetched_at="", offset=0,
        length=len(text),
    )  # fmt: skip
    page = render("results.html.j2", found=Found("lost", [found], None, ["lost"]), marked=marked)
    return page.partition("<pre")[2].partition(">")[2].partition("</pre>")[0]


def test_a_passage_begins_with_the_heading_that_was_found() -> None:
    text = f"{BEFORE}\n\n## When it is lost\n\nIt is <kept>.\n"
    assert shown(text, "A", "When it is lost") == (
        "…\n# When it is <mark>lost</mark>\n\nIt is &lt;kept&gt;.\n"
    )


def test_a_passage_whose_heading_is_near_or_absent_is_shown_from_its_begin() -> None:
    for heading in (("When it is lost",), ("Elsewhere",), ()):
        assert shown("A line.\n\n## When it is lost\n\nText.\n", *heading).startswith("A line.")
