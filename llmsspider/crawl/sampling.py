"""A sample of the stored pages, before the first page of a crawl: whether they are as the witnesses of the site say."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from llmsspider.crawl.beginning import Phase
from llmsspider.crawl.pages import PageResponse, refused_by_page
from llmsspider.crawl.records import utc_now
from llmsspider.crawl.requests import META, RefusedRequest, kind_of_exception, nested_request
from llmsspider.store import PageState
from llmsspider.web.outcomes import kind_of_response

logger = logging.getLogger(__name__)


async def leave_out_pages(phase: Phase) -> None:
    """Decide which stored pages are not requested, if the pages of a sample are as their witness says."""
    run, ledger = phase.run, phase.run.ledger
    states = {
        key: state
        for key, state in run.known.states.items()
        if run.known.is_usable(state) and state.origin != "llms-full" and not state.is_part
    }
    urls = {key: state.url for key, state in states.items()}
    sample = ledger.plan(urls, run.config.revisit) if run.may_leave_out else []
    if ledger.by is None:
        return
    found = await asyncio.gather(*(_is_as_stored(phase, states[key]) for key in sample))
    surprises = [urls[key] for key, is_same in zip(sample, found, strict=True) if is_same is False]
    if surprises or 2 * found.count(None) > len(found):
        what = f"{surprises[0]} changed, and {ledger.by.name} did not name it" if surprises else "they failed"
        phase.note(f"stored pages were sampled: {what}; all pages are requested")
        ledger.give_up()
    else:
        phase.note(f"{len(ledger.unasked)} pages are as {ledger.by.name} says: they are not requested")


async def _is_as_stored(phase: Phase, state: PageState) -> bool | None:
    """Request a stored page as a sample, without validators; say whether its text is the stored one.

    A page that opts out now is another one. None for a page that failed: it is requested in its turn.
    """
    run, url = phase.run, state.validators_url
    headers = {"Accept": state.accept} if state.accept else None
    request = nested_request(url, headers=headers, meta={META: {"nested": True, "whole": True}})
    try:
        response = await phase.crawler.engine.download_async(request)
        answer = replace(PageResponse.from_response(response, now=utc_now()), page_url=state.url)
        kind = kind_of_response(answer.status, answer.headers, answer.body)
        if kind is not None or answer.fetched_url != url:
            return None if kind not in {None, "not_found"} else False
        if run.known.same_body(state.key, url, answer.raw_hash):
            run.sampled[state.key] = {
                name: answer.headers[name] for name in ("etag", "last-modified") if name in answer.headers
            }
            return True
        again = phase.spider.requests.stored(state)
        answer, page = await phase.spider.reader.read(again, answer, listed=True)
    except Exception as error:  # whatever kept it from being read
        logger.debug("No sample of %(url)s: %(error)r", {"url": url, "error": error})
        is_other = isinstance(error, RefusedRequest) or kind_of_exception(error) == "parse"
        return False if is_other else None
    if page is None:
        return True
    if refused_by_page(page.page.meta, answer, run.config) is not None:
        return False
    record = run.records.of_response(answer, page, depth=state.depth, by="link")
    phase.spider.documents.retitle(record, is_start=False)
    return run.known.has_text(record)
