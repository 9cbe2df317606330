"""Where a provider finds the Markdown of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmsspider.site.providers import GitHub

DOCS = Path(__file__).resolve().parents[2] / "docs"
RAW = "https://raw.githubusercontent.com"


@pytest.mark.parametrize(
    ("url", "first"),
    [
        pytest.param("https://github.com/o/r", f"{RAW}/o/r/HEAD/README.md", id="front page"),
        pytest.param(
            "https://github.com/o/r/", f"{RAW}/o/r/HEAD/README.md", id="front page with slash"
        ),
        pytest.param(
            "https://www.github.com/o/r.git?tab=readme#top",
            f"{RAW}/o/r/HEAD/README.md",
            id="clone URL",
        ),
        pytest.param("https://github.com/o/r/tree/dev", f"{RAW}/o/r/dev/README.md", id="branch"),
        pytest.param(
            "https://github.com/o/r/tree/dev/a/b", f"{RAW}/o/r/dev/a/b/README.md", id="folder"
        ),
        pytest.param(
            "https://github.com/o/r/blob/v1.0/docs/a.md", f"{RAW}/o/r/v1.0/docs/a.md", id="file"
        ),
        pytest.param(
            "https://github.com/o/r/blob/main/a%20b.MDX?plain=1#L3",
            f"{RAW}/o/r/main/a%20b.MDX",
            id="MDX file",
        ),
        pytest.param("https://github.com/o/r/blob/main/setup.py", None, id="code"),
        pytest.param("https://github.com/o/r/blob/main", None, id="no file"),
        pytest.param("https://github.com/o/r/issues/1", None, id="issue"),
        pytest.param("https://github.com/o", None, id="owner"),
        pytest.param("https://gist.github.com/o/r", None, id="another host"),
        pytest.param("https://github.com.evil.example/o/r", None, id="a host that looks like it"),
    ],
)
def test_github_sources(url, first):
    sources = GitHub().sources(url)
    assert [source.url for source in sources][:1] == ([first] if first else [])


def test_relative_links_of_a_file_lead_to_its_neighbours_on_the_site():
    (source,) = GitHub().sources("https://github.com/o/r/blob/main/docs/a.md")
    assert source.base == "https://github.com/o/r/blob/main/docs/a.md"
