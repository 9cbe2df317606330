"""The files that are kept beside the pages of a source (`assets=`): which they are, and what the
store has of them. No Scrapy.

A file has a row in the store for each address that pages name it by, with the validators of that
address. Where the bytes are the same the path is, too. What no page names any more is forgotten
after a complete run.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from llmsspider.content.markdown.scan import scan
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KEPT_HEADERS, KnownPages
from llmsspider.errors import ConversionError
from llmsspider.items import raw_hash
from llmsspider.site.discovered import FetchResult
from llmsspider.store import ASSET, Reading
from llmsspider.web.addresses import begins, same_site
from llmsspider.web.outcomes import MISSING, validators
from llmsspider.web.page_forms import BINARY_EXTENSIONS, HTML_TYPES, extension

MAX_FILES = 5_000
"""Number of addresses of a source whose files are kept."""

MAX_BYTES = 10 * 1024 * 1024
"""Size of a file; larger ones are not kept."""

ACCEPT = "image/*, */*;q=0.8"


def assets_of(content: str, paths: Mapping[str, str]) -> list[dict[str, str]]:
    """Return `Document.assets`: `url` and `path` of each file that a content names, by `paths`."""
    return [{"url": url, "path": paths[url]} for url in _named(content) if url in paths]


def _named(content: str) -> dict[str, bool]:
    """Return the addresses in a content, each with whether it is shown as a picture."""
    with suppress(ConversionError):
        return scan(content).addresses()
    return {}


class Assets:
    """The files beside the pages of one run; `linked` ones, such as PDF files, beside pictures."""

    def __init__(self, known: KnownPages, bounds: Bounds, *, linked: bool):
        self._known = known
        self._bounds = bounds
        self._linked = linked
        self._stored: dict[str, Reading] = {}
        self._named: set[str] = set()
        self.paths: dict[str, str] = {}
        """The paths of files below the folder of the pages, by address."""
        self.too_many: set[str] = set()
        """The addresses beyond `MAX_FILES`, which are not requested."""

    def open(self) -> None:
        """Take over what is stored."""
        self._stored = {one.url: one for one in self._known.stored.assets()}
        self.paths = {url: one.path for url, one in self._stored.items()}

    def urls(self, page: str, content: str) -> list[str]:
        """Return the addresses of the files that a page names, each once."""
        found = [
            url for url, is_shown in _named(content).items() if self._takes(url, page, is_shown)
        ]
        for url in found:
            has_room = url in self._named or len(self._named) < MAX_FILES
            (self._named if has_room else self.too_many).add(url)
        return [url for url in found if url in self._named]

    def _takes(self, url: str, page: str, is_shown: bool) -> bool:
        if not url.startswith(begins(page)) or not same_site(url, page):
            return False
        is_file = self._linked and extension(url) in BINARY_EXTENSIONS
        scope = self._bounds.scope
        return (is_shown or is_file) and (scope is None or scope.block_refusal(url) is None)

    def validators(self, url: str) -> dict[str, str]:
        """Return the headers that ask for a file only if it is another one than stored."""
        stored = self._stored.get(url)
        sends = self._known.trusted and self._known.sends_validators(url, is_page=False)
        return validators(stored.etag, stored.last_modified) if stored and sends else {}

    def keep(self, answer: FetchResult) -> None:
        """Take an answer: a file, an address that has none any more, or one that failed, whose file
        stays as it was. Validators belong to the address that sent them.
        """
        url = answer.url
        headers = answer.headers
        kept = {name: headers[name] for name in KEPT_HEADERS if name in headers}
        own = headers if answer.final_url == url else {}
        body = answer.body
        new = Reading(
            url,
            ACCEPT,
            own.get("etag"),
            own.get("last-modified"),
            kept,
            body,
            ASSET,
            raw_hash=raw_hash(body),
        )
        is_file = answer.ok and body and answer.content_type not in HTML_TYPES
        stored = self._stored.get(url)
        if is_file and same_site(answer.final_url, url):
            self._known.stored.save_reading(new)
            self._stored[url] = replace(new, body=b"")
            self.paths[url] = new.path
        elif stored is not None and (answer.ok or answer.status in MISSING):
            self._forget(stored)
        elif stored is not None:
            self._known.stored.use_reading(stored.key)

    def end(self) -> None:
        """Forget the files that no page names any more, after a run that saw all pages."""
        for stored in list(self._stored.values()):
            if stored.url not in self._named:
                self._forget(stored)

    def _forget(self, stored: Reading) -> None:
        del self._stored[stored.url], self.paths[stored.url]
        self._known.stored.save_reading(
            replace(stored, etag=None, last_modified=None, raw_hash=None)
        )
