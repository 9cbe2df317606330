"""Bad input: one clear line, the right exit code, nothing lost."""

from __future__ import annotations

import socket
import threading

import pytest
from crawling import command
from fault_timeouts import cut_short
from forked import HANGS_SECS
from site_server import TYPES, Reply, Seen
from sites import PLAIN, html

from llmsspider.store.database import source_file

LISTING = "# Site\n\n- [Intro](/guide/intro.html)\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], "argument url is missing", id="no URL"),
        pytest.param(["url=invalid-url"], "invalid_url: 'invalid-url'", id="no scheme"),
        pytest.param(["url=http://"], "invalid_url", id="no host"),
        pytest.param(["url=http://[::1"], "invalid_url", id="broken IPv6"),
        pytest.param(["url=ftp://example.com/"], "invalid_url", id="ftp"),
        pytest.param(
            ["url=file:///no/such/folder"], "No such file or directory", id="no such folder"
        ),
        pytest.param(
            ["url=file://host/share"], "names no file of this machine", id="folder elsewhere"
        ),
        pytest.param(["url=./no-such-folder"], "No such file or directory", id="no such path"),
        pytest.param(
            ["url=https://e.com/", "llms_txt=file:///a"],
            "which only the argument url",
            id="only as url",
        ),
        pytest.param(
            ["url=https://e.com/", "scope=planet"],
            "'auto', 'section', 'host', 'domain'",
            id="choice",
        ),
        pytest.param(["url=https://e.com/", "max_pages=many"], "max_pages='many'", id="number"),
        pytest.param(["url=https://e.com/", "max_pages=-1"], "max_pages='-1'", id="negative"),
        pytest.param(["url=https://e.com/", "maxpages=1"], "did you mean max_pages?", id="unknown"),
        pytest.param(["url=https://e.com/", "profile=none"], "accepted are", id="profile"),
    ],
)
def test_wrong_arguments_exit_2_with_a_line_and_fetch_nothing(tmp_path, arguments, expected):
    outcome = command(
        "crawl", "docs", *(part for pair in arguments for part in ("-a", pair)), cwd=tmp_path
    )
    assert outcome.exit_code == 2
    assert len(outcome.log.splitlines()) == 1
    assert expected in outcome.log
    assert not list(tmp_path.iterdir())


def test_every_mistake_has_its_line(tmp_path):
    outcome = command("crawl", "docs", "-a", "url=x", "-a", "scope=y", "-a", "zzz=1", cwd=tmp_path)
    assert len(outcome.log.splitlines()) == 3


def test_a_wrong_setting_exits_2(tmp_path):
    outcome = command(
        "crawl", "docs", "-a", "url=https://e.com/", "-s", "LLMS_LINK_DEPTH=deep", cwd=tmp_path
    )
    assert outcome.exit_code == 2
    assert "LLMS_LINK_DEPTH='deep'" in outcome.log


NUMBER = "a number of 0 or more is accepted"
WHOLE = "a whole number of 0 or more is accepted"
OF_SCRAPY = {
    "DOWNLOAD_DELAY=abc": NUMBER,
    "DOWNLOAD_TIMEOUT=-1": NUMBER,
    "AUTOTHROTTLE_MAX_DELAY=inf": NUMBER,
    "RETRY_TIMES=2.5": WHOLE,
    "CONCURRENT_REQUESTS=0": "a whole number of 1 or more is accepted",
    "DEPTH_PRIORITY=high": "a whole number is accepted",
    "ROBOTSTXT_OBEY=maybe": "True or False is accepted",
    "LOG_LEVEL=FOO": "CRITICAL, ERROR, WARNING, INFO or DEBUG is accepted",
    "RETRY_HTTP_CODES=500,abc": "status codes, separated by commas, are accepted",
    "FEED_EXPORT_ENCODING=utf-99": "the name of an encoding, such as utf-8, is accepted",
    "LOG_FILE=nowhere/log.txt": "a file in a folder that exists is accepted",
    "SCHEDULER=no.Scheduler": "the path of a class is accepted (ModuleNotFoundError: No module named 'no')",
    "ITEM_PIPELINES=foo": "a dict is accepted, on the command line as JSON",
}


@pytest.mark.parametrize(("given", "accepted"), OF_SCRAPY.items(), ids=OF_SCRAPY)
def test_a_wrong_setting_of_scrapy_is_one_line_and_exit_code_2(tmp_path, given, accepted):
    outcome = command("crawl", "docs", "-a", "url=https://e.com/", "-s", given, cwd=tmp_path)
    assert outcome.exit_code == 2
    name, _, value = given.partition("=")
    (line,) = outcome.log.splitlines()
    assert line.endswith(f": setting {name}={value!r}: {accepted}")
    assert not list(tmp_path.iterdir())


def test_a_misspelt_setting_of_scrapy_is_named_and_the_crawl_goes_on(serve, run_crawl):
    site = serve(PLAIN)
    outcome = run_crawl(f"{site.url}/", settings={"CONCURENT_REQUESTS": 4, "SHOP_SHELVES": 3})
    assert outcome.exit_code == 0
    (line,) = (line for line in outcome.log.splitlines() if "is unknown" in line)
    assert line.endswith(
        "setting CONCURENT_REQUESTS is unknown and without effect; did you mean CONCURRENT_REQUESTS?"
    )
    assert "WARNING" in line


TYPED = {
    "an unknown spider": (
        ("crawl", "dcs"),
        "scrapy crawl dcs: there is no spider 'dcs'; did you mean docs?",
    ),
    "no spider": (("crawl",), "scrapy crawl: name one spider"),
    "an unknown option": (
        ("recrawl", "x", "--foo"),
        "scrapy recrawl: --foo is no option (see --help)",
    ),
    "no URL": (("plan",), "scrapy plan: name one url"),
    "two sources": (("recrawl", "x", "y"), "scrapy recrawl: name one source, not 2"),
    "a URL twice": (
        ("plan", "https://e.com/", "-a", "url=https://f.com/"),
        "scrapy plan: -a url=https://f.com/: the url is named already",
    ),
}


@pytest.mark.parametrize(("words", "said"), TYPED.values(), ids=TYPED)
def test_what_cannot_be_understood_is_one_line(tmp_path, words, said):
    outcome = command(*words, cwd=tmp_path)
    assert (outcome.exit_code, outcome.log.splitlines()) == (2, [said])


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("crawl", "docs", "-a", "source=kept"), id="crawl of a source"),
        pytest.param(("recrawl", "kept"), id="recrawl"),
    ],
)
def test_a_damaged_store_is_one_line_and_exit_code_1(tmp_path, words):
    damaged = source_file(tmp_path / "store", "kept")
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"x" * 3000)
    outcome = command(
        *words, "-s", f"LLMS_DATA_DIR={tmp_path / 'store'}", "-O", "docs.jsonl", cwd=tmp_path
    )
    assert outcome.exit_code == 1
    (line,) = outcome.log.splitlines()
    assert "file is not a database" in line
    assert damaged.read_bytes() == b"x" * 3000
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_underscore_arguments_are_ignored(serve, run_crawl):
    site = serve(PLAIN)
    assert run_crawl(f"{site.url}/", arguments={"_job": "abc", "_version": "1"}).exit_code == 0


OVER = threading.Event()


@pytest.fixture(autouse=True)
def end_what_never_ends():
    """Let the server answer when the test is over."""
    OVER.clear()
    yield
    OVER.set()


def never(_seen):
    OVER.wait(HANGS_SECS)
    return "late"


STARTS = [
    pytest.param(Reply("gone", 404), "not_found", id="404"),
    pytest.param(Reply("gone", 410), "not_found", id="410"),
    pytest.param(Reply("no", 403), "auth", id="403"),
    pytest.param(Reply("broken", 500), "network", id="500"),
    pytest.param(never, "network", id="timeout"),
]


@pytest.mark.parametrize(("start", "kind"), STARTS)
def test_a_failing_start_page_without_seeds_ends_with_exit_1(serve, run_crawl, start, kind):
    site = serve({"/": start})
    options = cut_short({"/": None} if start is never else {})
    options["settings"]["RETRY_TIMES"] = 0
    outcome = run_crawl(f"{site.url}/", **options)
    assert outcome.exit_code == 1
    assert outcome.stats["finish_reason"] == "start_failed"
    assert any(line.startswith("start_failed:") for line in outcome.lines)
    assert outcome.stats[f"llms/errors/{kind}"] == 1


@pytest.mark.parametrize(("start", "kind"), STARTS)
def test_a_failing_start_page_with_seeds_is_one_error(serve, run_crawl, start, kind):
    site = serve({**PLAIN, "/": start, "/llms.txt": LISTING})
    options = cut_short({"/": None} if start is never else {})
    options["settings"]["RETRY_TIMES"] = 0
    outcome = run_crawl(f"{site.url}/", **options)
    assert outcome.exit_code == (0 if kind == "not_found" else 3), "what is gone is no outage"
    assert "/guide/intro.html" in outcome.by_path(site.url)
    assert outcome.stats[f"llms/errors/{kind}"] == 1
    (said,) = [line for line in outcome.lines[-3:] if line.startswith("the start page failed")]
    assert f"{site.url}/ ({kind}: " in said


def test_a_host_that_does_not_resolve(run_crawl):
    outcome = run_crawl("http://no-such-host.invalid/", settings={"RETRY_TIMES": 0})
    assert outcome.exit_code == 1
    assert outcome.stats["llms/errors/network"] == 1


def test_a_port_where_nobody_listens(run_crawl):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    outcome = run_crawl(f"http://127.0.0.1:{port}/", settings={"RETRY_TIMES": 0})
    assert outcome.exit_code == 1
    assert outcome.stats["finish_reason"] == "start_failed"


def test_a_start_page_without_text_ends_with_no_documents(serve, run_crawl):
    site = serve({"/": "<html><body></body></html>"})
    outcome = run_crawl(f"{site.url}/")
    assert outcome.exit_code == 1
    assert outcome.stats["finish_reason"] == "no_documents"


def too_large(_seen: Seen) -> Reply:
    return Reply(b"# x\n" + b"- [a](/b)\n" * 5_500_000, content_type=TYPES["txt"])


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Reply(html("No", "<p>Not found.</p>"), content_type=TYPES["html"]), id="HTML"),
        pytest.param(
            Reply('{"error": "not found", "links": []}', content_type=TYPES["json"]), id="JSON"
        ),
        pytest.param(
            Reply('{"error": "not found", "links": []}', content_type=TYPES["txt"]),
            id="JSON as text",
        ),
        pytest.param(Reply("", content_type=TYPES["txt"]), id="empty"),
        pytest.param(Reply(b"\0\1\2\3" * 100, content_type=TYPES["txt"]), id="binary"),
        pytest.param(too_large, id="50 MB"),
        pytest.param(
            Reply("", 302, headers={"Location": "http://localhost:9/llms.txt"}),
            id="redirected elsewhere",
        ),
        pytest.param(never, id="timeout"),
    ],
)
def test_an_unusable_llms_txt_does_not_count(serve, run_crawl, answer):
    site = serve({**PLAIN, "/llms.txt": answer})
    outcome = run_crawl(f"{site.url}/", **cut_short({"/llms.txt": None} if answer is never else {}))
    assert outcome.exit_code == 0
    assert set(outcome.by_path(site.url)) == set(PLAIN)
    assert not any("found llms.txt" in line for line in outcome.lines)


def test_a_named_llms_txt_that_fails_fails_the_run(serve, run_crawl):
    site = serve(PLAIN)
    outcome = run_crawl(f"{site.url}/", arguments={"llms_txt": f"{site.url}/other/llms.txt"})
    assert outcome.exit_code == 1
    assert "other/llms.txt" in "".join(outcome.lines)


def test_a_named_llms_txt_is_used_and_nothing_is_probed(serve, run_crawl):
    site = serve({**PLAIN, "/other/llms.txt": LISTING, "/llms.txt": "# Wrong\n\n- [x](/x.html)\n"})
    outcome = run_crawl(f"{site.url}/", arguments={"llms_txt": f"{site.url}/other/llms.txt"})
    assert (
        outcome.by_path(site.url)["/guide/intro.html"]["llms"]["file"]
        == f"{site.url}/other/llms.txt"
    )
    assert "/llms.txt" not in site.paths()


def test_a_folder_in_place_of_the_feed_of_changes_is_one_line(tmp_path):
    (tmp_path / "feed").mkdir()
    feed = f"LLMS_CHANGES_FEED={tmp_path / 'feed'}"
    outcome = command("crawl", "docs", "-a", "url=https://e.com/", "-s", feed, cwd=tmp_path)
    assert outcome.exit_code == 2
    (line,) = outcome.log.splitlines()
    assert line.endswith(
        f"{tmp_path / 'feed'} is a folder; name a file, such as {tmp_path / 'feed' / 'changes.atom'}"
    )
