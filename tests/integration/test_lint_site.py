"""`scrapy lint` of a site: what its links answer, its Markdown versions, its other files; and of a crawled source."""

from __future__ import annotations

import json

import pytest
from crawling import command
from site_server import Reply
from sites import html

LONG = "<p>" + "Every word of this page is worth reading. " * 12 + "</p>"
LOST = "<pre><code>pip install site\nsite serve --all\n</code></pre>"
ALTERNATE = '<link rel="alternate" type="text/markdown" href="/named.md">'
HTML_TYPE = "text/html; charset=utf-8"

LLMS = """# Site

> What it is.

## Pages

- [Good](/good.md): all is well
- [Lost](/lost.html): its Markdown lacks half
- [Named](/named.html): names its Markdown
- [Dead](/dead.html): is gone
- [Soft](/soft.html): says it is gone
- [Down](/down.html): fails
- [Moved](/moved.html): is elsewhere
- [Reserved](/reserved.html): not for AI tools
- [Typed](/typed.md): has a wrong type
- [Negotiated](/negotiated): by Accept
- [Bare](/bare.html): has no Markdown
- [More](/sub/llms.txt): another list
- [Missing](/gone/llms.txt): a list that is gone
"""
PAGES = {
    "/": html("Home", "<p>Welcome to all of it.</p>"),
    "/llms.txt": LLMS,
    "/sub/llms.txt": "# Sub\n\n## Pages\n\n- [Good](/good.md): all is well\n",
    "/llms-full.txt": "# Good\nSource: {base}/good\n\n"
    + "Words. " * 60
    + "\n\n# Sub\nSource: {base}/sub/page\n\n"
    + "Words. " * 60,
    "/sitemap.xml": "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    "<url><loc>{base}/good</loc></url><url><loc>{base}/unlisted.html</loc></url></urlset>",
    "/good.md": "# Good\n\nShort and good.\n",
    "/good": html(
        "Good",
        "<p>Short and good.</p>",
        '<link rel="alternate" type="text/markdown" href="/good.md">',
    ),
    "/lost.html": html("Lost", LONG + LOST),
    "/lost.html.md": "# Lost\n\n" + "Every word of this page is worth reading. " * 12,
    "/named.html": html("Named", LONG, ALTERNATE),
    "/named.md": "# Named\n\n" + "Every word of this page is worth reading. " * 12,
    "/soft.html": html("Page not found", "<p>Sorry.</p>"),
    "/bare.html": html("Bare", LONG),
    "/down.html": Reply("", 500),
    "/moved.html": Reply("", 301, headers={"Location": "{base}/good"}),
    "/reserved.html": html("Reserved", LONG, '<meta name="robots" content="noai">'),
    "/typed.md": Reply("# Typed\n\nIs Markdown.\n", content_type="application/octet-stream"),
    "/negotiated": Reply("# Negotiated\n\nIs Markdown.\n", content_type="text/markdown"),
}
SETTINGS = (
    "-s",
    "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1",
    "-s",
    "RETRY_TIMES=0",
    "-s",
    "LLMS_CONVERT_WORKERS=0",
)


def by_rule(outcome, base: str) -> dict[str, list[str]]:
    """Paths of the findings by rule."""
    found: dict[str, list[str]] = {}
    for one in json.loads(outcome.stdout)["findings"]:
        paths = [url.removeprefix(base) for url in one["urls"]]
        found.setdefault(one["rule"], []).extend(
            paths or [f"{one['file'].removeprefix(base)}:{one['line']}"]
        )
    return {rule: sorted(paths) for rule, paths in found.items()}


def test_a_site_is_checked_as_its_readers_get_it(serve, tmp_path):
    site = serve(PAGES)
    outcome = command("lint", f"{site.url}/", "--format", "json", *SETTINGS, cwd=tmp_path)
    found = by_rule(outcome, site.url)
    for rule in ("relative-link", "full-text-misses-pages", "no-markdown"):
        assert found.pop(rule)
    assert found == {
        "dead-link": ["/dead.html", "/soft.html"],
        "failing-link": ["/down.html"],
        "opted-out-link": ["/reserved.html"],
        "redirected-link": ["/moved.html"],
        "wrong-content-type": ["/typed.md"],
        "no-vary": ["/negotiated"],
        "html-link": ["/lost.html", "/moved.html", "/named.html"],
        "no-alternate": ["/lost.html"],
        "markdown-misses-content": ["/lost.html"],
        "no-describedby": ["/llms.txt:0"],
        "no-summary": ["/sub/llms.txt:1"],
        "unread-llms-file": ["/gone/llms.txt"],
    }
    assert outcome.exit_code == 1
    told = json.loads(outcome.stdout)["findings"]
    places = {
        one["urls"][0].removeprefix(site.url): one["line"]
        for one in told
        if one["rule"] == "dead-link"
    }
    assert places == {"/dead.html": 10, "/soft.html": 11}
    assert max(map(site.paths().count, ("/dead.html", "/lost.html.md", "/robots.txt"))) == 1


def test_a_crawled_source_is_checked_and_links_are_bounded(serve, run_crawl, tmp_path):
    site = serve(PAGES)
    run_crawl(f"{site.url}/", arguments={"source": "s"})
    data = ("-s", f"LLMS_DATA_DIR={tmp_path / 'store'}")
    outcome = command("lint", "s", "--format", "json", *SETTINGS, *data, cwd=tmp_path)
    found = by_rule(outcome, site.url)
    assert found["dead-link"] == ["/dead.html", "/soft.html"]
    assert found["failing-link"] == ["/down.html"]
    site.clear()
    few = command(
        "lint", f"{site.url}/", "--max-links", "1", "--fail-on", "never", *SETTINGS, cwd=tmp_path
    )
    assert few.exit_code == 0
    assert "1 links were checked, 10 were not: --max-links" in few.stdout
    assert "/dead.html" not in site.paths()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["folder"], 2, "folder is a folder: name the file, such as folder/llms.txt"),
        (["nobody"], 2, "source 'nobody' is not known"),
        (["http://127.0.0.1:1/", *SETTINGS], 1, "[unreachable]"),
    ],
    ids=["a folder", "an unknown source", "no server"],
)
def test_what_cannot_be_checked_is_said(tmp_path, words: list[str], code: int, said: str):
    (tmp_path / "folder").mkdir()
    outcome = command("lint", *words, cwd=tmp_path)
    assert outcome.exit_code == code
    assert said in outcome.stdout + outcome.log
    assert "Traceback" not in outcome.log


def test_a_file_is_checked_without_a_crawl(tmp_path):
    (tmp_path / "llms.txt").write_text("# Good\n\n## S\n\n- [A](https://e.com/a): b\n")
    warned = command("lint", "llms.txt", cwd=tmp_path)
    assert (warned.exit_code, warned.stdout.splitlines()[-1]) == (0, "1 warning")
    assert command("lint", "llms.txt", "--fail-on", "warning", cwd=tmp_path).exit_code == 1
