"""One page, in whatever way works: a provider, its own content, else the llms.txt of its directory. No Scrapy here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from llmsspider import llmstxt, markdown
from llmsspider.discovery import Answer, Fetch
from llmsspider.discovery.files import judge
from llmsspider.errors import ErrorKind
from llmsspider.filetypes import classify
from llmsspider.pages import Answered, PageResult, normalised, utc_now
from llmsspider.providers import Provider
from llmsspider.urls import without_fragment

logger = logging.getLogger(__name__)


@dataclass(slots=True, frozen=True)
class Obtained:
    """The content of a page and the answer it was read from."""

    answered: Answered
    result: PageResult


class PageFailedError(Exception):
    """A page could not be had. `kind` is None where it answered, but holds no text."""

    def __init__(self, message: str, *, kind: ErrorKind | None, status: int | None = None):
        super().__init__(message)
        self.kind = kind
        self.status = status


Extract = Callable[[], Awaitable[Obtained]]
"""Downloads and converts the page itself; raises `PageFailedError`."""


async def obtain(url: str, fetch: Fetch, extract: Extract, providers: Sequence[Provider]) -> Obtained:
    """Return the page.

    Args:
        url: the page's address.
        fetch: downloads one other URL.
        extract: gets the page's own content.
        providers: asked first, in their order.

    Raises:
        PageFailedError: of the page itself, when nothing else had it either.
    """
    provided = await _provided(url, fetch, providers)
    if provided is not None:
        return provided
    try:
        own = await extract()
        if not own.result.page.markdown.strip():
            raise PageFailedError("the page holds no text", kind=None, status=own.answered.status)
    except PageFailedError as error:
        logger.debug("Extraction failed for %(url)s: %(error)s", {"url": url, "error": error})
        fallback = await _fallback(url, fetch)
        if fallback is None:
            raise
        return fallback
    return own


async def _provided(url: str, fetch: Fetch, providers: Sequence[Provider]) -> Obtained | None:
    for provider in providers:
        for source in provider.sources(url):
            answer = await fetch(source.url)
            if answer.ok and answer.status == 200 and _is_text(answer):
                page = markdown.read(provider.markdown(answer.text), source.base)
                if page.markdown.strip():
                    return Obtained(_answered(url, answer), PageResult(page, "markdown"))
            logger.debug("%(url)s: nothing at %(source)s", {"url": url, "source": source.url})
    return None


def _is_text(answer: Answer) -> bool:
    return classify(answer.content_type, answer.body, markdown_form=True) in {"markdown", "text"}


async def _fallback(url: str, fetch: Fetch) -> Obtained | None:
    """Return the llms.txt that covers the page, as it is; None, with one warning, where there is none."""
    tried: list[str] = []
    for candidate in llmstxt.candidates(url):
        logger.debug("Trying %(candidate)s in place of %(url)s", {"candidate": candidate, "url": url})
        answer = await fetch(candidate, max_bytes=llmstxt.MAX_BYTES)
        verdict = judge(answer, candidate, main=True)
        if verdict.kind is not None:
            result = _llms_txt(answer)
            logger.info(
                "Took %(candidate)s in place of %(url)s: %(length)d characters",
                {"candidate": candidate, "url": url, "length": len(result.page.markdown)},
            )
            return Obtained(_answered(url, answer), result)
        tried.append(f"{candidate} ({answer.error or verdict.reason}, status {answer.status})")
    logger.warning("No llms.txt in place of %(url)s: %(tried)s", {"url": url, "tried": "; ".join(tried)})
    return None


def _llms_txt(answer: Answer) -> PageResult:
    """Return the file as its author wrote it, titled from its H1."""
    text = normalised(answer.text)
    page = markdown.read(text, answer.final_url)
    page.markdown, page.meta.title = text, llmstxt.parse(text, answer.final_url).title
    return PageResult(page, "llms-txt")


def _answered(url: str, answer: Answer) -> Answered:
    return Answered(
        page_url=without_fragment(url),
        fetched_url=answer.final_url,
        status=answer.status,
        headers=dict(answer.headers),
        body=answer.body,
        fetched_at=utc_now(),
    )
