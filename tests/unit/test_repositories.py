"""Addresses of repositories, and what the links between their files mean."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from llmsspider.site.repositories import HOSTS, Address, Repository, parse_hosts, repository_at

ADDRESSES = {
    "https://github.com/o/r": ("https://github.com/o/r", ()),
    "https://github.com/o/r.git": ("https://github.com/o/r", ()),
    "https://www.github.com/o/r/": ("https://github.com/o/r", ()),
    "https://github.com/o/r/tree/v1.2": ("https://github.com/o/r", ("v1.2",)),
    "https://github.com/o/r/tree/main/a%20b/c": ("https://github.com/o/r", ("main", "a b", "c")),
    "https://gitlab.com/g/s/r": ("https://gitlab.com/g/s/r", ()),
    "https://gitlab.com/g/r/-/tree/main/docs": ("https://gitlab.com/g/r", ("main", "docs")),
    "https://github.com/o": None,
    "https://github.com/": None,
    "https://github.com/topics/python": None,
    "https://github.com/o/r/issues": None,
    "https://github.com/o/r/tree": None,
    "https://github.com/o/r/blob/main/README.md": None,
    "https://gitlab.com/g/r/-/issues": None,
    "https://docs.github.com/en/rest": None,
    "https://example.com/o/r": None,
}


@pytest.mark.parametrize(("url", "expected"), ADDRESSES.items(), ids=ADDRESSES)
def test_addresses(url: str, expected: tuple[str, tuple[str, ...]] | None):
    found = repository_at(url)
    assert (found and (found.web, found.path)) == expected


def test_the_api_of_a_host():
    own = parse_hosts('{"Git.Example.com:8443": "github", "github.com": "off"}')
    assert own == {**HOSTS, "git.example.com:8443": "github", "github.com": "off"}
    found = repository_at("http://git.example.com:8443/o/r", own)
    assert isinstance(found, Address)
    assert found.project == "http://git.example.com:8443/api/v3/repos/o/r"
    assert repository_at("https://github.com/o/r", own) is None
    assert Address("github", "https://github.com/o/r").project == "https://api.github.com/repos/o/r"
    assert (
        Address("gitlab", "https://gitlab.com/g/s/r").project
        == "https://gitlab.com/api/v4/projects/g%2Fs%2Fr"
    )


@pytest.mark.parametrize("value", ["github", "[1]", '{"a.b": "svn"}', "{", 3])
def test_hosts_that_are_none(value: object):
    with pytest.raises(ValueError, match="accepted"):
        parse_hosts(value)


FILES = (
    "README.md",
    "docs/index.md",
    "docs/a b.md",
    "docs/guide/readme.rst",
    "docs/guide/x.md",
    "docs/y.ipynb",
)
BLOB = "https://github.com/o/r/blob/feature/x/"
RAW = "https://raw.githubusercontent.com/o/r/feature/x/"
TREE = "https://github.com/o/r/tree/feature/x/"
LINKS = {
    "x.md": f"{BLOB}docs/guide/x.md",
    "./x.md#part": f"{BLOB}docs/guide/x.md#part",
    "x": f"{BLOB}docs/guide/x.md",
    "x.html": f"{BLOB}docs/guide/x.md",
    "..": f"{BLOB}docs/index.md",
    "../": f"{BLOB}docs/index.md",
    "../guide": f"{BLOB}docs/guide/readme.rst",
    "../guide/index.html": f"{BLOB}docs/guide/index.html",
    "../a%20b.md": f"{BLOB}docs/a%20b.md",
    "/docs/y.ipynb": f"{BLOB}docs/y.ipynb",
    "/": f"{BLOB}README.md",
    "../../src/": f"{TREE}src",
    "../../src/a.py": f"{BLOB}src/a.py",
    "../pic.PNG": f"{RAW}docs/pic.PNG",
    "#here": f"{BLOB}docs/guide/readme.rst#here",
    "https://e.com/a": "https://e.com/a",
    "mailto:a@e.com": "mailto:a@e.com",
    "https://github.com/o/r": f"{BLOB}README.md",
    "https://github.com/o/r/blob/HEAD/docs/a%20b.md#l": f"{BLOB}docs/a%20b.md#l",
    f"{RAW}docs/guide/x.md": f"{BLOB}docs/guide/x.md",
    "https://github.com/o/r/issues": "https://github.com/o/r/issues",
}


@pytest.mark.parametrize(("href", "target"), LINKS.items(), ids=LINKS)
def test_links_between_files(href: str, target: str):
    repository = Repository("github", "https://github.com/o/r", "feature/x", FILES)
    assert repository.join(href, f"{BLOB}docs/guide/readme.rst") == target


def test_a_page_and_its_file():
    repository = Repository("gitlab", "https://gitlab.com/g/r", "main", FILES)
    page = "https://gitlab.com/g/r/-/blob/main/docs/a%20b.md"
    assert repository.has_page(page)
    assert repository.file_of(page) == "https://gitlab.com/g/r/-/raw/main/docs/a%20b.md"
    assert repository.page_of(repository.file_of(page)) == page
    assert repository.page_of("https://gitlab.com/g/r/-/issues") is None
    assert Repository.from_dict(asdict(repository)) == repository
    assert Repository.from_dict(None) is None
    assert Repository.from_dict({"kind": "github"}) is None
