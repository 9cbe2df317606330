"""Which pages are a section's: every page has exactly one, whatever lists it and however it is spelled."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmsspider.crawl.sections import SectionJob, open_sections, place, sizes, split
from llmsspider.store import SourceRecord, Stores

E = "https://e.com"


def urls(*paths: str) -> list[str]:
    return [f"{E}/{path}" for path in paths]


@pytest.mark.parametrize(
    ("pages", "size", "starts", "numbers"),
    [
        ([], 3, [""], {}),
        (urls("a", "b", "c"), 3, [""], {1: 3}),
        (urls("a", "b", "c"), 0, [""], {1: 3}),
        (urls("a/1", "a/2", "a/3", "b/1"), 3, ["", "e.com/b/"], {1: 3, 2: 1}),
        (urls("a/1", "a/2", "a/3", "b/1", "b/2"), 4, ["", "e.com/b/"], {1: 3, 2: 2}),
        (urls("a/1", "b/1", "b/2", "b/3", "b/4"), 4, ["", "e.com/b/4/"], {1: 4, 2: 1}),
        (urls(*"abcde"), 2, ["", "e.com/c/", "e.com/e/"], {1: 2, 2: 2, 3: 1}),
        (urls("w?t=a", "w?t=b", "w?t=c"), 2, ["", "e.com/w/?t=c"], {1: 2, 2: 1}),
        (["https://a.com/1", "https://b.com/1"], 1, ["", "b.com/"], {1: 1, 2: 1}),
        (urls("a", "a/", "a.html", "a.md", "a/index.html", "b"), 1, ["", "e.com/b/"], {1: 1, 2: 1}),
    ],
    ids=[
        "none", "few", "no bound", "at the bound", "where a directory ends", "none ends near", "a flat directory",
        "queries", "hosts", "spellings",
    ],
)  # fmt: skip
def test_a_source_is_cut(pages: list[str], size: int, starts: list[str], numbers: dict[int, int]):
    assert split(pages, size) == starts
    assert dict(sizes(pages, starts)) == numbers


PATHS = st.lists(st.text("ab/?.", max_size=8), max_size=40)


@given(PATHS, st.integers(1, 6), st.text("ab/?.z", max_size=8))
def test_sections_are_of_bounded_size_and_cover_everything(paths: list[str], size: int, other: str):
    pages = urls(*paths)
    starts = split(pages, size)
    assert starts == sorted(set(starts))
    assert sum(sizes(pages, starts).values()) == len({place(page) for page in pages})
    assert max(sizes(pages, starts).values(), default=0) <= size
    job = SectionJob("n/1", {"night": "n", "starts": starts})
    assert 1 <= job.owner(f"{E}/{other}") <= len(starts)


@pytest.mark.parametrize(
    ("job", "known", "leaves"),
    [
        ("n/1", True, [False, True]),
        ("n/2", True, [True, False]),
        ("n/3", False, None),
        ("n/plan", True, [False, False]),
        ("n/end", True, [False, False]),
        ("other/1", False, None),
        ("", False, [False, False]),
    ],
)
def test_a_job_leaves_the_pages_of_other_sections(job: str, known: bool, leaves: list[bool] | None):
    made = SectionJob(job, {"night": "n", "starts": ["", "e.com/b/"]})
    assert made.is_known == known
    if leaves is not None:
        assert [made.leaves(url) for url in urls("a/1", "b/1")] == leaves


def test_the_end_leaves_the_pages_of_sections_that_failed():
    made = SectionJob("n/end", {"night": "n", "starts": ["", "e.com/b/"]})
    made.failed = {2}
    assert [made.leaves(url) for url in urls("a/1", "b/1")] == [False, True]


def test_a_section_is_open_until_a_whole_run_of_it_took_all_that_was_handed_over(tmp_path: Path):
    def run(job: str, *handed: str, taken: int = 0, whole: bool = True) -> set[int]:
        store.begin_run("crawl", {"section": f"n/{job}"})
        for url in handed:
            store.record_filtered(url, "other-section", "1 https://e.com/")
        store.record_filtered(f"{E}/b/other", "out-of-scope", "elsewhere")
        counts = {"whole": whole, "taken": taken}
        store.finish_run("finished", complete=False, why="a section", counts=counts)
        return open_sections(store, "n")

    with Stores(None, tmp_path).open("s") as store:
        store.upsert_source(
            SourceRecord("s", E, discovery={"sections": {"night": "n", "starts": ["", "e.com/b/"]}})
        )
        assert run("1", f"{E}/b/1") == {2}
        assert run("2", taken=1, whole=False) == {2}
        assert run("2", f"{E}/a/1", taken=1) == {1}
        assert run("1", f"{E}/b/2", taken=1) == {2}
        assert run("2", taken=2) == set()
        assert open_sections(store, "another night") == set()
