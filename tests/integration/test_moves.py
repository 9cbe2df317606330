"""Pages that move are told as moved, in the night of the deploy."""

from __future__ import annotations

import random

import pytest
from site_server import Reply
from sites import html

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
VOCABULARY = [
    f"{first}{last}" for first in "bdfgklmnprst" for last in ("arem", "osil", "unat", "evor")
]


def text(name: str) -> str:
    own = random.Random(name).sample(VOCABULARY * 3, 70)
    return f"<p>{name.title()}: {' '.join(f'{word}{name[0]}' for word in own)}.</p>"


def stub(target: str) -> str:
    return (
        "<!doctype html><html><head><meta charset='utf-8'>"
        f"<meta http-equiv='refresh' content='0; url={target}'>"
        f"<link rel='canonical' href='{target}'></head><script>window.location.href="
        f"'{target}' + window.location.search;</script></html>"
    )


def with_slashes(found: dict[str, str]) -> dict:
    """Pages in folders: `/x` redirects to `/x/`."""
    bare = {path.rstrip("/"): Reply("", 301, headers={"Location": path}) for path in found}
    return {**bare, **found}


def moved(outcome, base: str) -> dict[str, list[str]]:
    return {
        path: [url.removeprefix(base) for url in one["moved_from"]]
        for path, one in outcome.by_path(base).items()
        if one["moved_from"] and one["change"] != "deleted"
    }


def tree(places: dict[str, str], *, stubs: dict[str, str] | None = None, slash: str = "") -> dict:
    """A site of pages in folders; the links have no slash, unless it is given."""
    hrefs = {name: path.rstrip("/") + slash for name, path in places.items()}
    links = "".join(f"<a href='{href}'>{name}</a>" for name, href in hrefs.items())
    pages = {path: html(name.title(), text(name)) for name, path in places.items()}
    pages["/d/"] = html("Home", f"<p>All of it.</p>{links}")
    pages |= {path: stub(target) for path, target in (stubs or {}).items()}
    return with_slashes(pages)


@pytest.mark.parametrize("slash", ["", "/"], ids=["links alike", "links with one"])
def test_redirect_pages_whose_targets_have_no_slash(serve, run_crawl, slash):
    places = {name: f"/d/{name}/" for name in NAMES}
    site = serve(tree(places, slash=slash))
    run_crawl(f"{site.url}/d/")
    renamed = {name: f"/d/guide/{name}/" for name in NAMES[:5]}
    stubs = {places[name]: renamed[name].rstrip("/") for name in renamed}
    site.pages = tree(places | renamed, stubs=stubs, slash=slash)
    night = run_crawl(f"{site.url}/d/")
    expected = {path.rstrip("/"): [places[name].rstrip("/")] for name, path in renamed.items()}
    found = {
        path.rstrip("/"): [one.rstrip("/") for one in urls]
        for path, urls in moved(night, site.url).items()
    }
    assert found == expected
    assert night.by_path(site.url).keys() >= {"/d/"}
    assert len([one for one in night.documents if one["change"] == "deleted"]) == 5


def test_a_relocation_without_redirects_carries_the_pages_that_were_edited(serve, run_crawl):
    names = [f"{name}-{other}" for name in NAMES for other in ("one", "two")]
    site = serve(tree({name: f"/d/latest/{name}/" for name in names}))
    run_crawl(f"{site.url}/d/")
    site.pages = tree({name: f"/d/docs/{name}/" for name in names})
    for name in names[:5]:
        kept = text(name)[: int(len(text(name)) * 0.6)]
        more = text(f"{name} other")[: int(len(text(name)) * 0.6)]
        site.pages[f"/d/docs/{name}/"] = html(name.title(), f"{kept}</p>{more}</p>")
    night = run_crawl(f"{site.url}/d/")
    assert len(moved(night, site.url)) == 16


def test_pages_that_are_merged_into_one_are_all_named(serve, run_crawl):
    places = {name: f"/d/{name}/" for name in NAMES}
    site = serve(tree({**places, "other": "/d/other/", "rest": "/d/rest/"}))
    run_crawl(f"{site.url}/d/")
    site.pages = tree({"other": "/d/other/", "rest": "/d/rest/", "all": "/d/all/"})
    site.pages["/d/all/"] = html("All", "".join(map(text, NAMES[:4])))
    for name in NAMES[4:]:
        site.pages[f"/d/{name}/"] = html(name.title(), text(name))
    links = "".join(
        f"<a href='/d/{name}'>{name}</a>" for name in [*NAMES[4:], "all", "other", "rest"]
    )
    site.pages["/d/"] = html("Home", f"<p>All of it.</p>{links}")
    night = run_crawl(f"{site.url}/d/")
    assert {path: sorted(urls) for path, urls in moved(night, site.url).items()} == {
        "/d/all/": sorted(f"/d/{name}/" for name in NAMES[:4])
    }
