"""What witnesses of a site (`site/witnesses.py`) said, held against what its pages showed. Pure.

A witness is believed once it has named every page that changed, on nights when every page was
requested (docs/explanation/incremental.md).
"""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, fields
from math import ceil
from random import random
from typing import Any, Literal

import orjson

from llmsspider.site.witnesses import Witness
from llmsspider.web.urls import page_key

PROOF_NIGHTS = 3
"""Number of nights on which every page was requested before a witness is believed; twice as many
after each mistake.
"""
STAMP_NIGHTS = 4
"""Number of those nights on which pages have to change before a stamp is believed; of other
witnesses one.
"""
MAX_MISTAKES = 5
"""Number of mistakes after which the number of nights stays what it is. A stamp may make none."""
MAX_AGE = 1000
"""Number of runs after which a page that is not met any more is forgotten."""
MIN_SAMPLE = 3
"""Number of pages that are sampled at least."""
LEAST_SHARE = 0.9
"""A witness that names less than this share of the pages that it named last time is damaged."""
FEW = 5
FEW_SHARE = 0.05
"""So many pages, or this share, that another witness names are requested too, proven or not."""

Claim = Literal["named", "silent", "none"]
"""What a witness said of a page before it was requested: it is another one, it is as it was, or
nothing.
"""


@dataclass(slots=True)
class History:
    """What became of the claims of one witness.

    `nights` counts those on which every page was requested, `active` those of them on which pages
    changed, since its last mistake; `changes` the pages that changed, `named` those that it had
    named, `mistakes` the nights when it had not. `stamp` and `pages` (a number) are those of last
    time.
    """

    nights: int = 0
    active: int = 0
    changes: int = 0
    named: int = 0
    mistakes: int = 0
    stamp: str = ""
    pages: int = 0

    @property
    def is_proven(self) -> bool:
        """Whether it is believed."""
        if not self.pages:
            return self.active >= STAMP_NIGHTS and not self.mistakes
        return (
            self.nights >= PROOF_NIGHTS * 2 ** min(self.mistakes, MAX_MISTAKES) and self.active > 0
        )

    @property
    def described(self) -> str:
        """Its history in words."""
        proven = "proven" if self.is_proven else "not proven yet"
        return f"{proven} over {self.nights} nights, {self.named} of {self.changes} changes named"


@dataclass(slots=True)
class Checked:
    """When a page was requested last, as the number of the run, and what each witness said of it
    then, by its name.

    `again` are the witnesses that had named it while it was as before: it may have been behind
    them.
    """

    number: int
    digests: dict[str, str] = field(default_factory=dict)
    again: list[str] = field(default_factory=list)
    is_dead: bool = False


@dataclass(slots=True)
class Ledger:
    """The histories of the witnesses of one source, and when each of its pages was checked.

    `settings` are those that decide what becomes of a page, as one line.
    """

    number: int = 0  # of the run
    settings: str = ""
    has_same_settings: bool = False  # as the run before
    histories: dict[str, History] = field(default_factory=dict)
    checked: dict[bytes, Checked] = field(default_factory=dict)
    witnesses: list[Witness] = field(default_factory=list)  # those that were read in this run
    by: Witness | None = (
        None  # the witness that pages are left out by in this run, where there is one
    )
    unasked: set[bytes] = field(
        default_factory=set
    )  # the keys of the stored pages that are not requested
    left_out: set[bytes] = field(
        default_factory=set
    )  # the keys of pages that were met and not requested
    no_documents: dict[bytes, str] = field(default_factory=dict)
    """The URLs of pages that were requested, and are no documents as before, or not found."""
    dead: set[bytes] = field(default_factory=set)  # the keys of those that were not found
    _proven: list[Witness] = field(default_factory=list)
    _bound: int = 0

    def remember(self, kept: object) -> None:
        """Take over what `to_json` gave; anything else is nothing."""
        found = kept if isinstance(kept, Mapping) else {}
        self.has_same_settings = found.get("settings") == self.settings
        for name, values in found.items():
            if isinstance(values, list) and len(values) == len(fields(History)):
                self.histories[str(name)] = History(*values)

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps of the histories."""
        histories = {name: list(astuple(one)) for name, one in self.histories.items()}
        return {"settings": self.settings, **histories}

    def load(self, table: bytes) -> None:
        """Read what `table` wrote; anything else is nothing."""
        try:
            self.checked = {
                bytes.fromhex(key): Checked(*one) for key, one in orjson.loads(table).items()
            }
        except (AttributeError, TypeError, ValueError):
            self.checked = {}

    def table(self) -> bytes:
        """Return when each page was checked, for the store."""
        kept = {key: one for key, one in self.checked.items() if self.number - one.number < MAX_AGE}
        return orjson.dumps({key.hex(): astuple(one) for key, one in kept.items()})

    def claim(self, witness: Witness, key: bytes, url: str) -> Claim:
        """Return what a witness says of a page, by what it said when the page was requested last."""
        before = self.checked.get(key)
        if before is None or witness.name not in self.histories:
            return "none"
        now = witness.of(url)
        then = before.digests.get(witness.name)
        if now is None and then is None:
            return "none"
        return "silent" if now == then and witness.name not in before.again else "named"

    def _is_silent(self, key: bytes, url: str) -> bool:
        """Say whether the first proven witness that says something of a page says that it is as it
        was.
        """
        claims = [self.claim(one, key, url) for one in self._proven]
        return next((claim for claim in claims if claim != "none"), "none") == "silent"

    def plan(self, pages: Mapping[bytes, str], bound: int) -> list[bytes]:
        """Decide which of the stored pages (URLs by key) need not be requested; return those to
        sample first.

        That are the ones that were requested longest ago, so many that each page is within `bound`
        runs.
        """
        past = {one.name: self.histories.get(one.name, History()) for one in self.witnesses}
        found = [one for one in self.witnesses if past[one.name].is_proven]
        if any(len(one.pages) < LEAST_SHARE * past[one.name].pages for one in found):
            return []
        named: dict[str, set[bytes]] = {}
        for one in self.witnesses:
            named[one.name] = {
                key for key, url in pages.items() if self.claim(one, key, url) == "named"
            }
        self._proven = sorted(found, key=lambda one: len(named[one.name]))
        self._bound = bound
        unasked = {key for key, url in pages.items() if self._is_silent(key, url)}
        unasked = {key for key in unasked if self.number - self.checked[key].number < bound}
        few = max(FEW, FEW_SHARE * len(pages))
        for witness in self.witnesses:
            unasked -= named[witness.name] if len(named[witness.name]) <= few else set()
        oldest = sorted(unasked, key=lambda key: (self.checked[key].number, random()))  # noqa: S311  # no secret
        sample = oldest[: max(MIN_SAMPLE, ceil(len(pages) / bound))]
        self.by = self._proven[0] if sample else None
        self.unasked = unasked.difference(sample)
        return sample

    def give_up(self) -> None:
        """Request every page after all."""
        self.by = None
        self.unasked = set()

    def leaves_out(self, key: bytes, url: str, *, is_stored: bool) -> bool:
        """Say whether a page need not be requested; one that is no document is, in one of `bound`
        runs.

        Of that the witness is believed as a whole, too, which other pages have to prove: it leads
        to pages at most.
        """
        if self.by is None or is_stored:
            return key in self.unasked
        is_due = (int.from_bytes(key[:4]) + self.number) % self._bound == 0
        is_same = self.claim(self.by.whole(), key, url) == "silent"
        return not is_due and (is_same or self._is_silent(key, url))

    def is_dead(self, key: bytes) -> bool:
        """Say whether a page was not found when it was requested last."""
        return key in self.checked and self.checked[key].is_dead

    def conclude(
        self,
        asked: Mapping[bytes, str],
        changed: Iterable[bytes],
        *,
        failed: Iterable[bytes] = (),
        evident: bool = True,
    ) -> list[str]:
        """Hold what the witnesses said against what the pages showed, and remember both; return the
        mistakes in words.

        The site answered for the pages `asked` (URLs by key); those that `failed` are asked again.
        The `changed` ones had another text than before, or were gone; `evident` says that the site
        alone made them change.
        """
        changes = set(changed)
        lines = []
        named = {}
        for witness in self.witnesses:
            claims = {key: self.claim(witness, key, url) for key, url in asked.items()}
            named[witness.name] = {key for key, claim in claims.items() if claim == "named"}
            history = self.histories.setdefault(witness.name, History())
            own = page_key(witness.page) if witness.page else b""
            known = [key for key in changes if claims.get(key, "none") != "none" and key != own]
            missed = [key for key in known if claims[key] == "silent"]
            if evident and history.stamp:
                history.changes += len(known)
                history.named += len(known) - len(missed)
                if missed:
                    history.nights = history.active = 0
                    history.mistakes += 1
                    lines.append(f"{witness.name} did not name {asked[missed[0]]}, which changed")
                elif not self.left_out:
                    history.nights += 1
                    history.active += bool(known)
            history.stamp = witness.stamp
            history.pages = len(witness.pages)
        for key in failed:
            self.checked.pop(key, None)
        for key in asked.keys() - set(failed) if self.witnesses else ():
            digest_of = {one.name: one.of(asked[key]) for one in self.witnesses}
            digests = {name: digest for name, digest in digest_of.items() if digest is not None}
            earlier = self.checked[key].again if key in self.checked else []
            is_behind = [name for name in named if key in named[name] and name not in earlier]
            again = is_behind if key not in changes else []
            self.checked[key] = Checked(self.number, digests, again, key in self.dead)
        return lines

    def described(self, pages: int, changed: int, requests: int) -> str | None:
        """Return what the witnesses have shown and, where pages were left out, what the run did, in
        words.
        """
        if self.by is None:
            return None if self.best is None else f"{self.best[0]}, {self.best[1].described}"
        oldest = min((self.checked[key].number for key in self.left_out), default=self.number)
        proof = f"{self.by.name}, {self.histories[self.by.name].described}"
        done = f"{pages} pages: {requests} requests, {changed} changed"
        ago = f"{self.number - oldest} crawl{'s' * (self.number - oldest != 1)} ago"
        return f"{done}; by {proof}; oldest check {ago}"

    @property
    def best(self) -> tuple[str, History] | None:
        """The witness of this run that has proven most, and its history."""
        found = [
            (one.name, self.histories[one.name])
            for one in self.witnesses
            if one.name in self.histories
        ]
        return max(
            found, key=lambda one: (one[1].is_proven, one[1].pages > 0, one[1].nights), default=None
        )
