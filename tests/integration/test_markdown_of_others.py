"""Markdown that is another text than the page's is not believed."""

from __future__ import annotations

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
