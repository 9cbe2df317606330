"""The state of a run as OpenMetrics text; gauges alone, which Prometheus' older format has as well."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import get_args

from llmsspider.errors import ErrorKind
from llmsspider.output.status import RunStatus

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def metrics(snapshot: RunStatus, source: str, oldest_check: str | None = None) -> str:
    """Return the metrics of a run; `oldest_check` is when the page was requested that was requested
    longest ago.
    """
    failed = dict.fromkeys(get_args(ErrorKind), 0) | snapshot.errors.by_kind
    lines = [
        *_gauge(
            "documents",
            "Documents of the run, by what changed.",
            source,
            snapshot.changes,
            "change",
        ),
        *_gauge(
            "pages_done", "Pages of which it is known what became of them.", source, snapshot.done
        ),
        *_gauge("pages_queued", "Pages that wait.", source, snapshot.queued),
        *_gauge("errors", "Pages that failed, by the kind of error.", source, failed, "kind"),
        *_gauge(
            "filtered",
            "URLs that were filtered, by reason.",
            source,
            snapshot.filtered.by_reason,
            "reason",
        ),
        *_gauge("requests", "Requests of the run, of any kind.", source, snapshot.requests),
        *_gauge("received_bytes", "Bytes of bodies as they were sent.", source, snapshot.bytes),
        *_gauge(
            "duration_seconds", "Time that the run took so far.", source, snapshot.elapsed_secs
        ),
        *_gauge(
            "complete",
            "1 where the run saw the whole source, else 0.",
            source,
            int(snapshot.complete),
        ),
    ]
    for name, meaning, moment in (
        ("started", "When the run began.", snapshot.started),
        ("finished", "When the run ended.", snapshot.finished),
        (
            "oldest_check",
            "When the page that was requested longest ago was requested.",
            oldest_check,
        ),
    ):
        if moment:
            at = int(datetime.fromisoformat(moment).timestamp())
            lines += _gauge(f"{name}_timestamp_seconds", meaning, source, at)
    return "\n".join([*lines, "# EOF\n"])


def _gauge(
    name: str, meaning: str, source: str, values: Mapping[str, float] | float, label: str = ""
) -> Iterator[str]:
    """Yield the lines of a metric: one sample, or one for each value of a label."""
    yield f"# TYPE llmsspider_{name} gauge"
    yield f"# HELP llmsspider_{name} {meaning}"
    for value, number in values.items() if isinstance(values, Mapping) else [("", values)]:
        more = f",{label}={_quoted(value)}" if label else ""
        yield f"llmsspider_{name}{{source={_quoted(source)}{more}}} {number}"


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
