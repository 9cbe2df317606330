"""A feed that cannot be delivered after the pages were stored: nothing is lost to who reads by number."""

from __future__ import annotations

import json

from crawling import command
from sites import PLAIN, html

NOBODY = ("-O", "ftp://user:secret@127.0.0.1:1/documents.jsonl:jsonlines")
"""An output on a server that is not there."""


def scrapy(folder, *arguments):
    return command(*arguments, "-s", f"LLMS_DATA_DIR={folder / 'store'}", cwd=folder)


def exported(folder, *options) -> list[tuple[str, str]]:
    done = scrapy(folder, "export", "mine", *options)
    assert done.exit_code == 0, done.log
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [(row["url"].rpartition("/")[2], row["change"]) for row in rows]


def undelivered_since(folder) -> int | None:
    (source,) = json.loads(scrapy(folder, "sources", "--json").stdout)
    return source["undelivered_since"]


def test_a_feed_that_fails_is_said_kept_found_again_and_replayed(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    changes = {"source": "mine", "emit": "changes"}
    run_crawl(f"{site.url}/", arguments=changes)
    assert undelivered_since(tmp_path) is None

    site.pages["/guide/more.html"] = html("More", "<p>New words.</p><a href='deep.html'>d</a>")
    del site.pages["/guide/deep.html"]  # it is linked: the second night decides
    failed = run_crawl(f"{site.url}/", arguments=changes, options=NOBODY)
    assert failed.exit_code == 1
    (said,) = [line for line in failed.lines if line.startswith("not delivered")]
    assert "`scrapy export mine --since 4`" in said
    assert "secret" not in said
    assert undelivered_since(tmp_path) == 4

    later = run_crawl(f"{site.url}/", arguments=changes)
    assert later.exit_code == 0
    assert [row["change"] for row in later.documents] == ["deleted"]
    assert any("`scrapy export mine --since 4`" in line for line in later.lines)

    assert exported(tmp_path, "--since", "5") == [("deep.html", "deleted")]
    assert undelivered_since(tmp_path) == 4
    assert exported(tmp_path, "--since", "4") == [
        ("more.html", "changed"),
        ("deep.html", "deleted"),
    ]
    assert undelivered_since(tmp_path) is None
    assert not [
        line for line in run_crawl(f"{site.url}/", arguments=changes).lines if "deliver" in line
    ]


def test_a_complete_feed_later_makes_up_for_a_failed_one(serve, run_crawl, tmp_path):
    site = serve(PLAIN)
    run_crawl(f"{site.url}/", arguments={"source": "mine"}, options=NOBODY)
    assert undelivered_since(tmp_path) == 0
    assert len(run_crawl(f"{site.url}/").documents) == 4
    assert undelivered_since(tmp_path) is None


def test_an_output_that_cannot_be_written_is_said_and_the_pages_are_stored(
    serve, run_crawl, tmp_path
):
    site = serve(PLAIN)
    (tmp_path / "file").touch()
    target = tmp_path / "file" / "documents.jsonl"
    outcome = run_crawl(f"{site.url}/", arguments={"source": "mine"}, options=("-O", str(target)))
    assert outcome.exit_code == 1
    assert "is no folder" in outcome.log
    assert any(line.startswith("not delivered") for line in outcome.lines)
    assert "Traceback" not in outcome.log
    assert sorted(exported(tmp_path, "--since", "0")) == sorted(
        (name, "new") for name in ("", "intro.html", "more.html", "deep.html")
    )


def test_a_reader_by_number_misses_nothing(serve, run_crawl, tmp_path):
    """Whatever fails in between, replaying from the greatest number read gives the site as it is."""
    site = serve(PLAIN)
    seen: dict[str, str | None] = {}
    greatest = 0
    for night in range(4):
        links = f"<a href='deep.html'>d</a> <a href='n{night}.html'>n</a>"
        site.pages["/guide/more.html"] = html("More", f"<p>Night {night}.</p>{links}")
        site.pages[f"/guide/n{night}.html"] = html(f"N{night}", "<p>One night only.</p>")
        site.pages.pop(f"/guide/n{night - 1}.html", None)
        given = {"source": "mine", "emit": "changes"}
        run_crawl(f"{site.url}/", arguments=given, options=NOBODY if night in {1, 2} else ())
        if night == 2:
            continue  # the reader sleeps
        done = scrapy(tmp_path, "export", "mine", "--since", str(greatest))
        for document in map(json.loads, done.stdout.splitlines()):
            seen[document["url"]] = document["content_hash"]
            greatest = max(greatest, document["seq"])
    now = run_crawl(f"{site.url}/", arguments={"source": "mine"})
    expected = {document["url"]: document["content_hash"] for document in now.documents}
    assert {url: digest for url, digest in seen.items() if digest} == expected
