"""Which stored pages that a crawl did not reach are deleted, which are kept, and which moved. No Scrapy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llmsspider.changes.compare import MAX_PAIRS, most_similar, word_counts
from llmsspider.crawl.bot_walls import CONFIRM_RUNS
from llmsspider.items import content_hash
from llmsspider.web.outcomes import OUTAGES

if TYPE_CHECKING:
    from llmsspider.crawl.known_pages import KnownPages, PageOutcome
    from llmsspider.store import PageRecord


# Pages that moved: a new page may be a stored one that this run has not reached. Pure.

MAX_NAMESAKES = 5
"""Maximum number of stored pages whose address ends alike; a name that more pages have (`index`) shows nothing."""


class Moves:
    """Finds which new pages are stored ones at another address, once it is known which stored pages are gone.

    With `every` any new page may be one of them, else those with the text or the name of a stored page: after an
    incomplete run this one may be stopped too, and pages that wait are left to the next one.
    """

    def __init__(self, known: KnownPages, *, every: bool = False):
        self._known = known
        self.every = every

    @cached_property
    def _index(self) -> dict[bytes | str | None, list[bytes]]:
        """Keys of the stored pages, by the hash of their text and by the last part of their address."""
        index: dict[bytes | str | None, list[bytes]] = defaultdict(list)
        for key, state in self._known.states.items():
            index[state.markdown_hash].append(key)
            index[_name(state.url)].append(key)
        return index

    def may_be_stored(self, record: PageRecord, recorded: Container[bytes]) -> bool:
        """Say whether a new page may be a stored one that has no document in this run (`recorded`) yet."""
        if self._known.state(record.key) is not None:
            return False
        candidates = self._known.states if self.every else self._alike(record)
        return any(key not in recorded for key in candidates)

    def pair(self, records: Iterable[PageRecord], text: Callable[[bytes], str]) -> None:
        """Find where stored pages moved to that are gone, or that nothing links to any more, and note it.

        `records` are the new pages, `text` returns the stored text of a page by its key.
        """
        known, others = self._known, []

        @cache
        def words(key: bytes) -> Counter[str]:
            return word_counts(text(key), known.states[key].url)

        def most_similar_of(record: PageRecord, keys: list[bytes]) -> bytes | None:
            here = word_counts(record.content or "", record.url) if keys else Counter[str]()
            return most_similar(here, [(key, words(key)) for key in keys])

        def gone(keys: Iterable[bytes]) -> list[bytes]:
            return [key for key in keys if known.outcomes.get(key) in {"gone", "unlinked"}]

        for record in records:
            alike, here = gone(self._alike(record)), _text_hash(record)
            same_text = [key for key in alike if known.states[key].markdown_hash == here]
            same_name = [key for key in alike if _name(known.states[key].url) == _name(record.url)]
            if len(same_text) == 1 or (same_text and len(same_name) == 1 and same_name[0] in same_text):
                known.moved((same_name if len(same_text) > 1 else same_text)[0], record.key)
            elif not same_text and (key := most_similar_of(record, same_name)) is not None:
                known.moved(key, record.key)
            elif not same_text and record.key not in known.targets.values():
                others.append(record)
        if len(others) * len(gone(known.outcomes)) > MAX_PAIRS:
            return
        for record in others:
            if (key := most_similar_of(record, gone(known.outcomes))) is not None:
                known.moved(key, record.key)

    def _alike(self, record: PageRecord) -> list[bytes]:
        """The stored pages that have the text of a page, or the last part of its address."""
        named = self._index.get(_name(record.url), [])
        same = self._index.get(_text_hash(record), [])
        return list(dict.fromkeys([*same, *(named if len(named) <= MAX_NAMESAKES else ())]))


def _text_hash(record: PageRecord) -> bytes:
    return bytes.fromhex(content_hash(record.content or ""))


def _name(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


# Whether a run may delete stored pages, and which of them are in doubt.


def outage(failed: Mapping[str, int], obtained: int, share: float) -> str | None:
    """Return in words that more pages failed than a complete run may have, or None. One page may always fail.

    Args:
        failed: number of failed pages by error kind; only kinds of an outage count.
        obtained: pages that answered.
        share: share of the requested pages that may fail, from 0 to 1.

    >>> outage({"auth": 3, "not_found": 7}, 27, 0.1) is None
    True
    >>> outage({"auth": 4}, 27, 0.1)
    '4 of 31 pages failed (auth 4)'
    """
    failures = Counter({kind: number for kind, number in failed.items() if kind in OUTAGES})
    requested = failures.total() + obtained
    kinds = ", ".join(f"{kind} {number}" for kind, number in failures.most_common())
    too_many = failures.total() > max(1, share * requested)
    return f"{failures.total()} of {requested} pages failed ({kinds})" if too_many else None


# The deletion guard: which of the stored pages that a run did not confirm are deleted. Pure.

DELETED: frozenset[PageOutcome] = frozenset({"gone", "moved", "dropped", "unlinked"})

MAX_DELETED_SHARE = 0.30
"""More than this share of the pages in bounds is not deleted at once without confirmation."""

ALWAYS_DELETED = 2
"""So many pages may go from any source, though not more than half of it: shares say little of a few pages."""


@dataclass(slots=True, frozen=True)
class DeletionPlan:
    """What the end of a run decided: keys to delete with the reason, keys to export as they were stored.

    `blocked_by` says why deletions were held back, or is None.
    """

    delete: Mapping[bytes, str]
    keep: tuple[bytes, ...]
    blocked_by: str | None = None
    missing: Mapping[bytes, int] = field(default_factory=dict)
    """Pages that answered 404 or 410 and are kept all the same, by key: in how many complete runs in a row."""


def plan_deletions(
    known: KnownPages,
    in_bounds: set[bytes],
    *,
    unreached: set[bytes],
    confirmed: bool,
    only_gone: bool = False,
    arrived: frozenset[bytes] = frozenset(),
    missing: Mapping[bytes, int] | None = None,
) -> DeletionPlan:
    """Decide over the stored pages that a run did not confirm.

    Args:
        known: the stored pages and their outcomes.
        in_bounds: keys of the pages inside the bounds of the run, the confirmed ones included.
        unreached: keys of the pages that have no document in this run.
        confirmed: the user confirmed a large number of deletions.
        only_gone: delete only what answered 404 or 410 (`mode=refresh`); what moved is kept.
        arrived: keys of pages that moved to a page which has a document in this run; they need no guard.
        missing: `DeletionPlan.missing` of the complete run before this one; a page that answers 404 or 410 in
            `CONFIRM_RUNS` complete runs in a row needs no guard.
    """
    deleted = frozenset({"gone"}) if only_gone else DELETED
    kept = {"kept", "moved"} - deleted
    open_keys = in_bounds & unreached
    outcomes = {key: outcome for key, outcome in known.outcomes.items() if key in open_keys}
    delete = {key: known.reasons[key] for key, outcome in outcomes.items() if outcome in deleted}
    keep = tuple(key for key, outcome in outcomes.items() if outcome in kept)
    times = {key: (missing or {}).get(key, 0) + 1 for key in delete if outcomes[key] == "gone"}
    sure = {
        key
        for key, reason in delete.items()
        if reason == "pipeline" or key in arrived or times.get(key, 0) >= CONFIRM_RUNS
    }
    doubtful = {key: reason for key, reason in delete.items() if key not in sure}
    pages = len(in_bounds)
    if confirmed or len(doubtful) <= max(MAX_DELETED_SHARE * pages, min(ALWAYS_DELETED, pages // 2)):
        return DeletionPlan(delete, keep)
    reasons = ", ".join(f"{reason} {number}" for reason, number in Counter(doubtful.values()).most_common())
    blocked_by = (
        f"{len(doubtful)} of {pages} pages would be deleted ({reasons}): more than {MAX_DELETED_SHARE:.0%}, "
        f"so none of them is; those that answer 404 or 410 in {CONFIRM_RUNS} complete runs in a row are; if the site "
        "really changed so much, confirm with -a confirm_deletions=true"
    )
    return DeletionPlan(
        {key: delete[key] for key in delete if key in sure},
        (*keep, *doubtful),
        blocked_by,
        {key: times[key] for key in doubtful if key in times},
    )
