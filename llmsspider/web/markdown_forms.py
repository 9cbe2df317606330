"""Markdown forms: where the Markdown version of a page may lie.

A *form* is a rule that maps a page's URL to the URL of its Markdown version (its twin); a site uses one form for each
*shape* of URL (docs/explanation/markdown-forms.md). What a host has taught of its forms is in `web/host_forms.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from llmsspider.web.media_types import extension
from llmsspider.web.urls import identity, without_fragment

Shape = Literal["directory", "html", "bare"]
Form = Literal["page.html.md", "page.md", "dir/index.html.md", "dir/index.md", "dir.md"]
PageForm = Literal["html", "bare", "directory"]
"""What a site calls the page of `x.md`: `x.html`, `x` or `x/`."""

FORMS: dict[Shape, tuple[Form, ...]] = {
    "html": ("page.html.md", "page.md"),
    "bare": ("page.md", "page.html.md", "dir/index.md"),
    "directory": ("dir/index.md", "dir.md", "dir/index.html.md"),
}
"""The forms tried for each shape, the commonest first."""

RELATED: dict[Form, Form] = {
    "page.html.md": "dir/index.html.md",
    "dir/index.html.md": "page.html.md",
    "page.md": "dir/index.md",
}
"""A form known for one shape says which to try first for another."""

MARKDOWN_ENDINGS = (".md", ".mdx", ".markdown")


@lru_cache(1024)
def shape(url: str) -> Shape | None:
    """Return the shape of a page URL, or None when a Markdown twin makes no sense (it has another extension).

    >>> shape("https://e.com/a/"), shape("https://e.com/a.html"), shape("https://e.com/a"), shape("https://e.com/a.md")
    ('directory', 'html', 'bare', None)
    """
    path = urlsplit(url).path
    if path.endswith("/") or not path:
        return "directory"
    ending = extension(url)
    if ending in {"html", "htm"}:
        return "html"
    if ending in {"md", "mdx", "markdown", "txt", "json", "xml", "yaml", "yml"}:
        return None
    return "bare"  # a dot in a bare name is part of it: /v1.2/release-1.0


def twin(url: str, form: Form) -> str | None:
    """Return the Markdown URL that `form` gives for a page URL, or None where the form does not apply.

    The query is removed: no generator writes Markdown per query. A page `/a` may be `/a/`, with the Markdown of that.

    >>> twin("https://e.com/a/b.html", "page.md"), twin("https://e.com/a/", "dir.md"), twin("https://e.com/", "dir.md")
    ('https://e.com/a/b.md', 'https://e.com/a.md', None)
    """
    parts = urlsplit(url)
    path = parts.path or "/"
    this = shape(url)
    if this is None or form not in FORMS[this]:
        return None
    stem = path.rpartition(".")[0] if this == "html" else path
    folder = path if this == "directory" else f"{path}/"
    made = {
        "page.html.md": f"{path}.md" if this == "html" else f"{path}.html.md",
        "page.md": f"{stem}.md",
        "dir/index.html.md": f"{folder}index.html.md",
        "dir/index.md": f"{folder}index.md",
        "dir.md": f"{path.rstrip('/')}.md" if path != "/" else "",
    }[form]
    return urlunsplit(parts._replace(path=made, query="", fragment="")) if made else None


def twins(url: str) -> Iterator[str]:
    """Yield the Markdown URLs that any form gives for a page, those of its spelling with a slash included.

    >>> list(twins("https://e.com/a"))
    ['https://e.com/a.md', 'https://e.com/a.html.md', 'https://e.com/a/index.md', 'https://e.com/a/index.html.md']
    """
    this = shape(url)
    spellings = (url, f"{without_fragment(url).partition('?')[0]}/") if this == "bare" else (url,)
    made = (
        twin(spelling, form) for spelling in spellings for form in FORMS.get(shape(spelling) or "bare", ())
    )
    yield from dict.fromkeys(markdown_url for markdown_url in made if markdown_url is not None)


def with_slash(url: str, markdown_url: str) -> str | None:
    """Return the page `/a/` that `/a` is another spelling of, where its Markdown is `/a/index.md`; else None.

    >>> with_slash("https://e.com/a", "https://e.com/a/index.md"), with_slash("https://e.com/a", "https://e.com/a.md")
    ('https://e.com/a/', None)
    """
    is_index = shape(url) == "bare" and markdown_url == twin(url, "dir/index.md")
    return page_candidates(markdown_url)["directory"] if is_index else None


def is_markdown_url(url: str) -> bool:
    """Return whether the URL names a Markdown file by its extension.

    >>> is_markdown_url("https://e.com/a.html.md?x#y"), is_markdown_url("https://e.com/a.html")
    (True, False)
    >>> is_markdown_url("https://example.md"), is_markdown_url("https://example.md?a.md")
    (False, False)
    """
    path = url.partition("#")[0].partition("?")[0].lower()
    if not path.endswith(MARKDOWN_ENDINGS):
        return False
    address = path.partition("://")[2]
    return not address or "/" in address  # https://example.md is a host


def page_candidates(markdown_url: str) -> dict[PageForm, str]:
    """Return the page URLs a Markdown (or Sphinx source) URL may belong to, by the form of the page.

    >>> page_candidates("https://e.com/a/b.md")
    {'html': 'https://e.com/a/b.html', 'bare': 'https://e.com/a/b', 'directory': 'https://e.com/a/b/'}
    >>> page_candidates("https://e.com/a/b.html.md"), page_candidates("https://e.com/a/index.md")
    ({'html': 'https://e.com/a/b.html', 'bare': 'https://e.com/a/b'}, {'directory': 'https://e.com/a/'})
    >>> page_candidates("https://e.com/_sources/b.rst.txt")["html"]
    'https://e.com/b.html'
    """
    parts = urlsplit(without_fragment(markdown_url))
    ending = next((ending for ending in MARKDOWN_ENDINGS if parts.path.lower().endswith(ending)), "")
    path = _source_path(parts.path) or (parts.path[: -len(ending)] if ending else None)
    if path is None:
        return {}

    page = f"{parts.scheme}://{parts.netloc}{path}"
    directory, slash, name = page.rpartition("/")
    if name in {"index", "index.html"}:
        return {"directory": directory + slash}
    if name.endswith((".html", ".htm")):
        return {"html": page, "bare": page.rpartition(".")[0]}
    return {"html": f"{page}.html", "bare": page, "directory": f"{page}/"}


def _source_path(path: str) -> str | None:
    """Sphinx: `/_sources/a.rst.txt` is the source of `/a.html`."""
    before, found, rest = path.partition("/_sources/")
    for ending in (".rst.txt", ".md.txt", ".ipynb.txt", ".txt", ".rst", ".md", ".ipynb"):
        if found and rest.endswith(ending):
            return f"{before}/{rest.removesuffix(ending)}"
    return None


def is_twin_of(markdown_url: str, page_url: str) -> bool:
    """Return whether, by any form, `markdown_url` is the Markdown of `page_url` (used after redirects)."""
    page = identity(page_url)
    return identity(markdown_url) in {page, identity(twin(page_url, "dir/index.md") or "")} or any(
        identity(candidate) == page for candidate in page_candidates(markdown_url).values()
    )


def forms_named_by(url: str) -> tuple[Form, ...]:
    """The forms that the spelling of a listed Markdown URL has."""
    path = urlsplit(url).path
    if path.endswith(".html.md"):
        return "page.html.md", "dir/index.html.md"
    if path.endswith("/index.md"):
        return ("dir/index.md",)
    return ("page.md", "dir.md") if path.endswith(".md") else ()
