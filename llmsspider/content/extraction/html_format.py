"""`HtmlFormat`: the result of the walk as plain HTML for other engines; `MarkdownifyConverter`: one
of them.
"""

# ruff: noqa: D102  # what the methods of a format return is said by `MarkdownFormat`

from html import escape as escape_html
from typing import Any

from markdownify import ATX, MarkdownConverter

from llmsspider.content.extraction.formats import HTML_MARKS, Items, MarkdownFormat
from llmsspider.content.extraction.tree import collapsed
from llmsspider.content.markdown.commonmark import code_block


class HtmlFormat(MarkdownFormat):
    """Writes plain HTML, which a library engine then converts to Markdown."""

    def text(self, text: str) -> str:
        return escape_html(collapsed(text), quote=False)

    def behind_bracket(self, piece: str) -> str:
        return piece

    def code_span(self, text: str) -> str:
        return f"<code>{escape_html(text, quote=False)}</code>"

    def emphasis(self, inner: str, mark: str, before: str, after: str) -> str:
        return f"<{HTML_MARKS[mark]}>{inner}</{HTML_MARKS[mark]}>"

    def link(self, inner: str, url: str) -> str:
        return f'<a href="{escape_html(url)}">{inner}</a>'

    def autolink(self, url: str) -> str:
        return self.link(escape_html(url), url)

    def image(self, alt: str, url: str, title: str) -> str:
        titled = f' title="{escape_html(title)}"' if title else ""
        return f'<img src="{escape_html(url)}" alt="{escape_html(alt)}"{titled}>'

    def math(self, tex: str) -> str:
        return f"${escape_html(tex)}$"

    def checkbox(self, *, checked: bool) -> str:
        return f"[{'x' if checked else ' '}] "

    def line(self, run: list[str]) -> str:
        return super().line(run).replace("\n", "<br>")

    def paragraph(self, run: list[str]) -> str:
        line = self.line(run)
        return f"<p>{line}</p>" if line else ""

    def heading(self, level: int, inner: str) -> str:
        return f"<h{level}>{inner}</h{level}>"

    def code_block(self, text: str, language: str) -> str:
        classes = f' class="language-{escape_html(language)}"' if language else ""
        return f"<pre><code{classes}>{escape_html(text, quote=False)}</code></pre>"

    def math_block(self, tex: str) -> str:
        return f"<p>$${escape_html(tex)}$$</p>"

    def rule(self) -> str:
        return "<hr>"

    def quote(self, blocks: list[str]) -> str:
        return f"<blockquote>{''.join(blocks)}</blockquote>"

    def alert(self, kind: str, blocks: list[str]) -> str:
        return self.quote([f"<p><strong>{kind.capitalize()}</strong></p>", *blocks])

    def items(self, listing: Items) -> str:
        items = ""
        for blocks in listing.items:
            first = "".join(blocks[:1])
            rest = "".join(blocks[1:])
            if listing.tight and first.startswith("<p>") and first.endswith("</p>"):
                first = first[3:-4]
            items += f"<li>{first}{rest}</li>"
        return (
            f'<ol start="{listing.numbers[0]}">{items}</ol>'
            if listing.numbers
            else f"<ul>{items}</ul>"
        )

    def definition(self, terms: list[str], definitions: list[str]) -> str:
        texts = (text.removeprefix("<p>").removesuffix("</p>") for text in definitions)
        return f"<p>{'<br>'.join(terms)}<br>: {'<br>: '.join(texts)}</p>"

    def footnote(self, label: str, blocks: list[str]) -> str:
        return f"<p>[^{label}]: {''.join(blocks).removeprefix('<p>')}"

    def table(self, rows: list[list[str]], align: list[str]) -> str:
        head = "".join(f"<th>{cell}</th>" for cell in rows[0])
        body = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[1:]
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def document(self, blocks: list[str]) -> str:
        return "\n".join(blocks)


class MarkdownifyConverter(MarkdownConverter):
    """The markdownify package: fenced code with its language, lists and tables that parse back the
    same.
    """

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
        """Return a fenced block with the exact text and the language of `<code
        class="language-…">`.
        """
        content = el.get_text()
        names = (name for child in el.find_all("code") for name in child.get("class") or ())
        language = next((name for name in names if name.startswith("language-")), "")
        block = code_block(content, language.removeprefix("language-"))
        return f"\n\n{block}\n\n" if content.strip() else ""

    def convert_kbd(self, el: Any, text: str, parent_tags: set[str]) -> str:
        """Return a key as HTML."""
        return f"<kbd>{text}</kbd>"
