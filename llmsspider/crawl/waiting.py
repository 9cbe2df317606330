"""The one place where pages wait: read ones for what the site's other pages show, failed ones for a retry. Pure.

A page that waits is settled when what it waits for is known, at the latest at the end of the crawl
(`crawl/ending.py`). So the order in which pages come decides nothing. `Spool` keeps large bodies on disk.
"""

import pickle
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from llmsspider.crawl.bot_walls import Suspect
from llmsspider.crawl.pages import PageResponse, PageResult
from llmsspider.crawl.settle import ReadPage, Reason
from llmsspider.errors import ErrorKind
from llmsspider.store import PageRecord


class Limit(NamedTuple):
    """How many pages may wait in one run, and how many more documents `max_pages` has to allow for one to wait."""

    pages: float
    room: int = -1


LIMITS: dict[Reason, Limit] = {
    "copy": Limit(50_000),
    "shape": Limit(50_000),
    "failed": Limit(200),  # when more fail the site is down
    "links": Limit(16, 100),
    "markdown": Limit(100, 100),
    "tag": Limit(1000, 100),
    "stub": Limit(1000, 100),
    "wall": Limit(inf),  # on disk
    "moved": Limit(1000, 1000),
    "in-file": Limit(inf),
}
MAX_CHARACTERS = 20_000_000
"""Maximum number of characters of the pages that wait in memory because they may have moved."""

BY_DOCUMENT: tuple[Reason, ...] = ("markdown", "tag", "stub")
"""The reasons for which a page waits that may come again, in another form, before it is settled."""

PASSING = frozenset({"network", "rate_limited"})
"""Error kinds that may be over by the end of the crawl; so may answers without a page that are no 4xx."""


class Failure(NamedTuple):
    """The error that is reported if a retry fails too."""

    url: str
    kind: ErrorKind
    message: str
    status: int | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the page may answer later."""
        return self.kind in PASSING or (self.kind == "http" and (self.status or 0) < 400)


@dataclass(slots=True)
class WaitingPage:
    """A page that waits, and why."""

    reason: Reason
    request: Any = None  # the request that it answered; of `copy`, `shape` and `failed` the one to send
    record: PageRecord | None = None  # the page as it was read; None where it was not
    facts: ReadPage | None = None  # what the rules know of it
    confirmed: bool = False  # it is as it was stored
    shows_pages: bool = False  # its HTML linked to pages that nothing had shown before
    answer: PageResponse | None = None  # of pages that are read again
    read: PageResult | None = None  # the page of small Markdown
    group: str = ""  # the group of pages (`LinkBases.decided`) that shows what its links are relative to
    suspect: Suspect | None = None  # what speaks for a bot wall
    failure: Failure | None = None  # the error of a failed page


SPOOLED_BYTES = 4 * 1024 * 1024
"""Bodies below this stay in memory, see `Spool`."""


class Spool:
    """A temporary folder, made with the first body that is put there and removed by `close`."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._count = 0

    def keep(self, body: bytes) -> Path:
        """Write a body to a file of its own and return its path; raises `OSError`."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="llmsspider-"))
        self._count += 1
        path = self._folder / str(self._count)
        path.write_bytes(body)
        return path

    def close(self) -> None:
        """Remove the files; idempotent."""
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


class Waiting:
    """The pages of one run that wait. `closed` has the reasons for which none does: a stop would lose them."""

    def __init__(self, spool: Spool) -> None:
        self.closed: set[Reason] = {"moved"}
        self._pages: dict[Reason, dict[object, WaitingPage]] = {reason: {} for reason in LIMITS}
        self._kept: Counter[Reason] = Counter()
        self._characters = 0
        self._spool = spool
        self._on_disk: dict[tuple[Reason, object], Path] = {}

    def can_keep(self, reason: Reason, room: int | None = None) -> bool:
        """Say whether one more page can wait, where `room` more documents are allowed (None: any number)."""
        limit = LIMITS[reason]
        is_full = self._kept[reason] >= limit.pages or (room is not None and room <= limit.room)
        is_large = reason == "moved" and self._characters >= MAX_CHARACTERS
        return not (is_full or is_large or reason in self.closed)

    def keep(self, page: WaitingPage, *, room: int | None = None) -> bool:
        """Keep a page; return False where no more can wait."""
        reason, record = page.reason, page.record
        if not self.can_keep(reason, room):
            return False
        self._kept[reason] += 1
        key: object = self._kept[reason]
        if record is not None and reason in BY_DOCUMENT:
            key = record.id
        if record is not None and reason == "wall":
            self._on_disk[reason, key] = self._spool.keep(pickle.dumps(replace(record, digest=None)))
            page.record = None
        elif record is not None and reason == "moved":
            self._characters += len(record.content or "")
        self._pages[reason][key] = page
        return True

    def number(self, *reasons: Reason) -> int:
        """Return how many pages wait."""
        return sum(len(self._pages[reason]) for reason in reasons)

    def pages(self, reason: Reason) -> list[WaitingPage]:
        """Return the pages that wait; they go on waiting."""
        return list(self._pages[reason].values())

    def pop(self, record: PageRecord) -> WaitingPage | None:
        """Return the page of this document that waited for other pages and waits no more; None where none did."""
        found = (self._pages[reason].pop(record.id, None) for reason in BY_DOCUMENT)
        return next((page for page in found if page is not None), None)

    def take(
        self,
        *reasons: Reason,
        most: int | None = None,
        where: Callable[[WaitingPage], bool] = lambda _page: True,
    ) -> Iterator[WaitingPage]:
        """Yield pages, which wait no more: those of one reason as they came, those of several by their addresses."""
        found = [
            (page.record.url if page.record is not None else "", reason, key)
            for reason in reasons
            for key, page in self._pages[reason].items()
            if where(page)
        ]
        if len(reasons) > 1:
            found.sort(key=itemgetter(0))
        for _, reason, key in found[:most]:
            page = self._pages[reason].pop(key, None)
            if page is None:
                continue
            if (path := self._on_disk.pop((reason, key), None)) is not None:
                page.record = pickle.loads(path.read_bytes())  # noqa: S301 - written by this process
                path.unlink()
            yield page
