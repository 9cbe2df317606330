"""One odd night overwrites no text: many pages that become each other, or leave their words, wait for the second night."""

from __future__ import annotations

import random
from itertools import cycle

import pytest
from site_server import Reply
from sites import html

NUMBERS = range(20)
VOCABULARY = [
    f"{first}{last}" for first in "bdfgklmnprst" for last in ("arem", "osil", "unat", "evor")
]


def words(seed: object, number: int = 60) -> str:
    return " ".join(random.Random(str(seed)).sample(VOCABULARY * 2, number))


def text(number: int) -> tuple[str, str]:
    """The title and the text of a page: each has words of its own."""
    own = [f"{word}{chr(97 + number)}" for word in words(number).split()]
    return f"All of {own[0]} and {own[1]}", f"{' '.join(own)} Größe"


def wrongly_decoded(number: int) -> tuple[str, str]:
    title, body = text(number)
    return title, body.encode().decode("latin-1")


def wall(number: int, kept: bool) -> tuple[str, str]:
    ticket = words(f"ticket {number}", 6)
    title = text(number)[0] if kept else "A short break"
    return title, f"{words('wall', 80)}. Your ticket: {ticket}."


def other_language(number: int) -> tuple[str, str]:
    own = [f"ü{word}{chr(97 + number)}" for word in words(f"other {number}").split()]
    return f"Über {own[0]}", " ".join(own)


ODD = {
    "a long wall that keeps titles": lambda number: wall(number, True),
    "a long wall": lambda number: wall(number, False),
    "the next page's text below the title": lambda number: (
        text(number)[0],
        text((number + 1) % 20)[1],
    ),
    "the next page": lambda number: text((number + 1) % 20),
    "another language": other_language,
    "letters that are wrongly decoded": wrongly_decoded,
    "an error within the text": lambda number: (
        text(number)[0],
        f"{text(number)[1][:200]}</p>\n\n<p>Fatal error: out of memory in page.php on line {number}",
    ),
    "half of the text": lambda number: (text(number)[0], text(number)[1][:200]),
}
FORMS = ["HTML", "Markdown", "full text"]


def pages(form: str, said: dict[int, tuple[str, str]]) -> dict:
    paths = {number: f"/docs/p{number}" for number in NUMBERS}
    links = "".join(f"<a href='{path}'>{path}</a>" for path in paths.values())
    found: dict = {"/docs/": html("Home", f"<p>Welcome to it.</p>{links}")}
    full = ""
    for number, (title, body) in said.items():
        path = paths[number]
        found[path] = html(title, f"<p>{body}</p><a href='/docs/'>home</a>")
        markdown = f"# {title}\n\n{body}\n\n[home](/docs/)\n"
        if form == "Markdown":
            found[f"{path}.md"] = Reply(markdown, content_type="text/markdown")
        full += f"# {title}\n\nSource: {{base}}{path}\n\n{body}\n\n"
    if form == "full text":
        found["/docs/llms-full.txt"] = full
    return found


EACH = [
    *((odd, form, range(20)) for odd, form in zip(ODD, cycle(FORMS), strict=False)),
    *(
        (odd, form, range(4, 8))
        for odd, form in zip(ODD, cycle(FORMS[1:] + FORMS[:1]), strict=False)
    ),
]
"""All pages in one form and four of them in the next: what they say, and how many, is judged the same in each form."""

RIGHT = {number: text(number) for number in NUMBERS}


def first_night(site, run_crawl, form):
    site.pages = pages(form, RIGHT)
    first = run_crawl(f"{site.url}/docs/").by_path(site.url)
    assert len(first) == 21
    return first


@pytest.mark.parametrize(("odd", "form", "behind"), EACH)
def test_one_odd_night_overwrites_nothing(begun, run_crawl, odd, form, behind):
    site, first = begun(first_night, form)
    site.pages = pages(form, {**RIGHT, **{number: ODD[odd](number) for number in behind}})
    night = run_crawl(f"{site.url}/docs/")
    found = night.by_path(site.url)
    assert {path: one["content"] for path, one in found.items()} == {
        path: one["content"] for path, one in first.items()
    }
    assert night.stats["llms/errors/http"] == len(behind)
    site.pages = pages(form, RIGHT)
    after = run_crawl(f"{site.url}/docs/").by_path(site.url)
    assert {one["change"] for one in after.values()} == {"unchanged"}


def test_a_wall_in_place_of_a_short_start_page_overwrites_nothing(begun, run_crawl):
    site, first = begun(first_night, "HTML")
    title, body = wall(1, kept=False)
    site.pages = {**pages("HTML", RIGHT), "/docs/": html(title, f"<p>{body}</p>")}
    night = run_crawl(f"{site.url}/docs/").by_path(site.url)
    assert night["/docs/"]["content"] == first["/docs/"]["content"]
    site.pages = pages("HTML", RIGHT)
    after = run_crawl(f"{site.url}/docs/")
    assert {one["change"] for one in after.documents} == {"unchanged"}
    assert "llms/errors/http" not in after.stats


@pytest.mark.parametrize("form", FORMS)
def test_a_translation_arrives_whole_in_the_second_night(begun, run_crawl, form):
    site, _ = begun(first_night, form)
    site.pages = pages(form, {number: other_language(number) for number in NUMBERS})
    run_crawl(f"{site.url}/docs/")
    second = run_crawl(f"{site.url}/docs/").by_path(site.url)
    assert [one["change"] for one in second.values()].count("changed") == 20


def test_a_few_pages_that_are_rewritten_are_told_at_once(begun, run_crawl):
    site, _ = begun(first_night, "HTML")
    said = {number: (text(number)[0], other_language(number)[1]) for number in range(5)}
    site.pages = pages("HTML", {**RIGHT, **said})
    night = run_crawl(f"{site.url}/docs/").by_path(site.url)
    changed = {path for path, one in night.items() if one["change"] == "changed"}
    assert changed == {f"/docs/p{number}" for number in range(5)}
