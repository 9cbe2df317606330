"""A full-text file that is built later than the pages it holds: the pages win, without a false change."""

from __future__ import annotations

from collections import Counter

from sites import html

PAGES = [f"/guide/p{number}.html" for number in range(12)]


def text(path: str, editions: dict[str, int]) -> str:
    number = path.removeprefix("/guide/p").removesuffix(".html")
    return f"Page {number} tells how part {number} is used, in edition {editions.get(path, 1)}, with `code_{number}`."


def state_of_site(site, editions: dict[str, int]) -> dict[str, str]:
    """The HTML of the pages, and the text that a file built now would have, by path."""
    held = {}
    for path in PAGES:
        body = text(path, editions)
        code = (
            body.rpartition("`code")[0]
            + "<code>code"
            + body.rpartition("`code")[2].replace("`", "</code>")
        )
        site.pages[path] = html(f"Title of {path[8:-5]}", f"<p>{code}</p>")
        held[path] = f"# Title of {path[8:-5]}\n\nSource: {{base}}{path}\n\n{body}\n"
    return held


def changes(outcome, base: str) -> dict[str, str]:
    kinds = {
        document["url"].removeprefix(base): document["change"] for document in outcome.documents
    }
    return {path: change for path, change in kinds.items() if change != "unchanged"}


def test_pages_win_over_a_file_that_lags_and_nothing_changes_but_what_was_edited(serve, run_crawl):
    site = serve({"/": html("Home", "<p>Welcome to this documentation.</p>")})
    site.etags = True
    links = "".join(f"- [Page]({path})\n" for path in PAGES)
    site.pages["/llms.txt"] = f"# Site\n\n## Guide\n\n{links}"
    builds: list[dict[str, str]] = []

    def night(editions: dict[str, int], *, late: int, **more):
        builds.append(state_of_site(site, editions))
        held = builds[max(0, len(builds) - 1 - late)]
        only = "# Only here\n\nSource: {base}/guide/only.html\n\nA page of the file alone.\n"
        site.pages["/llms-full.txt"] = "\n".join([*held.values(), only])
        site.clear()
        return run_crawl(f"{site.url}/", **more)

    def asked() -> int:
        return sum(path in PAGES for path in site.paths())

    first = night({}, late=0)
    assert Counter(document["origin"] for document in first.documents) == {
        "llms-full": 13,
        "html": 1,
    }
    assert first.stats["llms/full-text/samples"] == 3
    for_links = asked()
    current = night({PAGES[0]: 2}, late=0)
    assert changes(current, site.url) == {PAGES[0]: "changed"}
    assert current.stats["llms/full-text/samples"] == 2
    assert asked() <= for_links + 3, "other covered pages are not fetched"

    editions = {PAGES[0]: 2} | dict.fromkeys(PAGES[1:7], 2)
    wanted = dict.fromkeys(PAGES[1:7], "changed")
    behind = night(editions, late=2)
    nights = 1
    while "llms/full-text/lagging" not in behind.stats:
        assert changes(behind, site.url) in ({}, {PAGES[0]: "changed"})
        behind, nights = night(editions, late=2), nights + 1
        assert nights < len(PAGES), "each page has had its turn"
    assert any("lags behind its pages" in line for line in behind.lines)
    got = behind.by_path(site.url)
    assert {path: text(path, editions) in got[path]["content"] for path in PAGES} == dict.fromkeys(
        PAGES, True
    )
    assert set(changes(behind, site.url)) <= {*wanted, PAGES[0]}, (
        "other pages say the same as before"
    )
    assert got["/guide/only.html"]["origin"] == "llms-full"

    for edited in ({}, {PAGES[8]: 2}, {}, {PAGES[8]: 3}):
        editions |= edited
        later = night(editions, late=2)
        assert changes(later, site.url) == dict.fromkeys(edited, "changed")
        assert later.by_path(site.url)["/guide/only.html"]["change"] == "unchanged"
        assert not any("lags behind" in line for line in later.lines), "said once"
    del site.pages[PAGES[3]]
    site.pages["/llms.txt"] = site.pages["/llms.txt"].replace(f"- [Page]({PAGES[3]})\n", "")
    site.clear()
    waits = run_crawl(f"{site.url}/")
    assert changes(waits, site.url) == {}, "the file still holds it"
    gone = run_crawl(f"{site.url}/")
    assert changes(gone, site.url) == {PAGES[3]: "deleted"}
