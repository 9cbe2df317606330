"""The documents that go to the pipelines: of pages that were read, and of stored ones, also where
pages failed.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from llmsspider.crawler.bot_walls import Suspect, Wall
from llmsspider.crawler.callbacks.link_sources import LinkSourcePages
from llmsspider.crawler.callbacks.requests import PageRequests
from llmsspider.crawler.full_text import says_the_same
from llmsspider.crawler.learn.base import PageFailed
from llmsspider.crawler.pages import PageResponse, PageResult, drop_reason
from llmsspider.crawler.parts import (
    Addresses,
    Bounds,
    Config,
    DocsArguments,
    KnownPages,
    Learners,
    Ledger,
    Moves,
    PageLimit,
    Progress,
    RecordedPages,
    Records,
    Reporter,
    SiteKnowledge,
    SourceMemory,
    Suspects,
    UsesRun,
    Waiting,
)
from llmsspider.crawler.requests import (
    FilteredRequest,
    RefusedRequest,
    depth_of,
    info,
    is_permanent,
    kind_of_exception,
)
from llmsspider.crawler.second_requests import FORM_OF
from llmsspider.crawler.settle import Drop, Failure, ReadPage, Site, Wait, WaitingPage, settle
from llmsspider.errors import ErrorKind
from llmsspider.items import HTML_ORIGINS, MARKDOWN_ORIGINS, Change, Page, PageMeta
from llmsspider.store import PageRecord, PageState
from llmsspider.web.urls import (
    document_id,
    identity,
    page_key,
    shown_url,
    without_fragment,
    without_tracking,
)

READ_AS_MARKDOWN = MARKDOWN_ORIGINS | {"llms-full"}

TEXT = ("content", "title", "description", "language", "extra")
FORM = (
    "source_hash", "origin", "fetched_url", "raw_hash", "validators_url", "accept", "etag",
    "last_modified", "has_end_tag",
)  # fmt: skip
"""The fields of a record that hold what a page says, and which answer said it."""


class Documents(UsesRun):
    """Settles pages among the site's others: yields documents of records, and requests for what the
    pages link to.
    """

    addresses: Addresses
    arguments: DocsArguments
    bounds: Bounds
    config: Config
    known: KnownPages
    learned: Learners
    ledger: Ledger
    limit: PageLimit
    link_sources: LinkSourcePages
    memory: SourceMemory
    moves: Moves
    progress: Progress
    recorded: RecordedPages
    records: Records
    report: Reporter
    requests: PageRequests
    site: SiteKnowledge
    suspects: Suspects
    waiting: Waiting

    def __init__(self, run: object, spider: object):
        super().__init__(run, spider)
        self.questions = self._questions()

    def _questions(self) -> Site:
        """Return what the rules of `crawler.settle` ask about the site."""
        is_refresh = self.arguments.mode == "refresh"

        def is_published(url: str) -> bool:
            is_wanted = self.arguments.follow != "listed" or self.site.is_listed(url)
            return is_wanted and self.bounds.allowed(url)

        def forms_are_open(url: str) -> bool:
            is_html = self.site.samples_of(url, "files").is_html
            return not is_html and self.site.forms_of(url).is_open(url)

        def wall(suspect: Suspect) -> Wall | None:
            found = self.suspects.evidence(suspect)
            return None if found is None or self.memory.accepts(suspect, found) else found

        return Site(
            in_scope=self.bounds.allowed,
            is_published=is_published,
            leads_back=self.addresses.leads_back,
            forms_are_open=forms_are_open,
            takes=lambda url: not is_refresh or page_key(url) in self.known.states,
            wall=wall,
            can_wait=lambda reason: self.waiting.can_keep(reason, self.limit.left),
        )

    def with_links(
        self,
        record: PageRecord,
        request: Request,
        *,
        confirmed: bool = False,
        read: tuple[PageResponse, PageResult] | None = None,
    ) -> Iterator[Any]:
        """Yield a page's document, the requests for its links, and that for its HTML where the
        policy wants it.

        It is as it was stored (`confirmed`), or was `read` from an answer in this run.
        """
        earlier = self.waiting.pop(record)
        same = confirmed or self.known.has_text(record)
        links = list(
            self.requests.links(record.follow, record.depth + 1, on=record.url, unchanged=same)
        )
        page, (answer, result) = info(request), read or (None, None)
        plain, has_query, _ = record.url.partition("?")
        facts = ReadPage(
            record.url,
            without_query=plain if has_query and self.addresses.requested(plain) else None,
            meta=result.page.meta if result is not None else PageMeta(),
            is_wanted=result is None or self.keeps_listing(request),
            is_start=bool(page.get("start")),
            is_stored=confirmed,
            may_be_markdown=record.origin in HTML_ORIGINS and "by" in page and not page.get("held"),
            is_undecided=result is not None and result.is_undecided,
            may_have_moved=partial(self._may_have_moved, record, confirmed=confirmed),
            says_the_same=partial(self._says_the_same, record),
            is_spelled_otherwise=partial(self._is_spelled_otherwise, record),
        )
        waiting = WaitingPage(
            "markdown", request, record, facts, confirmed, bool(links), answer, result
        )
        yield from self.settled(waiting)
        yield from links
        if earlier is not None and earlier.shows_pages:
            self.learned.link_sources.take(record.url)
        elif earlier is None and record.origin in READ_AS_MARKDOWN:
            yield from self.link_sources.request(record, start=facts.is_start, unchanged=same)

    def of(self, record: PageRecord, *, confirmed: bool = False) -> Iterator[Any]:
        """Yield the document of a record; none where the run filters it, or where it waits as it
        may have moved.
        """
        moved = partial(self._may_have_moved, record, confirmed=confirmed)
        facts = ReadPage(record.url, is_stored=confirmed, may_have_moved=moved)
        yield from self.settled(WaitingPage("moved", None, record, facts, confirmed))

    def settled(self, page: WaitingPage) -> Iterator[Any]:
        """Yield the document of a page, unless the rules drop it or have it wait."""
        record = page.record
        facts = page.facts
        if record is None or facts is None:
            return
        verdict = settle(facts, self.questions, self.learned.among_others)
        if isinstance(verdict, Wait):
            if self.known.state(record.key) is None:  # its links are followed meanwhile
                self.bounds.learn(record.url, record.text)
            if verdict.reason != "stub":
                page.answer = page.read = None
            self.waiting.keep(replace(page, reason=verdict.reason), room=self.limit.left)
        elif isinstance(verdict, Drop):
            self.report.filtered(record.url, verdict.reason, verdict.rule)
            if verdict.reason == "listing":
                self.known.record_outcome(record.key, "dropped", "listing")
        else:
            if self.memory.keeps_findings and not page.confirmed:
                earlier = self.known.load(record.key)
                if earlier is not None:  # this run had no discovery
                    record.llms = earlier.llms
                    record.depth = earlier.depth
                    record.discovered_by = earlier.discovered_by
            record.moved_from = list(self.known.moved_from.get(record.key, ()))
            change: Change = "unchanged" if page.confirmed else "new"
            yield self.records.item(record, change, confirmed=page.confirmed)

    def _may_have_moved(self, record: PageRecord, *, confirmed: bool) -> bool:
        if record.key in self.known.arrivals:
            return True
        why = drop_reason(record.text, record.title)
        if confirmed or why is not None or self.known.has_text(record):
            return False
        return self.moves.may_be_stored(record, self.recorded.keys, self._load(record.key))

    def record(self, page: PageResult, answer: PageResponse, request: Request) -> PageRecord:
        """Return the record of a page, with this run's depth, `discovered_by` and entry.

        Its address is spelled as it is stored, or else as a list, its canonical link, or the
        shortest link spells it.
        """
        by = info(request).get("by", "link")
        depth = depth_of(request)
        entry = self.site.entries.get(identity(request.url))
        record = self.records.of_response(answer, page, depth=depth, by=by, entry=entry)
        url = record.url
        canonical = page.page.meta.canonical
        plain = record.identity
        if self.known.state(record.key) is None and not self.site.is_listed(url):
            if canonical and identity(canonical) == plain:
                record.url = without_tracking(without_fragment(canonical))
            elif len(plain) < len(url) and plain in self.bounds.links:
                record.url = plain
        return record

    def at(self, url: str) -> PageRecord | None:
        """Return the document that is stored at an address, also of this run."""
        return self.known.load(page_key(url))

    def _is_spelled_otherwise(self, record: PageRecord) -> bool:
        is_open = self.known.state(record.key) is None and not self.site.is_seed(record.url)
        return is_open and self.addresses.is_spelled_otherwise(record.url, record.follow)

    def _says_the_same(self, record: PageRecord, url: str) -> bool:
        """Say whether the document at another address has the text of a page."""
        other = self.at(url)
        texts = (one.text.replace(record.url, url) for one in (record, other) if one is not None)
        return other is not None and len(set(texts)) == 1

    def keeps_listing(self, request: Request) -> bool:
        """Say whether a page is a document even if it only lists others: somebody wants it, or it
        was one.
        """
        state = self.known.at(request.url)
        is_judged_anew = not (self.known.trusted and self.ledger.has_same_settings)
        was_one = state is not None and self.known.is_usable(state) and not is_judged_anew
        is_wanted = self.arguments.listings == "keep" or bool(info(request).get("start"))
        return is_wanted or was_one or self.site.is_described(request.url)

    def retitle(self, record: PageRecord, *, is_start: bool) -> bool:
        """Give a page a title of its own where the site's pages share one; return whether it is
        another.
        """
        is_other = self.learned.titles.retitle(record, is_start=is_start)
        if is_other:
            self.report.count("titles/shared")
        return is_other

    def keep_text(self, record: PageRecord, *, is_same: bool | None = None) -> None:
        """Keep the text that is stored of a page which comes in another form now, where it says the
        same.

        A full-text file that lags is another form too; while it is away for once, its pages stay
        whatever they say.
        """
        state = self.known.state(record.key)
        stored = self._stored_beside(record, state) if state is not None else None
        if state is None or stored is None:
            return
        is_away = self._is_away(state)
        is_html = self._is_html_better(state)
        if is_same is None:
            # Markdown that was seen to say what its HTML says leads where that does
            is_same = says_the_same(record.text, stored.text, links=is_html is False)
        if is_same and is_html:
            self.recorded.said_before.add(record.key)  # the better text takes its place
        elif is_same or (is_away and not self.memory.is_accepted(record.key + b"form", "away")):
            record.source_hash = record.hash_of_content
            for name in (*TEXT, *(FORM if is_away else ())):  # it is compared when it is back
                setattr(record, name, getattr(stored, name))

    def _stored_beside(self, record: PageRecord, state: PageState) -> PageRecord | None:
        """Return what is stored of a page where its text is of another form, which it may have kept
        before, or of a file that lags; else None.
        """
        has_kept = state.source_hash is not None and not self.config.own_code
        is_form = state.origin == record.origin and not has_kept
        if is_form and record.key not in self.memory.lagging:
            return None
        stored = self.known.load(state.key)
        is_other = is_form and stored is not None and stored.title != record.title
        return None if is_other else stored

    def _is_html_better(self, state: PageState) -> bool | None:
        """Say whether the HTML says more than the form that a page is stored in; None where that is
        open.
        """
        if state.origin == "llms-full":
            return self.site.judged.of("full text", state.fetched_url).is_html
        form = FORM_OF.get(state.origin)
        return self.site.samples_of(state.url, form).is_html if form is not None else None

    def _is_away(self, state: PageState) -> bool:
        """Say whether the full-text file of a page gave seeds in the run before, and none in this
        one.
        """
        file = state.fetched_url
        found = self.site.discovery
        was_read = state.origin == "llms-full" and file in self.memory.files_before
        return was_read and found is not None and file not in found.read_files()

    # --- documents that were made of the body of another page ---

    def parts(self, record: PageRecord, parts: list[tuple[str, Page]]) -> Iterator[Any]:
        """Yield the documents made of a page's body besides its own, by what follows its address;
        others are gone.
        """
        present = set()
        for after, page in parts:
            part = self.records.of_part(record, after, page)
            present.add(part.key)
            self.addresses.requested_pages.add(part.key)
            yield from self.of(part)
        for state in self._parts.get(record.url, ()):
            if state.key not in present:
                self.known.record_outcome(state.key, "gone", "not-found")

    def _stored_parts(self, url: str) -> Iterator[Any]:
        """Yield the stored documents that were made of a page's body besides its own: it is as it
        was stored.
        """
        for state in self._parts.get(url, ()):
            if (record := self._load(state.key)) is not None and self.recorded.is_first(record):
                yield from self.of(record, confirmed=True)

    @cached_property
    def _parts(self) -> dict[str, list[PageState]]:
        """The stored ones, by the address of that page."""
        parts = defaultdict(list)
        for state in self.known.states.values():
            if state.is_part:
                parts[state.whole_url].append(state)
        return parts

    # --- stored pages ---

    def unchanged(self, answer: PageResponse) -> PageRecord | None:
        """Return the stored page, under the requested address, if the answer says it has not
        changed; else None.
        """
        key = page_key(answer.page_url)
        is_304 = answer.status == 304
        stored = self.known.validated(answer.fetched_url) if is_304 else self.known.state(key)
        if (
            stored
            and not is_304
            and not self.known.same_body(key, answer.fetched_url, answer.raw_hash)
        ):
            stored = None
        record = self.known.load(stored.key) if stored is not None else None
        if stored is None or record is None:
            return None
        self.report.count("not-modified" if is_304 else "same-body")
        if stored is not self.known.state(key):  # its body was stored under another address
            record.id = document_id(self.records.source, answer.page_url)
            record.url = shown_url(answer.page_url)
            record.identity = identity(answer.page_url)
            record.content_hash = None
        return record

    def as_stored(
        self, record: PageRecord | None, request: Request, answer: PageResponse
    ) -> Iterator[Any]:
        """Yield the results of an answer that says that a page is as stored, with the validators of
        this answer.
        """
        if record is None:
            yield from self.failed(
                request, "http", "HTTP status 304 for a page that is not stored", 304
            )
            return
        headers = answer.headers
        page = info(request)
        is_304 = answer.status == 304
        if record.key not in self.ledger.left_out:
            record.etag = headers.get("etag") or (record.etag if is_304 else None)
            record.last_modified = headers.get("last-modified") or (
                record.last_modified if is_304 else None
            )
            record.validators_url = answer.fetched_url
            record.accept = answer.accept
            record.status = 200
            record.fetched_at = answer.fetched_at
        if not self.memory.keeps_findings:
            record.depth = depth_of(request)
            record.discovered_by = page.get("by", "link")
            record.llms = self.site.entries.get(identity(request.url))
        is_same = not self.retitle(record, is_start=bool(page.get("start")))
        confirmed = is_same and record.key in self.known.states
        yield from self._stored_parts(record.url)
        yield from self.with_links(record, request, confirmed=confirmed)

    def stored(self, key: bytes) -> Iterator[Any]:
        """Yield the document of a page as it is stored; none where it is not."""
        record = self._load(key)
        if record is not None:
            yield from self.of(record, confirmed=True)

    def in_place_of_failed(self, key: bytes, depth: int | None = None) -> Iterator[Any]:
        """Yield the stored document of a page that failed, and its links: what is behind it must
        not look unlinked.
        """
        record = self._load(key)
        if record is not None:
            self.progress.kept += 1
            record.depth = record.depth if depth is None else depth
            yield from self.of(record, confirmed=True)
            yield from self._stored_parts(record.url)
            yield from self.requests.links(
                record.follow, record.depth + 1, on=record.url, unchanged=True
            )

    def kept_as_suspect(
        self, record: PageRecord, request: Request, suspect: Suspect | None
    ) -> Iterator[Request]:
        """Have a page wait until it is known whether it stands in place of another; yield the
        requests for its links.
        """
        self.waiting.keep(WaitingPage("wall", request, record, suspect=suspect))
        # an outage of one page does not hide those behind it: links as they are stored, of a
        # new page, or of an edition of it, as it is
        is_edited = suspect is not None and suspect.edited
        state = None if is_edited else self.known.state(record.key)
        known = record if state is None else self.known.load(state.key)
        if known is not None:
            yield from self.requests.links(known.follow, record.depth + 1, on=record.url)

    def _load(self, key: bytes) -> PageRecord | None:
        state = self.known.state(key)
        return self.known.load(state.key) if state is not None else None

    # --- pages that failed ---

    def download_failed(self, request: Request, error: BaseException) -> Iterator[Any]:
        """Yield the results of a page whose download raised an exception: an error, unless a
        middleware filtered it.
        """
        first = request.meta.get("redirect_urls", [request.url])[0]
        is_stored = self.known.at(first) is not None
        if isinstance(error, FilteredRequest):
            self.note_redirect(request)
            if error.why is not None:
                self.report.filtered(request.url, *error.why)
        elif isinstance(error, RefusedRequest) and error.reason == "ai-opt-out":
            self.note_redirect(request)
            self.report.filtered(request.url, "ai-opt-out", str(error))
            self.known.record_outcome(page_key(request.url), "dropped", "ai-opt-out")
        elif isinstance(error, RefusedRequest) and error.reason == "login" and not is_stored:
            self.report.filtered(request.url, "login", str(error))
        elif isinstance(error, HttpError):
            status = error.response.status
            yield from self.failed(request, kind_of_failure(error), f"HTTP status {status}", status)
        else:
            yield from self.failed(
                request, kind_of_failure(error), str(error) or type(error).__name__
            )

    def failed(
        self, request: Request, kind: ErrorKind, message: str, status: int | None = None
    ) -> Iterator[Any]:
        """Yield the results of a page that failed: another address, or, unless it is gone, the
        stored page.

        A redirect that ends in an error has moved nothing: the error holds for all its addresses,
        and is reported with the first one. A transient error is not counted yet; the page is
        retried at the end of the crawl.
        """
        page = info(request)
        is_gone = kind == "not_found"
        other = self.requests.other_address(request) if is_gone else None
        if other is not None:
            yield other
            return
        urls = [*request.meta.get("redirect_urls", ()), request.url]
        failure = Failure(urls[0], kind, message, status)
        if not page.get("late") and failure.may_pass:
            retry = self.requests.retry(request, urls[0])
            if self.waiting.keep(WaitingPage("failed", retry, failure=failure)):
                return
        if is_gone and self._waits_for_file(request, failure):
            return
        if len(urls) > 1:
            failure = failure._replace(message=f"{message} at {request.url}")
        self._note_failure(request, failure)
        for key in dict.fromkeys(page_key(url) for url in urls):
            if is_gone:
                self.known.record_outcome(key, "gone", "not-found")
            else:
                self.known.record_outcome(key, "failed", kind)
                yield from self.in_place_of_failed(key, request.meta.get("depth"))

    def _waits_for_file(self, request: Request, failure: Failure) -> bool:
        """Have a page wait that is taken from a full-text file which lags."""
        key = page_key(failure.url)
        state = self.known.state(key)
        is_of_file = key in self.memory.lagging and (state is None or state.origin == "llms-full")
        return is_of_file and self.waiting.keep(WaitingPage("in-file", request, failure=failure))

    def _note_failure(self, request: Request, failure: Failure) -> None:
        """Report a page that failed for good, and have everybody learn from it."""
        page = info(request)
        url = failure.url
        key = page_key(url)
        is_stored = self.known.state(key) is not None
        self.report.failed(*failure)
        self.learned.page_failed(
            PageFailed(
                url,
                failure.kind,
                by=page.get("by", ""),
                listed=bool(page.get("listed")),
                is_stored=is_stored,
                resolved_to=tuple(filter(None, (page.get("md"), page.get("dead")))),
            )
        )
        if failure.kind != "not_found":
            return
        self.bounds.trees.no_page(url)
        if not is_stored and page.get("by") != "link" and key not in self.ledger.left_out:
            self.ledger.no_documents[key] = url
            self.ledger.dead.add(key)

    def note_redirect(self, request: Request) -> None:
        """Record the addresses that redirect to another page: stored ones moved."""
        redirected = request.meta.get("redirect_urls", ())
        self.addresses.redirected(redirected, request.url, for_good=is_permanent(request))


def kind_of_failure(error: BaseException) -> ErrorKind:
    """Return the error kind of the exception that an errback was called with."""
    if not isinstance(error, HttpError):
        return kind_of_exception(error)
    answer = PageResponse.from_response(error.response, now="")
    return answer.error_kind or "http"
