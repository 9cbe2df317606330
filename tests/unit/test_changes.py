"""Two contents of a page in words: blocks, words inside of them, noise that earlier contents prove."""

from __future__ import annotations

import pytest

from llmsspider.content.links import without_built_names, without_own_versions
from llmsspider.diff.compare import blocks, compare, compare_words, mask
from llmsspider.diff.kinds import change_kinds
from llmsspider.diff.noise import evidence, remove_noise, volatile_lines
from llmsspider.diff.noise import noise_of as noise_of_pages

PAGE = """# Client

Connects to a server.

## Options

- `timeout` is 10 seconds
- `retries` is 3

  More on retries.

```python
client = Client("host", timeout=10)
client.run()
```

| name | default |
|---|---|
| wait | 1 |

> Note: call `close()`.
"""


def hunks(before: str, after: str):
    return compare(blocks(before), blocks(after))[0]


def test_a_page_is_its_blocks_below_their_headings():
    found = [(block.kind, block.info, block.text, block.headings) for block in blocks(PAGE)]
    options = ("Client", "Options")
    assert found == [
        ("heading", "1", "Client", ()),
        ("text", "", "Connects to a server.", ("Client",)),
        ("heading", "2", "Options", ("Client",)),
        ("text", "", "`timeout` is 10 seconds", options),
        ("text", "", "`retries` is 3", options),
        ("text", "", "More on retries.", options),
        ("code", "python", 'client = Client("host", timeout=10)\nclient.run()', options),
        ("table", "", "| name | default |\n|---|---|\n| wait | 1 |", options),
        ("text", "", "Note: call `close()`.", options),
    ]


def test_tight_items_and_headings_of_every_form_are_blocks():
    text = "Title\n=====\n\n- one *x*\n  - two\n- three `c`\n\n## Closed ##\n\n    code\n"
    assert [(block.kind, block.text) for block in blocks(text)] == [
        ("heading", "Title"),
        ("text", "one *x*"),
        ("text", "two"),
        ("text", "three `c`"),
        ("heading", "Closed"),
        ("code", "code"),
    ]


def test_text_that_changed_is_told_by_words_below_its_headings():
    (hunk,) = hunks(PAGE, PAGE.replace("is 10 seconds", "is 20 seconds"))
    assert (hunk.change, hunk.headings) == ("changed", ("Client", "Options"))
    assert hunk.words == (
        ("equal", "`timeout` is "),
        ("delete", "10"),
        ("insert", "20"),
        ("equal", " seconds"),
    )


def test_code_and_tables_are_told_as_wholes():
    code, table = hunks(
        PAGE, PAGE.replace("timeout=10", "timeout=20").replace("| wait | 1 |", "| wait | 2 |")
    )
    assert code.lines == (
        "@@ -1,2 +1,2 @@",
        '-client = Client("host", timeout=10)',
        '+client = Client("host", timeout=20)',
        " client.run()",
    )
    assert not code.words
    assert [line for line in table.lines if line[0] in "+-"] == ["-| wait | 1 |", "+| wait | 2 |"]


def test_blocks_that_come_and_go_are_told_whole():
    after = PAGE.replace(
        "Connects to a server.\n", "Connects to a server.\n\nNever waits.\n"
    ).replace("- `retries` is 3\n\n  More on retries.\n", "")
    assert [(hunk.change, hunk.before or hunk.after) for hunk in hunks(PAGE, after)] == [
        ("added", "Never waits."),
        ("removed", "`retries` is 3"),
        ("removed", "More on retries."),
    ]


def test_a_heading_that_is_renamed_changes_nothing_below_it():
    (hunk,) = hunks(PAGE, PAGE.replace("## Options", "## All options"))
    assert (hunk.kind, hunk.before, hunk.after) == ("heading", "Options", "All options")


def test_blocks_that_stand_elsewhere_are_counted_and_not_told():
    one, two = "First paragraph here.\n\n", "Another thing said there.\n\n"
    compared = compare(blocks(one + two * 2), blocks(two * 2 + one))
    assert compared == ([], 1)


def test_text_that_has_nothing_in_common_came_and_went():
    found = hunks("Alpha beta gamma delta.\n", "Completely different words here.\n")
    assert [hunk.change for hunk in found] == ["removed", "added"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a", ""),
        ("", "a b"),
        ("a  b\nc", "a b c"),
        ("x" * 10_000, "y" * 10_000),
        ("日本 語", "日本 話"),
        ("The cat. " * 5000, "The dog. " * 5000),
    ],
)
def test_words_give_both_texts_back(before: str, after: str):
    pieces = compare_words(before, after)
    assert "".join(piece for op, piece in pieces if op != "insert") == before
    assert "".join(piece for op, piece in pieces if op != "delete") == after


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Last updated on Nov 21, 2026", "Last updated on Dec 2, 2026"),
        ("Build 4711 (3f2a9c1d)", "Build 4712 (77aa01bc)"),
        ("Updated 3 days ago", "Updated yesterday"),
        ("1,204 stars", "1,311 stars"),
        ("Generated Sat, 21 Nov 2026 10:11:12 GMT", "Generated Sun, 22 Nov 2026 09:01:02 GMT"),
        ("v2.3.1-build77", "v2.4.0-build78"),
    ],
)
def test_dates_builds_and_counters_have_one_mask(one: str, other: str):
    assert mask(one) == mask(other) != one


def test_words_are_no_noise():
    assert mask("May I use the decade facade?") == "May I use the decade facade?"
    (hunk,) = hunks("It takes ten seconds on average.", "It takes two seconds on average.")
    assert volatile_lines(hunk) == []


def news_of(*contents: str) -> list[str]:
    """What is told of the last of several contents: the lines of one hunk that came, if any."""
    read = [blocks(content) for content in contents]
    (hunk,), _ = compare(read[-2], read[-1])
    proof = evidence(read)
    rest = remove_noise(hunk, [line for line in volatile_lines(hunk) if proof.proves(line)])
    if rest is None:
        return []
    return [line[1:] for line in rest.lines if line[0] == "+"] if rest.is_whole else [rest.after]


def noise_of(*contents: str) -> bool:
    return not news_of(*contents)


def test_a_label_needs_one_earlier_change():
    assert not noise_of("Last updated 2026-11-20", "Last updated 2026-11-21")
    assert noise_of("Last updated 2026-11-19", "Last updated 2026-11-20", "Last updated 2026-11-21")


def test_a_plain_number_needs_to_change_every_time():
    assert not noise_of("Limit: 10 files", "Limit: 20 files", "Limit: 30 files")
    assert noise_of("Seen 10 times", "Seen 20 times", "Seen 30 times", "Seen 40 times")
    assert not noise_of("Limit: 10", "Limit: 20", "Limit: 30", "Limit: 30", "Limit: 40")


TABLE = """| Page | Last change | Limit | Release |
|---|---|---|---|
| Home | {day} Nov 2026 | 5 | 1.{minor}.0 |
| Guide | {day} Nov 2026 | {limit} | 1.2.0 |
"""


def table(day: int, limit: int = 1, minor: int = 4) -> str:
    return TABLE.format(day=day, limit=limit, minor=minor)


def test_dates_in_cells_are_noise_from_their_second_change_on():
    assert news_of(table(19), table(20)) == [*table(20).splitlines()[2:]]
    assert noise_of(table(19), table(20), table(21))
    assert noise_of(table(8), table(9), table(10)), "a wider cell"


def test_a_cell_that_changed_is_told_without_the_dates_of_other_rows():
    (row,) = news_of(table(19), table(20), table(21, limit=2))
    assert row == "| Guide | 21 Nov 2026 | 2 | 1.2.0 |"


def test_the_release_in_a_cell_is_news_each_time():
    contents = [table(1, minor=minor) for minor in range(1, 6)]
    assert news_of(*contents) == ["| Home | 1 Nov 2026 | 5 | 1.5.0 |"]


@pytest.mark.parametrize(
    "cells",
    [
        "| Project | Stars |\n|---|---|\n| tool | {} |",
        "| What | Value |\n|---|---|\n| Build | {} |",
        "| Size |\n|---|\n| {} |\n\n",
    ],
    ids=["the head says so", "the row says so", "it changes every time"],
)
def test_counters_in_cells_are_noise(cells: str):
    assert noise_of(*(cells.format(number) for number in (100, 200, 300, 400)))
    assert not noise_of(*(cells.format(number) for number in (100, 200)))


def test_a_value_beside_a_date_is_told_though_the_date_changes_every_time():
    contents = [table(day) for day in range(10, 15)]
    assert news_of(*contents, table(15, limit=2)) == ["| Guide | 15 Nov 2026 | 2 | 1.2.0 |"]
    lines = [
        f"Limit {limit}, updated 2026-11-{day}"
        for day, limit in ((1, 5), (2, 5), (3, 5), (4, 5), (5, 6))
    ]
    assert noise_of(*lines[:4])
    assert news_of(*lines) == [lines[-1]]


def test_a_row_that_is_added_is_told_beside_the_dates_of_the_others():
    added = table(21) + "| New | 21 Nov 2026 | 7 | 1.2.0 |\n"
    assert news_of(table(19), table(20), added) == ["| New | 21 Nov 2026 | 7 | 1.2.0 |"]


CODE = (
    "```console\n$ tool --version\ntool {}\nbuilt 2026-11-{} in {} ms at 0x7f{}\nlimit = 3\n```\n"
)


def test_lines_of_code_that_are_made_anew_each_time_are_noise():
    contents = [CODE.format("1.2.0", day, day * 7, f"{day:08x}") for day in (18, 19, 20, 21)]
    assert noise_of(*contents)
    assert news_of(*contents[:3], contents[3].replace("= 3", "= 4")) == ["limit = 4"]


def test_the_version_of_a_release_in_code_is_news_each_time_and_a_nightly_build_is_not():
    releases = [f"```\npip install tool==1.{minor}\n```" for minor in range(5)]
    assert news_of(*releases) == ["pip install tool==1.4"]
    nightly = [f"```\npip install tool==1.2.0.dev{number}\n```" for number in range(5)]
    assert noise_of(*nightly)


def test_a_default_in_code_that_changed_now_and_then_is_news():
    waits = [f"```python\nrun(wait={seconds})\n```" for seconds in (1, 2, 2, 3, 4)]
    assert news_of(*waits) == ["run(wait=4)"]


def test_a_label_that_changes_on_three_pages_at_once_is_noise_on_each():
    lines = [
        line
        for hunk in hunks("Built 2026-11-20", "Built 2026-11-21")
        for line in volatile_lines(hunk)
    ]
    unproven = evidence([])
    assert noise_of_pages([(unproven, lines)] * 2) == [set(), set()]
    assert noise_of_pages([(unproven, lines)] * 3) == [set(lines)] * 3


def test_a_block_of_nothing_but_dates_is_one_that_changed():
    (hunk,) = hunks("Nov 21, 2026\n", "Dec 2, 2026\n")
    assert hunk.change == "changed"


KINDS = {
    "a word": ("Wait ten seconds.", "Wait 20 seconds.", ["text"]),
    "code inside of text": ("Call `a()`.", "Call `b()`.", ["text"]),
    "a block of code": ("```py\nx = 1\n```", "```py\nx = 2\n```", ["code"]),
    "the level of a heading": ("# A\n\n## B", "# A\n\n### B", ["structure"]),
    "a mark": ("Call a.", "Call `a`.", ["structure"]),
    "a list in place of lines": ("One\n\nTwo", "- One\n- Two", ["structure"]),
    "one fence in place of two": ("```\na\n```\n\n```\nb\n```", "```\na\nb\n```", ["structure"]),
    "white space": ("One  two", "One two", ["structure"]),
    "where a link leads": ("[a](/b)", "[a](/c)", ["addresses"]),
    "a picture that is named like its file": ("![a.png](/a.png)", "![b.png](/b.png)", ["addresses"]),
    "what a picture shows": ("![A dog](/a.png)", "![A cat](/a.png)", ["text"]),
    "all of it": ("# A\n\n[a](/b)\n\n    c", "## B\n\n[a](/c)\n\n    d", ["text", "code", "structure", "addresses"]),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), KINDS.values(), ids=KINDS)
def test_kinds_of_change(before, after, expected):
    assert change_kinds(before, after) == expected


SHA = "30f8c1d2" * 8
BUILT = {
    "hex": ("![p](/_images/{}.png)", "30f8c1d2", "9b11d0e7", True),
    "a picture named like its file": (
        f"![\\_images/{{}}.png](/_images/{SHA}.png)",
        SHA,
        SHA[::-1],
        True,
    ),
    "before the extension": ("![p](/assets/logo-{}.webp)", "BQx3dK9z", "Da0_Xk1q", True),
    "a folder": ("[script](/_downloads/{}/plot.py)", "0a1b2c3d4e5f6071", "9a1b2c3d4e5f6071", True),
    "source at a commit": (
        "[source](https://git.example/blob/{}/a.py#L1)",
        "0f3a2c1",
        "9f3a2c1",
        True,
    ),
    "a query": ("![p](/a.png?v={})", "1", "2", True),
    "an attribute": ("<img src='/{}.png'>", "30f8c1d2", "9b11d0e7", True),
    "another picture": ("![p](/step-{}.png)", "1", "2", False),
    "another picture with a long name": ("![p](/UserGuide{}.png)", "1", "2", False),
    "a page": ("[p](/commit/{})", "30f8c1d2", "9b11d0e7", False),
    "a page with its extension": ("[p](/{}.html)", "30f8c1d2", "9b11d0e7", False),
    "the query of a picture service": ("![p](/image?url={})", "a.png", "b.png", False),
    "text": ("Release {}", "30f8c1d2", "9b11d0e7", False),
}


@pytest.mark.parametrize(("text", "before", "after", "is_same"), BUILT.values(), ids=BUILT)
def test_names_of_built_files(text, before, after, is_same):
    one, other = (without_built_names(text.format(name)) for name in (before, after))
    assert (one == other) is is_same


@pytest.mark.parametrize(
    ("text", "is_alias"),
    [
        pytest.param("[a](https://e.com/kit/{}/a)", True, id="link"),
        pytest.param("[a](https://e.com/kit/{})", True, id="home of the version"),
        pytest.param("[a](https://e.com/v{}.x/a)", True, id="a series"),
        pytest.param("[a](https://e.com/{}-dev/a)", True, id="before a release"),
        pytest.param("<https://e.com/release-{}/a>", True, id="plain address"),
        pytest.param("[a]: https://e.com/{}/a", True, id="definition"),
        pytest.param("[a](https://other.org/{}/a)", False, id="another host"),
        pytest.param("[Kit {}](https://e.com/a)", False, id="text"),
        pytest.param("[a](https://e.com/kit-{}.zip)", False, id="file"),
    ],
)
def test_a_version_alias_that_jumps_changes_no_page(text, is_alias):
    before, now = (without_own_versions(text.format(one), "e.com") for one in ("0.32", "0.33"))
    assert (before == now) is is_alias
