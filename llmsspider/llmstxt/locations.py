"""Where a site keeps its llms.txt, and which URLs are llms files."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit, urlunsplit

from llmsspider import domains
from llmsspider.errors import InvalidUrlError

MAX_CANDIDATES = 8
"""Most directories probed for one start URL, `/.well-known/` apart."""

_LLMS_NAME = re.compile(r"llms(?:-[^/]+)?\.txt|llms\.(?:md|mdx|markdown)", re.IGNORECASE)


def candidates(url: str) -> list[str]:
    """Return the URLs to probe for an llms.txt that covers `url`, most specific first.

    Query and fragment are dropped and so is the last path segment (a trailing slash keeps the whole
    path); then every ancestor up to the site root, then `/.well-known/`. Of more than
    `MAX_CANDIDATES` directories the deepest are probed, and always the root.

    Raises:
        InvalidUrlError: `url` is not an absolute http(s) URL.

    >>> candidates("https://example.com/project/readme.md?v=1#top")[:2]
    ['https://example.com/project/llms.txt', 'https://example.com/llms.txt']
    """
    root, segments = _root_and_directories(url)
    paths = ["/" + "".join(f"{name}/" for name in segments[:depth]) for depth in range(len(segments), -1, -1)]
    if len(paths) > MAX_CANDIDATES:
        paths = [*paths[: MAX_CANDIDATES - 1], paths[-1]]
    return [f"{root}{path}llms.txt" for path in paths] + [f"{root}/.well-known/llms.txt"]


def directory_url(url: str) -> str:
    """Return the URL of the directory a page lies in, with its trailing slash.

    >>> directory_url("https://example.com/docs/api/v1?x=1")
    'https://example.com/docs/api/'
    """
    root, segments = _root_and_directories(url)
    return root + "/" + "".join(f"{name}/" for name in segments)


def is_llms_url(url: str) -> bool:
    """Tell whether the URL names an llms file: `llms.txt`, its variants, or a `.txt` below `/llms/`.

    Whole path segments count, in any case; query and fragment do not.

    >>> is_llms_url("https://example.com/docs/LLMS-full.txt?v=2")
    True
    >>> is_llms_url("https://example.com/guides/llms.txt-explained")
    False
    """
    if "llms" not in url.lower() and "%" not in url:
        return False
    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    *directories, name = [unquote(segment) for segment in path.split("/")]
    if _LLMS_NAME.fullmatch(name):
        return True
    below_llms = any(segment.lower() == "llms" for segment in directories)
    return below_llms and len(name) > len(".txt") and name.lower().endswith(".txt")


def _root_and_directories(url: str) -> tuple[str, list[str]]:
    """Split into `scheme://host` and the names of the directories above the last path segment."""
    if domains.host(url) is None:
        raise InvalidUrlError(
            f"{url!r} is not a web address: give a full one such as https://docs.example.com/"
        )
    parts = urlsplit(url)
    try:
        parts.port  # noqa: B018 - raises for a port that is not a number
    except ValueError as error:
        raise InvalidUrlError(f"{url!r} is not a web address: {error}") from None
    directories = parts.path.split("/")[:-1]
    user, at, address = parts.netloc.rpartition("@")
    root = urlunsplit((parts.scheme, user + at + address.lower(), "", "", ""))
    return root, [name for name in directories if name]
