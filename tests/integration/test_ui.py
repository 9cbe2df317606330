"""The local web page over a real server: what it shows, and whom it refuses."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import ROOT, crawl
from site_server import Site
from sites import html

from llmsspider.items import THIRD_PARTY

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
PAGES = {
    "/": html("Home", "<p>Welcome.</p><a href='/wait'>wait</a> <a href='/odd'>odd</a>"),
    "/wait": html("Waiting", "<p>A request waits for thirty seconds, then it fails.</p>"),
    "/odd": html(
        HOSTILE.replace("<", "&lt;"),
        f"<p>{HOSTILE.replace('<', '&lt;')}</p><p><img src='https://e.com/p.png' alt='A plan'></p>",
    ),
}


class Shown:
    """A server of the page, asked as a browser asks."""

    def __init__(self, port: int):
        self.host = f"127.0.0.1:{port}"

    def ask(self, path: str, data: dict | None = None, **headers: str) -> tuple[int, str, dict]:
        """The status, text and headers of an answer; `data` makes it a form."""
        body = urllib.parse.urlencode(data).encode() if data is not None else None
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = urllib.request.Request(f"http://{self.host}{path}", body, given)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=60) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), dict(error.headers)

    def send(self, path: str, **data: str) -> tuple[int, str, dict]:
        """Send a form of the page."""
        key = re.search(r'name="key" value="([^"]+)"', self.ask("/source?name=docs")[1])
        assert key
        return self.ask(path, {"key": key[1], **data}, Origin=f"http://{self.host}")


@contextlib.contextmanager
def shown(folder: Path, *options: str, **variables: str) -> Iterator[Shown]:
    """Serve the page of the stores in `folder` on a free port."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["ui", "--http", f"127.0.0.1:{port}", "-s", f"LLMS_DATA_DIR={folder / 'store'}"]
    words += ["-s", "LLMS_ALLOW_PRIVATE_ADDRESSES=127.0.0.1", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "llmsspider", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            assert f"http://127.0.0.1:{port}/" in process.stderr.readline()
            page = Shown(port)
            while True:
                with contextlib.suppress(urllib.error.URLError, ConnectionError):
                    page.ask("/")
                    break
                assert process.poll() is None
            yield page
        finally:
            process.terminate()


@pytest.fixture
def site(serve, tmp_path: Path) -> Site:
    site = serve(PAGES)
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    return site


def test_sources_pages_search_and_changes(site, tmp_path):
    site.pages["/wait"] = html(
        "Waiting", "<p>A request waits for sixty seconds, then it fails.</p>"
    )
    crawl(f"{site.url}/", tmp_path, arguments={"source": "docs"})
    with shown(tmp_path) as page:
        status, text, headers = page.ask("/")
        assert (status, ">docs<" in text) == (200, True)
        assert "1 changed" in text
        assert "script-src 'self'" in headers["content-security-policy"]
        found = page.ask("/search?q=how+long+does+a+request+wait")[1]
        assert "<mark>request</mark>" in found
        link = re.search(r'href="(/page\?id=\w+)"', found)
        assert link
        assert "waits for sixty seconds" in page.ask(link[1])[1]
        assert page.ask(f"{link[1]}&tab=raw")[1].count("waits for sixty") == 1
        history = page.ask(f"{link[1]}&tab=history")[1]
        assert "<del>thirty</del>" in history
        assert "<ins>sixty</ins>" in history
        night = page.ask("/night?source=docs")[1]
        assert "1 changed" in night
        assert "<ins>sixty</ins>" in night
        assert "Home" in page.ask(f"{link[1]}&tab=links")[1]
        for view in ("/search?q=wait", link[1], f"{link[1]}&tab=raw", "/night?source=docs"):
            text = page.ask(view)[1]
            assert text.index(THIRD_PARTY) < text.index("sixty"), view
        assert page.ask("/page?id=nothing")[0] == 400
        assert page.ask("/nowhere")[0] == 404


def test_what_a_site_says_is_text(site, tmp_path):
    with shown(tmp_path) as page:
        views = ["/", "/source?name=docs", "/search?q=alert", f"/page?id={site.url}/odd"]
        views += [f"/page?id={site.url}/odd&tab={tab}" for tab in ("raw", "chunks", "links")]
        views += ["/night?source=docs", f"/search?q={urllib.parse.quote(HOSTILE)}"]
        for view in views:
            status, text, _ = page.ask(view)
            assert status == 200
            assert "<script>alert" not in text
            assert "<img src=x" not in text
        odd = page.ask(f"/page?id={site.url}/odd")[1]
        assert "picture: A plan" in odd
        assert "<img" not in odd
        assert "<img" in page.ask(f"/page?id={site.url}/odd&pictures=1")[1]


def test_nothing_is_started_unless_it_is_allowed(site, tmp_path):
    with shown(tmp_path) as page:
        assert "Crawl again" not in page.ask("/source?name=docs")[1]
        own = {"Origin": f"http://{page.host}"}
        for path in ("/add", "/recrawl", "/stop", "/delete"):
            status, text, _ = page.ask(path, {"name": "docs", "key": "x"}, **own)
            assert status == 400
            assert "Not done" in text


def test_forms_of_others_are_refused(site, tmp_path):
    with shown(tmp_path, "--allow-crawl") as page:
        form = {"name": "docs", "typed": "docs"}
        assert page.ask("/delete", form)[0] == 403
        assert page.ask("/delete", form, Origin="http://evil.example")[0] == 403
        assert page.ask("/delete", form, Origin=f"http://{page.host}")[0] == 400
        assert page.ask("/", Host="evil.example")[0] == 421
        for url in (str(tmp_path), tmp_path.as_uri(), "ftp://e.com/"):
            assert page.send("/add", url=url)[0] == 400
            assert page.ask(f"/add?url={urllib.parse.quote(url)}")[0] == 400
        assert ">docs<" in page.ask("/")[1]


def test_a_source_is_looked_at_added_and_deleted(site, serve, tmp_path):
    other = serve(
        {"/": html("Other", "<p>Another site.</p><a href='/b'>b</a>"), "/b": html("B", "<p>B.</p>")}
    )
    name = other.url.removeprefix("http://")
    with shown(tmp_path, "--allow-crawl") as page:
        plan = page.ask(f"/add?url={urllib.parse.quote(other.url + '/')}")[1]
        assert "What a crawl would do" in plan
        page.send("/add", url=f"{other.url}/")
        while "2 new" not in page.ask("/")[1]:
            pass
        assert page.send("/delete", name=name, typed="other")[0] == 400
        assert name in page.ask("/")[1]
        page.send("/delete", name=name, typed=name)
        assert name not in page.ask("/")[1]
        assert ">docs<" in page.ask("/")[1]


def test_a_token_is_needed_beyond_this_machine(site, tmp_path):
    refused = subprocess.run(
        [sys.executable, "-m", "llmsspider", "ui", "--http", "0.0.0.0:8809"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "LLMSSPIDER_UI_TOKEN" in refused.stderr
    with shown(tmp_path, LLMSSPIDER_UI_TOKEN="s3cret") as page:
        assert page.ask("/")[0] == 401
        assert page.ask("/", Authorization="Bearer wrong")[0] == 401
        assert page.ask("/", Authorization="Bearer s3cret")[0] == 200
        assert page.ask("/", Authorization="Basic dTpzM2NyZXQ=")[0] == 200


def test_the_doctor_says_what_is_there(site, tmp_path):
    def doctor(*places: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "llmsspider", "doctor", *places],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LLMS_DATA_DIR": str(tmp_path / "store")},
            capture_output=True,
            text=True,
            check=False,
        )

    well = doctor()
    assert (well.returncode, well.stderr) == (0, "")
    assert "✓ docs: 3 pages can be read (INDEXED)" in well.stdout
    (store,) = (tmp_path / "store").glob("*.sqlite")
    store.write_bytes(b"damaged" * 1000)
    ill = doctor()
    assert ill.returncode == 1
    assert re.search(r"(?m)^✗ .*docs", ill.stdout), ill.stdout
    assert doctor(str(tmp_path / "nothing")).returncode == 2
