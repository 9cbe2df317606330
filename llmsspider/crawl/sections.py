"""A source crawled in sections, each a job of its own: which pages a section has, what it leaves to
others. No Scrapy.

The pages are sorted by host and path and cut into sections where a directory ends. A page that no
list named has its
place among them, too, so that every page belongs to exactly one section
(docs/how-to/many-sites.md).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import commonprefix
from typing import Any

from llmsspider.items import Change, ChangeKind
from llmsspider.store import FilteredUrl, RunRecord, Store
from llmsspider.web.urls import loose_key

PLAN = "plan"
END = "end"
"""The jobs of a night before and after its sections: one cuts the source, one deletes pages and
delivers documents.
"""

LEARNED = ("dead_links", "link_bases", "link_sources", "shapes", "unbelieved")
"""What of a source's record each section learns of its own pages."""

LEAST_SHARE = 0.75
"""How full a section is at least, so that there is a choice of places to cut at."""


def place(url: str) -> str:
    """Return the text by which pages are sorted: host and path without the ending, and the query.

    >>> place("https://e.com/a/b.html"), place("https://e.com/a/b/?c=1")
    ('e.com/a/b/', 'e.com/a/b/?c=1')
    """
    path, mark, query = loose_key(url).partition("?")
    return f"{path.partition('://')[2]}/{mark}{query}"


def split(urls: Iterable[str], size: int) -> list[str]:
    """Return where sections of at most `size` of these pages begin, in order: prefixes of places,
    the first one empty.

    >>> split([f"https://e.com/{name}" for name in ("a/1", "a/2", "a/3", "b/1", "b/2")], 3)
    ['', 'e.com/b/']
    """
    places = sorted({place(url) for url in urls})
    starts = [""]
    first = 0
    while size and len(places) - first > size:
        candidates = range(first + max(int(size * LEAST_SHARE), 1), first + size + 1)
        shared = {at: commonprefix(places[at - 1 : at + 1]) for at in candidates}  # noqa: RUF071  # of texts
        first = min(candidates, key=lambda at: (shared[at].count("/"), -at))
        end = places[first].find("/", len(shared[first])) + 1
        starts.append(places[first][:end] if end else places[first])
    return starts


def sizes(urls: Iterable[str], starts: Sequence[str]) -> Counter[int]:
    """Return how many pages each section has, by its number from 1."""
    return Counter(bisect_right(starts, one) for one in {place(url) for url in urls})


def merged(one: Any, other: Any) -> Any:
    """Return what two sections learned, as one: what both have of a name is that of the second.

    >>> merged({"a": {"b": [1]}}, {"a": {"b": [1, 2], "c": 3}})
    {'a': {'b': [1, 2], 'c': 3}}
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **{name: merged(one.get(name), value) for name, value in other.items()}}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(value for value in other if value not in one)]
    return other


def handed_over(store: Store, night: str) -> Iterator[FilteredUrl]:
    """Yield the pages that the jobs of a night handed over so far; the rule has the depth and the
    linking page.
    """
    for one in store.runs():
        if one.section[0] == night:
            yield from (found for found in store.filtered(one) if found.reason == "other-section")


def open_sections(store: Store, night: str) -> set[int]:
    """Return the sections of a night to which more pages were handed over than they took."""
    record = store.source_record()
    plan = SectionJob(
        f"{night}/{END}", record.discovery.get("sections") if record is not None else None
    )
    taken = Counter[int]()
    for one in whole_runs(store, night):
        taken[int(one.section[1])] = max(int(str(one.counts["taken"])), taken[int(one.section[1])])
    left = Counter(plan.owner(page.url) for page in handed_over(store, night))
    return {number for number in left if left[number] > taken[number]}


def whole_runs(store: Store, night: str) -> list[RunRecord]:
    """Return the runs of the sections of a night that saw all that they had to, oldest first."""
    return [one for one in store.runs() if one.section[0] == night and one.counts.get("whole")]


class SectionJob:
    """The job of a night that a run is: one of its sections, its plan, its end, or all of it.

    `argument` is the night and the job (`20261127T031500/3`), `plan` what the plan of the night
    kept with the source.
    """

    def __init__(self, argument: str = "", plan: object = None):
        self.night, _, self.job = argument.partition("/")
        found = plan if isinstance(plan, dict) and plan.get("night") == self.night else {}
        self.starts: list[str] = list(found.get("starts", ()))
        self.number = int(self.job) if self.job.isdigit() else 0
        """The number of the section, from 1; 0 for plan and end."""
        self.is_last = self.job in {"", END}  # whether the job judges and delivers
        self.is_whole = False  # whether it saw all that it had to
        self.is_late = (
            False  # whether it is there for pages that were handed over when it had ended
        )
        self.handed = self.taken = (
            0  # pages that were handed over to other sections, and to this one
        )
        self.failed: set[int] = set()  # at the end: the sections that failed
        self.whole: list[RunRecord] = []  # at the end: the runs of the others
        self.written: dict[bytes, tuple[Change, int, list[ChangeKind]]] = {}
        """At the end: what the sections stored, by key."""
        self.learned: dict[str, Any] = {}  # what they learned

    @property
    def is_known(self) -> bool:
        """Whether the plan of the night has such a section."""
        return self.job == PLAN or (self.number <= len(self.starts) and bool(self.starts))

    def owner(self, url: str) -> int:
        """Return the number of the section that has a page."""
        return bisect_right(self.starts, place(url))

    def leaves(self, url: str) -> bool:
        """Say whether a page is another section's; at the end, whether it is that of one that
        failed.
        """
        if self.number:
            return self.owner(url) != self.number
        return bool(self.failed) and self.owner(url) in self.failed

    def counts(self) -> dict[str, Any]:
        """Return what the store keeps of the job."""
        done = {"handed_over": self.handed, "taken": self.taken}
        return {"sections": len(self.starts), "whole": self.is_whole, **done}

    @property
    def documents(self) -> int:
        """How many documents the whole sections have."""
        return sum(int(str(one.counts.get("documents", 0))) for one in self.whole)

    def __str__(self) -> str:
        what = "the plan" if self.job == PLAN else "the end"
        return (
            f"section {self.number} of {len(self.starts)}"
            if self.number
            else f"{what} of its sections"
        )
