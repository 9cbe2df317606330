"""Markdown that is another text than the page's is not believed."""

from __future__ import annotations

import pytest
from site_server import TYPES, Reply
from sites import html

NAMES = [f"p{number}" for number in range(5)]
HOME = html("Home", " ".join(f"<a href='/d/{name}'>x</a>" for name in NAMES))
PAGES = {f"/d/{name}": html(name.upper(), f"<p>The text of {name}.</p>") for name in NAMES}
LLMS_TXT = "# Site\n\n> What the site is about.\n\n## Docs\n\n"


def test_an_llms_file_is_no_page_s_markdown(serve, run_crawl):
    link = '<link rel="alternate" type="text/markdown" href="/llms.txt">'
    pages = {path: body.replace("</head>", f"{link}</head>") for path, body in PAGES.items()}
    listed = "".join(f"- [{name}]({{base}}/d/{name})\n" for name in NAMES)
    site = serve({"/": HOME, **pages, "/llms.txt": Reply(LLMS_TXT + listed, 200, TYPES["md"])})
    assert all(link in body for body in pages.values())
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert {path: found[path]["title"] for path in pages} == {
        f"/d/{name}": name.upper() for name in NAMES
    }


def test_markdown_that_says_that_there_is_no_page_is_none(serve, run_crawl):
    missing = Reply("# Page not found\n\nSee [all pages](/llms.txt).\n", 200, TYPES["md"])
    twins = {f"/d/{name}.md": missing for name in NAMES}
    twins |= {f"/d/{name}.md": f"# {name.upper()}\n\nThe text of {name}.\n" for name in NAMES[:2]}
    listed = "".join(f"- [{name}]({{base}}/d/{name}.md)\n" for name in NAMES[:2])
    site = serve({"/": HOME, **PAGES, **twins, "/llms.txt": LLMS_TXT + listed})
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert {path: found[path]["title"] for path in PAGES} == {
        f"/d/{name}": name.upper() for name in NAMES
    }


GUIDE = (
    "# For agents\n\nThe whole interface is described by one file in the usual format.\n\n"
    "Ask for it with the key that you find among your settings, and never more than once a day.\n"
)


def about(name: str) -> str:
    """The HTML of a page with two paragraphs that no other page has."""
    return html(
        name.upper(),
        f"<p>What {name} is good for stands here, in a sentence that {name} alone has.</p>"
        f"<p>How {name} is set up stands here, in words that no other page says of {name}.</p>",
    )


def by_accept(markdown: str | dict[str, str], path: str, page: str):
    text = markdown if isinstance(markdown, str) else markdown[path]
    given = Reply(text, 200, TYPES["md"])
    return lambda seen: given if "text/markdown" in seen.headers.get("accept", "") else page


def test_one_text_for_every_address_by_accept_is_no_page_s_markdown(serve, run_crawl):
    pages = {f"/d/{name}": about(name) for name in NAMES}
    pages = {path: by_accept(GUIDE, path, page) for path, page in pages.items()}
    site = serve({"/": HOME, **pages})
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert {path: found[path]["title"] for path in pages} == {
        f"/d/{name}": name.upper() for name in NAMES
    }


def test_markdown_is_believed_beside_one_notice_in_place_of_every_page(serve, run_crawl):
    texts = {
        f"/d/{name}": f"# {name.upper()}\n\nThe page {name} says a good deal about {name} alone.\n"
        f"\nIts second paragraph says of {name} what the first one did not.\n"
        for name in NAMES
    }
    notice = html(
        "Sign in",
        "<p>You have to be signed in to read the pages of this site in a browser.</p>"
        "<p>Whoever has no account yet may ask the administrator of the site for one.</p>",
    )
    pages = {path: by_accept(texts, path, notice) for path in texts}
    site = serve({"/": HOME, **pages})
    found = run_crawl(f"{site.url}/").by_path(site.url)
    right = [path for path in texts if found.get(path, {}).get("content") == texts[path]]
    assert len(right) >= len(texts) - 1


@pytest.mark.parametrize("twins", [False, True], ids=["no Markdown", "Markdown of some"])
@pytest.mark.parametrize(
    "notice", ["This does not exist.\n", "# Oops\n\nHere is nothing. Start again.\n", GUIDE * 3]
)
def test_markdown_of_any_address_makes_no_page_of_a_dead_link(serve, run_crawl, notice, twins):
    dead = " ".join(f"<a href='/d/gone{number}'>x</a>" for number in range(3))
    pages = {f"/d/{name}": about(name) for name in NAMES}
    site = serve({"/": HOME.replace("</h1>", f"</h1>{dead}"), **pages})
    if twins:
        site.pages |= {
            f"/d/{name}.md": f"# {name.upper()}\n\nThe text of {name}.\n" for name in NAMES
        }
    missing = site.missing
    given = Reply(notice, 200, TYPES["md"])
    site.missing = lambda seen: given if seen.path.endswith(".md") else missing
    found = run_crawl(f"{site.url}/").by_path(site.url)
    assert set(pages) <= set(found)
    gone = [path for path in found if "gone" in path]
    assert len(gone) <= (len(notice) > 300)  # what it is shows with the second one
