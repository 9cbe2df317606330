"""`llmsspider demo`: the site of the tutorial."""

from __future__ import annotations

import re

from llmsspider.commands.demo import LLMS_TXT, NAMES, answer

PAGES = {name: (answer(f"/{name}.md") or ("", ""))[1] for name in NAMES}


def test_every_page_is_there_as_html_and_markdown_and_listed() -> None:
    for name, text in PAGES.items():
        assert answer(f"/{name}.md") == ("text/markdown", text)
        kind, page = answer(f"/{name}") or ("", "")
        assert (kind, page.count("<h1>")) == ("text/html", 1)
        assert f"({name}.md)" in LLMS_TXT
    assert answer("/llms.txt") == ("text/plain", LLMS_TXT)
    assert answer("/?from=tutorial") == answer("/index")
    assert answer("/tea") is answer("/tea.md") is None


def test_no_link_is_dead() -> None:
    for text in (*PAGES.values(), LLMS_TXT):
        assert all(answer(target) for target in re.findall(r"\]\(([^)]+)\)", text))
