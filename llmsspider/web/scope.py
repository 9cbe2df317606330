"""Which URLs belong to a crawl: its scope, and the copy of the documentation that is wanted.

One `Scope` decides over seeds, links, redirect ends, sitemap entries and page URLs claimed by
full-text files. It is built once, when discovery is done (docs/explanation/scope.md).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote, urlsplit

from wcmatch import glob

from llmsspider.items import Section
from llmsspider.web.addresses import DEFAULT_PORTS, begins, same_site
from llmsspider.web.stats import Filtered
from llmsspider.web.trees import replaced, tree_of
from llmsspider.web.urls import directory, host

ScopeKind = Literal["auto", "section", "host", "domain", "listed"]

_GLOB_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.BRACE | glob.FORCEUNIX


def split_globs(text: str) -> list[str]:
    r"""Split a comma- or newline-separated list of globs; commas inside braces belong to the glob.

    >>> split_globs("/docs/**, /{api,ref}/**\n!/docs/old/**")
    ['/docs/**', '/{api,ref}/**', '!/docs/old/**']
    """
    parts = []
    depth = 0
    start = 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "\n" or (character == "," and depth <= 0):
            parts.append(text[start:position])
            start = position + 1
            depth = 0
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str], ...]:
    positive, _negative = glob.translate(pattern, flags=_GLOB_FLAGS)
    return tuple(re.compile(expression) for expression in positive)


def glob_matches(pattern: str, path: str, query: str = "") -> bool:
    """Return whether a glob matches a URL path; both are compared with percent-encoding decoded.

    A trailing slash of the path does not count, so `/docs/**` matches `/docs`, `/docs/` and all
    below. A glob with `?` and `=` names a query, too, of which other parameters may be a part.

    >>> [glob_matches("/docs/**", path) for path in ("/docs", "/docs/", "/docs/.a/b", "/docsearch")]
    [True, True, True, False]
    >>> [glob_matches("/wiki/**?action=*", "/wiki/a", query) for query in ("action=edit", "x=1&action=diff", "")]
    [True, True, False]
    """
    pattern, mark, wanted = unquote(pattern).partition("?")
    if "=" not in wanted:
        pattern += mark + wanted
    elif not any(_matches_parameter(wanted, unquote(one)) for one in query.split("&")):
        return False
    path = unquote(path)
    without_slash = path.rstrip("/")
    candidates = {path, without_slash or "/", without_slash + "/"}
    return any(
        expression.match(candidate) for expression in _compiled(pattern) for candidate in candidates
    )


def _matches_parameter(pattern: str, parameter: str) -> bool:
    return any(expression.match(parameter) for expression in _compiled(pattern))


@dataclass(slots=True, frozen=True)
class Scope:
    """The bounds of one crawl.

    `start_url` is the start page after redirects, `section` a directory path such as `/docs/`,
    `why` how it was chosen. `listed_directories` maps another host of the same site to the
    directories of the pages that llms.txt lists there. `unlocalized` is the section as it was asked
    for, where a redirect chose its language; links may leave that out, too. `allow` and `block` are globs on the URL
    path; `allow` replaces the section, `block` wins.
    """

    kind: ScopeKind
    start_url: str
    section: str
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    listed_directories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    why: str = ""
    unlocalized: str = ""

    def refusal(self, url: str, *, listed: bool = False) -> Filtered | None:
        """Return why an absolute URL is out of scope, None for one in scope."""
        if (
            not url.startswith(begins(self.start_url))
            and (scheme := urlsplit(url).scheme) not in DEFAULT_PORTS
        ):
            return Filtered("scheme", f"{scheme}: is not http(s)")
        if host(url) != host(self.start_url) and not same_site(url, self.start_url):
            return Filtered("offsite", "another site")
        parts = urlsplit(url)
        path = parts.path or "/"
        if outside := self._outside(url, path, listed=listed):
            return Filtered("out-of-scope", outside)
        if (blocked := self.block_refusal(url)) is not None:
            return blocked
        is_allowed = not self.allow or any(
            glob_matches(pattern, path, parts.query) for pattern in self.allow
        )
        return (
            None
            if is_allowed
            else Filtered("allow", f"matches none of allow={','.join(self.allow)}")
        )

    def block_refusal(self, url: str) -> Filtered | None:
        """Return which of the `block` globs leaves a URL out, None where none does."""
        parts = urlsplit(url)
        path = parts.path or "/"
        blocks = (one for one in self.block if glob_matches(one, path, parts.query))
        return next((Filtered("block", f"block={one}") for one in blocks), None)

    def _outside(self, url: str, path: str, *, listed: bool) -> str:
        """Return the rule by which host or section leave a URL of the site out; empty where none
        does.
        """
        if host(url) != host(self.start_url):
            return self._outside_host(host(url), path, listed=listed)
        if self.kind in {"host", "domain"} or (listed and self.kind != "section"):
            return ""
        if self.kind == "listed":
            return "not listed by llms.txt, a sitemap, a repository or a file of yours"
        # many servers on Windows, and their pages, do not tell /Docs/ from /docs/
        sections = self.section.lower(), (self.unlocalized or self.section).lower()
        is_inside = f"{path}/".lower().startswith(sections)
        return "" if self.allow or is_inside else f"outside the section {self.section}"

    def _outside_host(self, name: str, path: str, *, listed: bool) -> str:
        if self.kind in {"section", "host"}:
            return f"another host than {host(self.start_url)}"
        directories = self.listed_directories.get(name, ())
        is_below = self.kind == "auto" and path.startswith(directories)
        if self.kind == "domain" or listed or is_below:
            return ""
        return "another host, and below no directory that llms.txt lists there"

    def describe(self) -> str:
        """Return the scope in one line, with the argument that widens it."""
        name = host(self.start_url)
        why = f" ({self.why})" if self.why else ""
        where = {
            "auto": (
                f"pages below {name}{self.section}{why}, and pages that llms.txt lists on the same"
                " domain"
            ),
            "section": f"pages below {name}{self.section}",
            "host": f"all pages of {name}",
            "domain": f"all pages of the domain of {name}",
            "listed": "pages listed by llms.txt, a sitemap, a repository or a file of yours",
        }[self.kind]
        if self.allow and self.kind in {"auto", "section"}:
            where = f"pages of {name} that match allow={','.join(self.allow)}"
        if self.block:
            where += f", without block={','.join(self.block)}"
        return f"scope {self.kind}: {where}" + (f" (wider: {self.wider})" if self.wider else "")

    @property
    def wider(self) -> str:
        """The argument that widens the scope; empty where there is none."""
        if self.kind == "domain":
            return ""
        whole_host = self.kind == "host" or (
            self.kind in {"auto", "section"} and self.section == "/"
        )
        wider = "domain" if whole_host else "auto" if self.kind == "listed" else "host"
        return f"-a scope={wider}"


def build_scope(
    kind: ScopeKind,
    start_url: str,
    covering_file: str | None,
    listed: Iterable[str],
    *,
    allow: Sequence[str] = (),
    block: Sequence[str] = (),
    above: str | None = None,
    evidence: Iterable[Section] = (),
) -> Scope:
    """Fix the scope after discovery."""
    section = _section(start_url, covering_file, evidence if kind == "auto" else ())
    if above is not None and section.path.startswith(above):
        section = Section(above, "")
    elsewhere: dict[str, set[str]] = {}
    for url in listed:
        name = host(url)
        if name != host(start_url) and same_site(url, start_url):
            elsewhere.setdefault(name, set()).add(directory(url))
    return Scope(
        kind=kind,
        start_url=start_url,
        section=section.path,
        why=section.why,
        allow=tuple(pattern for pattern in allow if not pattern.startswith("!")),
        block=(*block, *(pattern[1:] for pattern in allow if pattern.startswith("!"))),
        listed_directories={name: tuple(sorted(paths)) for name, paths in elsewhere.items()},
    )


def unlocalized(asked: str, start_url: str) -> str:
    """Return the directory of the URL that led to a start page by adding its language; "" of others.

    >>> unlocalized("https://e.com/docs/", "https://e.com/en-US/docs/"), unlocalized("https://e.com/", "https://e.com/en/")
    ('/docs/', '')
    """
    language = tree_of(start_url).get("language")
    plain = directory(replaced(start_url, language, None)) if language else ""
    return plain if directory(asked) == plain != "/" else ""


def _section(start_url: str, covering_file: str | None, evidence: Iterable[Section]) -> Section:
    """Return the directory of the llms.txt that covers the start page, else the longest that the
    evidence names above it, else its own.
    """
    own = directory(start_url)
    covered = directory(covering_file or "")
    is_covered = host(covering_file or "") == host(start_url) and own.startswith(covered)
    if is_covered and covered != "/" and not covered.startswith("/.well-known/"):
        return Section(covered, "the directory of its llms.txt")
    above = [named for named in evidence if own.startswith(named.path)]
    return max(above, key=lambda named: len(named.path), default=Section(own, ""))
