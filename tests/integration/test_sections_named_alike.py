"""Sections that are named like a version or a language are sections, copies are copies."""

from __future__ import annotations

import pytest
from sites import html

WORDS = [
    "harbour",
    "lantern",
    "willow",
    "copper",
    "meadow",
    "thistle",
    "granite",
    "ember",
    "saddle",
    "quarry",
    "falcon",
    "cinder",
]


def page(title: str, seed: int, language: str = "en", links: str = "") -> str:
    """A page of words of its own."""
    text = " ".join(
        WORDS[(seed * 5 + number * (seed + 1)) % len(WORDS)] + str(seed) for number in range(60)
    )
    made = html(title, f"<p>{text}.</p>{links}")
    return made.replace("lang='en'", f"lang='{language}'")


def site_of(names: list[str], pages: list[str]) -> dict[str, str]:
    """Sections with an index of their own, and pages that the whole has under the same names."""
    paths = [f"/docs/{name}/{one}" for name in names for one in ("index.html", *pages, "own.html")]
    paths += [f"/docs/{one}" for one in pages]
    links = " ".join(f'<a href="{path}">{path}</a>' for path in paths)
    site = {path: page(f"Page {path}", seed) for seed, path in enumerate(paths)}
    return {**site, "/docs/index.html": page("Home", 99, links=links)}


@pytest.mark.parametrize("pages", [[], ["intro.html"], ["intro.html", "setup.html"]], ids=len)
@pytest.mark.parametrize(
    "names", [["dev", "user", "next", "cs"], ["preview", "ts", "edge", "sh"]], ids="-".join
)
def test_sections_with_texts_of_their_own_are_kept(serve, run_crawl, names, pages):
    site = serve(site_of(names, pages))
    done = run_crawl(f"{site.url}/docs/index.html")
    found = {path.removesuffix("index.html") for path in done.by_path(site.url)}
    assert found == {path.removesuffix("index.html") for path in site.pages}


def test_a_version_with_the_same_text_is_a_copy_and_costs_one_page(serve, run_crawl):
    site = serve(site_of(["dev"], ["intro.html", "setup.html", "more.html"]))
    for name in ("intro.html", "setup.html", "more.html"):
        site.pages[f"/docs/dev/{name}"] = site.pages[f"/docs/{name}"].replace("Page", "Dev page")
    done = run_crawl(f"{site.url}/docs/index.html")
    assert not [path for path in done.by_path(site.url) if path.startswith("/docs/dev/")]
    requested = {
        path for path in site.paths() if path.startswith("/docs/dev/") and ".md" not in path
    }
    assert len(requested) == 1


def test_a_translation_is_a_copy(serve, run_crawl):
    site = serve(site_of(["cs"], ["intro.html", "setup.html"]))
    for path in list(site.pages):
        if path.startswith("/docs/cs/"):
            site.pages[path] = site.pages[path].replace("lang='en'", "lang='cs'")
    done = run_crawl(f"{site.url}/docs/index.html")
    assert not [path for path in done.by_path(site.url) if path.startswith("/docs/cs/")]
