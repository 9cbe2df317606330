"""What becomes of the pages that still wait when a crawl ends: nothing that was found is lost. No Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmsspider.crawl.page_checks import drop_reason
from llmsspider.items import content_hash
from llmsspider.web.urls import identity, page_key

if TYPE_CHECKING:
    from llmsspider.crawl.run import Run


def give_up_failed_pages(run: Run) -> None:
    """Count the lost pages that were not asked again as errors; the stored ones stay."""
    for lost in run.retries.take(len(run.retries.waiting)):
        run.fail(lost.url, lost.kind, lost.message, lost.status)
        _keep_stored(run, page_key(lost.url))


def keep_suspects(run: Run) -> None:
    """Keep the stored pages of a stopped crawl whose answers were not judged; new ones are for the next crawl."""
    for suspect, _record in run.suspects.take():
        _keep_stored(run, suspect.key)


def _keep_stored(run: Run, key: bytes) -> None:
    """Confirm a stored page that has no document in this run, so that a run which continues this one has it."""
    state = run.known.state(key)
    record = run.store.load_page(state.key) if state is not None and run.is_open else None
    if record is not None and run.is_first(record):
        run.record(record, confirmed=True)


def store_pending_pages(run: Run) -> None:
    """Store the pages of a stopped crawl that waited, for their Markdown or for its end; a replay has them.

    Those that pipelines of the user were to see first are left to the next crawl.
    """
    if run.config.own_code:
        return
    pending = run.pending_pages.waiting
    waiting = [(page.record, page.confirmed) for page in (pending.pop(key) for key in list(pending))]
    waiting += [(record, False) for record in run.moved_pages.take()]
    for record, confirmed in waiting:
        content = record.content or ""
        known = run.known.state(record.key) is not None
        in_scope = run.bounds.allowed(record.url) and run.arguments.follow != "listed"
        dropped = drop_reason(content, record.title, min_characters=run.config.min_characters)
        record.content_hash = content_hash(content)
        is_document = in_scope and not dropped and record.content_hash not in run.site.soft404_hashes
        if run.is_first(record) and (known or (is_document and run.arguments.mode == "crawl")):
            run.site.forms_of(record.url).missed.pop(identity(record.url), None)
            run.record(record, confirmed=confirmed or not is_document)
            run.count("stored-at-stop")
