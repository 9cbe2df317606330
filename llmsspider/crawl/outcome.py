"""What is said of the outcome of a run in one line: why nothing came of it, what it missed, and what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmsspider.web.outcomes import remedied
from llmsspider.web.urls import host

if TYPE_CHECKING:
    from llmsspider.crawl.progress import Progress
    from llmsspider.crawl.run import Run


ALLOWS = "LLMS_ALLOW_PRIVATE_ADDRESSES"
"""The setting that lists the addresses that are allowed though they are not public."""

FEW_DOCUMENTS, MANY_LINKS = 3, 5
"""With so few documents and so many links out of scope a run says how to widen its scope."""


WHAT_TO_DO = {
    "empty": 'the pages hold no text without JavaScript: install the extra "browser" and Chromium',
    "needs-browser": 'the pages need JavaScript: install the extra "browser" and Chromium',
    "out-of-scope": "widen the scope with -a scope=host or -a scope=domain",
    "ai-opt-out": "its publisher asks to be left out of AI use",
    "noindex": "the pages are marked noindex: -s LLMS_OBEY_NOINDEX=False takes them",
    "unsupported-type": "it is no page: name an HTML or Markdown page of the documentation",
}
"""What to do where no document came of the pages, by the reason that filtered most of them."""


def no_documents(filtered: Counter[str]) -> str:
    """Return what to do where pages answered and none became a document, to follow a sentence.

    >>> no_documents(Counter({"ai-opt-out": 1}))
    ': its publisher asks to be left out of AI use'
    """
    reasons = [WHAT_TO_DO[reason] for reason, _ in filtered.most_common() if reason in WHAT_TO_DO]
    return f": {reasons[0]}" if reasons else ""


def _why_no_document(progress: Progress, url: str) -> str:
    """Return what to do, and what was said of the start page, to follow a sentence."""
    remedy = no_documents(progress.filtered)
    shells = progress.filtered_examples.get(
        "needs-browser", ()
    )  # "no browser; why its OpenAPI file was not read"
    failed = [
        example for examples in progress.error_examples.values() for example in examples if example.url == url
    ]
    details = (
        [example.detail.partition("; ")[2] for example in shells]
        if remedy
        else [page.detail for page in failed]
    )
    said = next(filter(None, details), "")
    return remedy + (f"{';' if remedy else ':'} {said}" if said else "")


STORE_FAILED = (
    "the page store took no more: make room or free it, and crawl again; what was stored is whole, and nothing was "
    "deleted"
)


def advice(run: Run) -> str | None:
    """One line on why a run that has ended has no documents, or could not keep them, and what to do; else None."""
    if run.outcome == "store_failed":
        if not run.id:
            return f"nothing was fetched: {run.fault}"
        return f"{STORE_FAILED} ({run.fault})" if run.fault else STORE_FAILED
    return nothing_obtained(run) if run.outcome in {"start_failed", "no_documents"} else None


def start_failure(run: Run) -> str | None:
    """One line on a start page that failed while other pages came, or None."""
    start = run.discovery.start if run.discovery is not None else None
    if start is None or not start.error or not run.progress.documents:
        return None
    why = start.message or (f"HTTP status {start.status}" if start.status else start.error)
    return f"the start page failed: {start.final_url} ({start.error}: {why}); the documents come from other pages"


def nothing_obtained(run: Run) -> str:
    """One line on why a run came to nothing, and what to do; it says what the start page answered."""
    start = run.discovery.start if run.discovery is not None else None
    if start is None or run.fault:
        return f"nothing was obtained from {run.source}: {run.fault or 'the crawl did not start'}"
    if not start.error:
        why = _why_no_document(run.progress, start.final_url)
        return f"{start.final_url} answered, but no document came of it{why}"
    why = forbidden_start(run) or remedied(start.error, start.message or f"HTTP status {start.status}")
    return f"nothing was obtained from {start.final_url}: {why}"


def forbidden_start(run: Run) -> str | None:
    """One line on a start page whose address is not public, with the setting that allows it, or None."""
    start = run.discovery.start if run.discovery is not None else None
    if start is None or start.error != "blocked" or ALLOWS not in (start.message or ""):
        return None
    return f"{host(start.url)} is not a public address: -s {ALLOWS}={host(start.url)} allows it"


def links_out_of_scope(run: Run) -> str | None:
    """One line where few documents came while many links of the site were out of scope, or None."""
    outside, documents = run.progress.filtered["out-of-scope"], run.progress.documents
    scope = run.bounds.scope
    if scope is None or documents > FEW_DOCUMENTS or outside < MANY_LINKS or not scope.wider:
        return None
    return (
        f"only {documents} document{'' if documents == 1 else 's'}, while {outside} links of the site were out of "
        f"scope: {scope.wider} takes them in, or -a allow=/PATH/** a part of them"
    )
