"""Pages that came as HTML before it was known how their host names its Markdown; their documents wait. Pure.

At the end of the crawl, when the host's forms are known, each is asked once more, for its Markdown alone. What has none
is the document it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llmsspider.store import PageRecord

MAX_PAGES = 100
"""So many pages wait; the documents of more are HTML."""


@dataclass(frozen=True, slots=True)
class Held:
    """A page that waits: its record, whether it is confirmed as it was stored, and the request that it answered.

    `shows_pages` says that its HTML linked to pages that nothing had shown before.
    """

    record: PageRecord
    confirmed: bool
    request: Any
    shows_pages: bool = False


@dataclass(slots=True)
class HeldPages:
    """The pages of one run that wait, by the id of the document; `enabled` is False where a stop would lose them."""

    enabled: bool = True
    waiting: dict[str, Held] = field(default_factory=dict)
    undecided: list[Any] = field(default_factory=list)
    """Requests for pages of trees of which it is not known yet whether they are copies (`locales.Trees`)."""

    def keep(self, held: Held, *, room: int | None) -> bool:
        """Take a page in, unless there are too many or `max_pages` has little `room` left (None: no limit)."""
        full = len(self.waiting) >= MAX_PAGES or (room is not None and room <= MAX_PAGES)
        if not self.enabled or full:
            return False
        self.waiting[held.record.id] = held
        return True
