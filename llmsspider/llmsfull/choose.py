"""Pick the rule that explains how a full-text file was joined."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from llmsspider import domains
from llmsspider.llmsfull.marks import Mark
from llmsspider.llmsfull.scan import Scan

MAX_PREAMBLE_SHARE = 0.15
MAX_PREAMBLE_LINES = 150
"""What stands before the first page of a generated file is a title and a summary, in lines."""

MAX_PREAMBLE_HEADINGS = 2
"""Above the first of headings that name addresses stand at most so many others."""

MAX_PAGE_SHARE = 0.7
"""Marks that leave more than this to one page are no page boundaries."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule by name, and its marks in the order of the file."""

    rule: str
    marks: list[Mark]

    @property
    def score(self) -> int:
        """How many pages it tells apart."""
        return len({mark.url or mark.title for mark in self.marks if mark.url or mark.title})


def choose(scan: Scan, url: str) -> Choice | None:
    """Return the rule with the most pages; one that only headings speak for comes last."""
    strong = [
        *_tags(scan),
        Choice("front-matter", [mark for mark in scan.front_matter.marks if mark.url]),
        *_labels(scan, url),
        *(
            Choice(f"heading-{form}" if form != "banner" else form, marks)
            for (form, _), marks in scan.headings.groups.items()
            if form in {"path", "banner"}
        ),
        Choice("firecrawl", _titled_by_heading(scan)),
    ]
    weak = [
        Choice(f"heading-{form}", _own_site(marks, url))
        for (form, _), marks in scan.headings.groups.items()
        if form not in {"path", "banner"}
    ]
    untold = [Choice("front-matter", [mark for mark in scan.front_matter.marks if mark.title or mark.url])]
    for choices in (strong, weak, untold):
        fitting = [choice for choice in choices if _fits(choice, scan, strict=choices is not strong)]
        if fitting:
            return max(fitting, key=lambda choice: choice.score)
    return None


def _tags(scan: Scan) -> list[Choice]:
    return [Choice(f"{name}-tag", marks) for name, marks in scan.tags.groups.items()]


def _labels(scan: Scan, url: str) -> list[Choice]:
    """Turn labelled lines into marks: below a title, before a body, or after one."""
    choices = []
    beside: dict[int, set[int]] = {}
    for marks in scan.labels.groups.values():
        for mark in marks:
            beside.setdefault(mark.start, set()).update(mark.skip)
    for (form, _), marks in scan.labels.groups.items():
        own = _own_site(marks, url)
        if not own:
            continue
        headed = [mark for mark in marks if mark.headed]  # a page on another site ends the one before it, too
        if len(headed) >= 0.6 * len(marks):
            level = Counter(mark.level for mark in headed).most_common(1)[0][0]
            titled = {mark.start: mark for mark in reversed(headed) if mark.level == level}
            for start, mark in titled.items():
                mark.skip = sorted(beside[start])
            choices.append(Choice(f"title-{form}", sorted(titled.values(), key=lambda mark: mark.start)))
        elif own[-1].skip[-1] >= scan.last_text_line:
            choices.append(Choice(f"{form}-after", _ending_at(own)))
        else:
            for mark in own:
                mark.start = min(mark.skip)
            choices.append(Choice(f"{form}-before", own))
    return choices


def _ending_at(marks: list[Mark]) -> list[Mark]:
    """Return marks of pages that each end with the line that names them."""
    starts = [0, *(mark.skip[-1] + 1 for mark in marks)]
    return [
        Mark(start, mark.url, mark.title, mark.skip, end=mark.skip[-1])
        for start, mark in zip(starts, marks, strict=False)
    ]


def _titled_by_heading(scan: Scan) -> list[Mark]:
    """Give firecrawl pages the title of the heading below their mark."""
    for mark in scan.firecrawl.marks:
        mark.title = scan.heading_after.get(mark.start)
    return scan.firecrawl.marks


def _own_site(marks: list[Mark], url: str) -> list[Mark]:
    """Leave out marks that name another site than most: citations, examples."""
    sites = Counter(_site(mark.url) for mark in marks if mark.url and "://" in mark.url)
    if not sites:
        return marks
    own = _site(url) if url else None
    most = own if own and sites[own] * 2 >= sites.total() else sites.most_common(1)[0][0]
    return [mark for mark in marks if not mark.url or "://" not in mark.url or _site(mark.url) in {most, own}]


def _site(url: str) -> str | None:
    return domains.registrable_domain(url) or domains.host(url)


def _fits(choice: Choice, scan: Scan, *, strict: bool) -> bool:
    """Tell whether marks can be the page boundaries of the whole file."""
    marks = choice.marks
    if choice.score < 2 and not (choice.score == 1 and marks[0].start <= scan.first_text_line and not strict):
        return False
    preamble = marks[0].start - scan.first_text_line
    if preamble > max(MAX_PREAMBLE_LINES, MAX_PREAMBLE_SHARE * scan.lines):
        return False
    if strict and scan.titles.count_before(marks[0].start) > MAX_PREAMBLE_HEADINGS:
        return False
    if choice.rule == "heading-url" and all("://" in (mark.url or "") for mark in marks):
        return True
    if not strict or scan.titles.lines_at(marks[0].level) == {mark.start for mark in marks}:
        return True
    ends = [*(mark.start for mark in marks[1:]), scan.lines]
    return max(end - mark.start for mark, end in zip(marks, ends, strict=True)) <= MAX_PAGE_SHARE * scan.lines
