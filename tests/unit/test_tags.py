"""Pages that others name as their tags: what becomes of them, and what is remembered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from llmsspider.crawler.learn.base import End
from llmsspider.crawler.learn.tags import MAX_TAGS, NAMED_AS_TAG, Tags
from llmsspider.crawler.settle import Drop, Publish, ReadPage, Wait
from llmsspider.items import PageMeta

TAG = "https://e.com/tags/a"
LISTING = PageMeta(lists_only=True)
NAMES_IT = ReadPage("https://e.com/page", PageMeta(tags=[TAG]))


def tags(*pages: ReadPage, verdict: object = Publish()) -> Tags:
    learned = Tags()
    for page in pages:
        learned.page_read(page, verdict)
    return learned


def site(*, can_wait: bool = True) -> SimpleNamespace:
    return SimpleNamespace(can_wait=lambda reason: can_wait and reason == "tag")


@pytest.mark.parametrize(
    ("page", "named", "by_itself", "early", "late"),
    [
        ({"meta": LISTING}, (NAMES_IT,), NAMED_AS_TAG, NAMED_AS_TAG, NAMED_AS_TAG),
        ({"meta": LISTING}, (), None, Wait("tag"), None),
        ({"meta": LISTING, "is_wanted": True}, (NAMES_IT,), None, None, None),
        ({"meta": PageMeta(lists_only=True, tags=[TAG])}, (), NAMED_AS_TAG, Wait("tag"), None),
        ({"meta": PageMeta(tags=[TAG])}, (NAMES_IT,), None, None, None),
    ],
    ids=[
        "a tag of another page",
        "it may be one",
        "somebody wants it",
        "its own tag",
        "a tag that has text",
    ],
)
def test_what_becomes_of_a_page(page, named, by_itself, early, late):
    learned, facts = tags(*named), ReadPage(TAG, **page)
    assert learned.by_itself(facts, site()) == by_itself
    assert learned.among_others(facts, site()) == early
    assert learned.among_others(facts, site(can_wait=False)) == late


@pytest.mark.parametrize(
    ("verdict", "is_learned"),
    [(Publish(), True), (Drop("listing", "r"), True), (Drop("canonical", "r"), False)],
)
def test_tags_count_unless_another_page_takes_the_place_of_the_one_that_names_them(
    verdict, is_learned
):
    assert tags(NAMES_IT, verdict=verdict).is_tag(TAG) is is_learned


def test_the_next_run_knows_them_and_no_more_than_so_many():
    many = ReadPage(
        "https://e.com/", PageMeta(tags=[f"{TAG}{number}" for number in range(MAX_TAGS + 5)])
    )
    kept, learned = tags(NAMES_IT, many).keep(End()), Tags()
    learned.remember([*kept, 7])
    assert learned.is_tag(TAG)
    assert len(kept) == MAX_TAGS
