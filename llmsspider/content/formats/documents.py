"""Jupyter notebooks and the data of DocC as Markdown.

Of a notebook (nbformat 4, https://nbformat.readthedocs.io/; worksheets of version 3 too), its text
as it is, code in fences, outputs as far as they are text and not too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from llmsspider.content.markdown.commonmark import code_block
from llmsspider.items import Page
from llmsspider.web.foreign import UnreadableError, json_value
from llmsspider.web.loading import shipped_table

# Notebooks.

MAX_OUTPUT = 2_000
"""Maximum number of characters of one output."""
MAX_OUTPUTS = 200_000
"""Maximum number of characters of all outputs of a notebook."""

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EMBEDDED = re.compile(r"!\[[^\]\[\n!]{0,300}\]\((?:attachment:|data:)[^)\n!\[]*\)")


class NotebookHandler:
    """Converts a notebook to Markdown."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> str:
        """Return the Markdown; raises `UnreadableError`."""
        found = json_value(body.removeprefix(b"\xef\xbb\xbf"))
        notebook = found if isinstance(found, dict) else {}
        cells = notebook.get("cells")
        if not isinstance(cells, list):
            if not isinstance(sheets := notebook.get("worksheets"), list):
                raise UnreadableError("it has no cells")
            cells = [
                cell
                for sheet in sheets
                if isinstance(sheet, dict)
                for cell in sheet.get("cells") or []
            ]
        return "\n\n".join(_cells(cells, _language(notebook))) + "\n"


def _language(notebook: dict[str, Any]) -> str:
    about = notebook.get("metadata")
    about = about if isinstance(about, dict) else {}
    for place, name in (("language_info", "name"), ("kernelspec", "language")):
        found = about.get(place)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name]).split()[0].lower() if found[name].strip() else ""
    return "python"


def _cells(cells: list[Any], language: str) -> Iterator[str]:
    room = MAX_OUTPUTS
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = _text(cell.get("source", cell.get("input")))
        kind = cell.get("cell_type")
        if kind == "markdown":
            yield _EMBEDDED.sub("", source).strip("\n")
        elif kind == "heading":  # version 3
            level = cell.get("level")
            marks = "#" * min(level, 6) if isinstance(level, int) else ""
            yield f"{marks or '#'} {source.strip()}"
        elif kind == "code":
            if source.strip():
                yield code_block(source.strip("\n"), language)
            for output in cell.get("outputs") or []:
                shown = _output(output) if isinstance(output, dict) and room > 0 else ""
                room -= len(shown)
                if shown:
                    yield shown


def _output(output: dict[str, Any]) -> str:
    text, is_markdown = _shown(output)
    text = _ESCAPES.sub("", text).strip("\n")
    if not text.strip():
        return ""
    if left := max(len(text) - MAX_OUTPUT, 0):
        return code_block(f"{text[:MAX_OUTPUT]}\n… ({left} more characters)")
    return text if is_markdown else code_block(text)


def _shown(output: dict[str, Any]) -> tuple[str, bool]:
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}", False
    data = output.get("data")
    data = data if isinstance(data, dict) else output
    if "text/markdown" in data:
        return _EMBEDDED.sub("", _text(data["text/markdown"])), True
    pictures = any(name.startswith("image/") for name in data)
    return ("" if pictures else _text(data.get("text/plain", data.get("text")))), False


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


# DocC: the data that a page of Swift documentation is drawn from (`RenderNode`), as the HTML that a
# browser makes.

_DOCC = shipped_table("llmsspider.content.formats", "docc")
_LINKS: dict[str, str] = _DOCC["links"]
_TAGS: dict[str, str] = _DOCC["tags"]


class DoccHandler:
    """Converts the data of a page of DocC, a JSON file."""

    def read(self, body: bytes, url: str, mime_type: str, encoding: str | None) -> Page:
        """Return the page; raises `LookupError` or another error for other data."""
        from llmsspider.content.extraction import convert  # noqa: PLC0415

        node: Any = json_value(body)
        page = "".join(
            _DoccPage(url.rpartition("/data/")[0], node.get("references") or {}).parts(node)
        )
        return convert(f"<main>{page}</main>".encode(), url, "utf-8")


@dataclass(slots=True)
class _DoccPage:
    base: str
    references: dict[str, dict[str, Any]]
    """The pages, links and pictures that the page names, by identifier."""

    def parts(self, node: dict[str, Any]) -> Iterator[str]:
        yield f"<h1>{escape(node['metadata']['title'])}</h1><p>{self.all(node.get('abstract'))}</p>"
        if summary := node.get("deprecationSummary"):
            yield self.html(
                {"type": "aside", "style": "warning", "name": "Deprecated", "content": summary}
            )
        for section in node.get("primaryContentSections") or ():
            for one in section.get("declarations") or ():
                text = "".join(token["text"] for token in one["tokens"])
                syntax = one.get("languages") or [""]
                yield self.html({"type": "codeListing", "code": [text], "syntax": syntax[0]})
            parameters = section.get("parameters") or ()
            yield "<h2>Parameters</h2><dl>" if parameters else ""
            for one in parameters:
                yield f"<dt><code>{escape(one['name'])}</code><dd>{self.all(one['content'])}"
            yield f"</dl>{self.all(section.get('content'))}"
        for key, title in _LINKS.items():
            is_last = key == "seeAlsoSections"  # what is generated of it repeats the navigation
            shown = [one for one in node.get(key) or () if not (is_last and one.get("generated"))]
            yield f"<h2>{title}</h2>" if shown else ""
            for one in shown:
                yield (
                    f"<h3>{escape(one.get('title') or '')}</h3><p>{self.all(one.get('abstract'))}</p>"
                )
                yield self.all((one.get("discussion") or {}).get("content"))
                yield self.html({"type": "links", "items": one["identifiers"]})

    def all(self, nodes: Iterable[dict[str, Any]] | None) -> str:
        return "".join(map(self.html, nodes or ()))

    def html(self, node: dict[str, Any]) -> str:
        """Return the HTML of a node; of a kind that is not known, what is in it."""
        kind = node["type"]
        tag = _TAGS.get(node["type"])
        if kind in {"reference", "link", "image"}:
            return self.link(node)
        inner = self.all(node.get("inlineContent") or node.get("content"))
        inner += escape(node.get("text") or node.get("code") or "") if kind != "codeListing" else ""
        if kind == "heading":
            tag = f"h{node['level']}"
        elif kind == "codeListing":
            code = escape("\n".join(node["code"]))
            inner = (
                "<pre><code"
                f' class="language-{escape(node.get("syntax") or "")}">{code}</code></pre>'
            )
        elif kind == "aside":
            name = escape(node.get("name") or node["style"])
            inner = (
                f'<aside class="{escape(node["style"])}"><p class="label">{name}</p>{inner}</aside>'
            )
        elif kind == "table":
            rows = ["".join(f"<td>{self.all(cell)}</td>" for cell in row) for row in node["rows"]]
            inner = f"<table><tr>{rows[0].replace('td>', 'th>')}<tr>{'<tr>'.join(rows[1:])}</table>"
        elif kind == "links":
            for one in filter(self.references.__contains__, node["items"]):
                abstract = self.all(self.references[one].get("abstract"))
                inner += f"<p>{self.link({'identifier': one}, is_whole=True)}</p><p>{abstract}</p>"
        else:
            for item in node.get("items") or node.get("tabs") or node.get("columns") or ():
                inner += (
                    f"<dt>{self.all(item['term']['inlineContent'])}<dd>" if "term" in item else ""
                )
                inner += f"<p><b>{escape(item['title'])}</b></p>" if "title" in item else ""
                content = self.all(item.get("definition", item)["content"])
                inner += f"<li>{content}</li>" if tag in {"ol", "ul"} else content
        return f"<{tag}>{inner}</{tag}>" if tag else inner

    def link(self, node: dict[str, Any], *, is_whole: bool = False) -> str:
        """Return what names a page or picture; `is_whole` has the declaration of a symbol, not its
        name alone.
        """
        named = self.references.get(node.get("identifier", ""), {})
        variants = named.get("variants") or [{}]
        url = named.get("url") or variants[0].get("url") or node.get("destination") or ""
        target = escape(f"{self.base}{url}" if url.startswith("/") else url)
        if node.get("type") == "image":
            return f'<img src="{target}" alt="{escape(named.get("alt") or "")}">'
        title = named.get("title") or node.get("title") or node.get("identifier") or url
        fragments = "".join(one["text"] for one in named.get("fragments") or ()) if is_whole else ""
        text = self.all(node.get("overridingTitleInlineContent")) or escape(fragments or title)
        text = f"<code>{text}</code>" if fragments or named.get("role") == "symbol" else text
        return f'<a href="{target}">{text}</a>' if target and node.get("isActive", True) else text
