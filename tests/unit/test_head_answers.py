"""What an answer to HEAD says, and whether it can be believed."""

from __future__ import annotations

import pytest

from llmsspider.downloadermiddlewares.revalidation import HeadAnswer, disagreement

DATE = "Mon, 02 Nov 2026 10:00:00 GMT"
LATER = "Tue, 03 Nov 2026 10:00:00 GMT"
ETAG = {"If-None-Match": '"a"'}
BOTH = {"If-None-Match": '"a"', "If-Modified-Since": DATE}

UNCHANGED = [
    ("304", HeadAnswer(304), ETAG, True),
    ("304 with the ETag", HeadAnswer(304, '"a"'), ETAG, True),
    ("304 with another ETag", HeadAnswer(304, '"b"'), ETAG, False),
    ("200 with the ETag", HeadAnswer(200, '"a"'), ETAG, True),
    ("200 with the ETag made weak", HeadAnswer.of(200, {"etag": 'W/"a"'}), ETAG, True),
    ("200 with another ETag", HeadAnswer(200, '"b"', DATE), BOTH, False),
    ("200 with the date, but without the ETag", HeadAnswer(200, None, DATE), BOTH, False),
    (
        "200 with the date, where there is no ETag",
        HeadAnswer(200, None, DATE),
        {"If-Modified-Since": DATE},
        True,
    ),
    ("200 with another date", HeadAnswer(200, None, LATER), {"If-Modified-Since": DATE}, False),
    ("200 with nothing", HeadAnswer(200), ETAG, False),
    ("405", HeadAnswer(405, '"a"'), ETAG, False),
    ("no answer", HeadAnswer(0), ETAG, False),
]

DISAGREEMENTS = [
    ("changed, both say so", HeadAnswer(200, '"b"'), HeadAnswer(200, '"b"'), False),
    (
        "changed, one ETag is weak",
        HeadAnswer.of(200, {"etag": 'W/"b"'}),
        HeadAnswer(200, '"b"'),
        False,
    ),
    ("changed, both without validators", HeadAnswer(200), HeadAnswer(200), False),
    ("gone, both say so", HeadAnswer(404), HeadAnswer(404), False),
    ("busy", HeadAnswer(503), HeadAnswer(200, '"a"'), False),
    ("GET says unchanged, HEAD another ETag", HeadAnswer(200, '"h"'), HeadAnswer(304, '"a"'), True),
    ("GET says unchanged, HEAD nothing", HeadAnswer(200), HeadAnswer(304), True),
    ("HEAD has another ETag than GET", HeadAnswer(200, '"h"'), HeadAnswer(200, '"b"'), True),
    ("HEAD has no validators", HeadAnswer(200), HeadAnswer(200, '"b"'), True),
    (
        "HEAD has another date than GET",
        HeadAnswer(200, None, DATE),
        HeadAnswer(200, None, LATER),
        True,
    ),
    ("405", HeadAnswer(405), HeadAnswer(304, '"a"'), True),
    ("404 to HEAD only", HeadAnswer(404), HeadAnswer(200, '"a"'), True),
    ("404 to GET only", HeadAnswer(200, '"b"'), HeadAnswer(404), True),
    ("304 that contradicts itself", HeadAnswer(304, '"b"'), HeadAnswer(200, '"b"'), True),
    ("HEAD is not answered", HeadAnswer(0), HeadAnswer(200, '"a"'), True),
]


@pytest.mark.parametrize(
    ("head", "sent", "expected"), [case[1:] for case in UNCHANGED], ids=[c[0] for c in UNCHANGED]
)
def test_what_says_that_nothing_changed(head, sent, expected):
    assert head.is_unchanged(sent) is expected


@pytest.mark.parametrize(
    ("head", "get", "expected"),
    [case[1:] for case in DISAGREEMENTS],
    ids=[c[0] for c in DISAGREEMENTS],
)
def test_a_head_that_says_other_than_get_is_told(head, get, expected):
    assert bool(disagreement(head, get)) is expected
