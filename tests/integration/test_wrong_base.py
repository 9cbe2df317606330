"""A deploy whose base is wrong for one night: its lists and canonical links name addresses that do not answer."""

from __future__ import annotations

import pytest
from site_server import Reply
from sites import html

NAMES = [f"p{number}.html" for number in range(6)]
WORDS = ("harbour", "lantern", "willow", "copper", "meadow", "thistle", "granite", "ember")


def pages(base: str, *, lists: str) -> dict:
    """Six pages below `/latest/`, which name their addresses below `base`."""

    def page(number: int, links: str = "") -> str:
        own = " ".join(f"{word}{number}" for word in WORDS)
        made = html(f"Page {number}", f"<p>All that there is to say of {own}.</p>{links}")
        name = "" if number == 6 else NAMES[number]
        return made.replace("</head>", f"<link rel=canonical href='{base}{name}'></head>")

    links = "".join(f"<a href='{name}'>{name}</a>" for name in NAMES)
    found: dict = {f"/latest/{name}": page(number) for number, name in enumerate(NAMES)}
    found["/latest/"] = page(6, links)
    if "llms" in lists:
        entries = "".join(f"- [Page {name}]({base}{name})\n" for name in NAMES)
        text = f"# Docs\n\n## Pages\n\n{entries}"
        found["/latest/llms.txt"] = Reply(text, content_type="text/plain")
    if "sitemap" in lists:
        urls = "".join(f"<url><loc>{base}{name}</loc></url>" for name in NAMES)
        text = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>"
        found["/sitemap.xml"] = Reply(text, content_type="application/xml")
    if "full" in lists:
        texts = (
            f"# Page {number}\n\nSource: {base}{name}\n\nAll that there is to say of "
            + " ".join(f"{word}{number}" for word in WORDS)
            + ".\n\n"
            for number, name in enumerate(NAMES)
        )
        found["/latest/llms-full.txt"] = Reply("".join(texts), content_type="text/plain")
    return found


@pytest.mark.parametrize("lists", ["", "sitemap", "llms, sitemap", "llms, full, sitemap", "full"])
def test_addresses_that_do_not_answer_are_none(serve, run_crawl, lists):
    site = serve(pages("/latest/", lists=lists))
    right = pages(f"{site.url}/latest/", lists=lists)
    site.pages = dict(right)
    first = run_crawl(f"{site.url}/latest/").by_path(site.url)
    assert len(first) == 7
    site.pages = pages(f"{site.url}/latest/latest/", lists=lists)
    night = run_crawl(f"{site.url}/latest/").by_path(site.url)
    assert {path: page["change"] for path, page in night.items()} == dict.fromkeys(
        first, "unchanged"
    )
    site.pages = dict(right)
    after = run_crawl(f"{site.url}/latest/").by_path(site.url)
    assert {path: page["change"] for path, page in after.items()} == dict.fromkeys(
        first, "unchanged"
    )
