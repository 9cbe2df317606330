"""The host with `www.` and the one without are one site where the start page shows it."""

from __future__ import annotations

import pytest

from llmsspider.crawler.site import SiteKnowledge
from llmsspider.site.discovered import Discovery, FetchResult

WWW = "https://www.acme.example/docs/"
BARE = "http://acme.example/docs/"


@pytest.mark.parametrize(
    ("typed", "final", "canonical", "url", "page"),
    [
        (BARE, WWW, None, "http://acme.example/docs/a", "https://www.acme.example/docs/a"),
        (WWW, BARE, None, "https://www.acme.example/docs/a", "http://acme.example/docs/a"),
        (BARE, BARE, WWW, "https://www.acme.example/docs/a", "http://acme.example/docs/a"),
        (BARE, BARE, None, "https://www.acme.example/docs/a", "https://www.acme.example/docs/a"),
        (BARE, WWW, None, "http://blog.acme.example/a", "http://blog.acme.example/a"),
        (BARE, WWW, None, "http://acme.example.org/a", "http://acme.example.org/a"),
    ],
)
def test_the_page_of_an_address(typed, final, canonical, url, page):
    site = SiteKnowledge()
    site.discovered(Discovery(FetchResult(typed, final, 200), final), [], canonical)
    assert site.page_of(url) == page
