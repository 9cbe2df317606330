"""Requests for what may not be worth one. Pure.

Links that were seen lately (`SeenLinks`) are looked at once. A few pages in both forms show whether
Markdown is believed (`FormSamples`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, get_args

from llmsspider.content.judge import Compared, Loss

# --- links that were seen already ---

MAX_LINKS_SEEN = 1_000_000
"""Links of which it is remembered that they were seen: about 100 MB. When there are more, the
oldest half is forgotten.

One that is seen again then may be counted twice; no page is requested twice (`PageDupeFilter`).
"""


class SeenLinks:
    """The links seen lately, at least the last half of `limit`, by their hash."""

    def __init__(self, limit: int = MAX_LINKS_SEEN):
        self._limit = max(limit, 2)
        self._seen: dict[int, SeenLinks | None] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def __contains__(self, link: str) -> bool:
        return hash(link) in self._seen

    def add(self, link: str) -> bool:
        """Note a link, as it is written; return whether it was not noted before."""
        key = hash(link)
        is_known = self._seen.pop(key, self) is None
        self._seen[key] = None  # it stays among those seen lately
        if len(self._seen) > self._limit:
            self._seen = dict.fromkeys(islice(self._seen, self._limit // 2, None))
        return not is_known


# --- HTML of Markdown, to see which of both says more: a form of a host and its sections, by a few
# of their pages ---

Form = Literal["Accept", "files", "full text"]
"""How Markdown comes: in answer to `Accept`, as a file beside the page, or in one file that holds
many.
"""
FORM_OF: dict[str, Form] = {
    "negotiated": "Accept",
    "markdown": "files",
}  # by the origin of the page

SAMPLES = 3
"""Pages of a form whose HTML is requested at most before the form is decided; two that agree are
enough.
"""
SHARE = 100
"""Pages of a crawl for so many of which one request more than `SAMPLES` may show that the Markdown
says it all.
"""
NIGHTLY = 2  # pages that are samples in a later crawl, of all forms
FAITHFUL = 2
"""Pages that say what their HTML says, beside which one in other words shows that the form lags."""
LOOKED_AT = 20  # pages of a form of which it is remembered what they said
SMALL = 1_000  # characters below which a page may show that a section is not like its host
PATIENCE = 8  # pages without code and tables that come before one of them is a sample

_TELLING = re.compile(r"^ *(?:```|~~~|\||#.*\n\s*#)|^    \S|\w\\_\w", re.MULTILINE)
"""Marks of code and tables, and of code without its fence: comments that became headings, escaped
underscores.
"""


def is_telling(markdown: str) -> bool:
    r"""Say whether Markdown has code or tables, or looks as though it had lost some.

    >>> is_telling("# Retry 3 times\n\ndef retry\\_3():\n"), is_telling("| a |\n|---|\n"), is_telling("Prose.\n")
    (True, True, False)
    """
    return _TELLING.search(markdown) is not None


@dataclass(slots=True)
class FormSamples:
    """What samples of a form of the pages of a host, or of one of its sections, have shown, each
    beside its HTML.

    A section is as its host (`above`), unless its own samples speak against that. `decided` says
    that the HTML is better, None while that is open; `losses` names what the Markdown lacked,
    `against` the later crawls in a row whose samples speak against the decision.
    """

    above: FormSamples | None = None
    good: int = 0
    worse: int = 0
    losses: list[Loss] = field(default_factory=list)
    decided: bool | None = None
    against: int = 0
    looked_at: dict[str, Sequence[str]] = field(default_factory=dict)
    """What the last samples said in both forms, and how that differs, as in `Compared`, by URL; of
    a host.
    """
    _is_late: bool = False
    _asked: int = 0
    _under_way: int = 0
    _passed: int = 0

    @property
    def is_html(self) -> bool | None:
        """Whether the HTML is better; None while that is open."""
        if self.decided is not None or self.above is None or self._under_way or self._differs:
            return self.decided
        return self.above.decided

    @property
    def _differs(self) -> bool:
        """Whether the first sample of a section speaks against what its host is."""
        of_host = self.above.decided if self.above is not None else None
        return of_host is not None and bool(self.good if of_host else self.worse)

    @property
    def edited(self) -> list[str]:
        """The pages looked at last that the Markdown has in other words."""
        return [url for url, (*_, lag) in self.looked_at.items() if lag == "edits"]

    @property
    def again(self) -> list[str]:
        """The page that is looked at again: the one of those in other words, else of all, that was
        so longest ago.
        """
        return (self.edited or list(self.looked_at))[:1]

    @property
    def lags(self) -> bool:
        """Whether the Markdown is built later than its pages.

        It is where a passage of a page that it said changed without it, where it came to say what a
        page had said before, and where it has pages in other words beside some that it says. What
        is only added to HTML may be a banner.
        """
        agree = sum(not lag for *_, lag in self.looked_at.values())
        return self._is_late or (bool(self.edited) and len(self.edited) + agree > FAITHFUL)

    def _look(self, url: str, found: Compared) -> None:
        if not found.html:
            return
        html, markdown, lag = self.looked_at.pop(url, ("", "", ""))
        only_html = (
            found.markdown == markdown and found.html != html and not lag and found.lag == "edits"
        )
        came_after = found.html == html and found.markdown != markdown and lag and not found.lag
        self._is_late = self._is_late or bool(only_html or came_after)
        self.looked_at = dict([*self.looked_at.items(), (url, found[1:4])][-LOOKED_AT:])

    def takes(self, markdown: str, *, any_page: bool = False, has_room: bool = True) -> bool:
        """Say whether a page is to be a sample: while the form is open, pages with code and tables
        first.
        """
        top = self.above or self
        if self.is_html is not None and (self is top or self.decided is not None):
            return False
        if top.decided is None:
            takes = top._takes_of_host(markdown, any_page=any_page)
        elif has_room and not self._asked and (len(markdown) < SMALL or is_telling(markdown)):
            takes = True
        else:
            takes = self._differs and self._asked < SAMPLES
        if self is not top:
            self._asked += takes
        self._under_way += takes
        return takes

    def _takes_of_host(self, markdown: str, *, any_page: bool) -> bool:
        self._passed += 1
        is_open = self._asked < SAMPLES - 1 + bool((self.good and self.worse) or self.edited)
        takes = is_open and (any_page or self._passed > PATIENCE or is_telling(markdown))
        self._asked += takes
        return takes

    def report(self, found: Compared, url: str) -> FormSamples | None:
        """Count what the Markdown of a sample lacked; return what that decides: the host or the
        section, if any.

        A stub says nothing of the other pages.
        """
        top = self.above or self
        lost = () if found.is_stub else found.lost
        self._under_way = max(self._under_way - 1, 0)
        top._look(url, found)
        if self.decided is not None:
            return None
        was = top.decided
        for samples in [self] if was is not None or self is top else [self, top]:
            samples._count(lost, is_stub=found.is_stub, needed=SAMPLES - (not top.edited))
        if was is None and top.lags:
            top.decide(["edits"])
        if (
            self is not top
            and top.decided is not None
            and top.decided in {self.decided, bool(lost)}
        ):
            # it is as its host
            self.decided = None
            self.worse = 0
            self.good = 0
        if was is None and top.decided is not None:
            return top
        return self if self.decided is not None else None

    def _count(self, lost: Collection[Loss], *, is_stub: bool, needed: int) -> None:
        """Count a sample, and decide where so many as are `needed` agree."""
        self._asked -= is_stub
        self.worse += bool(lost)
        self.good += not lost and not is_stub
        self.losses = [loss for loss in get_args(Loss) if loss in {*self.losses, *lost}]
        if max(self.worse, self.good) >= needed:
            self.decided = self.worse > self.good

    def report_all(self, found: Mapping[str, Compared]) -> FormSamples | None:
        """Count what samples lack, by URL; return what is decided otherwise now.

        In later crawls that takes `SAMPLES` crawls in a row, or one that shows that the Markdown
        lags.
        """
        top = self.above or self
        one = self if self.decided is not None else top
        was = self.is_html
        for url, sample in found.items():
            if one.decided is None:
                self.report(sample, url)
            else:
                top._look(url, sample)
        if was is not None and found:
            lost = set[str]().union(*(sample.lost for sample in found.values()))
            if top.lags:
                lost.add("edits")
            named = [loss for loss in get_args(Loss) if loss in lost]
            one.against = one.against + 1 if bool(named) is not was else 0
            if one.against >= SAMPLES:
                one.decide(named)
        if top.lags and not top.decided:
            one = top.decide(["edits"])
        return one if self.is_html is not was else None

    def decide(self, lost: Iterable[Loss]) -> FormSamples:
        """Decide by samples of which the last one lacked this."""
        self.losses = list(lost)
        self.against = 0
        self.decided = bool(self.losses)
        self.worse, self.good = (SAMPLES, 0) if self.decided else (0, SAMPLES)
        return self

    @property
    def evidence(self) -> str:
        """What the samples showed, in words."""
        if "edits" in self.losses:
            return "lags behind its pages"
        lost = f"loses {' and '.join(self.losses)}"
        of, said = (self.worse, lost) if self.is_html else (self.good, "says what its HTML says")
        return f"{said} ({of} of {self.worse + self.good} samples)"


_KEPT = ("good", "worse", "losses", "decided", "against", "looked_at")


class Judged:
    """What samples showed of each form of Markdown, by form, host and section; and what they cost
    in this run.

    Args:
        kept: as the store keeps it, see `to_keep`; what cannot be read counts as nothing.
    """

    def __init__(self, kept: object = None):
        self._samples: dict[tuple[Form, str, str], FormSamples] = {}
        self.in_vain = 0
        """Requests for HTML that says no more than its Markdown."""
        for one in kept if isinstance(kept, list) else ():
            match one:
                case [
                    ("Accept" | "files" | "full text") as form,
                    str(host),
                    str(section),
                    {**found},
                ]:
                    samples = self.of(form, host, section)
                    for name in set(_KEPT) & set(found):
                        setattr(samples, name, found[name])

    def of(self, form: Form, host: str, section: str = "") -> FormSamples:
        """Return the samples of a section, "" for the whole host; a file with full text is a host
        of its own.
        """
        above = self.of(form, host) if section else None
        return self._samples.setdefault((form, host, section), FormSamples(above))

    @property
    def gives_up_files(self) -> bool:
        """Whether a file with full text is not believed."""
        return any(one.decided for (form, *_), one in self._samples.items() if form == "full text")

    def again(self, number: int) -> list[str]:
        """Return the pages that are looked at again in the run of this number, which is every other
        one, of all forms but full text.
        """
        return [
            url
            for (form, *_), one in self._samples.items()
            if number % 2 and form != "full text"
            for url in one.again
        ]

    def to_keep(self) -> list[list[Any]]:
        """Return what the store keeps."""
        return [
            [*place, {name: getattr(one, name) for name in _KEPT}]
            for place, one in self._samples.items()
            if one.good or one.worse or one.looked_at
        ]
