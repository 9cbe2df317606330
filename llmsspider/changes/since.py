"""A run, a date, an age or a number, as the change after which changes are told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from llmsspider.errors import ArgumentsError

if TYPE_CHECKING:
    from llmsspider.store import RunRecord, Store

_RUN = re.compile(r"\d{8}T\d{0,6}(?:-[0-9a-f]{0,6})?", re.ASCII)
_AGE = re.compile(r"(\d{1,4})\s*(h|d|w)(?:ours?|ays?|eeks?)?", re.ASCII | re.IGNORECASE)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}

SHOWN_RUNS = 5


class NothingBeforeError(ValueError):
    """The source has no run to compare with; the message says so in one line."""


def since(store: Store, source: str, value: str | None) -> int:
    """Return the number of the last change that belongs to the state before.

    Args:
        store: the open store of the source.
        source: its name, for messages.
        value: a run (its id or how that begins), a date or time (ISO 8601, UTC unless it says otherwise), an age
            such as `7d`, or a number of a change; None for the run before the last one.

    Raises:
        ArgumentsError: it is none of these, or no such run or change.
        NothingBeforeError: the source has one run, or none.
    """
    runs = store.runs()
    if value is None:
        return _last_run(runs, source)
    value, last = value.strip(), store.last_seq()
    if value.isascii() and value.isdigit() and len(value) < 19:
        if int(value) > last:
            raise ArgumentsError([f"--since {value}: the last change of {source!r} has the number {last}"])
        return int(value)
    if _RUN.fullmatch(value):
        return _after_run(runs, value, last)
    if (age := _AGE.fullmatch(value)) is not None:
        moment = datetime.now(UTC) - timedelta(**{_UNITS[age[2].lower()]: int(age[1])})
    else:
        moment = _moment(value)
    return store.seq_at(moment)


def _last_run(runs: Sequence[RunRecord], source: str) -> int:
    ended = [run for run in runs if run.finished_at is not None or run.lost]
    if len(ended) < 2:
        how_many = "one run" if ended else "no run that has ended"
        raise NothingBeforeError(
            f"source {source!r} has {how_many}: there is nothing to compare with before the next; "
            "--since 0 tells every page as new"
        )
    return ended[-1].seq_before


def _after_run(runs: Sequence[RunRecord], value: str, last: int) -> int:
    found = [number for number, run in enumerate(runs) if run.id.startswith(value)]
    if len(found) == 1:
        later = runs[found[0] + 1 :]
        return later[0].seq_before if later else last
    known = ", ".join(run.id for run in runs[-SHOWN_RUNS:]) or "none"
    what = "is not known" if not found else f"stands for {len(found)} runs"
    raise ArgumentsError([f"--since {value!r}: this run {what}; the last runs are {known}"])


def _moment(value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        accepted = "a run, a date (2026-11-21), an age (7d) and the number of a change are accepted"
        raise ArgumentsError([f"--since {value!r}: {accepted}"]) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment > datetime.now(UTC):
        raise ArgumentsError([f"--since {value!r}: this moment has not come yet"])
    return moment
