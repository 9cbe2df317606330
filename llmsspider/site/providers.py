"""Sites whose Markdown lies elsewhere by rule: providers known by URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import find

# Providers: sites whose pages have a Markdown source at another address, known by the page's URL alone.
# Register your own with the setting `LLMS_PAGE_PROVIDERS` (docs/how-to/page-spider.md).

MARKDOWN_FILE = re.compile(r"\.(?:md|mdx|markdown)\Z", re.IGNORECASE)

READMES = ("README.md", "readme.md", *(f"{folder}/README.md" for folder in ("docs", ".github")))
"""Where a GitHub repository can keep the README that its front page shows."""


class Source(NamedTuple):
    """Where the Markdown of a page is, and the URL its relative links are taken from."""

    url: str
    base: str


class Provider(Protocol):
    """Knows one kind of site. An instance is made without arguments, once a crawl."""

    def sources(self, url: str) -> Sequence[Source]:
        """Return where the Markdown of the page may be, best first; nothing for a page of another site."""
        ...

    def markdown(self, text: str) -> str:
        """Return the Markdown of what a source answered with."""
        ...


def load_providers(paths: Iterable[str]) -> list[Provider]:
    """Return an instance of each class named in `LLMS_PAGE_PROVIDERS`.

    Raises:
        ArgumentsError: with one line for each path that is not that of a provider.
    """
    found: list[Provider] = []
    problems: list[str] = []
    for path in map(str.strip, paths):
        try:
            made: Any = find(path)
            provider = made()
            if not callable(provider.sources) or not callable(provider.markdown):
                raise TypeError("it lacks a method")
            found.append(provider)
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            problems.append(
                f"setting LLMS_PAGE_PROVIDERS={path!r}: the path of a provider class is accepted ({error})"
            )
    if problems:
        raise ArgumentsError(problems)
    return found


class GitHub:
    """Front pages of repositories and folders (their README) and `blob` pages of Markdown files."""

    def sources(self, url: str) -> Sequence[Source]:
        """Return the raw files.

        >>> GitHub().sources("https://github.com/o/r/blob/main/guide/a.md")[0].url
        'https://raw.githubusercontent.com/o/r/main/guide/a.md'
        """
        parts = urlsplit(url)
        segments = [segment for segment in parts.path.split("/") if segment]
        if parts.hostname not in {"github.com", "www.github.com"} or len(segments) < 2:
            return ()
        owner, repository, *rest = segments
        place = f"{owner}/{repository.removesuffix('.git')}"
        if not rest:
            return tuple(self._source(place, "HEAD", name) for name in READMES)
        kind, *path = rest
        if kind == "tree" and path:
            names = READMES if len(path) == 1 else READMES[:2]
            return tuple(self._source(place, path[0], "/".join([*path[1:], name])) for name in names)
        if kind == "blob" and len(path) > 1 and MARKDOWN_FILE.search(unquote(path[-1])):
            return (self._source(place, path[0], "/".join(path[1:])),)
        return ()

    def markdown(self, text: str) -> str:
        """Return the file as it is."""
        return text

    def _source(self, place: str, ref: str, path: str) -> Source:
        return Source(
            f"https://raw.githubusercontent.com/{place}/{ref}/{path}",
            f"https://github.com/{place}/blob/{ref}/{path}",
        )
