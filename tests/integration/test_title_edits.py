"""An edit of a title is told, also in the night in which the page takes another form."""

from __future__ import annotations

import pytest
from site_server import Reply
from sites import html

TEXT = "The body of the page stays as it is, in each of its forms, and says what beta is."
OLD = "Does code return beta?"
NEW = "Do you expect beta?"


def pages(title: str, *, html_title: str, twins: bool) -> dict:
    links = "".join(f"<a href='/d/p{number}'>{number}</a>" for number in range(4))
    found: dict = {"/d/": html("Home", f"<p>All of it.</p>{links}")}
    for number in range(4):
        own, shown = (title, html_title) if number == 2 else (f"Page {number}", f"Page {number}")
        found[f"/d/p{number}"] = html(shown, f"<p>{TEXT} {number}</p>")
        if twins:
            text = f"# {own}\n\n{TEXT} {number}\n"
            found[f"/d/p{number}.md"] = Reply(text, content_type="text/markdown")
    return found


@pytest.mark.parametrize(
    ("html_title", "change"), [(NEW, "changed"), (OLD, "unchanged")], ids=["edited", "of its form"]
)
def test_a_title_that_is_edited_while_markdown_appears(serve, run_crawl, html_title, change):
    site = serve(pages(OLD, html_title=OLD, twins=False))
    run_crawl(f"{site.url}/d/")
    site.pages = pages(NEW, html_title=html_title, twins=True)
    second = run_crawl(f"{site.url}/d/").by_path(site.url)
    assert {path: page["change"] for path, page in second.items()} == {
        **dict.fromkeys(second, "unchanged"),
        "/d/p2": change,
    }
    assert (second["/d/p2"]["title"] == NEW) is (change == "changed")
    third = run_crawl(f"{site.url}/d/").by_path(site.url)
    assert {page["change"] for page in third.values()} == {"unchanged"}
