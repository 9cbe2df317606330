"""Whether a run handed over what it stored, and from which number to replay."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from llmsspider.extensions.run_summary import delivered
from llmsspider.store import RunRecord
from llmsspider.store.runs import undelivered_since


@pytest.mark.parametrize(
    ("stats", "options", "expected"),
    [
        pytest.param({}, {"feeds": False, "active": True}, None, id="no output is configured"),
        pytest.param(
            {"feedexport/success_count/FileFeedStorage": 1},
            {"feeds": True, "active": True},
            True,
            id="stored",
        ),
        pytest.param(
            {"feedexport/success_count/A": 1, "feedexport/failed_count/B": 1},
            {"feeds": True, "active": True},
            False,
            id="one of two failed",
        ),
        pytest.param(
            {}, {"feeds": True, "active": False}, False, id="the feed exporter switched itself off"
        ),
        pytest.param(
            {},
            {"feeds": True, "active": True, "undelivered": ["x"]},
            False,
            id="an output was put aside",
        ),
        pytest.param({}, {"feeds": True, "active": True}, True, id="nothing to deliver"),
    ],
)
def test_delivered(stats, options, expected):
    assert delivered(stats, **options) is expected


def run(number: int, seq_before: int, **fields) -> RunRecord:
    at = datetime(2026, 11, number, tzinfo=UTC)
    given = {"complete": True, "finished_at": at, "counts": {"delivered": True}}
    return RunRecord(
        id=f"run-{number}",
        number=number,
        source="s",
        kind="crawl",
        pid=1,
        host="h",
        started_at=at,
        heartbeat_at=at,
        seq_before=seq_before,
        **{"arguments": {}, **given, **fields},
    )


FAILED = {"counts": {"delivered": False}}
LOST = {"counts": {}, "lost": True, "finished_at": None, "complete": False}
CHANGES = {"arguments": {"emit": "changes"}}


@pytest.mark.parametrize(
    ("runs", "last_seq", "expected"),
    [
        pytest.param([], 0, None, id="never crawled"),
        pytest.param([run(1, 0)], 9, None, id="delivered"),
        pytest.param([run(1, 0, counts={"delivered": None})], 9, None, id="no output"),
        pytest.param([run(1, 0, counts={})], 9, None, id="of an older version, or still going"),
        pytest.param([run(1, 0), run(2, 9, **FAILED)], 12, 9, id="the last one failed"),
        pytest.param([run(1, 0), run(2, 9, **FAILED)], 9, None, id="it had changed nothing"),
        pytest.param([run(1, 0), run(2, 9, **LOST)], 12, 9, id="the last one was killed"),
        pytest.param(
            [run(1, 0, **FAILED), run(2, 9, **FAILED)], 12, 0, id="two failed: from the first on"
        ),
        pytest.param(
            [run(1, 0, **FAILED), run(2, 9)], 12, None, id="a complete set later makes up for it"
        ),
        pytest.param(
            [run(1, 0, **FAILED), run(2, 9, **CHANGES)],
            12,
            0,
            id="a feed of changes later does not",
        ),
        pytest.param(
            [run(1, 0, **FAILED), run(2, 9, complete=False)], 12, 0, id="nor does an incomplete set"
        ),
        pytest.param([run(1, 0, counts={"delivered": "replayed"})], 9, None, id="replayed"),
        pytest.param(
            [run(1, 0, **LOST | {"counts": {"delivered": "replayed"}})],
            9,
            None,
            id="killed, then replayed",
        ),
    ],
)
def test_what_was_not_delivered_is_found_again(runs, last_seq, expected):
    assert undelivered_since(runs, last_seq) == expected
