"""Markdown forms: where the Markdown version of a page may lie, and what a host has taught us about it.

Pure: the downloader middleware asks a `HostForms` what to try and tells it what came of it.
A *form* is a rule that maps a page's URL to the URL of its Markdown version (its twin); each host uses one form
for each *shape* of URL (docs/markdown-forms.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from llmsspider.filetypes import extension
from llmsspider.urls import identity, without_fragment

Shape = Literal["directory", "html", "bare"]
Form = Literal["page.html.md", "page.md", "dir/index.html.md", "dir/index.md", "dir.md"]
PageForm = Literal["html", "bare", "directory"]
"""What a site calls the page of `x.md`: `x.html`, `x` or `x/`."""

FORMS: dict[Shape, tuple[Form, ...]] = {
    "html": ("page.html.md", "page.md"),
    "bare": ("page.md", "page.html.md"),
    "directory": ("dir/index.md", "dir.md", "dir/index.html.md"),
}
"""The forms tried for each shape, the commonest first."""

RELATED: dict[Form, Form] = {
    "page.html.md": "dir/index.html.md",
    "dir/index.html.md": "page.html.md",
    "page.md": "dir/index.md",
}
"""A form known for one shape says which to try first for another."""

MAX_WASTED = 8
"""Requests for Markdown forms a host without Markdown may cost."""

MARKDOWN_ENDINGS = (".md", ".mdx", ".markdown")


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

    The query is dropped: no generator writes Markdown per query.

    >>> twin("https://e.com/a/b.html", "page.md"), twin("https://e.com/a/", "dir.md"), twin("https://e.com/", "dir.md")
    ('https://e.com/a/b.md', 'https://e.com/a.md', None)
    """
    parts = urlsplit(url)
    path = parts.path or "/"
    this = shape(url)
    if this is None or form not in FORMS[this]:
        return None
    stem = path.rpartition(".")[0] if this == "html" else path
    made = {
        "page.html.md": f"{path}.md" if this == "html" else f"{path}.html.md",
        "page.md": f"{stem}.md",
        "dir/index.html.md": f"{path}index.html.md",
        "dir/index.md": f"{path}index.md",
        "dir.md": f"{path.rstrip('/')}.md" if path != "/" else "",
    }[form]
    return urlunsplit(parts._replace(path=made, query="", fragment="")) if made else None


def is_markdown_url(url: str) -> bool:
    """Say whether the URL names a Markdown file by its extension.

    >>> is_markdown_url("https://e.com/a.html.md?x#y"), is_markdown_url("https://e.com/a.html")
    (True, False)
    >>> is_markdown_url("https://example.md"), is_markdown_url("https://example.md?a.md")
    (False, False)
    """
    bare = url.partition("#")[0].partition("?")[0].lower()
    if not bare.endswith(MARKDOWN_ENDINGS):
        return False
    address = bare.partition("://")[2]
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
    path = _source_path(parts.path) or _markdown_path(parts.path)
    if path is None:
        return {}

    def url(path: str) -> str:
        return urlunsplit(parts._replace(path=path, query=""))

    directory, slash, name = path.rpartition("/")
    if name in {"index", "index.html"}:
        return {"directory": url(directory + slash)}
    if name.endswith((".html", ".htm")):
        return {"html": url(path), "bare": url(path.rpartition(".")[0])}
    return {"html": url(f"{path}.html"), "bare": url(path), "directory": url(f"{path}/")}


def _markdown_path(path: str) -> str | None:
    for ending in MARKDOWN_ENDINGS:
        if path.lower().endswith(ending):
            return path[: -len(ending)]
    return None


def _source_path(path: str) -> str | None:
    """Sphinx: `/_sources/a.rst.txt` is the source of `/a.html`."""
    before, found, rest = path.partition("/_sources/")
    for ending in (".rst.txt", ".md.txt", ".ipynb.txt", ".txt", ".rst", ".md", ".ipynb"):
        if found and rest.endswith(ending):
            return f"{before}/{rest.removesuffix(ending)}"
    return None


def is_twin_of(markdown_url: str, page_url: str) -> bool:
    """Say whether, by any form, `markdown_url` is the Markdown of `page_url` (used after redirects)."""
    page = identity(page_url)
    return identity(markdown_url) == page or any(
        identity(candidate) == page for candidate in page_candidates(markdown_url).values()
    )


def _form_named_by(url: str) -> tuple[Form, ...]:
    """The forms that the spelling of a listed Markdown URL speaks for."""
    path = urlsplit(url).path
    if path.endswith(".html.md"):
        return "page.html.md", "dir/index.html.md"
    if path.endswith("/index.md"):
        return ("dir/index.md",)
    return ("page.md", "dir.md") if path.endswith(".md") else ()


@dataclass(slots=True)
class HostForms:
    """What is known of one host: its Markdown form for each shape, and the form its pages have.

    `negotiates` is True once the host answered a page's own URL with Markdown: nothing is guessed there then.
    `listed` counts the forms that the Markdown URLs of its llms.txt speak for; they are tried first.
    """

    known: dict[Shape, Form] = field(default_factory=dict)
    page_form: PageForm | None = None
    negotiates: bool = False
    wasted: int = 0
    hits: int = 0
    listed: Counter[Form] = field(default_factory=Counter)

    @property
    def exhausted(self) -> bool:
        """True when guessing has cost its budget and more than it gave."""
        return self.wasted >= MAX_WASTED and self.wasted > self.hits

    def to_try(self, url: str) -> list[tuple[Form, str]]:
        """Return the Markdown URLs worth asking for a page, most likely first; empty when none is."""
        this = shape(url)
        if this is None or self.negotiates or self.exhausted:
            return []
        forms = [self.known[this]] if this in self.known else self._guesses(this)
        tries = [(form, twin(url, form)) for form in forms]
        left = MAX_WASTED - self.wasted if self.wasted >= self.hits else len(tries)
        return [(form, made) for form, made in tries if made][:left]

    def learning(self, url: str) -> bool:
        """Say whether the form for this shape is still open, so that one page at a time should ask."""
        this = shape(url)
        return this is not None and this not in self.known and not self.negotiates and not self.exhausted

    def hit(self, url: str, form: Form) -> None:
        """Remember that `form` gave the Markdown of `url`."""
        this = shape(url)
        if this is not None:
            self.known[this] = form
        self.hits += 1

    def miss(self) -> None:
        """Count a request that gave no Markdown."""
        self.wasted += 1

    def learn_from_listed(self, markdown_urls: Iterable[str], pages: frozenset[str]) -> None:
        """Learn how this host names pages and their Markdown from listed Markdown URLs and page URLs seen.

        Args:
            markdown_urls: URLs of Markdown files that llms.txt lists on this host.
            pages: identities of pages seen on this host (links of its HTML, sitemap).
        """
        votes: Counter[PageForm] = Counter()
        for url in markdown_urls:
            self.listed.update(_form_named_by(url))
            candidates = page_candidates(url)
            if len(candidates) > 1:
                votes.update(form for form, page in candidates.items() if identity(page) in pages)
        if votes:
            self.page_form = votes.most_common(1)[0][0]

    def page_of(self, markdown_url: str, pages: frozenset[str] = frozenset()) -> str | None:
        """Return the page a Markdown URL belongs to, by evidence first, then by the host's rule; None if unknown."""
        candidates = page_candidates(markdown_url)
        for url in candidates.values():
            if identity(url) in pages:
                return url
        if "/_sources/" not in markdown_url and len(candidates) == 1:
            return next(iter(candidates.values()))
        if self.page_form in candidates:
            return candidates[self.page_form]
        return candidates.get("html") if len(candidates) == 2 else None  # x.html.md names its page

    def _guesses(self, this: Shape) -> list[Form]:
        forms = sorted(FORMS[this], key=lambda form: -self.listed[form])
        for known in self.known.values():
            likely = RELATED.get(known)
            if likely in forms:
                forms.remove(likely)
                forms.insert(0, likely)
            elif known in forms:
                forms.remove(known)
                forms.insert(0, known)
        return forms

    def as_dict(self) -> dict[str, object]:
        """Return what the store remembers."""
        return {
            "known": dict(self.known),
            "page_form": self.page_form,
            "negotiates": self.negotiates,
            "none": self.exhausted,
        }

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> HostForms:
        """Rebuild from `as_dict`; a host that had no Markdown is asked for one form again on the next run."""
        forms = cls(negotiates=bool(data.get("negotiates")))
        known = data.get("known")
        if isinstance(known, dict):
            forms.known = {shape: form for shape, form in known.items() if form in FORMS.get(shape, ())}
        page_form = data.get("page_form")
        if page_form in {"html", "bare", "directory"}:
            forms.page_form = page_form
        if data.get("none"):
            forms.wasted = MAX_WASTED - 1
        return forms
