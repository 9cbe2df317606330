"""Signed crawls: a site that takes signed requests only, seen with the eyes of its verifier."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from signatures import Verifier, guard
from site_server import Reply
from sites import MARKDOWN, html

from llmsspider.web.credentials import Signer, new_key

AGENT = "https://bot.example.org/.well-known/http-message-signatures-directory"
SITEMAP = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{base}/map.html</loc></url></urlset>"


@pytest.fixture
def keyed(tmp_path) -> tuple[dict[str, str], Verifier, str]:
    """The settings of a signed crawl, the verifier of its site, the secret of the key."""
    key, private = new_key()
    file = tmp_path / "key.json"
    file.write_text(json.dumps(private))
    directory, _ = Signer(key, AGENT).directory(AGENT, timedelta(days=1))
    return (
        {"LLMS_SIGN_KEY": str(file), "LLMS_SIGN_AGENT": AGENT},
        Verifier(directory, AGENT),
        private["d"],
    )


def test_every_request_of_a_crawl_is_accepted_and_the_key_stays_here(
    serve, run_crawl, keyed, tmp_path
):
    settings, verifier, secret = keyed
    site = serve(
        {
            **MARKDOWN,
            "/robots.txt": "User-agent: *\nAllow: /\nSitemap: {base}/sitemap.xml\n",
            "/sitemap.xml": SITEMAP,
            "/map.html": html("Map", "<p>It says <a href='/old.html'>where</a> things are.</p>"),
            "/old.html": Reply("", 301, headers={"Location": "{base}/new.html"}),
            "/new.html": html("New", "<p>The page moved here.</p>"),
        }
    )
    problems = guard(site, verifier)
    first = run_crawl(f"{site.url}/", settings=settings)
    site.clear()
    second = run_crawl(f"{site.url}/", settings=settings)
    assert not problems
    assert len(site.requests) > 8
    paths = {document["url"].removeprefix(site.url) for document in first.documents}
    assert {"/", "/guide/intro.html", "/map.html", "/new.html"} <= paths
    assert {document["change"] for document in second.documents} == {"unchanged"}
    kept = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "key.json"]
    assert kept
    assert not [file for file in kept if secret.encode() in file.read_bytes()]


def test_without_a_key_nothing_is_signed(serve, run_crawl):
    site = serve(MARKDOWN)
    run_crawl(f"{site.url}/")
    assert not {
        name for seen in site.requests for name in seen.headers if name.startswith("signature")
    }


def test_a_site_that_wants_more_signed_gets_it_once_asked(serve, run_crawl, keyed):
    settings, verifier, _ = keyed
    site = serve(MARKDOWN)
    problems = guard(site, verifier)
    asked = Reply(
        "more",
        401,
        headers={"Accept-Signature": 'sig1=("@authority" "@method" "@path");tag="web-bot-auth"'},
    )

    def more(page):
        return lambda seen: page(seen) if '"@path"' in seen.headers["signature-input"] else asked

    site.pages = {path: more(page) for path, page in site.pages.items()}
    site.missing = more(site.missing)
    outcome = run_crawl(f"{site.url}/", settings={**settings, "CONCURRENT_REQUESTS": 1})
    assert not problems
    assert {document["url"].removeprefix(site.url) for document in outcome.documents} >= {
        "/",
        "/guide/intro.html",
    }
    assert [seen.status for seen in site.requests].count(401) == 1


WRONG = {
    "no file": ({"LLMS_SIGN_KEY": "nowhere.json"}, r"LLMS_SIGN_KEY: nowhere\.json: No such file"),
    "no key": ({"LLMS_SIGN_KEY": str(Path(__file__))}, "an Ed25519 private key, as JWK or PEM"),
    "no address": (
        {"LLMS_SIGN_AGENT": "bot.example.org"},
        "LLMS_SIGN_AGENT.*an http or https URL is accepted",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_key_or_agent_is_one_line_and_nothing_is_fetched(serve, run_crawl, name):
    settings, line = WRONG[name]
    site = serve(MARKDOWN)
    outcome = run_crawl(f"{site.url}/", settings=settings)
    assert outcome.exit_code == 2
    assert re.search(line, outcome.log)
    assert not site.requests


def test_a_key_and_its_directory_are_made_on_the_command_line(scrapy, tmp_path):
    made = scrapy(tmp_path, "sign", "keygen", "key.json")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "key.json").stat().st_mode & 0o077 == 0
    again = scrapy(tmp_path, "sign", "keygen", "key.json")
    assert again.returncode == 2
    assert "key.json exists already" in again.stderr
    given = (
        "-s",
        "LLMS_SIGN_KEY=key.json",
        "-s",
        f"LLMS_SIGN_AGENT={AGENT}",
        "-o",
        "directory.json",
    )
    written = scrapy(tmp_path, "sign", "directory", *given)
    assert written.returncode == 0, written.stderr
    directory = json.loads((tmp_path / "directory.json").read_text())
    assert set(directory["keys"][0]) == {"kty", "crv", "x", "kid"}
    headers = dict(
        line.split(": ", 1)
        for line in (tmp_path / "directory.json.headers").read_text().splitlines()
    )
    assert headers["Content-Type"] == "application/http-message-signatures-directory+json"
    assert 'tag="http-message-signatures-directory"' in headers["Signature-Input"]
    for arguments, line in (
        (["sign"], "say `sign keygen FILE`"),
        (["sign", "directory"], "LLMS_SIGN_KEY is missing"),
    ):
        refused = scrapy(tmp_path, *arguments)
        assert refused.returncode == 2
        assert line in refused.stderr
