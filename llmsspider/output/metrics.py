"""The state of a run as OpenMetrics text; gauges alone, which Prometheus' older format has as well."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import get_args

from llmsspider.errors import ErrorKind
from llmsspider.output.status import RunStatus

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def metrics(snapshot: RunStatus, source: str, oldest_check: str | None = None) -> str:
    """Return the metrics of a run; `oldest_check` is when the page was requested that was requested
    longest ago.
    """
    failed = dict.fromkeys(get_args(ErrorKind), 0) | snapshot.errors.by_kind
    changes = snapshot.changes
    filtered = snapshot.filtered.by_reason
    gauges: list[tuple[str, str, Mapping[str, float] | float, str]] = [
        ("documents", "Documents of the run, by what changed.", changes, "change"),
        ("pages_done", "Pages of which it is known what became of them.", snapshot.done, ""),
        ("pages_queued", "Pages that wait.", snapshot.queued, ""),
        ("errors", "Pages that failed, by the kind of error.", failed, "kind"),
        ("filtered", "URLs that were filtered, by reason.", filtered, "reason"),
        ("requests", "Requests of the run, of any kind.", snapshot.requests, ""),
        ("received_bytes", "Bytes of bodies as they were sent.", snapshot.bytes, ""),
        ("duration_seconds", "Time that the run took so far.", snapshot.elapsed_secs, ""),
        ("complete", "1 where the run saw the whole source, else 0.", int(snapshot.complete), ""),
    ]
    longest = "When the page that was requested longest ago was requested."
    for name, meaning, moment in (
        ("started", "When the run began.", snapshot.started),
        ("finished", "When the run ended.", snapshot.finished),
        ("oldest_check", longest, oldest_check),
    ):
        if moment:
            at = int(datetime.fromisoformat(moment).timestamp())
            gauges.append((f"{name}_timestamp_seconds", meaning, at, ""))
    lines = chain.from_iterable(_gauge(source, *gauge) for gauge in gauges)
    return "\n".join([*lines, "# EOF\n"])


def _gauge(
    source: str, name: str, meaning: str, values: Mapping[str, float] | float, label: str
) -> Iterator[str]:
    """Yield the lines of a metric: one sample, or one for each value of a label."""
    yield f"# TYPE llmsspider_{name} gauge"
    yield f"# HELP llmsspider_{name} {meaning}"
    for value, number in values.items() if isinstance(values, Mapping) else [("", values)]:
        more = f",{label}={_quoted(value)}" if label else ""
        yield f"llmsspider_{name}{{source={_quoted(source)}{more}}} {number}"


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
