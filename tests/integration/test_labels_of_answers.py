"""Answers whose headers do not say what they are: encodings, and logins in place of pages."""

from __future__ import annotations

import gzip

from OpenSSL.SSL import Error
from site_server import Reply
from sites import html

from llmsspider.web.outcomes import explained


def test_a_text_that_is_compressed_without_a_word_is_read(serve, run_crawl):
    """`identity` and `none` are no encodings."""
    links = "".join(f"<a href='/{name}'>x</a>" for name in ("gzip", "identity", "none"))
    site = serve(
        {
            "/": html("Home", f"<p>Home.</p>{links}"),
            "/gzip": Reply(gzip.compress(html("Packed", "<p>Text.</p>").encode())),
            **{
                f"/{name}": Reply(html(name, "<p>Text.</p>"), headers={"Content-Encoding": name})
                for name in ("identity", "none")
            },
        }
    )
    outcome = run_crawl(f"{site.url}/")
    documents = outcome.by_path(site.url)
    assert set(documents) == {"/", "/gzip", "/identity", "/none"}
    assert documents["/gzip"]["content"] == "# Packed\n\nText.\n"
    assert "which is not known" not in outcome.log


def test_a_run_in_which_many_new_pages_lead_to_a_login_is_not_complete(serve, run_crawl):
    names = [f"/{number}" for number in range(8)]
    links = "".join(f"<a href='{name}'>x</a>" for name in names)
    pages = {name: html(name, f"<p>Text of {name}.</p>") for name in names}
    login = Reply("", status=302, headers={"Location": "/login"})
    gone = dict.fromkeys(names[:4], login)
    site = serve({"/": html("Home", links), **pages, **gone, "/login": "<h1>Sign in</h1>"})
    outcome = run_crawl(f"{site.url}/")
    assert (len(outcome.documents), outcome.exit_code) == (5, 3)
    assert "4 of 9 pages redirect to a login" in outcome.log


def test_versions_of_tls_that_nobody_should_speak_are_named():
    error = Error([("SSL routines", "", "tlsv1 alert protocol version")])
    assert explained(error).startswith("the server speaks only versions of TLS")
