"""A night of a source: which of its stored pages are requested again, and what the witnesses of the
site were worth once the crawl has ended. The rules are in `revisit.py`. No Scrapy.
"""

from llmsspider.crawler.full_text import words_of
from llmsspider.crawler.job import Job
from llmsspider.crawler.parts import (
    Config,
    Coverage,
    DocsArguments,
    KnownPages,
    Ledger,
    RecordedPages,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    UsesRun,
)
from llmsspider.crawler.revisit import Night
from llmsspider.store import Store
from llmsspider.web.urls import page_key


class Nights(UsesRun):
    """What one run asks of its ledger, and what it tells it."""

    arguments: DocsArguments
    config: Config
    coverage: Coverage
    job: Job
    known: KnownPages
    ledger: Ledger
    memory: SourceMemory
    recorded: RecordedPages
    report: Reporter
    site: SiteKnowledge

    is_after_complete = False
    """Whether the run before was complete."""

    def plan(self) -> Night | None:
        """Decide which stored pages are requested, and why, once discovery is done; None where none
        is stored.
        """
        discovery = self.site.discovery
        requested = discovery.start.final_url if discovery is not None else ""
        urls = {
            key: state.url
            for key, state in self.known.states.items()
            if self.known.is_usable(state)
            and not (state.origin == "llms-full" or state.is_part)
            and state.validators_url != requested
        }
        if not urls:
            return None
        why_all = self._why_all()
        again = set(map(page_key, self.site.judged.again(self.known.number)))
        why = {}
        if why_all is None:
            why = self.ledger.plan(
                urls, self.config.revisit, lambda lost: self.known.linking(lost) | again
            )
        if why_all is None and not why:
            why_all = "no file of the site is believed to say what changed"
        by = self.ledger.by.name if self.ledger.by is not None else ""
        return Night(why, why_all, len(urls), by, self.ledger.proof)

    def _why_all(self) -> str | None:
        """Why every stored page is requested in this run, None where witnesses may leave some out."""
        given = self.arguments
        files = self.site.judged.gives_up_files or bool(self.memory.unread_files)
        reasons = {
            "LLMS_REVISIT is always": not self.config.revisit,
            "it continues a job": self.job.resumes is not None,
            "it is to see every page": given.full or given.confirm_deletions,
            "no file of the site says what changed": not self.ledger.witnesses,
            "pipelines of yours may make other documents": self.config.own_code,
            "the settings or the version of the extraction are others": not (
                self.memory.same_extractor and self.ledger.has_same_settings
            ),
            "the 304 of a host was false": bool(self.known.unbelieved),
            "a file of the site lags or could not be read": files,
            "the start page failed": self.site.discovery is None
            or not self.site.discovery.start.ok,
            "the last crawl was not complete": not self.is_after_complete,
        }
        return next((why for why, holds in reasons.items() if holds), None)

    def conclude(self, store: Store, outcome: str) -> None:
        """Hold what the witnesses of the site said against what its pages showed; not after a run
        that saw less.
        """
        known = self.known
        ledger = self.ledger
        is_part = self.arguments.retry or self.job.resumes is not None or outcome != "finished"
        if is_part or not (self.coverage.complete and (ledger.witnesses or ledger.histories)):
            return
        gone = {key for key, came in known.outcomes.items() if came in {"gone", "moved"}}
        written = self.recorded.written.items()
        changed = gone | {key for key, (_, change, _) in written if change == "changed"}

        def text_of(key: bytes) -> str:
            record = store.load_page(known.aliases.get(key, key))
            return " ".join(words_of(record.text)) if record is not None else ""

        lines = ledger.conclude(
            self._answered_for(gone),
            changed,
            text_of=text_of,
            links=self.recorded.only_links,
            failed=known.outcomes,
            evident=self.memory.same_extractor,
        )
        for line in lines:
            self.report.note(line)

    def _answered_for(self, gone: set[bytes]) -> dict[bytes, str]:
        """Return the pages that the site answered for in this run (URLs by key)."""
        answered = {key: url for key, (url, *_) in self.recorded.written.items()}
        for key in (self.recorded.keys | gone) - self.ledger.left_out:
            state = self.known.states.get(key)
            if state is not None and state.origin != "llms-full":
                answered[key] = state.url
        return answered | self.ledger.no_documents
