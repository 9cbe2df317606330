"""A dead link costs one request, and none on the next night when nothing changed."""

from __future__ import annotations

import pytest
from sites import html

from llmsspider.crawler.learn.accept_refusals import MAX_IN_VAIN

NAMES = [f"p{number}" for number in range(20)]
SPELLINGS = {
    "directory": ("/docs/{}/", "/docs/{}/index.md"),
    "html": ("/docs/{}.html", "/docs/{}.md"),
    "bare": ("/docs/{}", "/docs/{}.md"),
}


def markdown(name: str, link: str = "") -> str:
    return f"# Page {name}\n\n" + f"What there is to say about {name}. " * 20 + f"\n\n{link}\n"


def made(shape: str) -> dict[str, str]:
    """A site of which llms.txt lists the Markdown; some pages link to pages that are not there."""
    page, twin = SPELLINGS[shape]
    nav = "".join(f"<a href='{page.format(name)}'>{name}</a> " for name in NAMES)
    listed = "".join(f"- [{name}]({twin.format(name)})\n" for name in NAMES)
    pages = {
        "/": html("Home", f"<p>Welcome to the site.</p>{nav}"),
        "/guide/intro.html": html("Intro", "<p>How to begin.</p>"),
        "/guide/more.html": html("More", "<p>More to read.</p>"),
        "/llms.txt": f"# Site\n\n## Pages\n\n{listed}",
    }
    for number, name in enumerate(NAMES):
        links = f"[one]({page.format(f'gone-{number}')})" if number < 4 else ""
        links += f" [two]({twin.format(f'lost-{number}')})" if 4 <= number < 6 else ""
        pages[page.format(name)] = html(f"Page {name}", f"<p>About {name}.</p>{nav}")
        pages[twin.format(name)] = markdown(name, links)
    return pages


@pytest.mark.parametrize("shape", SPELLINGS)
def test_a_dead_link_costs_one_request_and_none_while_nothing_changes(serve, run_crawl, shape):
    page, twin = SPELLINGS[shape]
    site = serve(made(shape))
    site.etags = True
    first = run_crawl(f"{site.url}/")
    dead = [path for path in site.paths() if "gone-" in path or "lost-" in path]
    assert sorted(set(dead)) == sorted(
        page.format(name)
        for name in (*(f"gone-{n}" for n in range(4)), *(f"lost-{n}" for n in range(4, 6)))
    )
    assert first.stats["llms/errors/not_found"] == 6
    assert len(dead) <= 6 + MAX_IN_VAIN, "a few are tried as HTML, in case Accept is refused"
    if shape != "bare":
        return

    site.clear()
    second = run_crawl(f"{site.url}/")
    assert not [path for path in site.paths() if "gone-" in path or "lost-" in path]
    assert second.stats["llms/filtered/dead-link"] == 6
    assert len(second.documents) == len(first.documents) == len(NAMES) + 3
    site.pages[twin.format("p9")] += f"\n[there now]({page.format('gone-1')})\n"
    site.pages[page.format("gone-1")] = html("It is there", "<p>It was written at last.</p>")
    site.pages["/llms.txt"] += f"- [found]({page.format('gone-2')})\n"
    site.clear()
    third = run_crawl(f"{site.url}/")
    asked = {path for path in site.paths() if "gone-" in path or "lost-" in path}
    assert asked >= {page.format("gone-1"), page.format("gone-2")}
    assert not asked & {page.format("gone-0"), page.format("gone-3"), page.format("lost-4")}
    new = {d["url"].removeprefix(site.url) for d in third.documents if d["change"] == "new"}
    assert new == {page.format("gone-1")}
    site.clear()
    run_crawl(f"{site.url}/", arguments={"full": "true"})
    assert page.format("gone-0") in site.paths()


def test_pages_that_no_list_names_keep_their_markdown(serve, run_crawl):
    """What is not listed is asked for itself first; where it is there, its Markdown is the document all the same."""
    page, twin = SPELLINGS["html"]
    pages = made("html")
    listed = "".join(f"- [{name}]({twin.format(name)})\n" for name in NAMES[:8])
    site = serve({**pages, "/llms.txt": f"# Site\n\n## Pages\n\n{listed}"})
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert {documents[page.format(name)]["origin"] for name in NAMES} == {"markdown"}
    asked = site.paths()
    assert sum(asked.count(twin.format(name)) for name in NAMES) == len(NAMES)
