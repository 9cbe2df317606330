"""A local folder in the place of a site: what a server of its files would answer for each
`file:///` address below it.

Only the folder that the crawl's argument `url` names is read: no way out by `..` or a symbolic
link, no hidden file, no device. Its files may name pages by the address that they are published at
(`https://docs.example.com/guide`, `/guide`): where they show which one that is, such links lead
into the folder.
"""

import mimetypes
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import formatdate
from functools import cached_property
from html import escape
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import DownloadCancelledError
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.asyncio import run_in_thread

from llmsspider.crawler.parts import DocsArguments
from llmsspider.crawler.requests import RefusedRequest, part_of
from llmsspider.errors import RenderingError
from llmsspider.web.urls import INDEX_FILES, directory

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers and body, as a server would send them."""

TYPES = {"md": "text/markdown", "mdx": "text/markdown", "markdown": "text/markdown"}
PAGES = frozenset({"html", "htm", *TYPES})
"""Extensions of the files that are pages where a folder has no `index.html`, which would lead to
them.
"""

SHOWING = ("index.html", "sitemap.xml", "llms.txt", "llms-full.txt")
"""Files that show the address at which a folder is published, each by its first MiB."""

READ_ONLY = os.O_RDONLY
"""How a file is opened: no link is followed, and no pipe waited for, where the system has that."""
if sys.platform == "win32":
    READ_ONLY |= os.O_BINARY
else:
    READ_ONLY |= os.O_NOFOLLOW | os.O_NONBLOCK

MAX_BASE_DEPTH = 3  # segments of the path of such an address

_LINK = (
    rb"(?:\b(?:href|src|url)\s*=\s*[\"']?|<loc>\s*|\]\(\s*<?|^[ \t]*(?:url|source|link):["
    rb" \t]*[\"']?)"
)
_FLAGS = re.IGNORECASE | re.MULTILINE
_ADDRESS = re.compile(_LINK + rb"(https?://[^/\s\"'<>()]+)?/(?!/)([^\s\"'<>()?#]*)", _FLAGS)


class Folder:
    """The folder that `url` names, a `file:///` address, or that the file lies in which it names."""

    def __init__(self, url: str):
        self.place = directory(url)
        self.path = _file_path(self.place)
        self.root = os.path.realpath(self.path)
        self._own_link = None
        self._mark = 0
        published = b"|".join(map(re.escape, self._published()))
        link = b"(" + _LINK + b")(?:" + published + b")(?!/)"
        self._own_link = re.compile(link, _FLAGS) if published else None
        self._mark = zlib.crc32(published)  # a file reads differently where that changed

    def file(self, path: str) -> Path | None:
        """Return the real path of the file or directory that an unquoted URL path names; None for
        all else.
        """
        inside = path.removeprefix(self.path)
        if not path.startswith(self.path) or _is_hidden(inside) or "\0" in path:
            return None
        named = f"{self.root}/{inside}".rstrip("/")
        ways = [named, f"{named}.html"]
        if (
            not path.endswith("/")
            and Path(named).is_dir()
            and not Path(named, "index.html").exists()
        ):
            ways.reverse()
        real = next(filter(Path.exists, map(Path, map(os.path.realpath, ways))), None)
        if real is None or not real.is_relative_to(self.root):
            return None
        return None if _is_hidden(os.path.relpath(real, self.root)) else real

    def answer(self, url: str, known: str, max_bytes: int) -> Answer:
        """Return the answer for an address; `known` is the ETag of what is stored.

        Raises `DownloadCancelledError`.
        """
        path = _file_path(urlsplit(url).path)
        real = self.file(path)
        try:
            if real is not None and real.is_dir():
                if not path.endswith("/"):
                    to = escape(f"{quote(os.fsencode(Path(path).name))}/")
                    return _page(f'<meta http-equiv="refresh" content="0; url={to}">')
                real = next(
                    filter(None, (self.file(f"{path}{name}") for name in INDEX_FILES)), None
                )
                if real is None and path == self.path:
                    name = os.fsencode(Path(path).name).decode("utf-8", "replace")
                    return _page(f"<title>{escape(name)}</title>")
            if real is not None:
                return self._read(real, known, max_bytes)
            if path == f"{self.path}sitemap.xml" and self.file(f"{self.path}index.html") is None:
                return self._sitemap()
        except PermissionError:
            return 403, {}, b""
        except OSError:  # it is gone, or was replaced by a symbolic link
            pass
        return 404, {}, b""

    def _sitemap(self) -> Answer:
        """Return the list of all pages; an error of the server where it cannot be made whole."""
        try:
            entries = "".join(self._listed())
        except OSError:
            return 503, {}, b""
        return 200, {"Content-Type": "application/xml"}, f"<urlset>{entries}</urlset>".encode()

    def _read(self, real: Path, known: str, max_bytes: int) -> Answer:
        descriptor = os.open(real, READ_ONLY)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return 404, {}, b""
            kind = (
                TYPES.get(_extension(real.name))
                or mimetypes.guess_type(real)[0]
                or "application/octet-stream"
            )
            etag = f'"{about.st_mtime_ns:x}-{about.st_size:x}-{self._mark:x}"'
            date = formatdate(about.st_mtime, usegmt=True)
            headers = {"Content-Type": kind, "ETag": etag, "Last-Modified": date}
            if known == etag:
                return 304, headers, b""
            if 0 < max_bytes < about.st_size:
                raise DownloadCancelledError(
                    f"the file has {about.st_size} bytes, more than {max_bytes}"
                )
            body = file.read(about.st_size)
        if self._own_link is not None and (kind.startswith("text/") or kind.endswith("/xml")):
            body = self._own_link.sub(rb"\g<1>" + self.place.encode(), body)
        return 200, headers, body

    def _listed(self) -> Iterator[str]:
        """Yield the entry of each page in a sitemap of the folder.

        Raises `OSError` where a folder below it cannot be listed: a part is no list.
        """
        for here, folders, names in os.walk(self.root, onerror=_raise):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(f"{here}/{name}", self.root)
                real = self.file(f"{self.path}{path}") if _extension(name) in PAGES else None
                if real is not None and real.is_file():
                    date = datetime.fromtimestamp(real.stat().st_mtime, UTC).isoformat()
                    page = f"{self.place}{quote(os.fsencode(path))}"
                    yield f"<url><loc>{page}</loc><lastmod>{date}</lastmod></url>"

    def _published(self) -> list[bytes]:
        """Return the addresses that the folder is published at: most of what its files name below
        them is in it.
        """
        named: set[tuple[bytes, bytes]] = set()
        for real in filter(None, (self.file(f"{self.path}{name}") for name in SHOWING)):
            with suppress(OSError, DownloadCancelledError):
                named.update(_ADDRESS.findall(self._read(real, "", 1 << 25)[2][: 1 << 20]))
        below = Counter[bytes]()
        there = Counter[bytes]()
        for origin, path in named:
            folders = path.split(b"/")
            for depth in range(min(len(folders), MAX_BASE_DEPTH + 1)):
                base = b"/".join((origin, *folders[:depth], b""))
                rest = os.fsdecode(unquote_to_bytes(b"/".join(folders[depth:])))
                below[base] += 1
                there[base] += bool(rest) and self.file(f"{self.path}{rest}") is not None
        likely = [
            one
            for one in below
            if there[one] > one.startswith(b"http") and 2 * there[one] >= below[one]
        ]
        best = sorted(likely, key=lambda base: there[base])
        return list({base.partition(b"//")[2].partition(b"/")[0]: base for base in best}.values())


def _file_path(path: str) -> str:
    """Return the path of a file that a URL's path names; names need not be UTF-8."""
    return os.fsdecode(unquote_to_bytes(path))


def _is_hidden(path: str) -> bool:
    """Return whether a path below the folder has a hidden name; a link may lead to one."""
    visible = {"", ".", ".well-known"}
    return any(name.startswith(".") and name not in visible for name in path.split("/"))


def _extension(name: str) -> str:
    return Path(name).suffix.removeprefix(".").lower()


def _raise(error: OSError) -> None:
    raise error


def _page(head: str) -> Answer:
    body = f"<!doctype html><html><head>{head}</head></html>"
    return 200, {"Content-Type": "text/html; charset=utf-8"}, body.encode()


class FolderDownloadHandler(BaseDownloadHandler):
    """Answers for the `file` scheme, where the argument `url` of the crawl names a folder; nothing
    else is read.
    """

    lazy = True

    @cached_property
    def _folder(self) -> Folder | None:
        arguments = part_of(self.crawler, DocsArguments)
        if arguments is None or not arguments.reads_folder:
            return None
        return Folder(arguments.url or "")

    async def download_request(self, request: Request) -> Response:
        """Return what a server would answer; the browser opens no files."""
        if request.meta.get("playwright"):
            raise RenderingError("pages of a local folder are not rendered", kind="blocked")
        if self._folder is None:
            raise RefusedRequest("no local folder is crawled", reason="scheme")
        known = (request.headers.get("If-None-Match") or b"").decode("latin-1")
        limit = request.meta.get(
            "download_maxsize", self.crawler.settings.getint("DOWNLOAD_MAXSIZE")
        )
        status, headers, body = await run_in_thread(self._folder.answer, request.url, known, limit)
        named = Headers(headers)
        kind = responsetypes.from_args(headers=named, url=request.url, body=body)
        return kind(request.url, status=status, headers=named, body=body, request=request)
