"""Sites whose Markdown lies elsewhere by rule: providers known by URL, and Docsify."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urljoin, urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.loading import find
from llmsspider.web.urls import identity, split_route, without_fragment

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


# Docsify sites: one HTML page that renders Markdown files, each under a route (`/#/guide` is `guide.md`), with
# `routerMode: 'history'` under a path (`/guide`). Docute, its relative, names its files alike.
# Recognised by the configuration or the loader script in the page. Pure: text in, URLs out.

MAX_PAGE_BYTES = 256 * 1024
"""How much of a page is searched for the configuration."""

MAX_ALIASES = 50
"""Aliases of one site that are used."""

MAX_ROUTES = 2_000
"""Routes of one configuration (Docute) that are followed."""

_CONFIG = re.compile(r"\$docsify\s*=\s*(?:[\w.$]{1,40}\s*\|\|\s*)?\{|\bnew\s+Docute\s*\(\s*\{")
_LOADER = re.compile(
    r"<script\b[^<>]{0,500}\bsrc\s*=\s*[\"']?[^\"'\s<>]{0,500}\bdocsify(?:@[^\"'\s<>/]{0,50})?[^\"'\s<>]{0,200}"
)
_SETTING = re.compile(
    r"(?<![\w$])[\"']?(\w+)[\"']?\s*:\s*(?:(true|false)\b|\"([^\"\n]{0,500})\"|'([^'\n]{0,500})')"
)
_LINK = re.compile(r"(?<![\w$])[\"']?link[\"']?\s*:\s*(?:\"([^\"\s]{1,500})\"|'([^'\s]{1,500})')")
_MODE = re.compile(r"(?<![\w$])[\"']?mode[\"']?\s*:\s*[\"']history[\"']")
_ALIASES = re.compile(r"\balias\s*:\s*\{([^{}]{0,10000})\}")
_ALIAS = re.compile(r"[\"']([^\"'\n]{1,200})[\"']\s*:\s*[\"']([^\"'\n]{1,200})[\"']")
_WILDCARD = re.compile(r"\(?\.\*\)?")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


@dataclass(frozen=True)
class Docsify:
    """One Docsify site. `page` is the URL of its HTML page, `files` the folder of its Markdown files.

    With `is_history` its routes are paths below `page`, a folder then, and the server answers them all with one page.
    `routes` are those that its configuration names.
    """

    page: str
    files: str
    homepage: str = "README.md"
    ext: str = ".md"
    sidebar: str = ""
    navbar: str = ""
    cover: str = ""
    is_relative: bool = False
    aliases: tuple[tuple[str, str], ...] = ()
    is_history: bool = False
    routes: tuple[str, ...] = ()

    @classmethod
    def from_list(cls, data: object) -> list[Docsify]:
        """Return the sites that were written with `dataclasses.asdict`; others are omitted."""
        found = []
        for fields in data if isinstance(data, list) else []:
            with contextlib.suppress(TypeError, ValueError, KeyError):
                aliases = tuple((str(pattern), str(target)) for pattern, target in fields["aliases"])
                routes = tuple(str(route) for route in fields.get("routes", ()))
                found.append(cls(**{**fields, "aliases": aliases, "routes": routes}))
        return found

    @property
    def lists(self) -> list[str]:
        """The URLs of the files that link to pages: sidebar, navigation bar, cover."""
        named = [
            self._file(f"/{name.lstrip('/')}") for name in (self.sidebar, self.navbar, self.cover) if name
        ]
        return list(dict.fromkeys(named))

    @property
    def linked(self) -> list[str]:
        """The pages that its configuration links to."""
        return list(dict.fromkeys(self.join(route, self.page) for route in self.routes))

    def lists_beside(self, url: str) -> list[str]:
        """Return the URLs of the sidebar and navigation bar beside the file of a route, where they are its own.

        Docsify requests them in each folder, and takes those of the folders above where there are none.

        >>> Docsify("https://e.com/", "https://e.com/", sidebar="_sidebar.md").lists_beside("https://e.com/#/guide/a")
        ['https://e.com/guide/_sidebar.md']
        """
        folder = self.file_of(url).rpartition("/")[0].removeprefix(self.files.rstrip("/")).strip("/")
        names = [name for name in (self.sidebar, self.navbar) if name and not name.startswith("/")]
        beside = [self._file(f"/{folder}/{name}") for name in names] if folder else []
        return [name for name in dict.fromkeys(beside) if name not in self.lists]

    def _is_list(self, path: str) -> bool:
        names = {name.rpartition("/")[2] for name in (self.sidebar, self.navbar) if name}
        return path in self.lists or path.rpartition("/")[2] in names

    def has_page(self, url: str) -> bool:
        """Return whether a URL is one of the site's routes, or its page."""
        if self.is_history:
            path = self._route_of(url) if without_fragment(url).startswith(self.page) else ".none"
            return not _EXTENSION.search(path) or path.endswith(".html")
        return identity(split_route(url)[0]) == identity(self.page)

    def _route_of(self, url: str) -> str:
        """Return the path that the site's program reads from an address."""
        if self.is_history:
            path = without_fragment(url).partition("?")[0].removeprefix(self.page.rstrip("/"))
            return path.removesuffix("index.html") or "/"
        return split_route(url)[1].lstrip("#!") or "/"

    def file_of(self, url: str) -> str:
        """Return the URL of the Markdown file of a route.

        >>> Docsify("https://e.com/", "https://e.com/").file_of("https://e.com/#/guide/")
        'https://e.com/guide/README.md'
        >>> Docsify("https://e.com/", "https://e.com/", is_history=True).file_of("https://e.com/guide")
        'https://e.com/guide.md'
        """
        return self._file(self._route_of(url))

    def _file(self, route: str) -> str:
        path = self._aliased(route)
        if path.endswith("/"):
            path += f"README{self.ext}"
        elif not path.endswith((self.ext, ".html")):
            path += self.ext
        if path == f"/README{self.ext}":
            path = self.homepage
        return path if _ABSOLUTE.match(path) else urljoin(self.files, path.lstrip("/"))

    def page_of(self, url: str) -> str | None:
        """Return the page of a Markdown file of the site, None for what is none.

        >>> Docsify("https://e.com/d/", "https://e.com/d/").page_of("https://e.com/d/guide/README.md")
        'https://e.com/d/#/guide/'
        """
        path = without_fragment(url)
        if self._is_list(path) or not path.startswith(self.files) or not path.endswith(self.ext):
            return None
        if path == urljoin(self.files, self.homepage):
            return self.page
        return self.page_at(path.removeprefix(self.files))

    def page_at(self, path: str) -> str:
        """Return the address of the page of a file, given below the root."""
        name = path.lstrip("/").removesuffix(self.ext)
        if name == "README" or name.endswith("/README"):
            name = name.removesuffix("README")
        if self.is_history:
            return f"{self.page}{name}"
        return f"{self.page}#/{name}" if name else self.page

    def join(self, href: str, page_url: str) -> str:
        """Return what an href of a Markdown file means: a page of the site, or an absolute URL.

        >>> site = Docsify("https://e.com/", "https://e.com/")
        >>> site.join("guide.md#use", "https://e.com/"), site.join("pic.png", "https://e.com/#/a")
        ('https://e.com/#/guide?id=use', 'https://e.com/pic.png')
        """
        href = href.strip()
        if _ABSOLUTE.match(href):
            return urljoin(self.page, href)
        route = href.lstrip("#!") if href.startswith(("#/", "#!/")) else href
        path, _, anchor = route.partition("#")
        path, _, query = path.partition("?")
        anchor = anchor or next((part[3:] for part in query.split("&") if part.startswith("id=")), "")
        if not path:
            return self._place(page_url, anchor)
        here = self._route_of(page_url) if self.is_relative else "/"
        path = urlsplit(urljoin(f"https://x{here}", path)).path
        if _EXTENSION.search(path) and not path.endswith(self.ext):
            return urljoin(self.files, path.lstrip("/"))
        return self._place(self.page_at(path), anchor)

    def _place(self, page_url: str, anchor: str) -> str:
        """Return the address of a place on a page."""
        if not anchor:
            return page_url
        if self.is_history:
            return f"{without_fragment(page_url)}#{anchor}"
        return f"{page_url if split_route(page_url)[1] else f'{self.page}#/'}?id={anchor}"

    def _aliased(self, path: str) -> str:
        for pattern, target in self.aliases:
            before, wildcard, after = pattern.partition("*")
            if path == pattern:
                return target
            is_long = len(path) >= len(before) + len(after)
            if wildcard and is_long and path.startswith(before) and path.endswith(after):
                return target.replace("$1", path[len(before) : len(path) - len(after)])
        return path


def find_docsify(body: bytes, url: str) -> Docsify | None:
    """Return the site that an HTML page is the page of, None for any other page."""
    is_docute = b"Docute" in body[:MAX_PAGE_BYTES]
    if not is_docute and b"docsify" not in body[:MAX_PAGE_BYTES]:
        return None
    html = body[:MAX_PAGE_BYTES].decode("utf-8", "replace")
    config = _CONFIG.search(html)
    if config is None and not _LOADER.search(html):
        return None
    text = html[config.end() :] if config else ""
    aliases = _ALIASES.search(text)
    given: dict[str, str | bool] = {}
    for name, word, quoted, apostrophed in _SETTING.findall(_ALIASES.sub("", text, count=1)):
        given.setdefault(name, word == "true" if word else quoted or apostrophed)
    base = given.get("basePath") or given.get("sourcePath")
    base = base if isinstance(base, str) else ""
    is_history = given.get("routerMode") == "history" or (is_docute and bool(_MODE.search(text)))
    page = split_route(without_fragment(url))[0]
    if is_history:
        root = urljoin(page, "/")
        below = urljoin(root, f"{base.strip('/')}/" if base.strip("/.") else "")
        page = below if page.startswith(below) else root
        files = urljoin(root, base or "/")
    else:
        files = urljoin(page, base or ".")

    def named(setting: str, usual: str) -> str:
        value = given.get(setting, False)
        return value if isinstance(value, str) else usual if value else ""

    ext = named("ext", ".md") or ".md"
    return Docsify(
        page=page,
        files=files if files.endswith("/") else f"{files}/",
        homepage=named("homepage", "README.md") or f"README{ext}",
        ext=ext,
        sidebar=named("loadSidebar", f"_sidebar{ext}"),
        navbar=named("loadNavbar", f"_navbar{ext}"),
        cover=named("coverpage", f"_coverpage{ext}"),
        is_relative=given.get("relativePath") is True or is_docute,
        aliases=_read_aliases(aliases[1] if aliases else ""),
        is_history=is_history,
        routes=_links(text) if is_docute else (),
    )


def _links(text: str) -> tuple[str, ...]:
    """Return the links to pages of the site in a configuration of Docute: its navigation and sidebar."""
    links = dict.fromkeys(quoted or apostrophed for quoted, apostrophed in _LINK.findall(text))
    return tuple(link for link in links if not _ABSOLUTE.match(link))[:MAX_ROUTES]


def _read_aliases(text: str) -> tuple[tuple[str, str], ...]:
    """Return patterns with at most one wildcard, written `*`; others, a stranger's programs, are not used."""
    found = []
    for pattern, target in _ALIAS.findall(text)[:MAX_ALIASES]:
        plain = _WILDCARD.sub("*", pattern, count=1).removesuffix("$").removeprefix("^")
        if not re.search(r"[()\[\]+?{}|\\$]", plain) and plain.count("*") <= 1:
            found.append((plain, target))
    return tuple(found)
