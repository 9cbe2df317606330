"""Pages that move are told as moved, in the night of the deploy."""

from __future__ import annotations

import random

import pytest
from site_server import Reply
from sites import html

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
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


def first_night(site, run_crawl, names: tuple[str, ...], slash: str = "") -> dict[str, str]:
    """Return the pages by name."""
    places = {name: f"/d/{name}/" for name in names}
    site.pages = tree(places, slash=slash)
    run_crawl(f"{site.url}/d/")
    return places


@pytest.mark.parametrize("slash", ["", "/"], ids=["links alike", "links with one"])
def test_redirect_pages_whose_targets_have_no_slash(begun, run_crawl, slash):
    site, places = begun(first_night, NAMES, slash)
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


def test_pages_of_a_version_that_the_site_leaves_for_the_next_one_moved(serve, run_crawl):
    before = {name: f"/d/0.32/{name}/" for name in NAMES}
    now = {name: f"/d/0.33/{name}/" for name in NAMES}
    site = serve(tree(before))
    run_crawl(f"{site.url}/d/")
    site.pages = tree(now)
    night = run_crawl(f"{site.url}/d/")
    assert moved(night, site.url) == {now[name]: [before[name]] for name in NAMES}
    assert sum(one["change"] == "deleted" for one in night.documents) == 8


@pytest.mark.parametrize("ending", ["", ".html"], ids=["redirects", "not found"])
def test_addresses_that_end_with_a_slash_from_now_on(serve, run_crawl, ending):
    names = [f"{name}-{other}" for name in NAMES for other in ("one", "two")]
    before = {name: f"/d/{name}{ending}" for name in names}
    links = "".join(f"<a href='{path}'>{name}</a>" for name, path in before.items())
    pages = {path: html(name.title(), text(name)) for name, path in before.items()}
    site = serve(pages | {"/d/": html("Home", f"<p>All of it.</p>{links}")})
    run_crawl(f"{site.url}/d/")
    now = {name: f"/d/{name}/" for name in names}
    site.pages = tree(now, slash="/" if ending else "")
    for name, path in now.items():
        edit = text(f"{name} other")[:200] if name in names[:3] else ""
        canonical = f"<link rel='canonical' href='{path}'>"
        site.pages[path] = html(name.title(), text(name) + edit, canonical)
        if ending:
            del site.pages[path.rstrip("/")]
    night = run_crawl(f"{site.url}/d/")
    assert moved(night, site.url) == {now[name]: [before[name]] for name in names}
    assert sum(one["change"] == "deleted" for one in night.documents) == 16


REDIRECTS = {
    "301": lambda target: Reply("", 301, headers={"Location": target}),
    "for now": lambda target: Reply("", 302, headers={"Location": target}),
    "meta refresh": stub,
    "gone": lambda target: Reply("not here", 404, "text/html"),
}


@pytest.mark.parametrize("redirect", ["301", "for now", "meta refresh"])
def test_renamed_pages_are_told_as_moved_at_once_however_they_redirect(begun, run_crawl, redirect):
    site, places = begun(first_night, NAMES)
    renamed = {name: f"/d/guide/{name}/" for name in NAMES[:3]}
    site.pages = tree(places | renamed)
    for name, path in renamed.items():
        site.pages[places[name]] = REDIRECTS[redirect](path)
    night = run_crawl(f"{site.url}/d/")
    assert moved(night, site.url) == {path: [places[name]] for name, path in renamed.items()}
    assert sum(one["change"] == "deleted" for one in night.documents) == 3


@pytest.mark.parametrize("whole", ["/d/all/", "/d/other/"], ids=["new", "that was there"])
@pytest.mark.parametrize("redirect", REDIRECTS)
def test_pages_that_are_merged_into_one_are_all_named(begun, run_crawl, redirect, whole):
    site, places = begun(first_night, (*NAMES, "other", "rest"))
    merged = NAMES[:4]
    left = {name: path for name, path in places.items() if name not in merged}
    site.pages = tree(left | {"all": whole})
    site.pages[whole] = html("All", text("other") + "".join(map(text, merged)))
    for name in merged:
        site.pages[places[name]] = REDIRECTS[redirect](whole)
    night = run_crawl(f"{site.url}/d/")
    assert {path: sorted(urls) for path, urls in moved(night, site.url).items()} == {
        whole: sorted(places[name] for name in merged)
    }
    assert sum(one["change"] == "deleted" for one in night.documents) == 4


def test_pages_that_redirect_to_one_which_lacks_their_text_stay_for_a_night(begun, run_crawl):
    site, places = begun(first_night, (*NAMES, "other", "rest"))
    left = {name: path for name, path in places.items() if name not in NAMES[:3]}
    site.pages = tree(left)
    site.pages["/d/other/"] = html("Other", text("other") + text("something else"))
    for name in NAMES[:3]:
        site.pages[places[name]] = REDIRECTS["301"]("/d/other/")
    first = run_crawl(f"{site.url}/d/")
    assert moved(first, site.url) == {}
    assert not [one for one in first.documents if one["change"] == "deleted"]
    second = run_crawl(f"{site.url}/d/")
    assert sum(one["change"] == "deleted" for one in second.documents) == 3
    assert {path: sorted(urls) for path, urls in moved(second, site.url).items()} == {
        "/d/other/": sorted(places[name] for name in NAMES[:3])
    }


def test_no_page_is_named_as_moved_that_stays(begun, run_crawl):
    site, places = begun(first_night, (*NAMES, "other", "rest"))
    for name in NAMES:
        site.pages[places[name]] = REDIRECTS["for now"]("/d/other/")
    for _ in range(2):
        assert moved(run_crawl(f"{site.url}/d/"), site.url) == {}


def test_a_start_page_that_moves_with_its_section(begun, run_crawl):
    site, places = begun(first_night, NAMES)
    now = tree({name: f"/docs/{name}/" for name in NAMES})
    now["/docs/"] = now.pop("/d/")
    now["/docs"] = Reply("", 301, headers={"Location": "/docs/"})
    former = {path: path.replace("/d/", "/docs/") for path in ("/d/", *places.values())}
    now |= {path: Reply("", 301, headers={"Location": to}) for path, to in former.items()}
    site.pages = now
    outcome = run_crawl(f"{site.url}/d/")  # two of its pages move, too: it is believed at once
    assert moved(outcome, site.url) == {to: [path] for path, to in former.items()}
