"""`llmsspider.resolve(url)`: content and graph of a site, from Python."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import pytest

import llmsspider
from llmsspider.errors import ArgumentsError, InvalidUrlError, ResolveError

LOCAL = {"LLMS_ALLOW_PRIVATE_ADDRESSES": "127.0.0.1", "LLMS_CONVERT_WORKERS": 0}


def page(title: str, *links: str) -> str:
    body = "".join(f"<p><a href='{link}'>to {link}</a></p>" for link in links)
    main = f"<h1>{title}</h1><p>Text.</p>{body}"
    return f"<html><head><title>{title}</title></head><body><main>{main}</main></body></html>"


def titles(content: str) -> list[str]:
    return re.findall(r"^# (.+)$", content, flags=re.MULTILINE)


@pytest.mark.usefixtures("quick_crawls")
def test_content_and_graph_of_a_small_site(serve):
    site = serve(
        {
            "/": page("A", "b.html", "gone.html", "c.html"),
            "/b.html": page("B"),
            "/c.html": page("C"),
        }
    )
    content, graph = llmsspider.resolve(f"{site.url}/", settings=LOCAL)
    assert titles(content) == ["A", "B", "C"]
    nodes = {node["url"].rpartition("/")[2]: node for node in graph["nodes"]}
    assert [nodes[name]["title"] for name in ("", "b.html", "c.html")] == ["A", "B", "C"]
    gone = nodes.pop("gone.html")
    assert (gone["status"], gone["error"]["status"]) == ("error", 404)
    assert {(node["status"], node["error"]) for node in nodes.values()} == {("completed", None)}


@pytest.mark.usefixtures("quick_crawls")
def test_depth_1_leaves_out_what_lies_two_links_away(serve):
    site = serve({"/": page("A", "b.html"), "/b.html": page("B", "c.html"), "/c.html": page("C")})
    content, graph = llmsspider.resolve(f"{site.url}/", depth=1, settings=LOCAL)
    assert titles(content) == ["A", "B"]
    assert len(graph["nodes"]) == 2


@pytest.mark.usefixtures("quick_crawls")
def test_a_root_that_is_not_there_is_a_clear_error(serve):
    site = serve({})
    with pytest.raises(ResolveError, match=r"nothing was obtained from .*404"):
        llmsspider.resolve(f"{site.url}/", settings=LOCAL)


@pytest.mark.usefixtures("quick_crawls")
def test_with_a_store_the_second_call_fetches_only_what_changed(serve, tmp_path):
    site = serve({"/": page("A", "b.html"), "/b.html": page("B")})
    site.etags = True
    first = llmsspider.resolve(f"{site.url}/", settings=LOCAL, store=tmp_path / "store")
    site.clear()
    assert (
        llmsspider.resolve(f"{site.url}/", settings=LOCAL, store=tmp_path / "store").content
        == first.content
    )
    assert {seen.status for seen in site.requests if seen.path == "/b.html"} == {304}
    site.pages.clear()
    again = llmsspider.resolve(f"{site.url}/", settings=LOCAL, store=tmp_path / "store")
    assert again.content == first.content, "a site without its pages leaves what is stored"


def test_mistakes_are_errors_of_their_own(serve):
    with pytest.raises(InvalidUrlError):
        llmsspider.resolve("docs.example.com")
    with pytest.raises(ArgumentsError, match="max_page"):
        llmsspider.resolve("https://e.com/", arguments={"max_page": "3"})


def test_a_crawl_that_takes_too_long_is_stopped(serve):
    def slow(_seen):
        time.sleep(1)
        return page("A", *(f"{number}.html" for number in range(1000)))

    site = serve({"/": page("A", "b.html")})
    site.missing = slow
    with pytest.raises(ResolveError, match=r"the crawl took longer than 2 s"):
        llmsspider.resolve(f"{site.url}/", settings=LOCAL, timeout_secs=2)


def test_settings_are_in_no_process_list(serve):
    site = serve({"/": page("A")})
    seen: set[bytes] = set()

    def listed(_seen):
        seen.update(_command_lines())
        return page("A")

    site.pages["/"] = listed
    auth = {site.url: {"Authorization": "Bearer very-secret-token"}}
    llmsspider.resolve(f"{site.url}/", settings={**LOCAL, "LLMS_HTTP_AUTH": auth})
    assert any(b"crawl_into_pipe" in line for line in seen)
    assert not any(b"very-secret-token" in line for line in seen)
    assert site.requests[-1].headers["authorization"] == "Bearer very-secret-token"


def _command_lines() -> set[bytes]:
    found = set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.add(process.read_bytes())
    return found
