"""Which stored pages that a crawl did not reach are deleted, which are kept, and which moved.

No Scrapy.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from llmsspider.crawler.bot_walls import ACCEPTED_RUNS
from llmsspider.crawler.known_pages import KnownPages, PageOutcome
from llmsspider.crawler.relocations import RELOCATED_SHARE, is_merged, relocations
from llmsspider.diff.compare import MAX_PAIRS, common_share, most_similar, word_counts
from llmsspider.store import PageRecord
from llmsspider.web.outcomes import OUTAGES
from llmsspider.web.urls import last_segment, loose_key, page_key

# Pages that moved: a new page may be a stored one that this run has not reached. Pure.

MAX_NAMESAKES = 5
"""Maximum number of stored pages whose address ends alike; a name that more pages have (`index`)
shows nothing.
"""
MIN_MERGED_CHARACTERS = 100
"""Number of characters that a page grows by at least which others are merged into."""

Words = Callable[[bytes], Counter[str]]
"""Returns the words of a stored page, by its key."""


class Moves:
    """Finds which new pages are stored ones at another address, once it is known which stored pages
    are gone.

    With `every` any new page may be one of them, else those with the text or the name of a stored
    page: after an incomplete run this one may be stopped too, and pages that wait are left to the
    next one.
    """

    def __init__(self, known: KnownPages, *, every: bool = False):
        self._known = known
        self.every = every

    @cached_property
    def _index(self) -> dict[bytes | str | None, list[bytes]]:
        """Keys of the stored pages, by the hash of their text and by the last part of their
        address.
        """
        index: dict[bytes | str | None, list[bytes]] = defaultdict(list)
        for key, state in self._known.states.items():
            index[state.markdown_hash].append(key)
            index[_name(state.url)].append(key)
        return index

    def may_be_stored(
        self, record: PageRecord, recorded: Container[bytes], stored: PageRecord | None = None
    ) -> bool:
        """Say whether a page may be another stored one that has no document in this run
        (`recorded`) yet: it is new, or has grown since it was `stored`, as one does that others are
        merged into.
        """
        grown = len(record.text) - len((stored and stored.content) or "")
        if stored is not None and grown < MIN_MERGED_CHARACTERS:
            return False
        candidates = self._known.states if self.every or stored else self._alike(record)
        return any(key not in recorded and key != record.key for key in candidates)

    def pair(self, records: Sequence[PageRecord], text: Callable[[bytes], str]) -> None:
        """Find where stored pages moved to that are gone, or that nothing links to any more, and
        note it.

        `records` are the pages that are new or have grown, `text` returns the stored text of a page
        by its key.
        """
        known = self._known

        @cache
        def words(key: bytes) -> Counter[str]:
            return word_counts(text(key), known.states[key].url)

        new = [record for record in records if record.key not in known.states]
        self._pair_all([record for record in new if self._is_other(record, words)], words)
        self._carry(new, words)
        self._merge(records, words)
        for record in new:
            redirected = [key for key, target in known.targets.items() if target == record.key]
            if (key := _most_similar(record, redirected, words)) is not None:
                known.has_its_text.add(key)

    def _is_other(self, record: PageRecord, words: Words) -> bool:
        """Note which lost page a new one is by its text or the end of its address; say whether it
        is none of those, and may still be another.
        """
        same_text, same_name = self._lost_like(record)
        key = _only_one(same_text, same_name)
        if key is None and not same_text:
            key = _most_similar(record, same_name, words)
        if key is not None:
            self._known.moved(key, record.key)
            return False
        return not same_text and record.key not in self._known.targets.values()

    def _pair_all(self, records: Sequence[PageRecord], words: Words) -> None:
        """Note which lost pages the new ones are by most of their words, where they are few."""
        if len(records) * len(self._lost(self._known.outcomes)) > MAX_PAIRS:
            return
        for record in records:
            key = _most_similar(record, self._lost(self._known.outcomes), words)
            if key is not None:
                self._known.moved(key, record.key)

    def _lost(self, keys: Iterable[bytes]) -> list[bytes]:
        return list(filter(self._known.is_lost, keys))

    def _lost_like(self, record: PageRecord) -> tuple[list[bytes], list[bytes]]:
        """The lost pages that have the text of a new one, and those whose address ends alike."""
        states = self._known.states
        lost = self._lost(self._alike(record))
        text = _text_hash(record)
        name = _name(record.url)
        same_text = [key for key in lost if states[key].markdown_hash == text]
        return same_text, [key for key in lost if _name(states[key].url) == name]

    def _carry(self, records: Sequence[PageRecord], words: Words) -> None:
        """Find the pages of folders that moved, by the moves that are known, though they were
        edited.
        """
        known = self._known
        new = {record.key: record for record in records}
        proven = [
            (known.states[key].url, new[target].url)
            for key, target in known.targets.items()
            if target in new
        ]
        folders = relocations(proven)
        if not folders:
            return
        arrived = set(known.targets.values())
        for record in records:
            if record.key in arrived:
                continue
            before = filter(None, (folder.address_before(record.url) for folder in folders))
            key = next(filter(known.is_lost, map(page_key, before)), None)
            if key is not None:
                here = word_counts(record.text, record.url)
                if common_share(here, words(key)) >= RELOCATED_SHARE:
                    known.moved(key, record.key)

    def _merge(self, records: Sequence[PageRecord], words: Words) -> None:
        """Find the pages that hold, since this run, the texts of several that are gone, or of some
        that redirect to them.
        """
        known = self._known
        lost = [key for key, outcome in known.outcomes.items() if outcome in {"gone", "moved"}]
        if len(records) * len(lost) > MAX_PAIRS:
            return
        for record in records:
            added = word_counts(record.text, record.url)
            if record.key in known.states:
                added -= words(record.key)
            merged = [
                key
                for key in lost
                if known.targets.get(key, record.key) == record.key and is_merged(words(key), added)
            ]
            if len(merged) > 1 or not known.targets.keys().isdisjoint(merged):
                for key in merged:
                    known.moved(key, record.key)
                    known.has_its_text.add(key)

    def _alike(self, record: PageRecord) -> list[bytes]:
        """The stored pages that have the text of a page, or the last part of its address."""
        named = self._index.get(_name(record.url), [])
        same = self._index.get(_text_hash(record), [])
        return list(dict.fromkeys([*same, *(named if len(named) <= MAX_NAMESAKES else ())]))


def _only_one(same_text: Sequence[bytes], same_name: Sequence[bytes]) -> bytes | None:
    """The only page that has a text, or the only one of them whose address ends alike."""
    if len(same_text) == 1:
        return same_text[0]
    return same_name[0] if len(same_name) == 1 and same_name[0] in same_text else None


def _most_similar(record: PageRecord, keys: Sequence[bytes], words: Words) -> bytes | None:
    here = word_counts(record.text, record.url) if keys else Counter[str]()
    return most_similar(here, [(key, words(key)) for key in keys])


def _name(url: str) -> str:
    return last_segment(loose_key(url))


def _text_hash(record: PageRecord) -> bytes:
    return bytes.fromhex(record.hash_of_content)


# Whether a run may delete stored pages.


def outage(failed: Mapping[str, int], obtained: int, share: float) -> str | None:
    """Return in words that more pages failed than the `share` that may in a complete run, or None;
    one always may.

    Of the failed pages, counted by error kind, only those of an outage count.

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


# Which of the stored pages that a run did not confirm are deleted. Two witnesses say that a page is
# gone: its own answer, and the site, where nothing names it any more. Both are believed at once,
# one of them in time. Pure.

DELETED: frozenset[PageOutcome] = frozenset({"gone", "moved", "dropped", "unlinked"})

ODD_ANSWERS = frozenset({"empty", "soft-404", "unsupported-type"})
"""Why a page is filtered that answers with something else than a page; the other reasons are its
own words.
"""

AGREED_RUNS = 1
"""Complete runs in a row after which a page is deleted of which answer and site say that it is
gone.
"""
DOUBTED_RUNS = 2
"""The same where something names it, or its answer is odd; and where too many pages would go at
once.
"""
ANSWERING_RUNS = 3
"""The same where nothing names a page that answers as ever."""
MAX_DELETED_SHARE = 0.30
"""More than this share of the pages in bounds is not deleted at once without confirmation."""
ALWAYS_DELETED = 2
"""So many pages may go from any source, though not more than half of it: shares say little of a few
pages.
"""


def runs_needed(
    outcome: PageOutcome,
    reason: str = "",
    *,
    named: bool = False,
    arrived: bool = False,
    shared: bool = False,
    for_now: bool = False,
    by_canonical: bool = False,
) -> int:
    """Return after how many complete runs in a row with this outcome a page is deleted; 0 for
    whatever the share.

    `reason` is why it is filtered. It is `named` by a list, a sitemap or a link of this run; the
    page that it moved to has `arrived` in it; other pages moved there, too (`shared`); its redirect
    is none for good (`for_now`), or there is none: the page answers as ever, and names another
    address (`by_canonical`).
    """
    if outcome == "moved":
        if shared or for_now:
            return ACCEPTED_RUNS if shared and for_now else DOUBTED_RUNS
        if arrived:
            return AGREED_RUNS if by_canonical else 0
    if reason == "pipeline":
        return 0
    if outcome == "unlinked":
        return ANSWERING_RUNS
    is_doubted = reason in ODD_ANSWERS if outcome == "dropped" else named
    return DOUBTED_RUNS if is_doubted else AGREED_RUNS


@dataclass(slots=True, frozen=True)
class DeletionPlan:
    """What the end of a run decided: keys to delete with the reason, keys to export as they were
    stored.

    Later runs decide on those of the latter that are in `waits`, with the reason. `blocked_by` says
    why more of them wait than the answers call for, or is None.
    """

    delete: Mapping[bytes, str]
    keep: tuple[bytes, ...]
    waits: Mapping[bytes, str]
    blocked_by: str | None = None


def plan_deletions(
    known: KnownPages,
    in_bounds: set[bytes],
    *,
    unreached: set[bytes],
    named: set[bytes],
    present: Container[bytes],
    links: Callable[[list[bytes]], set[bytes]],
    again: Callable[[bytes, str], int],
    confirmed: bool = False,
    only_gone: bool = False,
) -> DeletionPlan:
    """Decide over the stored pages that a run did not confirm, all given by their keys.

    The run covers those `in_bounds`. The `unreached` have no document in it, others are `present`;
    its lists and links have `named` some; `links` returns those that stored pages link to. `again`
    is `Doubts.again` of the source. Nothing waits where the user `confirmed`; `only_gone`
    (`mode=refresh`) deletes only what answered 404 or 410.
    """
    deleted = frozenset({"gone"}) if only_gone else DELETED
    covered = in_bounds & unreached
    outcomes = {key: outcome for key, outcome in known.outcomes.items() if key in covered}
    keep = [key for key, outcome in outcomes.items() if outcome in {"kept", "moved"} - deleted]
    may_go = [key for key, outcome in outcomes.items() if outcome in deleted]
    runs = _runs_of(known, may_go, keep, named=named, present=present, links=links)
    if confirmed:
        return DeletionPlan({key: known.reasons[key] for key in runs}, tuple(keep), {})
    return _plan_of(known, runs, keep, len(in_bounds), again)


def _plan_of(
    known: KnownPages,
    runs: dict[bytes, int],
    keep: Sequence[bytes],
    pages: int,
    again: Callable[[bytes, str], int],
) -> DeletionPlan:
    """Decide which pages wait for as many `runs` as they need, of so many `pages` in bounds."""
    at_once = {key for key, least in runs.items() if least == AGREED_RUNS}
    too_many = _too_many(Counter(known.reasons[key] for key in at_once), pages)
    if too_many:
        runs |= dict.fromkeys(at_once, DOUBTED_RUNS)

    def waits_for(key: bytes) -> bool:
        what = f"{known.reasons[key]} {known.targets.get(key, b'').hex()}"
        return runs[key] > AGREED_RUNS and again(key, what) < runs[key]

    waits = {key: known.reasons[key] for key in runs if waits_for(key)}
    delete = {key: known.reasons[key] for key in runs if key not in waits}
    blocked_by = None if at_once.isdisjoint(waits) else too_many
    return DeletionPlan(delete, (*keep, *waits), waits, blocked_by)


def _runs_of(
    known: KnownPages,
    keys: Sequence[bytes],
    keep: Sequence[bytes],
    *,
    named: set[bytes],
    present: Container[bytes],
    links: Callable[[list[bytes]], set[bytes]],
) -> dict[bytes, int]:
    """Return `runs_needed` of the pages that may go, given by their keys."""
    arriving = Counter(known.targets.values())

    def needed(key: bytes) -> int:
        state = known.states[key]
        if state.is_part and (whole := page_key(state.whole_url)) in known.outcomes:
            key = whole  # a part of its body goes with it
        target = known.targets.get(key, b"")
        has_its_text = key in known.has_its_text
        return runs_needed(
            known.outcomes[key],
            known.reasons[key],
            named=key in named,
            arrived=target in present,
            shared=arriving[target] > 1 and not has_its_text,
            for_now=key in known.elsewhere_for_now and (key in named or not has_its_text),
            by_canonical=key in known.canonical_elsewhere,
        )

    runs = {key: needed(key) for key in keys}
    answered = [key for key in keys if known.outcomes[key] != "unlinked"]
    doubted = [*keep, *(key for key in answered if runs[key] > AGREED_RUNS)]
    while doubted:  # what only such pages link to may be back with them
        doubted = [
            key for key in links(doubted) if runs.get(key) == AGREED_RUNS and key not in named
        ]
        named = named.union(doubted)
        runs.update((key, needed(key)) for key in doubted)
    return runs


def _too_many(at_once: Counter[str], pages: int) -> str | None:
    """Say in words that more of the `pages` (a number) would be deleted at once, counted by reason,
    than is believed; None where they are fewer.
    """
    number = at_once.total()
    if number <= max(MAX_DELETED_SHARE * pages, min(ALWAYS_DELETED, pages // 2)):
        return None
    reasons = ", ".join(f"{reason} {times}" for reason, times in at_once.most_common())
    return (
        f"{number} of {pages} pages would be deleted ({reasons}): more than"
        f" {MAX_DELETED_SHARE:.0%}, so the next complete crawl decides; if the site really"
        " changed so much, confirm with -a confirm_deletions=true"
    )
