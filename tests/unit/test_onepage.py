"""One page: provider, extraction, llms.txt, in this order, and what the log says."""

from __future__ import annotations

import asyncio
import logging

import pytest

from llmsspider.crawler.pages import PageResponse, PageResult
from llmsspider.items import Page, PageMeta
from llmsspider.site.discovered import FetchResult
from llmsspider.site.providers import Source
from llmsspider.spiders.page import FetchedPage, PageFailedError, obtain

URL = "https://e.com/docs/guide/intro"
LLMS_TXT = "# The manual\n\n> What it is.\n\n- [Intro](/docs/guide/intro)\n"
OWN = "# Intro\n\nHow to begin.\n"


class Web:
    """Answers by URL; the rest is not found. Remembers what was asked."""

    def __init__(self, pages: dict[str, str]):
        self.pages = pages
        self.asked: list[str] = []

    async def __call__(
        self, url: str, *, accept: str | None = None, max_bytes: int | None = None
    ) -> FetchResult:
        self.asked.append(url)
        if url not in self.pages:
            return FetchResult(url, url, 404, {}, b"", error="not_found", message="HTTP status 404")
        return FetchResult(url, url, 200, {"content-type": "text/plain"}, self.pages[url].encode())


class Wiki:
    def sources(self, url: str) -> list[Source]:
        return [
            Source("https://raw.e.com/missing.md", url),
            Source("https://raw.e.com/intro.md", url),
        ]

    def markdown(self, text: str) -> str:
        return text.replace("{{title}}", "# Intro")


def extraction(outcome: str | PageFailedError):
    async def extract() -> FetchedPage:
        if isinstance(outcome, PageFailedError):
            raise outcome
        answered = PageResponse(URL, URL, 200, {}, outcome.encode(), "2030-01-01T00:00:00+00:00")
        return FetchedPage(answered, PageResult(Page(outcome, [], [], PageMeta()), "html"))

    return extract


def got(web: Web, outcome: str | PageFailedError, providers=()) -> FetchedPage:
    return asyncio.run(obtain(URL, web, extraction(outcome), providers))


FAILED = PageFailedError("HTTP status 404", kind="not_found", status=404)
TEXTS = [
    pytest.param("", "llms-txt", id="empty string"),
    pytest.param(" \n\t\n", "llms-txt", id="white space"),
    pytest.param(OWN, "html", id="valid text"),
    pytest.param(FAILED, "llms-txt", id="failed"),
]


@pytest.mark.parametrize(("outcome", "origin"), TEXTS)
def test_the_llms_txt_stands_in_for_a_page_without_text(outcome, origin):
    found = got(Web({"https://e.com/docs/guide/llms.txt": LLMS_TXT}), outcome)
    assert found.result.origin == origin
    assert found.answered.page_url == URL


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The records of the project; other tests may have asyncio log, too."""
    return [record for record in caplog.records if record.name.startswith("llmsspider")]


@pytest.mark.parametrize(
    "place",
    ["/docs/guide/llms.txt", "/docs/llms.txt", "/llms.txt", "/.well-known/llms.txt"],
    ids=lambda place: place,
)
def test_fallback_success_raw_and_titled_from_its_h1(place, caplog):
    caplog.set_level(logging.DEBUG, "llmsspider.spiders.page")
    found = got(Web({f"https://e.com{place}": LLMS_TXT}), FAILED)
    assert found.result.page.markdown == LLMS_TXT
    assert found.result.page.meta.title == "The manual"
    assert (found.answered.page_url, found.answered.fetched_url) == (URL, f"https://e.com{place}")
    said = [(record.levelname, record.getMessage()) for record in ours(caplog)]
    assert said[0] == ("DEBUG", f"Extraction failed for {URL}: HTTP status 404")
    assert ("DEBUG", f"Trying https://e.com{place} in place of {URL}") in said
    assert said[-1] == (
        "INFO",
        f"Took https://e.com{place} in place of {URL}: {len(LLMS_TXT)} characters",
    )


def test_fallback_not_found_reports_the_pages_own_error(caplog):
    caplog.set_level(logging.INFO, "llmsspider.spiders.page")  # whatever tests before it set
    with pytest.raises(PageFailedError) as failure:
        got(Web({}), FAILED)
    assert failure.value is FAILED
    (record,) = ours(caplog)
    assert record.levelname == "WARNING"
    assert "https://e.com/docs/guide/llms.txt (not_found, status 404)" in record.getMessage()


def test_an_empty_page_without_a_fallback_has_no_error_kind():
    with pytest.raises(PageFailedError) as failure:
        got(Web({}), "")
    assert (failure.value.kind, failure.value.status) == (None, 200)


def test_extraction_wins_and_no_llms_txt_is_asked():
    web = Web({"https://e.com/docs/guide/llms.txt": LLMS_TXT})
    assert got(web, OWN).result.page.markdown == OWN
    assert web.asked == []


def test_the_most_specific_llms_txt_wins():
    web = Web({"https://e.com/docs/llms.txt": LLMS_TXT, "https://e.com/llms.txt": LLMS_TXT})
    assert got(web, "").answered.fetched_url == "https://e.com/docs/llms.txt"
    assert web.asked == ["https://e.com/docs/guide/llms.txt", "https://e.com/docs/llms.txt"]


@pytest.mark.parametrize(
    "body", ["<!doctype html><h1>Not here</h1>", "short", '{"error": "not found, sorry"}']
)
def test_what_is_no_llms_txt_does_not_stand_in(body):
    with pytest.raises(PageFailedError):
        got(Web({"https://e.com/docs/guide/llms.txt": body}), FAILED)


def test_a_provider_goes_first():
    web = Web({"https://raw.e.com/intro.md": "{{title}}\n\nSee [more](more).\n"})
    found = got(web, FAILED, [Wiki()])
    assert found.result.page.markdown == "# Intro\n\nSee [more](https://e.com/docs/guide/more).\n"
    assert (found.result.origin, found.answered.page_url) == ("markdown", URL)
    assert web.asked == ["https://raw.e.com/missing.md", "https://raw.e.com/intro.md"]


@pytest.mark.parametrize("body", ["", " \n", "<!doctype html><html><body>Sign in</body></html>"])
def test_a_provider_that_has_nothing_is_passed_by(body):
    assert got(Web({"https://raw.e.com/intro.md": body}), OWN, [Wiki()]).result.origin == "html"


def test_the_address_of_what_stands_in_has_no_fragment():
    web = Web({"https://e.com/docs/llms.txt": LLMS_TXT})
    found = asyncio.run(obtain(f"{URL}#part", web, extraction(FAILED), ()))
    assert found.answered.page_url == URL
