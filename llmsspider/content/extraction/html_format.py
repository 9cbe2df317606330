"""`HtmlFormat`: the result of the walk as plain HTML, in elements that every library engine supports."""

from __future__ import annotations

import re
from html import escape as escape_html

from llmsspider.content.extraction.formats import Items, MarkdownFormat
from llmsspider.content.extraction.tree import collapsed

_SPACES = re.compile(r" {2,}")


class HtmlFormat(MarkdownFormat):
    """Writes plain HTML, which a library engine then converts to Markdown."""

    def text(self, text: str) -> str:
        """Return character data, escaped, each run of white space as one space."""
        return escape_html(collapsed(text), quote=False)

    def behind_bracket(self, piece: str) -> str:
        """Return a piece as it is."""
        return piece

    def code_span(self, text: str) -> str:
        """Return inline code."""
        return f"<code>{escape_html(text, quote=False)}</code>"

    def emphasis(self, inner: str, mark: str, before: str, after: str) -> str:
        """Return emphasis; `mark` is `*`, `**` or `~~`, `before` and `after` the characters around."""
        tag = {"*": "em", "**": "strong", "~~": "del"}[mark]
        return f"<{tag}>{inner}</{tag}>"

    def link(self, inner: str, url: str, title: str) -> str:
        """Return a link."""
        return f'<a href="{escape_html(url)}"{_attribute("title", title)}>{inner}</a>'

    def autolink(self, url: str) -> str:
        """Return a link whose text is its URL."""
        return self.link(escape_html(url), url, "")

    def image(self, alt: str, url: str, title: str) -> str:
        """Return an image."""
        return f'<img src="{escape_html(url)}" alt="{escape_html(alt)}"{_attribute("title", title)}>'

    def math(self, tex: str) -> str:
        """Return inline TeX."""
        return f"${escape_html(tex)}$"

    def checkbox(self, *, checked: bool) -> str:
        """Return the mark of a task item."""
        return f"[{'x' if checked else ' '}] "

    def line(self, run: list[str]) -> str:
        """Return inline pieces as one line (a heading, a cell)."""
        return _SPACES.sub(" ", "".join(run)).strip(" \n\xa0").replace("\n", "<br>")

    def paragraph(self, run: list[str]) -> str:
        r"""Return inline pieces as a paragraph; `\n` in them is a line break."""
        return f"<p>{self.line(run)}</p>" if self.line(run) else ""

    def heading(self, level: int, inner: str) -> str:
        """Return a heading of level 1 to 6."""
        return f"<h{level}>{inner}</h{level}>"

    def code_block(self, text: str, language: str) -> str:
        """Return a code block."""
        classes = f' class="language-{escape_html(language)}"' if language else ""
        return f"<pre><code{classes}>{escape_html(text, quote=False)}</code></pre>"

    def math_block(self, tex: str) -> str:
        """Return display TeX."""
        return f"<p>$${escape_html(tex)}$$</p>"

    def rule(self) -> str:
        """Return a thematic break."""
        return "<hr>"

    def quote(self, blocks: list[str]) -> str:
        """Return a block quote."""
        return f"<blockquote>{''.join(blocks)}</blockquote>"

    def alert(self, kind: str, blocks: list[str]) -> str:
        """Return an admonition of a type."""
        return self.quote([f"<p><strong>{kind.capitalize()}</strong></p>", *blocks])

    def items(self, listing: Items) -> str:
        """Return a list."""
        items = "".join(f"<li>{self._item(blocks, listing.tight)}</li>" for blocks in listing.items)
        if listing.numbers is None:
            return f"<ul>{items}</ul>"
        return f'<ol start="{listing.numbers[0]}">{items}</ol>'

    @staticmethod
    def _item(blocks: list[str], tight: bool) -> str:
        if tight and blocks and blocks[0].startswith("<p>") and blocks[0].endswith("</p>"):
            return blocks[0][3:-4] + "".join(blocks[1:])
        return "".join(blocks)

    def definition(self, terms: list[str], definitions: list[str]) -> str:
        """Return terms with their one-paragraph definitions."""
        texts = (text.removeprefix("<p>").removesuffix("</p>") for text in definitions)
        return f"<p>{'<br>'.join(terms)}<br>: {'<br>: '.join(texts)}</p>"

    def footnote(self, label: str, blocks: list[str]) -> str:
        """Return the definition of a footnote."""
        return f"<p>[^{label}]: {''.join(blocks).removeprefix('<p>')}"

    def table(self, rows: list[list[str]], align: list[str]) -> str:
        """Return a table; the first row is its header."""
        head = "".join(f"<th>{cell}</th>" for cell in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[1:])
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def document(self, blocks: list[str]) -> str:
        """Return the whole document."""
        return "\n".join(blocks)


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escape_html(value)}"' if value else ""
