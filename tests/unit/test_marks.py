"""The byte strings that a page holds are told in one pass: the same as by searches one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.content.extraction.parsing import MARKS, marks_in, read_source

PIECES = st.sampled_from(
    [*MARKS, *(mark[:-1] for mark in MARKS), *(mark[1:] for mark in MARKS), b" ", b"x"]
)


@given(st.lists(PIECES, max_size=12))
def test_all_marks_are_found_however_they_overlap(pieces):
    text = b"".join(pieces)

    assert marks_in(text) == {mark for mark in MARKS if mark in text}


def test_a_name_that_is_not_looked_for_is_an_error():
    with pytest.raises(KeyError):
        read_source(b"<p>text", None).may_hold(b"no-such-mark")


def test_case_does_not_matter():
    assert read_source(b"<P ARIA-Hidden=true>", None).may_hold(b"aria-hidden")
    assert not read_source(b"<P ARIA-Hid=true>", None).may_hold(b"aria-hidden")
