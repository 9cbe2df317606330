"""What witnesses of a site (`site/witnesses.py`) said, held against what its pages showed. Pure.

A witness is believed once it has named every page that changed, on nights when every page was
requested, or holds what pages say; where nothing changes it is believed in steps
(docs/explanation/incremental.md).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field, fields
from math import ceil, inf
from random import random
from typing import Any, Literal, NamedTuple

from llmsspider.site.witnesses import NOT_OF_A_FILE, Witness, stems
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
DEPLOY_SAMPLE = 5
"""So many times as many pages are sampled when a witness is another one than last time: what none
of them holds, such as the targets of links, changes with deploys, and is seen within ten of them.
"""
HELD_WORDS = 0.8
"""Share of the words of a page that a witness has which holds its text."""
LEAST_SHARE = 0.9
"""A witness that names less than this share of the pages that it named last time is damaged."""
FEW = 5
FEW_SHARE = 0.05
"""So many pages, or this share, that another witness names are requested too, proven or not."""

Why = Literal["sampled", "named", "due", "not spoken for", "left out"]
"""Why a stored page is requested: as a sample, since a witness names it, since it was not for too
long, since no believed witness says anything of it; or that it is not.
"""


class Night(NamedTuple):
    """Which of the stored `pages` (a number) a run requests: `why` by key, or `why_all` of them.

    `by` is the name of the witness that pages are left out by, `proof` what it has shown.
    """

    why: Mapping[bytes, Why]
    why_all: str | None
    pages: int
    by: str
    proof: str | None


Claim = Literal["named", "silent", "none"]
"""What a witness said of a page before it was requested: it is another one, it is as it was, or
nothing.
"""


@dataclass(slots=True)
class History:
    """What became of the claims of one witness.

    `nights` counts those on which every page was requested or it was believed, `active` those of
    the former on which pages changed, since its last mistake; `changes` the pages that changed,
    `named` those that it had named, `mistakes` the nights when it had not. `stamp` and `pages` (a
    number) are those of last time. It `holds_text` where it was seen to have what pages say, or
    they to carry what it says.
    """

    nights: int = 0
    active: int = 0
    changes: int = 0
    named: int = 0
    mistakes: int = 0
    stamp: str = ""
    pages: int = 0
    holds_text: bool = False

    @property
    def bound(self) -> float:
        """In so many runs each page is requested at least while it is believed; 0 where it is not.

        Once proven it sets no bound. Before, the bound doubles with each night.
        """
        needed = PROOF_NIGHTS << min(self.mistakes, MAX_MISTAKES)
        if self.nights < needed or (self.mistakes and not self.pages):
            return 0
        least_active = 1 if self.pages else STAMP_NIGHTS
        if self.holds_text or self.active >= least_active:
            return inf
        return 2 << (self.nights - needed)

    @property
    def described(self) -> str:
        """Its history in words."""
        proven = "right so far" if self.bound else "not proven yet"
        if self.bound == inf:
            proven = "proven"
        return f"{proven} over {self.nights} nights, {self.named} of {self.changes} changes named"


def _holds_text(
    witness: Witness, asked: Mapping[bytes, str], text_of: Callable[[bytes], str]
) -> bool:
    """Say whether a witness has nearly all words of nearly all pages that can be compared."""
    if witness.hashes_pages:
        return True
    shares = []
    for key, url in asked.items() if witness.words else ():
        held = witness.words.get(witness.key_of(url))
        said = stems(text_of(key)) if held is not None else set()
        if held is not None and said:
            shares.append(len(said & held) / len(said))
    agree = sum(share >= HELD_WORDS for share in shares)
    return agree >= LEAST_SHARE * len(shares) > 0


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
    # the witness that pages are left out by in this run, where there is one
    by: Witness | None = None
    # the keys of the stored pages that are not requested
    unasked: set[bytes] = field(default_factory=set)
    # the keys of pages that were met and not requested
    left_out: set[bytes] = field(default_factory=set)
    no_documents: dict[bytes, str] = field(default_factory=dict)
    """The URLs of pages that were requested, and are no documents as before, or not found."""
    dead: set[bytes] = field(default_factory=set)  # the keys of those that were not found
    carried: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    """The keys of the pages that carry what a witness says of them, by its name."""
    _believed: list[Witness] = field(default_factory=list)
    _bound: int = 0

    def remember(self, kept: object) -> None:
        """Take over what `to_json` gave; anything else is nothing."""
        found = kept if isinstance(kept, Mapping) else {}
        self.has_same_settings = found.get("settings") == self.settings
        for name, values in found.items():
            if isinstance(values, list) and len(values) == len(fields(History)):
                self.histories[str(name)] = History(*values)
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            self.checked = {
                bytes.fromhex(key): Checked(*one) for key, one in found["checked"].items()
            }

    def to_json(self) -> dict[str, Any]:
        """Return what the store keeps: the histories, and when each page was checked."""
        histories = {name: list(astuple(one)) for name, one in self.histories.items()}
        recent = {
            key.hex(): astuple(one)
            for key, one in self.checked.items()
            if self.number - one.number < MAX_AGE
        }
        return {"settings": self.settings, "checked": recent, **histories}

    def page_read(self, key: bytes, url: str, body: bytes, modified: str = "") -> None:
        """Note which of the witnesses a page bears out by what it carries, or by its
        `Last-Modified`.
        """
        for one in self.witnesses:
            if one.stands_in(body, url, modified):
                self.carried[one.name].add(key)

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

    def _bound_of(self, key: bytes, url: str) -> float:
        """Return in how many runs a page is to be requested, by the first believed witness that
        says something of it; 0 where none does, or it names the page.
        """
        for one in self._believed:
            claim = self.claim(one, key, url)
            if claim != "none":
                bound = min(self._bound, self.histories[one.name].bound)
                return bound if claim == "silent" else 0
        return 0

    def plan(
        self,
        pages: Mapping[bytes, str],
        bound: int,
        first: Callable[[set[bytes]], Collection[bytes]] = lambda _lost: (),
    ) -> dict[bytes, Why]:
        """Decide which of the stored pages (URLs by key) are requested; return why, or that it is
        left out, for each of them; nothing where all are requested.

        Sampled are those that were requested longest ago, so many that each page is within `bound`
        runs; before them those that are to be `first` where a witness names some pages no more.
        """
        found = [one for one in self.witnesses if self._past(one).bound]
        if any(len(one.pages) < LEAST_SHARE * self._past(one).pages for one in found):
            return {}
        named = {
            one.name: {key for key, url in pages.items() if self.claim(one, key, url) == "named"}
            for one in self.witnesses
        }
        self._believed = sorted(
            found, key=lambda one: (self._past(one).bound < inf, len(named[one.name]))
        )
        self._bound = bound
        why = self._reasons(pages, named)
        unasked = {key for key, reason in why.items() if reason == "left out"}
        sample = self._sample(unasked, pages, first(self._lost(pages, named)))
        self.unasked = unasked.difference(sample)
        if not sample:
            return {}
        self.by = self._believed[0]
        return why | dict.fromkeys(sample, "sampled")

    def _past(self, witness: Witness) -> History:
        return self.histories.get(witness.name, History())

    def _sample(
        self, unasked: Collection[bytes], pages: Mapping[bytes, str], first: Collection[bytes]
    ) -> list[bytes]:
        """Choose as many as are due, more after a deploy, of the pages that nothing else asks for:
        `first` ones, then the longest ago.
        """
        is_deploy = any(one.stamp != self._past(one).stamp for one in self.witnesses)
        times = DEPLOY_SAMPLE if is_deploy else 1
        share = sum(1 / self._bound_of(key, pages[key]) for key in unasked)
        order = sorted(
            unasked,
            key=lambda key: (key not in first, self.checked[key].number, random()),  # noqa: S311  # no secret
        )
        return order[: times * max(MIN_SAMPLE, ceil(share))]

    def _lost(self, pages: Mapping[bytes, str], named: Mapping[str, set[bytes]]) -> set[bytes]:
        """The keys of the stored pages of which a witness says nothing any more."""
        return {
            key
            for one in self.witnesses
            for key in named[one.name]
            if one.pages and one.of(pages[key]) is None
        }

    def _reasons(
        self, pages: Mapping[bytes, str], named: Mapping[str, set[bytes]]
    ) -> dict[bytes, Why]:
        """Return why each of the stored pages is requested or left out, but for samples, by what
        the witnesses have `named`: a few are requested whoever names them.
        """
        few = max(FEW, FEW_SHARE * len(pages))
        believed = {one.name for one in self._believed}
        by_few = set().union(*(keys for keys in named.values() if len(keys) <= few))
        by_believed = set().union(*(keys for name, keys in named.items() if name in believed))
        why: dict[bytes, Why] = {}
        for key, url in pages.items():
            most = self._bound_of(key, url)
            if key in by_few or (not most and key in by_believed):
                why[key] = "named"
            elif not most:
                why[key] = "not spoken for"
            elif self.number - self.checked[key].number >= most:
                why[key] = "due"
            else:
                why[key] = "left out"
        return why

    def is_other_site(self, found: Sequence[Witness]) -> bool:
        """Say whether the files that witnesses were found in are others than last time: there was a
        deploy, one is gone, or the site has another generator.
        """
        before = {
            name: one.stamp
            for name, one in self.histories.items()
            if one.stamp and name not in NOT_OF_A_FILE
        }
        wholes = [one.whole() for one in found if one.pages]
        now = {one.name: one.stamp for one in (*found, *wholes)}
        return now != before

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
        return not is_due and (is_same or self._bound_of(key, url) > 0)

    def is_dead(self, key: bytes) -> bool:
        """Say whether a page was not found when it was requested last."""
        return key in self.checked and self.checked[key].is_dead

    def conclude(
        self,
        asked: Mapping[bytes, str],
        changed: Iterable[bytes],
        *,
        text_of: Callable[[bytes], str],
        links: Collection[bytes] = (),
        failed: Iterable[bytes] = (),
        evident: bool = True,
    ) -> list[str]:
        """Hold what the witnesses said against what the pages showed, and remember both; return the
        mistakes in words.

        The site answered for the pages `asked` (URLs by key); those that `failed` are asked again.
        The `changed` ones had another text than before, or were gone; `evident` says that the site
        alone made them change; of the `links` ones nothing else did, which few witnesses hold.
        `text_of` returns what a page says, by key.
        """
        changes = set(changed)
        claims = {
            witness.name: {key: self.claim(witness, key, url) for key, url in asked.items()}
            for witness in self.witnesses
        }
        lines = []
        for witness in self.witnesses:
            history = self.histories.setdefault(witness.name, History())
            if evident and history.stamp:
                missed = self._judge(witness, claims[witness.name], changes, links)
                lines += [
                    f"{witness.name} did not name {asked[key]}, which changed" for key in missed[:1]
                ]
            history.stamp = witness.stamp
            history.pages = len(witness.pages)
            if not history.holds_text:
                history.holds_text = self._is_borne_out(witness, asked, text_of)
        for name in self.histories.keys() - claims.keys():
            self.histories[name].stamp = ""  # it is not there any more
        for key in failed:
            self.checked.pop(key, None)
        if self.witnesses:
            for key in asked.keys() - set(failed):
                self._check(key, asked[key], claims, changes)
        return lines

    def _is_borne_out(
        self, witness: Witness, asked: Mapping[bytes, str], text_of: Callable[[bytes], str]
    ) -> bool:
        """Say whether nearly all pages carry what a witness says, or it has their words."""
        borne_out = len(self.carried[witness.name] & asked.keys())
        is_carried = borne_out >= LEAST_SHARE * len(asked) > 0
        return is_carried or _holds_text(witness, asked, text_of)

    def _judge(
        self,
        witness: Witness,
        claims: Mapping[bytes, Claim],
        changes: Collection[bytes],
        links: Collection[bytes],
    ) -> list[bytes]:
        """Count in the history of a witness what it said of the pages that changed, but of its own;
        return those that it did not name.
        """
        history = self.histories[witness.name]
        not_its_own = {page_key(witness.page)} if witness.page else set()
        if not witness.holds_links:
            not_its_own.update(links)
        known = [
            key for key in changes if claims.get(key, "none") != "none" and key not in not_its_own
        ]
        missed = [key for key in known if claims[key] == "silent"]
        history.changes += len(known)
        history.named += len(known) - len(missed)
        if missed:
            history.nights = history.active = 0
            history.mistakes += 1
        elif not self.left_out or witness in self._believed:
            history.nights += 1
            history.active += bool(known) and not self.left_out
        return missed

    def _check(
        self,
        key: bytes,
        url: str,
        claims: Mapping[str, Mapping[bytes, Claim]],
        changes: Collection[bytes],
    ) -> None:
        """Remember what each witness says of a page that was requested in this run."""
        said = {one.name: one.of(url) for one in self.witnesses}
        digests = {name: digest for name, digest in said.items() if digest is not None}
        again: list[str] = []
        if key not in changes:
            earlier = self.checked[key].again if key in self.checked else []
            # what speaks for all pages at once names all: one that changed shows that none is
            # behind
            may_be_behind = [one.name for one in self.witnesses if one.pages or not changes]
            again = [
                name
                for name in may_be_behind
                if claims[name][key] == "named" and name not in earlier
            ]
        self.checked[key] = Checked(self.number, digests, again, key in self.dead)

    def described(self, pages: int, changed: int, requests: int) -> str | None:
        """Return what the witnesses have shown and, where pages were left out, what the run did, in
        words.
        """
        if self.by is None:
            return self.proof
        oldest = min((self.checked[key].number for key in self.left_out), default=self.number)
        done = f"{pages} pages: {requests} requests, {changed} changed"
        ago = f"{self.number - oldest} crawl{'s' * (self.number - oldest != 1)} ago"
        return f"{done}; by {self.proof}; oldest check {ago}"

    @property
    def proof(self) -> str | None:
        """What the witness that pages are left out by has shown, else the best one, in words."""
        known = [one for one in self.witnesses if one.name in self.histories]
        if self.by is not None:
            known = [self.by]

        def shown(witness: Witness) -> tuple[float, bool, int]:
            history = self.histories[witness.name]
            return history.bound, history.pages > 0, history.nights

        best = max(known, key=shown, default=None)
        return f"{best.name}, {self.histories[best.name].described}" if best is not None else None
