"""Lines that a page says otherwise each time: which are known to, and when a page is asked again."""

from __future__ import annotations

import json

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.varying_lines import (
    FEW_PAGES,
    MAX_ASKED,
    MAX_CHARACTERS,
    MAX_IN_VAIN,
    MAX_LINES,
    MAX_STORED,
    VaryingLines,
    differing,
)

SEEN = [("Seen 7 times", "Seen 9 times")]
TIP = [("Tip: use it", "Tip: be brief")]
EDITED = [("Run it now", "Do not run it")]
COUNTED = [("7 views", "9 views")]


def varying(lines: list[tuple[str, str]], pages: int = FEW_PAGES) -> VaryingLines:
    learned = VaryingLines()
    for _ in range(pages):
        learned.downloaded_again(lines)
    return learned


def again(first: VaryingLines) -> VaryingLines:
    later = VaryingLines()
    later.remember(json.loads(json.dumps(first.keep(End()))))
    return later


@pytest.mark.parametrize("lines", [SEEN, TIP])
def test_lines_of_a_few_pages_are_known_to_vary(lines):
    assert varying(lines).are_known(lines)
    assert not varying(lines, FEW_PAGES - 1).are_known(lines)
    assert not varying(lines).are_known([*lines, *EDITED]), "each line has to"


def test_an_edited_line_has_nothing_that_others_could_have():
    assert not varying(EDITED).are_known(EDITED)


def test_a_changed_page_shows_lines_that_say_what_they_count():
    learned = VaryingLines()
    for _ in range(FEW_PAGES):
        learned.changed(COUNTED)
        learned.changed(TIP)
    assert learned.are_known(COUNTED)
    assert not learned.are_known(TIP), "a line may really have been edited"


def test_pages_are_asked_again_while_that_shows_something():
    assert varying([], MAX_IN_VAIN - 1).may_ask
    assert not varying([], MAX_IN_VAIN).may_ask
    assert varying(SEEN, MAX_ASKED - 1).may_ask
    assert not varying(SEEN, MAX_ASKED).may_ask


def test_the_next_run_knows_the_lines_of_enough_pages():
    assert again(varying(SEEN)).are_known(SEEN)
    assert again(varying(SEEN, FEW_PAGES - 1)).keep(End()) == []
    many = VaryingLines()
    many.remember([f"line {'x' * number}" for number in range(MAX_STORED + 1)])
    assert len(many.keep(End())) == MAX_STORED


@pytest.mark.parametrize("kept", [None, "Seen … times", {"Seen … times": 3}])
def test_what_cannot_be_read_is_nothing(kept):
    learned = VaryingLines()
    learned.remember(kept)
    assert not learned.are_known(SEEN)


def test_two_texts_differ_in_a_few_short_lines_or_are_editions():
    few = [str(number) for number in range(MAX_LINES)]
    others = [f"other {number}" for number in few]
    assert differing("\n".join(few), "\n".join(others)) == list(zip(few, others, strict=True))
    assert differing("\n".join([*few, "a"]), "\n".join([*others, "b"])) == []
    assert differing("a", "a\nb") == []
    assert differing("a", "b" * MAX_CHARACTERS) == [("a", "b" * MAX_CHARACTERS)]
    assert differing("a", "b" * (MAX_CHARACTERS + 1)) == []
