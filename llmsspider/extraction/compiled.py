"""html-to-markdown, the compiled engine."""

from __future__ import annotations

import html_to_markdown


class CompiledConverter:
    """The html-to-markdown wheel (Rust), set to keep text exact."""

    def __init__(self) -> None:
        self._options = html_to_markdown.ConversionOptions(
            extract_metadata=False, autolinks=False, bullets="-", br_in_tables=True, compact_tables=True,
            escape_misc=True, escape_asterisks=True, escape_underscores=True, sub_symbol="~", sup_symbol="^",
        )  # fmt: skip

    def convert(self, html: str) -> str:
        """Return the Markdown of an HTML fragment."""
        return str(html_to_markdown.convert(html, self._options).content or "")
