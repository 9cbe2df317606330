"""`HtmlFormat`: the result of the walk as plain HTML for other engines; `MarkdownifyConverter`: one of them."""

from __future__ import annotations

from html import escape as escape_html
from typing import Any

from markdownify import ATX, MarkdownConverter

from llmsspider.content.extraction.formats import HTML_MARKS, Items, MarkdownFormat
from llmsspider.content.extraction.tree import collapsed
from llmsspider.content.markdown.commonmark import code_block


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
        return f"<{HTML_MARKS[mark]}>{inner}</{HTML_MARKS[mark]}>"

    def link(self, inner: str, url: str) -> str:
        """Return a link."""
        return f'<a href="{escape_html(url)}">{inner}</a>'

    def autolink(self, url: str) -> str:
        """Return a link whose text is its URL."""
        return self.link(escape_html(url), url)

    def image(self, alt: str, url: str, title: str) -> str:
        """Return an image."""
        titled = f' title="{escape_html(title)}"' if title else ""
        return f'<img src="{escape_html(url)}" alt="{escape_html(alt)}"{titled}>'

    def math(self, tex: str) -> str:
        """Return inline TeX."""
        return f"${escape_html(tex)}$"

    def checkbox(self, *, checked: bool) -> str:
        """Return the mark of a task item."""
        return f"[{'x' if checked else ' '}] "

    def line(self, run: list[str]) -> str:
        """Return inline pieces as one line (a heading, a cell)."""
        return super().line(run).replace("\n", "<br>")

    def paragraph(self, run: list[str]) -> str:
        r"""Return inline pieces as a paragraph; `\n` in them is a line break."""
        line = self.line(run)
        return f"<p>{line}</p>" if line else ""

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
        items = ""
        for blocks in listing.items:
            first, rest = "".join(blocks[:1]), "".join(blocks[1:])
            if listing.tight and first.startswith("<p>") and first.endswith("</p>"):
                first = first[3:-4]
            items += f"<li>{first}{rest}</li>"
        if listing.numbers is None:
            return f"<ul>{items}</ul>"
        return f'<ol start="{listing.numbers[0]}">{items}</ol>'

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


class MarkdownifyConverter(MarkdownConverter):
    """The markdownify package: fenced code with its language, lists and tables that parse back the same."""

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
        names = (name for child in el.find_all("code") for name in child.get("class") or ())
        language = next((name for name in names if name.startswith("language-")), "")
        return f"\n\n{code_block(content, language.removeprefix('language-'))}\n\n"

    def convert_kbd(self, el: Any, text: str, parent_tags: set[str]) -> str:
        """Return a key as HTML."""
        return f"<kbd>{text}</kbd>"
