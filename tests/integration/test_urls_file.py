"""A list of pages is one source: `urls_file`."""

from __future__ import annotations

import pytest
from sites import PLAIN, html


def test_the_pages_that_a_file_lists_are_a_source(serve, run_crawl, tmp_path):
    site = serve({**PLAIN, "/gone": ""})
    del site.pages["/gone"]
    other = serve(
        {"/a": html("A", "<p>A page of another site, as long as a page.</p><a href='/b'>b</a>")}
    )
    urls = [f"{site.url}/gone", f"{site.url}/guide/more.html", f"{other.url}/a"]
    file = tmp_path / "urls.txt"
    file.write_text("\n".join(["# ours", *urls, "", f" {urls[1]} "]))
    first = run_crawl(None, arguments={"urls_file": file})
    assert {
        document["url"]: document["discovered_by"] for document in first.documents
    } == dict.fromkeys(urls[1:], "list")
    assert set(site.paths()).isdisjoint({"/", "/llms.txt", "/sitemap.xml", "/guide/deep.html"})
    file.write_text("\n".join([*urls, f"{site.url}/guide/deep.html"]))
    second = run_crawl(None, arguments={"urls_file": file})
    assert {document["change"] for document in second.documents} == {"unchanged", "new"}
    assert len(second.documents) == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# none\n", "the file lists no URL"),
        (
            "http://127.0.0.1/\ndocs.example.com\n",
            "line 2: invalid_url: 'docs.example.com' has no scheme",
        ),
        (None, "the file cannot be read"),
    ],
)
def test_a_list_that_is_none_is_refused_in_one_line(run_crawl, tmp_path, text, why):
    file = tmp_path / "urls.txt"
    if text is not None:
        file.write_text(text)
    outcome = run_crawl(None, arguments={"urls_file": file})
    assert outcome.exit_code == 2
    assert f"argument urls_file='{file}': {why}" in outcome.log
