"""`llmsspider convert FILE|URL|-`: real files, a real server."""

import json
import subprocess
from pathlib import Path

import pytest
from command_line import program
from office_files import pdf, word
from site_server import Reply

LOCAL = ("-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1")
PAGE = '<html lang="en"><title>Kettle</title><main><h1>Kettle</h1><p>It <a href="b">boils</a>.</p><p class="x">Off.</p></main>'


def convert(*words: str, given: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return program("convert", *words, cwd=Path.cwd(), given=given, **env)


def test_a_page_a_file_and_stdin_are_markdown(serve, tmp_path):
    site = serve(
        {
            "/a": PAGE,
            "/m": Reply("---\ntitle: T\n---\n# M\n\n[l](/k)\n", content_type="text/markdown"),
            "/moved": Reply(status=302, headers={"Location": "/a"}),
        }
    )
    whole = f"# Kettle\n\nIt [boils]({site.url}/b).\n\nOff.\n".encode()
    for path in ("/a", "/moved"):
        done = convert(f"{site.url}{path}", *LOCAL)
        assert (done.returncode, done.stdout, done.stderr) == (0, whole, b"")
    allowed = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1"}
    assert convert(f"{site.url}/m", **allowed).stdout == f"# M\n\n[l]({site.url}/k)\n".encode()
    assert "text/markdown" in site.requests[0].headers["accept"]

    page = tmp_path / "page.html"
    page.write_text(PAGE)
    cut = convert(str(page), "--url", f"{site.url}/a", "--drop", ".x", "-o", str(tmp_path / "o.md"))
    assert (cut.returncode, cut.stdout) == (0, b"")
    assert (tmp_path / "o.md").read_bytes() == whole.replace(b"\n\nOff.", b"")
    read = json.loads(convert("-", "--json", given=PAGE.encode()).stdout)
    assert (read["title"], read["language"]) == ("Kettle", "en")
    assert read["links"] == [{"text": "boils", "url": "b"}]
    assert convert("-", given=b"<p>a <b>b</b></p>").stdout == b"a **b**\n"
    assert convert("-", given=pdf("# Kettle\n")).stdout == b"# Kettle\n"
    (tmp_path / "a.docx").write_bytes(word("# Kettle"))
    assert convert(str(tmp_path / "a.docx")).stdout == b"# Kettle\n"
    assert convert("-", given=b"# T\n\n*x*\n").stdout == b"# T\n\n*x*\n"


@pytest.mark.parametrize(
    ("words", "given", "code", "said"),
    [
        (("none.html",), b"", 1, "none.html: No such file or directory"),
        (("-",), b"\x89PNG\r\n\x1a\n\0\0", 1, "-: binary data is of no format that is converted"),
        (("-",), b"<div></div>", 1, "-: it holds no text"),
        (("http://127.0.0.1:9/",), b"", 1, "127.0.0.1 is not a public address"),
        (("ftp://example.com/a",), b"", 2, "only http and https URLs are fetched"),
        (("-", "--keep", "a["), b"<p>x</p>", 2, "keep='a[' is no CSS selector"),
        (("-", "--kep", "a"), b"", 2, "--kep is no option; did you mean --keep?"),
        (("-", "-s", "ROBOTSTXT_OBEY=1"), b"", 2, "only LLMS_ALLOW_PRIVATE_ADDRESSES is accepted"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line(words, given, code, said):
    done = convert(*words, given=given)
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_a_page_that_fails_is_said(serve):
    site = serve({"/loop": Reply(status=302, headers={"Location": "/loop"})})
    for path, said in (("/gone", "HTTP 404"), ("/loop", "more than 10 redirects")):
        done = convert(f"{site.url}{path}", *LOCAL)
        assert done.returncode == 1
        assert said in done.stderr.decode()


def test_a_redirect_reaches_no_private_address(serve):
    site = serve({"/a": "<p>Private.</p>"})
    port = site.url.rpartition(":")[2]
    entry = serve({"/": Reply(status=302, headers={"Location": f"http://localhost:{port}/a"})})
    done = convert(f"{entry.url}/", "-s", f"LLMS_ALLOW_PRIVATE_ADDRESSES={entry.url[7:]}")
    assert done.returncode == 1
    assert "is not a public address" in done.stderr.decode()
    assert not site.requests
