"""All changes of a source since a run, a date or a number; pages that moved are recognised."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import urlsplit

from llmsspider.diff.compare import MAX_PAIRS, Hunk, blocks, compare, most_similar, word_counts
from llmsspider.diff.noise import Evidence, evidence, noise_of, remove_noise, volatile_lines
from llmsspider.errors import ArgumentsError
from llmsspider.items import content_hash
from llmsspider.store import PageHistory, PageRecord, Store, Version

_RUN = re.compile(r"\d{8}T\d{0,6}(?:-[0-9a-f]{0,6})?", re.ASCII)
_GOES_ON = re.compile(r"[\w/.%~-]")
"""What makes the URL before it part of a longer one."""
_AGE = re.compile(r"(\d{1,4})\s*(h|d|w)(?:ours?|ays?|eeks?)?", re.ASCII | re.IGNORECASE)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}

SHOWN_RUNS = 5


class NothingBeforeError(ValueError):
    """The source has no run to compare with; the message says so in one line."""


def since(store: Store, source: str, value: str | None) -> int:
    """Return the number of the last change that belongs to the state before; `source` is the name,
    for messages.

    `value` is a run (its id or how that begins), a date or time (ISO 8601, UTC unless it says
    otherwise), an age such as `7d`, or a number of a change; None stands for the run before the
    last one. Raises `ArgumentsError` for another, and `NothingBeforeError` when the source has one
    run, or none.
    """
    runs = store.runs()
    if value is None:
        ended = [run for run in runs if run.finished_at is not None or run.lost]
        if len(ended) < 2:
            has = f"source {source!r} has {'one run' if ended else 'no run that has ended'}"
            nothing = "there is nothing to compare with before the next"
            raise NothingBeforeError(f"{has}: {nothing}; --since 0 lists every page as new")
        return ended[-1].seq_before
    value = value.strip()
    last = store.last_seq()
    if value.isascii() and value.isdigit() and len(value) < 19:
        if int(value) > last:
            raise ArgumentsError(
                [f"--since {value}: the last change of {source!r} has the number {last}"]
            )
        return int(value)
    if _RUN.fullmatch(value):
        found = [number for number, run in enumerate(runs) if run.id.startswith(value)]
        if len(found) != 1:
            known = ", ".join(run.id for run in runs[-SHOWN_RUNS:]) or "none"
            what = f"stands for {len(found)} runs" if found else "is not known"
            raise ArgumentsError([f"--since {value!r}: this run {what}; the last runs are {known}"])
        later = runs[found[0] + 1 :]
        return later[0].seq_before if later else last
    return store.seq_at(_moment(value))


def _moment(value: str) -> datetime:
    if (age := _AGE.fullmatch(value)) is not None:
        return datetime.now(UTC) - timedelta(**{_UNITS[age[2].lower()]: int(age[1])})
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        accepted = "a run, a date (2026-11-21), an age (7d) and the number of a change are accepted"
        raise ArgumentsError([f"--since {value!r}: {accepted}"]) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment > datetime.now(UTC):
        raise ArgumentsError([f"--since {value!r}: this moment has not come yet"])
    return moment


Kind = Literal["new", "changed", "moved", "deleted"]


@dataclass(slots=True)
class PageChange:
    """What happened to one page; `seq` and `run` are those of its last change, `moved_from` is its
    former address.

    `hunks` says what changed in its text, without noise; `folded` are the hunks that are noise,
    `shifted` blocks that only stand elsewhere now. `unknown` says why the text cannot be compared,
    `remade` that another version of the converter made it, so that the site may have changed
    nothing. `reason` says why it was deleted.
    """

    kind: Kind
    url: str
    title: str
    section: str
    seq: int
    run: str
    order: int | None = None
    moved_from: str | None = None
    title_before: str | None = None
    hunks: list[Hunk] = field(default_factory=list)
    folded: list[Hunk] = field(default_factory=list)
    shifted: int = 0
    unknown: str | None = None
    remade: bool = False
    reason: str | None = None


@dataclass(slots=True)
class SourceChanges:
    """What happened to a source after the change `since`: pages in the order of its llms.txt, else
    by address.

    `noise` counts the pages in which only noise changed, `folded` the pages that have each line
    which was folded.
    """

    source: str
    since: int
    until: int
    pages: list[PageChange] = field(default_factory=list)
    noise: int = 0
    folded: Counter[str] = field(default_factory=Counter)

    def count(self, kind: Kind) -> int:
        """The number of pages of a kind."""
        return sum(page.kind == kind for page in self.pages)

    def by_section(self) -> dict[str, list[PageChange]]:
        """The pages by section of the llms.txt; those without one by the first part of their path."""
        found: dict[str, list[PageChange]] = defaultdict(list)
        for page in self.pages:
            found[page.section].append(page)
        return found


def changes_since(
    store: Store,
    source: str,
    since: int,
    *,
    until: int | None = None,
    keep_noise: bool = False,
) -> SourceChanges:
    """Compare every page that changed after the change `since` with what it was then. Raises
    `StoreError`.

    `until` is the last change that counts, that of the history by default. `keep_noise` reports
    noise as any other change.
    """
    result = SourceChanges(source, since, store.last_seq() if until is None else until)
    pages = list(_compared_pages(store.history_since(since, until), since))
    if not keep_noise:
        _fold(pages)
    for page in pages:
        change = page.change
        in_substance = change.hunks or change.unknown or change.shifted or change.title_before
        if in_substance or keep_noise or change.kind != "changed":
            result.pages.append(change)
        result.folded.update(page.folded)
    result.pages.sort(
        key=lambda page: (page.order is None, page.order or 0, page.section, page.url)
    )
    result.noise = len(pages) - len(result.pages)
    return result


@dataclass(slots=True)
class _Compared:
    """A change of a page, the evidence of its contents, and the masks of its lines that are noise."""

    change: PageChange
    evidence: Evidence = field(default_factory=Evidence)
    folded: set[str] = field(default_factory=set)


def _compared_pages(histories: Iterable[PageHistory], since: int) -> Iterator[_Compared]:
    """Compare every page with what it was; a page that came and one that went are one that moved,
    where they match.
    """
    new: list[PageHistory] = []
    gone: dict[str, _Gone] = {}
    for page in histories:
        before = next((old for old in reversed(page.versions) if old.seq <= since), None)
        if page.now.change == "deleted":
            if not page.was_new:  # else it came and went
                gone[page.now.record.url] = page, before
        elif page.was_new:
            new.append(page)
        elif before is None or before.content_hash != page.now.record.content_hash:
            yield _compared(_change("changed", page), page, before, page.versions)
    yield from _new_pages(new, gone)
    for page, _ in gone.values():
        yield _Compared(_change("deleted", page, reason=page.now.reason))


_Gone = tuple["PageHistory", "Version | None"]


def _new_pages(new: list[PageHistory], gone: dict[str, _Gone]) -> Iterator[_Compared]:
    texts = {url: before.content for url, (_, before) in gone.items() if before is not None}
    by_text: dict[str, list[str]] = defaultdict(list)  # its links may hold the address of the page
    for url, text in texts.items():
        by_text[content_hash(text.replace(url, "\0"))].append(url)
    is_small = len(new) * len(gone) <= MAX_PAIRS
    words = {url: word_counts(text, url) for url, text in texts.items()} if new and is_small else {}
    for page in new:
        record = page.now.record
        content = page.now.record.content or ""
        same = by_text[content_hash(content.replace(record.url, "\0"))]
        former = next((one for one in (*record.moved_from, *same) if one in gone), None)
        if former is None and words:
            others = ((one, counts) for one, counts in words.items() if one in gone)
            former = most_similar(word_counts(content, record.url), others)
        if former is None:
            yield _Compared(_change("new", page))
            continue
        gone_page, before = gone.pop(former)
        change = _change("moved", page, moved_from=former)
        yield (
            _Compared(change)
            if former in same
            else _compared(change, page, before, gone_page.versions)
        )


def _compared(
    change: PageChange, page: PageHistory, before: Version | None, versions: tuple[Version, ...]
) -> _Compared:
    """Compare the text of a page with what it was; `versions` are those of its former address, if
    any.
    """
    record = page.now.record
    if before is None:
        change.unknown = "its earlier text is not kept (LLMS_HISTORY)"
        return _Compared(change)
    texts = [version.content for version in versions]
    if change.moved_from:
        texts = [_with_address(text, change.moved_from, record.url) for text in texts]
    contents = [*map(blocks, texts), blocks(record.content or "")]
    old = contents[versions.index(before)]
    new = contents[-1]
    change.hunks, change.shifted = compare(old, new)
    change.remade = before.extractor_version != record.extractor_version
    if before.title and before.title != record.title:
        change.title_before = before.title
    return _Compared(change, evidence(contents))


def _with_address(text: str, former: str, address: str) -> str:
    head, *rest = text.split(former)
    return head + "".join(f"{former if _GOES_ON.match(part) else address}{part}" for part in rest)


def _fold(pages: Iterable[_Compared]) -> None:
    """Take noise out of the hunks of pages; those that are nothing else move to `folded`."""
    found = [(page, [(hunk, volatile_lines(hunk)) for hunk in page.change.hunks]) for page in pages]
    noise = noise_of(
        [(page.evidence, [one for _, lines in hunks for one in lines]) for page, hunks in found]
    )
    for (page, hunks), lines_of_page in zip(found, noise, strict=True):
        page.folded.update(line.mask for line in lines_of_page)
        page.change.hunks = []
        for hunk, lines in hunks:
            rest = remove_noise(hunk, [line for line in lines if line in lines_of_page])
            (page.change.folded if rest is None else page.change.hunks).append(rest or hunk)


def _change(kind: Kind, page: PageHistory, **more: Any) -> PageChange:
    record = page.now.record
    now = page.now
    order = record.llms.order if record.llms else None
    title = record.title or record.url
    return PageChange(kind, record.url, title, section_of(record), now.seq, now.run, order, **more)


def section_of(record: PageRecord) -> str:
    """The section of the llms.txt that lists a page, else the first part of its path as it is
    written.
    """
    if record.llms is not None and record.llms.section:
        return record.llms.section
    parts = [part for part in urlsplit(record.url).path.split("/") if part]
    return f"/{parts[0]}/" if len(parts) > 1 else "/"
