"""The files that are kept beside the pages of a source (`assets=`): which they are, and what the
store has of them. No Scrapy.

A file has an entry for each address that links it, with the validators of that address. Where the
bytes are the same the path is, too. Files that pages named in an earlier run, and no page of a
complete run names any more, are forgotten.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from llmsspider.content.markdown.scan import scan
from llmsspider.crawler.bounds import Bounds
from llmsspider.crawler.known_pages import KEPT_HEADERS, KnownPages
from llmsspider.errors import ConversionError
from llmsspider.items import raw_hash
from llmsspider.store import ASSET, Reading, Store
from llmsspider.web.addresses import begins, same_site
from llmsspider.web.outcomes import MISSING, validators
from llmsspider.web.page_forms import BINARY_EXTENSIONS, HTML_TYPES, extension

MAX_FILES = 5_000
"""Number of addresses of a source whose files are kept."""

MAX_BYTES = 10 * 1024 * 1024
"""Size of a file; larger ones are not kept."""

ACCEPT = "image/*, */*;q=0.8"

Wanted = Literal["none", "images", "files"]


class Assets:
    """The files beside the pages of one run."""

    def __init__(self, wanted: Wanted, known: KnownPages, bounds: Bounds):
        self.wanted = wanted
        self._known = known
        self._bounds = bounds
        self._stored: dict[str, Reading] = {}
        self._linked: set[str] = set()
        self.too_many: set[str] = set()
        """The addresses beyond `MAX_FILES`, which are not requested."""

    def open(self, store: Store) -> None:
        """Take over what is stored, where files are wanted."""
        if self.wanted != "none":
            self._stored = {one.url: one for one in store.assets()}

    def urls(self, page: str, content: str) -> list[str]:
        """Return the addresses of the files that a page names, each once."""
        addresses: dict[str, bool] = {}
        with suppress(ConversionError):
            addresses = scan(content).addresses()
        found = [url for url, is_shown in addresses.items() if self._takes(url, page, is_shown)]
        for url in found:
            within = url in self._linked or len(self._linked) < MAX_FILES
            (self._linked if within else self.too_many).add(url)
        return [url for url in found if url in self._linked]

    def _takes(self, url: str, page: str, is_shown: bool) -> bool:
        if not url.startswith(begins(page)) or not same_site(url, page):
            return False
        if not is_shown and (self.wanted == "images" or extension(url) not in BINARY_EXTENSIONS):
            return False
        scope = self._bounds.scope
        return scope is None or scope.block_refusal(url) is None

    def validators(self, url: str) -> dict[str, str]:
        """Return the headers that ask for a file only if it is another one than stored."""
        stored = self._stored.get(url)
        if stored is None or not self._known.trusted:
            return {}
        if not self._known.sends_validators(url, is_page=False):
            return {}
        return validators(stored.etag, stored.last_modified)

    def path(self, url: str) -> str | None:
        """Return the path of the file of an address below the folder of the pages, None where there
        is none.
        """
        stored = self._stored.get(url)
        return stored.path if stored is not None else None

    def keep(
        self, store: Store, url: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Take an answer: a file, an address that has none any more, or one that failed, whose file
        stays as it was.
        """
        kept = {name: headers[name] for name in KEPT_HEADERS if name in headers}
        etag = headers.get("etag")
        date = headers.get("last-modified")
        new = Reading(url, ACCEPT, etag, date, kept, body, ASSET, raw_hash=raw_hash(body))
        outline = replace(new, body=b"")
        stored = self._stored.get(url)
        is_file = status == 200 and body and new.media_type not in HTML_TYPES
        if is_file and outline != stored:
            store.save_reading(new)
            self._stored[url] = outline
        elif stored is not None and (is_file or status not in {200, *MISSING}):
            store.use_reading(stored.key)
        elif stored is not None:
            self._forget(store, url)

    def end(self, store: Store, *, is_complete: bool) -> None:
        """Forget the files that no page names any more, after a run that saw all pages."""
        if is_complete:
            for url in self._stored.keys() - self._linked:
                self._forget(store, url)

    def __len__(self) -> int:
        return len(self._stored)

    def _forget(self, store: Store, url: str) -> None:
        stored = self._stored.pop(url)
        store.save_reading(replace(stored, etag=None, last_modified=None, raw_hash=None))
