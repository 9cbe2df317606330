"""Addresses whose shape was never a page on a site are not requested, and are where one turns out to be."""

from __future__ import annotations

from sites import html

PAGES = [f"/guide/p{number}" for number in range(30)]
TAGS = [f"/tags/t{number}/" for number in range(60)]


def listing(*paths: str) -> str:
    items = "".join(f"<li><a href='{path}'>{path}</a></li>" for path in paths)
    return html("Tagged", f"<h1>Tagged</h1><ul>{items}</ul>")


def page(name: str, *paths: str, head: str = "") -> str:
    return html(
        name, f"<p>What {name} says.</p>" + "".join(f"<a href='{path}'>x</a>" for path in paths), head
    )


def site_with(serve, *, tags):
    site = serve({})
    for path in PAGES:
        head = f"<link rel='canonical' href='{site.url}{path}'>" + "".join(
            f"<a rel='tag' href='{tag}'>x</a>" for tag in TAGS[:5]
        )
        site.pages[path] = page(path, *(f"{other}?embed=true" for other in PAGES), head=head)
        site.pages[f"{path}?embed=true"] = site.pages[path]
    for tag in TAGS:
        site.pages[tag] = listing(*tags)
    site.pages["/"] = page("Home", *PAGES[:-1], *TAGS)
    return site


def test_copies_by_query_and_lists_are_filtered_unasked_once_a_few_were(serve, run_crawl):
    site = site_with(serve, tags=PAGES[:4])
    for copies, lists in ((20, 50), (12, 20)):
        site.clear()
        outcome = run_crawl(f"{site.url}/", settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 2})
        assert set(outcome.by_path(site.url)) == {"/", *PAGES}, "to the last one only its copy leads"
        asked = [path for path in site.paths() if "embed" in path]
        assert len(asked) < copies
        assert len([path for path in site.paths() if "/tags/" in path]) < lists
        learned = sorted(line.rpartition(" (")[0] for line in outcome.lines if line.startswith("learned: "))
        assert learned == [
            "learned: /tags/* lists pages that are known",
            "learned: ?embed=true is the same page",
        ]
        assert outcome.stats["llms/filtered/canonical"] == len(PAGES)
        assert outcome.stats["llms/filtered/listing"] == len(TAGS)


def test_a_shape_is_asked_again_where_one_of_it_is_a_page(serve, run_crawl):
    site = site_with(serve, tags=PAGES[:4])
    for path in PAGES[10:]:
        site.pages[f"{path}?embed=true"] = page(f"Other text of {path}")
    for tag in TAGS[20:]:
        site.pages[tag] = page(f"A page of {tag}")
    outcome = run_crawl(f"{site.url}/", settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 2})
    pages = {*PAGES[:-1], *TAGS[20:], *(f"{path}?embed=true" for path in PAGES[10:])}
    assert set(outcome.by_path(site.url)) == {"/", *pages}
    assert not [line for line in outcome.lines if line.startswith("learned: ")]
