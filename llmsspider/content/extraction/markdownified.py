"""The markdownify engine, subclassed: fenced code with its language, lists and tables that parse back the same."""

from __future__ import annotations

import re
from typing import Any

from markdownify import ATX, MarkdownConverter

from llmsspider.content.markdown.commonmark import code_block

_BACKTICKS = re.compile(r"`{3,}")


class MarkdownifyConverter(MarkdownConverter):
    """The markdownify package, for the plain HTML of the walk. Needs no compiled wheel."""

    class Options(MarkdownConverter.DefaultOptions):  # type: ignore[misc, name-defined]
        """ATX headings, `-` bullets, text escaped, sub- and superscripts kept as HTML."""

        heading_style = ATX
        bullets = "-"
        autolinks = False
        escape_misc = True
        sub_symbol = "<sub>"
        sup_symbol = "<sup>"

    def convert(self, html: str) -> str:
        """Return the Markdown of an HTML fragment."""
        return str(super().convert(html))

    def convert_pre(self, el: Any, text: str, parent_tags: set[str]) -> str:
        """Return a fenced block with the exact text and the language of `<code class="language-…">`."""
        content = el.get_text()
        if not content.strip():
            return ""
        language = next(
            (
                name[9:]
                for child in el.find_all("code")
                for name in child.get("class") or ()
                if name.startswith("language-")
            ),
            "",
        )
        return f"\n\n{code_block(content, language)}\n\n"

    def convert_kbd(self, el: Any, text: str, parent_tags: set[str]) -> str:
        """Return a key as HTML."""
        return f"<kbd>{text}</kbd>"
