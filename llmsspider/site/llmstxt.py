"""llms.txt (https://llmstxt.org): where a site keeps it, what counts as one, whether it is an index
or full text.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

import orjson

from llmsspider.site.llmsfull import looks_split
from llmsspider.web.addresses import same_site
from llmsspider.web.encodings import decode
from llmsspider.web.page_forms import bare_type
from llmsspider.web.trees import axis_of
from llmsspider.web.urls import host, parse, require_http_url

# Where a site keeps its llms.txt, and which URLs are llms files.

MAX_CANDIDATES = 8
"""Most directories probed for one start URL, `/.well-known/` apart."""

_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_HREF = re.compile(
    r"<a\s[^<>]{0,600}?\bhref\s*+=\s*+(?:\"([^\"]{1,2000})\"|'([^']{1,2000})'|([^\s\"'>]{1,2000}))|\]\(([^)\s]{1,2000})",
    re.IGNORECASE,
)
_LLMS_NAME = re.compile(r"llms(?:-[^/]+)?\.txt|llms\.(?:md|mdx|markdown)", re.IGNORECASE)


def candidates(url: str) -> list[str]:
    """Return the URLs to probe for an llms.txt that covers `url`, most specific first.

    They are its directory and every one above, then `/.well-known/`; of more than `MAX_CANDIDATES`
    the deepest, and the root. Raises `InvalidUrlError` where `url` is not an absolute http(s) URL.

    >>> candidates("https://example.com/project/readme.md?v=1#top")[:2]
    ['https://example.com/project/llms.txt', 'https://example.com/llms.txt']
    """
    if not isinstance(parse(url), str):
        require_http_url(url)  # raises, with the reason
    root, segments = _root_and_directories(url)
    depths = range(len(segments), -1, -1)
    probed = depths if len(depths) <= MAX_CANDIDATES else (*depths[: MAX_CANDIDATES - 1], 0)
    paths = ["/" + "".join(f"{name}/" for name in segments[:depth]) for depth in probed]
    return [f"{root}{path}llms.txt" for path in paths] + [f"{root}/.well-known/llms.txt"]


def directory_url(url: str) -> str:
    """Return the URL of the directory a page lies in, with its trailing slash.

    >>> directory_url("https://example.com/docs/api/v1?x=1")
    'https://example.com/docs/api/'
    """
    root, segments = _root_and_directories(url)
    return root + "/" + "".join(f"{name}/" for name in segments)


def directory_or_page(url: str, text: str) -> str:
    """Return the URL of a page, with a slash at its end where its text links below it: `/docs` is a
    directory then.
    """
    parts = urlsplit(url)
    name = parts.path.rpartition("/")[2]
    below = f"{parts.path}/"
    if not name or _EXTENSION.search(name):
        return url
    for groups in _HREF.findall(text):
        target = parse("".join(groups), url)
        to = urlsplit(target) if isinstance(target, str) else None
        if to and to.netloc == parts.netloc and to.path.startswith(below) and to.path != below:
            return urlunsplit((parts.scheme, parts.netloc, below, "", ""))
    return url


def section_url(url: str, page: str) -> str:
    """Return the URL whose directory is the section of the site to crawl, for a URL that redirected
    to a page.

    It is that of the page; of a directory that redirected below itself (`/docs/` to
    `/docs/en/intro/first`) it is that directory, with the language and version it chose. A redirect
    to another host is a move into a section of that.
    """
    if host(url).removeprefix("www.") != host(page).removeprefix("www."):
        return page
    requested = urlsplit(url).path
    parts = urlsplit(page)
    name = requested.rpartition("/")[2]
    directory = f"{requested}/" if name else requested or "/"
    if _EXTENSION.search(name) or not parts.path.startswith(directory):
        return page
    *folders, _ = parts.path[len(directory) :].split("/")
    trees = takewhile(
        lambda folder: axis_of(folder) is not None or folder.lower() == "release", folders
    )
    path = directory + "".join(f"{folder}/" for folder in trees)
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def is_llms_url(url: str) -> bool:
    """Return whether the URL names an llms file: `llms.txt`, its variants, or a `.txt` below
    `/llms/`, `/_llms-txt/`.

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
    below_llms = any(segment.lower() in {"llms", "_llms-txt"} for segment in directories)
    return below_llms and len(name) > len(".txt") and name.lower().endswith(".txt")


def _root_and_directories(url: str) -> tuple[str, list[str]]:
    """Split into `scheme://host` and the names of the directories above the last path segment."""
    parts = urlsplit(url)
    user, at, address = parts.netloc.rpartition("@")
    root = urlunsplit((parts.scheme, user + at + address.lower(), "", "", ""))
    return root, [name for name in parts.path.split("/")[:-1] if name]


# What counts as an llms.txt, and whether a file is an index or full text. Half of the 200 answers
# real sites give for `/llms.txt` are something else: the app's HTML shell, an API error in JSON, a
# robots.txt. They are refused here, by their bodies as well as by their headers.

MAX_BYTES = 20 * 1024 * 1024  # the largest llms.txt that is read, in bytes
# characters by which an index is distinguished from full text
MAX_CLASSIFIED_CHARS = 2 * 1024 * 1024
MIN_CHARS = 20  # the shortest text that can be an llms.txt, in characters

TEXT_TYPES = frozenset({"text/markdown", "text/plain", "text/x-markdown"})
AMBIGUOUS_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})

_HEADING = re.compile(r"\s*# \S")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_STRANGE = re.compile("[\x1b\ufffd]")
_SPACE = re.compile(r"\s*+")
_HTML_START = re.compile(
    r"<(?:!doctype\s+html|html|head|body|script|style|meta|link|title|base|iframe)[\s>/]",
    re.IGNORECASE,
)
_HTML_END = re.compile(r"</(?:html|body)>\s*$", re.IGNORECASE)
_TAG_START = re.compile(r"<[a-z][^>]*>", re.IGNORECASE)
_XML_START = re.compile(r"<(?:\?xml|urlset|sitemapindex|rss|feed|svg|error)[\s>]", re.IGNORECASE)
_JSON_START = re.compile(r"\{\s*(?:\"(?:[^\"\\]|\\.)*\"\s*:|\})")
_AGENT_LINE = re.compile(r"\s*user-agent\s*:", re.IGNORECASE)
_ROBOTS_LINE = re.compile(
    r"\s*(?:user-agent|(?:dis)?allow|sitemap|crawl-delay|host|clean-param|content-signal|noindex)\s*:",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"\b404\b|\bnot found\b|\bno such (?:page|file|key)\b|\bcould(?: not|n't) be found\b",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"^\s{0,3}#{1,6}\s|\]\(|https?://", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)")
_TAG_LINE = re.compile(r"\s*</?[a-z][^>]*>\s*$", re.IGNORECASE)
_LINK_LINE = re.compile(
    r"(?:[-*+]\s{1,9})?(?:[^:/\s][^:/]{0,80}:\s{1,9}/[^\s:]{1,500}(?:\s{1,9}[-–—].*)?|/[^\s:]{1,500}:\s.*)\Z|"
    r"(?:[-*+]|\d{1,9}[.)])\s.*(?:\]\(|https?://|<https?:)|\|.*\]\(|\S{0,80}\s{0,9}(?:\[[^\]]*\]\(|https?://)"
)


def reject_reason(
    status: int, probe_url: str, final_url: str, content_type: str | None, body: bytes
) -> str | None:
    """Return why an answer, of this Content-Type header and body, is not an llms.txt; None when it
    is one.
    """
    if status != 200:
        return f"status {status}"
    if not same_site(probe_url, final_url):
        return "redirected to another site"
    media_type = bare_type(content_type)
    is_mislabelled = media_type == "text/html" and _HEADING.match(decode(body[:1024]))
    if media_type not in TEXT_TYPES | AMBIGUOUS_TYPES and not is_mislabelled:
        return f"content type {media_type[:60]}"
    return _reject_body(body, ambiguous=media_type in AMBIGUOUS_TYPES)


def classify(text: str) -> Literal["index", "full"]:
    """Return whether a text is an index (a list of links) or full text (the documentation itself).

    Pages delimited as full-text generators do it decide at once; else the share of characters on
    lines that are neither links nor headings.
    """
    text = text[:MAX_CLASSIFIED_CHARS]
    if looks_split(text):
        return "full"
    listed = prose = 0
    in_code = False
    for line in text.splitlines():
        stripped = line.strip()
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code and _LINK_LINE.match(stripped[:1000]):
            listed += len(stripped)
        elif in_code or not (stripped.startswith(("#", ">")) or _TAG_LINE.match(stripped[:1000])):
            prose += len(stripped)
    if prose < 2_000:
        return "index" if listed else "full"
    return "full" if prose > 2 * listed else "index"


def _reject_body(body: bytes, *, ambiguous: bool) -> str | None:
    if len(body) > MAX_BYTES:
        return "larger than 20 MB"
    text = decode(body)
    if "\0" in text:
        return "binary"
    text = text.strip().strip("\ufeff\u200b").strip()
    start = body[:4096].decode("utf-8", "replace") if ambiguous else ""
    if _CONTROL.search(start) or len(_STRANGE.findall(start)) > len(body[:4096]) * 0.25:
        return "binary"
    if len(text) < MIN_CHARS:
        return f"shorter than {MIN_CHARS} characters" if text else "empty"
    return next((reason for reason, is_so in _NOT_LLMS_TXT.items() if is_so(text)), None)


def _is_html(text: str) -> bool:
    position = 0
    while text.startswith("<!--", position) and (end := text.find("-->", position + 4)) >= 0:
        position = _SPACE.match(text, end + 3).end()  # type: ignore[union-attr]  # it matches nothing, too
    is_tag = text.startswith("<", position)
    if _HTML_START.match(text, position) or (is_tag and _HTML_END.search(text)):
        return True
    tag = _TAG_START.match(text)
    return (
        tag is not None
        and text.endswith(">")
        and len(text) > tag.end()
        and not _MARKDOWN.search(text)
    )


def _is_json(text: str) -> bool:
    if text[0] in "{[" and not _JSON_START.match(text):
        with suppress(orjson.JSONDecodeError):
            orjson.loads(text)
            return True
        return False
    return text[0] in "{["


def _is_robots(text: str) -> bool:
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    rules = sum(1 for line in lines if _ROBOTS_LINE.match(line))
    return rules > len(lines) * 0.6 and any(map(_AGENT_LINE.match, lines))


_NOT_LLMS_TXT: dict[str, Callable[[str], bool]] = {
    "an HTML page": _is_html,
    "XML": lambda text: _XML_START.match(text) is not None,
    "JSON": _is_json,
    "a robots.txt": _is_robots,
    "a not-found message": lambda text: (
        len(text) < 500 and not _MARKDOWN.search(text) and _NOT_FOUND.search(text) is not None
    ),
}
"""Each reason to reject a body, and its test; applied in order."""
