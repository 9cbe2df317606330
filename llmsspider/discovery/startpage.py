"""What the start page itself says: which llms.txt covers it, and whether it is a directory."""

from __future__ import annotations

import re
from itertools import takewhile
from urllib.parse import urlsplit, urlunsplit

from lxml import etree
from lxml import html as lxml_html

from llmsspider import domains, linkheader, urlgate
from llmsspider.discovery.model import Answer
from llmsspider.urlgate import InvalidUrl

MAX_HEAD_BYTES = 512 * 1024
"""How much of a page is searched for its `<head>`, in bytes."""

MAX_LINK_BYTES = 4 * 1024 * 1024
"""How much of a start page is searched for links, in bytes."""

MAX_DESCRIBEDBY = 2
"""How many files one page may name; more are ignored."""

_HEAD_END = re.compile(rb"</head\s*>|<body[\s>]", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_VERSION = re.compile(
    r"v?\d+(?:\.(?:\d+|x))*|latest|stable|main|master|dev|devel|current|next|release", re.IGNORECASE
)
_LANGUAGES = frozenset(
    [
        "ar",
        "bg",
        "bn",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "en",
        "es",
        "et",
        "fa",
        "fi",
        "fr",
        "he",
        "hi",
        "hr",
        "hu",
        "id",
        "it",
        "ja",
        "ko",
        "lt",
        "lv",
        "ms",
        "nb",
        "nl",
        "no",
        "pl",
        "pt",
        "ro",
        "ru",
        "sk",
        "sl",
        "sr",
        "sv",
        "th",
        "tr",
        "uk",
        "vi",
        "zh",
    ]
)
_HREF = re.compile(
    r"<a\s[^<>]{0,600}?\bhref\s*+=\s*+(?:\"([^\"]{1,2000})\"|'([^']{1,2000})'|([^\s\"'>]{1,2000}))|\]\(([^)\s]{1,2000})",
    re.IGNORECASE,
)
_TEXT_TYPES = frozenset({None, "text/markdown", "text/plain", "text/x-markdown"})


def describing_files(answer: Answer) -> tuple[list[str], list[InvalidUrl]]:
    """Return the URLs a page names as the llms.txt that covers it (`rel="describedby"`), and those that are none.

    Both the `Link:` header and `<link>` elements of the head count (llms.txt v2); files of another
    site and of types that are no text are left out.
    """
    if not answer.ok:
        return [], []
    links = [
        (link.url, link.rel, link.type)
        for link in linkheader.parse(answer.headers.get("link", ""), answer.final_url)
    ]
    links += _head_links(answer)
    named = dict.fromkeys(
        url for url, rel, media_type in links if "describedby" in rel and media_type in _TEXT_TYPES
    )
    found = [url for url in named if isinstance(url, str) and domains.same_site(url, answer.final_url)]
    return found[:MAX_DESCRIBEDBY], [url for url in named if isinstance(url, InvalidUrl)]


def page_url(url: str, answer: Answer) -> str:
    """Return the URL to probe from: the one after redirects, with a slash where it is a directory.

    An extensionless page that links below itself (`/docs` linking `/docs/intro`) is the directory
    `/docs/`. A page that failed leaves the URL as asked.
    """
    if not answer.ok or domains.host(answer.final_url) is None:
        return url
    parts = urlsplit(answer.final_url)
    name = parts.path.rpartition("/")[2]
    if not name or _EXTENSION.search(name):
        return answer.final_url
    below = f"{parts.path}/"
    if any(_lies_below(href, answer.final_url, parts.netloc, below) for href in _hrefs(answer)):
        return urlunsplit((parts.scheme, parts.netloc, below, "", ""))
    return answer.final_url


def section_url(url: str, answer: Answer) -> str:
    """Return the URL whose directory is the section of the site that was asked for.

    It is `page_url`, unless a directory redirected to a page below itself (`/docs/` to
    `/docs/intro/first`): then it is that directory, with the language and version it chose
    (`/` to `/en/latest/` is `/en/latest/`).
    """
    page = page_url(url, answer)
    asked, parts = urlsplit(url), urlsplit(page)
    name = asked.path.rpartition("/")[2]
    directory = asked.path if not name else f"{asked.path}/"
    directory = directory or "/"
    if _EXTENSION.search(name) or not parts.path.startswith(directory) or answer.final_url == url:
        return page
    *folders, _ = parts.path[len(directory) :].split("/")
    chosen = [f"{folder}/" for folder in takewhile(_is_tree, folders)]
    return urlunsplit((parts.scheme, parts.netloc, directory + "".join(chosen), "", ""))


def _is_tree(folder: str) -> bool:
    """Tell whether a directory name is a language or a version."""
    return folder.lower().replace("_", "-").partition("-")[0] in _LANGUAGES or bool(
        _VERSION.fullmatch(folder)
    )


def _lies_below(href: str, base: str, netloc: str, below: str) -> bool:
    url = urlgate.parse(href, base)
    if not isinstance(url, str):
        return False
    target = urlsplit(url)
    return target.netloc == netloc and target.path.startswith(below) and len(target.path) > len(below)


def _hrefs(answer: Answer) -> list[str]:
    text = answer.head(MAX_LINK_BYTES).decode("utf-8", "replace")
    return ["".join(groups) for groups in _HREF.findall(text)]


def _head_links(answer: Answer) -> list[tuple[str | InvalidUrl, frozenset[str], str | None]]:
    """Return URL, relations and type of each `<link>` in an HTML head."""
    start = answer.head(MAX_HEAD_BYTES)
    if b"<" not in start[:1024]:
        return []
    end = _HEAD_END.search(start)
    try:
        head = lxml_html.document_fromstring(start[: end.start()] if end else start)
    except (etree.LxmlError, ValueError):
        return []
    found = []
    for link in head.iter("link"):
        url = urlgate.parse(link.get("href") or "", answer.final_url)
        if url is None:
            continue
        media_type = (link.get("type") or "").partition(";")[0].strip().lower()
        found.append((url, frozenset((link.get("rel") or "").lower().split()), media_type or None))
    return found
