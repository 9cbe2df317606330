from __future__ import annotations

import pytest

from llmsspider.errors import InvalidUrlError
from llmsspider.site.llmstxt import candidates, directory_url, is_llms_url

FIRST_PROBES = {
    "site root": ("https://example.com/", ["https://example.com/llms.txt"]),
    "trailing slash keeps the whole path": (
        "https://docs.example.com/guide/",
        ["https://docs.example.com/guide/llms.txt"],
    ),
    "last segment dropped": (
        "https://docs.example.com/guide/intro",
        ["https://docs.example.com/guide/llms.txt"],
    ),
    "fragment dropped": (
        "https://docs.example.com/guide/intro#section1",
        ["https://docs.example.com/guide/llms.txt"],
    ),
    "directory, then root": (
        "https://docs.example.com/docs/getting-started",
        ["https://docs.example.com/docs/llms.txt", "https://docs.example.com/llms.txt"],
    ),
    "deep directory": (
        "https://example.com/docs/api/v1/",
        ["https://example.com/docs/api/v1/llms.txt"],
    ),
    "deep page": ("https://example.com/docs/api/v1", ["https://example.com/docs/api/llms.txt"]),
    "file, query and fragment": (
        "https://example.com/project/readme.md?v=1#top",
        ["https://example.com/project/llms.txt"],
    ),
    "query with two parameters": (
        "https://example.com/page?param=value&foo=bar",
        ["https://example.com/llms.txt"],
    ),
    "query and fragment": (
        "https://example.com/page?param=value#section",
        ["https://example.com/llms.txt"],
    ),
    "versioned": ("https://api.example.com/v1/docs", ["https://api.example.com/v1/llms.txt"]),
    "versioned with query": (
        "https://api.example.com/v1/docs?format=json#auth",
        ["https://api.example.com/v1/llms.txt"],
    ),
    "dots in the query": (
        "https://api.example.com/v1/docs?v=1.2#auth",
        ["https://api.example.com/v1/llms.txt"],
    ),
    "no path": ("https://example.com", ["https://example.com/llms.txt"]),
    "host in capitals, port kept": (
        "https://EXAMPLE.com:8443/a/b",
        ["https://example.com:8443/a/llms.txt"],
    ),
    "slash in the query is no path": (
        "https://example.com/a?next=/b/c/",
        ["https://example.com/llms.txt"],
    ),
    "doubled slashes": ("https://example.com//docs//a", ["https://example.com/docs/llms.txt"]),
}


@pytest.mark.parametrize(("url", "first"), FIRST_PROBES.values(), ids=FIRST_PROBES)
def test_first_probes(url: str, first: list[str]) -> None:
    assert candidates(url)[: len(first)] == first


def test_every_ancestor_then_well_known() -> None:
    assert candidates("https://example.com/a/b/c") == [
        "https://example.com/a/b/llms.txt",
        "https://example.com/a/llms.txt",
        "https://example.com/llms.txt",
        "https://example.com/.well-known/llms.txt",
    ]


def test_at_most_eight_directories_and_the_root_is_one() -> None:
    found = candidates("https://example.com/1/2/3/4/5/6/7/8/9/10/")
    assert len(found) == 9
    assert found[0] == "https://example.com/1/2/3/4/5/6/7/8/9/10/llms.txt"
    assert found[-2:] == [
        "https://example.com/llms.txt",
        "https://example.com/.well-known/llms.txt",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "invalid-url",
        "",
        "example.com/docs",
        "ftp://example.com/",
        "https://",
        "http://[::1",
        "https://a:port/",
        "//example.com/",
    ],
)
def test_invalid_url(url: str) -> None:
    with pytest.raises(InvalidUrlError):
        candidates(url)


LLMS_URLS = [
    "https://example.com/llms.txt",
    "https://example.com/docs/llms.txt",
    "https://example.com/LLMS.TXT",
    "https://example.com/llms-full.txt",
    "https://example.com/llms.md",
    "https://example.com/llms.mdx",
    "https://example.com/llms.markdown",
    "https://example.com/llms-small.txt",
    "https://example.com/llms-ctx.txt",
    "https://example.com/llms-ctx-full.txt",
    "https://example.com/llms-api_v2.0.txt",
    "https://example.com/llms/guides.txt",
    "https://example.com/LLMs/js.TXT",
    "https://example.com/llms.txt?v=2#top",
    "https://example.com/llms%2Etxt",
]
OTHER_URLS = [
    "https://example.com/",
    "https://example.com/llms",
    "https://example.com/llms/",
    "https://example.com/llms/guide.html",
    "https://example.com/my-llms.txt",
    "https://example.com/llms.txt-explained",
    "https://example.com/llms.txt/intro",
    "https://example.com/llmstxt.txt",
    "https://example.com/docs/all-llms/a.txt",
    "https://example.com/page?file=/llms.txt",
    "https://example.com/page#/llms.txt",
    "https://llms.txt/",
    "https://example.com/llms-full.html",
    "https://example.com/llms/.txt",
    "http://[broken/llms.txt",
]


@pytest.mark.parametrize("url", LLMS_URLS)
def test_llms_url(url: str) -> None:
    assert is_llms_url(url)


@pytest.mark.parametrize("url", OTHER_URLS)
def test_not_llms_url(url: str) -> None:
    assert not is_llms_url(url)


def test_directory_url() -> None:
    assert directory_url("https://example.com/a/b?x=/c/") == "https://example.com/a/"
    assert directory_url("https://example.com/a/b/") == "https://example.com/a/b/"
