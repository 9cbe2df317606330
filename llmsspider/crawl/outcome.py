"""How a run ended: whether it saw the whole site, what it delivered, and what is said of it in one line. No Scrapy.

Pages are stored while the crawl goes, feeds are delivered when it has ended: an upload that fails, a full disk or a
kill in between leaves changes in the store that no reader of the feeds has seen. The run's counts keep that
(`delivered`), and the next run and `scrapy sources --json` say it (docs/explanation/incremental.md). Such changes can
be replayed by number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmsspider.errors import command
from llmsspider.web.outcomes import remedied
from llmsspider.web.urls import host

if TYPE_CHECKING:
    from pathlib import Path

    from llmsspider.config.settings import Config
    from llmsspider.crawl.bounds import PageLimit
    from llmsspider.crawl.progress import Progress
    from llmsspider.crawl.run import Run


def succeeded(outcome: str) -> bool:
    """Say whether a crawl with this finish reason ended by itself or by a limit the user set.

    >>> succeeded("finished"), succeeded("closespider_timeout"), succeeded("start_failed")
    (True, True, False)
    """
    return outcome == "finished" or outcome.startswith("closespider_")


@dataclass(slots=True)
class Coverage:
    """Whether a run saw the whole site; after an incomplete run no page is deleted."""

    cut: str | None = None
    """Why the run did not see the whole site: a limit, a stop, a fault."""
    outage: str | None = None
    """How the site kept the run from seeing everything."""
    unseen: set[str] = field(default_factory=set)
    """The limits that filtered pages, by reason: pages that only those lead to were not seen."""

    def incomplete(self, why: str) -> None:
        """Record that the run did not see the whole site; the first reason stays."""
        self.cut = self.cut or why

    def failed_in_part(self, why: str) -> None:
        """Record that only a part of the site answered: stored pages stay, and the exit code of the command says it."""
        self.outage = why

    def check_limit(self, limit: PageLimit) -> None:
        """Record, when all pages are through, that links were filtered for `max_requests`."""
        if limit.cut:
            self.incomplete("max_requests")

    @property
    def complete(self) -> bool:
        """True when the run saw the whole site."""
        return self.why_incomplete is None

    @property
    def why_incomplete(self) -> str | None:
        """Why the run did not see the whole site, or None."""
        return self.cut or self.outage


# What is said of the outcome in one line: why nothing came of the run, what it missed, and what to do.

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
        return STORE_FAILED
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


@dataclass(slots=True)
class Outputs:
    """The outputs of one run, and what became of them.

    Args:
        config: the project's settings.
    """

    config: Config
    delivered: bool | None = None
    """Whether the outputs were stored where they belong, once the run is closed; None where there are none."""
    undelivered: list[str] = field(default_factory=list)
    """What an output could not deliver, in words."""
    undelivered_since: int | None = None
    """The change to replay from, where an earlier run stored changes that it did not deliver."""
    mirror: str | None = None
    """What was done to the Markdown tree, in one line, once all pages are through."""
    report: tuple[Path, str] | None = None
    """Where the HTML report was written, and its text."""
    chunks_before: dict[str, frozenset[str]] = field(default_factory=dict)
    """Ids of the chunks that changed and deleted documents had, by document id, where a feed asks for chunks."""

    @property
    def writes_mirror(self) -> bool:
        """True when this run brings the Markdown tree in step."""
        return self.config.mirror_dir is not None

    @property
    def writes_skill(self) -> bool:
        """True when this run brings the skill in step."""
        return self.config.skill_dir is not None


def delivered(
    stats: Mapping[str, Any], *, feeds: bool, active: bool, undelivered: Sequence[str] = ()
) -> bool | None:
    """Say whether every output was delivered; None where none is configured.

    Args:
        stats: Scrapy's stats, with those of the feed exports.
        feeds: an output is configured.
        active: Scrapy's feed exporter is working; it switches itself off where a feed is misconfigured.
        undelivered: what an output said that it did not deliver.
    """
    if not feeds:
        return None
    failed = any(name.startswith("feedexport/failed_count/") and number for name, number in stats.items())
    return active and not failed and not undelivered


def replay_command(source: str, since: int) -> str:
    """Return the command that gives everything changed after `since`.

    >>> replay_command("docs.example.com/guide", 17)
    'scrapy export docs.example.com/guide --since 17'
    """
    return command("export", source, "--since", str(since))
