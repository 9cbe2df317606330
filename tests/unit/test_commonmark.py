"""Destinations of Markdown links: what is plain stays, the rest is encoded as markdown-it does."""

from __future__ import annotations

from fuzzing import examples
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it.common.normalize_url import normalizeLink

from llmsspider.content.markdown.commonmark import encoded

STARTS = (
    "",
    "http://",
    "https://",
    "//",
    "mailto:",
    "HTTP://",
    "https://Docs.Example.com",
    "https://u:p@h:8",
    "https://:80",
)


@examples(1000)
@given(st.sampled_from(STARTS), st.text("aB0./#?=&:~+,;@!$*'()-_%<[ \\é", max_size=12))
@example("//", "@a")
@example("", "a#b:c@d")
def test_it_is_what_markdown_it_makes_of_it(start, rest):
    path = (start + rest).partition("#")[0].partition("?")[0]
    behind = (start + rest)[len(path) :]
    assert encoded(start + rest) == normalizeLink(path.replace("\\", "/") + behind)
