"""Pages whose Markdown lies at another address by rule: what providers know, and sites made with
Docsify.
"""

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import unquote, urljoin, urlsplit

from llmsspider.errors import ArgumentsError
from llmsspider.web.loading import find
from llmsspider.web.text import valid_text
from llmsspider.web.urls import identity, split_route, without_fragment

# Providers: sites whose pages have a Markdown source at another address, known by the page's URL
# alone. Register your own with the setting `LLMS_PAGE_PROVIDERS` (docs/how-to/page-spider.md).

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
        """Return where the Markdown of the page may be, best first; nothing for a page of another
        site.
        """
        ...

    def markdown(self, text: str) -> str:
        """Return the Markdown of what a source answered with."""
        ...


def load_providers(paths: Iterable[str]) -> list[Provider]:
    """Return an instance of each class named in `LLMS_PAGE_PROVIDERS`; `ArgumentsError` says which
    are wrong.
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
                f"setting LLMS_PAGE_PROVIDERS={path!r}: the path of a provider class is accepted"
                f" ({error})"
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
        is_other = len(segments) in {0, 1, 3}  # no file, folder or front page
        if parts.hostname not in {"github.com", "www.github.com"} or is_other:
            return ()
        owner, repository, *rest = segments
        place = f"{owner}/{repository.removesuffix('.git')}"
        kind, ref, *path = rest or ("tree", "HEAD")
        if kind == "tree":
            names = READMES[:2] if path else READMES
            return tuple(self._source(place, ref, "/".join([*path, name])) for name in names)
        if kind == "blob" and path and MARKDOWN_FILE.search(unquote(path[-1])):
            return (self._source(place, ref, "/".join(path)),)
        return ()

    def markdown(self, text: str) -> str:
        """Return the file as it is."""
        return text

    def _source(self, place: str, ref: str, path: str) -> Source:
        return Source(
            f"https://raw.githubusercontent.com/{place}/{ref}/{path}",
            f"https://github.com/{place}/blob/{ref}/{path}",
        )


# Docsify sites: one HTML page that renders Markdown files, each under a route (`/#/guide` renders
# `guide.md`). Sites are recognised by the configuration or the loader script in the page; those
# whose routes are paths (`routerMode: 'history'`) are pages as any other. Pure: text in, URLs out.

MAX_PAGE_BYTES = 256 * 1024
"""Number of bytes at the beginning of a page or script that are searched for the configuration."""

_CONFIG = re.compile(
    r"\$docsify\s*=\s*(?:[\w.$]{1,40}\s*\|\|\s*)?\{"
    r"|\$docsify\s*=\s*Object\.assign\s*\((?:\s*(?:\{\s*\}|[\w.$]{1,60}(?:\s*\|\|\s*\{\s*\})?)\s*,){1,3}\s*\{"
    r"|\bObject\.assign\s*\(\s*(?:[\w.]{1,40}\.)?\$docsify\s*,\s*\{"
    r"|\$docsify\.\w+\s*=(?!=)"
)
_NAMED_CONFIG = re.compile(r"\$docsify\s*=\s*([A-Za-z_$][\w$]{0,60})\s*(?:[;,<\n]|$)")
_DECLARED = re.compile(
    r"(?<![\w$.])([A-Za-z_$][\w$]{0,60})\s*=\s*"
    r"(?:Object\.assign\s*\(\s*(?:(?:\{\s*\}|[\w.$]{1,60})\s*,\s*){1,3})?\{"
)
_ASSIGNED = re.compile(r"\$docsify\.(\w{1,40})\s*=(?!=)")
_OWN_SCRIPT = re.compile(r"<script\b[^<>]{0,500}?\bsrc\s*=\s*[\"']?([^\"'\s<>]{1,500})")
_PROGRAM = re.compile(r"docsify(?:\.min)?\.js|docsify@|[.-]min\.|prism|/plugins?/", re.IGNORECASE)
_LOADER = re.compile(
    r"<script\b[^<>]{0,500}\bsrc\s*=\s*[\"']?[^\"'\s<>]{0,500}\bdocsify(?:@[^\"'\s<>/]{0,50})?[^\"'\s<>]{0,200}"
)
_SETTING = re.compile(
    r"(?<![\w$])[\"']?(\w+)[\"']?\s*:\s*(?:(true|false)\b|\"([^\"\n]{0,500})\"|'([^'\n]{0,500})')"
)
_UNREAD = {
    "alias": re.compile(
        r"(?<![\w$])[\"']?alias[\"']?\s*:(?!\s*\{(?:\s*[\"'][^\"'\n]{0,200}[\"']\s*:"
        r"\s*[\"'][^\"'\n]{0,200}_(?:sidebar|navbar|coverpage)\.\w+[\"']\s*,?)*\s*\})"
    ),
    "routes": re.compile(r"(?<![\w$])[\"']?routes[\"']?\s*:\s*(?:\{\s*[^\s}]|[\w$])"),
}
"""Settings that say what pages are in a way of their own, and are not read; sidebars of other
folders are no pages.
"""
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


@dataclass(frozen=True)
class Docsify:
    """One Docsify site.

    Attributes:
        page: the URL of its HTML page.
        files: the URL of the folder of its Markdown files, with a slash at the end.
        homepage, ext: the file of the route `/`, and the ending of files.
        sidebar, navbar, cover: names of files with links; empty where the site has none.
        is_relative: links are relative to the file that they are in, not to `files`.
        unread: names of settings that say what pages are, and are not read.
        is_configured: whether a configuration was found, not just the loader script.
    """

    page: str
    files: str
    homepage: str = "README.md"
    ext: str = ".md"
    sidebar: str = ""
    navbar: str = ""
    cover: str = ""
    is_relative: bool = False
    unread: tuple[str, ...] = ()
    is_configured: bool = True

    @classmethod
    def from_list(cls, data: object) -> list[Self]:
        """Return the sites of a list of dictionaries made by `dataclasses.asdict`; others are
        omitted.
        """
        found = []
        for given in data if isinstance(data, list) else []:
            if isinstance(given, dict) and given.get("is_history"):
                continue  # its routes are paths: kept by an earlier version
            with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
                fields = {
                    name: value for name, value in given.items() if name in cls.__dataclass_fields__
                }
                fields["unread"] = tuple(map(str, given.get("unread", ())))
                found.append(cls(**fields))
        return found

    @property
    def lists(self) -> list[str]:
        """The URLs of the files that link to pages: sidebar, navigation bar, cover."""
        named = filter(None, (self.sidebar, self.navbar, self.cover))
        return list(dict.fromkeys(self._file(f"/{name.lstrip('/')}") for name in named))

    def lists_beside(self, url: str) -> list[str]:
        """Return the URLs of the sidebar and navigation bar that the folder of a route's file may
        have of its own.

        Docsify requests them in each folder, and uses those of the folders above where there are
        none.

        >>> Docsify("https://e.com/", "https://e.com/", sidebar="_sidebar.md").lists_beside("https://e.com/#/guide/a")
        ['https://e.com/guide/_sidebar.md']
        """
        folder = (
            self.file_of(url).rpartition("/")[0].removeprefix(self.files.rstrip("/")).strip("/")
        )
        names = [name for name in (self.sidebar, self.navbar) if name and not name.startswith("/")]
        beside = [self._file(f"/{folder}/{name}") for name in names] if folder else []
        return [name for name in dict.fromkeys(beside) if name not in self.lists]

    def has_page(self, url: str) -> bool:
        """Return whether a URL is one of the site's routes, or its page."""
        return identity(split_route(url)[0]) == identity(self.page)

    def _route_of(self, url: str) -> str:
        return split_route(url)[1].lstrip("#!") or "/"

    def file_of(self, url: str) -> str:
        """Return the URL of the Markdown file of a route.

        >>> Docsify("https://e.com/", "https://e.com/").file_of("https://e.com/#/guide/")
        'https://e.com/guide/README.md'
        """
        return self._file(self._route_of(url))

    def _file(self, route: str) -> str:
        path = route
        if path.endswith("/"):
            path += f"README{self.ext}"
        elif not path.endswith((self.ext, ".html")):
            path += self.ext
        if path == f"/README{self.ext}":
            path = self.homepage
        return path if _ABSOLUTE.match(path) else urljoin(self.files, path.lstrip("/"))

    def page_of(self, url: str) -> str | None:
        """Return the URL of the page that renders a Markdown file; None for any other URL, and for
        sidebars.

        >>> Docsify("https://e.com/d/", "https://e.com/d/").page_of("https://e.com/d/guide/README.md")
        'https://e.com/d/#/guide/'
        """
        path = without_fragment(url)
        if not path.startswith(self.files) or not path.endswith(self.ext):
            return None
        lists = {name.rpartition("/")[2] for name in (self.sidebar, self.navbar) if name}
        if path in self.lists or path.rpartition("/")[2] in lists:
            return None
        if path == urljoin(self.files, self.homepage):
            return self.page
        return self.page_at(path.removeprefix(self.files))

    def page_at(self, path: str) -> str:
        """Return the URL of the page that renders a file, which is given as a path relative to
        `files`.
        """
        name = path.lstrip("/").removesuffix(self.ext)
        if name == "README" or name.endswith("/README"):
            name = name.removesuffix("README")
        return f"{self.page}#/{name}" if name else self.page

    def join(self, href: str, page_url: str) -> str:
        """Return the URL that an href in a Markdown file leads to: a page of the site, or a file.

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
        anchor = anchor or next(
            (part[3:] for part in query.split("&") if part.startswith("id=")), ""
        )
        if not path:
            return self._place(page_url, anchor)
        here = self._route_of(page_url) if self.is_relative else "/"
        path = urlsplit(urljoin(f"https://x{here}", path)).path
        if _EXTENSION.search(path) and not path.endswith(self.ext):
            return urljoin(self.files, path.lstrip("/"))
        return self._place(self.page_at(path), anchor)

    def _place(self, page_url: str, anchor: str) -> str:
        """Return the URL of a heading of a page; that of the page if `anchor` is empty."""
        if not anchor:
            return page_url
        return f"{page_url if split_route(page_url)[1] else f'{self.page}#/'}?id={anchor}"


def docsify_scripts(body: bytes, url: str) -> list[str]:
    """Return the URLs of scripts on a page's host that may configure Docsify, at most five; none if
    the page does.
    """
    if b"docsify" not in body[:MAX_PAGE_BYTES]:
        return []
    html = valid_text(body[:MAX_PAGE_BYTES].decode("utf-8", "replace"))
    if not _LOADER.search(html) or docsify_configuration(html) is not None:
        return []
    sources = (urljoin(url, src) for src in _OWN_SCRIPT.findall(html) if not _PROGRAM.search(src))
    return [src for src in dict.fromkeys(sources) if urlsplit(src)[:2] == urlsplit(url)[:2]][:5]


def docsify_configuration(text: str) -> str | None:
    """Return the part of a page or script that begins with the settings of Docsify, None if it has
    none.

    Assignments to single settings (`$docsify.ext = …`) are written as those of an object (`ext: …`)
    in it.
    """
    text = valid_text(text)
    named = _NAMED_CONFIG.search(text)
    if named is not None:
        begin = next((found for found in _DECLARED.finditer(text) if found[1] == named[1]), None)
        return text[begin.end() :] if begin is not None else None
    config = _CONFIG.search(text)
    return _ASSIGNED.sub(r"\1:", text[config.start() :]) if config is not None else None


def _docsify_settings(text: str) -> dict[str, str | bool]:
    """Return the settings of a configuration that are texts, or yes and no; the first of a name."""
    given: dict[str, str | bool] = {}
    for name, word, quoted, apostrophed in _SETTING.findall(text):
        given.setdefault(name, word == "true" if word else quoted or apostrophed)
    return given


def find_docsify(body: bytes, url: str, script: str = "") -> Docsify | None:
    """Return the Docsify site whose page this is, configured there or in `script`
    (`docsify_scripts`); or None.
    """
    if b"docsify" not in body[:MAX_PAGE_BYTES]:
        return None
    html = body[:MAX_PAGE_BYTES].decode("utf-8", "replace")
    text = docsify_configuration(html) or (
        docsify_configuration(script[:MAX_PAGE_BYTES]) if script else None
    )
    if text is None and not _LOADER.search(html):
        return None
    is_configured = text is not None
    text = text or ""
    unread = tuple(name for name, setting in _UNREAD.items() if setting.search(text))
    given = _docsify_settings(text)

    def named(setting: str, usual: str) -> str:
        value = given.get(setting, False)
        return value if isinstance(value, str) else usual if value else ""

    if given.get("routerMode") == "history":
        return None
    base = named("basePath", "") or named("sourcePath", "")
    page = split_route(without_fragment(url))[0]
    files = urljoin(page, base or ".")
    ext = named("ext", ".md") or ".md"
    return Docsify(
        page=page,
        files=files if files.endswith("/") else f"{files}/",
        homepage=named("homepage", "README.md") or f"README{ext}",
        ext=ext,
        sidebar=named("loadSidebar", f"_sidebar{ext}"),
        navbar=named("loadNavbar", f"_navbar{ext}"),
        cover=named("coverpage", f"_coverpage{ext}"),
        is_relative=given.get("relativePath") is True,
        unread=unread,
        is_configured=is_configured,
    )
