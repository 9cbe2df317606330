"""Documents cut into items that are small enough."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.extensions.item_parts import ItemTooLargeError, encoded_size, split_document
from llmsspider.items import Document, Link

DOCUMENT = asdict(
    Document(
        id="0" * 32,
        url="https://docs.example.com/",
        fetched_url="https://docs.example.com/",
        source="example",
        run="run",
        seq=1,
        title="Title",
        description=None,
        language="en",
        content="",
        content_hash="0" * 64,
        change="new",
        origin="html",
        discovered_by="start",
        depth=0,
    )
)
LIMIT = 2000


def link(number: int) -> dict[str, str]:
    return {"text": f"link {number}", "url": f"https://docs.example.com/{number}"}


def test_a_document_that_is_small_enough_stays_as_it_is():
    document = {**DOCUMENT, "content": "x" * 500}
    assert split_document(document, LIMIT) == [document]


def test_a_deleted_document_has_no_content_to_cut():
    document = {**DOCUMENT, "content": None}
    assert split_document(document, LIMIT) == [document]


@given(
    st.lists(st.text(st.sampled_from('a雨🙂"\\\n\u2028 é'), max_size=400), max_size=12),
    st.integers(min_value=0, max_value=60),
)
def test_parts_are_small_enough_and_joined_give_the_document(lines: list[str], links: int):
    document = {
        **DOCUMENT,
        "content": "\n".join(lines),
        "links": [link(number) for number in range(links)],
    }
    parts = split_document(document, LIMIT)
    assert all(len(json.dumps(part)) <= LIMIT for part in parts)
    assert "".join(part["content"] for part in parts) == document["content"]
    assert [each for part in parts for each in part["links"]] == document["links"]
    rest = {name for name in DOCUMENT if name not in {"content", "links"}}
    assert all(
        {name: part[name] for name in rest} == {name: DOCUMENT[name] for name in rest}
        for part in parts
    )
    if len(parts) > 1:
        assert [(part["part"], part["parts"]) for part in parts] == [
            (number, len(parts)) for number in range(1, len(parts) + 1)
        ]
    else:
        assert encoded_size(document) <= LIMIT


def test_lines_stay_whole_where_they_fit():
    lines = [f"line {number}\n" for number in range(400)]
    for part in split_document({**DOCUMENT, "content": "".join(lines)}, LIMIT):
        assert part["content"].startswith("line ")
        assert part["content"].endswith("\n")


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(ItemTooLargeError, match="fields other than content and links have 3"):
        split_document({**DOCUMENT, "title": "x" * 2500}, LIMIT)
    with pytest.raises(ItemTooLargeError, match="one of its links has 3"):
        split_document({**DOCUMENT, "links": [{"text": "x" * 3000, "url": ""}]}, LIMIT)


def test_a_link_is_the_same_on_the_other_side_of_a_process():
    link = Link("Text", "https://docs.example.com/a#b")
    assert pickle.loads(pickle.dumps([link])) == [link] == copy.deepcopy([link])
