"""A link that is no URL costs that link, wherever the site writes it: the crawl and the recrawl keep every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from site_server import Reply
from sites import html

PORT = "http://localhost:PORT/"
API = "https://api.example.com:port/v1"
BAD = [
    PORT,
    API,
    "http://127.0.0.1:PORT/",
    "http://[::1/",
    "http://me:secret@docs.example.com/private",
]
"""What documentation writes where a reader is to put something of their own."""

VERBOSE = {"LOG_LEVEL": "DEBUG", "LLMS_REPORT": "report.html"}

PAGES = [f"/docs/p{number}.html" for number in range(12)]


def anchors(*urls: str) -> str:
    return "".join(f'<p><a href="{url}">a link</a></p>' for url in urls)


def site(*, malformed: bool) -> dict:
    """Twelve pages: half of them linked behind the malformed links, half listed by llms.txt and sitemap."""
    bad = BAD if malformed else []
    head = "".join(
        f'<link rel="canonical" href="{url}"><link rel="alternate" hreflang="de" href="{url}">'
        f'<link rel="alternate" type="text/markdown" href="{url}"><link rel="describedby" href="{url}">'
        for url in bad[:1]
    )
    link = {"Link": ", ".join(f'<{url}>; rel="describedby"' for url in bad[:2])} if bad else {}
    refresh = f'<meta http-equiv="refresh" content="0; url={PORT}">' if malformed else ""
    markdown = "".join(f"- [an example]({url})\n" for url in bad[:2])
    locs = "".join(f"<url><loc>{url}</loc></url>" for url in bad)
    full = "".join(
        f"---\nSource: {url}\n---\n\n# An example\n\nSome words of text.\n\n" for url in bad[:2]
    )
    return {
        "/docs/": Reply(
            html("Home", f"<p>Welcome.</p>{anchors(*bad, *PAGES[:4])}", head), headers=link
        ),
        **{path: html(path[6:-5], f"<p>The text of {path}.</p>") for path in PAGES},
        PAGES[0]: html("p0", f"<p>The first.</p>{anchors(*bad, PAGES[4], PAGES[5])}", refresh),
        PAGES[1]: Reply(
            "# p1\n\nThe second page.\n\n" + markdown + f"- [p6]({PAGES[6]})\n",
            content_type="text/markdown",
        ),
        PAGES[2]: html(
            "p2",
            f"<p>The third.</p>{anchors('/docs/moved', PAGES[7])}",
            "<base href='http://[x/'>" * malformed,
        ),
        PAGES[3]: html("p3", f"<p>The fourth.</p>{anchors('/docs/told')}"),
        "/docs/told": Reply(
            "",
            302,
            headers={"Location": "http://me:secret@docs.example.com/" if malformed else PAGES[4]},
        ),
        "/docs/moved": Reply("", 302, headers={"Location": API if malformed else PAGES[3]}),
        "/llms.txt": f"# Site\n\n## Pages\n\n{markdown}- [p8]({{base}}{PAGES[8]})\n- [p9]({{base}}{PAGES[9]})\n",
        "/llms-full.txt": full
        + f"---\nSource: {{base}}{PAGES[10]}\n---\n\n# p10\n\nThe text of page ten.\n" * malformed,
        "/robots.txt": "User-agent: *\n"
        + "".join(f"Sitemap: {url}\n" for url in bad)
        + "Sitemap: {base}/map.xml\n",
        "/map.xml": f"<urlset>{locs}"
        + "".join(f"<url><loc>{{base}}{path}</loc></url>" for path in PAGES[10:])
        + "</urlset>",
    }


def changes(outcome, base: str) -> dict[str, str]:
    return {
        document["url"].removeprefix(base): document["change"] for document in outcome.documents
    }


def test_a_malformed_link_costs_that_link_in_the_crawl_and_the_recrawl(serve, run_crawl, tmp_path):
    server = serve(site(malformed=False))
    everything = {"/docs/", *PAGES}
    assert set(changes(run_crawl(f"{server.url}/docs/"), server.url)) == everything
    server.pages = site(malformed=True)
    second = run_crawl(f"{server.url}/docs/", settings=VERBOSE)
    assert second.exit_code == 0
    assert set(changes(second, server.url)) == everything, second.log
    assert "deleted" not in changes(second, server.url).values()
    assert second.stats["llms/filtered/invalid-url"] >= len(BAD)
    assert second.stats["llms/errors/invalid_url"] == 2  # the redirects
    assert "secret" not in second.log
    shows_pages = {"documents.jsonl", "report.html"}  # what a page says, and what changed in it
    assert {path.name for path in _files_with(tmp_path, b"secret")} <= shows_pages
    assert "secret" not in str([document["links"] for document in second.documents])
    third = run_crawl(f"{server.url}/docs/")  # the links come from the store now
    assert changes(third, server.url) == dict.fromkeys(everything, "unchanged")
    assert third.stats["llms/filtered/invalid-url"] == second.stats["llms/filtered/invalid-url"]


def _files_with(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


@pytest.mark.parametrize(
    ("url", "said"),
    [("http://me:secret@127.0.0.1/", "LLMS_HTTP_AUTH"), ("http://me:sec/ret@127.0.0.1/", "port")],
)
def test_a_password_in_the_url_is_refused_and_told_to_nobody(url, said, run_crawl, tmp_path):
    outcome = run_crawl(url, settings=VERBOSE)
    assert outcome.exit_code == 2
    assert said in outcome.log
    assert not re.search("secret|ret@", outcome.log + outcome.stdout)
    assert not _files_with(tmp_path, b"ret@")
