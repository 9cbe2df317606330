"""A list of pages that answers with something else is no empty list: nothing is deleted for it."""

from __future__ import annotations

import pytest
from site_server import Reply
from sites import html

PAGES = ["/", *(f"/p{number}" for number in range(5))]
INSTEAD = {
    "forbidden": Reply("no", 403),
    "empty": Reply("", content_type="application/xml"),
    "a page": Reply("<!doctype html><html><body><p>Sorry</p></body></html>"),
    "bytes": Reply(b"\x00\x01\x02", content_type="application/xml"),
}


def sitemap(base: str) -> str:
    entries = "".join(f"<url><loc>{base}{path}</loc></url>" for path in PAGES)
    return f"<urlset>{entries}</urlset>"


def llms_txt(base: str) -> str:
    entries = "".join(f"- [{path}]({base}{path}): a page\n" for path in PAGES)
    return f"# Site\n\n> All of it.\n\n## Pages\n\n{entries}"


@pytest.mark.parametrize(("path", "made"), [("/sitemap.xml", sitemap), ("/llms.txt", llms_txt)])
def test_no_page_is_deleted_while_its_list_is_no_list(serve, run_crawl, path, made):
    """Each of these answers is known for what it is; a list that held no page would delete all in the third night."""
    text = "A page of this documentation, which no other page leads to."
    site = serve({page: html(page, f"<p>{text} {page}</p>") for page in PAGES})
    site.pages[path] = made(site.url)
    assert len(run_crawl(f"{site.url}/").documents) == len(PAGES)
    for name, answer in INSTEAD.items():
        site.pages[path] = answer
        night = run_crawl(f"{site.url}/")
        assert {page["change"] for page in night.documents} == {"unchanged"}, name
        assert len(night.documents) == len(PAGES), name
        assert f"{path} could not be read this time" in night.log, name
